"""The base of a chain: its pose, its motion, and the manifold of floating configurations."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from soromox.core.chain import Chain
from soromox.lie import se3, so3


class BaseMotion(NamedTuple):
    """Pose ``g``, body twist ``eta`` (d,), velocity-dependent acceleration ``bias`` (d,), Jacobian ``J`` (d, nv)."""

    g: Array
    eta: Array
    bias: Array
    J: Array


def pose_from_coordinates(planar: bool, q: Array) -> Array:
    """Pose of base coordinates ``[theta, x, y]`` or ``[qx qy qz qw x y z]``."""
    if planar:
        return q
    return se3.pose(so3.quaternion_to_matrix(q[:4]), q[4:])


def base_pose(chain: Chain, q: Array) -> Array:
    """Pose of the base, from the configuration when floating."""
    if not chain.floating:
        return chain.base
    return pose_from_coordinates(chain.planar, q[: chain.num_base_coordinates])


def base_motion(chain: Chain, q: Array, v: Array) -> BaseMotion:
    """The base as the first link of every recursion; a floating base moves with world-frame velocities."""
    G = chain.group
    g = base_pose(chain, q)
    zero = jnp.zeros(G.dim, q.dtype)
    if not chain.floating:
        return BaseMotion(g, zero, zero, jnp.zeros((G.dim, v.shape[0]), q.dtype))
    to_body = G.rotation(g).T
    eta = G.rotate(to_body, v[: G.dim])
    J = G.rotate(to_body, jnp.eye(G.dim, v.shape[0], dtype=q.dtype))
    return BaseMotion(g, eta, -(spin(G, eta) @ eta), J)


def spin(G, eta: Array) -> Array:
    """``ad`` of the angular part of a body twist alone: how axes fixed in the world turn in the body."""
    return G.ad(eta.at[G.angular :].set(0))


def gravity_twist(chain: Chain, g: Array) -> Array:
    """Acceleration (d,) of free fall in the axes of ``g``."""
    G = chain.group
    fall = jnp.concatenate([jnp.zeros(G.angular, chain.gravity.dtype), chain.gravity])
    return G.rotate(G.rotation(g).T, fall)


def configuration_rate(planar: bool, q: Array, v: Array) -> Array:
    """Rate of floating base coordinates (3,) or (7,) under a world-frame velocity (3,) or (6,)."""
    if planar:
        return v
    omega = jnp.concatenate([v[:3], jnp.zeros(1, v.dtype)])
    return jnp.concatenate([0.5 * so3.quaternion_multiply(omega, q[:4]), v[3:]])


def retract(planar: bool, q: Array, delta: Array) -> Array:
    """Step from floating base coordinates along a world-frame increment; the quaternion stays a unit one."""
    if planar:
        return q + delta
    turned = so3.quaternion_multiply(so3.quaternion_exp(delta[:3]), q[:4])
    return normalize(jnp.concatenate([turned, q[4:] + delta[3:]]))


def normalize(q: Array) -> Array:
    """Spatial base coordinates with a unit quaternion, hemisphere kept."""
    return jnp.concatenate([q[:4] / jnp.sqrt(q[:4] @ q[:4]), q[4:]])

"""Poses and Jacobians of a chain, at its inertial points and at any arc length."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from soromox.core.base import base_motion, base_pose, spin
from soromox.core.chain import Chain
from soromox.core.traversal import serial


class Frame(NamedTuple):
    """A material point: pose ``g``, body Jacobian ``J`` (d, nv), strain ``xi`` (d,), ``J_s`` = dJ/ds (d, nv)."""

    g: Array
    J: Array
    xi: Array
    J_s: Array


def segment_bases(chain: Chain, q: Array) -> Array:
    """Poses (n, *pose) of the frames at which the segments begin."""
    if chain.num_segments == 1:
        return base_pose(chain, q)[None]
    g_tip = chain.segments.tip_poses(chain.scatter(chain.internal(q)))
    return serial(lambda g, tip: (chain.group.compose(g, tip), g), base_pose(chain, q), g_tip)[1]


def point_poses(chain: Chain, q: Array) -> Array:
    """Poses (n, p + 1, *pose) of the inertial points and tips."""
    g = chain.segments.local(chain.scatter(chain.internal(q)))[0]
    compose = jax.vmap(jax.vmap(chain.group.compose, (None, 0)))
    return compose(segment_bases(chain, q), g)


class Place(NamedTuple):
    """A material point by its segment and the arc length within it (m): what an arc length means, looked up."""

    index: int | Array
    s: Array


def locate(chain: Chain, s: Array | Place) -> Place:
    """Segment that holds arc length ``s``, and the arc length within it; a node belongs to the segment it ends."""
    if isinstance(s, Place):
        return s
    s = jnp.asarray(s, chain.segments.length.dtype)
    ends = chain.segment_ends
    index = jnp.clip(jnp.searchsorted(ends[1:], s, side="left"), 0, chain.num_segments - 1)
    return Place(index, s - ends[index])


def pose_at(chain: Chain, q: Array, s: Array | Place, bases: Array | None = None) -> Array:
    """Pose of the material point at arc length ``s`` (m), or at a place; ``bases`` are ``segment_bases``, if known."""
    index, s_local = locate(chain, s)
    local = chain.segments.pose(chain.scatter(chain.internal(q)), index, s_local)
    bases = segment_bases(chain, q) if bases is None else bases
    return chain.group.compose(bases[index], local)


def end_pose(chain: Chain, q: Array) -> Array:
    """Pose of the material point at the end of the last segment."""
    last = chain.num_segments - 1
    return pose_at(chain, q, Place(last, chain.segments.length[last]))


def end_motion(chain: Chain, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Pose of the end of the last segment, rigid parts that follow its rod included, its body twist (d,), and
    ``segment_bases``."""
    G, base = chain.group, base_motion(chain, q, v)

    def step(so_far, x):
        (g, eta), (tip, twist) = so_far, x
        return (G.compose(g, tip), G.inverse_adjoint(tip) @ eta + twist), g

    tips = chain.segments.tips(chain.scatter(chain.internal(q)), chain.scatter(chain.rates(v)))
    if chain.num_segments == 1 and not chain.floating:
        return G.compose(base.g, tips[0][0]), tips[1][0], base.g[None]
    (g, eta), bases = serial(step, (base.g, base.eta), tips)
    return g, eta, bases


def base_jacobians(chain: Chain, q: Array) -> Array:
    """Body Jacobians (n, d, nv) of the frames at which the segments begin."""
    G = chain.group
    g, S = chain.segments.local(chain.scatter(chain.internal(q)))
    X_tip = jax.vmap(G.inverse_adjoint)(g[:, -1])
    nv = chain.num_base_velocities + chain.num_internal

    def step(J, x):
        X, S, E = x
        return X @ J + S @ E, J

    J0 = base_motion(chain, q, jnp.zeros(nv, q.dtype)).J
    return serial(step, J0, (X_tip, S[:, -1], chain.selection(q.dtype)))[1]


def frame_at(chain: Chain, q: Array, s: Array | Place) -> Frame:
    """Pose, body Jacobian and their arc-length derivatives at arc length ``s`` (m), or at a place."""
    G = chain.group
    index, s_local = locate(chain, s)
    point = chain.segments.at(chain.scatter(chain.internal(q)), index, s_local)
    E = chain.selection(q.dtype)[index]
    J = G.inverse_adjoint(point.g) @ base_jacobians(chain, q)[index] + point.S @ E
    g = G.compose(segment_bases(chain, q)[index], point.g)
    return Frame(g, J, point.xi, point.B @ E - G.ad(point.xi) @ J)


def world_jacobian(G, g: Array, J: Array) -> Array:
    """Body Jacobian in world axes: the linear rows are the velocity of the material point."""
    return G.rotate(G.rotation(g), J)


def world_rate(G, g: Array, J: Array, J_rate: Array, twist: Array) -> Array:
    """Rate of the world-axes Jacobian, from the rate of the body Jacobian and the body twist along it."""
    return G.rotate(G.rotation(g), J_rate + spin(G, twist) @ J)


def jacobian_rate_at(chain: Chain, q: Array, v: Array, s: Array | Place) -> tuple[Frame, Array]:
    """The frame at ``s`` and the time derivative (d, nv) of its body Jacobian along ``v``."""

    def along(q_internal):
        coordinates = jnp.concatenate([q[: chain.num_base_coordinates], q_internal])
        return frame_at(chain, coordinates, s)

    # The body Jacobian depends on a floating base only through its own columns R^T, which turn with the base.
    frame, rates = jax.jvp(along, (chain.internal(q),), (chain.rates(v),))
    if not chain.floating:
        return frame, rates.J
    return frame, rates.J + _base_columns(chain, q, v, frame)


def _base_columns(chain: Chain, q: Array, v: Array, frame: Frame) -> Array:
    base = base_motion(chain, q, v)
    G = chain.group
    to_point = G.inverse_adjoint(G.compose(G.inverse(base.g), frame.g))
    return -to_point @ spin(G, base.eta) @ base.J

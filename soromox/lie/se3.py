"""SE(3): 4x4 poses, twists ``[wx wy wz vx vy vz]``.

A twist is a rotation vector over dual numbers, w + eps v, so every 6x6 operator is the dual extension
``[[F, 0], [dF, F]]`` of its 3x3 counterpart on SO(3), dF being the derivative of F along v.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from soromox.lie import so3
from soromox.lie.group import Polynomials
from soromox.lie.series import stumpff

dim, space, angular, degree = 6, 3, 3, 4
pose_shape = (4, 4)


def identity(dtype) -> Array:
    return jnp.eye(4, dtype=dtype)


def compose(g: Array, h: Array) -> Array:
    return g @ h


def inverse(g: Array) -> Array:
    R = rotation(g).T
    return _pose(R, -R @ position(g))


def exp(x: Array) -> Array:
    w, v = x[:3], x[3:]
    return _pose(so3.exp(w), so3.left_tangent(w) @ v)


def log(g: Array) -> Array:
    w = so3.log(rotation(g))
    return jnp.concatenate([w, jnp.linalg.solve(so3.left_tangent(w), position(g))])


def tangent(x: Array) -> Array:
    return _dual(so3.tangent, x)


def polynomials(z: Array) -> Polynomials:
    # ad (ad^2 + z)^2 = 0: a series F(ad^2) is its Hermite interpolant at ad^2 = -z
    c = stumpff(z, 7)
    d1, d2, d3 = (0.5 * (k * c[k + 2] - c[k + 1]) for k in (1, 2, 3))
    dd2 = 0.25 * (8 * c[6] - 5 * c[5] + c[4])
    dd3 = 0.25 * (15 * c[7] - 7 * c[6] + c[5])
    one = jnp.ones_like(z)
    return Polynomials(
        jnp.stack([one, z * d1 - c[1], c[2] - z * d2, d1, -d2]),
        jnp.stack([one, z * d2 - c[2], c[3] - z * d3, d2, -d3]),
        jnp.stack([0 * one, z * dd2, -z * dd3, dd2, -dd3]),
    )


def bracket(x: Array, y: Array) -> Array:
    w, v, a, b = x[:3], x[3:], y[:3], y[3:]
    return jnp.concatenate([so3.cross(w, a), so3.cross(w, b) + so3.cross(v, a)])


def cobracket(x: Array, h: Array) -> Array:
    w, v, m, f = x[:3], x[3:], h[:3], h[3:]
    return jnp.concatenate([so3.cross(m, w) + so3.cross(f, v), so3.cross(f, w)])


def ad(x: Array) -> Array:
    return _dual(so3.skew, x)


def coad(h: Array) -> Array:
    W, V = so3.skew(h[:3]), so3.skew(h[3:])
    return jnp.block([[W, V], [V, jnp.zeros_like(V)]])


def adjoint(g: Array) -> Array:
    R = rotation(g)
    return _lower(R, so3.skew(position(g)) @ R)


def inverse_adjoint(g: Array) -> Array:
    R = rotation(g).T
    return _lower(R, -R @ so3.skew(position(g)))


def rotation(g: Array) -> Array:
    return g[:3, :3]


def position(g: Array) -> Array:
    return g[:3, 3]


def translation(p: Array) -> Array:
    return _pose(jnp.eye(3, dtype=p.dtype), p)


def rotate(R: Array, twist: Array) -> Array:
    return jnp.concatenate([R @ twist[:3], R @ twist[3:]])


def pose_rate(g: Array, x: Array) -> Array:
    return g @ hat(x)


def mass_moment(inertia: Array) -> tuple[Array, Array]:
    return inertia[5, 5], jnp.stack([inertia[2, 4], inertia[0, 5], inertia[1, 3]])


def rigid_inertia(mass: Array, center: Array, rotational: Array) -> Array:
    c = so3.skew(center)
    m = mass * jnp.eye(3, dtype=c.dtype)
    return jnp.block([[rotational - mass * c @ c, mass * c], [-mass * c, m]])


def matrix(g: Array) -> Array:
    return g


def hat(x: Array) -> Array:
    """4x4 matrix of a twist."""
    return jnp.zeros((4, 4), x.dtype).at[:3, :3].set(so3.skew(x[:3])).at[:3, 3].set(x[3:])


def _pose(R: Array, p: Array) -> Array:
    bottom = jnp.array([[0, 0, 0, 1]], dtype=R.dtype)
    return jnp.concatenate([jnp.concatenate([R, p[:, None]], axis=1), bottom])


def _lower(F: Array, dF: Array) -> Array:
    return jnp.block([[F, jnp.zeros_like(F)], [dF, F]])


def _dual(function: Callable[[Array], Array], x: Array) -> Array:
    return _lower(*jax.jvp(function, (x[:3],), (x[3:],)))

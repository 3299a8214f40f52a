"""SE(3): 4x4 poses, twists ``[wx wy wz vx vy vz]``.

A twist is a rotation vector over dual numbers, w + eps v, so every 6x6 operator is the dual extension
``[[F, 0], [dF, F]]`` of its 3x3 counterpart on SO(3), dF being the derivative of F along v.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.lie import so3
from soromox.lie.algebra import operators
from soromox.lie.series import combine

dim, space, angular, degree = 6, 3, 3, 4
pose_shape = (4, 4)

STRUCTURE = np.zeros((6, 6, 6))
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):  # [w + eps v, a + eps b] = w x a + eps (w x b + v x a)
    for a, b, c in ((0, 0, 0), (3, 0, 3), (3, 3, 0)):
        STRUCTURE[k + a, i + b, j + c], STRUCTURE[k + a, j + b, i + c] = 1, -1
ad, coad = operators(STRUCTURE)

# ad (ad^2 + z)^2 = 0: a series F(ad^2) is its Hermite interpolant at ad^2 = -z; derivatives of c_1 .. c_3 by z
c0, c1, c2, c3, c4, c5, c6, c7 = np.eye(8)
d1, d2, d3 = 0.5 * (c3 - c2), c4 - 0.5 * c3, 1.5 * c5 - 0.5 * c4
dd2, dd3 = 2 * c6 - 1.25 * c5 + 0.25 * c4, 3.75 * c7 - 1.75 * c6 + 0.25 * c5
# rows: inverse adjoint, tangent operator, slope; columns: ad .. ad^4; combinations of c_0 .. c_7
PLAIN = np.array([[-c1, c2, d1, -d2], [-c2, c3, d2, -d3], [0 * c0, 0 * c0, dd2, -dd3]])
SCALED = np.array([[d1, -d2, 0 * c0, 0 * c0], [d2, -d3, 0 * c0, 0 * c0], [dd2, -dd3, 0 * c0, 0 * c0]])
del i, j, k, a, b, c, c0, c1, c2, c3, c4, c5, c6, c7, d1, d2, d3, dd2, dd3


def pose(R: Array, p: Array) -> Array:
    """Pose of a rotation (3, 3) and a position (3,)."""
    bottom = jnp.array([[0, 0, 0, 1]], dtype=R.dtype)
    return jnp.concatenate([jnp.concatenate([R, p[:, None]], axis=1), bottom])


def identity(dtype) -> Array:
    return jnp.eye(4, dtype=dtype)


def compose(g: Array, h: Array) -> Array:
    return g @ h


def inverse(g: Array) -> Array:
    R = rotation(g).T
    return pose(R, -R @ position(g))


def exp(x: Array) -> Array:
    R, V = so3.exp_and_left_tangent(x[:3])
    return pose(R, V @ x[3:])


def log(g: Array) -> Array:
    w = so3.log(rotation(g))
    return jnp.concatenate([w, jnp.linalg.solve(so3.left_tangent(w), position(g))])


def tangent(x: Array) -> Array:
    return _dual(so3.tangent, x)


def polynomials(z: Array) -> Array:
    return combine(z, PLAIN, SCALED)


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
    return pose(jnp.eye(3, dtype=p.dtype), p)


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


def _lower(F: Array, dF: Array) -> Array:
    return jnp.block([[F, jnp.zeros_like(F)], [dF, F]])


def _dual(function: Callable[[Array], Array], x: Array) -> Array:
    return _lower(*jax.jvp(function, (x[:3],), (x[3:],)))

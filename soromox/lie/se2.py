"""SE(2): poses ``[theta, x, y]`` with theta unwrapped, twists ``[w vx vy]``."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.lie.algebra import operators
from soromox.lie.series import combine, stumpff

dim, space, angular, degree = 3, 2, 1, 2
pose_shape = (3,)

STRUCTURE = np.zeros((3, 3, 3))
STRUCTURE[1, 2, 0], STRUCTURE[1, 0, 2] = 1, -1
STRUCTURE[2, 0, 1], STRUCTURE[2, 1, 0] = 1, -1
ad, coad = operators(STRUCTURE)

# ad (ad^2 + z) = 0; rows: inverse adjoint, tangent operator, slope; columns: ad, ad^2; c_0 .. c_5
POLYNOMIALS = np.array(
    [
        [[0, -1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]],
        [[0, 0, -1, 0, 0, 0], [0, 0, 0, 1, 0, 0]],
        [[0, 0, 0, 0.5, -1, 0], [0, 0, 0, 0, -0.5, 1.5]],
    ]
)


def identity(dtype) -> Array:
    return jnp.zeros(3, dtype)


def compose(g: Array, h: Array) -> Array:
    return jnp.concatenate([g[:1] + h[:1], g[1:] + rotation(g) @ h[1:]])


def inverse(g: Array) -> Array:
    return jnp.concatenate([-g[:1], -(rotation(g).T @ g[1:])])


def exp(x: Array) -> Array:
    w, v = x[0], x[1:]
    c = stumpff(w * w, 2)
    a, b = c[1], c[2] * w
    return jnp.stack([w, a * v[0] - b * v[1], b * v[0] + a * v[1]])


def log(g: Array) -> Array:
    w = g[0]  # unwrapped, so that the logarithm undoes the exponential beyond a half turn
    c = stumpff(w * w, 2)
    a, b = c[1], c[2] * w
    V = _matrix([[a, b], [-b, a]]) / (a * a + b * b)
    return jnp.concatenate([w[None], V @ g[1:]])


def tangent(x: Array) -> Array:
    w, vx, vy = x
    c = stumpff(w * w, 3)
    a, b, d = c[1], c[2] * w, c[3] * w
    o, one = jnp.zeros_like(w), jnp.ones_like(w)
    return _matrix([[one, o, o], [d * vx - c[2] * vy, a, b], [c[2] * vx + d * vy, -b, a]])


def polynomials(z: Array) -> Array:
    return combine(z, POLYNOMIALS, np.zeros_like(POLYNOMIALS))


def adjoint(g: Array) -> Array:
    return _adjoint(jnp.cos(g[0]), jnp.sin(g[0]), g[2], -g[1])


def inverse_adjoint(g: Array) -> Array:
    c, s, x, y = jnp.cos(g[0]), jnp.sin(g[0]), g[1], g[2]
    return _adjoint(c, -s, s * x - c * y, c * x + s * y)


def rotation(g: Array) -> Array:
    c, s = jnp.cos(g[0]), jnp.sin(g[0])
    return _matrix([[c, -s], [s, c]])


def position(g: Array) -> Array:
    return g[1:]


def translation(p: Array) -> Array:
    return jnp.concatenate([jnp.zeros(1, p.dtype), p])


def rotate(R: Array, twist: Array) -> Array:
    return jnp.concatenate([twist[:1], R @ twist[1:]])


def pose_rate(g: Array, x: Array) -> Array:
    return jnp.concatenate([x[:1], rotation(g) @ x[1:]])


def mass_moment(inertia: Array) -> tuple[Array, Array]:
    return inertia[2, 2], jnp.stack([inertia[0, 2], -inertia[0, 1]])


def rigid_inertia(mass: Array, center: Array, rotational: Array) -> Array:
    mx, my = mass * center
    o = jnp.zeros_like(mx)
    polar = rotational + mass * (center @ center)
    return _matrix([[polar, -my, mx], [-my, mass, o], [mx, o, mass]])


def matrix(g: Array) -> Array:
    top = jnp.concatenate([rotation(g), g[1:, None]], axis=1)
    return jnp.concatenate([top, jnp.array([[0, 0, 1]], dtype=g.dtype)])


def hat(x: Array) -> Array:
    """3x3 matrix of a twist."""
    w, vx, vy = x
    o = jnp.zeros_like(w)
    return _matrix([[o, -w, vx], [w, o, vy], [o, o, o]])


def _adjoint(c: Array, s: Array, x: Array, y: Array) -> Array:
    o, one = jnp.zeros_like(c), jnp.ones_like(c)
    return _matrix([[one, o, o], [x, c, -s], [y, s, c]])


def _matrix(rows: list[list[Array]]) -> Array:
    return jnp.stack([jnp.stack(row) for row in rows])

"""Stumpff functions: the scalar series behind every exponential map, smooth through zero."""

from functools import partial
from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def stumpff(z: Array, order: int) -> Array:
    """Stumpff functions ``c_0 .. c_order`` of ``z = theta^2``, (order + 1, ...).

    ``c_k(z) = sum_j (-z)^j / (2j + k)!``, hence ``c_0 = cos(theta)``, ``c_1 = sin(theta)/theta``,
    ``c_2 = (1 - cos(theta))/theta^2``, ``c_3 = (theta - sin(theta))/theta^3`` and so on. They obey
    ``c_k = 1/k! - z c_{k+2}`` and ``dc_k/dz = (k c_{k+2} - c_{k+1}) / 2``, so that derivatives of any
    order, forward and reverse, are as exact at zero as elsewhere.

    Args:
        z: squared angle, rad^2, any shape, ``z >= 0``.
        order: highest index wanted.
    """
    small = z < 1
    near = _taylor(jnp.where(small, z, 0), order)
    far = _closed_form(jnp.where(small, 1, z), order)
    return jnp.where(small[None], near, far)


@stumpff.defjvp
def _stumpff_jvp(order: int, primals, tangents):
    (z,), (z_dot,) = primals, tangents
    c = stumpff(z, order + 2)
    k = _column(np.arange(order + 1), z)
    return c[: order + 1], 0.5 * (k * c[2:] - c[1:-1]) * z_dot[None]


def _column(numbers, z: Array) -> Array:
    """One number an order, against the shape of ``z``."""
    return jnp.asarray(numbers, z.dtype).reshape((-1,) + (1,) * z.ndim)


def _taylor(z: Array, order: int) -> Array:
    """Taylor series for ``0 <= z < 1``, all orders at once."""
    terms = 10 if jnp.finfo(z.dtype).bits > 32 else 6
    table = [[(-1) ** j / factorial(2 * j + k) for j in range(terms)] for k in range(order + 1)]
    return jnp.tensordot(jnp.asarray(table, z.dtype), _powers(z, terms), 1)


def _closed_form(z: Array, order: int) -> Array:
    """``c_{k+2} = (1/k! - c_k) / z`` unwound from cosine and sine for ``z >= 1``, where it loses no digits."""
    theta, half = jnp.sqrt(z), order // 2 + 1
    # c_k = w^m c_{k - 2m} - sum_{i=1..m} w^i / (k - 2i)!, with w = -1/z and m = k // 2
    table = np.zeros((order + 1, 3, half))
    for k in range(order + 1):
        table[k, k % 2, k // 2] = 1
        table[k, 2, 1 : k // 2 + 1] = [-1 / factorial(k - 2 * i) for i in range(1, k // 2 + 1)]
    start = jnp.stack([jnp.cos(theta), jnp.sin(theta) / theta, jnp.ones_like(theta)])
    return jnp.tensordot(jnp.asarray(table, z.dtype), start[:, None] * _powers(-1 / z, half)[None], 2)


def _powers(x: Array, count: int) -> Array:
    """``1, x, .. x^(count - 1)``, (count, ...)."""
    powers = [jnp.ones_like(x), x]
    for k in range(2, count):
        powers.append(powers[k // 2] * powers[k - k // 2])
    return jnp.stack(powers[:count])


def combine(z: Array, plain: np.ndarray, scaled: np.ndarray) -> Array:
    """``(plain + z scaled) c(z)``: linear combinations (...,) of Stumpff functions with tables (..., order + 1)."""
    c = stumpff(z, plain.shape[-1] - 1)
    return jnp.asarray(plain, c.dtype) @ c + z * (jnp.asarray(scaled, c.dtype) @ c)

"""Stumpff functions: the scalar series behind every exponential map, smooth through zero."""

from functools import partial
from math import factorial

import jax
import jax.numpy as jnp
from jax import Array


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def stumpff(z: Array, order: int) -> tuple[Array, ...]:
    """Stumpff functions ``c_0 .. c_order`` of ``z = theta^2``.

    ``c_k(z) = sum_j (-z)^j / (2j + k)!``, hence ``c_0 = cos(theta)``, ``c_1 = sin(theta)/theta``,
    ``c_2 = (1 - cos(theta))/theta^2``, ``c_3 = (theta - sin(theta))/theta^3`` and so on. They obey
    ``c_k = 1/k! - z c_{k+2}`` and ``dc_k/dz = (k c_{k+2} - c_{k+1}) / 2``, so that derivatives of any
    order, forward and reverse, are as exact at zero as elsewhere.

    Args:
        z: squared angle, rad^2, any shape, ``z >= 0``.
        order: highest index wanted, at least 1.
    """
    small = z < 1
    z_small = jnp.where(small, z, 0)
    near = _descend(z_small, order)
    far = _ascend(jnp.where(small, 1, z), order)
    return tuple(jnp.where(small, a, b) for a, b in zip(near, far, strict=True))


@stumpff.defjvp
def _stumpff_jvp(order: int, primals, tangents):
    (z,), (z_dot,) = primals, tangents
    c = stumpff(z, order + 2)
    slopes = tuple(0.5 * (k * c[k + 2] - c[k + 1]) * z_dot for k in range(order + 1))
    return c[: order + 1], slopes


def _descend(z: Array, order: int) -> list[Array]:
    """The two highest functions by Taylor series on ``0 <= z < 1``, the rest by the recurrence."""
    terms = 9 if jnp.finfo(z.dtype).bits > 32 else 5
    c = [jnp.zeros_like(z)] * (order + 1)
    for k in (order, order - 1):
        total = jnp.full_like(z, 1.0 / factorial(2 * terms + k))
        for j in reversed(range(terms)):
            total = 1.0 / factorial(2 * j + k) - z * total
        c[k] = total
    for k in reversed(range(order - 1)):
        c[k] = 1.0 / factorial(k) - z * c[k + 2]
    return c


def _ascend(z: Array, order: int) -> list[Array]:
    """Closed forms for ``z >= 1``, where dividing by ``z`` loses no digits."""
    theta = jnp.sqrt(z)
    c = [jnp.cos(theta), jnp.sin(theta) / theta]
    for k in range(2, order + 1):
        c.append((1.0 / factorial(k - 2) - c[k - 2]) / z)
    return c

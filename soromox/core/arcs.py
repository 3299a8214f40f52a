"""Arcs of constant strain: closed-form motion of their ends, from one set of powers of ``ad``."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.lie import Group


class Arcs(NamedTuple):
    """Motion of the ends of arcs ``exp(s xi)`` whose strain changes.

    ``operators`` (p, d, 2, d) are the inverse adjoint and the body tangent of ``s xi``; ``twist`` (p, d) is the body
    twist of the ends relative to the beginning, ``bias`` (p, d) its rate at a constant rate of the strain.
    """

    operators: Array
    twist: Array
    bias: Array


def arcs(G: Group, xi: Array, rate: Array, s: Array) -> Arcs:
    """The ends of arcs of the lengths ``s`` (p,), which share a strain (d,) that changes at ``rate`` (d,).

    All operators are polynomials in ``ad(xi)``, so that its powers are taken once.
    """
    a, turn = G.ad(xi), G.ad(rate)
    powers, moved, turned = [a], [a @ rate], [jnp.zeros_like(rate)]
    for _ in range(G.degree - 1):
        turned.append(turn @ moved[-1] + a @ turned[-1])  # d(a^k)/dt rate
        moved.append(a @ moved[-1])  # a^k rate
        powers.append(a @ powers[-1])
    powers, moved, turned = jnp.stack(powers, axis=1), jnp.stack(moved), jnp.stack(turned)
    angular = xi[: G.angular]
    steepness = 2 * (angular @ rate[: G.angular])
    ramp = s[:, None] ** np.arange(1, G.degree + 1)[None]
    coefficients = ramp[:, None] * jax.vmap(G.polynomials)(s**2 * (angular @ angular))
    # a product, no sum of elementwise ones: jaxlib 0.10 crashes where batches of batches give such a sum eight axes
    series = jnp.einsum("pck,ikj->picj", coefficients[:, :2], powers)
    tangent, slope = s[:, None] * coefficients[:, 1], (s**3 * steepness)[:, None] * coefficients[:, 2]
    twist = s[:, None] * rate[None] + tangent @ moved
    bias = tangent @ turned + slope @ moved
    return Arcs(jnp.eye(G.dim, dtype=s.dtype)[None, :, None] + series, twist, bias)

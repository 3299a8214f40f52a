"""The vocabulary of rewards: terms in [0, 1] that fall as the error grows."""

import math

import jax.numpy as jnp
from jax import Array

VALUE_AT_MARGIN = 0.1


def tolerance(error: Array, *, bound: float | Array = 0.0, margin: float | Array) -> Array:
    """1 while ``error`` (>= 0) is within ``bound``, then a Gaussian fall to 0.1 at ``bound + margin``.

    The shape follows the dm_control suite (Tassa et al. 2018); derivatives are finite everywhere.
    """
    excess = jnp.maximum(error - bound, 0) / margin
    return jnp.exp(math.log(VALUE_AT_MARGIN) * excess**2)


def long_tolerance(error: Array, *, bound: float | Array = 0.0, margin: float | Array) -> Array:
    """Like ``tolerance`` with a heavy tail, ``1 / (1 + 9 x^2)``, so that far away there still is a slope."""
    excess = jnp.maximum(error - bound, 0) / margin
    return 1 / (1 + (1 / VALUE_AT_MARGIN - 1) * excess**2)

"""The Lie algebra of a group, from its structure constants."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array


def operators(structure: np.ndarray) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """``ad`` and ``coad`` of the bracket ``[x, y]_k = sum_ij structure[k, i, j] x_i y_j``.

    ``ad(x) y = [x, y]`` and ``coad(h) x = ad(x)^T h``, matrices (d, d).
    """

    def ad(x: Array) -> Array:
        return jnp.einsum("kij,i->kj", jnp.asarray(structure, x.dtype), x)

    def coad(h: Array) -> Array:
        return jnp.einsum("kij,k->ji", jnp.asarray(structure, h.dtype), h)

    return ad, coad

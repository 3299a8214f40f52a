"""Small dense linear algebra that stays elementwise in batched programs."""

import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import cho_factor, cho_solve

from soromox.batching import settle

UNROLLED = 8


def spd_solve(A: Array, B: Array) -> Array:
    """Solve ``A X = B`` for a symmetric positive definite A (k, k) and B (k, m).

    Up to 8 rows ``A = L D L^T`` is unrolled over rows, elementwise where a batched LAPACK call would factorise matrix
    after matrix. Beyond, LAPACK's Cholesky.
    """
    k = A.shape[0]
    if k > UNROLLED:
        return cho_solve(cho_factor(A), B)
    rest, rows = jnp.concatenate([A, B], axis=1), []
    for j in range(k):
        row = settle(rest[0, 1:] / rest[0, 0])
        rows.append(row)
        # the column below the pivot is the row beside it, by symmetry
        rest = settle(rest[1:, 1:] - rest[0, 1 : k - j, None] * row[None])
    X = rows[-1][None]
    for j in reversed(range(k - 1)):
        beside = k - 1 - j
        X = jnp.concatenate([(rows[j][beside:] - rows[j][:beside] @ X)[None], X])
    return X

"""Small dense linear algebra that fuses into batched programs."""

import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import cho_factor, cho_solve

UNROLLED = 8


def spd_solve(A: Array, B: Array) -> Array:
    """Solve ``A X = B`` for a symmetric positive definite A (k, k) and B (k, m).

    Up to 8 rows the elimination is unrolled over columns, which under ``vmap`` stays one fused program;
    a batched LAPACK call would factorise matrix after matrix. Beyond, LAPACK's Cholesky.
    """
    k = A.shape[0]
    if k > UNROLLED:
        return cho_solve(cho_factor(A), B)
    columns = []
    for j in range(k):
        column = A[j:, j] / jnp.sqrt(A[j, j])
        columns.append(column)
        A = A.at[j + 1 :, j + 1 :].add(-jnp.outer(column[1:], column[1:]))
    for j in range(k):
        row = B[j] / columns[j][0]
        B = B.at[j].set(row).at[j + 1 :].add(-jnp.outer(columns[j][1:], row))
    for j in reversed(range(k)):
        B = B.at[j].set((B[j] - columns[j][1:] @ B[j + 1 :]) / columns[j][0])
    return B

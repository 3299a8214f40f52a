"""SO(3): rotation matrices, rotation vectors and scalar-last Hamilton quaternions ``[qx, qy, qz, qw]``."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.lie.series import stumpff

STRUCTURE = np.zeros((3, 3, 3))  # cross(w, x)_k = sum_ij structure[k, i, j] w_i x_j
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    STRUCTURE[k, i, j], STRUCTURE[k, j, i] = 1, -1
del i, j, k


def skew(w: Array) -> Array:
    """Cross-product matrix (3, 3): ``skew(w) @ x == cross(w, x)``."""
    return jnp.einsum("kij,i->kj", jnp.asarray(STRUCTURE, w.dtype), w)


def exp(w: Array) -> Array:
    """Rotation matrix (3, 3) of a rotation vector (3,), Rodrigues' formula."""
    return _series(w, 0)


def tangent(w: Array) -> Array:
    """Body tangent operator (3, 3): ``int_0^1 exp(-s w) ds``."""
    return _series(-w, 1)


def left_tangent(w: Array) -> Array:
    """Spatial tangent operator (3, 3): ``int_0^1 exp(s w) ds``."""
    return _series(w, 1)


def exp_and_left_tangent(w: Array) -> Array:
    """``exp`` and ``left_tangent``, (2, 3, 3), from one set of series."""
    c = stumpff(w @ w, 3)
    return jnp.tensordot(jnp.stack([c[:3], c[1:]]), _powers(w), 1)


def _series(w: Array, shift: int) -> Array:
    """``sum_k skew(w)^k / (k + shift)!``, with ``skew(w)^2 = w w^T - |w|^2``."""
    return jnp.tensordot(stumpff(w @ w, shift + 2)[shift:], _powers(w), 1)


def _powers(w: Array) -> Array:
    return jnp.stack([jnp.eye(3, dtype=w.dtype), skew(w), jnp.outer(w, w)])


def log(R: Array) -> Array:
    """Rotation vector (3,) of a rotation matrix, angle in [0, pi], through the quaternion."""
    q = quaternion_from_matrix(R)
    q = jnp.where(q[3] < 0, -q, q)
    v, w = q[:3], q[3]
    n2 = v @ v
    tiny = n2 < jnp.finfo(R.dtype).eps ** 1.5
    n = jnp.sqrt(jnp.where(tiny, 1, n2))
    scale = jnp.where(tiny, 2 / w - 2 * n2 / (3 * w**3), 2 * jnp.arctan2(n, w) / n)
    return scale * v


def quaternion_to_matrix(q: Array) -> Array:
    """Rotation matrix (3, 3) of a quaternion ``[qx, qy, qz, qw]``, normalised first."""
    q = q / jnp.sqrt(q @ q)
    v, w = q[:3], q[3]
    return (w * w - v @ v) * jnp.eye(3, dtype=q.dtype) + 2 * jnp.outer(v, v) + 2 * w * skew(v)


def quaternion_from_matrix(R: Array) -> Array:
    """Unit quaternion ``[qx, qy, qz, qw]`` of a rotation matrix, from its best-conditioned component."""
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    candidates = jnp.stack(
        [
            jnp.stack([1 + xx - yy - zz, xy, xz, x]),
            jnp.stack([xy, 1 - xx + yy - zz, yz, y]),
            jnp.stack([xz, yz, 1 - xx - yy + zz, z]),
            jnp.stack([x, y, z, 1 + xx + yy + zz]),
        ]
    )
    best = candidates[jnp.argmax(jnp.stack([xx, yy, zz, xx + yy + zz]))]
    return best / jnp.sqrt(best @ best)


def quaternion_multiply(p: Array, q: Array) -> Array:
    """Hamilton product of two scalar-last quaternions."""
    v, w, r, s = p[:3], p[3], q[:3], q[3]
    return jnp.concatenate([w * r + s * v + jnp.cross(v, r), jnp.stack([w * s - v @ r])])


def quaternion_exp(w: Array) -> Array:
    """Unit quaternion of a rotation vector (3,)."""
    c = stumpff(0.25 * (w @ w), 1)
    return jnp.concatenate([0.5 * c[1] * w, c[0][None]])

"""The chain: a base, a serial stack of segments, and the elasticity and damping of its coordinates."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core.segments import Rods, Segments
from soromox.lie import Group


class Chain(eqx.Module):
    """All that the physics needs to know of a soft robot. Built afresh from the parameters, never cached.

    Generalised coordinates ``q`` are ``[base, internal]``; the base part is empty for a fixed robot, ``[theta, x, y]``
    for a planar and ``[qx qy qz qw x y z]`` for a spatial floating one. Velocities ``v`` are
    ``[w_world, v_world of the base origin, internal rates]``.

    Attributes:
        segments: the stack of n segments with k coordinates each.
        base: pose of the fixed base; unused when floating.
        gravity: (space,), m/s^2, world frame.
        stiffness, damping: (n, k, k), one block a segment, or (N, N) on the N internal coordinates.
        rest: (N,) configuration without elastic force.
        active: which of the n k segment coordinates exist, in order (None: all of them).
        armature: (N,) inertia added to the diagonal, or None.
        base_inertia: (d, d) inertia of a floating base about its frame, or None.
    """

    segments: Segments
    base: Array
    gravity: Array
    stiffness: Array
    damping: Array
    rest: Array
    active: tuple[int, ...] | None = eqx.field(static=True, default=None)
    floating: bool = eqx.field(static=True, default=False)
    armature: Array | None = None
    base_inertia: Array | None = None

    @property
    def group(self) -> Group:
        return self.segments.group

    @property
    def planar(self) -> bool:
        return self.segments.planar

    @property
    def num_segments(self) -> int:
        return self.segments.length.shape[0]

    @property
    def num_internal(self) -> int:
        return len(self.active) if self.active is not None else self.num_segments * self.segments.width

    @property
    def num_base_velocities(self) -> int:
        return self.group.dim if self.floating else 0

    @property
    def num_base_coordinates(self) -> int:
        return (3 if self.planar else 7) if self.floating else 0

    @property
    def segment_ends(self) -> Array:
        """Arc lengths (n + 1,) at which segments begin and end, m."""
        return jnp.concatenate([jnp.zeros(1, self.segments.length.dtype), jnp.cumsum(self.segments.length)])

    def internal(self, q: Array) -> Array:
        """Internal part of a configuration."""
        return q[self.num_base_coordinates :]

    def rates(self, v: Array) -> Array:
        """Internal part of a velocity."""
        return v[self.num_base_velocities :]

    def scatter(self, x: Array) -> Array:
        """Internal vector (N,) to one row a segment, (n, k); coordinates that do not exist are zero."""
        n, k = self.num_segments, self.segments.width
        if self.active is not None:
            x = jnp.zeros(n * k, x.dtype).at[np.array(self.active)].set(x)
        return x.reshape(n, k)

    def gather(self, x: Array) -> Array:
        """Segment rows (n, k, ...) to the internal coordinates (N, ...)."""
        x = x.reshape((-1,) + x.shape[2:])
        return x if self.active is None else x[np.array(self.active)]

    def apply(self, matrix: Array, x: Array) -> Array:
        """Product of a stiffness or damping, in blocks or not, with an internal vector (N,)."""
        if matrix.ndim == 2:
            return matrix @ x
        return self.gather(jnp.einsum("nij,nj->ni", matrix, self.scatter(x)))

    def dense(self, matrix: Array) -> Array:
        """A stiffness or damping as (N, N)."""
        if matrix.ndim == 2:
            return matrix
        n, k = matrix.shape[:2]
        full = jnp.einsum("nij,nm->nimj", matrix, jnp.eye(n, dtype=matrix.dtype)).reshape(n * k, n * k)
        return full if self.active is None else full[np.ix_(self.active, self.active)]

    def blocks(self, matrix: Array) -> Array:
        """The diagonal blocks (n, k, k) of a stiffness or damping, one a segment."""
        if matrix.ndim == 3:
            return matrix
        rows = jax.vmap(self.scatter, in_axes=1, out_axes=2)(matrix)
        blocks = jax.vmap(jax.vmap(self.scatter))(rows)
        index = np.arange(self.num_segments)
        return jnp.moveaxis(blocks, 2, 1)[index, index]

    def selection(self, dtype) -> Array:
        """The (n, k, nv) matrices that pick each segment's coordinates out of a velocity."""
        identity = jnp.eye(self.num_internal, dtype=dtype)
        rows = jax.vmap(self.scatter, in_axes=1, out_axes=2)(identity)
        return jnp.concatenate([jnp.zeros(rows.shape[:2] + (self.num_base_velocities,), dtype), rows], axis=2)

    def diagonal(self, dtype) -> Array:
        """Inertia (n, k) on the diagonal: the armature, and ones where a coordinate does not exist."""
        n, k = self.num_segments, self.segments.width
        missing = np.zeros(n * k)
        if self.active is not None:
            missing = 1 - np.bincount(np.array(self.active, int), minlength=n * k)
        missing = jnp.asarray(missing.reshape(n, k), dtype)
        return missing if self.armature is None else missing + self.scatter(self.armature)


def rods(chain: Chain) -> Rods:
    """The segments of a chain of deformable rods.

    Raises:
        ValueError: a chain of another kind, which has no strain.
    """
    if not isinstance(chain.segments, Rods):
        raise ValueError(f"only rods have strains, but this robot is a chain of {type(chain.segments).__name__}")
    return chain.segments

"""Segments: what moves between one frame of a chain and the next.

A stack of ``n`` equal segments owns ``k`` generalised coordinates each and knows nothing but itself: where its
material points lie relative to its own base, and how they move with its own coordinates.
"""

from abc import abstractmethod
from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.lie import Group, se2, se3


def group_of(planar: bool) -> Group:
    """The group of rigid motions of the plane or of space."""
    return cast(Group, se2 if planar else se3)


class Point(NamedTuple):
    """One material point of one segment, relative to the segment's base.

    ``g`` pose; ``S`` (d, k) body Jacobian; ``xi`` (d,) strain, the body twist per arc length; ``B`` (d, k) its basis.
    """

    g: Array
    S: Array
    xi: Array
    B: Array


class StrainField(NamedTuple):
    """Strain at the quadrature nodes of every segment.

    ``s`` (n, p) arc length within the segment, ``weights`` (n, p) in m, ``xi`` (n, p, d), ``B`` (n, p, d, k).
    """

    s: Array
    weights: Array
    xi: Array
    B: Array


class Segments(eqx.Module):
    """A stack of n segments with k coordinates each and p inertial points plus the tip.

    Attributes:
        planar: SE(2) if true, SE(3) if false.
        length: arc length of each segment (n,), m.
        inertia: spatial inertia (n, p + 1, d, d) at each point, quadrature weight included; the tip is the last.
    """

    planar: eqx.AbstractVar[bool]
    length: eqx.AbstractVar[Array]
    inertia: eqx.AbstractVar[Array]

    @property
    def group(self) -> Group:
        return group_of(self.planar)

    @property
    @abstractmethod
    def width(self) -> int:
        """Coordinates per segment, k."""

    @abstractmethod
    def local(self, q: Array) -> tuple[Array, Array]:
        """Poses (n, p + 1, *pose) and body Jacobians (n, p + 1, d, k) of the points; q is (n, k)."""

    @abstractmethod
    def at(self, q: Array, index: Array, s: Array) -> Point:
        """The material point at arc length ``s`` (m) of segment ``index``; q is (n, k)."""


class ConstantStrain(Segments):
    """Rods of constant strain (PCS): closed-form exponential and tangent operator at every point at once.

    A rigid offset may precede the rod (``base_offset``) and follow it (``tip_offset``): caps, platforms,
    connectors. The last entry of ``inertia`` is everything rigid that moves with the tip, about the tip frame.

    Attributes:
        basis: (n, d, k), strain is ``basis q + reference``; columns of unused coordinates are zero.
        reference: (n, d).
        nodes, weights: quadrature rule (p,) on [0, 1].
        base_offset, tip_offset: poses (n, *pose), or None.
    """

    planar: bool = eqx.field(static=True)
    length: Array
    inertia: Array
    basis: Array
    reference: Array
    nodes: Array
    weights: Array
    base_offset: Array | None = None
    tip_offset: Array | None = None

    @property
    def width(self) -> int:
        return self.basis.shape[-1]

    def strain(self, q: Array) -> Array:
        """Strain (n, d) of every segment."""
        return jnp.einsum("ndk,nk->nd", self.basis, q) + self.reference

    def strain_field(self, q: Array) -> StrainField:
        """The (constant) strain at the quadrature nodes."""
        xi, p = self.strain(q), self.nodes.shape[0]
        return StrainField(
            self.length[:, None] * self.nodes[None],
            self.length[:, None] * self.weights[None],
            jnp.repeat(xi[:, None], p, axis=1),
            jnp.repeat(self.basis[:, None], p, axis=1),
        )

    def local(self, q: Array) -> tuple[Array, Array]:
        G = self.group
        fractions = jnp.concatenate([self.nodes, jnp.ones(1, self.nodes.dtype)])

        def segment(xi, length, basis, base_offset, tip_offset):
            g, S = jax.vmap(lambda x: _arc(G, xi, x * length, basis))(fractions)
            if base_offset is not None:
                g = jax.vmap(G.compose, in_axes=(None, 0))(base_offset, g)
            if tip_offset is not None:
                g = g.at[-1].set(G.compose(g[-1], tip_offset))
                S = S.at[-1].set(G.inverse_adjoint(tip_offset) @ S[-1])
            return g, S

        return jax.vmap(segment)(self.strain(q), self.length, self.basis, self.base_offset, self.tip_offset)

    def at(self, q: Array, index: Array, s: Array) -> Point:
        G = self.group
        B = self.basis[index]
        xi = B @ q[index] + self.reference[index]
        g, S = _arc(G, xi, s, B)
        if self.base_offset is not None:
            g = G.compose(self.base_offset[index], g)
        return Point(g, S, xi, B)


def _arc(G: Group, xi: Array, s: Array, B: Array) -> tuple[Array, Array]:
    """Pose and body Jacobian after an arc ``s`` of constant strain ``xi`` with basis B."""
    x = s * xi
    return G.exp(x), s * (G.tangent(x) @ B)


class Joints(Segments):
    """One-coordinate screw joints, each moving a rigid link.

    Attributes:
        screw: (n, d) joint twist in the joint frame, any pitch.
        parent_to_joint: poses (n, *pose) from the previous tip to the joint frame.
        tip: (n, space) link tip in the post-joint frame, m; arc length runs along it.
        inertia: (n, 1, d, d) spatial inertia of the link about its tip frame.
    """

    planar: bool = eqx.field(static=True)
    length: Array
    inertia: Array
    screw: Array
    parent_to_joint: Array
    tip: Array

    @property
    def width(self) -> int:
        return 1

    def local(self, q: Array) -> tuple[Array, Array]:
        tips = jax.vmap(lambda i: self.at(q, i, self.length[i]))(jnp.arange(self.length.shape[0]))
        return tips.g[:, None], tips.S[:, None]

    def at(self, q: Array, index: Array, s: Array) -> Point:
        G = self.group
        screw = self.screw[index]
        direction = self.tip[index] / self.length[index]
        reach = G.translation(s * direction)
        g = G.compose(G.compose(self.parent_to_joint[index], G.exp(screw * q[index, 0])), reach)
        xi = jnp.concatenate([jnp.zeros(G.angular, screw.dtype), direction])
        return Point(g, (G.inverse_adjoint(reach) @ screw)[:, None], xi, jnp.zeros((G.dim, 1), screw.dtype))

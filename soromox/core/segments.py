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

from soromox.batching import settle
from soromox.core.arcs import arcs
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


class Relative(NamedTuple):
    """Motion of the points of every segment relative to its base: the inertial nodes, then the tip.

    ``A`` (n, p + 1, d, d + k) takes ``[twist of the base, rates]`` to the twist of a point: inverse adjoint and body
    Jacobian side by side. ``twist`` (n, p + 1, d) is the part of the rates and ``bias`` (n, p + 1, d) its rate at
    constant rates.
    """

    A: Array
    twist: Array
    bias: Array


class StrainField(NamedTuple):
    """Strain at the quadrature nodes of every segment.

    ``s`` (n, p) arc length within the segment, ``weights`` (n, p) in m, ``xi`` (n, p, d), ``B`` (n, p, d, k).
    """

    s: Array
    weights: Array
    xi: Array
    B: Array


class Segments(eqx.Module):
    """A stack of n segments with k coordinates each, p inertial nodes and a tip.

    Attributes:
        planar: SE(2) if true, SE(3) if false.
        length: arc length of each segment (n,), m.
        inertia: spatial inertia (n, p, d, d) at the nodes, quadrature weight included; p may be 0.
        tip_inertia: everything rigid that moves with the tips, about the tip frames, (n, d, d); None for nothing.
    """

    planar: eqx.AbstractVar[bool]
    length: eqx.AbstractVar[Array]
    inertia: eqx.AbstractVar[Array]
    tip_inertia: eqx.AbstractVar[Array | None]

    @property
    def group(self) -> Group:
        return group_of(self.planar)

    @property
    def point_inertia(self) -> Array:
        """Spatial inertia (n, p + 1, d, d) at the nodes and the tip."""
        tip = jnp.zeros_like(self.inertia[:, 0]) if self.tip_inertia is None else self.tip_inertia
        return jnp.concatenate([self.inertia, tip[:, None]], axis=1)

    @property
    @abstractmethod
    def width(self) -> int:
        """Coordinates per segment, k."""

    @abstractmethod
    def local(self, q: Array) -> tuple[Array, Array]:
        """Poses (n, p + 1, *pose) and body Jacobians (n, p + 1, d, k) of the points; q is (n, k)."""

    @abstractmethod
    def at(self, q: Array, index: int | Array, s: Array) -> Point:
        """The material point at arc length ``s`` (m) of segment ``index``; q is (n, k)."""

    def pose(self, q: Array, index: int | Array, s: Array) -> Array:
        """Pose of the material point ``at`` there, by itself."""
        return self.at(q, index, s).g

    def tip_poses(self, q: Array) -> Array:
        """Poses (n, *pose) of the tips relative to the bases."""
        return self.local(q)[0][:, -1]

    def tips(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Poses (n, *pose) of the tips and their body twists (n, d) at the rates ``v``, relative to the bases."""
        g, S = self.local(q)
        return g[:, -1], jnp.einsum("ndk,nk->nd", S[:, -1], v)

    @abstractmethod
    def flow(self, q: Array, v: Array) -> Relative:
        """Motion of the points relative to the segments' bases at the rates ``v``; q and v are (n, k)."""


class Rods(Segments):
    """Segments that deform along their length."""

    @abstractmethod
    def strain_field(self, q: Array) -> StrainField:
        """Strain at the quadrature nodes; q is (n, k)."""


class ConstantStrain(Rods):
    """Rods of constant strain (PCS): closed-form exponential and tangent operator at every point at once.

    A rigid offset may precede the rod (``base_offset``) and follow it (``tip_offset``): caps, platforms,
    connectors.

    Attributes:
        scale: (n, d), strain is ``scale q + reference``; zero where a strain is no coordinate.
        reference: (n, d).
        nodes, weights: quadrature rule (p,) on [0, 1].
        base_offset, tip_offset: poses (n, *pose), or None.
    """

    planar: bool = eqx.field(static=True)
    length: Array
    inertia: Array
    scale: Array
    reference: Array
    nodes: Array
    weights: Array
    tip_inertia: Array | None = None
    base_offset: Array | None = None
    tip_offset: Array | None = None

    @property
    def width(self) -> int:
        return self.scale.shape[-1]

    @property
    def basis(self) -> Array:
        """Derivative (n, d, d) of the strain with respect to the coordinates."""
        return jax.vmap(jnp.diag)(self.scale)

    def strain(self, q: Array) -> Array:
        """Strain (n, d) of every segment."""
        return self.scale * q + self.reference

    def strain_field(self, q: Array) -> StrainField:
        xi, p = self.strain(q), self.nodes.shape[0]
        return StrainField(
            self.length[:, None] * self.nodes[None],
            self.length[:, None] * self.weights[None],
            jnp.repeat(xi[:, None], p, axis=1),
            jnp.repeat(self.basis[:, None], p, axis=1),
        )

    def local(self, q: Array) -> tuple[Array, Array]:
        G = self.group

        def segment(xi, length, scale, base_offset, tip_offset):
            g, S = jax.vmap(lambda s: _arc(G, xi, s, scale))(self._fractions * length)
            if base_offset is not None:
                g = jax.vmap(G.compose, in_axes=(None, 0))(base_offset, g)
            if tip_offset is not None:
                g = g.at[-1].set(G.compose(g[-1], tip_offset))
                S = S.at[-1].set(G.inverse_adjoint(tip_offset) @ S[-1])
            return g, S

        return jax.vmap(segment)(self.strain(q), self.length, self.scale, self.base_offset, self.tip_offset)

    def tips(self, q: Array, v: Array) -> tuple[Array, Array]:
        G = self.group

        def segment(xi, rate, length, base_offset, tip_offset):
            g, twist = G.exp(length * xi), length * (G.tangent(length * xi) @ rate)
            if base_offset is not None:
                g = G.compose(base_offset, g)
            if tip_offset is not None:
                g, twist = G.compose(g, tip_offset), G.inverse_adjoint(tip_offset) @ twist
            return g, twist

        return jax.vmap(segment)(self.strain(q), self.scale * v, self.length, self.base_offset, self.tip_offset)

    def flow(self, q: Array, v: Array) -> Relative:
        G, d = self.group, self.group.dim

        def segment(xi, rate, length, scale, base_offset, tip_offset):
            s = self._fractions * length
            operators, twist, bias = arcs(G, xi, rate, s)
            # columns of the base, columns of the rates
            factor = jnp.stack([jnp.ones((s.shape[0], d), s.dtype), s[:, None] * scale[None]], axis=1)
            A = settle(factor[:, None] * operators).reshape(-1, d, 2 * d)
            if base_offset is not None:
                A = jnp.concatenate([A[..., :d] @ G.inverse_adjoint(base_offset), A[..., d:]], axis=-1)
            points = Relative(A, twist, bias)
            if tip_offset is not None:
                to_tip = G.inverse_adjoint(tip_offset)
                points = jax.tree.map(lambda x: jnp.concatenate([x[:-1], (to_tip @ x[-1])[None]]), points)
            return points

        rates = self.scale * v
        return jax.vmap(segment)(self.strain(q), rates, self.length, self.scale, self.base_offset, self.tip_offset)

    @property
    def _fractions(self) -> Array:
        return jnp.concatenate([self.nodes, jnp.ones(1, self.nodes.dtype)])

    def at(self, q: Array, index: int | Array, s: Array) -> Point:
        G = self.group
        scale = self.scale[index]
        xi = scale * q[index] + self.reference[index]
        g, S = _arc(G, xi, s, scale)
        if self.base_offset is not None:
            g = G.compose(self.base_offset[index], g)
        return Point(g, S, xi, jnp.diag(scale))


def _arc(G: Group, xi: Array, s: Array, scale: Array) -> tuple[Array, Array]:
    """Pose and body Jacobian after an arc ``s`` of constant strain ``xi = scale q + ...``."""
    x = s * xi
    return G.exp(x), (s * G.tangent(x)) * scale[None]


class Joints(Segments):
    """One-coordinate screw joints, each moving a rigid link.

    Attributes:
        screw: (n, d) joint twist in the joint frame, any pitch.
        parent_to_joint: poses (n, *pose) from the previous tip to the joint frame.
        tip: (n, space) link tip in the post-joint frame, m; arc length runs along it. Links may have no length.
        tip_inertia: (n, d, d) spatial inertia of the links about their tip frames.
    """

    planar: bool = eqx.field(static=True)
    length: Array
    tip_inertia: Array
    screw: Array
    parent_to_joint: Array
    tip: Array

    @property
    def inertia(self) -> Array:  # a link has no other inertial point than its tip
        return jnp.zeros((self.tip.shape[0], 0) + self.tip_inertia.shape[1:], self.tip_inertia.dtype)

    @property
    def width(self) -> int:
        return 1

    def local(self, q: Array) -> tuple[Array, Array]:
        tips = jax.vmap(lambda i: self.at(q, i, self.length[i]))(jnp.arange(self.length.shape[0]))
        return tips.g[:, None], tips.S[:, None]

    def flow(self, q: Array, v: Array) -> Relative:
        g, S = self.local(q)
        X = jax.vmap(jax.vmap(self.group.inverse_adjoint))(g)
        twist = S[..., 0] * v[:, :, None]
        # screws are fixed in their links
        return Relative(jnp.concatenate([X, S], axis=-1), twist, jnp.zeros_like(twist))

    def at(self, q: Array, index: int | Array, s: Array) -> Point:
        G = self.group
        screw = self.screw[index]
        tip, length = self.tip[index], self.length[index]
        divisor = jnp.where(length > 0, length, 1)
        direction = tip / divisor
        # a link without length has its tip at every s, so that moving the tip moves what follows
        reach = G.translation(jnp.where(length > 0, s / divisor, 1) * tip)
        g = G.compose(G.compose(self.parent_to_joint[index], G.exp(screw * q[index, 0])), reach)
        xi = jnp.concatenate([jnp.zeros(G.angular, screw.dtype), direction])
        return Point(g, (G.inverse_adjoint(reach) @ screw)[:, None], xi, jnp.zeros((G.dim, 1), screw.dtype))

"""Rods whose strain varies along them (GVS), each behind a joint of up to six coordinates."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.batching import settle
from soromox.core.arcs import arcs
from soromox.core.bases import StrainBasis
from soromox.core.segments import Point, Relative, Rods, StrainField
from soromox.lie import Group

ZANNA = np.array([0.5 - np.sqrt(3) / 6, 0.5 + np.sqrt(3) / 6])
"""Positions in a piece at which the fourth-order Magnus expansion takes the strain."""


class VariableStrain(Rods):
    """Rods of strain ``B(X) q + reference``, X in [0, 1] along each; the frame moves by fourth-order Magnus steps.

    The coordinates of a segment are those of its joint, then those of its rod; what a shorter segment lacks is padded
    with zero columns. The pieces of a rod lie between its quadrature nodes, and the Jacobian is the exact derivative
    of the discrete pose. References: Renda et al., "A geometric variable-strain approach for static modeling of soft
    manipulators with tendon and fluidic actuation", 2020; Mathew et al., SoRoSim, 2022.

    Attributes:
        reference: (n, d) strain at rest.
        row_scale: (n, d) factor on the rows of the bases.
        joint: (n, d, k); the joint moves the frame by ``exp(joint q)``.
        nodes, weights: quadrature rule (n, p) on [0, 1].
        start, piece: (n, p + 1) where the pieces begin, and their widths, on [0, 1].
        bases: one a segment.
        joint_widths: number of joint coordinates of each segment.
        node_basis: (n, p, d, k) at the nodes.
        piece_basis: (n, p + 1, 2, d, k) at the two Zanna positions of every piece.
    """

    planar: bool = eqx.field(static=True)
    length: Array
    inertia: Array
    reference: Array
    row_scale: Array
    joint: Array
    nodes: Array
    weights: Array
    start: Array
    piece: Array
    bases: tuple[StrainBasis, ...] = eqx.field(static=True)
    joint_widths: tuple[int, ...] = eqx.field(static=True)
    tip_inertia: Array | None
    node_basis: Array
    piece_basis: Array

    def __init__(
        self,
        planar: bool,
        length: Array,
        inertia: Array,
        reference: Array,
        row_scale: Array,
        joint: Array,
        quadrature: tuple[np.ndarray, np.ndarray],
        bases: tuple[StrainBasis, ...],
        joint_widths: tuple[int, ...],
    ):
        self.planar, self.length, self.inertia, self.reference = planar, length, inertia, reference
        self.row_scale, self.joint, self.bases, self.joint_widths = row_scale, joint, bases, joint_widths
        self.tip_inertia = None
        nodes, weights = quadrature
        ends = np.pad(nodes, [(0, 0), (1, 1)], constant_values=[(0, 0), (0, 1)])
        start, piece = ends[:, :-1], np.diff(ends, axis=1)
        self.nodes, self.weights, self.start, self.piece = (
            jnp.asarray(x, length.dtype) for x in (nodes, weights, start, piece)
        )
        self.node_basis = self.basis(nodes)
        self.piece_basis = self.basis(start[..., None] + piece[..., None] * ZANNA)

    @property
    def width(self) -> int:
        return self.joint.shape[-1]

    def basis(self, X: Array | np.ndarray) -> Array:
        """Bases (n, ..., d, k) of all rods at the positions ``X`` (n, ...)."""
        xp = np if isinstance(X, np.ndarray) else jnp
        kinds = list(zip(self.bases, self.joint_widths, strict=True))
        total = 0.0
        for kind in dict.fromkeys(kinds):
            basis, before = kind
            columns = (before, self.width - before - basis.num_columns)
            mine = np.array([other == kind for other in kinds]).reshape(-1, *(1,) * (X.ndim + 1))
            total = total + xp.where(mine, xp.pad(basis(X), [(0, 0)] * (X.ndim + 1) + [columns]), 0)
        scale = self.row_scale.reshape(-1, *(1,) * (X.ndim - 1), self.group.dim, 1)
        return scale * jnp.asarray(total, scale.dtype)

    def strain_field(self, q: Array) -> StrainField:
        xi = jnp.einsum("npdk,nk->npd", self.node_basis, q) + self.reference[:, None]
        length = self.length[:, None]
        return StrainField(length * self.nodes, length * self.weights, xi, self.node_basis)

    def local(self, q: Array) -> tuple[Array, Array]:
        g, S = self._frames(q)
        return g[:, 1:], S[:, 1:]

    def _frames(self, q: Array) -> tuple[Array, Array]:
        """Poses (n, p + 2, *pose) and Jacobians (n, p + 2, d, k) of the joints' ends and of the pieces' ends."""
        G = self.group

        def segment(q, joint, length, reference, basis, width):
            start = G.exp(joint @ q), G.tangent(joint @ q) @ joint

            def piece(frame, x):
                frame = _carry(G, frame, *_magnus(G, x[0], x[1], length, reference, q))
                return frame, frame

            after = jax.lax.scan(piece, start, (basis, width))[1]
            return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, after)

        return jax.vmap(segment)(q, self.joint, self.length, self.reference, self.piece_basis, self.piece)

    def tips(self, q: Array, v: Array) -> tuple[Array, Array]:
        G = self.group

        def segment(q, v, joint, length, reference, basis, width):
            def exponents(q):
                return _exponents(G, q, joint, length, reference, basis, width)

            def move(omega, rate):
                return G.exp(omega), G.tangent(omega) @ rate

            def carry(so_far, x):
                return G.compose(so_far[0], x[0]), G.inverse_adjoint(x[0]) @ so_far[1] + x[1]

            moves = jax.vmap(move)(*jax.jvp(exponents, (q,), (v,)))
            first, rest = (jax.tree.map(lambda x, i=i: x[i], moves) for i in (0, slice(1, None)))
            return jax.lax.scan(lambda *x: (carry(*x), None), first, rest)[0]

        return jax.vmap(segment)(q, v, self.joint, self.length, self.reference, self.piece_basis, self.piece)

    def flow(self, q: Array, v: Array) -> Relative:
        G, d, jointed = self.group, self.group.dim, any(self.joint_widths)

        def step(q, v, exponent):
            """One step, relative to its beginning: inverse adjoint, Jacobian, twist and bias."""
            omega, slope = exponent(q)
            rate, acceleration = jax.jvp(lambda q: jax.jvp(lambda q: exponent(q)[0], (q,), (v,))[1], (q,), (v,))
            operators, twist, bias = jax.tree.map(lambda x: x[0], arcs(G, omega, rate, jnp.ones(1, q.dtype)))
            X, T = operators[:, 0], operators[:, 1]
            return X, T @ slope, twist, bias + T @ acceleration

        def segment(q, v, joint, length, reference, basis, width):
            steps = jax.vmap(lambda B, w: step(q, v, lambda q: _magnus(G, B, w, length, reference, q)))
            if not jointed:
                return steps(basis, width)
            first = step(q, v, lambda q: (joint @ q, joint))
            return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, steps(basis, width))

        rods = self.joint, self.length, self.reference, self.piece_basis, self.piece
        X, S, twist, bias = jax.tree.map(settle, jax.vmap(segment)(q, v, *rods))

        def carry(so_far, x):
            """All segments at once, from one point to the next."""
            A, eta, rate = so_far
            X, S, twist, bias = x
            carried = jnp.einsum("nij,nj->ni", X, eta)
            spun = jax.vmap(lambda twist, eta: G.ad(twist) @ eta)(twist, carried)
            A = jnp.concatenate([X @ A[..., :d], X @ A[..., d:] + S], axis=-1)
            so_far = A, carried + twist, jnp.einsum("nij,nj->ni", X, rate) - spun + bias
            return so_far, so_far

        first = jnp.concatenate([X[:, 0], S[:, 0]], axis=-1), twist[:, 0], bias[:, 0]
        rest = jax.tree.map(lambda x: jnp.moveaxis(x[:, 1:], 1, 0), (X, S, twist, bias))
        points = jax.lax.scan(carry, first, rest)[1]
        if not jointed:
            points = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, points)
        return Relative(*jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), points))

    def tip_poses(self, q: Array) -> Array:
        rods = q, self.joint, self.length, self.reference, self.piece_basis, self.piece
        return jax.vmap(lambda *rod: _moved(self.group, *rod))(*rods)

    def pose(self, q: Array, index: int | Array, s: Array) -> Array:
        X, start = s / self.length[index], self.start[index]
        last, number = self._piece_at(index, X), np.arange(start.shape[0])
        width = jnp.where(number < last, self.piece[index], jnp.where(number == last, X - start, 0))
        basis = self._basis_of(index, start[:, None] + width[:, None] * jnp.asarray(ZANNA, X.dtype)[None])
        rod = (x[index] for x in (q, self.joint, self.length, self.reference))
        return _moved(self.group, *rod, basis, width)

    def _piece_at(self, index: int | Array, X: Array) -> Array:
        """Number of the piece that holds X; a node belongs to the piece it ends."""
        return jnp.clip(jnp.searchsorted(self.start[index], X, side="left") - 1, 0, self.start.shape[1] - 1)

    def _basis_of(self, index: int | Array, X: Array) -> Array:
        """Bases (..., d, k) of one rod at the positions ``X`` (...)."""
        return self.basis(jnp.broadcast_to(X[None], self.length.shape + X.shape))[index]

    def at(self, q: Array, index: int | Array, s: Array) -> Point:
        G = self.group
        X = s / self.length[index]
        piece = self._piece_at(index, X)
        frame = jax.tree.map(lambda x: x[index, piece], self._frames(q))
        begin = self.start[index, piece]

        def reach(X):
            """The frame within the piece, as far as X."""
            basis = self._basis_of(index, begin + (X - begin) * jnp.asarray(ZANNA, X.dtype))
            omega, slope = _magnus(G, basis, X - begin, self.length[index], self.reference[index], q[index])
            return omega, _carry(G, frame, omega, slope)

        # derivatives of the discrete pose, so that arc-length and configuration derivatives agree to round-off
        (omega, (g, S)), (omega_X, (_, S_X)) = jax.jvp(reach, (X,), (jnp.ones_like(X),))
        xi = G.tangent(omega) @ omega_X / self.length[index]
        return Point(g, S, xi, S_X / self.length[index] + G.ad(xi) @ S)


def _magnus(G: Group, basis: Array, width: Array, length: Array, reference: Array, q: Array) -> tuple[Array, Array]:
    """Exponent (d,) over a piece from the bases (2, d, k) at its Zanna positions, and its derivative (d, k)."""
    B1, B2 = basis[0], basis[1]
    xi1, xi2 = B1 @ q + reference, B2 @ q + reference
    step = width * length
    half, bend = 0.5 * step, (3**0.5 / 12) * step**2
    ad1, ad2 = G.ad(xi1), G.ad(xi2)
    return half * (xi1 + xi2) + bend * (ad1 @ xi2), half * (B1 + B2) + bend * (ad1 @ B2 - ad2 @ B1)


def _exponents(G: Group, q: Array, joint: Array, length: Array, reference: Array, basis: Array, width: Array) -> Array:
    """Exponents (p + 2, d) of the moves along a rod: its joint, then its pieces."""
    pieces = jax.vmap(lambda B, w: _magnus(G, B, w, length, reference, q)[0])(basis, width)
    return jnp.concatenate([(joint @ q)[None], pieces])


def _moved(G: Group, *rod: Array) -> Array:
    """Pose of a frame after all moves along a rod; see ``_exponents``."""
    steps = jax.vmap(G.exp)(_exponents(G, *rod))
    return jax.lax.scan(lambda g, step: (G.compose(g, step), None), steps[0], steps[1:])[0]


def _carry(G: Group, frame: tuple[Array, Array], omega: Array, slope: Array) -> tuple[Array, Array]:
    """Pose and Jacobian (d, k) of a frame after ``exp(omega)``."""
    g, S = frame
    step = G.exp(omega)
    return G.compose(g, step), G.inverse_adjoint(step) @ S + G.tangent(omega) @ slope

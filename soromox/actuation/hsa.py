"""Motors of handed shearing auxetics: twisting a rod lengthens it and changes its stiffness.

Stoelzle, Rus, Della Santina, "An experimental study of model-based control for planar handed shearing auxetics robots",
2024, and the model's published parameter sets.
"""

from typing import ClassVar, cast

import jax
import jax.numpy as jnp
from jax import Array

from soromox.actuation.core import EffortModel, Transmission
from soromox.core import Chain, ConstantStrain, kinematics


class RodTransmission(Transmission):
    """Coordinates are the strains [kappa, shear, axial] of every rod, (num_segments * num_rods * 3,).

    Attributes:
        offset: (num_segments, num_rods) lateral offset of the rods, m.
    """

    offset: Array

    def rod_maps(self) -> Array:
        """(num_segments, num_rods, 3, 3): rod strain = map @ backbone strain."""
        shift = jnp.zeros((3, 3), self.offset.dtype).at[2, 0].set(1)
        return jnp.eye(3, dtype=self.offset.dtype)[None, None] + self.offset[..., None, None] * shift[None, None]

    def coordinates(self, chain: Chain, q: Array) -> Array:
        xi = cast(ConstantStrain, chain.segments).strain(chain.scatter(q))
        return jnp.einsum("nrij,nj->nri", self.rod_maps(), xi).reshape(-1)

    def matrix(self, chain: Chain, q: Array) -> Array:
        per_segment = jnp.einsum("nrij,njk->nkri", self.rod_maps(), cast(ConstantStrain, chain.segments).basis)
        n, k, r, _ = per_segment.shape
        spread = jnp.einsum("nkri,nm->nkmri", per_segment, jnp.eye(n, dtype=q.dtype))
        return chain.gather(spread.reshape(n, k, n * r * 3))

    def lines(self, chain: Chain, q: Array, s_points: Array) -> tuple[Array, Array | None]:
        """The centre lines of all rods, segment after segment."""
        G, length = chain.group, chain.segments.length
        fractions = s_points / length.sum()

        def point(index, offset, fraction):
            pose = kinematics.pose_at(chain, q, kinematics.Place(index, fraction * length[index]))
            return G.position(G.compose(pose, G.translation(jnp.stack([offset, jnp.zeros_like(offset)]))))

        along = jax.vmap(point, (None, None, 0))
        points = jax.vmap(jax.vmap(along, (None, 0, None)), (0, 0, None))
        lines = points(jnp.arange(length.shape[0]), self.offset, fractions)
        return lines.reshape(-1, *lines.shape[2:]), None


class HSAMotor(EffortModel):
    """Rod forces [bending moment, shear force, axial force] of motor angles phi (rad), one per rod.

    With ``c = handedness / L * phi`` and ``delta = c diag(correction)`` the force is
    ``-delta (xi - xi_ref) + (S + delta) [0, 0, coupling c]``: nonlinear in the angle and in the strain.

    Attributes:
        handedness: (num_segments, num_rods) rod_height over segment length, 1/m.
        coupling: (num_segments, num_rods) axial strain per unit c.
        stiffness: (num_segments, num_rods, 3, 3).
        correction: (num_segments, num_rods, 3) change of the diagonal stiffness per unit c.
        reference: (num_segments, num_rods, 3) rod strains at rest.
    """

    elastic: ClassVar[bool] = True
    handedness: Array
    coupling: Array
    stiffness: Array
    correction: Array
    reference: Array

    def effort(self, u: Array, y: Array, y_dot: Array) -> Array:
        shape = self.coupling.shape

        def rod(phi, strain, handedness, coupling, stiffness, correction, reference):
            c = handedness * phi
            delta = c * correction
            elongation = jnp.zeros_like(strain).at[2].set(coupling * c)
            return -delta * (strain - reference) + stiffness @ elongation + delta * elongation

        force = jax.vmap(jax.vmap(rod))(
            u.reshape(shape),
            y.reshape(shape + (3,)),
            self.handedness,
            self.coupling,
            self.stiffness,
            self.correction,
            self.reference,
        )
        return force.reshape(-1)

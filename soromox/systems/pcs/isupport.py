"""I-SUPPORT: pneumatic sections, each a bundle of three chambers, between rigid connectors.

Alessi et al., IEEE Access 11, 2023.
"""

from collections.abc import Callable
from math import pi
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation import Actuator, PassiveElement, pressure_chambers
from soromox.core import sections
from soromox.lie import se3
from soromox.systems.params import BaseSoftRobotParams
from soromox.systems.pcs.links import CircularSection, ContinuumLinkParams, IsotropicMaterialParams
from soromox.systems.pcs.pcs import PCS, PCSStructure
from soromox.utils.checks import as_float, concrete, require_finite, require_positive, require_shape


class ISupportStructure(PCSStructure):
    """Static settings of an I-SUPPORT arm, on top of those of PCS, whose strain selector counts all pieces.

    Attributes:
        pcs_segment_counts: constant-strain pieces of each pneumatic section.
        rigid_segment_selector: which physical links are rigid.
        max_pressure: upper limit, Pa, in the metadata of the chambers.
    """

    pcs_segment_counts: tuple[int, ...] = eqx.field(
        static=True, default=(1, 1), converter=lambda x: tuple(int(i) for i in x)
    )
    rigid_segment_selector: tuple[bool, ...] = eqx.field(
        static=True, default=(True, False, True, False, True), converter=lambda x: tuple(bool(b) for b in x)
    )
    max_pressure: float = eqx.field(static=True, default=float("inf"), converter=float)

    def __check_init__(self):
        soft = self.rigid_segment_selector.count(False)
        if len(self.pcs_segment_counts) != soft or min(self.pcs_segment_counts, default=0) < 1:
            raise ValueError(
                f"pcs_segment_counts must be a positive number of pieces for each of the {soft} pneumatic links of "
                f"rigid_segment_selector, got {self.pcs_segment_counts}"
            )

    @property
    def pieces(self) -> tuple[int, ...]:
        """Number of pieces of each physical link."""
        counts = iter(self.pcs_segment_counts)
        return tuple(1 if rigid else next(counts) for rigid in self.rigid_segment_selector)

    @property
    def link_of_piece(self) -> np.ndarray:
        """Physical link of each piece."""
        return np.repeat(np.arange(len(self.pieces)), self.pieces)

    def active(self, num_strains: int) -> tuple[int, ...]:
        chosen = super().active(num_strains)
        moving = np.repeat(~np.array(self.rigid_segment_selector)[self.link_of_piece], 6)
        indices = range(num_strains) if chosen is None else chosen
        return tuple(i for i in indices if moving[i])

    def check(self, params: "ISupportParams") -> None:
        links, sections_ = params.link.length.shape[0], params.chamber_distance.shape[0]
        if len(self.pieces) != links:
            raise ValueError(f"rigid_segment_selector must have one flag a link ({links}), got {len(self.pieces)}")
        if len(self.pcs_segment_counts) != sections_:
            raise ValueError(
                f"pcs_segment_counts must have one entry a pneumatic section of the chambers ({sections_}), "
                f"got {len(self.pcs_segment_counts)}"
            )
        if params.pcs_segment_lengths is not None:
            require_shape("pcs_segment_lengths", params.pcs_segment_lengths, (sum(self.pcs_segment_counts),))
        soft = ~np.array(self.rigid_segment_selector)
        radius, reach = concrete(params.link.cross_section.radius), concrete(params.chamber_reach)
        if radius is not None and reach is not None and np.any(reach > radius[soft] * (1 + 1e-5)):
            raise ValueError(
                f"chamber_distance and chamber_outer_radius must add up to at most the radius {radius[soft].tolist()} "
                f"of the pneumatic links, got {reach.tolist()}"
            )
        given, length = concrete(params.pcs_segment_lengths), concrete(params.link.length)
        if given is not None and length is not None:
            sums = np.add.reduceat(given, np.cumsum((0, *self.pcs_segment_counts[:-1])))
            if not np.allclose(sums, length[soft], rtol=1e-5, atol=0):
                raise ValueError(
                    f"pcs_segment_lengths must add up to the lengths {length[soft].tolist()} of the pneumatic links, "
                    f"got {sums.tolist()}"
                )


class ISupportParams(BaseSoftRobotParams):
    """Parameters of n physical links, m of them pneumatic sections of c chambers.

    Attributes:
        link: canonical data of the physical links; the sections are discs, inside which the chambers lie.
        chamber_inner_radius, chamber_outer_radius: of the tubes that the chambers are (m,), m.
        chamber_distance: of the chambers from the centre line (m,), m.
        chamber_azimuth_angles: (m, c), rad, from +y towards +z.
        pcs_segment_lengths: lengths of all pneumatic pieces in order, m; equal within a section when omitted.
        chamber_effective_pressure_area: force over pressure (m,), m^2; the tube's own section when omitted.
    """

    is_planar: ClassVar[bool] = False

    link: ContinuumLinkParams
    chamber_inner_radius: Array = eqx.field(converter=as_float)
    chamber_outer_radius: Array = eqx.field(converter=as_float)
    chamber_distance: Array = eqx.field(converter=as_float)
    chamber_azimuth_angles: Array = eqx.field(converter=as_float)
    pcs_segment_lengths: Array | None = eqx.field(default=None, converter=as_float)
    chamber_effective_pressure_area: Array | None = eqx.field(default=None, converter=as_float)

    def __check_init__(self):
        if self.link.reference_strain.shape[1] != 6:
            raise ValueError(f"links must have 6 strains, got {self.link.reference_strain.shape[1]}")
        if np.ndim(self.chamber_azimuth_angles) != 2:
            raise ValueError(f"chamber_azimuth_angles must be (m, c), got {np.shape(self.chamber_azimuth_angles)}")
        require_finite("chamber_azimuth_angles", self.chamber_azimuth_angles)
        m = self.chamber_azimuth_angles.shape[0]
        for name in ("chamber_inner_radius", "chamber_outer_radius", "chamber_distance"):
            require_shape(name, getattr(self, name), (m,))
            require_positive(name, getattr(self, name))
        outer, inner = concrete(self.chamber_outer_radius), concrete(self.chamber_inner_radius)
        if outer is not None and inner is not None and not np.all(outer > inner):
            raise ValueError(
                f"chamber_outer_radius must exceed chamber_inner_radius, got {outer.tolist()} and {inner.tolist()}"
            )
        if self.pcs_segment_lengths is not None and np.ndim(self.pcs_segment_lengths) != 1:
            raise ValueError(f"pcs_segment_lengths must be one row, got shape {np.shape(self.pcs_segment_lengths)}")
        require_positive("pcs_segment_lengths", self.pcs_segment_lengths)
        if self.chamber_effective_pressure_area is not None:
            require_shape("chamber_effective_pressure_area", self.chamber_effective_pressure_area, (m,))
            require_positive("chamber_effective_pressure_area", self.chamber_effective_pressure_area)

    @property
    def chamber_reach(self) -> Array:
        """Distance of the chambers' outer rims from the centre line (m,), m."""
        return self.chamber_distance + self.chamber_outer_radius

    @property
    def pressure_area(self) -> Array:
        """Force over pressure (m,), m^2."""
        if self.chamber_effective_pressure_area is not None:
            return self.chamber_effective_pressure_area
        return sections.annulus(self.chamber_outer_radius, self.chamber_inner_radius)[0]

    @property
    def chamber_offsets(self) -> Array:
        """Material offsets [y, z] of the chambers (m, c, 2), m."""
        azimuth = self.chamber_azimuth_angles
        return self.chamber_distance[:, None, None] * jnp.stack([jnp.cos(azimuth), jnp.sin(azimuth)], axis=-1)

    @classmethod
    def alessi2023(cls, **kwargs) -> Self:
        """The published arm: two sections of three chambers, for the default structure."""
        rigid, soft, n = 1210.0, 1104.0, 5
        straight = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (n, 1))
        blank = np.zeros((n, 6, 6))
        section = CircularSection(np.full((n, 1), 0.030))
        length, density = [0.041, 0.190, 0.027, 0.180, 0.006], [rigid, soft, rigid, soft, rigid]
        params = cls(
            link=ContinuumLinkParams(length, density, straight, section, blank, blank),
            chamber_inner_radius=[6.39e-3] * 2,
            chamber_outer_radius=[7.79e-3] * 2,
            chamber_distance=[20e-3] * 2,
            chamber_azimuth_angles=np.tile(np.arange(3) * 2 * pi / 3, (2, 1)),
            **kwargs,
        )
        material = IsotropicMaterialParams(1.6464e6, poisson_ratio=0.5, material_damping_coefficient=1.96e3)
        stiffness, damping = link_matrices(params, ISupportStructure(), material)
        return params.replace(link=params.link.replace(stiffness=stiffness, damping=damping))


class ISupport(PCS):
    """I-SUPPORT arm: constant-strain pieces of pneumatic sections between rigid links, which keep their mass.

    ``actuators=None`` drives it by the pressures (Pa) of its chambers, section by section; they follow the params.
    """

    params_type: ClassVar[type] = ISupportParams
    structure_type: ClassVar[type] = ISupportStructure

    pneumatic: bool = eqx.field(static=True)

    def __init__(
        self,
        params: ISupportParams,
        structure: ISupportStructure | None = None,
        *,
        actuators: Actuator | tuple[Actuator, ...] | None = None,
        passive_elements: PassiveElement | tuple[PassiveElement, ...] | None = (),
        base_pose: Array | None = None,
        floating_base: bool = False,
        eps: float | None = None,
    ):
        self.pneumatic = actuators is None
        super().__init__(
            params,
            structure,
            actuators=() if actuators is None else actuators,
            passive_elements=passive_elements,
            base_pose=base_pose,
            floating_base=floating_base,
            eps=eps,
        )

    @property
    def segment_length(self) -> Array:
        """Arc length of each piece, m."""
        given, link, structure = self.params.pcs_segment_lengths, self.params.link, self.structure
        of = structure.link_of_piece
        even = link.length[of] / np.array(structure.pieces, link.length.dtype)[of]
        if given is None:
            return even
        soft = ~np.array(structure.rigid_segment_selector)[of]
        return jnp.where(soft, given[np.cumsum(soft) - 1], even)

    def _pieces(self) -> ContinuumLinkParams:
        link, of, length = self.params.link, self.structure.link_of_piece, self.segment_length
        share = (length / link.length[of])[:, None, None]
        section = CircularSection(link.cross_section.coefficients[of])
        stiffness, damping = share * link.stiffness[of], share * link.damping[of]
        return ContinuumLinkParams(length, link.density[of], link.reference_strain[of], section, stiffness, damping)

    def _section_inertia(self) -> Array:
        density = self.params.link.density

        def inertia(links, *geometry):
            return sections.section_inertia(False, density[links], *geometry)

        return _per_length(self.params, self.structure, inertia)[self.structure.link_of_piece]

    def link_matrices_from_material(self, material: IsotropicMaterialParams) -> tuple[Array, Array]:
        """Stiffness and damping (n, 6, 6) of the physical links if made of ``material``."""
        return link_matrices(self.params, self.structure, material)

    def _driven(self) -> tuple[Actuator, ...]:
        return (self._chambers(),) if self.pneumatic else self.actuators

    def _chambers(self) -> Actuator:
        p, s = self.params, self.structure
        m, c = p.chamber_azimuth_angles.shape
        soft = np.flatnonzero(~np.array(s.rigid_segment_selector))
        ends = np.cumsum(s.pieces)[soft]
        starts = ends - np.array(s.pcs_segment_counts)
        return pressure_chambers(
            p.chamber_offsets.reshape(m * c, 2),
            jnp.repeat(p.pressure_area, c),
            num_segments=self.num_segments,
            start=np.repeat(starts, c).tolist(),
            end=np.repeat(ends - 1, c).tolist(),
            names=[f"chamber_{i}_{j}" for i in range(m) for j in range(c)],
            max_pressure=s.max_pressure,
        )


def link_matrices(
    params: ISupportParams, structure: ISupportStructure, material: IsotropicMaterialParams
) -> tuple[Array, Array]:
    """Stiffness and damping (n, 6, 6) of physical links of ``material``, integrated over their lengths."""
    young, shear, damping = material.resolve(params.link.length.shape[0])
    length = params.link.length[:, None, None]

    def elastic(links, *geometry):
        return sections.section_stiffness(False, young[links], shear[links], *geometry)

    def viscous(links, *geometry):
        return sections.section_damping(False, damping[links], *geometry)

    return length * _per_length(params, structure, elastic), length * _per_length(params, structure, viscous)


def _per_length(params: ISupportParams, structure: ISupportStructure, law: Callable[..., Array]) -> Array:
    """Matrices (n, 6, 6) per length of the physical links: ``law(links, area, iy, iz)`` of discs where they are rigid,
    the sum over the tubes, each moved to its place, where they are pneumatic."""
    rigid = np.array(structure.rigid_segment_selector)
    discs = law(np.arange(rigid.size), *sections.circle(params.link.cross_section.radius))
    tubes = law(np.flatnonzero(~rigid), *sections.annulus(params.chamber_outer_radius, params.chamber_inner_radius))

    def moved(matrix: Array, offset: Array) -> Array:
        X = se3.inverse_adjoint(se3.translation(jnp.concatenate([jnp.zeros(1, offset.dtype), offset])))
        return X.T @ matrix @ X

    bundles = jax.vmap(lambda tube, offsets: jax.vmap(moved, (None, 0))(tube, offsets).sum(0))
    soft = bundles(tubes, params.chamber_offsets)
    return jnp.where(rigid[:, None, None], discs, soft[np.cumsum(~rigid) - 1])

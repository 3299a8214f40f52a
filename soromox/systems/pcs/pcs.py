"""Piecewise-constant-strain robots, planar and spatial."""

from typing import Any, ClassVar, Self, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core import Chain, ConstantStrain, sections
from soromox.core.base import pose_from_coordinates
from soromox.systems.cross_sections import SectionProfiles
from soromox.systems.params import BaseSoftRobotParams
from soromox.systems.pcs.links import (
    CircularSection,
    ContinuumLinkParams,
    IsotropicMaterialParams,
    LinkSpec,
    link_matrices,
)
from soromox.systems.rod_robot import RodRobot
from soromox.utils.checks import as_float, field_list, require_count, require_shape

FLAT_FIELDS = (
    "length",
    "radius",
    "density",
    "young_modulus",
    "shear_modulus",
    "material_damping_coefficient",
    "reference_strain",
)


class _PCSParams(BaseSoftRobotParams):
    """Parameters of a PCS robot, from canonical links or from flat isotropic fields.

    ``PCSParams(link=...)`` takes ``ContinuumLinkParams``. ``PCSParams(length=..., radius=..., density=...,
    young_modulus=..., shear_modulus=..., material_damping_coefficient=..., reference_strain=...)`` takes one value a
    segment (reference_strain flat, straight when omitted) and leads to the same link data.

    Attributes:
        link: canonical link data.
    """

    link: ContinuumLinkParams

    def __init__(
        self,
        link: ContinuumLinkParams | None = None,
        *,
        base_pose=None,
        gravity=None,
        payload_mass=None,
        **flat: Any,
    ):
        if link is None:
            link = _flat_links(type(self).is_planar, flat)
        elif flat:
            raise ValueError(f"give link or flat fields, not both; got link and {field_list(flat)}")
        d = 3 if self.is_planar else 6
        if link.reference_strain.shape[1] != d:
            raise ValueError(f"{type(self).__name__} links must have {d} strains, got {link.reference_strain.shape[1]}")
        self.link = link
        self.base_pose, self.gravity, self.payload_mass = base_pose, gravity, payload_mass

    @property
    def length(self) -> Array:
        """Segment lengths (n,), m."""
        return self.link.length


class PlanarPCSParams(_PCSParams):
    __doc__ = _PCSParams.__doc__
    is_planar: ClassVar[bool] = True


class PCSParams(_PCSParams):
    __doc__ = _PCSParams.__doc__
    is_planar: ClassVar[bool] = False


def _flat_links(planar: bool, flat: dict[str, Any]) -> ContinuumLinkParams:
    unknown = flat.keys() - set(FLAT_FIELDS)
    missing = set(FLAT_FIELDS[:5]) - flat.keys()
    if unknown or missing:
        wrong = f"unknown {field_list(unknown)}" if unknown else f"missing {field_list(missing)}"
        raise ValueError(f"PCS parameters need link or the fields {field_list(FLAT_FIELDS)}; {wrong}")
    values = {name: jnp.atleast_1d(as_float(value)) for name, value in flat.items()}
    n, d = values["length"].shape[0], 3 if planar else 6
    for name in FLAT_FIELDS[:6]:
        if name in values:
            require_shape(name, values[name], (n,))
    reference = values.get("reference_strain")
    if reference is None:
        reference = jnp.zeros((n, d), values["length"].dtype).at[:, d // 2].set(1)
    elif reference.size != n * d:
        raise ValueError(f"reference_strain must have {n} x {d} = {n * d} entries, got shape {reference.shape}")
    section = CircularSection(values["radius"][:, None])
    material = IsotropicMaterialParams(
        values["young_modulus"],
        shear_modulus=values["shear_modulus"],
        material_damping_coefficient=values.get("material_damping_coefficient"),
    )
    stiffness, damping = link_matrices(planar, values["length"], section, material)
    return ContinuumLinkParams(
        values["length"], values["density"], reference.reshape(n, d), section, stiffness, damping
    )


class PCSStructure(eqx.Module):
    """Static settings of a PCS robot.

    Attributes:
        num_gauss_points: quadrature points a segment.
        strain_selector: which strains are coordinates, one flag per segment and strain, segment-major; None is all.
        scale_rotational_basis_by_length: rotational rows of the basis over the segment length: q becomes an angle.
    """

    num_gauss_points: int = eqx.field(static=True, default=5)
    strain_selector: tuple[bool, ...] | None = eqx.field(
        static=True,
        default=None,
        converter=lambda x: None if x is None else tuple(bool(b) for b in np.ravel(x)),
    )
    scale_rotational_basis_by_length: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        require_count("num_gauss_points", self.num_gauss_points)

    def check(self, params: Any) -> None:
        """ValueError if it does not fit the params."""
        self.active(params.length.shape[0] * (3 if params.is_planar else 6))

    def active(self, num_strains: int) -> tuple[int, ...] | None:
        """Indices of the strains that are coordinates, or None for all."""
        if self.strain_selector is None:
            return None
        if len(self.strain_selector) != num_strains:
            raise ValueError(f"strain_selector must have {num_strains} flags, got {len(self.strain_selector)}")
        return tuple(int(i) for i in np.flatnonzero(self.strain_selector))


PlanarPCSStructure = PCSStructure


def gauss_legendre(count: int, dtype) -> tuple[Array, Array]:
    """Nodes and weights (count,) of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return jnp.asarray((nodes + 1) / 2, dtype), jnp.asarray(weights / 2, dtype)


class _PCS(RodRobot):
    """What planar and spatial PCS robots share; a subclass names its parameter class."""

    params_type: ClassVar[type] = _PCSParams
    structure_type: ClassVar[type] = PCSStructure
    __init__ = RodRobot.__init__  # for type checkers, which would make one of the fields

    @property
    def num_dofs(self) -> int:
        """Number of active strains."""
        active = self._active()
        return self.num_strains if active is None else len(active)

    @property
    def num_strains(self) -> int:
        """Number of strains, active or not."""
        return self.num_segments * self.group.dim

    def _active(self) -> tuple[int, ...] | None:
        return self.structure.active(self.num_strains)

    def _basis(self) -> Array:
        """Strain basis (n, d, d) of every segment, columns of inactive strains zero."""
        return jax.vmap(jnp.diag)(self._scale())

    def _scale(self) -> Array:
        """Strain per coordinate (n, d), zero where a strain is no coordinate."""
        length = self.segment_length
        n, d = length.shape[0], self.group.dim
        rows = jnp.ones((n, d), length.dtype)
        if self.structure.scale_rotational_basis_by_length:
            rows = rows.at[:, : self.group.angular].set(1 / length[:, None])
        active = self._active()
        columns = np.ones(n * d) if active is None else np.isin(np.arange(n * d), active)
        return rows * jnp.asarray(columns.reshape(n, d), length.dtype)

    def _pieces(self) -> ContinuumLinkParams:
        """The constant-strain links that the segments are."""
        return self.params.link

    def _section_inertia(self) -> Array:
        """Inertia per length (n, d, d) of the segments."""
        link = self._pieces()
        return sections.section_inertia(self.is_planar, link.density, *link.cross_section.geometry())

    @property
    def section_profiles(self) -> SectionProfiles:
        sides = jnp.repeat(self._pieces().cross_section.coefficients, 2, axis=1)
        return SectionProfiles(("circle",) * self.num_segments, sides, sides)

    def assemble(self) -> Chain:
        link = self._pieces()
        nodes, weights = gauss_legendre(self.structure.num_gauss_points, link.length.dtype)
        inertia = self._section_inertia()[:, None] * (link.length[:, None] * weights[None])[..., None, None]
        segments = ConstantStrain(
            planar=self.is_planar,
            length=link.length,
            inertia=inertia,
            scale=self._scale(),
            reference=link.reference_strain,
            nodes=nodes,
            weights=weights,
        )
        return self._chain(segments, link.stiffness, link.damping)

    def _chain(self, segments: ConstantStrain, stiffness: Array, damping: Array) -> Chain:
        """A chain with the elasticity of block-diagonal strain matrices (n, d, d)."""
        scale = segments.scale
        return Chain(
            segments=self._loaded(segments),
            base=pose_from_coordinates(self.is_planar, self.params.base_pose),
            gravity=self.params.gravity,
            stiffness=scale[:, :, None] * stiffness * scale[:, None],
            damping=scale[:, :, None] * damping * scale[:, None],
            rest=jnp.zeros(self.num_dofs, segments.length.dtype),
            active=self._active(),
            floating=self.floating,
        )

    @property
    def B_xi(self) -> Array:
        """Basis (num_strains, num_dofs) from active coordinates to strains."""
        n, d = self.num_segments, self.group.dim
        basis = self._basis()
        full = jnp.einsum("nab,nm->namb", basis, jnp.eye(n, dtype=basis.dtype)).reshape(n * d, n * d)
        return full if self._active() is None else full[:, np.array(self._active())]

    @property
    def xi_ref(self) -> Array:
        """Reference strain (num_strains,), segment-major."""
        return cast(ConstantStrain, self.assemble().segments).reference.reshape(-1)

    def strain(self, q: Array) -> Array:
        """Strain (num_strains,), segment-major, in the material frame."""
        return self.B_xi @ self.split_configuration(q)[1] + self.xi_ref

    def cross_section_geometry(self, q: Array, s: Array) -> tuple[Array, Array]:
        """``(kind, dimensions)`` of the section at ``s`` for renderers: kind 0 is a disc of radius dimensions[0], m."""
        index, _ = self.classify_segment(s)
        return jnp.asarray(0, jnp.int32), self._pieces().cross_section.coefficients[index]

    @classmethod
    def params_from_links(cls, links: list[LinkSpec] | tuple[LinkSpec, ...], *, gravity: Array | None = None) -> Any:
        """Parameters from link specifications.

        Raises:
            ValueError: no links, or a link with wrong shapes or without material and matrices.
        """
        if len(links) == 0:
            raise ValueError("a robot needs at least one link, got none")
        parts = [link.canonical(cls.params_type.is_planar) for link in links]
        return cls.params_type(jax.tree.map(lambda *xs: jnp.concatenate(xs), *parts), gravity=gravity)

    @classmethod
    def from_links(
        cls,
        links: list[LinkSpec] | tuple[LinkSpec, ...],
        *,
        structure: PCSStructure | None = None,
        gravity: Array | None = None,
        base_pose: Array | None = None,
        **kwargs: Any,
    ) -> Self:
        """A robot from link specifications; keyword arguments go to the constructor."""
        params = cls.params_from_links(links, gravity=gravity)
        return cls(params, structure, base_pose=base_pose, **kwargs)

    def _link(self) -> ContinuumLinkParams:
        if not hasattr(self.params, "link"):
            raise TypeError(f"a {type(self).__name__} is not made of links; use update_params")
        return self.params.link

    def update_link_params(self, **updates: Any) -> Self:
        """A copy with fields of ``ContinuumLinkParams`` replaced."""
        return self.with_params(self.params.replace(link=self._link().replace(**updates)))

    def link_matrices_from_material(self, material: IsotropicMaterialParams) -> tuple[Array, Array]:
        """Stiffness and damping (n, d, d) of the links if made of ``material``."""
        link = self._link()
        return link_matrices(self.is_planar, link.length, link.cross_section, material)

    def with_isotropic_material(self, material: IsotropicMaterialParams) -> Self:
        """A copy whose link matrices come from ``material``."""
        stiffness, damping = self.link_matrices_from_material(material)
        return self.update_link_params(stiffness=stiffness, damping=damping)


class PlanarPCS(_PCS):
    """Planar piecewise-constant-strain robot: strains [kappa, axial, shear] a segment, backbone along local x."""

    params_type: ClassVar[type] = PlanarPCSParams
    __init__ = _PCS.__init__  # for type checkers, which would make one of the fields


class PCS(_PCS):
    """Spatial piecewise-constant-strain robot: strains [kx ky kz sx sy sz] a segment, backbone along local x."""

    params_type: ClassVar[type] = PCSParams
    __init__ = _PCS.__init__  # for type checkers, which would make one of the fields

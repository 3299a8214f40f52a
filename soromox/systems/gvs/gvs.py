"""Geometric-variable-strain robots: joints and rods whose strain follows a basis.

Renda et al., "A geometric variable-strain approach for static modeling of soft manipulators with tendon and fluidic
actuation", RA-L 2020; Boyer et al., "Dynamics of continuum and soft robots: a strain parameterization based approach",
T-RO 2021; Mathew et al., SoRoSim, RAM 2022.
"""

from typing import Any, ClassVar, Self, cast

import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core import Chain, VariableStrain, sections
from soromox.core.base import pose_from_coordinates
from soromox.core.kinematics import locate
from soromox.systems.cross_sections import SectionProfiles
from soromox.systems.gvs.params import GVSParams, GVSSegment, GVSStructure, PlanarGVSParams, from_segments
from soromox.systems.rod_robot import RodRobot


class GVS(RodRobot):
    """Spatial variable-strain robot: every segment is a joint, then a link with strain ``B(X) q + reference``.

    Coordinates are ``[joint_0, link_0, joint_1, ...]``; strains [kx ky kz sx sy sz], backbone along local x.
    """

    params_type: ClassVar[type] = GVSParams
    structure_type: ClassVar[type] = GVSStructure
    __init__ = RodRobot.__init__  # for type checkers, which would make one of the fields

    @classmethod
    def from_segments(
        cls,
        segments: list[GVSSegment] | tuple[GVSSegment, ...],
        *,
        scale_rotational_basis_by_length: bool = False,
        gravity: Array | None = None,
        base_pose: Array | None = None,
        **kwargs: Any,
    ) -> Self:
        """A robot made of ``segments``; other keyword arguments go to the constructor."""
        params, structure = from_segments(
            cls.params_type, segments, scale_rotational_basis_by_length, gravity, base_pose
        )
        return cls(params, structure, **kwargs)

    def _checked(self) -> Self:
        if self.floating and self.structure.joint_widths()[0]:
            raise ValueError(
                "the first joint of a floating robot must be fixed, since its base moves already and has no mass, "
                f"got {self.structure.joints[0].kind!r}"
            )
        return super()._checked()

    @property
    def num_dofs(self) -> int:
        """Number of joint and link coordinates."""
        return len(self.structure.active())

    @property
    def section_profiles(self) -> SectionProfiles:
        """Cross sections of the links."""
        return self.params.cross_section

    def assemble(self) -> Chain:
        p, structure, planar = self.params, self.structure, self.is_planar
        nodes, weights = structure.quadrature()
        geometry = p.cross_section.geometry(jnp.asarray(nodes, p.length.dtype))
        per_node = p.length[:, None] * jnp.asarray(weights, p.length.dtype)
        inertia = per_node[..., None, None] * sections.section_inertia(planar, p.density[:, None], *geometry)
        twists, advance = (jnp.asarray(x, p.length.dtype) for x in structure.joint_columns())
        row_scale = jnp.ones_like(p.reference_strain)
        if structure.scale_rotational_basis_by_length:
            angular = np.arange(self.group.dim) < self.group.angular
            row_scale = jnp.where(angular[None], 1 / p.length[:, None], 1)
        segments = VariableStrain(
            planar,
            p.length,
            inertia,
            p.reference_strain,
            row_scale,
            twists + p.joint_pitch[:, None, None] * advance,
            (nodes, weights),
            structure.bases,
            structure.joint_widths(),
        )
        elastic = sections.section_stiffness(planar, p.young_modulus[:, None], p.shear_modulus[:, None], *geometry)
        viscous = sections.section_damping(planar, p.material_damping_coefficient[:, None], *geometry)
        return Chain(
            segments=self._loaded(segments),
            base=pose_from_coordinates(planar, p.base_pose),
            gravity=p.gravity,
            stiffness=self._on_coordinates(segments, per_node, elastic, p.joint_stiffness),
            damping=self._on_coordinates(segments, per_node, viscous, p.joint_damping),
            rest=jnp.zeros(self.num_dofs, p.length.dtype),
            active=structure.active(),
            floating=self.floating,
        )

    def _on_coordinates(self, segments: VariableStrain, per_node: Array, section: Array, joint: Array) -> Array:
        """Blocks (n, k, k): section matrices (n, p, d, d) integrated over the links, and the joints' own (n, j, j)."""
        B, spare = segments.node_basis, segments.width - joint.shape[-1]
        links = jnp.einsum("np,npdi,npde,npej->nij", per_node, B, section, B)
        exists = np.arange(joint.shape[-1])[None] < np.array(self.structure.joint_widths())[:, None]
        joint = jnp.where(exists[:, :, None] & exists[:, None], joint, 0)
        return links + jnp.pad(joint, [(0, 0), (0, spare), (0, spare)])

    def strain(self, q: Array, s: Array) -> Array:
        """Strain (d,) at arc length ``s`` (m), in the material frame."""
        chain = self.assemble()
        index, s_local = locate(chain, s)
        segments = cast(VariableStrain, chain.segments)
        X = s_local / segments.length[index]
        basis = segments.basis(jnp.broadcast_to(X, segments.length.shape))[index]
        return basis @ chain.scatter(chain.internal(q))[index] + segments.reference[index]

    def cross_section_geometry(self, q: Array, s: Array) -> tuple[Array, Array]:
        """``(kind, dimensions)`` of the section at ``s``: kind 0 disc [radius], 1 ellipse, 2 rectangle [y, z], m."""
        index, s_local = self.classify_segment(s)
        X = jnp.broadcast_to(s_local / self.segment_length[index], self.segment_length.shape)
        kinds = np.array([list(sections.SHAPES).index(shape) for shape in self.params.cross_section.shapes])
        dimensions = jnp.stack(self.params.cross_section.dimensions(X), axis=-1)
        return jnp.asarray(kinds)[index], dimensions[index]


class PlanarGVS(GVS):
    """Planar variable-strain robot: strains [kappa, axial, shear], backbone along local x."""

    params_type: ClassVar[type] = PlanarGVSParams
    __init__ = RodRobot.__init__  # for type checkers, which would make one of the fields

"""Parameters and structure of GVS robots, and the segments from which users make them."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core import StrainBasis
from soromox.systems.cross_sections import SectionProfiles
from soromox.systems.gvs.joints import JointSpec, JointType, padded
from soromox.systems.params import BaseSoftRobotParams
from soromox.systems.pcs.links import LinkSpec
from soromox.utils.checks import as_float, require_finite, require_positive, require_shape, require_symmetric


class _GVSParams(BaseSoftRobotParams):
    """Physical parameters of n segments, each a joint and then a soft link.

    Attributes:
        length: (n,), m.
        density: (n,), kg/m^3.
        young_modulus, shear_modulus: (n,), Pa.
        material_damping_coefficient: (n,) Kelvin-Voigt eta, Pa s.
        reference_strain: (n, d).
        cross_section: sections of the links.
        joint_pitch: (n,), m/rad; only helical joints use it.
        joint_stiffness, joint_damping: (n, j, j), of the j coordinates of the largest joint.
    """

    length: Array = eqx.field(converter=as_float)
    density: Array = eqx.field(converter=as_float)
    young_modulus: Array = eqx.field(converter=as_float)
    shear_modulus: Array = eqx.field(converter=as_float)
    material_damping_coefficient: Array = eqx.field(converter=as_float)
    reference_strain: Array = eqx.field(converter=as_float)
    cross_section: SectionProfiles
    joint_pitch: Array = eqx.field(converter=as_float)
    joint_stiffness: Array = eqx.field(converter=as_float)
    joint_damping: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        n, d = len(self.cross_section.shapes), 3 if self.is_planar else 6
        for name in ("length", "density", "young_modulus", "shear_modulus", "material_damping_coefficient"):
            require_shape(name, getattr(self, name), (n,))
            require_positive(name, getattr(self, name), allow_zero=name == "material_damping_coefficient")
        require_shape("reference_strain", self.reference_strain, (n, d))
        require_shape("joint_pitch", self.joint_pitch, (n,))
        for name in ("reference_strain", "joint_pitch"):
            require_finite(name, getattr(self, name))
        j = np.shape(self.joint_stiffness)[-1]
        for name in ("joint_stiffness", "joint_damping"):
            require_shape(name, getattr(self, name), (n, j, j))
            require_finite(name, getattr(self, name))
            require_symmetric(name, getattr(self, name))


class GVSParams(_GVSParams):
    __doc__ = _GVSParams.__doc__
    is_planar: ClassVar[bool] = False


class PlanarGVSParams(_GVSParams):
    __doc__ = _GVSParams.__doc__
    is_planar: ClassVar[bool] = True


class GVSStructure(eqx.Module):
    """Static settings of a GVS robot.

    Attributes:
        bases: strain basis of every link.
        joints: type of every joint.
        num_gauss_points: quadrature points of every link.
        scale_rotational_basis_by_length: rotational rows of the bases over the link length.
    """

    bases: tuple[StrainBasis, ...] = eqx.field(static=True)
    joints: tuple[JointType, ...] = eqx.field(static=True)
    num_gauss_points: tuple[int, ...] = eqx.field(static=True)
    scale_rotational_basis_by_length: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        sizes = {name: len(getattr(self, name)) for name in ("bases", "joints", "num_gauss_points")}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"bases, joints and num_gauss_points need one entry a segment, got {sizes}")
        if min(self.num_gauss_points) < 1:
            raise ValueError(f"num_gauss_points must be at least 1, got {self.num_gauss_points}")

    def check(self, params: _GVSParams) -> None:
        """ValueError if it does not fit the params."""
        n = params.length.shape[0]
        if len(self.bases) != n:
            raise ValueError(f"bases must have one entry a segment of the params ({n}), got {len(self.bases)}")
        if self.planar != params.is_planar:
            wanted = "3 planar strains" if params.is_planar else "6 spatial strains"
            raise ValueError(f"bases must be of {wanted}, got {len(self.bases[0].selector)}")
        j = max(self.joint_widths())
        if params.joint_stiffness.shape[-1] != j:
            raise ValueError(
                f"joint_stiffness must have shape {(n, j, j)} for these joints, got {params.joint_stiffness.shape}"
            )

    @property
    def planar(self) -> bool:
        """Whether the bases are of planar strains."""
        return len(self.bases[0].selector) == 3

    def joint_widths(self) -> tuple[int, ...]:
        """Number of coordinates of every joint."""
        return tuple(joint.width(self.planar) for joint in self.joints)

    def widths(self) -> list[int]:
        """Number of coordinates of every segment, joint and link."""
        return [a + basis.num_columns for a, basis in zip(self.joint_widths(), self.bases, strict=True)]

    def active(self) -> tuple[int, ...]:
        """Indices of the coordinates that exist among those of segments padded to the widest."""
        widths = self.widths()
        return tuple(i * max(widths) + j for i, width in enumerate(widths) for j in range(width))

    def quadrature(self) -> tuple[np.ndarray, np.ndarray]:
        """Gauss nodes and weights (n, p) on [0, 1]; shorter rules are padded with weightless nodes at the end."""
        longest = max(self.num_gauss_points)
        rules = [np.polynomial.legendre.leggauss(count) for count in self.num_gauss_points]
        nodes = [np.pad((x + 1) / 2, (0, longest - len(x)), constant_values=1) for x, _ in rules]
        weights = [np.pad(w / 2, (0, longest - len(w))) for _, w in rules]
        return np.stack(nodes), np.stack(weights)

    def joint_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Twists (n, d, k) of the joints, and what is added to them per unit of pitch."""
        k = max(self.widths())
        columns = [joint.columns(self.planar) for joint in self.joints]
        twists, advance = (
            np.stack([np.pad(x, [(0, 0), (0, k - x.shape[1])]) for x in side]) for side in zip(*columns, strict=True)
        )
        return twists, advance


class GVSSegment(eqx.Module):
    """One segment of a GVS robot: a joint, then a link whose strain follows a basis.

    Attributes:
        link: geometry and isotropic material.
        basis: strain basis.
        joint: fixed when omitted.
        num_gauss_points: quadrature points of the link.
    """

    link: LinkSpec
    basis: StrainBasis
    joint: JointSpec = eqx.field(default_factory=JointSpec)
    num_gauss_points: int = eqx.field(static=True, default=5)


def from_segments(
    params_type: type[_GVSParams],
    segments: list[GVSSegment] | tuple[GVSSegment, ...],
    scale_rotational_basis_by_length: bool,
    gravity: Array | None,
    base_pose: Array | None,
) -> tuple[_GVSParams, GVSStructure]:
    """Parameters and structure of a robot made of ``segments``.

    Raises:
        ValueError: no segments, a link without an isotropic material, or a part for the other dimension.
    """
    if len(segments) == 0:
        raise ValueError("a robot needs at least one segment, got none")
    d = 3 if params_type.is_planar else 6
    for segment in segments:
        if len(segment.basis.selector) != d:
            raise ValueError(f"bases of this robot must select among {d} strains, got {len(segment.basis.selector)}")
    joints = [segment.joint for segment in segments]
    structure = GVSStructure(
        tuple(segment.basis for segment in segments),
        tuple(JointType(joint.kind, joint.axis, joint.plane) for joint in joints),
        tuple(segment.num_gauss_points for segment in segments),
        scale_rotational_basis_by_length,
    )
    links = [segment.link for segment in segments]
    young, shear, damping = zip(*(link.isotropic().resolve(1) for link in links), strict=True)
    widths = list(structure.joint_widths())
    params = params_type(
        length=jnp.stack([link.length for link in links]),
        density=jnp.stack([link.density for link in links]),
        young_modulus=jnp.concatenate(young),
        shear_modulus=jnp.concatenate(shear),
        material_damping_coefficient=jnp.concatenate(damping),
        reference_strain=jnp.stack([link.reference(params_type.is_planar) for link in links]),
        cross_section=SectionProfiles.of([link.section() for link in links]),
        joint_pitch=jnp.stack([joint.pitch for joint in joints]),
        joint_stiffness=padded("stiffness", [joint.stiffness for joint in joints], widths),
        joint_damping=padded("damping", [joint.damping for joint in joints], widths),
        gravity=gravity,
        base_pose=base_pose,
    )
    return params, structure

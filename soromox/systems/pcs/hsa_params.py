"""Parameters and settings of planar handed-shearing-auxetic robots."""

from math import pi
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.systems.params import BaseSoftRobotParams
from soromox.systems.pcs.pcs import PCSStructure
from soromox.utils.checks import as_float, concrete, require_finite, require_positive, require_shape

POSITIVE_PER_ROD = ("rod_outer_radius", "rod_inner_radius", "rod_density")
NON_NEGATIVE_PER_ROD = ("bending_damping", "shear_damping", "axial_damping", "phi_max")
PER_ROD = (
    *POSITIVE_PER_ROD,
    *NON_NEGATIVE_PER_ROD,
    "rod_height",
    "rod_offset",
    "strain_coupling",
    "nominal_bending_stiffness",
    "nominal_shear_stiffness",
    "nominal_axial_stiffness",
    "bending_shear_stiffness",
    "bending_stiffness_correction",
    "shear_stiffness_correction",
    "axial_stiffness_correction",
)
PER_SEGMENT = ("proximal_cap_length", "distal_cap_length", "platform_density", "end_cap_density")


def _number(doc_default=None):
    return eqx.field(converter=as_float) if doc_default is None else eqx.field(default=doc_default, converter=as_float)


class PlanarHSAParams(BaseSoftRobotParams):
    """Physical parameters of n segments with r rods each. SI units; rod arrays are (n, r).

    The stiffnesses contain the segment length already: the force of a rod is S (xi - xi_ref), without a factor L.

    Attributes:
        length: flexible length (n,), m.
        proximal_cap_length, distal_cap_length: rigid caps before and after the rods (n,), m.
        rod_height: handedness, +1 or -1; the motor turns rod_height / L * phi.
        rod_outer_radius, rod_inner_radius: m.
        rod_offset: lateral offset along local x, m.
        reference_strain: [kappa, shear, axial] of each rod at rest (n, r, 3).
        strain_coupling: axial strain per rod_height / L * phi.
        platform_dimension: width, height, depth (n, 3), m.
        rod_density (n, r), platform_density, end_cap_density (n,): kg/m^3.
        nominal_bending_stiffness, nominal_shear_stiffness, nominal_axial_stiffness, bending_shear_stiffness.
        bending_stiffness_correction, shear_stiffness_correction, axial_stiffness_correction: per rod_height / L * phi.
        bending_damping, shear_damping, axial_damping.
        phi_max: largest motor angle, rad.
        platform_mass: payload on the end effector, kg.
        platform_center_of_gravity: of the payload in the end-effector frame (2,), m.
        end_effector_offset: pose [theta, x, y] from the last platform's outer face.
        hysteresis_basis: (3 n, h) strains driven by each of h hysteresis states; None without hysteresis.
        hysteresis_alpha: (3 n,) post-yield to pre-yield stiffness ratio.
        hysteresis_A, hysteresis_n, hysteresis_beta, hysteresis_gamma: Bouc-Wen parameters (h,).
    """

    is_planar: ClassVar[bool] = True
    backbone_angle: ClassVar[float] = pi / 2

    length: Array = _number()
    proximal_cap_length: Array = _number()
    distal_cap_length: Array = _number()
    rod_height: Array = _number()
    rod_outer_radius: Array = _number()
    rod_inner_radius: Array = _number()
    rod_offset: Array = _number()
    reference_strain: Array = _number()
    strain_coupling: Array = _number()
    platform_dimension: Array = _number()
    rod_density: Array = _number()
    platform_density: Array = _number()
    end_cap_density: Array = _number()
    nominal_bending_stiffness: Array = _number()
    nominal_shear_stiffness: Array = _number()
    nominal_axial_stiffness: Array = _number()
    bending_shear_stiffness: Array = _number()
    bending_stiffness_correction: Array = _number()
    shear_stiffness_correction: Array = _number()
    axial_stiffness_correction: Array = _number()
    bending_damping: Array = _number()
    shear_damping: Array = _number()
    axial_damping: Array = _number()
    phi_max: Array = _number()
    platform_mass: Array = _number(0.0)
    platform_center_of_gravity: Array = _number((0.0, 0.0))
    end_effector_offset: Array = _number((0.0, 0.0, 0.0))
    hysteresis_basis: Array | None = eqx.field(default=None, converter=as_float)
    hysteresis_alpha: Array | None = eqx.field(default=None, converter=as_float)
    hysteresis_A: Array | None = eqx.field(default=None, converter=as_float)
    hysteresis_n: Array | None = eqx.field(default=None, converter=as_float)
    hysteresis_beta: Array | None = eqx.field(default=None, converter=as_float)
    hysteresis_gamma: Array | None = eqx.field(default=None, converter=as_float)

    def __check_init__(self):
        if self.rod_offset.ndim != 2 or self.length.ndim != 1:
            raise ValueError(
                f"length must be (n,) and rod_offset (n, r), got {self.length.shape} and {self.rod_offset.shape}"
            )
        n, r = self.length.shape[0], self.rod_offset.shape[1]
        for name in PER_ROD:
            require_shape(name, getattr(self, name), (n, r))
            require_finite(name, getattr(self, name))
        for name in PER_SEGMENT:
            require_shape(name, getattr(self, name), (n,))
            require_positive(name, getattr(self, name), allow_zero=True)
        require_positive("length", self.length)
        for name in POSITIVE_PER_ROD + NON_NEGATIVE_PER_ROD:
            require_positive(name, getattr(self, name), allow_zero=name in NON_NEGATIVE_PER_ROD)
        outer, inner = concrete(self.rod_outer_radius), concrete(self.rod_inner_radius)
        if outer is not None and inner is not None and not np.all(outer > inner):
            raise ValueError(
                f"rod_outer_radius must exceed rod_inner_radius, got {outer.tolist()} and {inner.tolist()}"
            )
        for name, shape in (
            ("reference_strain", (n, r, 3)),
            ("platform_dimension", (n, 3)),
            ("platform_mass", ()),
            ("platform_center_of_gravity", (2,)),
            ("end_effector_offset", (3,)),
        ):
            require_shape(name, getattr(self, name), shape)
            require_finite(name, getattr(self, name))
        require_positive("platform_dimension", self.platform_dimension, allow_zero=True)
        require_positive("platform_mass", self.platform_mass, allow_zero=True)
        if self.hysteresis_basis is not None:
            h = self.hysteresis_basis.shape[-1]
            require_shape("hysteresis_basis", self.hysteresis_basis, (3 * n, h))
            require_shape("hysteresis_alpha", self.hysteresis_alpha, (3 * n,))
            require_finite("hysteresis_basis", self.hysteresis_basis)
            require_finite("hysteresis_alpha", self.hysteresis_alpha)
            for name in ("hysteresis_A", "hysteresis_n", "hysteresis_beta", "hysteresis_gamma"):
                require_shape(name, getattr(self, name), (h,))
                require_finite(name, getattr(self, name))
            require_positive("hysteresis_n", self.hysteresis_n)


class PlanarHSAStructure(PCSStructure):
    """Static settings of a planar HSA robot, on top of those of PCS.

    Attributes:
        consider_underactuation: inputs are motor angles; otherwise generalised forces on the active strains.
        consider_hysteresis: Bouc-Wen hysteresis; needs the hysteresis parameters.
    """

    consider_underactuation: bool = eqx.field(static=True, default=True)
    consider_hysteresis: bool = eqx.field(static=True, default=False)

    def check(self, params: PlanarHSAParams) -> None:
        super().check(params)
        if self.consider_hysteresis and params.hysteresis_basis is None:
            raise ValueError("consider_hysteresis needs hysteresis_basis and the Bouc-Wen parameters in params")


def rod_stiffness(params: PlanarHSAParams) -> Array:
    """Stiffness (n, r, 3, 3) of each rod on its strains [kappa, shear, axial]."""
    zero = jnp.zeros_like(params.nominal_axial_stiffness)
    bending, shear, axial, mixed = (
        params.nominal_bending_stiffness,
        params.nominal_shear_stiffness,
        params.nominal_axial_stiffness,
        params.bending_shear_stiffness,
    )
    rows = [[bending, mixed, zero], [mixed, shear, zero], [zero, zero, axial]]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)

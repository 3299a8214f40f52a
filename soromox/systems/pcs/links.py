"""Continuum links: what a rod is made of, and the canonical arrays that the models compute with."""

from typing import Any, Self, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core import sections
from soromox.systems.cross_sections import Circle, CrossSection
from soromox.utils.checks import (
    as_float,
    concrete,
    field_list,
    require_finite,
    require_positive,
    require_shape,
    require_symmetric,
)

MATRICES = ("stiffness", "damping")


class CircularSection(eqx.Module):
    """Solid discs.

    Attributes:
        coefficients: radii, (n, 1) for n links, m.
    """

    coefficients: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        if np.ndim(self.coefficients) != 2 or np.shape(self.coefficients)[1] != 1:
            raise ValueError(f"coefficients must have shape (n, 1), got {np.shape(self.coefficients)}")
        require_positive("radius", self.radius)

    @property
    def radius(self) -> Array:
        """(n,), m."""
        return self.coefficients[..., 0]

    def geometry(self) -> tuple[Array, Array, Array]:
        """Area and second moments about y and z, each (n,)."""
        return sections.circle(self.radius)


class IsotropicMaterialParams(eqx.Module):
    """An isotropic material, scalars or one value a segment.

    Attributes:
        young_modulus: E, Pa.
        shear_modulus: G, Pa; from the Poisson ratio when omitted.
        poisson_ratio: nu in (-1, 0.5]; 0.5 is incompressible.
        material_damping_coefficient: Kelvin-Voigt eta, Pa s; zero when omitted.
    """

    young_modulus: Array = eqx.field(converter=as_float)
    shear_modulus: Array | None = eqx.field(default=None, converter=as_float)
    poisson_ratio: Array | None = eqx.field(default=None, converter=as_float)
    material_damping_coefficient: Array | None = eqx.field(default=None, converter=as_float)

    def __check_init__(self):
        if (self.shear_modulus is None) == (self.poisson_ratio is None):
            given = "neither" if self.shear_modulus is None else "both"
            raise ValueError(f"a material needs shear_modulus or poisson_ratio, got {given}")
        require_positive("young_modulus", self.young_modulus)
        require_positive("shear_modulus", self.shear_modulus)
        require_positive("material_damping_coefficient", self.material_damping_coefficient, allow_zero=True)
        ratio = concrete(self.poisson_ratio)
        if ratio is not None and not np.all((ratio > -1) & (ratio <= 0.5)):
            raise ValueError(f"poisson_ratio must lie in (-1, 0.5], got {ratio.tolist()}")

    def resolve(self, num_links: int) -> tuple[Array, Array, Array]:
        """``(E, G, eta)``, each (num_links,)."""
        ratio = self.poisson_ratio
        shear = cast(Array, self.shear_modulus) if ratio is None else self.young_modulus / (2 * (1 + ratio))
        damping = self.material_damping_coefficient
        damping = jnp.zeros_like(self.young_modulus) if damping is None else damping
        names = ("young_modulus", "shear_modulus", "material_damping_coefficient")
        fields = dict(zip(names, (self.young_modulus, shear, damping), strict=True))
        for name, value in fields.items():
            if value.shape not in ((), (num_links,)):
                raise ValueError(f"{name} must be a scalar or have shape ({num_links},), got {value.shape}")
        young, shear, damping = (jnp.broadcast_to(value, (num_links,)) for value in fields.values())
        return young, shear, damping


def link_matrices(
    planar: bool, length: Array, cross_section: CircularSection, material: IsotropicMaterialParams
) -> tuple[Array, Array]:
    """Stiffness and damping (n, d, d) of links, integrated over their lengths, no shear correction."""
    young, shear, damping = material.resolve(length.shape[0])
    geometry = cross_section.geometry()
    scale = length[:, None, None]
    stiffness = scale * sections.section_stiffness(planar, young, shear, *geometry)
    return stiffness, scale * sections.section_damping(planar, damping, *geometry)


class ContinuumLinkParams(eqx.Module):
    """Canonical link data of n constant-strain links.

    Attributes:
        length: (n,), m.
        density: (n,), kg/m^3.
        reference_strain: (n, d).
        cross_section: sections of the n links.
        stiffness: (n, d, d), integrated over the length.
        damping: (n, d, d), integrated over the length.
    """

    length: Array = eqx.field(converter=as_float)
    density: Array = eqx.field(converter=as_float)
    reference_strain: Array = eqx.field(converter=as_float)
    cross_section: CircularSection
    stiffness: Array = eqx.field(converter=as_float)
    damping: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        shape = np.shape(self.reference_strain)
        if len(shape) != 2 or shape[1] not in (3, 6):
            raise ValueError(f"reference_strain must have shape (n, 3) or (n, 6), got {shape}")
        n, d = shape
        require_shape("length", self.length, (n,))
        require_shape("density", self.density, (n,))
        require_shape("cross_section.coefficients", self.cross_section.coefficients, (n, 1))
        require_positive("length", self.length)
        require_positive("density", self.density)
        require_finite("reference_strain", self.reference_strain)
        for name in MATRICES:
            require_shape(name, getattr(self, name), (n, d, d))
            require_finite(name, getattr(self, name))
            require_symmetric(name, getattr(self, name))

    def replace(self, **updates: Any) -> Self:
        """A validated copy with named fields replaced."""
        unknown = updates.keys() - vars(self).keys()
        if unknown:
            raise TypeError(f"unknown link field {field_list(unknown)}; links have {field_list(vars(self))}")
        return type(self)(**{**vars(self), **updates})


class LinkSpec(eqx.Module):
    """One link: its geometry, and either an isotropic material or explicit matrices.

    Attributes:
        length: m.
        density: kg/m^3.
        radius: of a constant, solid circular section, m; short for ``cross_section=Circle(radius)``.
        material: isotropic material, or None.
        stiffness, damping: explicit (d, d) matrices of a constant-strain link, integrated over the length; they win
            over the material.
        reference_strain: (d,), straight and unstretched when omitted.
        cross_section: a shape, constant or tapering linearly; only variable-strain robots take others than discs.
    """

    length: Array = eqx.field(converter=as_float)
    density: Array = eqx.field(converter=as_float)
    radius: Array | None = eqx.field(default=None, converter=as_float)
    material: IsotropicMaterialParams | None = None
    stiffness: Array | None = eqx.field(default=None, converter=as_float)
    damping: Array | None = eqx.field(default=None, converter=as_float)
    reference_strain: Array | None = eqx.field(default=None, converter=as_float)
    cross_section: CrossSection | None = None

    def __check_init__(self):
        if (self.radius is None) == (self.cross_section is None):
            given = "neither" if self.radius is None else "both"
            raise ValueError(f"a link needs radius or cross_section, got {given}")
        for name in ("length", "density", "radius"):
            if getattr(self, name) is not None:
                require_shape(f"link {name}", getattr(self, name), ())
                require_positive(f"link {name}", getattr(self, name))
        for name, shapes in (("reference_strain", ((3,), (6,))), *((m, ((3, 3), (6, 6))) for m in MATRICES)):
            value = getattr(self, name)
            if value is not None and np.shape(value) not in shapes:
                raise ValueError(f"link {name} must have shape {shapes[0]} or {shapes[1]}, got {np.shape(value)}")
            require_finite(f"link {name}", value)
        for name in MATRICES:
            require_symmetric(f"link {name}", getattr(self, name))

    def section(self) -> CrossSection:
        """The cross section, however it was given."""
        return cast(CrossSection, self.cross_section) if self.radius is None else Circle(self.radius)

    def reference(self, planar: bool) -> Array:
        """The reference strain (d,).

        Raises:
            ValueError: one of another dimension.
        """
        d = 3 if planar else 6
        if self.reference_strain is None:
            return jnp.asarray(np.arange(d) == d // 2, self.length.dtype)
        require_shape("link reference_strain", self.reference_strain, (d,))
        return self.reference_strain

    def isotropic(self) -> IsotropicMaterialParams:
        """The material.

        Raises:
            ValueError: there is none, or explicit matrices beside it.
        """
        if self.material is None or self.stiffness is not None or self.damping is not None:
            given = "no material" if self.material is None else "explicit matrices"
            raise ValueError(f"a variable-strain link needs an isotropic material and no matrices, got {given}")
        return self.material

    def canonical(self, planar: bool) -> ContinuumLinkParams:
        """The link as canonical data of one constant-strain link."""
        d, shape = 3 if planar else 6, self.section()
        if not (isinstance(shape, Circle) and shape.is_constant):
            kind = shape.shape if shape.is_constant else f"tapering {shape.shape}"
            raise ValueError(f"the section of a constant-strain link must be a constant circle, got a {kind}")
        section = CircularSection(shape.radius[None, None])
        stiffness, damping = self.stiffness, self.damping
        if stiffness is None or damping is None:
            if self.material is None:
                raise ValueError("a link needs a material, or both stiffness and damping; got neither")
            built = link_matrices(planar, self.length[None], section, self.material)
            stiffness = built[0][0] if stiffness is None else stiffness
            damping = built[1][0] if damping is None else damping
        require_shape("link stiffness", stiffness, (d, d))
        require_shape("link damping", damping, (d, d))
        reference = self.reference(planar)[None]
        return ContinuumLinkParams(
            self.length[None], self.density[None], reference, section, stiffness[None], damping[None]
        )

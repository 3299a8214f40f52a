"""Cross sections: area, second moments and the inertia and stiffness per length that follow from them."""

from math import pi

import jax.numpy as jnp
from jax import Array

SHAPES = {"circle": (pi, pi / 4), "ellipse": (pi, pi / 4), "rectangle": (1.0, 1 / 12)}
"""Factors (a, b) of solid sections with the dimensions y and z: area a y z, moments b y z^3 and b y^3 z."""


def circle(radius: Array) -> tuple[Array, Array, Array]:
    """Area (m^2) and second moments about y and z (m^4) of a disc of radius r (m), any shape."""
    area = jnp.pi * radius**2
    second = 0.25 * jnp.pi * radius**4
    return area, second, second


def annulus(outer_radius: Array, inner_radius: Array) -> tuple[Array, Array, Array]:
    """Area (m^2) and second moments (m^4) of a ring between two radii (m), any shape."""
    area = jnp.pi * (outer_radius**2 - inner_radius**2)
    second = 0.25 * jnp.pi * (outer_radius**4 - inner_radius**4)
    return area, second, second


def section_inertia(planar: bool, density: Array, area: Array, iy: Array, iz: Array) -> Array:
    """Inertia per length of material sections, (..., d, d): rho diag(Jp, Iy, Iz, A, A, A) or rho diag(I, A, A)."""
    return _diagonal([iz, area, area] if planar else [iy + iz, iy, iz, area, area, area], density)


def section_stiffness(planar: bool, young: Array, shear: Array, area: Array, iy: Array, iz: Array) -> Array:
    """Stiffness per length, (..., d, d), no shear correction: diag(G Jp, E Iy, E Iz, E A, G A, G A), planar subset."""
    if planar:
        return _diagonal([young * iz, young * area, shear * area], 1)
    return _diagonal([shear * (iy + iz), young * iy, young * iz, young * area, shear * area, shear * area], 1)


def section_damping(planar: bool, damping: Array, area: Array, iy: Array, iz: Array) -> Array:
    """Kelvin-Voigt damping per length, (..., d, d): eta diag(Jp, 3Iy, 3Iz, 3A, A, A), planar subset."""
    if planar:
        return _diagonal([3 * iz, 3 * area, area], damping)
    return _diagonal([iy + iz, 3 * iy, 3 * iz, 3 * area, area, area], damping)


def _diagonal(entries: list[Array], scale) -> Array:
    diagonal = jnp.stack([scale * entry for entry in entries], axis=-1)
    return jnp.einsum("...i,ij->...ij", diagonal, jnp.eye(len(entries), dtype=diagonal.dtype))

"""Shapes of cross sections, constant or tapering linearly along a link."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core import sections
from soromox.utils.checks import as_float, concrete, require_positive, require_shape


class CrossSection(eqx.Module):
    """Cross section of one link; every dimension is one number, or a pair ``[base, tip]`` that varies linearly."""

    shape: ClassVar[str]

    def __check_init__(self):
        for name, value in vars(self).items():
            if np.shape(value) not in ((), (2,)):
                raise ValueError(f"{name} must be a number or a pair [base, tip], got shape {np.shape(value)}")
            require_positive(name, value)

    def ends(self) -> tuple[Array, Array]:
        """Dimensions (2,) along y and z at the base and at the tip, m."""
        along = [jnp.broadcast_to(value, (2,)) for value in vars(self).values()]
        dimensions = jnp.stack([along[0], along[-1]], axis=-1)
        return dimensions[0], dimensions[1]

    @property
    def is_constant(self) -> bool:
        """Whether no dimension is given as a pair."""
        return all(np.shape(value) == () for value in vars(self).values())


class Circle(CrossSection):
    """Solid disc.

    Attributes:
        radius: m.
    """

    shape: ClassVar[str] = "circle"
    radius: Array = eqx.field(converter=as_float)


class Ellipse(CrossSection):
    """Solid ellipse.

    Attributes:
        semi_axis_y, semi_axis_z: half axes along the material y and z axes, m.
    """

    shape: ClassVar[str] = "ellipse"
    semi_axis_y: Array = eqx.field(converter=as_float)
    semi_axis_z: Array = eqx.field(converter=as_float)


class Rectangle(CrossSection):
    """Solid rectangle.

    Attributes:
        height: side along the material y axis, m.
        width: side along the material z axis, m.
    """

    shape: ClassVar[str] = "rectangle"
    height: Array = eqx.field(converter=as_float)
    width: Array = eqx.field(converter=as_float)


class SectionProfiles(eqx.Module):
    """Cross sections of n links, each tapering linearly from base to tip.

    Attributes:
        shapes: "circle", "ellipse" or "rectangle" of every link.
        base, tip: (n, 2) dimensions along y and z at the ends of the links, m: radii (of a circle only the first
            counts), half axes, or sides.
    """

    shapes: tuple[str, ...] = eqx.field(static=True)
    base: Array = eqx.field(converter=as_float)
    tip: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        unknown = set(self.shapes) - sections.SHAPES.keys()
        if unknown:
            raise ValueError(f"shapes must be among {', '.join(sections.SHAPES)}, got {', '.join(sorted(unknown))}")
        for name in ("base", "tip"):
            require_shape(f"cross_section.{name}", getattr(self, name), (len(self.shapes), 2))
            require_positive(f"cross_section.{name}", getattr(self, name))

    @classmethod
    def of(cls, members: list[CrossSection] | tuple[CrossSection, ...]) -> "SectionProfiles":
        """The profiles of single cross sections, in order."""
        ends = [member.ends() for member in members]
        base, tip = (jnp.stack(side) for side in zip(*ends, strict=True))
        return cls(tuple(member.shape for member in members), base, tip)

    def dimensions(self, X: Array) -> tuple[Array, Array]:
        """Dimensions along y and z, each (n, ...), at the positions ``X`` (n, ...) on [0, 1]."""
        X, ends = X[..., None], (self.base, self.tip)
        base, tip = (side.reshape(side.shape[0], *(1,) * (X.ndim - 2), 2) for side in ends)
        y, z = jnp.moveaxis(base + X * (tip - base), -1, 0)
        round_ones = np.array([shape == "circle" for shape in self.shapes]).reshape(-1, *(1,) * (y.ndim - 1))
        return y, jnp.where(round_ones, y, z)

    def geometry(self, X: Array) -> tuple[Array, Array, Array]:
        """Area (m^2) and second moments about y and z (m^4), each (n, ...), at the positions ``X`` (n, ...)."""
        y, z = self.dimensions(X)
        factors = np.array([sections.SHAPES[shape] for shape in self.shapes])
        area, moment = (jnp.asarray(f, y.dtype).reshape(-1, *(1,) * (y.ndim - 1)) for f in factors.T)
        return area * y * z, moment * y * z**3, moment * y**3 * z

    def gauge(self, offsets: np.ndarray) -> np.ndarray | None:
        """How far out material offsets [y, z] (n, 2, m, 1 or 2) lie at the base and the tip, (n, 2, m): 1 on the rim.

        None inside a transformation.
        """
        base, tip = concrete(self.base), concrete(self.tip)
        if base is None or tip is None:
            return None
        sides = np.stack([base, tip], axis=1)[:, :, None]
        shape = np.array(self.shapes).reshape(-1, 1, 1, 1)
        half = np.where(shape == "rectangle", sides / 2, np.where(shape == "circle", sides[..., :1], sides))
        part = np.abs(offsets) / half[..., : offsets.shape[-1]]
        return np.where(shape[..., 0] == "rectangle", part.max(-1), np.linalg.norm(part, axis=-1))

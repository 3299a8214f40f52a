"""Joints that precede the links of GVS robots."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.utils.checks import as_float, require_finite, require_shape, require_symmetric

COORDINATES = {
    "fixed": 0,
    "revolute": 1,
    "prismatic": 1,
    "helical": 1,
    "cylindrical": 2,
    "spherical": 3,
    "planar": 3,
    "free": 6,
}
"""Number of coordinates of each kind of joint in space."""
IN_THE_PLANE = {"fixed": 0, "revolute": 1, "prismatic": 1, "planar": 3, "free": 3}
"""Number of coordinates of each kind of joint in the plane, where a planar joint is free."""
AXES = "xyz"


class JointSpec(eqx.Module):
    """A joint; it moves the frame by the exponential of its twist.

    Attributes:
        kind: "fixed", "revolute", "prismatic", "helical" (one coordinate turns and advances), "cylindrical" (angle,
            travel), "spherical" (exponential coordinates), "planar" (angle about the normal, two travels), "free".
            In the plane: "fixed", "revolute", "prismatic", "planar" and "free".
        axis: "x", "y" or "z", of the kinds with one axis.
        plane: "xy", "yz" or "xz", of planar joints in space.
        pitch: travel per angle of helical joints, m/rad.
        stiffness, damping: (j, j) of the j coordinates; zero when omitted.

    Raises:
        ValueError: an unknown kind, axis or plane, or matrices that do not fit.
    """

    kind: str = eqx.field(static=True, default="fixed")
    axis: str = eqx.field(static=True, default="x")
    plane: str = eqx.field(static=True, default="xy")
    pitch: Array = eqx.field(default=0.0, converter=as_float)
    stiffness: Array | None = eqx.field(default=None, converter=as_float)
    damping: Array | None = eqx.field(default=None, converter=as_float)

    def __check_init__(self):
        for name, allowed in (("kind", tuple(COORDINATES)), ("axis", tuple(AXES)), ("plane", ("xy", "yz", "xz"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"joint {name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        require_shape("joint pitch", self.pitch, ())
        require_finite("joint pitch", self.pitch)
        sizes = sorted({table[self.kind] for table in (COORDINATES, IN_THE_PLANE) if self.kind in table})
        for name in ("stiffness", "damping"):
            value = getattr(self, name)
            if value is not None and np.shape(value) not in [(size, size) for size in sizes]:
                allowed = " or ".join(str((size, size)) for size in sizes)
                raise ValueError(f"joint {name} must have shape {allowed}, got {np.shape(value)}")
            require_finite(f"joint {name}", value)
            require_symmetric(f"joint {name}", value)


class JointType(eqx.Module):
    """What of a joint is static: its kind, axis and plane."""

    kind: str = eqx.field(static=True)
    axis: str = eqx.field(static=True)
    plane: str = eqx.field(static=True)

    def width(self, planar: bool) -> int:
        """Number of coordinates.

        Raises:
            ValueError: a joint that does not exist in the plane.
        """
        table = IN_THE_PLANE if planar else COORDINATES
        if self.kind not in table:
            raise ValueError(f"joints in the plane must be one of {', '.join(table)}, got {self.kind!r}")
        if planar and self.kind == "prismatic" and self.axis == "z":
            raise ValueError("the axis of a prismatic joint in the plane must be x or y, got 'z'")
        return table[self.kind]

    def columns(self, planar: bool) -> tuple[np.ndarray, np.ndarray]:
        """Twists (d, j) of the coordinates, and what is added to them per unit of pitch."""
        if planar:
            chosen = {"revolute": [0], "prismatic": [1 + AXES.index(self.axis)], "planar": [0, 1, 2], "free": [0, 1, 2]}
            columns = np.eye(3)[:, chosen.get(self.kind, [])]
            return columns, np.zeros_like(columns)
        i = AXES.index(self.axis)
        u, v = (AXES.index(letter) for letter in self.plane)
        chosen = {
            "revolute": [i],
            "prismatic": [3 + i],
            "helical": [i],
            "cylindrical": [i, 3 + i],
            "spherical": [0, 1, 2],
            "planar": [3 - u - v, 3 + u, 3 + v],
            "free": list(range(6)),
        }
        columns = np.eye(6)[:, chosen.get(self.kind, [])]
        advance = np.eye(6)[:, [3 + i]] if self.kind == "helical" else np.zeros_like(columns)
        return columns, advance


def padded(name: str, matrices: list[Any], widths: list[int]) -> Array:
    """Joint matrices, None for zero, as one array (n, j, j) of the largest joint.

    Raises:
        ValueError: a matrix of another size than its joint has coordinates.
    """
    largest = max(widths)
    rows = []
    for matrix, width in zip(matrices, widths, strict=True):
        matrix = jnp.zeros((width, width)) if matrix is None else jnp.asarray(matrix)
        require_shape(f"joint {name}", matrix, (width, width))
        rows.append(jnp.pad(matrix, (0, largest - width)))
    return jnp.stack(rows)

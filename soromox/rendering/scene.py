"""What is drawn, before anyone draws it: primitives in world coordinates, painted in order."""

from typing import NamedTuple, Self

import numpy as np

from soromox.rendering.colors import Color

Box = tuple[float, float, float, float]
"""Limits (xmin, xmax, ymin, ymax), m."""


class Polyline(NamedTuple):
    """An open line through ``points`` (k, 2 or 3), m; ``width`` in 1/480 of the picture's height."""

    points: np.ndarray
    color: Color
    width: float = 1.5


class Polygon(NamedTuple):
    """A closed shape with corners (k, 2), m, filled and outlined where a colour is given."""

    points: np.ndarray
    fill: Color | None
    edge: Color | None = None
    width: float = 1.0


class Disc(NamedTuple):
    """A disc at ``center`` (2 or 3,), m, with a ``radius`` in m, filled and outlined where a colour is given."""

    center: np.ndarray
    radius: float
    fill: Color | None
    edge: Color | None = None
    width: float = 1.0


class Tube(NamedTuple):
    """A round body in space: centre line ``points`` (k, 3) and ``radii`` (k,), m."""

    points: np.ndarray
    radii: np.ndarray
    color: Color


class Text(NamedTuple):
    """A line of text at ``position`` (2,), m; ``size`` in 1/480 of the picture's height.

    ``anchor`` says which point of the line sits there: "left", "center" or "right" of its base line.
    """

    position: np.ndarray
    text: str
    color: Color
    size: float = 14.0
    anchor: str = "left"


Primitive = Polyline | Polygon | Disc | Tube | Text
Scene = tuple[Primitive, ...]


class View(NamedTuple):
    """A rectangle of the plane on a picture of ``width`` x ``height`` pixels, with square pixels."""

    xmin: float
    ymax: float
    pixels_per_metre: float
    width: int
    height: int

    @classmethod
    def fit(cls, box: Box, width: int, height: int) -> Self:
        """The smallest view that shows all of ``box``, centred.

        Raises:
            ValueError: the box or the picture is empty.
        """
        xmin, xmax, ymin, ymax = (float(x) for x in box)
        if not (xmax > xmin and ymax > ymin):
            raise ValueError(f"limits must be (xmin, xmax, ymin, ymax) with xmin < xmax, ymin < ymax, got {box}")
        if width < 1 or height < 1:
            raise ValueError(f"a picture needs at least 1 x 1 pixels, got {width} x {height}")
        scale = min(width / (xmax - xmin), height / (ymax - ymin))
        left = 0.5 * (xmin + xmax) - 0.5 * width / scale
        top = 0.5 * (ymin + ymax) + 0.5 * height / scale
        return cls(left, top, scale, int(width), int(height))

    @property
    def box(self) -> Box:
        """What is seen: (xmin, xmax, ymin, ymax), m."""
        right = self.xmin + self.width / self.pixels_per_metre
        return self.xmin, right, self.ymax - self.height / self.pixels_per_metre, self.ymax

    @property
    def line_scale(self) -> float:
        """Pixels per unit of line width."""
        return self.height / 480

    def to_pixels(self, points: np.ndarray) -> np.ndarray:
        """Pixel positions (..., 2), column and row, of world points (..., 2); (0, 0) is the corner of the picture."""
        return (points - np.array([self.xmin, self.ymax])) * np.array([1, -1]) * self.pixels_per_metre

    def at_pixels(self, column: float, row: float) -> np.ndarray:
        """World point (2,) under a pixel position; negative values count from the right and the bottom."""
        column = column + self.width if column < 0 else column
        row = row + self.height if row < 0 else row
        return np.array([self.xmin + column / self.pixels_per_metre, self.ymax - row / self.pixels_per_metre])

"""Shapes that robots are drawn from, as polygons in the plane."""

from functools import lru_cache

import numpy as np

from soromox.rendering.colors import Color, darker, lighter, mix
from soromox.rendering.scene import Polygon, Polyline, Scene

LIGHT = np.array([-0.55, 0.83])
"""Direction towards the light, in the plane of the picture."""


def place(pose: np.ndarray, points: np.ndarray) -> np.ndarray:
    """World positions (..., 2) of points (..., 2) given in the frame ``pose`` = [theta, x, y]."""
    c, s = np.cos(pose[0]), np.sin(pose[0])
    return points @ np.array([[c, s], [-s, c]]) + pose[1:]


@lru_cache(maxsize=64)
def rounded_rectangle(xmin: float, xmax: float, ymin: float, ymax: float, radius: float) -> np.ndarray:
    """Corners (k, 2) of a rectangle whose corners are arcs."""
    radius = max(min(radius, 0.5 * (xmax - xmin), 0.5 * (ymax - ymin)), 0.0)
    angles = np.linspace(0, 0.5 * np.pi, 6)
    centers = [
        (xmax - radius, ymax - radius, 0.0),
        (xmin + radius, ymax - radius, 0.5 * np.pi),
        (xmin + radius, ymin + radius, np.pi),
        (xmax - radius, ymin + radius, 1.5 * np.pi),
    ]
    arcs = [
        np.stack([x + radius * np.cos(turn + angles), y + radius * np.sin(turn + angles)], axis=-1)
        for x, y, turn in centers
    ]
    return np.concatenate(arcs)


def normals_of(points: np.ndarray) -> np.ndarray:
    """Unit normals (k, 2), to the right of the direction of travel, of a curve (k, 2)."""
    tangent = np.gradient(points, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-12)
    return np.stack([tangent[:, 1], -tangent[:, 0]], axis=-1)


def band(points: np.ndarray, normals: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Corners (..., 2 k, 2) of strips between lateral offsets ``low`` and ``high`` (..., k), m, from a curve (k, 2)."""
    right = points + high[..., None] * normals
    return np.concatenate([points + low[..., None] * normals, right[..., ::-1, :]], axis=-2)


def shaded_strip(
    points: np.ndarray,
    normals: np.ndarray,
    half_width: np.ndarray,
    color: Color,
    *,
    levels: int = 10,
    outline: float = 1.2,
) -> Scene:
    """A bent round bar, seen from the side: ever brighter bands inside each other, no seams between them.

    Args:
        points: centre line (k, 2), m.
        normals: unit normals (k, 2).
        half_width: (k,), m.
        color: of the surface in ordinary light.
        levels: number of bands.
        outline: width of the outline.
    """
    bright = 0.5 * (normals @ LIGHT)  # lateral position of the highlight, in half widths
    spread = 1 - np.arange(levels)[:, None] / levels
    low, high = bright - (1 + bright) * spread, bright + (1 - bright) * spread
    corners = band(points, normals, low * half_width, high * half_width)
    paints = _cylinder_paints(color[:3], levels)
    bands = tuple(Polygon(c, paint) for c, paint in zip(corners, paints, strict=True))
    return (*bands, Polygon(corners[0], None, darker(color, 0.6), outline))


@lru_cache(maxsize=64)
def _cylinder_paints(color: Color, levels: int) -> tuple[Color, ...]:
    """Colours of the bands of a cylinder, from the edge to the highlight."""
    dark, light = darker(color, 0.5), lighter(color, 0.42)
    paints = []
    for i in range(levels):
        facing = np.sqrt(1 - (1 - i / levels) ** 2)  # of the outward normal to the light
        paints.append(mix(dark, color, facing / 0.85) if facing < 0.85 else mix(color, light, (facing - 0.85) / 0.15))
    return tuple(paints)


def helices(
    points: np.ndarray,
    normals: np.ndarray,
    radius: float,
    handedness: float,
    color: Color,
    *,
    count: int = 6,
    width: float = 1.6,
) -> Scene:
    """Front halves of the struts of a handed cylinder: they rise to the right where ``handedness`` is positive."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 11)
    start = (np.arange(-1, count + 1) + 0.5) / count
    along = start[:, None] + 1.5 * np.sign(handedness) / count * angle / np.pi
    knots = np.clip(along, 0, 1) * (len(points) - 1)
    before = np.minimum(knots.astype(int), len(points) - 2)
    part = (knots - before)[..., None]
    center = (1 - part) * points[before] + part * points[before + 1]
    normal = (1 - part) * normals[before] + part * normals[before + 1]
    lines = center + (0.97 * radius * np.sin(angle))[:, None] * normal
    inside = (along >= 0) & (along <= 1)
    kept = (line[ok] for line, ok in zip(lines, inside, strict=True) if ok.sum() > 1)
    return tuple(Polyline(line, color, width) for line in kept)


def support(pose: np.ndarray, width: float, height: float, color: Color) -> Scene:
    """A fixed support below the frame ``pose``: a plate with its face on local y = 0, hatched behind."""
    half, step = 0.5 * width, width / 12
    plate = rounded_rectangle(-half, half, -height, 0, 0.2 * height)
    x = -half + step * (np.arange(12) + 0.9)
    hatch = np.stack(
        [np.stack([x, np.full(12, -height)], -1), np.stack([x - step, np.full(12, -height - step)], -1)], 1
    )
    lines = tuple(Polyline(place(pose, ends), lighter(color, 0.35), 1.2) for ends in hatch)
    return (*lines, Polygon(place(pose, plate), color, darker(color, 0.4), 1.2))

"""What stands behind a planar robot: a fine grid and a scale bar."""

import numpy as np

from soromox.rendering.colors import RendererColorConfig
from soromox.rendering.scene import Polyline, Scene, Text, View


def round_length(length: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that does not exceed ``length``."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(max(m for m in (1, 2, 5) if m * power <= length * (1 + 1e-9)) * power)


def length_label(length: float) -> str:
    """A length in m as people say it."""
    return f"{length:g} m" if length >= 1 else f"{1000 * length:g} mm"


def grid(view: View, colors: RendererColorConfig) -> Scene:
    """Lines every round length, about ten across the picture."""
    xmin, xmax, ymin, ymax = view.box
    step = round_length(0.15 * min(xmax - xmin, ymax - ymin))
    lines = []
    for x in np.arange(np.ceil(xmin / step), np.floor(xmax / step) + 1) * step:
        lines.append(Polyline(np.array([[x, ymin], [x, ymax]]), colors.grid_color, 0.7))
    for y in np.arange(np.ceil(ymin / step), np.floor(ymax / step) + 1) * step:
        lines.append(Polyline(np.array([[xmin, y], [xmax, y]]), colors.grid_color, 0.7))
    return tuple(lines)


def scale_bar(view: View, colors: RendererColorConfig) -> Scene:
    """A bar of a round length in the lower right corner, with its label."""
    unit = view.line_scale
    length = round_length(0.26 * view.width / view.pixels_per_metre)
    end = view.at_pixels(view.width - 20 * unit, view.height - 20 * unit)
    start = end - np.array([length, 0])
    tick = np.array([0, 4 * unit / view.pixels_per_metre])
    middle = 0.5 * (start + end) + 2.2 * tick
    ink = colors.text_color
    return (
        Polyline(np.stack([start + tick, start - tick]), ink, 2.0),
        Polyline(np.stack([end + tick, end - tick]), ink, 2.0),
        Polyline(np.stack([start, end]), ink, 2.0),
        Text(middle, length_label(length), ink, 13.0, "center"),
    )


def backdrop(view: View, colors: RendererColorConfig) -> Scene:
    """Grid and scale bar."""
    return grid(view, colors) + scale_bar(view, colors)

"""Colours: sRGB with components in [0, 1], an optional fourth one being the opacity."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import numpy as np

Color = tuple[float, ...]
ColorLike = str | tuple[float, ...]

PALETTE = ("#2E86AB", "#D1694A", "#5B9A5A", "#8E6BB0", "#C79A3B", "#B8577E")
"""Backbone colours of several robots in one picture; they repeat."""


def color(value: ColorLike) -> Color:
    """A colour from ``"#rrggbb"`` or from 3 or 4 components in [0, 1].

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, str):
        digits = value.removeprefix("#")
        if not value.startswith("#") or len(digits) != 6 or not set(digits.lower()) <= set("0123456789abcdef"):
            raise ValueError(f"a colour must be '#rrggbb' or 3 or 4 numbers in [0, 1], got {value!r}")
        return tuple(int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4))
    components = tuple(float(x) for x in value)
    if len(components) not in (3, 4) or not all(0 <= x <= 1 for x in components):
        raise ValueError(f"a colour must be '#rrggbb' or 3 or 4 numbers in [0, 1], got {value!r}")
    return components


@lru_cache(maxsize=512)
def mix(a: Color, b: Color, amount: float) -> Color:
    """The colour ``amount`` of the way from ``a`` to ``b``; opacity is dropped."""
    return tuple((1 - amount) * x + amount * y for x, y in zip(a[:3], b[:3], strict=True))


def darker(base: Color, amount: float) -> Color:
    """The colour moved towards black."""
    return mix(base, (0.0, 0.0, 0.0), amount)


def lighter(base: Color, amount: float) -> Color:
    """The colour moved towards white."""
    return mix(base, (1.0, 1.0, 1.0), amount)


def _optional(value: ColorLike | None) -> Color | None:
    return None if value is None else color(value)


def _several(values: Sequence[ColorLike] | None) -> tuple[Color, ...] | None:
    if values is None:
        return None
    if len(values) == 0:
        raise ValueError("backbone_colors needs at least one colour, got none")
    return tuple(color(value) for value in values)


def _color(default: str) -> Any:
    return eqx.field(static=True, converter=color, default=default)


class RendererColorConfig(eqx.Module):
    """Colours of a picture, each ``"#rrggbb"`` or components in [0, 1].

    Attributes:
        backbone_color: body of every robot; ``None`` takes the palette, robot by robot.
        backbone_colors: body of each robot, repeated when there are more robots; goes before ``backbone_color``.
        left_handed_color: HSA rods whose handedness is negative; the others have the backbone's colour.
        tendon_color, passive_color: active and passive threads.
        muscle_color, chamber_color: muscles, and chambers under pressure.
        cap_color, platform_color, mount_color: rigid parts.
        tip_color: end effector.
        background_color, grid_color, text_color: the rest of the picture.
    """

    backbone_color: Color | None = eqx.field(static=True, converter=_optional, default=None)
    backbone_colors: tuple[Color, ...] | None = eqx.field(static=True, converter=_several, default=None)
    left_handed_color: Color = _color("#D1694A")
    tendon_color: Color = _color("#C23B4B")
    passive_color: Color = _color("#7B8794")
    muscle_color: Color = _color("#A8433F")
    chamber_color: Color = _color("#E0A030")
    cap_color: Color = _color("#414B5A")
    platform_color: Color = _color("#C9D1DA")
    mount_color: Color = _color("#5A6675")
    tip_color: Color = _color("#F2F4F7")
    background_color: Color = _color("#FBFBF9")
    grid_color: Color = _color("#ECEEF0")
    text_color: Color = _color("#3A4350")

    def backbones(self, num_robots: int) -> np.ndarray:
        """Body colours (num_robots, 3)."""
        if self.backbone_colors is not None:
            choice = self.backbone_colors
        elif self.backbone_color is not None:
            choice = (self.backbone_color,)
        else:
            choice = tuple(color(name) for name in PALETTE)
        return np.array([choice[i % len(choice)][:3] for i in range(num_robots)], float)

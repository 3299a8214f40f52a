"""Frames of planar scenes by OpenCV: anti-aliased, a millisecond or two each."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from soromox.rendering.base import BaseSoftRobotRenderer
from soromox.rendering.colors import Color, RendererColorConfig
from soromox.rendering.extras import optional
from soromox.rendering.scene import Disc, Polygon, Polyline, Primitive, Scene, Text, View

SHIFT = 4  # fractional bits of pixel coordinates
FAR = 20_000.0  # pixels; what lies beyond is cut, so that the fixed point never overflows


class OpenCVPlanarRenderer(BaseSoftRobotRenderer):
    """Renders planar robots with OpenCV.

    Raises:
        ValueError: the robot is spatial.
    """

    def __init__(self, robot, width=800, height=600, num_points=50, color_config=None, box=None):
        super().__init__(robot, width, height, num_points, color_config, box)
        if not self.is_planar:
            raise ValueError("OpenCVPlanarRenderer draws planar robots; use MatplotlibRenderer for spatial ones")

    def render_frame(self, q, color_config: RendererColorConfig | None = None, **kwargs) -> np.ndarray:
        colors = self.color_config if color_config is None else color_config
        view = self.view(q, **kwargs)
        image = blank(view, colors.background_color)
        return paint(image, self.background(view, colors) + self.scene(q, color_config), view)


def blank(view: View, color: Color) -> np.ndarray:
    """A picture (height, width, 3) in one colour."""
    image = np.empty((view.height, view.width, 3), np.uint8)
    image[:] = _bytes(color)
    return image


def paint(image: np.ndarray, scene: Scene, view: View) -> np.ndarray:
    """Paint a planar scene onto ``image`` (height, width, 3), in place; what is not finite is left out."""
    cv2 = optional("cv2")
    if not scene:
        return image
    painters = [_painter(primitive) for primitive in scene]
    where = [primitive[0].reshape(-1, 2) for primitive in scene]
    points = np.concatenate(where)
    finite = np.asarray(np.isfinite(points).all(axis=1))
    pixels = _fixed(np.where(finite.reshape(-1, 1), points, 0.0), view)
    end = 0
    for painter, primitive, own in zip(painters, scene, where, strict=True):
        begin, end = end, end + len(own)
        if np.all(finite[begin:end]):
            painter(cv2, image, primitive, pixels[begin:end], view)
    return image


def _painter(primitive: Primitive):
    painter = PAINTERS.get(type(primitive))
    if painter is None or primitive[0].shape[-1] != 2:
        raise ValueError(f"OpenCV draws planar primitives, got a spatial {type(primitive).__name__}")
    return painter


def _fixed(points: np.ndarray, view: View) -> np.ndarray:
    """Pixel positions in fixed point; OpenCV counts from the centre of the first pixel."""
    pixels = np.clip(view.to_pixels(points) - 0.5, -FAR, FAR)
    return np.rint(pixels * (1 << SHIFT)).astype(np.int32)


@lru_cache(maxsize=512)
def _bytes(color: Color) -> tuple[int, ...]:
    return tuple(round(255 * x) for x in color[:3])


def _thickness(width: float, view: View) -> int:
    return max(1, round(width * view.line_scale))


def _polygon(cv2, image: np.ndarray, polygon: Polygon, at: np.ndarray, view: View) -> None:
    if polygon.fill is not None:
        with_opacity(image, at, polygon.fill, lambda im, c: cv2.fillPoly(im, [at], c, cv2.LINE_AA, SHIFT))
    if polygon.edge is not None:
        thick = _thickness(polygon.width, view)
        cv2.polylines(image, [at], True, _bytes(polygon.edge), thick, cv2.LINE_AA, SHIFT)


def _polyline(cv2, image: np.ndarray, line: Polyline, at: np.ndarray, view: View) -> None:
    thick = _thickness(line.width, view)
    with_opacity(image, at, line.color, lambda im, c: cv2.polylines(im, [at], False, c, thick, cv2.LINE_AA, SHIFT))


def _disc(cv2, image: np.ndarray, disc: Disc, at: np.ndarray, view: View) -> None:
    radius = round(disc.radius * view.pixels_per_metre * (1 << SHIFT))
    center = (int(at[0, 0]), int(at[0, 1]))
    if disc.fill is not None:
        extent = np.concatenate([at - radius, at + radius])
        with_opacity(
            image,
            extent,
            disc.fill,
            lambda im, c: cv2.circle(im, center, radius, c, cv2.FILLED, cv2.LINE_AA, SHIFT),
        )
    if disc.edge is not None:
        thick = _thickness(disc.width, view)
        cv2.circle(image, center, radius, _bytes(disc.edge), thick, cv2.LINE_AA, SHIFT)


def with_opacity(image: np.ndarray, extent: np.ndarray, color: Color, draw) -> None:
    """Draw in a colour that may let through what is below; ``extent`` (k, 2) are fixed-point corners of the drawing."""
    if len(color) == 3:
        draw(image, _bytes(color))
        return
    low = np.maximum((extent.min(0) >> SHIFT) - 8, 0)
    high = np.minimum((extent.max(0) >> SHIFT) + 9, image.shape[1::-1])
    part = (slice(low[1], high[1]), slice(low[0], high[0]))
    below = image[part].astype(np.float32)
    draw(image, _bytes(color))
    image[part] = np.rint(below + color[3] * (image[part] - below)).astype(np.uint8)


def _text(cv2, image: np.ndarray, text: Text, at: np.ndarray, view: View) -> None:
    size = max(4, round(text.size * view.line_scale))
    words = [_word(word, size) for word in text.text.split(" ")]
    gap = 0.27 * size
    total = sum(word.advance for word in words) + gap * (len(words) - 1)
    column, row = at[0] / (1 << SHIFT) + 0.5
    column -= {"left": 0.0, "center": 0.5, "right": 1.0}[text.anchor] * total
    ink = np.array(text.color[:3], np.float32) * 255
    for word in words:
        _stamp(image, word.cover, round(column) + word.left, round(row) - word.top, ink)
        column += word.advance + gap


def _stamp(image: np.ndarray, cover: np.ndarray, left: int, top: int, ink: np.ndarray) -> None:
    """Blend ``ink`` into the picture where the letters cover it."""
    rows = slice(max(-top, 0), max(image.shape[0] - top, 0))
    columns = slice(max(-left, 0), max(image.shape[1] - left, 0))
    cover = cover[rows, columns, None]
    top, left = max(top, 0), max(left, 0)
    part = image[top : top + cover.shape[0], left : left + cover.shape[1]]
    part[:] = np.rint(part + cover * (ink - part)).astype(np.uint8)


class _Word(NamedTuple):
    """Coverage (h, w) of letters in [0, 1], its place against the pen, and how far the pen moves, pixels."""

    cover: np.ndarray
    left: int
    top: int
    advance: float


@lru_cache(maxsize=4096)
def _word(word: str, size: int) -> _Word:
    if not word:
        return _Word(np.zeros((0, 0), np.float32), 0, 0, 0.0)
    font = _font(size)
    advance = sum(font.load_char(ord(character)).linearHoriAdvance for character in word) / 65536
    font.set_text(word, 0.0)
    font.draw_glyphs_to_bitmap(antialiased=True)
    cover = np.array(font.get_image(), np.float32) / 255
    left, _ = font.get_bitmap_offset()
    return _Word(cover, round(left / 64), cover.shape[0] - round(font.get_descent() / 64), advance)


@lru_cache(maxsize=16)
def _font(size: int):
    # OpenCV's own letters are strokes; FreeType's come with Matplotlib.
    path = Path(optional("matplotlib").get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    font = optional("matplotlib.ft2font").FT2Font(str(path))
    font.set_size(size, 72)
    return font


PAINTERS = {Polygon: _polygon, Polyline: _polyline, Disc: _disc, Text: _text}

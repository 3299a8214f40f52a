"""A camera that turns spatial scenes into planar ones, which OpenCV paints in milliseconds."""

from typing import NamedTuple

import numpy as np

from soromox.rendering.colors import Color, RendererColorConfig, darker
from soromox.rendering.scene import Disc, Polygon, Polyline, Primitive, Scene, Tube
from soromox.rendering.shapes import normals_of, shaded_strip

CAP = np.linspace(0, 2 * np.pi, 25)[:-1]


class Camera(NamedTuple):
    """A parallel projection: pictures are in m around ``target``, with world z upwards.

    Attributes:
        target: world point (3,) at the origin of the picture, m.
        elevation, azimuth: direction from which the scene is seen, degrees; elevation strictly between -90 and 90.
    """

    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    elevation: float = 18.0
    azimuth: float = -55.0

    @property
    def axes(self) -> np.ndarray:
        """Unit vectors (3, 3): to the right of the picture, upwards, and from the scene to the camera."""
        up, around = np.radians([self.elevation, self.azimuth])
        right = np.array([-np.sin(around), np.cos(around), 0.0])
        toward = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
        return np.stack([right, np.cross(toward, right), toward])

    def project(self, points: np.ndarray) -> np.ndarray:
        """Picture coordinates (..., 2) of world points (..., 3), m."""
        return (points - np.asarray(self.target)) @ self.axes[:2].T

    def depth(self, points: np.ndarray) -> np.ndarray:
        """How far world points (..., 3) stand towards the camera, m."""
        return (points - np.asarray(self.target)) @ self.axes[2]

    def flatten(self, scene: Scene) -> Scene:
        """The scene as the camera sees it, tubes from far to near, then lines: faint where a tube hides them."""
        tubes = sorted((p for p in scene if isinstance(p, Tube)), key=lambda tube: self.depth(tube.points).mean())
        bodies = [shape for tube in tubes for shape in self._tube(tube)]
        rest = [shape for part in scene if not isinstance(part, Tube) for shape in self._flat(part, tubes)]
        return (*bodies, *rest)

    def _flat(self, part: Primitive, tubes: list[Tube]) -> Scene:
        if isinstance(part, Disc):
            return (part._replace(center=self.project(part.center)),)
        if not isinstance(part, Polyline):
            raise ValueError(f"a spatial scene has no {type(part).__name__}")
        points, hidden = self.project(part.points), behind(part.points, tubes, self.axes[2])
        runs = np.flatnonzero(np.diff(hidden)) + 1
        pieces = []
        for begin, end in zip([0, *runs], [*runs, len(points)], strict=True):
            color = (*part.color[:3], 0.25) if hidden[begin] else part.color
            pieces.append(Polyline(points[begin : end + 1], color, part.width))
        return tuple(piece for piece in pieces if len(piece.points) > 1)

    def _tube(self, tube: Tube) -> Scene:
        """A round body seen from afar is a band about its projected centre line between two elliptic ends."""
        points = self.project(tube.points)
        strip = shaded_strip(points, normals_of(points), tube.radii, tube.color, levels=8)
        hidden, seen = [], []
        for end, inner in ((0, 1), (-1, -2)):
            outward = tube.points[end] - tube.points[inner]
            outward = outward / max(float(np.linalg.norm(outward)), 1e-12)
            facing = bool(outward @ self.axes[2] > 0)
            (seen if facing else hidden).append(
                self._cap(tube.points[end], outward, float(tube.radii[end]), tube.color)
            )
        return (*hidden, *strip, *seen)

    def _cap(self, center: np.ndarray, normal: np.ndarray, radius: float, color: Color) -> Polygon:
        first = np.cross(normal, self.axes[1] if abs(normal @ self.axes[1]) < 0.9 else self.axes[0])
        first /= np.linalg.norm(first)
        rim = np.cos(CAP)[:, None] * first + np.sin(CAP)[:, None] * np.cross(normal, first)
        return Polygon(self.project(center + radius * rim), darker(color, 0.15), darker(color, 0.6), 1.2)

    def floor(self, scene: Scene, height: float, half: float, colors: RendererColorConfig) -> Scene:
        """What lies under a spatial scene: a grid of ``half`` m around the target at a height, and shadows."""
        center = np.asarray(self.target)[:2]
        ticks = np.linspace(-half, half, 9)
        lines = []
        for tick in ticks:
            for ends in ([[tick, -half], [tick, half]], [[-half, tick], [half, tick]]):
                ground = np.column_stack([center + np.array(ends), [height, height]])
                lines.append(Polyline(self.project(ground), colors.grid_color, 0.8))
        shadow = (*colors.text_color[:3], 0.12)
        for tube in scene:
            if isinstance(tube, Tube) and len(tube.points) > 2:
                ground = np.column_stack([tube.points[:, :2], np.full(len(tube.points), height)])
                lines.append(Polyline(self.project(ground), shadow, 7.0))
        return tuple(lines)


def behind(points: np.ndarray, tubes: list[Tube], toward: np.ndarray) -> np.ndarray:
    """Which points (k, 3) lie on the far side of the body that they run along, seen from the direction ``toward``."""
    if not tubes:
        return np.zeros(len(points), bool)
    centers = np.concatenate([tube.points for tube in tubes])
    nearest = np.linalg.norm(points[:, None] - centers[None], axis=-1).argmin(1)
    return (points - centers[nearest]) @ toward < 0

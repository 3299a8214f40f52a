"""From a robot and its configuration to a scene."""

from typing import Any

import numpy as np

from soromox.rendering.colors import Color, RendererColorConfig, darker
from soromox.rendering.geometry import Backbone, backbone, fetch
from soromox.rendering.hsa_scene import hsa_scene
from soromox.rendering.scene import Disc, Polyline, Scene, Tube
from soromox.rendering.shapes import normals_of, shaded_strip, support
from soromox.systems.pcs import PlanarHSA

DEFAULT_COLORS = RendererColorConfig()
LOOKS = {
    "tendon": ("tendon_color", 1.6),
    "push_rod": ("cap_color", 2.4),
    "muscle": ("muscle_color", 2.8),
    "mckibben": ("muscle_color", 2.8),
    "pressure_chamber": ("chamber_color", 5.0),
    "passive": ("passive_color", 1.6),
}
"""Colour, by its name in the config, and line width of actuators and passive elements, by their kind."""


def robot_scene(
    robot: Any, q: Any, *, color: Color, colors: RendererColorConfig | None = None, num_points: int = 50
) -> Scene:
    """The robot at the configuration q (nq,), in world coordinates.

    HSA robots are drawn rod by rod; any other one as a tube with the radius that ``cross_section_geometry`` gives, with
    its tendons, muscles and chambers.
    """
    colors = DEFAULT_COLORS if colors is None else colors
    if isinstance(robot, PlanarHSA):
        return hsa_scene(robot, q, color=color, colors=colors, num_points=num_points)
    body = fetch(backbone, robot, q, num_points)
    if robot.is_planar:
        return _planar(robot, body, color, colors)
    return (*_stand(robot, body, colors), Tube(body.points, body.radii, color), *_drives(body, colors))


def _planar(robot: Any, body: Backbone, color: Color, colors: RendererColorConfig) -> Scene:
    points, radius = body.points, float(body.radii[-1])
    strip = shaded_strip(points, normals_of(points), body.radii, color, levels=max(6, len(points) // 2))
    parts = [*strip, *_drives(body, colors)]
    if not robot.floating_base:
        along = points[1] - points[0]
        pose = np.array([np.arctan2(-along[0], along[1]), *points[0]])
        width = float(4 * body.radii[0])
        parts = [*support(pose, width, 0.12 * width, colors.mount_color), *parts]
    tip = Disc(points[-1], 0.4 * radius, colors.tip_color, darker(color, 0.6), 1.2)
    return (*parts, tip)


def _stand(robot: Any, body: Backbone, colors: RendererColorConfig) -> Scene:
    """The round plate that holds a spatial robot."""
    if robot.floating_base:
        return ()
    along = body.points[1] - body.points[0]
    radius = 2.2 * body.radii[0]
    back = body.points[0] - 0.25 * radius * along / np.linalg.norm(along)
    return (Tube(np.stack([back, body.points[0]]), np.full(2, radius), colors.mount_color),)


def _drives(body: Backbone, colors: RendererColorConfig) -> Scene:
    """Actuators and passive elements: lines, also inside the body, and tubes where they are thick and outside it."""
    parts: list = []
    for layer in body.layers:
        name, width = LOOKS.get(layer.kind, LOOKS["tendon"])
        color = getattr(colors, name)
        for i, points in enumerate(np.asarray(layer.points)):
            radii = None if layer.radii is None else np.asarray(layer.radii[i])
            if radii is None or _inside(points, body):
                parts.append(Polyline(points, color, width))
            elif points.shape[1] == 3:
                parts.append(Tube(points, radii, color))
            else:
                parts += shaded_strip(points, normals_of(points), radii, color)
    return tuple(parts)


def _inside(points: np.ndarray, body: Backbone) -> bool:
    """Whether a line (k, 2 or 3) runs inside the body."""
    distance = np.linalg.norm(points[:, None] - body.points[None], axis=-1)
    nearest = distance.argmin(1)
    return bool(np.all(distance.min(1) < body.radii[nearest] * 1.01))

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


def robot_scene(
    robot: Any, q: Any, *, color: Color, colors: RendererColorConfig | None = None, num_points: int = 50
) -> Scene:
    """The robot at the configuration q (nq,), in world coordinates.

    HSA robots are drawn rod by rod; any other one as a tube with the radius that ``cross_section_geometry`` gives, with
    its tendons.
    """
    colors = DEFAULT_COLORS if colors is None else colors
    if isinstance(robot, PlanarHSA):
        return hsa_scene(robot, q, color=color, colors=colors, num_points=num_points)
    body = fetch(backbone, robot, q, num_points)
    if robot.is_planar:
        return _planar(robot, body, color, colors)
    return (*_stand(robot, body, colors), Tube(body.points, body.radii, color), *_threads(body, colors))


def _planar(robot: Any, body: Backbone, color: Color, colors: RendererColorConfig) -> Scene:
    points, radius = body.points, float(body.radii[-1])
    strip = shaded_strip(points, normals_of(points), body.radii, color, levels=max(6, len(points) // 2))
    parts = [*strip, *_threads(body, colors)]
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


def _threads(body: Backbone, colors: RendererColorConfig) -> Scene:
    lines = []
    for layer in body.layers:
        color = colors.passive_color if layer.kind == "passive" else colors.tendon_color
        lines += [Polyline(points, color, 1.6) for points in layer.points]
    return tuple(lines)

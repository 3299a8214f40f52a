"""A planar HSA robot as it stands on the bench: rods with their handed pattern, caps, platforms, mount."""

from typing import Any

import numpy as np

from soromox.rendering.colors import Color, RendererColorConfig, darker, lighter
from soromox.rendering.geometry import HSABody, fetch, hsa_body
from soromox.rendering.scene import Disc, Polygon, Polyline, Scene
from soromox.rendering.shapes import helices, place, rounded_rectangle, shaded_strip, support


def hsa_scene(robot: Any, q: Any, *, color: Color, colors: RendererColorConfig, num_points: int = 25) -> Scene:
    """The robot at the configuration q; right-handed rods have ``color``, left-handed ones their own."""
    body = fetch(hsa_body, robot, q, num_points)
    parts: list = []
    if not robot.floating_base:
        width = 1.25 * float(body.platform[0, 0])
        parts += support(body.base, width, 0.09 * width, colors.mount_color)
    for segment in range(body.flexible.shape[0]):
        parts += _segment(body, segment, color, colors)
    center = place(body.tip, np.zeros(2))
    size = 0.3 * float(body.platform[-1, 1])
    return (*parts, Disc(center, size, colors.tip_color, darker(colors.platform_color, 0.6), 1.4))


def _segment(body: HSABody, i: int, color: Color, colors: RendererColorConfig) -> Scene:
    poses = body.flexible[i]
    levels = max(6, len(poses) // 2)
    proximal, distal = float(body.proximal_cap[i]), float(body.distal_cap[i])
    width, height = body.platform[i]
    across = np.stack([np.cos(poses[:, 0]), np.sin(poses[:, 0])], axis=-1)
    parts: list = []
    # Rods one above the other in the plane (the four-rod robot) differ in depth only: draw each place once.
    offsets, first = np.unique(body.rod_offset[i].round(9), return_index=True)
    for offset, rod in zip(offsets, first, strict=True):
        radius, hand = float(body.rod_radius[i, rod]), float(body.handedness[i, rod])
        paint = color if hand >= 0 else colors.left_handed_color
        center = poses[:, 1:] + offset * across
        parts += _cap(poses[0], offset, 1.04 * radius, -proximal, 0.0, colors.cap_color, levels * 2 // 3)
        parts += _cap(poses[-1], offset, 1.04 * radius, 0.0, distal, colors.cap_color, levels * 2 // 3)
        parts += shaded_strip(center, across, np.full(len(center), radius), paint, levels=levels)
        parts += helices(center, across, radius, hand, darker(paint, 0.45))
        for pose, end in ((poses[0], 1), (poses[-1], -1)):
            parts += _collar(pose, offset, 1.09 * radius, 0.1 * radius * end, 0.12 * radius, colors.cap_color)
    return (*parts, *_platform(poses[-1], distal, float(width), float(height), colors.platform_color))


def _cap(
    pose: np.ndarray, offset: float, radius: float, low: float, high: float, color: Color, levels: int = 8
) -> Scene:
    """A rigid cylinder on a rod, from ``low`` to ``high`` along local y."""
    if high - low <= 0:
        return ()
    points = place(pose, np.array([[offset, low], [offset, high]]))
    across = np.tile([np.cos(pose[0]), np.sin(pose[0])], (2, 1))
    return shaded_strip(points, across, np.full(2, radius), color, levels=levels)


def _collar(pose: np.ndarray, offset: float, radius: float, at: float, half: float, color: Color) -> Scene:
    """The ring that clamps the end of a rod."""
    return _cap(pose, offset, radius, at - half, at + half, lighter(color, 0.12), 3)


def _platform(pose: np.ndarray, distal: float, width: float, height: float, color: Color) -> Scene:
    """The plate beyond the distal caps, bevelled, with a screw at each end."""
    if width <= 0 or height <= 0:
        return ()
    half, top = 0.5 * width, distal + height
    plate = rounded_rectangle(-half, half, distal, top, 0.28 * height)
    inset = 0.2 * height
    face = rounded_rectangle(-half + inset, half - inset, distal + inset, top - inset, 0.16 * height)
    edge = darker(color, 0.55)
    middle = distal + 0.5 * height
    screws = [
        Disc(place(pose, np.array([x, middle])), 0.14 * height, darker(color, 0.35), edge, 0.8)
        for x in (-half + 0.75 * height, half - 0.75 * height)
    ]
    line = np.array([[-half + 1.6 * height, middle], [half - 1.6 * height, middle]])
    return (
        Polygon(place(pose, plate), darker(color, 0.12), edge, 1.4),
        Polygon(place(pose, face), lighter(color, 0.35)),
        Polyline(place(pose, line), darker(color, 0.12), 1.0),
        *screws,
    )

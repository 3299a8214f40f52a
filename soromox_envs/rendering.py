"""Frames of environments: the robot, its target, how far it is."""

from functools import lru_cache
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.rendering.backdrop import backdrop
from soromox.rendering.colors import RendererColorConfig, color, darker
from soromox.rendering.opencv_renderer import blank, paint
from soromox.rendering.robot_scene import robot_scene
from soromox.rendering.scene import Box, Disc, Polyline, Scene, Text, View

COLORS = RendererColorConfig()
TARGET_COLOR = color("#E4572E")
REACHED_COLOR = color("#2FA84F")
WORKSPACE: Box = (-0.1, 0.1, -0.17, 0.03)
"""Around a robot of 0.11 m that hangs from the origin, m."""


def render_state(env: Any, state: Any, params: Any, width: int = 480, height: int = 480) -> np.ndarray:
    """Frame, uint8 (height, width, 3), of one lane of a reaching environment with a planar robot.

    Raises:
        ValueError: the robot is spatial.
    """
    robot = params.robot
    if not robot.is_planar:
        raise ValueError(f"{env.name} cannot be rendered yet: only planar robots can")
    q = robot.split_state(state.system.y)[0]
    numbers = np.asarray(_numbers(env.model, env.task, robot, q, state.task.target, state.time))
    return render_reach(
        robot,
        q,
        target=numbers[:2],
        tip=numbers[2:4],
        radius=float(numbers[4]),
        time=float(numbers[5]) * env.control_dt,
        width=width,
        height=height,
    )


@eqx.filter_jit
def _numbers(model: Any, task: Any, robot: Any, q: Array, target: Array, steps: Array) -> Array:
    """Target (2,), tip (2,), success radius and steps, in one array."""
    radius = task.radius * model.length(robot)
    rest = jnp.stack([radius, steps.astype(q.dtype)])
    return jnp.concatenate([target, model.tip_position(robot, q), rest])


def render_reach(
    robot: Any,
    q: Any,
    *,
    target: Any,
    tip: Any,
    radius: float,
    time: float,
    workspace: Box = WORKSPACE,
    width: int = 480,
    height: int = 480,
) -> np.ndarray:
    """Frame, uint8 (height, width, 3), of a planar robot that reaches for a target; the camera never moves.

    Args:
        q: configuration (nq,).
        target, tip: positions (2,), m.
        radius: distance that counts as reached, m.
        time: since the episode began, s.
        workspace: limits (xmin, xmax, ymin, ymax) of what is seen, m.
    """
    view = View.fit(workspace, width, height)
    target, tip = np.asarray(target, float), np.asarray(tip, float)
    body = robot_scene(robot, q, color=tuple(COLORS.backbones(1)[0]), colors=COLORS, num_points=17)
    scene = (
        *target_halo(tip, target, float(radius), view),
        *body,
        *markers(tip, target, float(radius), view),
        *status_line(float(time), float(np.linalg.norm(tip - target)), view),
    )
    return paint(_background(view).copy(), scene, view)


def target_halo(tip: np.ndarray, target: np.ndarray, radius: float, view: View) -> Scene:
    """Behind the robot: a soft halo where the tip should go, and a thin line to it."""
    distance = float(np.linalg.norm(tip - target))
    paint = REACHED_COLOR if distance <= radius else TARGET_COLOR
    halo = max(4 * radius, 14 * view.line_scale / view.pixels_per_metre)
    discs = (Disc(target, halo, (*paint, 0.16)), Disc(target, 0.6 * halo, (*paint, 0.22)))
    return (Polyline(np.stack([tip, target]), (*COLORS.text_color, 0.35), 1.0), *discs)


def markers(tip: np.ndarray, target: np.ndarray, radius: float, view: View) -> Scene:
    """In front of the robot: target disc, ring of the success radius, and the tip, green within the radius."""
    reached = float(np.linalg.norm(tip - target)) <= radius
    pixel = view.line_scale / view.pixels_per_metre
    paint = REACHED_COLOR if reached else TARGET_COLOR
    return (
        Disc(target, radius, (*paint, 0.30), darker(paint, 0.1), 1.4),
        Disc(target, max(0.5 * radius, 3.2 * pixel), paint, (1.0, 1.0, 1.0), 1.0),
        Disc(tip, 4.5 * pixel, REACHED_COLOR if reached else COLORS.tip_color, COLORS.text_color, 1.4),
    )


def status_line(time: float, distance: float, view: View) -> Scene:
    """Time and distance in the lower left corner."""
    unit = view.line_scale
    position = view.at_pixels(16 * unit, view.height - 16 * unit)
    text = f"t = {time:.2f} s     distance {1000 * distance:.1f} mm"
    return (Text(position, text, COLORS.text_color, 13.0),)


@lru_cache(maxsize=16)
def _background(view: View) -> np.ndarray:
    image = paint(blank(view, COLORS.background_color), backdrop(view, COLORS), view)
    image.flags.writeable = False
    return image

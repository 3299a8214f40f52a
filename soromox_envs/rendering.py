"""Frames of environments: the robot, its target, how far it is."""

from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.rendering.backdrop import backdrop, scale_bar
from soromox.rendering.camera import Camera
from soromox.rendering.colors import RendererColorConfig, color, darker
from soromox.rendering.opencv_renderer import blank, paint
from soromox.rendering.robot_scene import robot_scene
from soromox.rendering.scene import Box, Disc, Polyline, Scene, Text, View
from soromox_envs.targets import load_table

COLORS = RendererColorConfig()
TARGET_COLOR = color("#E4572E")
REACHED_COLOR = color("#2FA84F")


class Stage(NamedTuple):
    """What a picture shows: limits of the picture, m, and for spatial robots the camera and the height of the floor."""

    box: Box
    camera: Camera | None = None
    floor: float = 0.0


@lru_cache(maxsize=64)
def stage_of(key: str, base: tuple[float, ...]) -> Stage:
    """The stage on which the robot of that key, mounted at ``base`` (m), reaches all its targets."""
    points = np.concatenate([load_table(key)["tip"], np.array(base)[None]])
    low, high = points.min(0), points.max(0)
    if points.shape[1] == 2:
        return Stage(_square(low, high))
    camera = Camera(tuple(0.5 * (low + high)))
    seen = camera.project(points)
    return Stage(_square(seen.min(0), seen.max(0)), camera, float(low[2] - 0.15 * (high - low).max()))


def _square(low: np.ndarray, high: np.ndarray) -> Box:
    """A square about a rectangle, with a margin for the thickness of the robot."""
    center, half = 0.5 * (low + high), 0.65 * float((high - low).max())
    return (center[0] - half, center[0] + half, center[1] - half, center[1] + half)


def render_state(env: Any, state: Any, params: Any, width: int = 480, height: int = 480) -> np.ndarray:
    """Frame, uint8 (height, width, 3), of one lane of a reaching environment."""
    robot, space = params.robot, params.robot.group.space
    q = robot.split_state(state.system.y)[0]
    numbers = np.asarray(_numbers(env.model, env.task, robot, q, state.task.target, state.time))
    base = tuple(np.asarray(robot.params.base_pose, float)[-space:])
    return render_reach(
        robot,
        q,
        target=numbers[:space],
        tip=numbers[space : 2 * space],
        radius=float(numbers[-2]),
        time=float(numbers[-1]) * env.control_dt,
        stage=stage_of(env.model.key, base),
        width=width,
        height=height,
    )


@eqx.filter_jit
def _numbers(model: Any, task: Any, robot: Any, q: Array, target: Array, steps: Array) -> Array:
    """Target (space,), tip (space,), success radius and steps, in one array."""
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
    stage: Stage,
    width: int = 480,
    height: int = 480,
) -> np.ndarray:
    """Frame, uint8 (height, width, 3), of a robot that reaches for a target; the camera never moves.

    Args:
        q: configuration (nq,).
        target, tip: positions (2 or 3,), m.
        radius: distance that counts as reached, m.
        time: since the episode began, s.
        stage: what is seen.
    """
    view, camera = View.fit(stage.box, width, height), stage.camera
    target, tip = np.asarray(target, float), np.asarray(tip, float)
    distance = float(np.linalg.norm(tip - target))
    body = robot_scene(robot, q, color=tuple(COLORS.backbones(1)[0]), colors=COLORS, num_points=17)
    ground: Scene = ()
    if camera is not None:
        ground = camera.floor(body, stage.floor, 0.5 * (stage.box[1] - stage.box[0]), COLORS)
        body, target, tip = camera.flatten(body), camera.project(target), camera.project(tip)
    reached = distance <= radius
    scene = (
        *ground,
        *target_halo(tip, target, radius, reached, view),
        *body,
        *markers(tip, target, radius, reached, view),
        *status_line(time, distance, view),
    )
    return paint(_background(view, camera is None).copy(), scene, view)


def target_halo(tip: np.ndarray, target: np.ndarray, radius: float, reached: bool, view: View) -> Scene:
    """Behind the robot: a soft halo where the tip should go, and a thin line to it."""
    paint = REACHED_COLOR if reached else TARGET_COLOR
    halo = max(4 * radius, 14 * view.line_scale / view.pixels_per_metre)
    discs = (Disc(target, halo, (*paint, 0.16)), Disc(target, 0.6 * halo, (*paint, 0.22)))
    return (Polyline(np.stack([tip, target]), (*COLORS.text_color, 0.35), 1.0), *discs)


def markers(tip: np.ndarray, target: np.ndarray, radius: float, reached: bool, view: View) -> Scene:
    """In front of the robot: target disc, ring of the success radius, and the tip, green within the radius."""
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
def _background(view: View, grid: bool) -> np.ndarray:
    behind = backdrop(view, COLORS) if grid else scale_bar(view, COLORS)
    image = paint(blank(view, COLORS.background_color), behind, view)
    image.flags.writeable = False
    return image

"""Frames of environments: the robot, its task, how far it is."""

from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from soromox.rendering.backdrop import backdrop, scale_bar
from soromox.rendering.camera import Camera
from soromox.rendering.colors import RendererColorConfig, color, darker
from soromox.rendering.opencv_renderer import blank, paint
from soromox.rendering.robot_scene import robot_scene
from soromox.rendering.scene import Box, Disc, Polyline, Scene, Text, View
from soromox_envs.targets import load_table
from soromox_envs.tasks.base import Picture

COLORS = RendererColorConfig()
TARGET_COLOR = color("#E4572E")
REACHED_COLOR = color("#2FA84F")


OBSTACLE_COLOR = color("#7A7F87")
LARGEST_HALO = 60.0  # 1/480 of the picture's height


class Stage(NamedTuple):
    """What a picture shows: limits of the picture, m, and for spatial robots the camera and the height of the floor."""

    box: Box
    camera: Camera | None = None
    floor: float = 0.0


@lru_cache(maxsize=64)
def stage_of(key: str, base: tuple[float, ...], reach: float = 0.0) -> Stage:
    """The stage of the robot of that key, mounted at ``base`` (m): all its targets, and all within ``reach`` of it."""
    table, mount = load_table(key), np.array(base)[None]
    points = np.concatenate([table["tip"], mount])
    if reach > 0:
        points = np.concatenate([points, mount - reach, mount + reach])
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
    """Frame, uint8 (height, width, 3), of one lane of an environment."""
    q, tip, origin, length, picture = jax.tree.map(np.asarray, _drawn(env, state, params))
    few = params.table["tip"].shape[0] < 16  # a robot that goes everywhere has no table of targets
    base = tuple(float(x) for x in origin)
    return render_task(
        params.robot,
        q,
        tip=tip,
        picture=picture,
        time=float(state.time) * env.control_dt,
        stage=stage_of(env.model.key, base, float(length) if few else 0.0),
        width=width,
        height=height,
    )


@eqx.filter_jit
def _drawn(env: Any, state: Any, params: Any) -> tuple[Any, ...]:
    sight = env.sight(state, params)
    return sight.q, sight.tip, sight.origin, sight.length, env.task.picture(state.task, sight)


def render_task(
    robot: Any,
    q: Any,
    *,
    tip: Any,
    picture: Picture,
    time: float,
    stage: Stage,
    width: int = 480,
    height: int = 480,
) -> np.ndarray:
    """Frame, uint8 (height, width, 3), of a robot and its task; the camera never moves.

    Args:
        q: configuration (nq,).
        tip: position (2 or 3,), m.
        picture: what the task shows.
        time: since the episode began, s.
        stage: what is seen.
    """
    view, camera = View.fit(stage.box, width, height), stage.camera
    target, radius = np.asarray(picture.target, float), float(picture.radius)
    point = np.asarray(tip if picture.point is None else picture.point, float)
    distance = float(np.linalg.norm(point - target))
    body = robot_scene(robot, q, color=tuple(COLORS.backbones(1)[0]), colors=COLORS, num_points=17)
    surroundings = (*track_of(picture.path), *obstacles_of(picture.obstacles))
    ground: Scene = ()
    if camera is not None:
        ground = camera.floor(body, stage.floor, 0.5 * (stage.box[1] - stage.box[0]), COLORS)
        body, surroundings = camera.flatten(body), camera.flatten(surroundings)
        target, point = camera.project(target), camera.project(point)
    reached = distance <= radius
    scene = (
        *ground,
        *target_halo(point, target, radius, reached, view),
        *surroundings,
        *body,
        *markers(point, target, radius, reached, view),
        *status_line(time, distance, view),
    )
    return paint(_background(view, camera is None).copy(), scene, view)


def track_of(path: Any) -> Scene:
    """The way of a moving target."""
    return () if path is None else (Polyline(np.asarray(path, float), (*TARGET_COLOR, 0.55), 1.6),)


def obstacles_of(obstacles: Any) -> Scene:
    """The spheres that are there."""
    if obstacles is None:
        return ()
    pairs = zip(*(np.asarray(x, float) for x in obstacles), strict=True)
    edge = darker(OBSTACLE_COLOR, 0.4)
    return tuple(Disc(center, float(r), (*OBSTACLE_COLOR, 0.75), edge, 1.0) for center, r in pairs if r > 0)


def target_halo(tip: np.ndarray, target: np.ndarray, radius: float, reached: bool, view: View) -> Scene:
    """Behind the robot: a soft halo where the tip should go, and a thin line to it."""
    pixel = view.line_scale / view.pixels_per_metre
    paint = REACHED_COLOR if reached else TARGET_COLOR
    halo = max(min(4 * radius, LARGEST_HALO * pixel), 14 * pixel)
    discs = (Disc(target, halo, (*paint, 0.16)), Disc(target, 0.6 * halo, (*paint, 0.22)))
    return (Polyline(np.stack([tip, target]), (*COLORS.text_color, 0.35), 1.0), *discs)


def markers(tip: np.ndarray, target: np.ndarray, radius: float, reached: bool, view: View) -> Scene:
    """In front of the robot: target disc, ring of the success radius, and the tip, green within the radius."""
    pixel = view.line_scale / view.pixels_per_metre
    paint = REACHED_COLOR if reached else TARGET_COLOR
    small = min(radius, 0.25 * LARGEST_HALO * pixel)
    ring = (*paint, 0.30) if small == radius else None
    return (
        Disc(target, radius, ring, darker(paint, 0.1), 1.4),
        Disc(target, max(0.5 * small, 3.2 * pixel), paint, (1.0, 1.0, 1.0), 1.0),
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

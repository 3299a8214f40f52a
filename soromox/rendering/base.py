"""What every renderer shares: geometry of the robot, colours, playback."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation import ActuatorVisualLayer
from soromox.rendering.backdrop import backdrop
from soromox.rendering.colors import RendererColorConfig
from soromox.rendering.extras import optional
from soromox.rendering.geometry import backbone_positions
from soromox.rendering.robot_scene import robot_scene
from soromox.rendering.scene import Box, Scene, View
from soromox.rendering.video import write_video
from soromox.systems import SoftRobot


class BaseSoftRobotRenderer(ABC):
    """Draws a robot; a renderer implements ``render_frame``.

    Attributes:
        robot: the robot.
        width, height: size of the picture, pixels.
        num_points: points along the body; shading becomes finer with them, too.
        color_config: colours.
        box: limits (xmin, xmax, ymin, ymax) of what is seen of a planar robot, m; chosen from its reach when ``None``.
    """

    def __init__(
        self,
        robot: SoftRobot,
        width: int = 800,
        height: int = 600,
        num_points: int = 50,
        color_config: RendererColorConfig | None = None,
        box: Box | None = None,
    ):
        if num_points < 2:
            raise ValueError(f"num_points must be at least 2, got {num_points}")
        self.robot, self.width, self.height, self.num_points = robot, int(width), int(height), int(num_points)
        self.color_config = RendererColorConfig() if color_config is None else color_config
        self.box = box

    @property
    def is_planar(self) -> bool:
        """Whether the robot moves in the plane."""
        return self.robot.is_planar

    @abstractmethod
    def render_frame(self, q: Any, color_config: RendererColorConfig | None = None, **kwargs: Any) -> np.ndarray:
        """Picture, uint8 (height, width, 3), of one configuration (nq,) or of several robots (N, nq).

        ``view_of``, configurations (..., nq), are those that the camera of a floating robot has to show; q itself when
        omitted.
        """

    def show(self, q: Any, **kwargs: Any) -> None:
        """Show one frame in a window of Matplotlib's."""
        pyplot = optional("matplotlib.pyplot")
        pyplot.imshow(self.render_frame(q, **kwargs))
        pyplot.axis("off")
        pyplot.show()

    def render_sequence(
        self,
        ts: Any,
        q_ts: Any,
        record_path: str | PathLike | None = None,
        *,
        fps: float = 30.0,
        **kwargs: Any,
    ) -> None:
        """Play a motion in real time, in a window or, with ``record_path``, into an MP4 file.

        Args:
            ts: times (T,), s, increasing.
            q_ts: configurations (T, nq), or (N, T, nq) of N robots.
            record_path: the file.
            fps: frames per second; a frame shows the last configuration at its time.
            kwargs: for ``render_frame``.
        """
        frames = self.frames(ts, q_ts, fps=fps, **kwargs)
        if record_path is not None:
            write_video(record_path, frames, fps)
            return
        pyplot, animation = optional("matplotlib.pyplot"), optional("matplotlib.animation")
        pictures = list(frames)
        figure, axes = pyplot.subplots()
        axes.axis("off")
        artist = axes.imshow(pictures[0])
        played = animation.FuncAnimation(
            figure, lambda i: (artist.set_data(pictures[i]),), len(pictures), interval=1000 / fps
        )
        pyplot.show()
        del played

    def frames(self, ts: Any, q_ts: Any, *, fps: float = 30.0, **kwargs: Any) -> Iterator[np.ndarray]:
        """The frames of a motion, one at a time; arguments as for ``render_sequence``."""
        ts, q_ts = np.asarray(ts, float), np.asarray(q_ts)
        if ts.ndim != 1 or q_ts.ndim not in (2, 3) or q_ts.shape[-2] != ts.size or ts.size == 0:
            raise ValueError(f"ts (T,) needs q_ts (T, nq) or (N, T, nq), got {ts.shape} and {q_ts.shape}")
        count = int(np.floor((ts[-1] - ts[0]) * fps + 1e-6)) + 1
        times = ts[0] + np.arange(count) / fps
        index = np.clip(np.searchsorted(ts, times + 1e-6 / fps, side="right") - 1, 0, ts.size - 1)
        shown = {"view_of": q_ts, **kwargs}
        return (self.render_frame(q_ts[..., i, :], **shown) for i in index)

    def compute_backbone_curve(self, q: Any) -> np.ndarray:
        """Points (..., num_points, 2 or 3) along the body, m, for configurations (..., nq)."""
        q = self._configurations(q)
        return np.asarray(_curves(self.robot, q.reshape(-1, q.shape[-1]), self.num_points)).reshape(
            (*q.shape[:-1], self.num_points, -1)
        )

    def compute_actuator_visual_layers(self, q: Any, actuator_inputs: Any = None) -> tuple[ActuatorVisualLayer, ...]:
        """What can be drawn of the actuators: the robot's ``actuator_visual_layers``."""
        return _layers(self.robot, self._configurations(q), self.num_points, actuator_inputs)

    def compute_actuator_visual_layers_batched(self, q: Any) -> tuple[tuple[ActuatorVisualLayer, ...], ...]:
        """Layers of each of several robots (N, nq), by the robot's ``actuator_visual_layers_batched`` if it has one."""
        return self._layers_of_many("actuator_visual_layers_batched", q)

    def compute_actuator_visual_layers_trajectory(self, q_ts: Any) -> tuple[tuple[ActuatorVisualLayer, ...], ...]:
        """Layers along a motion (T, nq), by the robot's ``actuator_visual_layers_trajectory`` if it has one."""
        return self._layers_of_many("actuator_visual_layers_trajectory", q_ts)

    def resolve_backbone_colors(
        self, num_robots: int = 1, color_config: RendererColorConfig | None = None
    ) -> np.ndarray:
        """Colours (num_robots, 3) of the bodies: the config given here, else the renderer's; ``backbone_colors``, else
        ``backbone_color``, else the palette."""
        config = self.color_config if color_config is None else color_config
        return config.backbones(num_robots)

    def scene(self, q: Any, color_config: RendererColorConfig | None = None) -> Scene:
        """The robot at q (nq,), or several at (N, nq), without background."""
        config = self.color_config if color_config is None else color_config
        batch = np.atleast_2d(np.asarray(q))
        paints = self.resolve_backbone_colors(len(batch), config)
        scenes = (
            robot_scene(self.robot, row, color=tuple(paint), colors=config, num_points=self.num_points)
            for row, paint in zip(batch, paints, strict=True)
        )
        return tuple(primitive for scene in scenes for primitive in scene)

    def background(self, view: View, colors: RendererColorConfig) -> Scene:
        """What stands behind a planar robot."""
        return backdrop(view, colors)

    def view(self, q: Any, view_of: Any = None) -> View:
        """What a picture of a planar robot shows: ``box``, else its reach, else (floating) all of ``view_of``."""
        if self.box is not None:
            return View.fit(self.box, self.width, self.height)
        center, half = self.extent(q if view_of is None else view_of)
        low, high = center - half, center + half
        return View.fit((low[0], high[0], low[1], high[1]), self.width, self.height)

    def extent(self, q: Any) -> tuple[np.ndarray, float]:
        """Centre (2 or 3,) and half size, m, of a cube that holds the robot: about wherever it may bend if its base is
        fixed, otherwise at the configurations q (..., nq)."""
        rest, margin = self._rest
        if self.robot.floating_base:
            points = self.compute_backbone_curve(q).reshape(-1, rest.shape[1])
            low, high = points.min(0), points.max(0)
            return 0.5 * (low + high), 0.55 * float((high - low).max()) + margin
        reach = float(np.linalg.norm(rest - rest[0], axis=1).max())
        return rest[0] + 0.4 * (rest[-1] - rest[0]), 0.85 * reach + margin

    @cached_property
    def _rest(self) -> tuple[np.ndarray, float]:
        """Body (num_points, 2 or 3) at the zero configuration, and how far drawn parts stand away from it, m."""
        q = np.zeros(self.robot.num_coordinates)
        if self.robot.floating_base and not self.is_planar:
            q[3] = 1  # the unit quaternion is scalar-last
        body = self.compute_backbone_curve(q)
        drawn = np.concatenate([part[0].reshape(-1, body.shape[1]) for part in self.scene(q)])
        away = np.linalg.norm(drawn[:, None] - body[None], axis=-1).min(1)
        return body, float(away.max())

    def _layers_of_many(self, name: str, q: Any) -> tuple[tuple[ActuatorVisualLayer, ...], ...]:
        q, own = self._configurations(q), getattr(self.robot, name, None)
        if own is not None:
            return own(q, jnp.linspace(0, 1, self.num_points, dtype=q.dtype) * self.robot.length)
        return tuple(self.compute_actuator_visual_layers(row) for row in q)

    def _configurations(self, q: Any) -> Array:
        q = jnp.asarray(q, float)
        size = self.robot.num_coordinates
        if q.ndim == 0 or q.shape[-1] != size:
            raise ValueError(f"q must have {size} entries along its last axis, got shape {q.shape}")
        return q


@eqx.filter_jit
def _curves(robot: SoftRobot, q: Array, num_points: int) -> Array:
    return jax.vmap(lambda q: backbone_positions(robot, q, num_points))(q)


@eqx.filter_jit
def _layers(robot: SoftRobot, q: Array, num_points: int, inputs: Any) -> tuple[ActuatorVisualLayer, ...]:
    s = jnp.linspace(0, 1, num_points, dtype=q.dtype) * robot.length
    return robot.actuator_visual_layers(q, s, actuator_inputs=inputs)

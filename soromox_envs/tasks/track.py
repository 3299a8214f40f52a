"""Track: follow a target that moves along a closed curve of reachable points."""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox_envs.robots.model import RobotModel
from soromox_envs.tasks.base import Picture, Sight, Start, Task, Terms, closeness, consecutive, distance_between

SHAPES = ("circle", "figure-eight", "random")
SLOWEST, FASTEST = 0.02, 0.06  # lengths of the robot a second
PREVIEW = 5  # steps


class TrackState(eqx.Module):
    """A closed curve and the motion along it.

    Attributes:
        curve: points (n, space) at equal arc lengths, m.
        phase: where the target began, in turns ().
        rate: turns a second (), negative for the other way round.
        steps_within: consecutive steps within the success radius.
    """

    curve: Array
    phase: Array
    rate: Array
    steps_within: Array

    def at(self, t: Array) -> Array:
        """Position (space,) of the target at a time (s), m; smooth (Catmull and Rom's periodic cubic)."""
        n = self.curve.shape[0]
        x = (self.phase + self.rate * t) * n
        first = jnp.floor(x)
        u = x - first
        weights = jnp.stack(
            [
                0.5 * (-u + 2 * u**2 - u**3),
                0.5 * (2 - 5 * u**2 + 3 * u**3),
                0.5 * (u + 4 * u**2 - 3 * u**3),
                0.5 * (u**3 - u**2),
            ]
        )
        index = (first.astype(jnp.int32) + np.arange(-1, 3, dtype=np.int32)) % n
        # the weights' sum is one; differences of neighbours lose no digits of the velocity
        points = self.curve[index]
        return points[1] + weights @ (points - points[1][None])


@dataclass(frozen=True)
class Track(Task):
    """Follow a circle, a figure-eight or a random smooth curve at 0.02-0.06 lengths a second.

    The curves are static images of admissible actuations, from the robot's table. Reward as Reach, with the moving
    target; success: within the radius for ``hold_steps`` steps in a row.

    Attributes:
        shape: ``"any"``, ``"circle"``, ``"figure-eight"`` or ``"random"``.
        radius: success radius over the robot's length.
        hold_steps: half a second at 20 Hz.
    """

    max_steps: int = 200
    shape: str = "any"
    radius: float = 0.02
    hold_steps: int = 10
    reward_names: ClassVar[tuple[str, ...]] = ("near", "precise")
    columns: ClassVar[tuple[str, ...]] = ("curves", "curve_length")

    def __post_init__(self):
        if self.shape not in ("any", *SHAPES):
            raise ValueError(f"shape must be one of any, {', '.join(SHAPES)}, got {self.shape!r}")

    def reset(self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any) -> tuple[TrackState, Start]:
        curves, dtype = table["curves"], table["curves"].dtype
        which, where, how, way, begin = jax.random.split(key, 5)
        share = curves.shape[0] // len(SHAPES)
        low, high = (0, curves.shape[0])
        if self.shape != "any":
            low = SHAPES.index(self.shape) * share
            high = low + share
        i = jax.random.randint(which, (), low, high)
        speed = jax.random.uniform(how, (), dtype, SLOWEST, FASTEST)
        sign = jnp.where(jax.random.bernoulli(way), 1, -1).astype(dtype)
        rate = sign * speed * model.length(robot) / table["curve_length"][i]
        phase = jax.random.uniform(where, (), dtype)
        start = jax.random.randint(begin, (), 0, table["tip"].shape[0])
        state = TrackState(curves[i], phase, rate, jnp.zeros((), jnp.int32))
        return state, Start(table["q"][start], table["u"][start])

    def evaluate(self, state: TrackState, sight: Sight) -> tuple[TrackState, Terms]:
        distance, radius = distance_between(sight.tip, state.at(sight.time)), self.radius * sight.length
        steps = consecutive(state.steps_within, distance < radius)
        terms = Terms(closeness(distance, sight.length, radius), distance, steps >= self.hold_steps)
        return TrackState(state.curve, state.phase, state.rate, steps), terms

    def observe(self, state: TrackState, sight: Sight) -> Array:
        dt, length = sight.model.control_dt, sight.length
        target, velocity = jax.jvp(state.at, (sight.time,), (jnp.ones_like(sight.time),))
        ahead = [state.at(sight.time + k * dt) - sight.tip for k in range(1, PREVIEW + 1)]
        near = jnp.concatenate([target - sight.origin, target - sight.tip, *ahead]) / length
        return jnp.concatenate([near, velocity / (FASTEST * length)])

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        names = ("target", "target_minus_tip", *(f"target_in_{k}_minus_tip" for k in range(1, PREVIEW + 1)))
        return tuple(f"{name}_{a}" for name in (*names, "target_velocity") for a in axes)

    def picture(self, state: TrackState, sight: Sight) -> Picture:
        closed = jnp.concatenate([state.curve, state.curve[:1]])
        return Picture(state.at(sight.time), self.radius * sight.length, path=closed)

"""Regulate: bring the whole configuration to a posture, a new one every 2.5 s."""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox_envs.rewards import long_tolerance, tolerance
from soromox_envs.robots.model import RobotModel
from soromox_envs.tasks.base import Picture, Sight, Start, Task, Terms, consecutive, distance_between

INTERVAL = 2.5  # s
SMALLEST_RANGE = 0.05


class RegulateState(eqx.Module):
    """The postures of the episode.

    Attributes:
        goals: configurations (k, nq), one an interval.
        tips: where they bring the tip (k, space), m.
        scale: factor (nq,) from a coordinate to shares of its range.
        steps_within: consecutive steps within the tolerance.
    """

    goals: Array
    tips: Array
    scale: Array
    steps_within: Array

    def now(self, steps: Array, period: int) -> Array:
        """Which goal counts after that many steps."""
        return jnp.minimum(steps // period, self.goals.shape[0] - 1)


@dataclass(frozen=True)
class Regulate(Task):
    """Postures drawn from the robot's table of equilibria; the error is the root mean square over the coordinates.

    Coordinates count in shares of their range over the table; one that hardly moves (less than 5 % of the largest, as
    observed) counts as if it had that range. Reward: the mean of ``near`` (heavy-tailed, margin 0.25) and ``precise``
    (Gaussian, 0.1 at 0.15). Success: an error below 5 % for ``hold_steps`` steps, to be asked at the end of an
    interval. ``info["distance"]`` is that of the tip to where it will be, m.

    Attributes:
        tolerance: largest error of a success.
        hold_steps: half a second at 20 Hz.
    """

    max_steps: int = 200
    tolerance: float = 0.05
    hold_steps: int = 10
    reward_names: ClassVar[tuple[str, ...]] = ("near", "precise")

    def _period(self, model: RobotModel) -> int:
        return round(INTERVAL / model.control_dt)

    def reset(self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any) -> tuple[RegulateState, Start]:
        count = -(-self.max_steps // 50)
        rows = jax.random.randint(key, (count + 1,), 0, table["tip"].shape[0])
        width = table["q"].max(0) - table["q"].min(0)
        seen = width * jnp.asarray(model.coordinate_scale, table["q"].dtype)
        least = SMALLEST_RANGE * seen.max() / jnp.asarray(model.coordinate_scale, table["q"].dtype)
        scale = 1 / jnp.maximum(width, least)
        state = RegulateState(table["q"][rows[1:]], table["tip"][rows[1:]], scale, jnp.zeros((), jnp.int32))
        return state, Start(table["q"][rows[0]], table["u"][rows[0]])

    def evaluate(self, state: RegulateState, sight: Sight) -> tuple[RegulateState, Terms]:
        period = self._period(sight.model)
        now = state.now(sight.steps - 1, period)  # the step that ends an interval is still judged by its goal
        error = jnp.sqrt(jnp.mean(((sight.q - state.goals[now]) * state.scale) ** 2) + 1e-12)
        within = (error < self.tolerance) & ((sight.steps - 1) % period > 0)
        steps = consecutive(state.steps_within, within)
        rewards = {
            "near": long_tolerance(error, margin=0.25),
            "precise": tolerance(error, bound=0.2 * self.tolerance, margin=2.8 * self.tolerance),
        }
        distance = distance_between(sight.tip, state.tips[now])
        state = RegulateState(state.goals, state.tips, state.scale, steps)
        return state, Terms(rewards, distance, steps >= self.hold_steps)

    def observe(self, state: RegulateState, sight: Sight) -> Array:
        goal = state.goals[state.now(sight.steps, self._period(sight.model))]
        scale = jnp.asarray(sight.model.coordinate_scale, goal.dtype)
        return jnp.concatenate([goal * scale, (goal - sight.q) * state.scale])

    def extra_names(self, model: RobotModel, axes: tuple[str, ...]) -> tuple[str, ...]:
        names = model.coordinate_names
        return tuple(f"goal_{name}" for name in names) + tuple(f"goal_minus_{name}" for name in names)

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        raise ValueError("the names of Regulate depend on the robot: ask extra_names")

    def picture(self, state: RegulateState, sight: Sight) -> Picture:
        now = state.now(jnp.maximum(sight.steps - 1, 0), self._period(sight.model))
        return Picture(state.tips[now], 0.02 * sight.length)

"""Tasks that bring the tip to a static target and hold it there."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox_envs.physics import PULSE_DURATION, Physics, Range
from soromox_envs.rewards import tolerance
from soromox_envs.robots.model import RobotModel
from soromox_envs.tasks.base import (
    Picture,
    Sight,
    Start,
    Task,
    Terms,
    closeness,
    consecutive,
    distance_between,
    mean_of,
)

SUCCESS_ANGLE = math.radians(5)
RECOVERY = 1.0  # s


class ReachState(eqx.Module):
    """``target`` (space,) in m, and the number of consecutive steps the tip has been within the success radius."""

    target: Array
    steps_within: Array


@dataclass(frozen=True)
class Reach(Task):
    """A target drawn from the robot's table of equilibria, a start settled under another random actuation.

    Reward: the mean of ``near`` (heavy-tailed, margin a quarter of the length) and ``precise`` (Gaussian, 1 within a
    quarter of the success radius, 0.1 at five radii). Success: the tip within the radius for ``hold_steps`` steps in
    a row.

    Attributes:
        radius: success radius over the robot's length.
        hold_steps: steps to stay within it: half a second at 20 Hz.
    """

    radius: float = 0.02
    hold_steps: int = 10
    reward_names: ClassVar[tuple[str, ...]] = ("near", "precise")

    def reset(self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any) -> tuple[Any, Start]:
        start, goal = jax.random.randint(key, (2,), 0, table["tip"].shape[0])
        return self._begin(goal, table), Start(table["q"][start], table["u"][start])

    def _begin(self, goal: Array, table: dict[str, Array]) -> Any:
        return ReachState(table["tip"][goal], jnp.zeros((), jnp.int32))

    def evaluate(self, state: ReachState, sight: Sight) -> tuple[ReachState, Terms]:
        distance, radius = distance_between(sight.tip, state.target), self.radius * sight.length
        steps = consecutive(state.steps_within, distance < radius)
        terms = Terms(closeness(distance, sight.length, radius), distance, steps >= self.hold_steps)
        return ReachState(state.target, steps), terms

    def observe(self, state: Any, sight: Sight) -> Array:
        return jnp.concatenate([state.target - sight.origin, state.target - sight.tip]) / sight.length

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"target_{a}" for a in axes) + tuple(f"target_minus_tip_{a}" for a in axes)

    def picture(self, state: Any, sight: Sight) -> Picture:
        return Picture(state.target, self.radius * sight.length)


@dataclass(frozen=True)
class GoalReach(Reach):
    """Reach with a dictionary of observations and a reward that follows from the goals alone, for relabelling.

    The success of a step is the tip within the radius, so that it too follows from the goals.
    """

    hold_steps: int = 1
    goal_conditioned: ClassVar[bool] = True

    def goals(self, state: ReachState, sight: Sight) -> tuple[Array, Array]:
        """Achieved and desired goal (space,), over the length, from the base."""
        return (sight.tip - sight.origin) / sight.length, (state.target - sight.origin) / sight.length

    def reward_of(self, achieved: Array, desired: Array) -> Array:
        """Reward of goals as observed."""
        one = jnp.ones((), achieved.dtype)
        return mean_of(closeness(distance_between(achieved, desired), one, self.radius * one))


class ReachPoseState(eqx.Module):
    """``target`` (3,) in m, ``rotation`` (3, 3), and the number of consecutive steps within both tolerances."""

    target: Array
    rotation: Array
    steps_within: Array


@dataclass(frozen=True)
class ReachPose(Reach):
    """Reach with the orientation of the tip: success also asks for 5 degrees, and ``aligned`` joins the reward."""

    reward_names: ClassVar[tuple[str, ...]] = ("near", "precise", "aligned")
    columns: ClassVar[tuple[str, ...]] = ("rotation",)

    def _begin(self, goal: Array, table: dict[str, Array]) -> ReachPoseState:
        return ReachPoseState(table["tip"][goal], table["rotation"][goal], jnp.zeros((), jnp.int32))

    def evaluate(self, state: ReachPoseState, sight: Sight) -> tuple[ReachPoseState, Terms]:
        distance, radius = distance_between(sight.tip, state.target), self.radius * sight.length
        angle = _angle(state.rotation.T @ sight.rotation)
        steps = consecutive(state.steps_within, (distance < radius) & (angle < SUCCESS_ANGLE))
        rewards = closeness(distance, sight.length, radius)
        rewards |= {"aligned": tolerance(angle, bound=0.25 * SUCCESS_ANGLE, margin=8 * SUCCESS_ANGLE)}
        terms = Terms(rewards, distance, steps >= self.hold_steps)
        return ReachPoseState(state.target, state.rotation, steps), terms

    def observe(self, state: ReachPoseState, sight: Sight) -> Array:
        error = sight.rotation.T @ state.rotation
        return jnp.concatenate([super().observe(state, sight), error[:, :2].T.reshape(-1)])

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        error = tuple(f"rotation_error_{i}{j}" for j in range(2) for i in range(3))
        return super().observation_names(axes) + error


@dataclass(frozen=True)
class PayloadReach(Reach):
    """Reach with an unknown mass at the tip, another one every episode, which no observation names."""

    ranges: ClassVar[tuple[tuple[str, Range], ...]] = (("payload", (0.0, 1.0)),)


class DisturbanceState(eqx.Module):
    """State of Disturbance.

    Attributes:
        target: (space,), m.
        steps_within: consecutive steps within the radius.
        arrived: whether the tip ever was within the radius ().
        failed: whether it was not recovered from a push since ().
    """

    target: Array
    steps_within: Array
    arrived: Array
    failed: Array


@dataclass(frozen=True)
class Disturbance(Reach):
    """Reach while something pushes at the tip, 0.2 s in every 2 s.

    Success: the tip is within the radius, and was so from one second after every push until the next, since it first
    arrived.
    """

    ranges: ClassVar[tuple[tuple[str, Range], ...]] = (("pulses", (0.3, 1.0)),)

    def _begin(self, goal: Array, table: dict[str, Array]) -> DisturbanceState:
        no = jnp.zeros((), bool)
        return DisturbanceState(table["tip"][goal], jnp.zeros((), jnp.int32), no, no)

    def evaluate(self, state: DisturbanceState, sight: Sight) -> tuple[DisturbanceState, Terms]:
        distance, radius = distance_between(sight.tip, state.target), self.radius * sight.length
        within = distance < radius
        since = sight.time - _push_times(sight.physics)
        recovering = jnp.any((since >= 0) & (since < PULSE_DURATION + RECOVERY))
        calm = jnp.any(since >= PULSE_DURATION + RECOVERY) & ~recovering
        failed = state.failed | (state.arrived & calm & ~within)
        terms = Terms(closeness(distance, sight.length, radius), distance, calm & within & ~failed)
        steps = consecutive(state.steps_within, within)
        return DisturbanceState(state.target, steps, state.arrived | within, failed), terms


def _push_times(physics: Physics | None) -> Array:
    if physics is None or physics.pulse_times is None:
        raise ValueError("Disturbance needs pushes: its randomization must keep the range 'pulses'")
    return physics.pulse_times


def _angle(R: Array) -> Array:
    """Angle of a rotation (3, 3), rad; derivatives are finite everywhere."""
    axis = jnp.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return jnp.arctan2(jnp.sqrt(jnp.sum(axis**2) + 1e-12), jnp.trace(R) - 1)

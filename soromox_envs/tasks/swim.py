"""Swim: a floating rod in a viscous medium swims, by undulation, to a target."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.simulation.environments import ViscousDrag
from soromox_envs.rewards import long_tolerance
from soromox_envs.robots.model import RobotModel
from soromox_envs.tasks.base import Picture, Sight, Start, Task, Terms, distance_between

NORMAL, TANGENTIAL = 10.0, 1.0  # N s/m^2, a soft gel: 1.5 times in water, 35 on agar (Berri et al., HFSP J. 3, 2009)
CONE = math.pi / 6  # about the axis, in which targets lie


@eqx.filter_jit
def _middle(robot: Any, q: Array) -> tuple[Array, Array]:
    """Position and rotation of the middle of the body; traced once a program."""
    pose = robot.forward_kinematics(q, 0.5 * robot.length)
    return robot.group.position(pose), robot.group.rotation(pose)


class SwimState(eqx.Module):
    """``target`` (space,), m, in the world."""

    target: Array


@dataclass(frozen=True)
class Swim(Task):
    """Bring the middle of the body within half a body length of a target 0.7 to 1 lengths away.

    The target lies in any direction within 30 degrees of the body's axis, before or behind. Reward: ``near``,
    heavy-tailed beyond half a length, 0.1 a quarter of a length further.

    Attributes:
        radius: success radius over the length.
    """

    max_steps: int = 400
    radius: float = 0.5
    reward_names: ClassVar[tuple[str, ...]] = ("near",)

    def reset(self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any) -> tuple[SwimState, Start]:
        length = model.length(robot)
        far, tilt, turn, side = jax.random.split(key, 4)
        q, dtype = table["q"][0], table["q"].dtype
        angle = jax.random.uniform(tilt, (), dtype, 0, CONE)
        azimuth = jax.random.uniform(turn, (), dtype, -jnp.pi, jnp.pi)
        sign = jnp.where(jax.random.bernoulli(side), 1, -1).astype(dtype)
        direction = jnp.stack(
            [sign * jnp.cos(angle), jnp.sin(angle) * jnp.cos(azimuth), jnp.sin(angle) * jnp.sin(azimuth)]
        )
        position, rotation = _middle(robot, q)
        distance = length * jax.random.uniform(far, (), dtype, 0.7, 1.0)
        return SwimState(position + rotation @ (distance * direction)), Start(q, table["u"][0])

    def evaluate(self, state: SwimState, sight: Sight) -> tuple[SwimState, Terms]:
        distance = distance_between(_middle(sight.robot, sight.q)[0], state.target)
        within = self.radius * sight.length
        near = long_tolerance(distance, bound=within, margin=0.25 * sight.length)
        return state, Terms({"near": near}, distance, distance < within)

    def observe(self, state: SwimState, sight: Sight) -> Array:
        position, rotation = _middle(sight.robot, sight.q)
        return rotation.T @ (state.target - position) / sight.length

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"target_from_middle_{a}" for a in axes)

    def surroundings(self, robot: Any) -> ViscousDrag:
        return ViscousDrag(robot, NORMAL, TANGENTIAL)

    def picture(self, state: SwimState, sight: Sight) -> Picture:
        return Picture(state.target, self.radius * sight.length, point=_middle(sight.robot, sight.q)[0])

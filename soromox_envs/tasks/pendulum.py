"""Stabilize and SwingUp: the inverted soft pendulum with one torque."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox_envs.rewards import tolerance
from soromox_envs.robots.model import RobotModel
from soromox_envs.tasks.base import Picture, Sight, Start, Task, Terms, consecutive, distance_between

SUCCESS_TILT = math.radians(5)


class UprightState(eqx.Module):
    """Consecutive steps with every link upright."""

    steps_within: Array


@dataclass(frozen=True)
class Stabilize(Task):
    """Keep every link upright, from within ``spread`` rad of it.

    Reward: the mean of ``upright``, (1 + cos tilt) / 2 averaged over the links, and ``precise``, a Gaussian of the
    largest tilt, 0.1 at 25 degrees. Success: every link within 5 degrees for ``hold_steps`` steps (1 s).
    ``info["distance"]`` is that of the tip to where it stands upright, m.
    """

    max_steps: int = 200
    hold_steps: int = 20
    spread: float = 0.1
    reward_names: ClassVar[tuple[str, ...]] = ("upright", "precise")
    upright_start: ClassVar[bool] = True

    def reset(self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any) -> tuple[UprightState, Start]:
        gravity = robot.params.gravity
        height = -(table["tip"] @ gravity)
        posture = jnp.argmax(height) if self.upright_start else jnp.argmin(height)
        q = table["q"][posture]
        q = q + jax.random.uniform(key, q.shape, q.dtype, -self.spread, self.spread)
        return UprightState(jnp.zeros((), jnp.int32)), Start(q, table["u"][posture])

    def evaluate(self, state: UprightState, sight: Sight) -> tuple[UprightState, Terms]:
        along, across = _links(sight)
        tilt = jnp.abs(jnp.arctan2(across, along)).max()
        steps = consecutive(state.steps_within, tilt < SUCCESS_TILT)
        rewards = {
            "upright": jnp.mean(0.5 * (1 + along)),
            "precise": tolerance(tilt, bound=0.25 * SUCCESS_TILT, margin=4.75 * SUCCESS_TILT),
        }
        return UprightState(steps), Terms(
            rewards, distance_between(sight.tip, _summit(sight)), steps >= self.hold_steps
        )

    def observe(self, state: UprightState, sight: Sight) -> Array:
        return jnp.concatenate(_links(sight))

    def extra_names(self, model: RobotModel, axes: tuple[str, ...]) -> tuple[str, ...]:
        links = range(len(model.coordinate_names))
        return tuple(f"cos_tilt_{i}" for i in links) + tuple(f"sin_tilt_{i}" for i in links)

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        raise ValueError("the names of the pendulum's tasks depend on the robot: ask extra_names")

    def picture(self, state: UprightState, sight: Sight) -> Picture:
        return Picture(_summit(sight), SUCCESS_TILT * sight.length)


@dataclass(frozen=True)
class SwingUp(Stabilize):
    """As Stabilize, from hanging: the torque cannot lift the links, it has to swing them."""

    upright_start: ClassVar[bool] = False


def _links(sight: Sight) -> tuple[Array, Array]:
    """Cosine and sine (n,) of each link's tilt from upright."""
    tips = jax.vmap(sight.robot.group.position)(sight.robot.forward_kinematics_tips(sight.q))
    links = jnp.diff(jnp.concatenate([sight.origin[None], tips]), axis=0)
    links = links / jnp.sqrt(jnp.sum(links**2, axis=1, keepdims=True))
    up = _up(sight)
    return links @ up, links @ jnp.stack([-up[1], up[0]])


def _up(sight: Sight) -> Array:
    gravity = sight.robot.params.gravity
    return -gravity / jnp.sqrt(jnp.sum(gravity**2))


def _summit(sight: Sight) -> Array:
    """Where the tip of the upright pendulum is."""
    return sight.origin + sight.length * _up(sight)

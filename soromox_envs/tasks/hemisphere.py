"""HemisphereTrack: the field's published comparison task for a soft arm, with its own reward."""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox_envs.robots.model import RobotModel
from soromox_envs.tasks.base import Picture, Sight, Start, Task, Terms, distance_between

RADIUS = 0.10  # m, of the hemisphere
SPEED = 0.015  # m/s, of the target
BONUS_DISTANCE = 0.01  # m


class HemisphereState(eqx.Module):
    """A random spherical curve and where the target is on it.

    Attributes:
        center, frame: of the hemisphere: (3,) in m, and rows (3, 3) of two directions and its axis.
        turns: of the azimuth over the curve ().
        azimuth: at the curve's beginning (), rad.
        polar: middle, amplitude, frequency and phase of the polar angle's wave (4,).
        progress: along the curve's parameter (), from 0.
    """

    center: Array
    frame: Array
    turns: Array
    azimuth: Array
    polar: Array
    progress: Array

    def at(self, x: Array) -> Array:
        """Point of the curve (3,), m."""
        azimuth = self.azimuth + 2 * np.pi * self.turns * x
        polar = self.polar[0] + self.polar[1] * jnp.sin(2 * np.pi * self.polar[2] * x + self.polar[3])
        s = jnp.sin(polar)
        direction = jnp.stack([s * jnp.cos(azimuth), s * jnp.sin(azimuth), jnp.cos(polar)])
        return self.center + RADIUS * (direction @ self.frame)

    def motion(self) -> tuple[Array, Array, Array]:
        """Position and velocity (3,) of the target, and the rate of ``progress`` (1/s)."""
        point, slope = jax.jvp(self.at, (self.progress,), (jnp.ones_like(self.progress),))
        rate = SPEED / jnp.sqrt(jnp.sum(slope**2) + 1e-12)
        return point, rate * slope, rate


@dataclass(frozen=True)
class HemisphereTrack(Task):
    """Follow a target that moves on a hemisphere of radius 0.10 m about the arm's axis, at 0.015 m/s, for 105 steps.

    Reward: -(distance / 0.2 m + max(receding speed, 0) / 0.3 m/s), and 1 below 10 mm, as published, so that learning
    curves compare; not within [0, 1]. The curve turns 0.5 to 3 times while its polar angle follows a wave. The
    hemisphere's pole is where the straight arm ends. Success: below 10 mm.
    """

    max_steps: int = 105
    reward_names: ClassVar[tuple[str, ...]] = ("distance", "receding", "bonus")
    published_reward: ClassVar[bool] = True

    def reset(
        self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any
    ) -> tuple[HemisphereState, Start]:
        dtype = table["q"].dtype
        q = jnp.zeros_like(table["q"][0])
        pose = robot.forward_kinematics(q, model.length(robot))
        R, tip = robot.group.rotation(pose), robot.group.position(pose)
        axis = R[:, 0]
        keys = jax.random.split(key, 5)
        polar = jnp.stack(
            [
                jax.random.uniform(keys[0], (), dtype, 0.2 * jnp.pi, 0.3 * jnp.pi),
                jax.random.uniform(keys[1], (), dtype, 0.02 * jnp.pi, 0.15 * jnp.pi),
                jax.random.uniform(keys[2], (), dtype, 1.0, 3.0),
                jax.random.uniform(keys[3], (), dtype, -jnp.pi, jnp.pi),
            ]
        )
        turns, azimuth = jax.random.uniform(keys[4], (2,), dtype)
        state = HemisphereState(
            tip - RADIUS * axis,
            jnp.stack([R[:, 1], R[:, 2], axis]),
            0.5 + 2.5 * turns,
            2 * jnp.pi * azimuth,
            polar,
            jnp.zeros((), dtype),
        )
        return state, Start(q, jnp.zeros_like(table["u"][0]))

    def evaluate(self, state: HemisphereState, sight: Sight) -> tuple[HemisphereState, Terms]:
        state = self._moved(state, sight.model.control_dt)
        target, velocity, _ = state.motion()
        distance = distance_between(sight.tip, target)
        receding = (sight.velocity - velocity) @ (sight.tip - target) / distance
        reached = distance < BONUS_DISTANCE
        rewards = {
            "distance": -distance / 0.2,
            "receding": -jnp.maximum(receding, 0) / 0.3,
            "bonus": jnp.where(reached, 1, 0).astype(distance.dtype),
        }
        return state, Terms(rewards, distance, reached)

    def _moved(self, state: HemisphereState, dt: float) -> HemisphereState:
        halfway = eqx.tree_at(lambda s: s.progress, state, state.progress + 0.5 * dt * state.motion()[2])
        return eqx.tree_at(lambda s: s.progress, state, state.progress + dt * halfway.motion()[2])

    def reward(self, terms: Terms) -> Array:
        """Sum of the terms."""
        return jnp.sum(jnp.stack(list(terms.reward_terms.values())))

    def observe(self, state: HemisphereState, sight: Sight) -> Array:
        target, velocity, _ = state.motion()
        places = jnp.concatenate([target - sight.origin, target - sight.tip]) / sight.length
        return jnp.concatenate([places, velocity / SPEED])

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{name}_{a}" for name in ("target", "target_minus_tip", "target_velocity") for a in axes)

    def picture(self, state: HemisphereState, sight: Sight) -> Picture:
        ahead = jnp.linspace(0.0, 1.0, 200, dtype=state.progress.dtype)
        return Picture(state.motion()[0], jnp.full_like(state.progress, BONUS_DISTANCE), path=jax.vmap(state.at)(ahead))

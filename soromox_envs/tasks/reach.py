"""Reach: bring the tip to a static reachable target and hold it there."""

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox_envs.rewards import long_tolerance, tolerance


class ReachState(eqx.Module):
    """``target`` (space,) in m, and the number of consecutive steps the tip has been within the success radius."""

    target: Array
    steps_within: Array


class Start(NamedTuple):
    """How an episode begins: configuration (nq,), settled under the actuation (m,)."""

    q: Array
    actuation: Array


class Terms(NamedTuple):
    """Outcome of a step: named reward terms in [0, 1], distance (m), success."""

    reward_terms: dict[str, Array]
    distance: Array
    is_success: Array


@dataclass(frozen=True)
class Reach:
    """A target drawn from the robot's table of equilibria, a start settled under another random actuation.

    Reward: the mean of ``near`` (heavy-tailed, margin a quarter of the length) and ``precise`` (Gaussian, 1 within a
    quarter of the success radius, 0.1 at five radii). Success: the tip within the radius for ``hold_steps`` steps in
    a row.

    Attributes:
        radius: success radius over the robot's length.
        hold_steps: steps to stay within it: half a second at 20 Hz.
        max_steps: steps an episode: 5 s at 20 Hz.
    """

    radius: float = 0.02
    hold_steps: int = 10
    max_steps: int = 100
    reward_names: tuple[str, ...] = ("near", "precise")

    def reset(self, key: Array, table: dict[str, Array]) -> tuple[ReachState, Start]:
        """Look a start and a target up in the table."""
        start, goal = jax.random.randint(key, (2,), 0, table["tip"].shape[0])
        state = ReachState(table["tip"][goal], jnp.zeros((), jnp.int32))
        return state, Start(table["q"][start], table["u"][start])

    def evaluate(self, state: ReachState, tip: Array, length: Array) -> tuple[ReachState, Terms]:
        """Advance the count of steps within the radius, and score the tip position (space,)."""
        distance = jnp.sqrt(jnp.sum((tip - state.target) ** 2) + 1e-12)
        radius = self.radius * length
        steps = jnp.where(distance < radius, state.steps_within + 1, 0).astype(jnp.int32)
        terms = {
            "near": long_tolerance(distance, margin=0.25 * length),
            "precise": tolerance(distance, bound=0.25 * radius, margin=4.75 * radius),
        }
        return ReachState(state.target, steps), Terms(terms, distance, steps >= self.hold_steps)

    def reward(self, terms: Terms) -> Array:
        """Mean of the terms."""
        return jnp.mean(jnp.stack(list(terms.reward_terms.values())))

    def observe(self, state: ReachState, tip: Array, origin: Array, length: Array) -> Array:
        """Target and target - tip, over the length."""
        return jnp.concatenate([(state.target - origin) / length, (state.target - tip) / length])

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the entries of ``observe``."""
        return tuple(f"target_{a}" for a in axes) + tuple(f"target_minus_tip_{a}" for a in axes)

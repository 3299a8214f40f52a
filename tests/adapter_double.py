"""A cheap environment that obeys the functional contract: a point mass pushed to a random goal in the plane.

It has what an adapter can get wrong: steps that use their key, rewards with named terms, a divergence,
physical units. `TRACES` counts how often `step_env` was traced, by environment.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from soromox_envs.spaces import Box

ID = "Double-Reach-v0"
STEPS = 12
TRACES: Counter = Counter()


class Params(eqx.Module):
    mass: Float[Array, ""] = eqx.field(default_factory=lambda: np.float32(0.1))
    max_steps_in_episode: int = STEPS

    def replace(self, **changes):
        names = list(changes)
        return eqx.tree_at(lambda p: [getattr(p, n) for n in names], self, [changes[n] for n in names])


class State(eqx.Module):
    position: Float[Array, "2"]
    velocity: Float[Array, "2"]
    goal: Float[Array, "2"]
    time: Int[Array, ""]

    replace = Params.replace


@dataclass(frozen=True)
class Double:
    action_units: str = "normalized"
    limit: float = 4.0  # |position| beyond which the state counts as diverged, m
    name: str = ID

    num_actions = 2
    control_dt = 0.05
    observation_names = ("x", "y", "vx", "vy", "goal_x", "goal_y")
    action_names = ("force_x", "force_y")

    @property
    def default_params(self) -> Params:
        return Params()

    def action_space(self, params=None) -> Box:
        bound = 1.0 if self.action_units == "normalized" else 2.0
        return Box(-bound, bound, (2,))

    def observation_space(self, params=None) -> Box:
        return Box(-8.0, 8.0, (6,))

    def observe(self, key, state, action, params=None):
        entries = jnp.concatenate([state.position, state.velocity, state.goal])
        return jnp.clip(jnp.nan_to_num(entries), -8.0, 8.0).astype(jnp.float32)

    def reset_env(self, key, params):
        goal = jax.random.uniform(key, (2,), jnp.float32, -1.0, 1.0)
        zero = jnp.zeros((2,), jnp.float32)
        state = State(zero, zero, goal, jnp.zeros((), jnp.int32))
        return self.observe(key, state, None, params), state

    def step_env(self, key, state, action, params):
        TRACES[self] += 1
        scale = 2.0 if self.action_units == "normalized" else 1.0
        force = scale * jnp.clip(action, *(self.action_space().low[0], self.action_space().high[0]))
        force = force + 0.1 * jax.random.normal(key, (2,), jnp.float32)
        velocity = state.velocity + self.control_dt * force / params.mass
        position = state.position + self.control_dt * velocity
        state = State(position, velocity, state.goal, state.time + 1)
        diverged = self.is_terminated(state, params)
        distance = jnp.where(diverged, 8.0, jnp.linalg.norm(jnp.nan_to_num(position) - state.goal))
        near = jnp.exp(-distance)
        info = {
            "is_success": distance < 0.1,
            "distance": distance,
            "reward_terms": {"near": near, "slow": jnp.exp(-jnp.sum(jnp.nan_to_num(velocity) ** 2))},
            "diverged": diverged,
        }
        return self.observe(key, state, action, params), state, near, diverged, info

    def is_terminated(self, state, params):
        return ~jnp.all(jnp.abs(state.position) <= self.limit)

    def is_truncated(self, state, params):
        return state.time >= params.max_steps_in_episode

    def reset(self, key, params=None):
        return self.reset_env(key, self.default_params if params is None else params)

    def step(self, key, state, action, params=None):
        params = self.default_params if params is None else params
        final_observation, state, reward, terminated, info = self.step_env(key, state, action, params)
        truncated = self.is_truncated(state, params)
        fresh = self.reset_env(jax.random.fold_in(key, 0), params)
        done = terminated | truncated
        observation, state = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, (final_observation, state))
        info |= {"terminated": terminated, "truncated": truncated, "final_observation": final_observation}
        return observation, state, reward, terminated, truncated, info

    def render(self, state, params=None) -> np.ndarray:
        frame = np.full((32, 48, 3), 255, np.uint8)
        row, column = np.clip(16 + 4 * np.asarray(state.position), 0, 31).astype(int)
        frame[row, column] = 0
        return frame


def make_double(*, action_units: str = "normalized", limit: float = 4.0) -> tuple[Double, Params]:
    env = Double(action_units, limit)
    return env, env.default_params


def register_double() -> str:
    """Register the double once; its id."""
    from soromox_envs import registry

    if ID not in registry.registered():
        registry.register(registry.EnvEntry(ID, f"{__name__}:make_double", STEPS, 10.0))
    return ID

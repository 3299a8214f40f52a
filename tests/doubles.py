"""Tiny functional environments, in the place of real ones, for the tests of agents.

They follow the functional protocol to the letter: same-step auto-reset, `final_observation`, `.time`.
"""

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


@dataclass(frozen=True)
class Box:
    low: float
    high: float
    shape: tuple[int, ...]
    dtype: Any = np.float32


class Params(eqx.Module):
    max_steps_in_episode: int = eqx.field(static=True, default=20)

    def replace(self, **changes: Any) -> "Params":
        return replace(self, **changes)


class State(eqx.Module):
    position: Float[Array, " k"]
    target: Float[Array, " k"]
    time: Int[Array, ""]


@dataclass(frozen=True)
class Double:
    """What the doubles share: the protocol. Subclasses say how the state moves and what it is worth."""

    name: str = "Double-v0"
    dimension: int = 1
    control_dt: float = 0.05

    @property
    def default_params(self) -> Params:
        return Params()

    @property
    def num_actions(self) -> int:
        return self.dimension

    def observation_space(self, params: Any) -> Box:
        return Box(-10.0, 10.0, (2 * self.dimension,))

    def action_space(self, params: Any) -> Box:
        return Box(-1.0, 1.0, (self.dimension,))

    def start(self, key: PRNGKeyArray) -> State:
        position, target = jax.random.uniform(key, (2, self.dimension), jnp.float32, -1.0, 1.0)
        return State(position, target, jnp.zeros((), jnp.int32))

    def move(self, state: State, action: Float[Array, " k"]) -> State:
        return replace(state, time=state.time + 1)

    def reward(self, state: State) -> Float[Array, ""]:
        return jnp.ones((), jnp.float32)

    def is_terminated(self, state: State, params: Params) -> Bool[Array, ""]:
        return jnp.zeros((), bool)

    def is_truncated(self, state: State, params: Params) -> Bool[Array, ""]:
        return state.time >= params.max_steps_in_episode

    def observe(self, key: Any, state: State, action: Any, params: Any) -> Float[Array, " n"]:
        return jnp.concatenate([state.position, state.target - state.position])

    def reset_env(self, key: PRNGKeyArray, params: Params) -> tuple[Array, State]:
        state = self.start(key)
        return self.observe(key, state, None, params), state

    def reset(self, key: PRNGKeyArray, params: Params | None = None) -> tuple[Array, State]:
        return self.reset_env(key, params or self.default_params)

    def step_env(self, key: PRNGKeyArray, state: State, action: Array, params: Params):
        state = self.move(state, action)
        distance = jnp.linalg.norm(state.target - state.position)
        terminated = self.is_terminated(state, params)
        info = {"distance": distance, "is_success": distance < 0.1, "diverged": terminated}
        return self.observe(key, state, action, params), state, self.reward(state), terminated, info

    def step(self, key: PRNGKeyArray, state: State, action: Array, params: Params | None = None):
        params = params or self.default_params
        observation, stepped, reward, terminated, info = self.step_env(key, state, action, params)
        truncated = self.is_truncated(stepped, params)
        fresh_observation, fresh = self.reset_env(key, params)
        done = terminated | truncated
        info |= {"terminated": terminated, "truncated": truncated, "final_observation": observation}
        state = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, stepped)
        observation = jnp.where(done, fresh_observation, observation)
        return observation, state, reward, terminated, truncated, info

    def render(self, state: State, params: Params) -> np.ndarray:
        frame = np.full((32, 48, 3), 255, np.uint8)
        column = int(np.clip(24 + 20 * float(state.position[0]), 0, 47))
        frame[12:20, max(column - 2, 0) : column + 2] = (200, 30, 30)
        return frame


@dataclass(frozen=True)
class ConstantReward(Double):
    """Reward 1 whatever happens, ended by the time limit alone. Worth 1 / (1 - discount) everywhere."""

    name: str = "ConstantReward-v0"


@dataclass(frozen=True)
class PointReach(Double):
    """A point that moves by 0.2 a step where the action says, and should sit on its target."""

    name: str = "PointReach-v0"
    dimension: int = 2

    def move(self, state: State, action: Array) -> State:
        return replace(state, position=state.position + 0.2 * action, time=state.time + 1)

    def reward(self, state: State) -> Array:
        return jnp.exp(-3.0 * jnp.linalg.norm(state.target - state.position))


@dataclass(frozen=True)
class Falling(PointReach):
    """As PointReach, but a first coordinate beyond +-1.2 terminates the episode."""

    name: str = "Falling-v0"

    def is_terminated(self, state: State, params: Params) -> Array:
        return jnp.abs(state.position[0]) > 1.2


DOUBLES = {env.name: env for env in (ConstantReward(), PointReach(), Falling())}


def make(env_id: str) -> tuple[Double, Params]:
    """As `soromox_envs.make`."""
    return DOUBLES[env_id], DOUBLES[env_id].default_params

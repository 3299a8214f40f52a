"""The face of gymnax before 1.0, for code that unpacks five values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, PyTree

from soromox_envs.spaces import Box, Dict


@dataclass(frozen=True)
class LegacyEnv:
    """A functional environment whose steps return ``obs, state, reward, done, info``.

    ``done`` is terminated or truncated. ``info["discount"]`` is 0 after a termination and 1 otherwise, also at the time
    limit, which ``info["truncated"]`` tells: bootstrap with the discount, not with ``done``. ``step`` resets an ended
    episode in the same step; ``info["final_observation"]`` is its last observation.
    """

    env: Any

    def reset(self, key: PRNGKeyArray, params: PyTree | None = None) -> tuple[Any, PyTree]:
        return self.env.reset(key, params)

    def step(
        self, key: PRNGKeyArray, state: PyTree, action: Array, params: PyTree | None = None
    ) -> tuple[Any, PyTree, Array, Array, dict[str, Any]]:
        obs, state, reward, terminated, truncated, info = self.env.step(key, state, action, params)
        return obs, state, reward, terminated | truncated, _legacy(info, reward, terminated, truncated)

    def reset_env(self, key: PRNGKeyArray, params: PyTree) -> tuple[Any, PyTree]:
        return self.env.reset_env(key, params)

    def step_env(
        self, key: PRNGKeyArray, state: PyTree, action: Array, params: PyTree
    ) -> tuple[Any, PyTree, Array, Array, dict[str, Any]]:
        obs, state, reward, terminated, info = self.env.step_env(key, state, action, params)
        truncated = self.env.is_truncated(state, params)
        return obs, state, reward, terminated | truncated, _legacy(info, reward, terminated, truncated)

    @property
    def default_params(self) -> PyTree:
        return self.env.default_params

    @property
    def name(self) -> str:
        return self.env.name

    @property
    def num_actions(self) -> int:
        return self.env.num_actions

    def action_space(self, params: PyTree | None = None) -> Box:
        return self.env.action_space(params)

    def observation_space(self, params: PyTree | None = None) -> Box | Dict:
        return self.env.observation_space(params)


def _legacy(info: dict[str, Any], reward: Array, terminated: Array, truncated: Array) -> dict[str, Any]:
    return {**info, "discount": 1 - terminated.astype(jnp.result_type(reward)), "truncated": truncated}

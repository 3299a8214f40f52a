"""The single Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np
from jaxtyping import PyTree

from soromox_envs.adapters.face import RENDER_MODES, FunctionalFace, draw_seed, lane_seed, to_python
from soromox_envs.adapters.lanes import reset_single, step_single
from soromox_envs.adapters.packing import unpack


class GymnasiumEnv(FunctionalFace, gymnasium.Env[Any, np.ndarray]):
    """One soft-robot environment as `gymnasium.make(id)` gives it.

    Truncation is left to Gymnasium's `TimeLimit` (`gymnasium.make` applies it). `info` of a step holds
    `is_success`, `distance` (m), `reward_terms` and `diverged` as Python scalars. `params` replaces the
    nominal parameters of the functional environment; other options are those of the id (`soromox_envs.make`).
    `reset(seed=s)` starts episode 0 of the key of s, each later `reset()` the next episode of it; lane 0 of a
    batched environment with the same seed sees the same numbers. Everything picklable is in the object, so
    that copy, deepcopy and pickle save and restore it in the middle of an episode; `state` may also be read
    and assigned.

    The first reset and step compile, once per process for all equal environments. To keep the compiled
    programs from one process to the next, set the environment variable JAX_COMPILATION_CACHE_DIR to a folder
    before JAX is imported, and JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 to keep the small ones too.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 20}

    def __init__(self, env_id: str, render_mode: str | None = None, params: PyTree | None = None, **options: Any):
        self._build(env_id, render_mode, params, options)
        self.observation_space = self.functional.observation_space(self.params).to_gymnasium()
        self.action_space = self.functional.action_space(self.params).to_gymnasium()
        self.state: PyTree | None = None
        self._seed: np.uint32 | None = None
        self._episode = np.int32(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or self._seed is None:
            self._seed = lane_seed(draw_seed(self.np_random) if seed is None else seed)
            self._episode = np.int32(0)
        else:
            self._episode = np.int32(self._episode + 1)
        observation, self.state = reset_single(self.functional, self.params, self._seed, self._episode)
        return jax.tree.map(np.array, observation), {}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.state is None:
            raise gymnasium.error.ResetNeeded(f"{self.functional.name} needs a reset before its first step.")
        action = self._checked_action(action, self.action_space.shape)
        self.state, packed = step_single(self.functional, self.params, self._seed, self._episode, self.state, action)
        observation, reward, terminated, info = unpack(packed)
        reward = self._goal_reward(observation, reward, ~terminated)
        return observation, reward.item(), terminated.item(), False, to_python(info)

    def render(self) -> np.ndarray | None:
        if not self._can_render():
            return None
        if self.state is None:
            raise gymnasium.error.ResetNeeded(f"{self.functional.name} needs a reset before it can render.")
        return self._frame(self.state)

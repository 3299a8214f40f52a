"""The natively batched Stable-Baselines3 `VecEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from jaxtyping import Bool, Float32
from stable_baselines3.common.vec_env.base_vec_env import VecEnv, VecEnvIndices, VecEnvObs

from soromox_envs.adapters.gymnasium_vector import GymnasiumVectorEnv
from soromox_envs.registry import entry_of


class SB3VecEnv(VecEnv):
    """`n_envs` lanes of one id, stepped by one compiled program, reset in the step that ends an episode.

    Lane i starts from `seed + i` and sees the same numbers as the Gymnasium environments. `info` of a lane is
    a fresh dict with the environment's entries as Python scalars, `TimeLimit.truncated`, and where an episode
    ended `terminal_observation`. The lanes are one object (`envs`, a `GymnasiumVectorEnv`): attributes can't
    differ between them, and `env_method` calls methods of it or of the functional environment.
    """

    actions: np.ndarray

    def __init__(self, env_id: str, n_envs: int = 1, *, seed: int | None = None, **options: Any):
        options.setdefault("max_episode_steps", entry_of(env_id).max_episode_steps)
        self.envs = GymnasiumVectorEnv(env_id, n_envs, autoreset_mode="SameStep", **options)
        super().__init__(n_envs, self.envs.single_observation_space, self.envs.single_action_space)
        self.metadata = dict(self.envs.metadata)
        if seed is not None:
            self.seed(seed)

    def reset(self) -> VecEnvObs:
        seeded = any(seed is not None for seed in self._seeds)
        observation, _ = self.envs.reset(seed=self._seeds if seeded else None)
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(
        self,
    ) -> tuple[VecEnvObs, Float32[np.ndarray, " lanes"], Bool[np.ndarray, " lanes"], list[dict[str, Any]]]:
        observation, reward, terminated, truncated, batch = self.envs.step(self.actions)
        done = terminated | truncated
        infos = _rows({k: v for k, v in batch.items() if not k.startswith(("_", "final_"))}, self.num_envs)
        for info, timed_out in zip(infos, (truncated & ~terminated).tolist(), strict=True):
            info["TimeLimit.truncated"] = timed_out
        for i in np.flatnonzero(done):
            infos[i]["terminal_observation"] = batch["final_obs"][i]
        return observation, reward.astype(np.float32), done, infos

    def close(self) -> None:
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        frames = self.envs.render()
        return [None] * self.num_envs if frames is None else frames

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        owner = self.envs if hasattr(self.envs, attr_name) else self.envs.functional
        return [getattr(owner, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        chosen = set(self._get_indices(indices))
        if len(chosen) != self.num_envs:
            raise ValueError(f"The lanes share one object: set {attr_name} for all {self.num_envs}, not {len(chosen)}.")
        setattr(self.envs, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        mine = getattr(self.envs, method_name, None)
        method = mine if callable(mine) else getattr(self.envs.functional, method_name)
        return [method(*method_args, **method_kwargs) for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]


def _rows(batch: dict[str, Any], lanes: int) -> list[dict[str, Any]]:
    """A (nested) dict of arrays with leading axis `lanes` as one dict of Python scalars per lane."""
    if not batch:
        return [{} for _ in range(lanes)]
    columns = [
        _rows(v, lanes) if isinstance(v, dict) else v.tolist() if v.ndim == 1 else [row.copy() for row in v]
        for v in batch.values()
    ]
    return [dict(zip(batch, row, strict=True)) for row in zip(*columns, strict=True)]

"""The natively batched Gymnasium environment: all lanes in one compiled program."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import PyTree

from soromox_envs.adapters.face import RENDER_MODES, FunctionalFace, draw_seed, lane_seed
from soromox_envs.adapters.lanes import Lane, Transition, reset_lanes, restart_lanes, step_lanes
from soromox_envs.adapters.packing import unpack

_OUTPUTS = ("numpy", "jax")


class GymnasiumVectorEnv(FunctionalFace, VectorEnv[Any, Any, Any]):
    """`num_envs` equal environments as `gymnasium.make_vec(id, num_envs=...)` gives them.

    `autoreset_mode` is "NextStep" (the step after an episode's end ignores the action and resets the lane),
    "SameStep" (the last observation is in `infos["final_obs"]`, the last info in `infos["final_info"]`) or
    "Disabled" (the user resets with `reset(options={"reset_mask": mask})`, which works in every mode). Lane i
    is the single environment with seed `seed + i`. Episodes are truncated after `max_episode_steps` (default:
    that of the parameters).

    `infos` holds one array per name and, as Gymnasium's own do, a mask `_name` of the lanes that have it;
    with auto-reset "NextStep" the lanes that were only reset have none.

    With `output="numpy"` everything returned is a fresh writable array and non-finite actions are refused.
    With `output="jax"` everything stays on the device and no call waits for another: `final_obs` is then one
    dense array that is always there, valid where `_final_obs` is True; a non-finite action makes its lane
    diverge; an ended lane that is stepped in the mode "Disabled" simply goes on; and rewards of goal-conditioned
    ids may differ from `compute_reward` in the last bit. Compilation: see `GymnasiumEnv`.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        env_id: str,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        output: str = "numpy",
        render_mode: str | None = None,
        params: PyTree | None = None,
        **options: Any,
    ):
        self.num_envs = _positive("num_envs", num_envs)
        self._mode = _autoreset_mode(autoreset_mode)
        if output not in _OUTPUTS:
            raise ValueError(f"output must be one of {', '.join(_OUTPUTS)}, got {output!r}.")
        self._numpy = output == "numpy"
        self._build(env_id, render_mode, params, options)
        limit = self.params.max_steps_in_episode if max_episode_steps is None else max_episode_steps
        limit = np.int32(_positive("max_episode_steps", limit))  # same dtype either way: one compilation
        self.params = jax.device_put(self.params.replace(max_steps_in_episode=limit))
        self.metadata.update(autoreset_mode=self._mode, jax=not self._numpy)
        self.single_observation_space = self.functional.observation_space(self.params).to_gymnasium()
        self.single_action_space = self.functional.action_space(self.params).to_gymnasium()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.lanes: Lane | None = None
        self._done: np.ndarray = np.zeros(self.num_envs, bool)  # of the last step; stays False with output="jax"

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        seed = int(seed) if isinstance(seed, np.integer) else seed
        super().reset(seed=seed if isinstance(seed, int) else None)
        mask = self._reset_mask(options)
        reseed = np.full(self.num_envs, seed is not None or self.lanes is None)
        seeds = self._lane_seeds(seed) if reseed[0] else np.zeros(self.num_envs, np.uint32)
        if self.lanes is None or (reseed[0] and mask.all()):
            if not mask.all():
                raise gymnasium.error.ResetNeeded("The first reset must reset all lanes, got a reset_mask.")
            lanes = reset_lanes(self.functional, self.params, seeds)
        else:
            lanes = restart_lanes(self.functional, self.params, self.lanes, mask, seeds, reseed)
        self.lanes, self._done = lanes, self._done & ~mask
        observation = lanes.observation
        return jax.tree.map(np.array, observation) if self._numpy else observation, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if self.lanes is None:
            raise gymnasium.error.ResetNeeded(f"{self.functional.name} needs a reset before its first step.")
        if self._mode is AutoresetMode.DISABLED and self._done.any():
            ended = np.flatnonzero(self._done).tolist()
            raise gymnasium.error.ResetNeeded(
                f'Lanes {ended} have ended: reset them with options={{"reset_mask": mask}} before a step.'
            )
        actions = self._batch_of_actions(actions)
        self.lanes, transition = step_lanes(self.functional, self._mode, self._numpy, self.params, self.lanes, actions)
        return self._numpy_step(unpack(transition)) if self._numpy else self._jax_step(transition)

    def render(self) -> tuple[np.ndarray, ...] | None:
        if not self._can_render():
            return None
        if self.lanes is None:
            raise gymnasium.error.ResetNeeded(f"{self.functional.name} needs a reset before it can render.")
        states = jax.device_get(self.lanes.state)
        return tuple(self._frame(jax.tree.map(lambda x, i=i: x[i], states)) for i in range(self.num_envs))

    def _numpy_step(self, t: Transition) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        infos = _masked(t.info, t.valid)
        ended: Any = t.terminated | t.truncated
        reward = self._goal_reward(t.final_observation, t.reward, t.valid & ~t.terminated)
        if self._mode is AutoresetMode.SAME_STEP:
            if ended.any():
                infos.update(_final(t.final_observation, t.info, ended))
        else:
            self._done = ended
        return t.observation, reward, t.terminated, t.truncated, infos

    def _jax_step(self, t: Transition) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        infos = _masked(t.info, t.valid)
        if self._mode is AutoresetMode.SAME_STEP:
            ended: Any = t.terminated | t.truncated
            infos.update(final_obs=t.final_observation, _final_obs=ended, final_info=t.info, _final_info=ended)
        return t.observation, t.reward, t.terminated, t.truncated, infos

    def _batch_of_actions(self, actions: Any) -> Any:
        if not self._numpy and isinstance(actions, jax.Array):
            if actions.shape != self.action_space.shape:
                raise ValueError(f"{self._expected(self.action_space.shape)}, got shape {actions.shape}.")
            return actions.astype(jnp.float32)
        ignored = self._done if self._mode is AutoresetMode.NEXT_STEP else None
        checked = self._checked_action(actions, self.action_space.shape, ignored)
        return checked if self._numpy else jnp.asarray(checked)

    def _reset_mask(self, options: dict[str, Any] | None) -> np.ndarray:
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, bool)
        mask = np.array(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != bool:
            raise ValueError(
                f"reset_mask must be a bool array of shape ({self.num_envs},), got {mask.dtype} of shape {mask.shape}."
            )
        return mask

    def _lane_seeds(self, seed: int | Sequence[int | None] | None) -> np.ndarray:
        if seed is None:
            seed = draw_seed(self.np_random)
        if isinstance(seed, Sequence | np.ndarray):
            if len(seed) != self.num_envs:
                raise ValueError(f"A list of seeds needs one for each of {self.num_envs} lanes, got {len(seed)}.")
            lanes = [draw_seed(self.np_random) if s is None else int(s) for s in seed]
        else:
            lanes = [int(seed) + i for i in range(self.num_envs)]
        return np.array([lane_seed(s) for s in lanes], np.uint32)


def _masked(info: dict[str, Any], valid: Any) -> dict[str, Any]:
    return {**info, **{f"_{name}": valid for name in info}}


def _final(observation: PyTree, info: dict[str, Any], ended: np.ndarray) -> dict[str, Any]:
    """Gymnasium's layout of what auto-reset "SameStep" hides: an object array with None where nothing
    ended."""
    final_obs = np.full(len(ended), None, dtype=object)
    for i in np.flatnonzero(ended):
        final_obs[i] = jax.tree.map(lambda x, i=i: x[i].copy(), observation)
    final_info = jax.tree.map(np.copy, info)
    return {
        "final_obs": final_obs,
        "_final_obs": ended,
        "final_info": final_info,
        "_final_info": ended.copy(),
    }


def _positive(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}.")
    return number


def _autoreset_mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        expected = ", ".join(m.value for m in AutoresetMode)
        raise ValueError(f"autoreset_mode must be one of {expected}, got {mode!r}.") from None

"""What the Gymnasium faces share: the functional environment behind them, checks of what the user passes
in."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np
from jaxtyping import PyTree

from soromox_envs import registry
from soromox_envs.adapters.goals import GoalReward
from soromox_envs.spaces import Dict

RENDER_MODES = ["rgb_array"]
_SEED_LIMIT = 2**32


class FunctionalFace:
    """A face of one functional environment.

    `functional` is the environment and `params` its parameters (on the device). The names, units and the
    control interval (s) of the functional environment are readable on the face. Goal-conditioned environments,
    and only they, have `compute_reward` (`GoalReward`): its presence is how learners recognise them.
    """

    functional: Any
    params: PyTree
    render_mode: str | None
    metadata: dict[str, Any]

    def _build(self, env_id: str, render_mode: str | None, params: PyTree, options: dict[str, Any]) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"{env_id} renders as {RENDER_MODES} or None, got render_mode={render_mode!r}.")
        self.functional, default_params = registry.make(env_id, **options)
        self.params = jax.device_put(default_params if params is None else params)
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": list(RENDER_MODES),
            "render_fps": round(1 / self.functional.control_dt),
        }
        if isinstance(self.functional.observation_space(self.params), Dict):
            self.compute_reward = GoalReward(self.functional)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """What each entry of the observation is; with goals, of its part "observation"."""
        return self.functional.observation_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """What each entry of the action drives."""
        return self.functional.action_names

    @property
    def action_units(self) -> Any:
        """The units of the action's entries."""
        return self.functional.action_units

    @property
    def control_dt(self) -> float:
        """Control interval in s."""
        return self.functional.control_dt

    def _goal_reward(self, observation: PyTree, reward: Any, regular: Any) -> Any:
        """The reward that `compute_reward` gives for the goals in `observation`, in the steps that are `regular`."""
        if not hasattr(self, "compute_reward"):
            return reward
        goals = observation["achieved_goal"], observation["desired_goal"]
        return np.where(regular, self.compute_reward(*goals), reward)

    def _frame(self, state: PyTree) -> np.ndarray:
        return self.functional.render(state, self.params)

    def _can_render(self) -> bool:
        if self.render_mode is None:
            gymnasium.logger.warn(f'{self.functional.name} cannot render: pass render_mode="rgb_array" to make.')
        return self.render_mode is not None

    def _expected(self, shape: tuple[int, ...] | None) -> str:
        return f"{self.functional.name} expects a finite float32 action of shape {shape}"

    def _checked_action(
        self, action: Any, shape: tuple[int, ...] | None, ignored: np.ndarray | None = None
    ) -> np.ndarray:
        """The action as a float32 array of `shape`; rows of `ignored` lanes may hold anything."""
        expected = self._expected(shape)
        try:
            array = np.asarray(action, np.float32)
        except (TypeError, ValueError):
            raise ValueError(f"{expected}, got {action!r}.") from None
        if array.shape != shape:
            raise ValueError(f"{expected}, got shape {array.shape}.")
        if not np.isfinite(array).all():
            bad = ~np.isfinite(array)
            if ignored is not None:
                bad[ignored] = False
                array = np.where(np.isfinite(array), array, np.float32(0))
            if bad.any():
                where = tuple(int(i) for i in np.argwhere(bad)[0])
                value = np.asarray(action)[where]
                raise ValueError(f"{expected}, got {value} at index {where[0] if len(where) == 1 else where}.")
        return array


def draw_seed(np_random: np.random.Generator) -> int:
    """A seed for when the user gives none."""
    return int(np_random.integers(2**31))


def lane_seed(seed: int) -> np.uint32:
    """A Gymnasium seed (any natural number) as the 32 bits that a JAX key is made from."""
    return np.uint32(seed % _SEED_LIMIT)


def to_python(info: dict[str, Any]) -> dict[str, Any]:
    """A (nested) dict of NumPy arrays with its scalars as Python scalars."""
    return jax.tree.map(lambda x: x if x.ndim else x.item(), info)

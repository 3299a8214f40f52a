"""Rewards of goals as the faces give them: the same bits in a step and when goals are relabelled afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Float32

ROWS = 256


@partial(jax.jit, static_argnums=0)
def _reward(env: Any, achieved: Float[Array, "rows space"], desired: Float[Array, "rows space"]) -> Array:
    return env.compute_reward(achieved, desired)


@dataclass(frozen=True)
class GoalReward:
    """`compute_reward(achieved_goal, desired_goal, info)` of a goal-conditioned environment; `info` is not needed.

    Goals (..., space) as observed give rewards (...), float32. Every call runs one program over 256 rows: XLA rounds
    differently from one batch size to the next, and learners that relabel goals compare rewards exactly.
    """

    env: Any

    def __call__(
        self, achieved_goal: Float[np.ndarray, "*batch space"], desired_goal: Any, info: Any = None
    ) -> Float32[np.ndarray, "*batch"]:
        goals = np.broadcast_arrays(np.asarray(achieved_goal, np.float32), np.asarray(desired_goal, np.float32))
        *batch, space = goals[0].shape
        achieved, desired = (goal.reshape(-1, space) for goal in goals)
        rewards = np.empty(len(achieved), np.float32)
        for first in range(0, len(rewards), ROWS):
            rows = slice(first, min(first + ROWS, len(rewards)))
            padding = ((0, ROWS - (rows.stop - first)), (0, 0))
            padded = (np.pad(goal[rows], padding) for goal in (achieved, desired))
            rewards[rows] = np.asarray(_reward(self.env, *padded))[: rows.stop - first]
        return rewards.reshape(batch)[()]

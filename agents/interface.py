"""What agents ask of an environment: the functional gymnax 1.0 protocol."""

from typing import Any, Protocol

import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from agents.errors import UserError


class Space(Protocol):
    """A box of real vectors."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def low(self) -> Any: ...
    @property
    def high(self) -> Any: ...


class Environment(Protocol):
    """A functional environment: hashable by value, every method pure; one lane, batched with `vmap`."""

    @property
    def name(self) -> str: ...
    @property
    def control_dt(self) -> float: ...
    def reset(self, key: PRNGKeyArray, params: Any = None) -> tuple[Float[Array, " n"], Any]: ...
    def step(
        self, key: PRNGKeyArray, state: Any, action: Float[Array, " m"], params: Any = None
    ) -> tuple[Float[Array, " n"], Any, Float[Array, ""], Bool[Array, ""], Bool[Array, ""], dict[str, Any]]: ...
    def step_env(
        self, key: PRNGKeyArray, state: Any, action: Float[Array, " m"], params: Any
    ) -> tuple[Float[Array, " n"], Any, Float[Array, ""], Bool[Array, ""], dict[str, Any]]: ...
    def observation_space(self, params: Any) -> Space: ...
    def action_space(self, params: Any) -> Space: ...
    def render(self, state: Any, params: Any) -> np.ndarray: ...


def sizes(env: Environment, params: Any) -> tuple[int, int]:
    """Number of observation entries and of actions.

    Raises:
        UserError: observations in a dictionary, as of goal-conditioned environments.
    """
    if not hasattr(env.observation_space(params), "shape"):
        raise UserError(
            f"{env.name} observes a dictionary with goals, for off-policy learners that relabel them (HER in "
            f"Stable-Baselines3); train here on {env.name.replace('GoalReach', 'Reach')}, the same task."
        )
    (observation_size,) = env.observation_space(params).shape
    (action_size,) = env.action_space(params).shape
    return observation_size, action_size


def make_environment(env_id: str) -> tuple[Any, Any]:
    """`(env, params)` of a registered id; an unknown id is a `UserError`."""
    import soromox_envs
    from agents.errors import unknown_name

    if env_id not in soromox_envs.registered():
        raise unknown_name("environment id", env_id, soromox_envs.registered())
    return soromox_envs.make(env_id)

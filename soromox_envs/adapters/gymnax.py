"""The face that gymnax's own registry and wrappers expect."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnax
import jax
import numpy as np
from gymnax.environments import environment
from gymnax.environments import spaces as gymnax_spaces
from jaxtyping import Array, PRNGKeyArray, PyTree

from soromox_envs import registry
from soromox_envs.spaces import Box, Dict


class GymnaxEnv(environment.Environment):
    """A functional environment as a `gymnax.environments.environment.Environment`.

    The protocol is the same; what differs is that the spaces are gymnax's own and `reset` and `step` are
    compiled. Equal and hashable by the environment it holds (`functional`).
    """

    def __init__(self, functional: Any):
        self.functional = functional

    @property
    def default_params(self) -> PyTree:
        return self.functional.default_params

    @partial(jax.jit, static_argnames=("self",))
    def reset(self, key: PRNGKeyArray, params: PyTree | None = None) -> tuple[Any, PyTree]:
        return self.functional.reset(key, params)

    @partial(jax.jit, static_argnames=("self",))
    def step(
        self, key: PRNGKeyArray, state: PyTree, action: Array, params: PyTree | None = None
    ) -> tuple[Any, PyTree, Array, Array, Array, dict[Any, Any]]:
        return self.functional.step(key, state, action, params)

    def reset_env(self, key: PRNGKeyArray, params: PyTree) -> tuple[Any, PyTree]:
        return self.functional.reset_env(key, params)

    def step_env(
        self, key: PRNGKeyArray, state: PyTree, action: Array, params: PyTree
    ) -> tuple[Any, PyTree, Array, Array, dict[Any, Any]]:
        return self.functional.step_env(key, state, action, params)

    def observe(self, key: PRNGKeyArray, state: PyTree, action: Array | None, params: PyTree) -> Any:
        return self.functional.observe(key, state, action, params)

    def is_terminated(self, state: PyTree, params: PyTree) -> Array:
        return self.functional.is_terminated(state, params)

    def is_truncated(self, state: PyTree, params: PyTree) -> Array:
        return self.functional.is_truncated(state, params)

    @property
    def supports_transition_gradients(self) -> bool:
        return hasattr(self.functional, "with_transition_gradients")

    @property
    def transition_gradients_enabled(self) -> bool:
        return getattr(self.functional, "transition_gradients_enabled", False)

    def with_transition_gradients(self) -> GymnaxEnv:
        if not self.supports_transition_gradients:
            raise ValueError(f"{self.name} does not support transition gradients.")
        return GymnaxEnv(self.functional.with_transition_gradients())

    @property
    def name(self) -> str:
        return self.functional.name

    @property
    def num_actions(self) -> int:
        return self.functional.num_actions

    def action_space(self, params: PyTree | None = None) -> gymnax_spaces.Box:
        return _to_gymnax(self.functional.action_space(params))

    def observation_space(self, params: PyTree | None = None) -> gymnax_spaces.Box | gymnax_spaces.Dict:
        return _to_gymnax(self.functional.observation_space(params))

    def render(self, state: PyTree, params: PyTree | None = None) -> np.ndarray:
        return self.functional.render(state, self.default_params if params is None else params)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GymnaxEnv) and self.functional == other.functional

    def __hash__(self) -> int:
        return hash((GymnaxEnv, self.functional))


def register_gymnax() -> None:
    """Register every id with `gymnax.register`; ids that gymnax already has are left alone."""
    for env_id in registry.registered():
        if env_id not in gymnax.registered_envs:
            gymnax.register(env_id, partial(_make, env_id))


def _make(env_id: str, **options: Any) -> GymnaxEnv:
    env, _ = registry.make(env_id, **options)
    return GymnaxEnv(env)


def _to_gymnax(space: Box | Dict) -> Any:
    if isinstance(space, Dict):
        return gymnax_spaces.Dict({name: _to_gymnax(box) for name, box in space.spaces.items()})
    low: Any = space.low  # gymnax's annotation has no NumPy arrays
    high: Any = space.high
    return gymnax_spaces.Box(low, high, space.shape, space.dtype)

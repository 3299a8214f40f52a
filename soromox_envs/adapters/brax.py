"""The face that brax's training wrappers expect; brax itself is not imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from soromox_envs.spaces import Box, Dict


class State(eqx.Module):
    """One lane between two steps, as brax's environments give it.

    Attributes:
        pipeline_state: state of the functional environment.
        obs: observation.
        reward: of the last step ().
        done: 1.0 after a termination, else 0.0 ().
        metrics: ``distance`` (m), ``is_success`` and the reward's terms ``reward/<name>``, each ().
        info: ``truncation`` (), 1.0 from the time limit on, ``rng``, and whatever wrappers add; a plain dictionary.
    """

    pipeline_state: PyTree
    obs: PyTree
    reward: Float[Array, ""]
    done: Float[Array, ""]
    metrics: dict[str, Array]
    info: dict[str, Any]

    def replace(self, **updates: Any) -> Self:
        """A copy with named fields replaced."""
        return type(self)(**{**vars(self), **updates})


@dataclass(frozen=True)
class BraxEnv:
    """``reset(rng)`` and ``step(state, action)`` of a functional environment with fixed parameters.

    Episodes go on after they ended: restarting is left to brax's ``AutoResetWrapper``, which always returns to the
    first state, and cutting at the time limit to its ``EpisodeWrapper``. ``done`` therefore means terminated, as in
    brax's own environments; ``info["truncation"]`` serves loops without that wrapper.
    """

    env: Any
    params: PyTree
    backend = "soromox"

    def reset(self, rng: PRNGKeyArray) -> State:
        rng, now, ahead = jax.random.split(rng, 3)
        obs, inner = self.env.reset_env(now, self.params)
        action = jnp.zeros(self.action_size, jnp.float32)
        shapes = jax.eval_shape(self._outcome, ahead, inner, action)
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        _, _, reward, done, truncation, metrics = zeros
        return State(inner, obs, reward, done, metrics, {"truncation": truncation, "rng": rng})

    def step(self, state: State, action: Float[Array, " m"]) -> State:
        rng, now = jax.random.split(state.info["rng"])
        inner, obs, reward, done, truncation, metrics = self._outcome(now, state.pipeline_state, action)
        info = {**state.info, "truncation": truncation, "rng": rng}
        return State(inner, obs, reward, done, {**state.metrics, **metrics}, info)

    def _outcome(self, key: PRNGKeyArray, inner: PyTree, action: Array) -> tuple[Any, ...]:
        obs, inner, reward, terminated, info = self.env.step_env(key, inner, action, self.params)
        metrics = {"distance": info["distance"], "is_success": info["is_success"].astype(reward.dtype)}
        metrics |= {f"reward/{name}": term for name, term in info["reward_terms"].items()}
        truncated = self.env.is_truncated(inner, self.params)
        return inner, obs, reward, terminated.astype(reward.dtype), truncated.astype(reward.dtype), metrics

    @property
    def observation_size(self) -> int | dict[str, int]:
        """Number of the observation's entries; with goals, of every part."""
        space: Box | Dict = self.env.observation_space(self.params)
        if isinstance(space, Dict):
            return {name: box.shape[0] for name, box in space.spaces.items()}
        return space.shape[0]

    @property
    def action_size(self) -> int:
        """Number of inputs."""
        return self.env.num_actions

    @property
    def dt(self) -> float:
        """Control interval, s."""
        return self.env.control_dt

    @property
    def unwrapped(self) -> BraxEnv:
        return self

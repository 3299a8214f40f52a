"""Policies: what maps observations to actions, one lane at a time.

A policy is an equinox module; `carry` is its memory: any pytree, fresh for every episode. Batch with `vmap`.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from agents.networks import Normaliser, TanhMLP

if TYPE_CHECKING:  # PPO needs optax, policies do not
    from agents.ppo import Agent


class Policy(eqx.Module):
    """`carry = policy.init()`, then `action, carry = policy(observation, carry, key)` every control step."""

    @abstractmethod
    def init(self) -> Any:
        """The memory at the start of an episode."""

    @abstractmethod
    def __call__(
        self, observation: Float[Array, " n"], carry: Any, key: PRNGKeyArray
    ) -> tuple[Float[Array, " m"], Any]:
        """The action in [-1, 1], and the memory for the next step."""


class MemorylessPolicy(Policy):
    """A policy that sees the present observation alone."""

    def init(self) -> None:
        return None

    @abstractmethod
    def action(self, observation: Float[Array, " n"], key: PRNGKeyArray) -> Float[Array, " m"]:
        """The action in [-1, 1]."""

    def __call__(
        self, observation: Float[Array, " n"], carry: Any, key: PRNGKeyArray
    ) -> tuple[Float[Array, " m"], Any]:
        return self.action(observation, key), carry


class RandomPolicy(MemorylessPolicy):
    """Uniform actions."""

    action_size: int = eqx.field(static=True)

    def action(self, observation: Float[Array, " n"], key: PRNGKeyArray) -> Float[Array, " m"]:
        return jax.random.uniform(key, (self.action_size,), jnp.float32, -1.0, 1.0)


class ZeroPolicy(MemorylessPolicy):
    """Actions of zero."""

    action_size: int = eqx.field(static=True)

    def action(self, observation: Float[Array, " n"], key: PRNGKeyArray) -> Float[Array, " m"]:
        return jnp.zeros(self.action_size, jnp.float32)


class PPOPolicy(MemorylessPolicy):
    """A trained actor: the mean of its Gaussian, with the observation statistics as they were in training."""

    actor: TanhMLP
    normaliser: Normaliser

    def __init__(self, agent: "Agent"):
        self.actor, self.normaliser = agent.network.actor, agent.normaliser

    def action(self, observation: Float[Array, " n"], key: PRNGKeyArray) -> Float[Array, " m"]:
        return jnp.clip(self.actor(self.normaliser(observation)), -1.0, 1.0)

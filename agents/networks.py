"""Small networks and the normalisation of what they see; one observation at a time, batched with `vmap`."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


def orthogonal(gaussian: Float[Array, "i o"]) -> Float[Array, "i o"]:
    """A random matrix with orthonormal rows or columns (whichever are fewer), from a Gaussian one."""
    if gaussian.shape[0] < gaussian.shape[1]:
        return orthogonal(gaussian.T).T
    q, r = jnp.linalg.qr(gaussian)
    return q * jnp.where(jnp.diag(r) < 0, -1.0, 1.0)[None]


class TanhMLP(eqx.Module):
    """A multilayer perceptron with tanh units, orthogonal weights (in, out) and zero biases."""

    weights: list[Float[Array, "i o"]]
    biases: list[Float[Array, " o"]]

    def __init__(self, layer_sizes: tuple[int, ...], output_scale: float, *, key: PRNGKeyArray):
        shapes = list(zip(layer_sizes[:-1], layer_sizes[1:], strict=True))
        scales = [math.sqrt(2.0)] * (len(shapes) - 1) + [output_scale]
        ends = list(itertools.accumulate(i * o for i, o in shapes))
        # One draw for all layers: every call of a random function costs most of a second to compile.
        gaussians = jnp.split(jax.random.normal(key, (ends[-1],), jnp.float32), ends[:-1])
        self.weights = [
            scale * orthogonal(gaussian.reshape(shape))
            for scale, gaussian, shape in zip(scales, gaussians, shapes, strict=True)
        ]
        self.biases = [jnp.zeros(outputs, jnp.float32) for _, outputs in shapes]

    def __call__(self, x: Float[Array, " i"]) -> Float[Array, " o"]:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jnp.tanh(x @ weight + bias)
        return x @ self.weights[-1] + self.biases[-1]


class ActorCritic(eqx.Module):
    """A Gaussian policy whose spread does not depend on the state, and a value function; separate networks.

    Both take normalised observations.
    """

    actor: TanhMLP
    critic: TanhMLP
    log_std: Float[Array, " m"]

    def __init__(self, layer_sizes: tuple[int, ...], action_size: int, initial_log_std: float, *, key: PRNGKeyArray):
        """``layer_sizes`` are those of the observation and of the hidden layers."""
        actor_key, critic_key = jax.random.split(key)
        self.actor = TanhMLP((*layer_sizes, action_size), 0.01, key=actor_key)
        self.critic = TanhMLP((*layer_sizes, 1), 1.0, key=critic_key)
        self.log_std = jnp.full(action_size, initial_log_std, jnp.float32)

    def value(self, observation: Float[Array, " n"]) -> Float[Array, ""]:
        return self.critic(observation)[0]

    def log_prob(self, observation: Float[Array, " n"], action: Float[Array, " m"]) -> Float[Array, ""]:
        z = (action - self.actor(observation)) * jnp.exp(-self.log_std)
        return -jnp.sum(0.5 * z**2 + self.log_std + 0.5 * math.log(2 * math.pi))

    def entropy(self) -> Float[Array, ""]:
        return jnp.sum(self.log_std + 0.5 * math.log(2 * math.pi * math.e))


class Normaliser(eqx.Module):
    """Running mean and variance of the observations (Chan et al. 1983, parallel form)."""

    mean: Float[Array, " n"]
    variance: Float[Array, " n"]
    count: Float[Array, ""]

    def __init__(self, size: int):
        self.mean, self.variance = jnp.zeros(size, jnp.float32), jnp.ones(size, jnp.float32)
        self.count = jnp.asarray(1e-4, jnp.float32)

    def __call__(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        # Observations are O(1): an entry that moves by less than 1e-3 is constant rather than informative.
        return jnp.clip((x - self.mean) * jax.lax.rsqrt(self.variance + 1e-6), -10.0, 10.0)

    def updated(self, mean: Float[Array, " n"], variance: Float[Array, " n"], count: Float[Array, ""]) -> "Normaliser":
        """With a batch's statistics added."""
        total = self.count + count
        weight, shift = count / total, mean - self.mean
        pooled = self.variance * (1 - weight) + variance * weight + shift**2 * weight * (1 - weight)
        new = (self.mean + shift * weight, pooled, total)
        return eqx.tree_at(lambda n: (n.mean, n.variance, n.count), self, new)

"""Proximal policy optimisation (Schulman et al., arXiv 1707.06347), in one file, read from top to bottom.

Everything is a pure function of the training state. The lanes (copies of the environment) are split over the
local devices: each rolls out and shuffles its own, gradients and statistics are averaged over them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from agents.devices import AXIS, lane_mesh
from agents.errors import UserError
from agents.interface import Environment, sizes
from agents.networks import ActorCritic, Normaliser

Metrics = dict[str, Array]


@dataclass(frozen=True)
class PPOConfig:
    """Hyperparameters. A batch is `num_lanes * rollout_length` environment steps.

    `target_kl` ends the epochs of a batch once the policy has moved that far; null never does. `num_devices`
    null means all local devices. `discount` is per control step; `reward_scale` multiplies the rewards that
    the critic learns.
    """

    total_steps: int = 1_000_000
    num_lanes: int = 256
    rollout_length: int = 32
    epochs: int = 4
    minibatches: int = 8
    learning_rate: float = 1e-3
    anneal_learning_rate: bool = True
    discount: float = 0.97
    gae_lambda: float = 0.95
    clip_ratio: float = 0.2
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.0
    max_gradient_norm: float = 0.5
    target_kl: float | None = None
    reward_scale: float = 1.0
    hidden_sizes: tuple[int, ...] = (64, 64)
    initial_log_std: float = -0.5
    num_devices: int | None = None

    def __post_init__(self) -> None:
        whole = ("total_steps", "num_lanes", "rollout_length", "epochs", "minibatches")
        for name in (*whole, "learning_rate", "clip_ratio", "max_gradient_norm", "reward_scale"):
            if not getattr(self, name) > 0:
                raise UserError(f"Expected {name} to be positive, got {getattr(self, name)}.")
        for name in ("discount", "gae_lambda"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"Expected {name} to be between 0 and 1, got {getattr(self, name)}.")
        if not self.hidden_sizes or min(self.hidden_sizes) < 1:
            raise UserError(f"Expected hidden_sizes to be positive whole numbers, got {self.hidden_sizes}.")

    @property
    def batch_size(self) -> int:
        """Environment steps an update."""
        return self.num_lanes * self.rollout_length

    @property
    def num_updates(self) -> int:
        """Updates until at least `total_steps` environment steps are done."""
        return math.ceil(self.total_steps / self.batch_size)


# What is learned


class Agent(eqx.Module):
    """What is learned and goes into a checkpoint."""

    network: ActorCritic
    normaliser: Normaliser

    def __init__(self, observation_size: int, action_size: int, config: PPOConfig, *, key: PRNGKeyArray):
        layers = observation_size, *config.hidden_sizes
        self.network = ActorCritic(layers, action_size, config.initial_log_std, key=key)
        self.normaliser = Normaliser(observation_size)


# The training state


class Lanes(eqx.Module):
    """The running episodes, one a lane. The return so far is NaN in a first episode that is cut short."""

    env_state: Any
    observation: Float[Array, "lanes n"]
    episode_return: Float[Array, " lanes"]


class TrainState(eqx.Module):
    """Everything that training carries from one update to the next."""

    agent: Any
    optimiser_state: Any
    lanes: Any
    key: Any
    updates: Any


class Transition(NamedTuple):
    """One step of each lane, stacked over time: leading axes (time, lanes). Observations are raw.

    `final_observation` is what the action led to, before any reset; `done` is terminated or truncated.
    """

    observation: Float[Array, "*batch n"]
    action: Float[Array, "*batch m"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    done: Bool[Array, "*batch"]
    final_observation: Float[Array, "*batch n"]
    episode_return: Float[Array, "*batch"]
    success: Bool[Array, "*batch"]


class Sample(NamedTuple):
    """What the loss sees of a step."""

    observation: Float[Array, "*batch n"]
    action: Float[Array, "*batch m"]
    log_prob: Float[Array, "*batch"]
    advantage: Float[Array, "*batch"]
    target: Float[Array, "*batch"]


def reset_lanes(env: Environment, params: Any, num_lanes: int, key: PRNGKeyArray) -> Lanes:
    """Start the lanes at scattered times of an episode, so that every batch holds every part of one."""
    reset = jax.vmap(env.reset, in_axes=(0, None))
    observation, env_state = reset(jax.random.split(key, num_lanes), params)
    golden = (jnp.arange(num_lanes, dtype=jnp.float32) * 0.618034) % 1.0  # even on every device's lanes
    start = (golden * params.max_steps_in_episode).astype(env_state.time.dtype)
    env_state = eqx.tree_at(lambda state: state.time, env_state, start)
    episode_return = jnp.where(start == 0, 0.0, jnp.nan).astype(jnp.float32)
    return Lanes(env_state, observation, episode_return)


# One update: roll out, estimate advantages, take a few epochs of gradient steps


def collect(
    env: Environment, params: Any, agent: Agent, lanes: Lanes, length: int, key: PRNGKeyArray
) -> tuple[Lanes, Transition]:
    """Roll the stochastic policy out for `length` steps in every lane."""
    network, num_lanes = agent.network, lanes.observation.shape[0]
    step_lanes = jax.vmap(env.step, in_axes=(0, 0, 0, None))
    noise_key, step_key = jax.random.split(key)
    noise = jax.random.normal(noise_key, (length, num_lanes, network.log_std.size), jnp.float32)
    step_keys = jax.random.split(step_key, (length, num_lanes))

    def step(lanes: Lanes, randomness: tuple[Array, Array]) -> tuple[Lanes, Transition]:
        noise, keys = randomness
        mean = jax.vmap(lambda x: network.actor(agent.normaliser(x)))(lanes.observation)
        action = mean + jnp.exp(network.log_std)[None] * noise
        observation, env_state, reward, terminated, truncated, info = step_lanes(
            keys, lanes.env_state, jnp.clip(action, -1.0, 1.0), params
        )
        reward = reward.astype(jnp.float32)
        done = terminated | truncated
        transition = Transition(
            observation=lanes.observation,
            action=action,
            reward=reward,
            terminated=terminated,
            done=done,
            final_observation=info["final_observation"],
            episode_return=lanes.episode_return + reward,
            success=info["is_success"],
        )
        episode_return = jnp.where(done, 0.0, transition.episode_return)
        return Lanes(env_state, observation, episode_return), transition

    return jax.lax.scan(step, lanes, (noise, step_keys))


def generalised_advantage(
    reward: Float[Array, "time lanes"],
    value: Float[Array, "time lanes"],
    next_value: Float[Array, "time lanes"],
    terminated: Bool[Array, "time lanes"],
    done: Bool[Array, "time lanes"],
    discount: float,
    gae_lambda: float,
) -> Float[Array, "time lanes"]:
    """Generalised advantage estimation (Schulman et al., arXiv 1506.02438).

    `next_value` is the value of the observation that the action led to, not of the one after a reset. Only
    what is terminated is worth nothing from there on; the lambda-sum ends with the episode, however it ended.
    """
    delta = reward + discount * jnp.where(terminated, 0.0, next_value) - value
    decay = jnp.where(done, 0.0, discount * gae_lambda)

    def backwards(following: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, decay = now
        advantage = delta + decay * following
        return advantage, advantage

    return jax.lax.scan(backwards, jnp.zeros_like(delta[0]), (delta, decay), reverse=True)[1]


def make_samples(agent: Agent, transitions: Transition, config: PPOConfig) -> tuple[Sample, Metrics]:
    """Attach advantages and value targets to a rollout; leading axes (time, lanes)."""
    network = agent.network
    normalise = jax.vmap(jax.vmap(agent.normaliser))
    observation = normalise(transitions.observation)
    value = jax.vmap(jax.vmap(network.value))(observation)
    next_value = jax.vmap(jax.vmap(network.value))(normalise(transitions.final_observation))
    log_prob = jax.vmap(jax.vmap(network.log_prob))(observation, transitions.action)
    advantage = generalised_advantage(
        transitions.reward * config.reward_scale,
        value,
        next_value,
        transitions.terminated,
        transitions.done,
        config.discount,
        config.gae_lambda,
    )
    target = value + advantage
    metrics = {"value": value.mean(), "explained_variance": 1 - advantage.var() / (target.var() + 1e-8)}
    return Sample(observation, transitions.action, log_prob, advantage, target), metrics


def ppo_loss(network: ActorCritic, samples: Sample, config: PPOConfig) -> tuple[Float[Array, ""], Metrics]:
    """Clipped surrogate, value error and entropy bonus; samples along one axis, advantages normalised."""
    log_ratio = jax.vmap(network.log_prob)(samples.observation, samples.action) - samples.log_prob
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - config.clip_ratio, 1 + config.clip_ratio)
    policy_loss = -jnp.minimum(ratio * samples.advantage, clipped * samples.advantage).mean()
    value_loss = 0.5 * jnp.square(jax.vmap(network.value)(samples.observation) - samples.target).mean()
    entropy = network.entropy()
    loss = policy_loss + config.value_coefficient * value_loss - config.entropy_coefficient * entropy
    return loss, {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "kl": jnp.mean(ratio - 1 - log_ratio),
        "clip_fraction": jnp.mean((jnp.abs(ratio - 1) > config.clip_ratio).astype(jnp.float32)),
    }


def make_optimiser(config: PPOConfig) -> optax.GradientTransformation:
    """Adam on clipped gradients, with a learning rate that falls linearly to zero over the training."""
    gradient_steps = config.num_updates * config.epochs * config.minibatches
    schedule = optax.linear_schedule(config.learning_rate, 0.0, gradient_steps)
    rate = schedule if config.anneal_learning_rate else config.learning_rate
    return optax.chain(optax.clip_by_global_norm(config.max_gradient_norm), optax.adam(rate, eps=1e-5))


def improve(
    network: ActorCritic, optimiser_state: Any, samples: Sample, config: PPOConfig, key: PRNGKeyArray
) -> tuple[ActorCritic, Any, Metrics]:
    """Some epochs of minibatch gradient steps on the samples, each device on its own shuffle.

    The optimiser sees the parameters as one vector: a few large operations instead of many small ones.
    """
    optimiser = make_optimiser(config)
    parameters, unravel = ravel_pytree(network)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), samples)

    def gradient_step(carry: Any, indices: Int[Array, " size"]) -> tuple[Any, Metrics]:
        parameters, optimiser_state, stopped = carry
        minibatch = jax.tree.map(lambda x: x[indices], flat)
        loss = lambda parameters: ppo_loss(unravel(parameters), minibatch, config)  # noqa: E731
        gradient, metrics = jax.grad(loss, has_aux=True)(parameters)
        change, new_optimiser_state = optimiser.update(jax.lax.pmean(gradient, AXIS), optimiser_state)
        new = (optax.apply_updates(parameters, change), new_optimiser_state)
        if config.target_kl is not None:
            stopped = stopped | (jax.lax.pmean(metrics["kl"], AXIS) > config.target_kl)
            new = jax.tree.map(partial(jnp.where, stopped), (parameters, optimiser_state), new)
        return (*new, stopped), metrics

    order = jax.random.bits(key, (config.epochs, flat.log_prob.size)).argsort(axis=1)
    (parameters, optimiser_state, stopped), metrics = jax.lax.scan(
        gradient_step,
        (parameters, optimiser_state, jnp.zeros((), bool)),
        order.reshape(config.epochs * config.minibatches, -1),
    )
    last_epoch = {name: values[-config.minibatches :].mean() for name, values in metrics.items()}
    metrics = jax.lax.pmean(last_epoch, AXIS) | {"stopped_early": stopped.astype(jnp.float32)}
    return unravel(parameters), optimiser_state, metrics


def update(env: Environment, params: Any, config: PPOConfig, state: TrainState) -> tuple[TrainState, Metrics]:
    """One update of the training state, on the lanes of one device."""
    key, update_key = jax.random.split(state.key)
    rollout_key, shuffle_key = jax.random.split(jax.random.fold_in(update_key, jax.lax.axis_index(AXIS)))
    agent: Agent = state.agent
    mean = partial(jax.lax.pmean, axis_name=AXIS)

    lanes, transitions = collect(env, params, agent, state.lanes, config.rollout_length, rollout_key)
    samples, value_metrics = make_samples(agent, transitions, config)
    centred = samples.advantage - mean(samples.advantage.mean())
    samples = samples._replace(advantage=centred / (jnp.sqrt(mean(jnp.square(centred).mean())) + 1e-8))
    network, optimiser_state, metrics = improve(agent.network, state.optimiser_state, samples, config, shuffle_key)

    observation_mean = mean(transitions.observation.mean((0, 1)))
    observation_variance = mean(jnp.square(transitions.observation - observation_mean[None, None]).mean((0, 1)))
    normaliser = agent.normaliser.updated(
        observation_mean, observation_variance, jnp.asarray(config.batch_size, jnp.float32)
    )
    agent = eqx.tree_at(lambda a: (a.network, a.normaliser), agent, (network, normaliser))

    metrics |= mean(value_metrics) | episode_metrics(transitions)
    metrics |= {"action_std": jnp.exp(network.log_std).mean(), "reward": mean(transitions.reward.mean())}
    return TrainState(agent, optimiser_state, lanes, key, state.updates + 1), metrics


def episode_metrics(transitions: Transition) -> Metrics:
    """Means over the episodes that ended in this rollout, on any device (NaN if none did); their number."""
    ended = transitions.done & jnp.isfinite(transitions.episode_return)
    outcomes = {
        "return": transitions.episode_return,
        "success": transitions.success,
        "terminated": transitions.terminated,
    }
    episodes = jax.lax.psum(ended.sum(), AXIS)
    totals = jax.lax.psum({name: jnp.where(ended, x, 0).sum() for name, x in outcomes.items()}, AXIS)
    return {"episodes": episodes} | {name: total / episodes for name, total in totals.items()}


# Training as pure functions


@dataclass(frozen=True)
class Trainer:
    """Training: `trainer(key)` as a whole, or `init(key)`, then `update_many(state, n)` (n static) in chunks.

    The metrics are stacked along the updates. All three jit; with one device all three vmap over seeds.
    """

    init: Callable[[PRNGKeyArray], TrainState]
    update_many: Callable[[TrainState, int], tuple[TrainState, Metrics]]
    num_updates: int

    def __call__(self, key: PRNGKeyArray) -> tuple[TrainState, Metrics]:
        return self.update_many(self.init(key), self.num_updates)


def make_train(env: Environment, params: Any, config: PPOConfig) -> Trainer:
    """The training of a policy for an environment."""
    mesh = lane_mesh(config.num_devices)
    num_devices = mesh.size
    if config.num_lanes % num_devices or (config.batch_size // num_devices) % config.minibatches:
        raise UserError(
            f"Expected num_lanes to divide over {num_devices} devices, and a device's share of a batch over "
            f"{config.minibatches} minibatches, got {config.num_lanes} lanes x {config.rollout_length} steps."
        )
    specs = TrainState(agent=P(), optimiser_state=P(), lanes=P(AXIS), key=P(), updates=P())
    shardings = jax.tree.map(partial(NamedSharding, mesh), specs, is_leaf=lambda x: isinstance(x, P))

    @partial(jax.jit, out_shardings=shardings)
    def init(key: PRNGKeyArray) -> TrainState:
        agent_key, lanes_key, key = jax.random.split(key, 3)
        agent = Agent(*sizes(env, params), config, key=agent_key)
        lanes = reset_lanes(env, params, config.num_lanes, lanes_key)
        optimiser_state = make_optimiser(config).init(ravel_pytree(agent.network)[0])
        return TrainState(agent, optimiser_state, lanes, key, jnp.zeros((), jnp.int32))

    @partial(jax.jit, static_argnames="n", out_shardings=(shardings, NamedSharding(mesh, P())))
    def update_many(state: TrainState, n: int) -> tuple[TrainState, Metrics]:
        def updates(state: TrainState) -> tuple[TrainState, Metrics]:
            return jax.lax.scan(lambda s, _: update(env, params, config, s), state, None, length=n)

        sharded = jax.shard_map(updates, mesh=mesh, in_specs=(specs,), out_specs=(specs, P()), check_vma=False)
        return sharded(state)

    return Trainer(init, update_many, config.num_updates)

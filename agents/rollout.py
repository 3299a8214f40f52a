"""Deterministic evaluation: many fresh episodes at once, and the recording of some of them.

The loop over time is Python's, around a compiled step that all policies share: the environment is compiled
once for a whole comparison.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from agents.devices import AXIS, lane_mesh
from agents.interface import Environment
from agents.policy import Policy


class Episodes(NamedTuple):
    """The outcome of each episode; arrays along one axis of episodes.

    `success` and `distance` (m) are those of the last step, `effort` is the mean |action|, `length` counts
    control steps. After `diverged` (termination) nothing is added to an episode.
    """

    episode_return: np.ndarray
    success: np.ndarray
    distance: np.ndarray
    effort: np.ndarray
    diverged: np.ndarray
    length: np.ndarray


class Progress(eqx.Module):
    """Running episodes and what they have come to, one a lane; frozen once an episode has terminated."""

    env_state: Any
    observation: Float[Array, "lanes n"]
    alive: Bool[Array, " lanes"]
    episode_return: Float[Array, " lanes"]
    effort: Float[Array, " lanes"]
    success: Bool[Array, " lanes"]
    distance: Float[Array, " lanes"]
    length: Int[Array, " lanes"]


def evaluate_policy(
    env: Environment,
    params: Any,
    policy: Policy,
    key: PRNGKeyArray,
    episodes: int,
    num_devices: int | None = None,
) -> Episodes:
    """Play `episodes` full-length episodes. Equal keys give equal episodes to every policy."""
    return _play(env, params, policy, key, episodes, 0, num_devices)[0]


def record_episodes(
    env: Environment,
    params: Any,
    policy: Policy,
    key: PRNGKeyArray,
    episodes: int,
    recorded: int = 1,
    num_devices: int | None = None,
) -> tuple[Episodes, list[list[Any]]]:
    """As `evaluate_policy`, with the states (from the start on) of the first `recorded` episodes."""
    return _play(env, params, policy, key, episodes, recorded, num_devices)


def record_episode(env: Environment, params: Any, policy: Policy, key: PRNGKeyArray) -> list[Any]:
    """The states of one episode, from its start on."""
    return record_episodes(env, params, policy, key, 1, 1, num_devices=1)[1][0]


def _play(
    env: Environment,
    params: Any,
    policy: Policy,
    key: PRNGKeyArray,
    episodes: int,
    recorded: int,
    num_devices: int | None,
) -> tuple[Episodes, list[list[Any]]]:
    if episodes < 1:
        raise ValueError(f"Expected at least one episode, got {episodes}.")
    mesh = lane_mesh(num_devices)
    lanes = -(-episodes // mesh.size) * mesh.size  # rounded up; the surplus is dropped at the end
    # A policy may come from a training on other devices.
    arrays, static = eqx.partition((policy, params), eqx.is_array)
    policy, params = eqx.combine(jax.device_put(arrays, NamedSharding(mesh, P())), static)
    keys = jax.random.split(key, lanes)
    progress = _reset(env, params, keys, mesh=mesh)
    carry = jax.tree.map(lambda x: jnp.broadcast_to(x, (lanes, *jnp.shape(x))), policy.init())
    frames = [_first(progress.env_state, recorded)] if recorded else []
    for time in range(int(params.max_steps_in_episode)):
        step = jnp.asarray(time + 1, jnp.int32)
        action, carry = _act(policy, progress.observation, carry, keys, step, mesh)
        progress = _advance(env, params, progress, action, keys, step, mesh=mesh)
        if recorded:
            frames.append(_first(progress.env_state, recorded))
    length = np.asarray(progress.length)
    outcome = Episodes(
        episode_return=np.asarray(progress.episode_return),
        success=np.asarray(progress.success),
        distance=np.asarray(progress.distance),
        effort=np.asarray(progress.effort) / length,
        diverged=~np.asarray(progress.alive),
        length=length,
    )
    states = [[jax.tree.map(lambda x, lane=lane: x[lane], frame) for frame in frames] for lane in range(recorded)]
    return Episodes(*(x[:episodes] for x in outcome)), states


@partial(jax.jit, static_argnames="count")
def _first(tree: Any, count: int) -> Any:
    return jax.tree.map(lambda x: x[:count], tree)


@partial(jax.jit, static_argnames=("env", "mesh"))
def _reset(env: Environment, params: Any, keys: PRNGKeyArray, mesh: Mesh) -> Progress:
    def reset(params: Any, key: PRNGKeyArray) -> Progress:
        observation, env_state = env.reset(key, params)
        zero, no = jnp.zeros((), jnp.float32), jnp.zeros((), bool)
        return Progress(env_state, observation, ~no, zero, zero, no, zero, jnp.zeros((), jnp.int32))

    return _over_lanes(reset, mesh, 1)(params, keys)


@eqx.filter_jit
def _act(
    policy: Policy,
    observation: Float[Array, "lanes n"],
    carry: Any,
    keys: PRNGKeyArray,
    time: Int[Array, ""],
    mesh: Mesh,
) -> tuple[Float[Array, "lanes m"], Any]:
    arrays, static = eqx.partition(policy, eqx.is_array)

    def act(shared: Any, observation: Array, carry: Any, key: PRNGKeyArray) -> tuple[Array, Any]:
        arrays, time = shared
        # The environment's step draws from fold_in(key, time); fold once more to draw independently of it.
        key = jax.random.fold_in(jax.random.fold_in(key, time), 1)
        return eqx.combine(arrays, static)(observation, carry, key)

    return _over_lanes(act, mesh, 3)((arrays, time), observation, carry, keys)


@partial(jax.jit, static_argnames=("env", "mesh"))
def _advance(
    env: Environment,
    params: Any,
    progress: Progress,
    action: Float[Array, "lanes m"],
    keys: PRNGKeyArray,
    time: Int[Array, ""],
    mesh: Mesh,
) -> Progress:
    def advance(shared: Any, old: Progress, action: Array, key: PRNGKeyArray) -> Progress:
        params, time = shared
        key = jax.random.fold_in(key, time)
        observation, env_state, reward, terminated, info = env.step_env(key, old.env_state, action, params)
        new = Progress(
            env_state=env_state,
            observation=observation,
            alive=~terminated,
            episode_return=old.episode_return + reward.astype(jnp.float32),
            effort=old.effort + jnp.abs(action).mean().astype(jnp.float32),
            success=info["is_success"],
            distance=info["distance"].astype(jnp.float32),
            length=old.length + 1,
        )
        return jax.tree.map(partial(jnp.where, old.alive), new, old)

    return _over_lanes(advance, mesh, 3)((params, time), progress, action, keys)


def _over_lanes(function: Any, mesh: Mesh, batched: int) -> Any:
    """`function(shared, *batched)` for every lane, the lanes split over the mesh's devices."""
    lanes = jax.vmap(function, in_axes=(None,) + (0,) * batched)
    in_specs: Sequence[Any] = (P(),) + (P(AXIS),) * batched
    return jax.shard_map(lanes, mesh=mesh, in_specs=tuple(in_specs), out_specs=P(AXIS), check_vma=False)

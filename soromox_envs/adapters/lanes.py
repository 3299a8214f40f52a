"""The compiled programs behind the Gymnasium faces: one lane's reset and step, single and batched.

Keys are the same on every face. An episode of a lane has `episode_key = fold_in(key(seed), episode)`, where
`seed` is the lane's own (the seed of the batch plus the lane's number) and `episode` counts its resets. The
episode is reset with `episode_key`; the step from time t uses `fold_in(episode_key, t + 1)`.

The programs are module-level `jit`s with the environment (hashable by value) as a static argument, so that
equal environments share one compilation per batch size and no object has to carry a compiled function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from gymnasium.vector import AutoresetMode
from jaxtyping import Array, Bool, Float, Int, PyTree, UInt32

from soromox_envs.adapters.packing import Packed, pack

_NOT_INFO = ("terminated", "truncated", "final_observation")


class Lane(NamedTuple):
    """What a lane of a batch carries between calls; leading axis (lanes,) on every leaf."""

    seed: UInt32[Array, ""]
    episode: Int[Array, ""]
    state: PyTree
    observation: PyTree
    done: Bool[Array, ""]


class Transition(NamedTuple):
    """What one step of a lane gives back.

    `valid` is False where the step only reset the lane (next-step auto-reset): its `info` is then zero.
    `final_observation` is the observation that the action led to, before any auto-reset.
    """

    observation: PyTree
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    valid: Bool[Array, ""]
    info: dict[str, Any]
    final_observation: PyTree


def episode_key(seed: UInt32[Array, ""], episode: Int[Array, ""]) -> Array:
    return jax.random.fold_in(jax.random.key(seed), episode)


def _begin(env: Any, params: PyTree, seed: UInt32[Array, ""], episode: Int[Array, ""]) -> tuple[PyTree, PyTree]:
    return env.reset_env(episode_key(seed, episode), params)


def _advance(
    env: Any, params: PyTree, seed: UInt32[Array, ""], episode: Int[Array, ""], state: PyTree, action: Array
) -> tuple[PyTree, PyTree, Array, Array, dict[str, Any]]:
    key = jax.random.fold_in(episode_key(seed, episode), state.time + 1)
    observation, state, reward, terminated, info = env.step_env(key, state, action, params)
    return observation, state, reward, terminated, {k: v for k, v in info.items() if k not in _NOT_INFO}


def _new_lane(env: Any, params: PyTree, seed: UInt32[Array, ""], episode: Int[Array, ""]) -> Lane:
    observation, state = _begin(env, params, seed, episode)
    return Lane(seed, episode, state, observation, jnp.zeros((), bool))


def _select(condition: Bool[Array, ""], yes: PyTree, no: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _restart(
    env: Any,
    params: PyTree,
    lane: Lane,
    mask: Bool[Array, ""],
    seed: UInt32[Array, ""],
    reseed: Bool[Array, ""],
) -> Lane:
    """Begin the lane's next episode, or episode 0 of a new seed, where `mask` says so."""
    seed = jnp.where(reseed, seed, lane.seed)
    episode = jnp.where(reseed, 0, lane.episode + 1)
    return _select(mask, _new_lane(env, params, seed, episode), lane)


def _step_lane(
    env: Any, mode: AutoresetMode, params: PyTree, lane: Lane, action: Float[Array, " actions"]
) -> tuple[Lane, Transition]:
    observation, state, reward, terminated, info = _advance(env, params, lane.seed, lane.episode, lane.state, action)
    truncated = env.is_truncated(state, params)
    final_observation, valid = observation, jnp.ones((), bool)
    if mode is AutoresetMode.NEXT_STEP:
        valid, begins = ~lane.done, lane.done
        zeros = jax.tree.map(jnp.zeros_like, (reward, terminated, truncated, info))
        reward, terminated, truncated, info = _select(valid, (reward, terminated, truncated, info), zeros)
    elif mode is AutoresetMode.SAME_STEP:
        begins = terminated | truncated
    else:
        begins = None
    episode = lane.episode
    if begins is not None:
        episode = episode + begins.astype(episode.dtype)
        observation, state = _select(begins, _begin(env, params, lane.seed, episode), (observation, state))
    done = terminated | truncated if mode is not AutoresetMode.SAME_STEP else jnp.zeros((), bool)
    lane = Lane(lane.seed, episode, state, observation, done)
    return lane, Transition(observation, reward, terminated, truncated, valid, info, final_observation)


def _reset_batch(env: Any, params: PyTree, seed: UInt32[Array, " lanes"]) -> Lane:
    return jax.vmap(lambda s: _new_lane(env, params, s, jnp.zeros((), jnp.int32)))(seed)


def _restart_batch(
    env: Any,
    params: PyTree,
    lanes: Lane,
    mask: Bool[Array, " lanes"],
    seed: Array,
    reseed: Bool[Array, " lanes"],
) -> Lane:
    return jax.vmap(lambda *lane: _restart(env, params, *lane))(lanes, mask, seed, reseed)


def _step_batch(
    env: Any,
    mode: AutoresetMode,
    packed: bool,
    params: PyTree,
    lanes: Lane,
    actions: Float[Array, "lanes actions"],
) -> tuple[Lane, Transition | Packed]:
    """All lanes one step on; the transition is packed for a host that wants NumPy arrays."""
    lanes, transition = jax.vmap(lambda lane, action: _step_lane(env, mode, params, lane, action))(lanes, actions)
    return lanes, pack(transition) if packed else transition


def _step_single(
    env: Any, params: PyTree, seed: UInt32[Array, ""], episode: Int[Array, ""], state: PyTree, action: Array
) -> tuple[PyTree, Packed]:
    observation, state, reward, terminated, info = _advance(env, params, seed, episode, state, action)
    return state, pack((observation, reward, terminated, info))


reset_single = jax.jit(_begin, static_argnums=0)
step_single = jax.jit(_step_single, static_argnums=0)
reset_lanes = jax.jit(_reset_batch, static_argnums=0)
restart_lanes = jax.jit(_restart_batch, static_argnums=0)
step_lanes = jax.jit(_step_batch, static_argnums=(0, 1, 2))

"""One episode of an id: ``soromox-envs rollout ID``."""

from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox_envs.progress import progress

POLICIES = "soromox_envs.policies"
"""Entry points by which packages offer policies: ``make(env, params)``, with ``init()`` and a call like ``Act``."""
Act = Callable[[Any, Any, Array], tuple[Array, Any]]


class Episode(NamedTuple):
    """States from the start on, and reward, distance (m) and success of every step (steps,)."""

    states: list[Any]
    reward: np.ndarray
    distance: np.ndarray
    success: np.ndarray
    terminated: bool


def policy_names() -> tuple[str, ...]:
    """What ``policy_of`` knows."""
    return "zero", "random", *sorted(entry_points(group=POLICIES).names)


def policy_of(name: str, env: Any, params: Any) -> tuple[Any, Act]:
    """The policy's memory at the start, and ``act(obs, memory, key) -> action, memory``.

    Raises:
        ValueError: a policy that there is not, or not for this id.
    """
    found = entry_points(group=POLICIES, name=name)
    if found:
        policy = next(iter(found)).load()(env, params)
        return policy.init(), policy
    if name not in ("zero", "random"):
        raise ValueError(f"policy must be one of {', '.join(policy_names())}, got {name!r}")
    size = (env.num_actions,)
    if name == "random":
        return None, lambda obs, memory, key: (jax.random.uniform(key, size, jnp.float32, -1, 1), memory)
    return None, lambda obs, memory, key: (jnp.zeros(size, jnp.float32), memory)


def roll_out(env: Any, params: Any, policy: str, steps: int, seed: int) -> Episode:
    """Play from the reset that every face makes of that seed, past the time limit if asked, to a divergence at most."""
    memory, act = policy_of(policy, env, params)
    key = jax.random.fold_in(jax.random.key(seed), 0)

    @jax.jit
    def step(t, obs, state, memory):
        now = jax.random.fold_in(key, t + 1)
        action, memory = act(obs, memory, jax.random.fold_in(now, 1))
        obs, state, reward, terminated, info = env.step_env(now, state, action, params)
        return (obs, state, memory), (reward, info["distance"], info["is_success"], terminated)

    obs, state = jax.jit(env.reset)(key, params)
    states, outcomes = [state], []
    for t in progress(range(steps), "rollout", "step"):
        (obs, state, memory), outcome = step(jnp.asarray(t, jnp.int32), obs, state, memory)
        states.append(state)
        outcomes.append(jax.device_get(outcome))
        if outcomes[-1][3]:
            break
    reward, distance, success, terminated = (np.array(column) for column in zip(*outcomes, strict=True))
    return Episode(states, reward, distance, success, bool(terminated[-1]))


def film(env: Any, params: Any, episode: Episode, path: Any) -> None:
    """Write an episode as a video (MP4), in real time."""
    from soromox.rendering import write_video

    frames = map(partial(env.render, params=params), progress(episode.states, "video", "frame"))
    write_video(path, frames, 1 / env.control_dt)

"""The contract of an environment, tried on one id: ``soromox-envs check ID``.

One program, a batch of auto-resetting episodes, is compiled and played under different actions.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox_envs import registry
from soromox_envs.env import DIVERGENCE_PENALTY, OBSERVATION_BOUND
from soromox_envs.progress import progress
from soromox_envs.tasks.base import Task

LANES = 8
SICK_LANE, SICK_STEP = 1, 3


class Violation(Exception):
    """The sentence that says what the contract asks for and what came."""


class Play(NamedTuple):
    """What a batch of lanes returned; leading axes (steps, lanes)."""

    obs: Any
    time: Array
    reward: Array
    terminated: Array
    truncated: Array
    info: dict[str, Any]


def excitations(steps: int, lanes: int, inputs: int) -> dict[str, Array]:
    """Actions (steps, lanes, inputs) that a policy in training may take."""
    key, shape = jax.random.key(0), (steps, lanes, inputs)
    noise = jax.random.normal(key, shape)
    flips = jnp.cumsum(jax.random.bernoulli(key, 0.5, shape), axis=0)

    def smooth(carry, x):
        carry = 0.9 * carry + 0.44 * x
        return carry, carry

    actions = {
        "random": jax.random.uniform(key, shape, minval=-1, maxval=1),
        "bang-bang": 1.0 - 2.0 * (flips % 2),
        "highest": jnp.ones(shape),
        "lowest": -jnp.ones(shape),
        "correlated": jnp.clip(jax.lax.scan(smooth, noise[0], noise)[1], -1, 1),
    }
    # of one type, weak ones would compile everything again
    return {name: jnp.asarray(values, jnp.float32) for name, values in actions.items()}


@partial(jax.jit, static_argnums=0)
def play(env: Any, params: Any, key: Array, actions: Array) -> tuple[Any, Play]:
    """First observations of the lanes, and what their steps returned."""
    lanes = actions.shape[1]
    first, state = jax.vmap(env.reset, (0, None))(jax.random.split(key, lanes), params)

    def step(state, now):
        t, action = now
        keys = jax.random.split(jax.random.fold_in(key, t + 1), lanes)
        obs, state, *rest = jax.vmap(env.step, (0, 0, 0, None))(keys, state, action, params)
        return state, Play(obs, state.time, *rest)

    return first, jax.lax.scan(step, state, (jnp.arange(actions.shape[0]), actions))[1]


def check(env_id: str, randomization: str = "none", lanes: int = LANES) -> Iterator[tuple[str, str]]:
    """Names of the checks as they pass, and what was looked at; each kind of actions drives ``lanes`` episodes.

    Raises:
        Violation: the first one that does not.
    """
    env, params = registry.make(env_id, randomization=randomization)
    limit = int(params.max_steps_in_episode)
    actions = excitations(limit + SICK_STEP, lanes, env.num_actions)
    yield "spaces", _spaces(env, params)
    yield "one compilation", _alike(env, params)
    run: Callable[[Array], tuple[Any, Play]] = partial(play, env, params, jax.random.key(1))
    plays = {name: jax.device_get(run(u)) for name, u in progress(actions.items(), "episodes", "set")}
    for name, (_, played) in plays.items():
        yield f"{name} actions", _survives(env, played)
    first, played = plays["random"]
    yield "time limit", _time_limit(played, first, limit)
    yield "same keys, same bits", _deterministic(run, actions["random"], first, played)
    yield "divergence", _divergence(run, actions["random"], played)


def _require(condition: Any, expected: str) -> None:
    if not condition:
        raise Violation(expected)


def _spaces(env: Any, params: Any) -> str:
    space, names = env.observation_space(params), env.observation_names
    obs, _ = jax.jit(env.reset)(jax.random.key(0), params)
    _require(bool(space.contains(obs)), "the first observation must be inside the space")
    _require({x.dtype for x in jax.tree.leaves(obs)} == {np.dtype(np.float32)}, "observations must be float32")
    size = (obs["observation"] if isinstance(obs, dict) else obs).shape[0]
    _require(len(set(names)) == size, f"{size} entries need as many different names, got {len(set(names))}")
    lower, upper = env.action_limits
    described = {len(env.action_names), len(env.action_units), len(lower), len(upper)}
    _require(described == {env.num_actions}, f"names, units and limits are needed for {env.num_actions} inputs")
    return f"{env.num_actions} actions, {size} observation entries, named; bounds hold at a reset"


def _alike(env: Any, params: Any) -> str:
    key, action = jax.random.key(0), jax.ShapeDtypeStruct((env.num_actions,), jnp.float32)
    obs, state = jax.eval_shape(env.reset, key, params)
    after = jax.eval_shape(env.step, key, state, action, params)[:2]
    kinds = [[(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(tree)] for tree in ((obs, state), after)]
    _require(kinds[0] == kinds[1], "a step must return observation and state of the types that reset does")
    return "reset and step give equal types"


def _survives(env: Any, played: Play) -> str:
    info = played.info
    finite = all(np.isfinite(x).all() for x in jax.tree.leaves(played))
    _require(finite, "everything returned must be finite")
    diverged = int(info["diverged"].sum())
    _require(diverged == 0, f"no state may diverge, got {diverged} of {info['diverged'].size} steps")
    entries = np.concatenate([np.abs(x).ravel() for x in jax.tree.leaves(info["final_observation"])])
    _require(entries.max() <= OBSERVATION_BOUND, f"observations must be within {OBSERVATION_BOUND:g}")
    clipped = np.mean(entries >= OBSERVATION_BOUND)
    _require(clipped < 1e-3, f"fewer than 0.1 % of the entries may be clipped, got {100 * clipped:.2g} %")
    for name, term in info["reward_terms"].items() if type(env.task).reward is Task.reward else ():
        _require(term.min() >= 0 and term.max() <= 1, f"the reward term {name} must be in [0, 1]")
    return f"{played.reward.size} steps, largest entry {entries.max():.1f}"


def _time_limit(played: Play, first: Any, limit: int) -> str:
    steps = np.arange(1, len(played.reward) + 1)
    expected = np.broadcast_to((steps == limit)[:, None], played.truncated.shape)
    _require(
        np.array_equal(played.truncated, expected), f"episodes must be truncated after {limit} steps, and only then"
    )
    _require((played.time[limit - 1] == 0).all(), "the step that ends an episode must begin the next one")
    fresh = [x[limit - 1] for x in jax.tree.leaves(played.obs)]
    last = [x[limit - 1] for x in jax.tree.leaves(played.info["final_observation"])]
    _require(not all(map(np.allclose, fresh, last)), "final_observation must be the old episode's")
    _require(not all(map(np.allclose, fresh, jax.tree.leaves(first))), "a reset must draw a new episode")
    return f"truncated after {limit} steps; the next episode is another one"


def _deterministic(run: Callable, actions: Array, first: Any, played: Play) -> str:
    again = jax.device_get(run(actions))
    equal = map(np.array_equal, jax.tree.leaves(again), jax.tree.leaves((first, played)))
    _require(all(equal), "the same keys and actions must give the same bits")
    return f"{played.reward.size} steps repeated"


def _divergence(run: Callable, actions: Array, healthy: Play) -> str:
    sick = jax.device_get(run(actions.at[SICK_STEP, SICK_LANE, 0].set(jnp.nan)))[1]
    terminated = np.zeros_like(healthy.terminated)
    terminated[SICK_STEP, SICK_LANE] = True
    _require(np.array_equal(sick.terminated, terminated), "a NaN must end the episode of its lane, and nothing else")
    _require(not sick.truncated[SICK_STEP].any(), "a divergence must not count as a time limit")
    penalty = float(sick.reward[SICK_STEP, SICK_LANE])
    _require(penalty == DIVERGENCE_PENALTY, f"the penalty must be {DIVERGENCE_PENALTY:g}, got {penalty:g}")
    _require(all(np.isfinite(x).all() for x in jax.tree.leaves(sick)), "everything returned must stay finite")
    others = np.arange(healthy.reward.shape[1]) != SICK_LANE
    pairs = zip(jax.tree.leaves(sick), jax.tree.leaves(healthy), strict=True)
    equal = (np.array_equal(a[:, others], b[:, others]) for a, b in pairs)
    _require(all(equal), "the other lanes must not change by a bit")
    return "a NaN in one lane ends it, is finite, and leaves the others as they were"

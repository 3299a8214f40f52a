"""The faces in the manner of brax and of gymnax before 1.0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from adapter_checks import DOUBLE, GOAL, REACH, assert_close

import soromox_envs
from soromox_envs.adapters.brax import BraxEnv
from soromox_envs.adapters.legacy import LegacyEnv

double_or_slow = pytest.mark.parametrize(
    "env_id", [DOUBLE, *(pytest.param(env_id, marks=pytest.mark.slow) for env_id in (REACH, GOAL))]
)
pytestmark = pytest.mark.optimised  # rounding as users have it


@double_or_slow
def test_brax_style_episodes_are_those_of_the_functional_environment(env_id):
    env, params = soromox_envs.make(env_id)
    params = params.replace(max_steps_in_episode=jnp.asarray(3, jnp.int32))
    face = BraxEnv(env, params)
    assert jax.tree.map(int, face.observation_size) == jax.tree.map(
        lambda x: x.shape[0], jax.eval_shape(face.reset, jax.random.key(0)).obs
    )
    assert face.dt == env.control_dt and face.unwrapped is face and face.backend == "soromox"
    state = jax.jit(face.reset)(jax.random.key(0))
    action = 0.2 * jnp.ones(face.action_size, jnp.float32)

    def step(state, _):
        inner = state.pipeline_state
        key = jax.random.split(state.info["rng"])[1]
        obs, _, reward, terminated, info = env.step_env(key, inner, action, params)
        state = face.step(state, action)
        mine = (obs, reward, terminated.astype(reward.dtype), info["distance"])
        return state, (mine, (state.obs, state.reward, state.done, state.metrics["distance"]), state.info["truncation"])

    # as the carry of a scan: structure, shapes and dtypes never change
    _, (expected, got, truncation) = jax.jit(lambda state: jax.lax.scan(step, state, None, length=4))(state)
    assert_close(got, expected)
    assert truncation.tolist() == [0.0, 0.0, 1.0, 1.0] and not got[2].any()


def test_braxs_wrappers_find_what_they_touch():
    """What brax's vmap, episode and auto-reset wrappers do with a state, on legacy keys as they make them."""
    env, params = soromox_envs.make(DOUBLE)
    face = BraxEnv(env, params)
    state = jax.vmap(face.reset)(jax.random.split(jax.random.PRNGKey(0), 3))
    state.info["steps"] = jnp.zeros(3)
    state.info["first_obs"] = state.obs
    after = jax.vmap(face.step)(state, jnp.zeros((3, 2), jnp.float32))
    assert jax.tree.structure(after) == jax.tree.structure(state)
    after = after.replace(done=jnp.ones(3), obs=after.info["first_obs"])
    assert after.done.shape == after.metrics["distance"].shape == (3,)
    assert not np.array_equal(after.info["rng"], state.info["rng"])
    assert {"reward/near", "reward/slow", "is_success"} <= after.metrics.keys()


@double_or_slow
def test_five_values_tell_truncation_from_termination(env_id):
    env, params = soromox_envs.make(env_id)
    params = params.replace(max_steps_in_episode=jnp.asarray(2, jnp.int32))
    legacy, key = LegacyEnv(env), jax.random.key(0)
    assert legacy == LegacyEnv(env) and hash(legacy) == hash(LegacyEnv(env)) and legacy.name == env_id
    obs, state = legacy.reset(key, params)
    assert jax.tree.map(np.shape, obs) == jax.tree.map(lambda x: x.shape, jax.eval_shape(env.reset, key, params)[0])
    action, step = jnp.zeros(legacy.num_actions, jnp.float32), jax.jit(legacy.step)
    outcomes = []
    for t in range(2):
        six = jax.jit(env.step)(jax.random.fold_in(key, t), state, action, params)
        obs, state, reward, done, info = step(jax.random.fold_in(key, t), state, action, params)
        assert_close((obs, state, reward), six[:3])
        outcomes.append((bool(done), bool(info["truncated"]), float(info["discount"])))
    assert outcomes == [(False, False, 1.0), (True, True, 1.0)]


def test_five_values_end_with_discount_zero_after_a_divergence():
    env, params = soromox_envs.make(DOUBLE, limit=0.01)
    legacy = LegacyEnv(env)
    _, state = legacy.reset_env(jax.random.key(0), params)
    for _ in range(4):
        _, state, _, done, info = legacy.step_env(jax.random.key(1), state, jnp.ones(2, jnp.float32), params)
    assert bool(done) and float(info["discount"]) == 0 and not bool(info["truncated"])

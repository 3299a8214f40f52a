"""gymnax's registry, base class and wrappers accept every id."""

import gymnax
import jax
import numpy as np
import pytest
from adapter_checks import GOAL, every_id, three_ids, vector_of, with_goals
from gymnax import wrappers

import soromox_envs

pytestmark = pytest.mark.optimised  # rounding as users have it

soromox_envs.register_gymnax()


def shape_of(space):
    """Shape of a box, or shapes by name of a dictionary."""
    if isinstance(space, gymnax.environments.spaces.Dict):
        return {name: box.shape for name, box in space.spaces.items()}
    return space.shape


@with_goals
def test_gymnax_makes_every_id_with_the_same_numbers(env_id):
    soromox_envs.register_gymnax()  # again: does no harm
    env, params = gymnax.make(env_id)
    mine, my_params = soromox_envs.make(env_id)
    assert env.name == env_id and env.num_actions == mine.num_actions
    assert isinstance(env.action_space(params), gymnax.environments.spaces.Box)
    key = jax.random.key(3)
    action = env.action_space(params).sample(key)
    observation, state = env.reset(key, params)
    assert jax.tree.map(np.shape, observation) == shape_of(env.observation_space(params))
    expected = jax.jit(mine.step)(key, mine.reset(key, my_params)[1], action, my_params)
    for a, b in zip(jax.tree.leaves(env.step(key, state, action, params)), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@every_id
def test_equal_envs_are_one_key_of_gymnaxs_jit(env_id):
    (a, _), (b, _) = gymnax.make(env_id), gymnax.make(env_id)
    assert a == b and hash(a) == hash(b) and a is not b
    assert a.supports_transition_gradients == hasattr(a.functional, "with_transition_gradients")


@three_ids
def test_log_and_flatten_wrappers_count_episodes(env_id):
    inner, params = gymnax.make(env_id)
    params = params.replace(max_steps_in_episode=5)
    flat = inner if env_id == GOAL else wrappers.FlattenObservationWrapper(inner)
    env = wrappers.LogWrapper(flat)
    keys = jax.random.split(jax.random.key(0), 3)
    observation, state = jax.vmap(env.reset, (0, None))(keys, params)
    assert jax.tree.map(lambda x: x.shape[1:], observation) == shape_of(flat.observation_space(params))

    def step(state, key):
        action = jax.vmap(inner.action_space(params).sample)(jax.random.split(key, 3))
        observation, state, _, _, truncated, info = jax.vmap(env.step, (0, 0, 0, None))(
            jax.random.split(key, 3), state, action, params
        )
        return state, (truncated, info["returned_episode_lengths"], info["final_observation"], observation)

    _, (truncated, lengths, final, observations) = jax.lax.scan(step, state, jax.random.split(keys[0], 11))
    np.testing.assert_array_equal(np.flatnonzero(truncated[:, 0]), [4, 9])
    assert (lengths[4:] == 5).all()
    assert not np.array_equal(vector_of(final)[4], vector_of(observations)[4])


@pytest.mark.slow
@three_ids
def test_other_gymnax_wrappers_run(env_id):
    env, params = gymnax.make(env_id)
    key = jax.random.key(0)
    action = env.action_space(params).sample(key)
    legacy = wrappers.LegacyStepAPIWrapper(env)
    _, state = legacy.reset(key, params)
    assert len(legacy.step(key, state, action, params)) == 5
    dm = wrappers.GymnaxToDmEnvWrapper(env)
    assert dm.step(key, dm.reset(key, params), action, params).discount == 1.0
    gym_env = wrappers.GymnaxToGymWrapper(env, params, seed=1)
    gym_env.reset(seed=1)
    observation = gym_env.step(gym_env.action_space.sample())[0]
    assert jax.tree.map(np.shape, observation) == shape_of(env.observation_space(params))
    batch = wrappers.GymnaxToVectorGymWrapper(env, 2, params, seed=1)
    batch.reset(seed=1)
    assert vector_of(batch.step(batch.action_space.sample())[0]).shape[0] == 2

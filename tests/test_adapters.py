"""Contract of the single Gymnasium environment and of its equality with every other face, over every id."""

import copy
import pickle
import warnings

import adapter_double
import gymnasium
import jax
import numpy as np
import pytest
from adapter_checks import (
    DOUBLE,
    LIMIT,
    SEED,
    actions_for,
    assert_close,
    assert_equal,
    every_id,
    roll,
    vector_env,
    vector_of,
    with_goals,
)
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import soromox_envs
from soromox_envs.adapters import lanes

pytestmark = pytest.mark.optimised  # rounding as users have it


@with_goals
def test_gymnasium_check_env_has_nothing_to_say(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(f"soromox_envs:{env_id}", render_mode="rgb_array")
        check_env(env.unwrapped)
        roll(env, 2, seed=SEED)
        env.close()


@with_goals
def test_step_returns_python_scalars(env_id):
    env = gymnasium.make(env_id)
    env.reset(seed=SEED)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert all(x.dtype == np.float32 and x.flags.writeable for x in jax.tree.leaves(observation))
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
    assert {"is_success", "distance", "reward_terms", "diverged"} <= set(info) and "episode" not in info
    assert (type(info["is_success"]), type(info["distance"]), type(info["diverged"])) == (bool, float, bool)
    assert all(type(term) is float for term in info["reward_terms"].values())


@every_id
def test_time_limit_is_gymnasiums(env_id):
    truncations = [step[3] for step in roll(gymnasium.make(env_id, max_episode_steps=LIMIT), LIMIT, seed=SEED)[1:]]
    assert truncations == [False] * (LIMIT - 1) + [True]
    assert gymnasium.make(env_id, max_episode_steps=-1).unwrapped.render_mode is None


@every_id
def test_seeds_decide_everything(env_id):
    env, other = gymnasium.make(env_id), gymnasium.make(env_id)
    assert_equal(roll(env, 3, seed=SEED), roll(other, 3, seed=SEED))
    second, _ = env.reset()
    assert_equal(second, other.reset()[0])  # the next episode of the same key
    first, _ = env.reset(seed=SEED)
    others = second, env.reset(seed=SEED + 1)[0], *(gymnasium.make(env_id).reset()[0] for _ in range(2))
    assert len(np.unique([vector_of(x) for x in (first, *others)], axis=0)) == 5


@every_id
@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_go_on_from_the_same_state(env_id, duplicate):
    for env in (gymnasium.make(env_id).unwrapped, vector_env(env_id)):
        actions = actions_for(env, 2 * LIMIT)
        env.reset(seed=SEED)
        env.step(actions[0])
        twin = duplicate(env)
        assert_equal([env.step(a) for a in actions], [twin.step(a) for a in actions])
        assert_equal(env.reset(), twin.reset())


@every_id
def test_state_is_saved_and_restored(env_id):
    env = gymnasium.make(env_id).unwrapped
    env.reset(seed=SEED)
    saved = pickle.dumps(env.state)
    action = env.action_space.sample()
    first = env.step(action)
    env.state = pickle.loads(saved)
    assert_equal(first, env.step(action))


@every_id
def test_bad_actions_are_refused_in_a_sentence(env_id):
    env, envs = gymnasium.make(env_id).unwrapped, vector_env(env_id)
    env.reset(seed=SEED), envs.reset(seed=SEED)
    for face in (env, envs):
        good = actions_for(face, 1)[0]
        (m, *_), shape = good.shape[-1:], str(good.shape).replace("(", r"\(").replace(")", r"\)")
        for bad in (np.zeros(m + 1), 0.0, np.zeros((*good.shape, 1))):
            with pytest.raises(ValueError, match=rf"{env_id} expects .* shape {shape}, got shape"):
                face.step(bad)
        for value in (np.nan, np.inf):
            bad = good.copy()
            bad[..., -1] = value
            with pytest.raises(ValueError, match=rf"expects a finite .* got {value} at index"):
                face.step(bad)
        with pytest.raises(ValueError, match="got 'left'"):
            face.step("left")
        face.step(good.astype(np.float64))


@every_id
def test_stepping_before_reset_is_refused(env_id):
    for face in (gymnasium.make(env_id).unwrapped, vector_env(env_id)):
        with pytest.raises(gymnasium.error.ResetNeeded, match="needs a reset"):
            face.step(face.action_space.sample())


@every_id
def test_renders_an_image_without_display(env_id):
    env = gymnasium.make(env_id, render_mode="rgb_array")
    env.reset(seed=SEED)
    frame = env.render()
    assert frame.dtype == np.uint8 and frame.ndim == 3 and frame.shape[2] == 3
    assert env.metadata["render_fps"] == round(1 / env.unwrapped.control_dt)
    envs = vector_env(env_id, 2, render_mode="rgb_array")
    envs.reset(seed=SEED)
    frames = envs.render()
    assert isinstance(frames, tuple) and np.array_equal(frames[0], frame)
    with pytest.raises(ValueError, match="renders as .* got render_mode='ansi'"):
        vector_env(env_id, 2, render_mode="ansi")


@every_id
def test_names_and_units_are_readable(env_id):
    env, envs = gymnasium.make(env_id).unwrapped, vector_env(env_id)
    for face in (env, envs):
        assert len(face.observation_names) == len(vector_of(env.observation_space.sample()))
        assert len(face.action_names) == env.action_space.shape[0] == face.functional.num_actions
        assert face.action_units == face.functional.action_units


@every_id
def test_physical_actions_pass_through(env_id):
    env = gymnasium.make(env_id, action_units="physical")
    assert env.action_space != gymnasium.make(env_id).action_space
    assert env.action_space == vector_env(env_id, action_units="physical").single_action_space
    roll(env, 2, seed=SEED)


# The same numbers on every face


@every_id
def test_single_env_is_the_functional_env(env_id):
    env, params = soromox_envs.make(env_id)
    face = gymnasium.make(env_id)
    reset, step = jax.jit(env.reset_env), jax.jit(env.step_env)
    for episode in range(2):
        key = jax.random.fold_in(jax.random.key(SEED), episode)
        observation, state = reset(key, params)
        assert_close(face.reset(seed=SEED if episode == 0 else None)[0], observation)
        for t, action in enumerate(actions_for(face, 5)):
            observation, state, reward, terminated, info = step(jax.random.fold_in(key, t + 1), state, action, params)
            o, r, term, _, i = face.step(action)
            assert_close((o, r, term), (observation, reward, terminated))
            assert_close(i["reward_terms"], info["reward_terms"])
            assert_close((i["is_success"], i["distance"]), (info["is_success"], info["distance"]))


@with_goals
def test_lanes_are_single_envs_through_auto_reset(env_id):
    native = vector_env(env_id)
    sync = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(env_id, max_episode_steps=LIMIT)] * 3)
    for a, b in zip(roll(native, 2 * LIMIT + 3, seed=SEED), roll(sync, 2 * LIMIT + 3, seed=SEED), strict=True):
        assert_close(a[:-1], b[:-1])
        for name in ("distance", "is_success", "diverged"):
            if len(a) == 5 and name in b[-1]:
                np.testing.assert_array_equal(a[-1]["_" + name], b[-1]["_" + name])
                np.testing.assert_allclose(a[-1][name], b[-1][name], rtol=1e-6, atol=1e-6)
    assert_close(native.reset()[0], sync.reset()[0])


@every_id
def test_make_vec_offers_gymnasiums_own_vectorisation(env_id):
    envs = gymnasium.make_vec(env_id, num_envs=3, vectorization_mode="sync")
    assert isinstance(envs, gymnasium.vector.SyncVectorEnv)
    assert_close(roll(envs, 2, seed=SEED)[-1][0], roll(gymnasium.make_vec(env_id, num_envs=3), 2, seed=SEED)[-1][0])


# Compilation


@every_id
def test_equal_envs_compile_once(env_id):
    roll(gymnasium.make(env_id), 2, seed=SEED)
    roll(vector_env(env_id), 2, seed=SEED)
    programs = (lanes.reset_single, lanes.step_single, lanes.reset_lanes, lanes.step_lanes)
    before, traces = [p._cache_size() for p in programs], adapter_double.TRACES.copy()
    roll(gymnasium.make(env_id), LIMIT, seed=SEED + 1)
    roll(vector_env(env_id), 2 * LIMIT, seed=SEED + 1)
    roll(pickle.loads(pickle.dumps(vector_env(env_id))), LIMIT)
    gymnasium.make_vec(env_id, num_envs=3, max_episode_steps=LIMIT + 1).reset(seed=0)
    assert [p._cache_size() for p in programs] == before
    assert adapter_double.TRACES == traces


def test_a_new_env_and_a_new_batch_size_trace_step_once():
    env, _ = soromox_envs.make(DOUBLE, limit=3.5)
    for num_envs in (2, 5):
        before = adapter_double.TRACES[env]
        roll(gymnasium.make_vec(DOUBLE, num_envs=num_envs, limit=3.5), LIMIT, seed=SEED)
        assert adapter_double.TRACES[env] == before + 1


@every_id
@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_step_returns_lanes_of_the_type_it_took(env_id, mode):
    env, params = soromox_envs.make(env_id)
    actions = jax.ShapeDtypeStruct((3, env.num_actions), np.float32)
    start = lanes.reset_lanes.eval_shape(env, params, jax.ShapeDtypeStruct((3,), np.uint32))
    after, _ = lanes.step_lanes.eval_shape(env, mode, False, params, start, actions)
    assert jax.tree.structure(start) == jax.tree.structure(after)
    for a, b in zip(jax.tree.leaves(start), jax.tree.leaves(after), strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        assert not a.weak_type

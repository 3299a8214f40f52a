"""Contract of the natively batched Gymnasium environment, over every id."""

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
    lane_of,
    roll,
    three_ids,
    vector_env,
    vector_of,
    with_goals,
)
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as vector_wrappers

pytestmark = pytest.mark.optimised  # rounding as users have it


def stacked(observations):
    """Observations of single lanes as one of a batch."""
    return jax.tree.map(lambda *rows: np.stack(rows), *observations)


# Auto-reset


@with_goals
def test_next_step_resets_in_the_step_after_the_end(env_id):
    envs = vector_env(env_id)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    steps = roll(envs, LIMIT + 2, seed=SEED)
    last, reset, first = steps[LIMIT:]
    assert last[3].all() and last[4]["_distance"].all()
    observation, reward, terminated, truncated, infos = reset
    assert not reward.any() and not terminated.any() and not truncated.any() and not infos["_distance"].any()
    fresh, single = gymnasium.make(env_id), []
    for i in range(envs.num_envs):
        fresh.reset(seed=SEED + i)
        single.append(fresh.reset()[0])
    assert_close(observation, stacked(single))
    assert first[4]["_distance"].all()


@every_id
def test_next_step_ignores_the_action_of_a_reset(env_id):
    envs = vector_env(env_id)
    roll(envs, LIMIT, seed=SEED)
    observation, *_ = envs.step(np.full(envs.action_space.shape, np.nan))
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(observation))


@with_goals
def test_same_step_keeps_the_last_observation(env_id):
    same, nxt = vector_env(env_id, autoreset_mode="SameStep"), vector_env(env_id)
    a, b = roll(same, LIMIT, seed=SEED), roll(nxt, LIMIT, seed=SEED)
    assert all("final_obs" not in step[4] for step in a[1:LIMIT])
    observation, reward, _, truncated, infos = a[LIMIT]
    assert truncated.all() and infos["_final_obs"].all() and infos["final_obs"].dtype == object
    assert_close(stacked(infos["final_obs"]), b[LIMIT][0])
    assert_close(reward, b[LIMIT][1])
    assert_close(infos["final_info"]["distance"], b[LIMIT][4]["distance"])
    assert_close(observation, nxt.step(nxt.action_space.sample())[0])
    action = same.action_space.sample()
    assert_close(same.step(action)[:4], nxt.step(action)[:4])


def test_same_step_marks_only_the_lanes_that_ended():
    envs = vector_env(DOUBLE, autoreset_mode="SameStep", limit=0.3)
    envs.reset(seed=SEED)
    action = np.zeros((3, 2), np.float32)
    action[1] = 1.0
    for _ in range(LIMIT):
        *_, terminated, truncated, infos = envs.step(action)
        if terminated.any():
            break
    assert terminated.tolist() == [False, True, False] and not truncated.any()
    assert infos["final_obs"][0] is None and infos["final_obs"][2] is None
    assert infos["_final_obs"].tolist() == [False, True, False]
    assert infos["final_info"]["diverged"][1]


@every_id
def test_disabled_resets_by_mask_only(env_id):
    envs = vector_env(env_id, autoreset_mode="Disabled")
    last = roll(envs, LIMIT, seed=SEED)[-1]
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"Lanes \[0, 1, 2\] have ended"):
        envs.step(envs.action_space.sample())
    options = {"reset_mask": np.array([True, False, True])}
    observation, _ = envs.reset(options=options)
    assert options["reset_mask"].tolist() == [True, False, True]
    assert_equal(lane_of(observation, 1), lane_of(last[0], 1))
    single = gymnasium.make(env_id)
    for lane in (0, 2):
        single.reset(seed=SEED + lane)
        assert_close(lane_of(observation, lane), single.reset()[0])
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"Lanes \[1\] have ended"):
        envs.step(envs.action_space.sample())
    envs.reset(options={"reset_mask": np.array([False, True, False])}, seed=SEED)
    envs.step(envs.action_space.sample())
    for bad in (np.ones(2, bool), np.ones(3)):
        with pytest.raises(ValueError, match=r"reset_mask must be a bool array of shape \(3,\)"):
            envs.reset(options={"reset_mask": bad})


def test_mask_with_seed_restarts_only_those_lanes():
    envs = vector_env(DOUBLE)
    first, _ = envs.reset(seed=SEED)
    envs.step(envs.action_space.sample())
    again, _ = envs.reset(seed=SEED, options={"reset_mask": np.array([True, False, False])})
    np.testing.assert_array_equal(again[0], first[0])
    assert not np.array_equal(again[1], first[1])


def test_divergence_of_one_lane_leaves_the_others_bit_identical():
    calm, wild = vector_env(DOUBLE, limit=0.3), vector_env(DOUBLE, limit=0.3)
    calm.reset(seed=SEED), wild.reset(seed=SEED)
    for _ in range(LIMIT):
        action = np.zeros((3, 2), np.float32)
        a = calm.step(action)
        action[1] = 1.0
        b = wild.step(action)
        np.testing.assert_array_equal(a[0][[0, 2]], b[0][[0, 2]])
        assert np.isfinite(b[0]).all() and np.isfinite(b[1]).all()


# The batched environment


@every_id
def test_seeds_of_the_batch(env_id):
    envs = vector_env(env_id)
    a, _ = envs.reset(seed=SEED)
    assert len(np.unique(vector_of(a), axis=0)) == 3
    assert_equal(a, envs.reset(seed=[SEED, SEED + 1, SEED + 2])[0])
    assert_equal(a, envs.reset(seed=np.int64(SEED))[0])
    b, _ = envs.reset()
    others = [vector_of(vector_env(env_id).reset()[0]) for _ in range(2)]
    assert len(np.unique([vector_of(a), vector_of(b), *others], axis=0)) == 4
    with pytest.raises(ValueError, match="one for each of 3 lanes, got 2"):
        envs.reset(seed=[1, 2])


@every_id
def test_returned_arrays_are_the_callers(env_id):
    envs = vector_env(env_id, autoreset_mode="SameStep")
    twin = vector_env(env_id, autoreset_mode="SameStep")
    actions = actions_for(envs, 2 * LIMIT)
    for leaf in jax.tree.leaves(envs.reset(seed=SEED)[0]):
        leaf[:] = 9.0
    twin.reset(seed=SEED)
    for action in actions:
        step, expected = envs.step(action), twin.step(action)
        assert_equal(step[0], expected[0])
        assert envs.observation_space.contains(step[0])
        for leaf in jax.tree.leaves(step):
            if isinstance(leaf, np.ndarray) and leaf.dtype != object:
                leaf[...] = 0


@every_id
@pytest.mark.parametrize("mode", [m.value for m in AutoresetMode])
def test_jax_output_is_the_same_on_the_device(env_id, mode):
    on_device, on_host = (vector_env(env_id, autoreset_mode=mode, output=o) for o in ("jax", "numpy"))
    a, b = roll(on_device, LIMIT, seed=SEED), roll(on_host, LIMIT, seed=SEED)
    for x, y in zip(a, b, strict=True):
        assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(x))
        assert_equal((x[0], x[2:-1]), (y[0], y[2:-1]))
        (assert_close if "-GoalReach-" in env_id else assert_equal)(x[1], y[1])
    assert_equal(a[-1][-1]["distance"], b[-1][-1]["distance"])
    if mode == "SameStep":
        assert_equal(a[-1][-1]["final_obs"], stacked(b[-1][-1]["final_obs"]))
    with pytest.raises(ValueError, match="shape"):
        on_device.step(jax.numpy.zeros((2, 2), np.float32))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_envs": 0}, "num_envs must be a positive whole number, got 0"),
        ({"max_episode_steps": 2.5}, "max_episode_steps must be a positive whole number, got 2.5"),
        (
            {"autoreset_mode": "Later"},
            "autoreset_mode must be one of NextStep, SameStep, Disabled, got 'Later'",
        ),
        ({"output": "torch"}, "output must be one of numpy, jax, got 'torch'"),
    ],
)
def test_bad_options_of_the_batch_are_refused_in_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make_vec(DOUBLE, **options)


WRAPPERS = {
    "FlattenObservation": {},
    "DtypeObservation": {"dtype": np.float32},
    "RescaleObservation": {"min_obs": np.float32(-1), "max_obs": np.float32(1)},
    "TransformObservation": {"func": lambda o: o},
    "VectorizeTransformObservation": {
        "wrapper": gymnasium.wrappers.TransformObservation,
        "func": lambda o: o,
        "observation_space": None,
    },
    "NormalizeObservation": {},
    "TransformAction": {"func": lambda a: a},
    "ClipAction": {},
    "RescaleAction": {"min_action": np.float32(-2), "max_action": np.float32(2)},
    "TransformReward": {"func": lambda r: 2 * r},
    "VectorizeTransformReward": {"wrapper": gymnasium.wrappers.TransformReward, "func": lambda r: 2 * r},
    "ClipReward": {"min_reward": 0.0, "max_reward": 0.5},
    "NormalizeReward": {},
    "RecordEpisodeStatistics": {},
    "DictInfoToList": {},
}
ONLY_FOR_BOXES = ("DtypeObservation", "RescaleObservation", "NormalizeObservation")


@three_ids
@pytest.mark.parametrize("name", WRAPPERS)
def test_gymnasiums_vector_wrappers_work(env_id, name):
    envs = vector_env(env_id)
    if name in ONLY_FOR_BOXES and isinstance(envs.single_observation_space, gymnasium.spaces.Dict):
        envs = vector_wrappers.FlattenObservation(envs)
    wrapped = getattr(vector_wrappers, name)(envs, **WRAPPERS[name])
    steps = roll(wrapped, 2 * LIMIT + 2, seed=SEED)
    if name == "RecordEpisodeStatistics":
        assert list(wrapped.length_queue) == [LIMIT] * 6
    if name == "DictInfoToList":
        assert [len(step[-1]) for step in steps] == [3] * len(steps)
        assert "distance" in steps[1][-1][0] and "distance" not in steps[LIMIT + 1][-1][0]
        assert set(steps[1][-1][0]["reward_terms"]) == set(vector_env_terms(env_id))


def vector_env_terms(env_id: str) -> dict:
    env = gymnasium.make(env_id)
    env.reset(seed=SEED)
    return env.step(env.action_space.sample())[-1]["reward_terms"]


@three_ids
def test_array_conversion_wrapper_works(env_id):
    envs = vector_wrappers.JaxToNumpy(vector_env(env_id, output="jax"))
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(roll(envs, LIMIT + 2, seed=SEED)))


@three_ids
def test_record_video_wrapper_works(env_id, tmp_path):
    envs = vector_wrappers.RecordVideo(vector_env(env_id, render_mode="rgb_array"), str(tmp_path / "video"))
    roll(envs, LIMIT + 2, seed=SEED)
    envs.close()
    assert list(tmp_path.glob("video/*.mp4"))

"""The Stable-Baselines3 face: its checker, its VecEnv conventions, a few steps of its PPO."""

import warnings

import adapter_double
import gymnasium
import numpy as np
import pytest
from adapter_checks import (
    DOUBLE,
    GOAL,
    LIMIT,
    assert_close,
    assert_equal,
    every_id,
    lane_of,
    three_ids,
    vector_of,
    with_goals,
)

import soromox_envs

pytest.importorskip("stable_baselines3")
from stable_baselines3 import PPO, SAC, HerReplayBuffer  # noqa: E402
from stable_baselines3.common.env_checker import check_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize  # noqa: E402

pytestmark = pytest.mark.optimised


def sb3_env(env_id: str, **options):
    return soromox_envs.make_sb3_vec_env(env_id, 3, seed=7, max_episode_steps=LIMIT, **options)


@with_goals
def test_sb3_check_env_has_nothing_to_say(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(env_id, render_mode="rgb_array").unwrapped, skip_render_check=False)


@with_goals
def test_lanes_are_the_gymnasium_lanes(env_id):
    env = sb3_env(env_id)
    gym_env = gymnasium.make_vec(env_id, num_envs=3, max_episode_steps=LIMIT, autoreset_mode="SameStep")
    assert_equal(env.reset(), gym_env.reset(seed=7)[0])
    for t in range(2 * LIMIT + 1):
        action = gym_env.action_space.sample()
        observation, reward, done, infos = env.step(action)
        o, r, terminated, truncated, batch = gym_env.step(action)
        assert_close((observation, reward), (o, r))
        assert reward.dtype == np.float32 and done.dtype == bool
        np.testing.assert_array_equal(done, terminated | truncated)
        assert len(infos) == 3 and all(type(info) is dict for info in infos)
        for i, info in enumerate(infos):
            assert info["TimeLimit.truncated"] is bool(truncated[i] and not terminated[i])
            assert type(info["is_success"]) is bool and type(info["distance"]) is float
            assert all(type(term) is float for term in info["reward_terms"].values())
            assert ("terminal_observation" in info) == bool(done[i])
            if done[i]:
                assert_equal(info["terminal_observation"], batch["final_obs"][i])
        assert done.all() == ((t + 1) % LIMIT == 0)


@every_id
def test_seeds_are_consumed_at_reset(env_id):
    env = sb3_env(env_id)
    first = env.reset()
    assert not np.array_equal(vector_of(first), vector_of(env.reset()))
    assert env.seed(7) == [7, 8, 9]
    env.set_options({"some": "option"})
    assert_equal(first, env.reset())
    assert env._seeds == [None] * 3 and env._options == [{}] * 3


@every_id
def test_attributes_and_methods(env_id):
    env = sb3_env(env_id, render_mode="rgb_array")
    env.reset()
    assert env.get_attr("render_mode") == ["rgb_array"] * 3
    assert env.get_attr("name", indices=1) == [env_id]
    assert len(env.env_method("action_space", indices=[0])) == 1
    assert env.env_is_wrapped(gymnasium.Wrapper) == [False] * 3
    assert not env.has_attr("no_such_thing")
    env.set_attr("label", "x")
    assert env.get_attr("label") == ["x"] * 3
    with pytest.raises(ValueError, match="share one object: set label for all 3, not 1"):
        env.set_attr("label", "y", indices=0)
    assert env.render().dtype == np.uint8 and len(env.get_images()) == 3
    assert sb3_env(env_id).get_attr("render_mode") == [None] * 3


def test_default_episode_length_is_the_ids():
    env = soromox_envs.make_sb3_vec_env(DOUBLE, n_envs=2)
    env.reset()
    ends = [env.step(np.zeros((2, 2), np.float32))[2].all() for _ in range(adapter_double.STEPS)]
    assert ends == [False] * (adapter_double.STEPS - 1) + [True]


@three_ids
def test_sb3s_wrappers_and_ppo_run(env_id):
    env = VecNormalize(VecMonitor(sb3_env(env_id)))
    policy = "MultiInputPolicy" if env_id == GOAL else "MlpPolicy"
    model = PPO(policy, env, n_steps=8, batch_size=24, n_epochs=1, device="cpu")
    model.learn(24)
    returns, lengths = evaluate_policy(model, env, n_eval_episodes=3, return_episode_rewards=True)
    assert lengths == [LIMIT] * 3 and np.isfinite(returns).all()


def test_one_goal_or_many_get_the_reward_of_the_step_to_the_last_bit():
    """In a step of one lane or three, one by one or many at once: what relabels goals compares exactly."""
    env, envs = gymnasium.make(GOAL).unwrapped, sb3_env(GOAL)
    env.reset(seed=7), envs.reset()
    for _ in range(2 * LIMIT):
        goals, reward, *_, info = env.step(env.action_space.sample())
        assert reward == env.compute_reward(goals["achieved_goal"], goals["desired_goal"], info)
        goals, rewards, done, infos = envs.step(np.stack([env.action_space.sample() for _ in range(3)]))
        last = [infos[i]["terminal_observation"] if done[i] else lane_of(goals, i) for i in range(3)]
        achieved, desired = (np.stack([row[name] for row in last]) for name in ("achieved_goal", "desired_goal"))
        (again,) = envs.env_method("compute_reward", achieved, desired, infos, indices=[0])
        assert again.dtype == rewards.dtype == np.float32
        np.testing.assert_array_equal(again, rewards)
        many = env.compute_reward(*(np.tile(x, (100, 1))[None] for x in (achieved, desired)), infos)
        np.testing.assert_array_equal(many, np.tile(rewards, 100)[None])
        alone = [env.compute_reward(a, d, {}) for a, d in zip(achieved, desired, strict=True)]
        np.testing.assert_array_equal(alone, rewards)


def test_only_goal_conditioned_ids_have_compute_reward():
    assert not hasattr(gymnasium.make("PlanarHSA-Reach-v0").unwrapped, "compute_reward")
    env, _ = soromox_envs.make("PlanarHSA-Reach-v0")
    with pytest.raises(ValueError, match="PlanarHSA-Reach-v0 is not goal-conditioned"):
        env.compute_reward(np.zeros(2), np.zeros(2))


@pytest.mark.slow
def test_sac_with_hindsight_learns_from_the_lanes():
    env = soromox_envs.make_sb3_vec_env(GOAL, 4, seed=7, max_episode_steps=10)
    model = SAC(
        "MultiInputPolicy",
        env,
        replay_buffer_class=HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        learning_starts=80,
        batch_size=64,
        device="cpu",
        seed=0,
    )
    model.learn(300)
    sample = model.replay_buffer.sample(256)
    rewards = sample.rewards.numpy().ravel()
    goals = (sample.next_observations[name].numpy() for name in ("achieved_goal", "desired_goal"))
    np.testing.assert_array_equal(rewards, env.env_method("compute_reward", *goals, [{}], indices=[0])[0])
    assert model._n_updates > 50 and np.isfinite(model.predict(env.reset())[0]).all()

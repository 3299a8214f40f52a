"""PPO: advantages against a slow oracle, truncation against termination, ratios, seeds; and it learns."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from doubles import ConstantReward, Falling, PointReach

from agents.errors import UserError
from agents.policy import PPOPolicy, ZeroPolicy
from agents.ppo import (
    Agent,
    PPOConfig,
    collect,
    generalised_advantage,
    make_samples,
    make_train,
    ppo_loss,
    reset_lanes,
)
from agents.rollout import evaluate_policy, record_episode

pytestmark = pytest.mark.optimised

TESTS = Path(__file__).resolve().parent
SMALL = PPOConfig(total_steps=4096, num_lanes=16, rollout_length=16, minibatches=4, hidden_sizes=(16,), num_devices=1)


def slow_advantage(reward, value, next_value, terminated, done, discount, gae_lambda):
    """The definition, term by term: the sum over k of (discount lambda)^k delta, up to the episode's end."""
    advantage = np.zeros_like(reward)
    for lane in range(reward.shape[1]):
        for start in range(reward.shape[0]):
            weight = 1.0
            for t in range(start, reward.shape[0]):
                worth = 0.0 if terminated[t, lane] else next_value[t, lane]
                delta = reward[t, lane] + discount * worth - value[t, lane]
                advantage[start, lane] += weight * delta
                if done[t, lane]:
                    break
                weight *= discount * gae_lambda
    return advantage


@pytest.fixture(scope="module")
def random_rollout() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    arrays = {name: generator.normal(size=(12, 5)) for name in ("reward", "value", "next_value")}
    terminated = generator.random((12, 5)) < 0.15
    done = terminated | (generator.random((12, 5)) < 0.15)
    assert (done & ~terminated).any() and terminated.any()
    return {
        **{name: x.astype(np.float32) for name, x in arrays.items()},
        "terminated": terminated,
        "done": done,
    }


@pytest.mark.parametrize(("discount", "gae_lambda"), [(0.9, 0.8), (0.99, 1.0), (0.9, 0.0)])
def test_advantage_is_the_sum_of_its_definition(random_rollout, discount, gae_lambda):
    fast = generalised_advantage(**random_rollout, discount=discount, gae_lambda=gae_lambda)
    slow = slow_advantage(**random_rollout, discount=discount, gae_lambda=gae_lambda)
    np.testing.assert_allclose(fast, slow, rtol=1e-5, atol=1e-5)


def test_what_follows_termination_is_worth_nothing_and_what_follows_truncation_is_not():
    column = lambda *values: jnp.asarray(values)[:, None]  # noqa: E731
    advantage = generalised_advantage(
        reward=column(1.0, 1.0, 1.0),
        value=column(0.0, 0.0, 0.0),
        next_value=column(10.0, 10.0, 10.0),
        terminated=column(True, False, False),
        done=column(True, True, False),
        discount=0.5,
        gae_lambda=1.0,
    )
    np.testing.assert_allclose(advantage[:, 0], [1.0, 6.0, 6.0])


def test_rollout_reports_the_observation_before_the_reset():
    env = PointReach()
    params = env.default_params
    agent = Agent(4, 2, SMALL, key=jax.random.key(0))
    lanes = reset_lanes(env, params, 16, jax.random.key(1))
    roll_out = jax.jit(lambda agent, lanes, key: collect(env, params, agent, lanes, 40, key))
    _, transitions = roll_out(agent, lanes, jax.random.key(2))
    goes_on = ~transitions.done[:-1]
    np.testing.assert_array_equal(transitions.final_observation[:-1][goes_on], transitions.observation[1:][goes_on])
    ended = transitions.done[:-1]
    assert not np.isclose(transitions.final_observation[:-1][ended], transitions.observation[1:][ended]).any()
    starts = np.bincount(np.asarray(lanes.env_state.time), minlength=20)
    assert starts.max() <= 2  # the lanes are spread over an episode


def test_ratio_is_one_before_the_first_gradient_step():
    env, config = PointReach(), SMALL
    agent = Agent(4, 2, config, key=jax.random.key(0))

    @jax.jit
    def first_loss(agent, key):
        lanes = reset_lanes(env, env.default_params, 16, key)
        _, transitions = collect(env, env.default_params, agent, lanes, 8, key)
        samples, _ = make_samples(agent, transitions, config)
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), samples)
        return ppo_loss(agent.network, flat, config)[1] | {"advantage": samples.advantage.mean()}

    metrics = first_loss(agent, jax.random.key(1))
    assert abs(metrics["kl"]) < 1e-6
    assert metrics["clip_fraction"] == 0
    np.testing.assert_allclose(metrics["policy_loss"], -metrics["advantage"], rtol=1e-4)


def test_constant_reward_is_worth_one_over_one_minus_discount():
    """The time limit is not the end of the world: the critic must look through it."""
    env = ConstantReward()
    config = replace(SMALL, total_steps=150_000, discount=0.9, gae_lambda=0.9, learning_rate=3e-3, rollout_length=32)
    state, _ = make_train(env, env.default_params, config)(jax.random.key(0))
    agent = state.agent
    observations = jax.vmap(agent.normaliser)(state.lanes.observation)
    np.testing.assert_allclose(jax.vmap(agent.network.value)(observations), 10.0, rtol=0.02)


def test_learns_to_reach_a_point():
    env = PointReach()
    config = replace(SMALL, total_steps=120_000, num_lanes=64, hidden_sizes=(32, 32), learning_rate=2e-3)
    state, metrics = make_train(env, env.default_params, config)(jax.random.key(0))
    trained = evaluate_policy(env, env.default_params, PPOPolicy(state.agent), jax.random.key(9), 100, num_devices=1)
    idle = evaluate_policy(env, env.default_params, ZeroPolicy(2), jax.random.key(9), 100, num_devices=1)
    assert trained.success.mean() > 0.95
    assert idle.success.mean() < 0.1
    assert trained.episode_return.mean() > 1.5 * idle.episode_return.mean()
    assert metrics["success"][-1] > 0.9


def test_a_seed_in_a_batch_and_as_a_whole_is_that_seed_alone_and_in_chunks():
    env = Falling()
    trainer = make_train(env, env.default_params, replace(SMALL, total_steps=512))
    keys = jax.random.split(jax.random.key(3), 2)
    batch, batch_metrics = jax.vmap(trainer)(keys)
    state = trainer.init(keys[1])
    for _ in range(trainer.num_updates):
        state, metrics = trainer.update_many(state, 1)
    for one, many in zip(jax.tree.leaves(state.agent), jax.tree.leaves(batch.agent), strict=True):
        np.testing.assert_allclose(one, many[1], rtol=1e-3, atol=1e-4)
    assert metrics["kl"].shape == (1,) and batch_metrics["kl"].shape == (2, 2)


def test_a_target_kl_of_nothing_stops_the_policy():
    env = PointReach()
    trainer = make_train(env, env.default_params, replace(SMALL, target_kl=-1.0))
    start = trainer.init(jax.random.key(0))
    state, metrics = trainer.update_many(start, 1)
    assert metrics["stopped_early"] == 1.0
    for one, other in zip(jax.tree.leaves(start.agent.network), jax.tree.leaves(state.agent.network), strict=True):
        np.testing.assert_array_equal(one, other)


def test_training_state_keeps_its_types():
    """Else the first two updates compile twice."""
    env = PointReach()
    trainer = make_train(env, env.default_params, SMALL)
    before = jax.eval_shape(trainer.init, jax.random.key(0))
    after, _ = jax.eval_shape(lambda state: trainer.update_many(state, 1), before)
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, other.weak_type)


def test_normaliser_has_the_mean_and_variance_of_all_it_has_seen():
    x = np.random.default_rng(0).normal(3.0, 2.0, (4, 100, 2)).astype(np.float32)
    normaliser = Agent(2, 1, SMALL, key=jax.random.key(0)).normaliser
    for batch in x:
        normaliser = normaliser.updated(batch.mean(0), batch.var(0), jnp.asarray(100.0))
    np.testing.assert_allclose(normaliser.mean, x.reshape(-1, 2).mean(0), rtol=1e-4)
    np.testing.assert_allclose(normaliser.variance, x.reshape(-1, 2).var(0), rtol=1e-4)


def test_initial_weights_are_orthogonal():
    network = Agent(5, 3, SMALL, key=jax.random.key(0)).network
    for weight, scale in zip(network.critic.weights, (2.0, 1.0), strict=True):
        weight = weight if weight.shape[0] > weight.shape[1] else weight.T
        np.testing.assert_allclose(weight.T @ weight, scale * np.eye(weight.shape[1]), atol=1e-5)


def test_evaluation_freezes_what_has_terminated():
    env = Falling()

    class Rightwards(ZeroPolicy):
        def action(self, observation, key):
            return jnp.ones(2, jnp.float32)

    params = env.default_params
    outcome = evaluate_policy(env, params, Rightwards(2), jax.random.key(0), 10, num_devices=1)
    assert outcome.diverged.all() and (outcome.length < 13).all()
    np.testing.assert_allclose(outcome.effort, 1.0, rtol=1e-6)
    states = record_episode(env, params, Rightwards(2), jax.random.key(0))
    assert len(states) == params.max_steps_in_episode + 1
    stopped_at = int(states[-1].time)
    assert 1.2 < float(states[-1].position[0]) < 1.41 and stopped_at < 13
    np.testing.assert_array_equal(states[stopped_at].position, states[-1].position)


def test_policies_with_memory_get_it_back():
    env = PointReach()

    class Counter(ZeroPolicy):
        def init(self):
            return jnp.zeros((), jnp.float32)

        def __call__(self, observation, carry, key):
            return jnp.full(2, carry / 100), carry + 1

    outcome = evaluate_policy(env, env.default_params, Counter(2), jax.random.key(0), 3, num_devices=1)
    np.testing.assert_allclose(outcome.effort, np.arange(20).mean() / 100, rtol=1e-5)


def test_batches_that_do_not_divide_are_refused():
    env = PointReach()
    with pytest.raises(UserError, match="minibatches, got 16 lanes x 16 steps"):
        make_train(env, env.default_params, replace(SMALL, minibatches=7))
    with pytest.raises(UserError, match="Expected discount to be between 0 and 1, got 1.5"):
        replace(SMALL, discount=1.5)


def test_two_devices_learn_what_one_does():
    """In a process of its own: the number of devices is fixed when JAX starts."""
    program = """
import jax
jax.config.update("jax_num_cpu_devices", 2)
from dataclasses import replace
from doubles import PointReach
from test_ppo import SMALL
from agents.ppo import make_train

env = PointReach()
config = replace(SMALL, total_steps=60_000, num_lanes=64, learning_rate=2e-3, num_devices=2)
state, metrics = make_train(env, env.default_params, config)(jax.random.key(0))
assert len(state.lanes.observation.sharding.device_set) == 2
one, other = (shard.data for shard in state.agent.network.actor.weights[0].addressable_shards)
assert (jax.device_get(one) == jax.device_get(other)).all()
assert metrics["return"][-1] > 1.3 * metrics["return"][2], metrics["return"]
"""
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

"""The model-based policies: they know the statics, do better than doing nothing, and say where no model suits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import soromox_envs
from agents.controllers import make_model_based_policy
from agents.errors import UserError
from agents.policy import Policy, ZeroPolicy
from agents.rollout import evaluate_policy
from soromox_envs.targets import load_table


class Opposite(Policy):
    """Another policy's actions with the opposite sign."""

    policy: Policy

    def init(self):
        return self.policy.init()

    def __call__(self, observation, carry, key):
        action, carry = self.policy(observation, carry, key)
        return -action, carry


@pytest.fixture(scope="module")
def reach():
    env, params = soromox_envs.make("PlanarHSA-Reach-v0")
    return env, params, make_model_based_policy(env, params)


def test_the_solution_for_a_target_holds_the_tip_there(reach, x64):
    """Exactly so at the targets of the table; beside them to first order, both when given and when moved to."""
    env, _, policy = reach
    policy = jax.tree.map(lambda x: x.astype(float) if eqx.is_inexact_array(x) else x, policy)
    robot, table = env.default_params.robot, load_table("PlanarHSA")
    length, origin = env.model.length(robot), robot.params.base_pose[1:]
    inside = np.all((table["u"] > 0.1) & (table["u"] < np.asarray(policy.upper) - 0.1), axis=1)
    rows = np.flatnonzero(inside)[::64]

    @jax.jit
    @jax.vmap
    def missed(row, start, beside):
        fresh, target = policy.init(), policy.tips[row] + beside
        given = policy._solve(target, row, fresh)[0]
        followed = policy._solve(target, row, fresh._replace(target=policy.tips[row], solution=policy.actuation[row]))
        q = robot.equilibrium(given, start).q
        tip = (env.model.tip_position(robot, q) - origin) / length
        return jnp.linalg.norm(tip - target), jnp.abs(followed[0] - given).max()

    for size, tolerance in ((0.0, 1e-6), (2e-3, 2e-5)):  # lengths
        beside = jnp.broadcast_to(size * jnp.array([0.6, 0.8]), (len(rows), 2))
        distance, difference = missed(jnp.asarray(rows), jnp.asarray(table["q"][rows]), beside)
        assert float(distance.max()) < tolerance and float(difference.max()) < 1e-3


def test_the_regulator_reaches(reach):
    env, params, policy = reach
    result = evaluate_policy(env, params, policy, jax.random.key(5), 16)
    assert np.all(result.success) and np.mean(result.episode_return) > 90


def test_configurations_without_a_model_are_refused_with_a_sentence():
    env, params = soromox_envs.make("PlanarHSA-Reach-v0", action_mode="absolute")
    with pytest.raises(UserError, match="a model-based policy exists for .* not for PlanarHSA-Reach-v0 as configured"):
        make_model_based_policy(env, params)


@pytest.mark.slow
@pytest.mark.optimised
@pytest.mark.parametrize("stiffness", [0.9, 1.1])
def test_the_regulator_reaches_even_when_its_model_is_wrong(reach, stiffness):
    env, params, policy = reach
    other = params.replace(robot=env.model.scaled(params.robot, stiffness, 1.0))
    assert np.mean(evaluate_policy(env, other, policy, jax.random.key(5), 100).success) >= 0.95


@pytest.mark.slow
@pytest.mark.optimised
@pytest.mark.parametrize("env_id", soromox_envs.registered())
def test_running_away_scores_below_doing_nothing_below_the_model_based_policy(env_id):
    env, params = soromox_envs.make(env_id)
    policy = make_model_based_policy(env, params)
    policies = (Opposite(policy), ZeroPolicy(env.num_actions), policy)
    results = [evaluate_policy(env, params, each, jax.random.key(3), 32) for each in policies]
    away, nothing, towards = (float(np.mean(result.episode_return)) for result in results)
    assert nothing < towards
    # a pendulum that is left alone falls and hangs, and nothing is worse than that
    assert away < nothing or env.model.key == "Pendulum"

"""The model-based policies: they know the statics, do better than doing nothing, and say where no model suits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import soromox_envs
from agents.controllers import make_model_based_policy
from agents.errors import UserError
from agents.rollout import evaluate_policy


@pytest.fixture(scope="module")
def reach():
    env, params = soromox_envs.make("PlanarHSA-Reach-v0")
    return env, params, make_model_based_policy(env, params)


def test_the_solution_for_a_target_is_the_actuation_that_holds_the_tip_there(reach):
    """Exactly at the equilibria of the table; from one to its neighbour to first order, given at once or moved to."""
    *_, policy = reach
    apart = jnp.linalg.norm(policy.tips[:, None] - policy.tips[None], axis=-1)
    neighbour = jnp.argmin(apart + jnp.eye(len(apart)), axis=1)

    @jax.vmap
    def solve(row, target):
        fresh, there = policy.init(), policy.tips[row]
        given, _ = policy._solve(target, row, fresh)
        moved, _ = policy._solve(target, row, fresh._replace(target=there, solution=policy.actuation[row]))
        return given, moved

    rows = jnp.arange(len(policy.tips))
    for solution in solve(rows, policy.tips):
        np.testing.assert_allclose(solution, policy.actuation, atol=1e-5)
    step = jnp.linalg.norm(policy.actuation[neighbour] - policy.actuation, axis=1)
    for solution in solve(rows, policy.tips[neighbour]):
        error = jnp.linalg.norm(solution - policy.actuation[neighbour], axis=1)
        assert float(jnp.median(error / step)) < 0.05 and float((error / step).max()) < 0.5


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

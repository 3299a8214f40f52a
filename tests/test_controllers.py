"""The model-based regulator: it inverts the statics, and its commands are refused where no model suits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import soromox_envs
from agents.controllers import make_model_based_policy
from agents.errors import UserError
from soromox.systems.statics import static_residual


def test_static_inversion_finds_the_actuation_of_every_target():
    env, params = soromox_envs.make("PlanarHSA-Reach-v0")
    policy = make_model_based_policy(env, params)
    robot, table = params.robot, params.table

    @jax.jit
    @jax.vmap
    def invert(target):
        solution = policy.init().solution
        for _ in range(3):  # three control steps
            solution, sensitivity = policy._invert(solution, target)
        q = robot.inverse_kinematics(jnp.concatenate([solution[:1], target]))
        return solution[1:], static_residual(robot, q, solution[1:]), sensitivity

    phi, force, sensitivity = invert(table["tip"])
    np.testing.assert_allclose(phi, table["u"], atol=5e-3)
    assert float(jnp.abs(force).max()) < 1e-4
    # the sensitivity predicts the actuation of neighbouring targets
    near = table["tip"] + 1e-3
    np.testing.assert_allclose(
        invert(near)[0] - phi, jnp.einsum("kij,kj->ki", sensitivity, near - table["tip"]), atol=0.02
    )


def test_configurations_without_a_model_are_refused_with_a_sentence():
    env, params = soromox_envs.make("PlanarHSA-Reach-v0", action_mode="absolute")
    with pytest.raises(UserError, match="a model-based policy exists for .* not for PlanarHSA-Reach-v0 as configured"):
        make_model_based_policy(env, params)


@pytest.mark.slow
@pytest.mark.optimised
def test_the_regulator_reaches_even_when_its_model_is_wrong():
    """90 % of the episodes on the nominal robot, and with 10 % stiffer rods, where the integral action has to work."""
    from agents.rollout import evaluate_policy

    env, params = soromox_envs.make("PlanarHSA-Reach-v0")
    policy = make_model_based_policy(env, params)
    stiff = params.robot.params
    names = ("nominal_bending_stiffness", "nominal_shear_stiffness", "nominal_axial_stiffness")
    stiffer = params.robot.update_params(**{name: 1.1 * getattr(stiff, name) for name in names})
    for world in (params, params.replace(robot=stiffer)):
        result = evaluate_policy(env, world, policy, jax.random.key(5), 100)
        assert float(np.mean(result.success)) >= 0.9

"""The analytic derivative rules of the public methods give what plain automatic differentiation gives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox import custom_jvp_enabled, custom_jvp_mode

ROBOTS = zoo.over(("planar_pcs_1", "planar_pcs_2_scaled_tendons", "pcs_1", "pcs_2_floating"), default=("planar_pcs_1",))


def public(inputs, static):
    """Every method that carries a rule."""
    robot, q, qd, s = eqx.combine(inputs, static)
    energies = robot.kinetic_energy(q, qd), robot.gravitational_energy(q), robot.elastic_energy(q)
    return robot.forward_kinematics(q, s), robot.jacobian(q, s), *energies


def pushed(inputs, tangents, static):
    return jax.jvp(lambda x: public(x, static), (inputs,), (tangents,))[1]


def pulled(inputs, static):
    return jax.grad(lambda x: sum(jnp.sum(jnp.sin(value)) for value in public(x, static)))(inputs)


def bent(inputs, static):
    """Second derivatives of the energies in the configuration."""
    robot, q, qd, _ = eqx.combine(inputs, static)
    functions = robot.gravitational_energy, robot.elastic_energy, lambda q: robot.kinetic_energy(q, qd)
    rate = robot.configuration_derivative(q, qd)
    return [jax.jvp(jax.grad(function), (q,), (rate,))[1] for function in functions]


@ROBOTS
def test_rules_on_and_off_agree(name, x64):
    """Along the parameters, q, qd and s, each alone (with zeros for the others) and together; and in reverse."""
    robot, states = zoo.build(name), zoo.samples(zoo.build(name))
    inputs, static = eqx.partition((robot, states.q[0], states.qd[0], 0.7 * robot.length), eqx.is_inexact_array)
    rng = np.random.default_rng(5)
    whole = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape)) * (0.1 * jnp.abs(x) + 1e-3), inputs)
    still = jax.tree.map(jnp.zeros_like, inputs)

    def evaluate():
        forward = zoo.compiled(lambda *args: pushed(*args))
        moving = [(0,), (1,), (2,), (3,), (0, 1, 2, 3)]
        directions = [tuple(whole[i] if i in which else still[i] for i in range(4)) for which in moving]
        tangents = [forward(inputs, direction, static) for direction in directions]
        return tangents, *(zoo.compiled(lambda *args, f=f: f(*args))(inputs, static) for f in (pulled, bent))

    assert custom_jvp_enabled()
    on = evaluate()
    with custom_jvp_mode(False):
        assert not custom_jvp_enabled()
        off = evaluate()
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(on), jax.tree.leaves(off), strict=True):
        scale = np.abs(b).max(initial=1e-12)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * scale, err_msg=jax.tree_util.keystr(path))


@pytest.mark.parametrize("name", ["planar_pcs_2_scaled_tendons"])
def test_each_method_differentiates_by_one_input_alone(name, x64):
    """With nothing else moving (no zero tangents either) the analytic branches run."""
    robot, states = zoo.build(name), zoo.samples(zoo.build(name))
    q, qd, s = states.q[0], states.qd[0], 0.7 * robot.length

    def evaluate(robot, q, qd, s):
        slopes = {
            "pose_s": jax.jvp(lambda s: robot.forward_kinematics(q, s), (s,), (1.0,))[1],
            "J_s": jax.jvp(lambda s: robot.jacobian(q, s), (s,), (1.0,))[1],
            "J_dot": jax.jvp(lambda q: robot.jacobian(q, s), (q,), (qd,))[1],
            "G": jax.grad(robot.gravitational_energy)(q),
            "elastic": jax.grad(robot.elastic_energy)(q),
            "momentum": jax.grad(robot.kinetic_energy, argnums=1)(q, qd),
            "kinetic_q": jax.grad(robot.kinetic_energy)(q, qd),
        }
        return slopes, {
            "pose_s": robot.forward_kinematics_arc_length_derivative(q, s),
            "J_s": robot.jacobian_arc_length_derivative(q, s),
            "J_dot": robot.jacobian_and_time_derivative(q, qd, s)[1],
            "G": robot.gravitational_force(q),
            "elastic": robot.elastic_force(q),
            "momentum": robot.inertia_matrix(q) @ qd,
            "kinetic_q": robot.coriolis_matrix(q, qd).T @ qd,
        }

    slopes, expected = zoo.compiled(evaluate)(robot, q, qd, jnp.asarray(s))
    for key, value in expected.items():
        np.testing.assert_allclose(slopes[key], value, rtol=1e-10, atol=1e-12 * np.abs(value).max())


def test_a_parameter_tangent_is_not_dropped(x64):
    """Energies of a heavier robot grow with its density, through the public methods, in both modes."""
    robot = zoo.build("planar_pcs_2_scaled_tendons")
    q, qd = (x[0] for x in zoo.samples(robot)[:2])

    def energies(density, robot, q, qd):
        robot = robot.update_link_params(density=density)
        return jnp.stack([robot.kinetic_energy(q, qd), robot.gravitational_energy(q)])

    density = robot.params.link.density
    forward = zoo.compiled(jax.jacfwd(energies))(density, robot, q, qd)
    reverse = zoo.compiled(jax.jacrev(energies))(density, robot, q, qd)
    np.testing.assert_allclose(forward, reverse, rtol=1e-10)
    # both energies are linear in the density
    np.testing.assert_allclose(forward @ density, energies(density, robot, q, qd), rtol=1e-10)


def test_the_switch_restores_itself_after_an_error():
    with pytest.raises(RuntimeError), custom_jvp_mode(False):
        raise RuntimeError
    assert custom_jvp_enabled()

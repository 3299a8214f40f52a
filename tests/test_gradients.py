"""Gradients of the dynamics in every input and every parameter, forward and reverse, against central differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import zoo


def results(inputs, static):
    """Everything that depends on something: state derivative, tip pose and energy, in one vector."""
    robot, (q, qd, z, u, tau) = eqx.combine(inputs, static)
    y_dot = robot.forward_dynamics(0.0, robot.pack_state(q, qd, z), (u, tau))
    pose = robot.forward_kinematics(q, robot.length).reshape(-1)
    return jnp.concatenate([y_dot, pose, robot.total_energy(q, qd)[None]])


def pushed(inputs, tangents, static):
    return jax.jvp(lambda x: results(x, static), (inputs,), (tangents,))[1]


def pulled(inputs, weights, static):
    return jax.vjp(lambda x: results(x, static), inputs)[1](weights)[0]


@zoo.over(
    zoo.FEW + ("articulated_floating", "pendulum_tendons", "hsa_2_segments_3_rods_payload", "planar_pcs_3_selector"),
    default=("hsa_hysteresis", "pendulum_tendons"),
)
def test_gradients_equal_central_differences(name, x64):
    """Each array leaf of the robot and of its state, moved along a direction of its own size; bent and straight."""
    robot, states = zoo.build(name), zoo.samples(zoo.build(name))
    value, forward, reverse = (zoo.compiled(f) for f in (results, pushed, pulled))
    rng = np.random.default_rng(1)
    for row in (0, -1):
        inputs, static = eqx.partition((robot, tuple(x[row] for x in states)), eqx.is_inexact_array)
        here = value(inputs, static)
        size = np.abs(here) + 0.1 * np.abs(here).max()
        weights = jnp.asarray(rng.normal(size=here.shape) / size)
        gradient = jax.tree.leaves(reverse(inputs, weights, static))
        leaves, tree = jax.tree.flatten(inputs)
        paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(inputs)]
        for i, (path, leaf) in enumerate(zip(paths, leaves, strict=True)):
            typical = jnp.abs(leaf) + 0.01 * jnp.abs(leaf).max(initial=0.0) + 1e-6
            direction = jnp.asarray(rng.uniform(0.5, 1.0, leaf.shape)) * typical
            tangents = [jnp.zeros_like(x) for x in leaves]
            tangents[i] = direction

            def moved(step, tangents=tangents, leaves=leaves, tree=tree, static=static):
                nudged = [x + step * t for x, t in zip(leaves, tangents, strict=True)]
                return np.asarray(value(jax.tree.unflatten(tree, nudged), static))

            h = 1e-4  # fourth order: truncation and round-off both near 1e-11
            expected = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
            slope = np.asarray(forward(inputs, jax.tree.unflatten(tree, tangents), static))
            tolerance = 1e-8 * np.abs(expected / size).max() + 1e-9
            np.testing.assert_allclose(slope / size, expected / size, rtol=0, atol=tolerance, err_msg=path)
            back = float(jnp.sum(gradient[i] * direction))
            np.testing.assert_allclose(back, weights @ slope, rtol=1e-9, atol=1e-12, err_msg=path)

"""Laws of the rollouts of robots: energy, the manifold, and gradients."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import zoo
from soromox.simulation import RK4
from soromox.systems import SystemState


@zoo.over(("planar_pcs_2_scaled_tendons", "pcs_2_floating", "hsa_2_segments_3_rods_payload", "articulated_floating"))
def test_energy_is_what_actuators_give_and_dampers_take(name, x64):
    """The work is integrated beside the motion, as an environment's state; what remains is conserved."""
    robot = zoo.build(name)
    q, qd, z, u, _ = (x[0] for x in zoo.samples(robot))
    step = 1e-3 if not hasattr(robot, "B_xi") else 2e-5

    def power(state):
        q, v, _ = robot.split_state(state.y)
        return None, v @ (robot.actuation_force(q, state.u, v) - robot.damping_matrix(q) @ v)

    @zoo.compiled
    def run(robot, y, u):
        start = SystemState(0.0, y, u, environment_state=jnp.zeros(()))
        path = robot.rollout_to(
            start, environment_model=power, t1=200 * step, save_dt=50 * step, solver_dt=step, solver=RK4()
        )
        q, v, _ = robot.split_state(path.y)
        return jax.vmap(robot.total_energy)(q, v), jax.vmap(robot.kinetic_energy)(q, v), path.environment_state

    energy, kinetic, work = run(robot, robot.pack_state(q, 0.1 * qd, z), u)
    scale = np.max(kinetic) + np.ptp(energy)
    assert np.ptp(kinetic) > 0.01 * scale
    np.testing.assert_allclose(energy - energy[0], work, rtol=0, atol=2e-7 * scale)


def test_energy_is_conserved_without_damping(x64):
    robot = zoo.build("planar_pcs_1")
    robot = robot.update_link_params(damping=jnp.zeros_like(robot.params.link.damping))
    q, qd, *_ = (x[0] for x in zoo.samples(robot))

    @zoo.compiled
    def run(robot, y):
        path = robot.rollout_to(SystemState(0.0, y), t1=0.1, save_dt=0.01, solver_dt=2e-5, solver=RK4())
        return jax.vmap(lambda y: robot.total_energy(*robot.split_state(y)[:2]))(path.y)

    energy = run(robot, robot.pack_state(q, 0.1 * qd))
    np.testing.assert_allclose(energy, energy[0], rtol=0, atol=1e-7 * np.abs(energy).max())


def test_quaternions_of_saved_states_are_units(x64):
    robot = zoo.build("pcs_2_floating")
    q, qd, *_ = (x[0] for x in zoo.samples(robot))

    @zoo.compiled
    def run(robot, y):
        options = dict(t1=1e-3, save_dt=5e-4, solver_dt=1e-4, solver=diffrax.Euler())
        return robot.rollout_to(SystemState(0.0, y), **options).y

    y = run(robot, robot.pack_state(q.at[:4].multiply(1.5), 0.1 * qd))
    np.testing.assert_allclose(np.linalg.norm(y[:, :4], axis=1), 1.0, atol=1e-14)


def test_gradients_through_the_sampled_rollout(x64):
    """Return of 20 control steps of the HSA robot: d/d(motor angles) and d/d(stiffness), under jit, both ways."""
    robot = zoo.build("hsa_motor")
    q, *_ = (x[0] for x in zoo.samples(robot))
    rng = np.random.default_rng(2)
    actions = jnp.asarray(rng.uniform(0.5, 2.5, (20, robot.num_actuators)))
    start = SystemState(0.0, robot.pack_state(0.2 * q, jnp.zeros_like(q)))

    def total(actions, stiffness):
        softened = robot.update_params(nominal_bending_stiffness=stiffness)

        def controller(state):
            return jax.lax.dynamic_index_in_dim(actions, jnp.round(state.t / 0.01).astype(int), keepdims=False), None

        path = softened.rollout_discrete_closed_loop_to(
            start, controller, duration=0.2, control_dt=0.01, save_dt=0.01, solver_dt=5e-3, solver=RK4()
        )
        tips = jax.vmap(softened.forward_kinematics_end_effector)(path.y[:, :3])
        return jnp.sum(tips[:, 1:] @ jnp.array([1.0, 2.0])) + 1e-2 * jnp.sum(path.u**2)

    inputs = actions, robot.params.nominal_bending_stiffness
    value, gradient = zoo.compiled(total), zoo.compiled(jax.grad(total, argnums=(0, 1)))(*inputs)
    forward = zoo.compiled(lambda inputs, tangents: jax.jvp(total, inputs, tangents)[1])
    for which in range(2):
        direction = [jnp.zeros_like(x) for x in inputs]
        direction[which] = jnp.asarray(rng.normal(size=inputs[which].shape)) * jnp.abs(inputs[which])
        h = 1e-4
        ahead, behind = (value(*(x + s * d for x, d in zip(inputs, direction, strict=True))) for s in (h, -h))
        expected = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(jnp.sum(gradient[which] * direction[which]), expected, rtol=1e-4)
        np.testing.assert_allclose(forward(inputs, tuple(direction)), expected, rtol=1e-4)

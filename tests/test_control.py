"""Controllers give the error dynamics that they promise; the example of the extending guide runs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import zoo
from soromox.control import (
    ActuationSpace,
    ClosedFormModelBasedController,
    ConfigurationSpace,
    ReferenceTrajectory,
    TaskController,
)
from soromox.coordinate_transformations import PoseTask, operational_space_dynamics
from soromox.simulation import RK4
from soromox.systems import PlanarPCS, PlanarPCSParams, SoftRobot, SystemState

SPACES = {
    "configuration": ("planar_pcs_1", ConfigurationSpace(), 3),
    "operational": ("planar_pcs_1", PoseTask(rows=(1, 2)), 2),
    "actuation": ("planar_pcs_2_scaled_tendons", ActuationSpace(), 3),
}


class MyCustomController(ClosedFormModelBasedController):
    """Custom model-based controller implementation (the guide's)."""

    robot: SoftRobot
    reference_trajectory: ReferenceTrajectory
    K_p: Array
    K_d: Array

    def __init__(self, robot: SoftRobot, reference_trajectory: ReferenceTrajectory, K_p: Array, K_d: Array):
        self.robot = robot
        self.reference_trajectory = reference_trajectory
        self.K_p = K_p
        self.K_d = K_d

    @eqx.filter_jit
    def model_based_term(self, system_state: SystemState) -> tuple[Array, None]:
        t = system_state.t
        q_des, qd_des, qdd_des = self.reference_trajectory.get_state(t)
        M = self.robot.inertia_matrix(q_des)
        C = self.robot.coriolis_matrix(q_des, qd_des)
        G = self.robot.gravitational_force(q_des)
        tau_el = self.robot.elastic_force(q_des)
        tau_ff = M @ qdd_des + C @ qd_des + G + tau_el
        A = self.robot.actuation_matrix(q_des)
        u_model = jnp.linalg.lstsq(A, tau_ff)[0]
        return u_model, None

    @eqx.filter_jit
    def error_based_feedback_term(self, system_state: SystemState) -> tuple[Array, None]:
        t = system_state.t
        y = system_state.y
        num_dofs = self.robot.num_dofs
        q, qd = y[:num_dofs], y[num_dofs:]
        q_des, qd_des, _ = self.reference_trajectory.get_state(t)
        e = q_des - q
        ed = qd_des - qd
        tau_fb = self._apply_gain(self.K_p, e) + self._apply_gain(self.K_d, ed)
        A = self.robot.actuation_matrix(q)
        u_feedback = jnp.linalg.lstsq(A, tau_fb)[0]
        return u_feedback, None


def test_the_controller_of_the_guide_holds_its_setpoint(x64):
    params = PlanarPCSParams(
        length=jnp.array([0.1, 0.1, 0.1]),
        radius=jnp.array([0.01, 0.01, 0.01]),
        density=jnp.array([1000.0, 1000.0, 1000.0]),
        young_modulus=jnp.array([1e6, 1e6, 1e6]),
        shear_modulus=jnp.array([1e5, 1e5, 1e5]),
        material_damping_coefficient=jnp.array([318.0, 318.0, 318.0]),
        reference_strain=jnp.tile(jnp.array([0.0, 1.0, 0.0]), 3),
    )
    robot = PlanarPCS(params=params)
    goal = jnp.array([1.0, 0.0, 0.0, -2.0, 0.01, 0.0, 1.0, 0.0, 0.02])
    controller = MyCustomController(
        robot=robot,
        reference_trajectory=ReferenceTrajectory.constant(goal),
        K_p=jnp.diag(jnp.array([1e-3, 30.0, 30.0])),
        K_d=jnp.diag(jnp.array([1e-5, 1e-3, 1e-3])),
    )
    start = SystemState(0.0, jnp.concatenate([goal, jnp.zeros(9)]))
    motion = robot.rollout_closed_loop_to(start, controller, t1=0.05, solver=RK4(), solver_dt=2.5e-4, save_dt=0.05)
    np.testing.assert_allclose(motion.y[-1], start.y, atol=1e-9)


@pytest.mark.parametrize("space", list(SPACES))
def test_error_dynamics_are_as_promised(space, x64):
    """Accelerations under control at random states, against the law of each compensation."""
    name, task, k = SPACES[space]
    robot = zoo.build(name)
    phase = jnp.arange(k, dtype=float)
    K_p, K_d = 40.0 + jnp.arange(k), jnp.diag(6.0 + jnp.arange(k))
    reference = ReferenceTrajectory(lambda t: 0.01 * jnp.sin(3 * t + phase))

    @zoo.compiled
    def evaluate(q, qd, t):
        d = operational_space_dynamics(robot, task, q, qd)
        x, x_dot, x_ddot = reference.get_state(t)
        y = robot.pack_state(q, qd)
        errors = {}
        for compensation in ("linearizing", "impedance", "potential"):
            controller = TaskController(robot, reference, task, K_p, K_d, compensation=compensation)
            u, _ = controller(SystemState(t, y))
            v_dot = robot.forward_dynamics(t, y, (u,))[qd.size :]
            errors[compensation] = x_ddot - d.J @ v_dot - d.J_dot @ qd
        return d, x - d.x, x_dot - d.x_dot, x_ddot, errors

    for q, qd in zip(*zoo.samples(robot)[:2], strict=True):
        d, e, e_dot, x_ddot, e_ddot = evaluate(q, qd, jnp.asarray(0.3))
        pull, brake = K_p * e, K_d @ e_dot
        laws = {
            "linearizing": d.M @ (e_ddot["linearizing"] + brake + pull),
            "impedance": d.M @ e_ddot["impedance"] + d.C @ e_dot + brake + pull,
            "potential": d.M @ (e_ddot["potential"] - x_ddot) - d.convective - d.damping_force + brake + pull,
        }
        size = np.abs(d.M @ e_ddot["potential"]).max() + np.abs(d.convective).max() + np.abs(pull).max()
        for law, rest in laws.items():
            np.testing.assert_allclose(rest, 0, atol=1e-8 * size, err_msg=law)


def test_references_differentiate_themselves(x64):
    x, x_dot, x_ddot = ReferenceTrajectory(lambda t: jnp.stack([jnp.sin(2 * t), t**3])).get_state(0.4)
    np.testing.assert_allclose(x, [np.sin(0.8), 0.064])
    np.testing.assert_allclose(x_dot, [2 * np.cos(0.8), 0.48])
    np.testing.assert_allclose(x_ddot, [-4 * np.sin(0.8), 2.4])


def test_integral_action_integrates_the_error(x64):
    robot = zoo.build("planar_pcs_1")
    reference = ReferenceTrajectory.constant(jnp.array([0.1, 0.2, 0.3]))
    controller = TaskController(robot, reference, ConfigurationSpace(), 1.0, jnp.zeros(3), K_i=2.0, compensation="none")
    state = SystemState(0.0, jnp.zeros(6))
    with pytest.raises(ValueError, match="integral action needs control_state"):
        controller(state)
    np.testing.assert_array_equal(controller.initial_control_state(), 0)
    u, rate = controller(state.replace(control_state=jnp.array([1.0, 0.0, -1.0])))
    np.testing.assert_allclose(rate, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(u, [2.1, 0.2, -1.7])


def test_gains_repeat_and_bad_ones_are_refused(x64):
    robot = zoo.build("planar_pcs_1")
    controller = TaskController(robot, ReferenceTrajectory.constant(jnp.zeros(3)), ConfigurationSpace(), 1.0, 1.0)
    error = jnp.arange(6.0)
    block = jnp.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    expected = jax.scipy.linalg.block_diag(block, block) @ error
    np.testing.assert_allclose(controller._apply_gain(block, error), expected)
    np.testing.assert_allclose(controller._apply_gain(2.0, error), 2 * error)
    with pytest.raises(ValueError, match=r"a gain on 6 coordinates must be .* got \(4, 4\)"):
        controller._apply_gain(jnp.eye(4), error)
    with pytest.raises(ValueError, match="compensation must be"):
        TaskController(robot, controller.reference_trajectory, ConfigurationSpace(), 1.0, 1.0, compensation="all")
    with pytest.raises(ValueError, match="floating robot"):
        floating = zoo.build("planar_pcs_2_floating")
        ConfigurationSpace()(floating, jnp.zeros(9), jnp.zeros(9))

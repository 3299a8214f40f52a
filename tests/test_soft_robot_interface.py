"""A user's own robot, written as the extending guide has it, works through the public interface."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import zoo
from soromox.simulation import RK4, SemiImplicitEuler
from soromox.systems import BaseSoftRobotParams, SoftRobot, SystemState

LENGTH, MASS, STIFFNESS, DAMPING, GRAVITY = 0.3, 0.2, 0.05, 0.01, 9.81


class Arm(SoftRobot):
    """One segment of constant curvature with its mass at the tip, the base along world x."""

    num_segments: int = eqx.field(static=True)
    L: Array

    @property
    def num_dofs(self) -> int:
        return self.num_segments

    @property
    def num_actuators(self) -> int:
        return 1

    @property
    def length(self) -> Array:
        return jnp.sum(self.L)

    @property
    def is_planar(self) -> bool:
        return True

    def inertia_matrix(self, q):
        J = self.jacobian(q, self.length)[1:]
        return MASS * J.T @ J + 1e-4 * jnp.eye(1)

    def damping_matrix(self, q):
        return DAMPING * jnp.eye(1)

    def actuation_matrix(self, q):
        return jnp.ones((1, 1))


def pose(q, s):
    angle = q[0] * s
    small = jnp.abs(angle) < 1e-4
    safe = jnp.where(small, 1.0, angle)
    along = jnp.where(small, 1 - angle**2 / 6, jnp.sin(safe) / safe)
    across = jnp.where(small, angle / 2, (1 - jnp.cos(safe)) / safe)
    return jnp.stack([angle, s * along, s * across])


class HookArm(Arm):
    """The least: one kinematic hook and two energies."""

    def _forward_kinematics(self, q, s):
        return pose(q, s)

    def _gravitational_energy(self, q):
        return MASS * GRAVITY * self._forward_kinematics(q, self.length)[2]

    def _elastic_energy(self, q):
        return 0.5 * STIFFNESS * q @ q


class GuideArm(Arm):
    """The same arm with the public methods of the guide instead, in its signatures."""

    def forward_kinematics(self, q, s):
        return pose(q, s)

    def jacobian(self, q, s):
        return jax.jacfwd(lambda q: self.forward_kinematics(q, s))(q)

    def jacobian_and_time_derivative(self, q, qd, s):
        J = self.jacobian(q, s)
        return J, jax.jacfwd(lambda q: self.jacobian(q, s))(q) @ qd

    def coriolis_matrix(self, q, qd):
        return 0.5 * jax.jacfwd(self.inertia_matrix)(q) @ qd

    def elastic_force(self, q):
        return STIFFNESS * q

    def gravitational_force(self, q):
        return MASS * GRAVITY * self.jacobian(q, self.length)[2]

    def stiffness_matrix(self):
        return STIFFNESS * jnp.eye(1)

    def kinetic_energy(self, q, qd):
        return 0.5 * qd @ self.inertia_matrix(q) @ qd

    def elastic_energy(self, q):
        return 0.5 * q @ self.stiffness_matrix() @ q

    def gravitational_energy(self, q):
        return MASS * GRAVITY * self.forward_kinematics(q, self.length)[2]


@pytest.fixture(params=[HookArm, GuideArm])
def arm(request, x64) -> SoftRobot:
    return request.param(1, jnp.array([LENGTH]))


Q, QD, S = [2.0], [-1.5], 0.2


def test_what_the_arm_does_not_define_follows(arm):
    """Jacobians, their derivatives, Christoffel forces and forces, from one or two hooks."""
    q, qd, s = jnp.array(Q), jnp.array(QD), jnp.array(S)

    @zoo.compiled
    def evaluate(arm, q, qd, s):
        M, convective, G = arm.dynamics_terms(q, qd)
        pose, J = arm.forward_kinematics_and_jacobian_inertialframe(q, s)
        return dict(
            pose=pose,
            J=J,
            J_body=arm.jacobian_bodyframe(q, s),
            J_dot=arm.jacobian_and_time_derivative(q, qd, s)[1],
            J_s=arm.jacobian_arc_length_derivative(q, s),
            pose_s=arm.forward_kinematics_arc_length_derivative(q, s),
            batch=arm.jacobian_abscissa_batched(q, jnp.stack([s, 2 * s])),
            M=M,
            convective=convective,
            C=arm.coriolis_matrix(q, qd),
            G=G,
            slopes=jax.grad(lambda q: arm.gravitational_energy(q) + arm.elastic_energy(q))(q),
            forces=arm.potential_force(q),
            rates=arm.forward_dynamics(0.0, jnp.concatenate([q, qd]), (jnp.array([0.1]), jnp.array([0.05]))),
        )

    e = evaluate(arm, q, qd, s)
    kappa = Q[0]
    angle = kappa * S
    np.testing.assert_allclose(e["pose"], [angle, np.sin(angle) / kappa, (1 - np.cos(angle)) / kappa], rtol=1e-12)
    x_slope = S * np.cos(angle) / kappa - np.sin(angle) / kappa**2
    y_slope = S * np.sin(angle) / kappa - (1 - np.cos(angle)) / kappa**2
    np.testing.assert_allclose(e["J"][:, 0], [S, x_slope, y_slope], rtol=1e-10)
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(e["J_body"][1:, 0], rotation @ [x_slope, y_slope], rtol=1e-10)
    np.testing.assert_allclose(e["pose_s"], [kappa, np.cos(angle), np.sin(angle)], rtol=1e-10)
    np.testing.assert_allclose(e["J_s"][:, 0], [1, -S * np.sin(angle), S * np.cos(angle)], rtol=1e-9)
    np.testing.assert_allclose(e["batch"][0], e["J"], rtol=1e-12)
    np.testing.assert_allclose(e["J_dot"][0], 0, atol=1e-12)
    np.testing.assert_allclose(e["convective"], e["C"] @ qd, rtol=1e-12)
    np.testing.assert_allclose(e["slopes"], e["forces"], rtol=1e-12)
    force = 0.15 - DAMPING * QD[0] - e["forces"] - e["convective"]
    np.testing.assert_allclose(e["rates"], [QD[0], force[0] / e["M"][0, 0]], rtol=1e-10)


def test_the_arm_rolls_out(arm):
    start = SystemState(0.0, jnp.array(Q + QD))

    def run(solver, steps):
        return arm.rollout_to(start, jnp.array([0.02]), t1=0.1, save_dt=0.05, solver_dt=0.05 / steps, solver=solver).y

    fine, coarse, finer = run(RK4(), 50), run(SemiImplicitEuler(arm), 500), run(SemiImplicitEuler(arm), 1000)
    assert fine.shape == (3, 2)
    np.testing.assert_allclose(
        2 * finer - coarse, fine, rtol=1e-4
    )  # Richardson's extrapolation of a first-order method


def test_the_layout_of_a_fixed_robot(arm):
    assert (arm.num_coordinates, arm.num_velocities, arm.num_internal_dofs, arm.state_size) == (1, 1, 1, 2)
    assert not arm.floating_base and arm.num_auxiliary_states == 0 and arm.actuator_input_metadata == ()
    assert arm.precompute() is None


def test_a_missing_hook_says_which(x64):
    class Bare(SoftRobot):
        num_dofs = 1
        num_actuators = 1
        is_planar = True

    with pytest.raises(NotImplementedError, match="Bare must define _forward_kinematics"):
        Bare().forward_kinematics(jnp.zeros(1), 0.1)
    with pytest.raises(NotImplementedError, match="Bare must define inertia_matrix"):
        Bare().inertia_matrix(jnp.zeros(1))


@pytest.mark.parametrize(
    ("planar", "upright"), [(True, [np.pi / 2, 0, 0]), (False, [0, -(0.5**0.5), 0, 0.5**0.5, 0, 0, 0])]
)
def test_a_users_params_class_gets_its_defaults(planar, upright, x64):
    """Base pose and gravity by the declared dimension, the three constructors, and explicit values that win."""

    class MyParams(BaseSoftRobotParams):
        is_planar: ClassVar[bool] = planar
        stiffness: Array = eqx.field(converter=jnp.asarray)

    down = [0.0, -9.81] if planar else [0.0, 0.0, -9.81]
    params = MyParams(stiffness=2.0)
    np.testing.assert_allclose(params.base_pose, upright, atol=1e-15)
    np.testing.assert_allclose(params.gravity, down)
    np.testing.assert_allclose(MyParams.upright(stiffness=2.0).base_pose, upright, atol=1e-15)
    flat = [0.0] * 3 if planar else [0, 0, 0, 1.0, 0, 0, 0]
    np.testing.assert_allclose(MyParams.horizontal(2.0).base_pose, flat, atol=1e-15)
    hanging = [-np.pi / 2, 0, 0] if planar else [0, 0.5**0.5, 0, 0.5**0.5, 0, 0, 0]
    np.testing.assert_allclose(MyParams.hanging(2.0).base_pose, hanging, atol=1e-15)
    np.testing.assert_allclose(MyParams(2.0, gravity=jnp.zeros(len(down))).gravity, 0)
    with pytest.raises(ValueError, match="base_pose must have shape"):
        MyParams(2.0, base_pose=[0.0])
    with pytest.raises(ValueError, match="unknown MyParams field colour"):
        params.replace(colour=1)


@pytest.mark.parametrize("planar", [True, False])
def test_packing_and_splitting_a_floating_state(planar, x64):
    """Leading axes, inverses, and a spatial step that stays on the sphere of quaternions."""
    robot = zoo.build("planar_pcs_2_floating" if planar else "pcs_2_floating")
    states = zoo.samples(robot)
    y = robot.pack_state(states.q, states.qd)
    assert y.shape == (3, robot.state_size)
    q, v, z = robot.split_state(y)
    base, internal = robot.split_configuration(q)
    base_rate, rates = robot.split_velocity(v)
    np.testing.assert_array_equal(robot.pack_configuration(internal, base_pose=base), q)
    np.testing.assert_array_equal(robot.pack_velocity(rates, base_velocity=base_rate), v)
    assert not robot.pack_velocity(rates)[:, : robot.num_base_velocities].any()
    assert z.shape == (3, 0)
    transforms = robot.base_transform_from_configuration(q)
    assert transforms.shape == ((3, 3, 3) if planar else (3, 4, 4))
    np.testing.assert_allclose(transforms[1], robot.base_transform_from_configuration(q[1]), atol=1e-15)
    h = 1e-7
    moved = robot.retract_configuration(q, h * v)
    np.testing.assert_allclose((moved - q) / h, robot.configuration_derivative(q, v), atol=1e-4 * np.abs(v).max())
    if planar:
        np.testing.assert_array_equal(robot.project_state(y), y)
        return
    stretched = robot.project_state(y.at[:, :4].multiply(-2.0))
    np.testing.assert_allclose(stretched[:, :4], -y[:, :4], atol=1e-15)
    np.testing.assert_array_equal(stretched[:, 4:], y[:, 4:])
    np.testing.assert_allclose(np.linalg.norm(robot.retract_configuration(q, v)[:, :4], axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(robot.normalize_configuration(q * 1.0), q, atol=1e-15)
    with pytest.raises(ValueError, match="quaternion must be finite and non-zero"):
        robot.normalize_configuration(q.at[0, :4].set(0.0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r, q: r.split_state(q), "y must have 6 entries along its last axis, got shape"),
        (lambda r, q: r.pack_state(q, q[:2]), "v must have 3 entries"),
        (lambda r, q: r.split_configuration(q[:1]), "q must have 3 entries"),
        (lambda r, q: r.pack_configuration(q, base_pose=q), "fixed base has no runtime base pose"),
        (lambda r, q: r.pack_velocity(q, base_velocity=q), "fixed base has no base velocity"),
        (lambda r, q: r.forward_dynamics(0.0, jnp.zeros(6), (q, q, q)), r"None, \(u,\) or \(u, tau_ext\), got 3"),
        (lambda r, q: r.forward_dynamics(0.0, jnp.zeros(6), ()), r"None, \(u,\) or \(u, tau_ext\), got 0"),
        (lambda r, q: r.forward_dynamics(0.0, jnp.zeros(6), (q[:2],)), r"u must have shape \(3,\), got \(2,\)"),
        (lambda r, q: r.forward_dynamics(0.0, jnp.zeros(6), (None, q[:2])), r"tau_ext must have shape \(3,\)"),
        (lambda r, q: r.actuator_efforts(q, q[:2]), r"u must have shape \(3,\), got \(2,\)"),
        (lambda r, q: r.actuator_efforts(q, q, actuation_matrix=jnp.eye(2)), r"actuation_matrix must have shape"),
        (
            lambda r, q: r.forward_kinematics(q, 0.1, backend="numpy"),
            "backend must be None, 'jax' or 'warp', got 'numpy'",
        ),
    ],
)
def test_wrong_arguments_are_named(call, words, x64):
    with pytest.raises(ValueError, match=words):
        call(zoo.build("planar_pcs_1"), jnp.zeros(3))


def test_the_warp_backend_is_announced_not_silent(x64):
    robot, q = zoo.build("planar_pcs_1"), jnp.zeros(3)
    for call in (robot.forward_kinematics, robot.jacobian, robot.forward_kinematics_abscissa_batched):
        with pytest.raises(NotImplementedError, match="warp"):
            call(q, jnp.array([0.1]) if "batched" in call.__name__ else 0.1, backend="warp")
    for call in (robot.dynamics_terms, robot.actuation_matrix):
        with pytest.raises(NotImplementedError, match="warp"):
            call(*([q, q] if call.__name__ == "dynamics_terms" else [q]), backend="warp")


def test_keyword_arguments_of_the_page_are_accepted(x64):
    robot, q, s_ps = zoo.build("planar_pcs_1"), jnp.zeros(3), jnp.array([0.05, 0.1])

    def calls(q, s_ps):
        return (
            robot.forward_kinematics_abscissa_batched(q=q, s_ps=s_ps, backend="jax"),
            *robot.jacobian_and_time_derivative_abscissa_batched(q=q, qd=q, s_ps=s_ps),
            robot.jacobian_inertialframe(q, s=s_ps[0], backend="jax"),
            robot.jacobian_tips(q=q),
        )

    shapes = [x.shape for x in jax.eval_shape(calls, q, s_ps)]
    assert shapes == [(2, 3), (2, 3, 3), (2, 3, 3), (3, 3), (1, 3, 3)]
    with pytest.raises(TypeError):
        robot.jacobian_abscissa_batched(q)
    with pytest.raises(TypeError):
        robot.jacobian_abscissa_batched(q, s_ps, colour=3)

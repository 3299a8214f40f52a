"""Chains of joints: their link frames, the pages' names, what they refuse, joint and McKibben actuation."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.actuation import (
    articulated_tendons,
    joint_efforts,
    joint_springs,
    mckibben_muscles,
)
from soromox.systems import PCS, ArticulatedSoftRobot, ArticulatedSoftRobotParams, Pendulum, UMArm
from zoo_joints import articulated, pendulum
from zoo_pcs import pcs

LINK_FRAMES = ("joints", "coms", "tips")


def close(a, b, tolerance=1e-11):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(np.abs(b).max(initial=0.0), 1.0))


@zoo.compiled
def the_example_of_the_page():
    params = ArticulatedSoftRobotParams(
        joint_screw=jnp.array(
            [
                [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
                [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            ]
        ),
        tip_position=jnp.array(
            [
                [0.5, 0.0, 0.0],
                [0.4, 0.0, 0.0],
            ]
        ),
        center_of_mass_position=jnp.array(
            [
                [0.25, 0.0, 0.0],
                [0.20, 0.0, 0.0],
            ]
        ),
        mass=jnp.array([1.0, 0.8]),
        center_of_mass_inertia=jnp.array(
            [
                jnp.diag(jnp.array([0.02, 0.03, 0.04])),
                jnp.diag(jnp.array([0.01, 0.02, 0.03])),
            ]
        ),
        joint_stiffness=jnp.diag(jnp.array([0.5, 0.3])),
        joint_damping=jnp.diag(jnp.array([0.02, 0.01])),
        joint_rest_configuration=jnp.zeros(2),
        parent_to_joint_transform=jnp.broadcast_to(jnp.eye(4), (2, 4, 4)),
        radius=jnp.array([0.025, 0.02]),
    )

    robot = ArticulatedSoftRobot(params=params)
    q = jnp.array([0.2, -0.1])
    qd = jnp.array([0.0, 0.0])

    g_tips = robot.forward_kinematics_tips(q)
    J_tip = robot.jacobians_tips(q)[-1]

    M = robot.inertia_matrix(q)
    C = robot.coriolis_matrix(q, qd)
    G = robot.gravitational_force(q)
    return robot, g_tips, J_tip, M, C, G


def test_the_example_of_the_page():
    robot, *results = the_example_of_the_page()
    assert [x.shape for x in results] == [(2, 4, 4), (6, 2), (2, 2), (2, 2), (2,)]

    n, p = robot.num_links, robot.params
    assert n == robot.num_dofs == 2 and not robot.is_planar and robot.supports_articulated_tendon_routing
    for name, field in dict(
        joint_screw="joint_screw",
        g_parent_joint="parent_to_joint_transform",
        p_tip="tip_position",
        p_com="center_of_mass_position",
        m="mass",
        I_com="center_of_mass_inertia",
        g="gravity",
        K="joint_stiffness",
        D="joint_damping",
        q_ref_k="joint_rest_configuration",
        r="radius",
    ).items():
        np.testing.assert_array_equal(getattr(robot, name), getattr(p, field))
    np.testing.assert_allclose(robot.L_cum, [0.0, 0.5, 0.9], rtol=1e-6)
    assert robot.total_length == robot.length
    kind, dimensions = robot.cross_section_geometry(jnp.zeros(2), jnp.asarray(0.7))
    assert kind == 0 and dimensions == p.radius[1:]
    assert robot.actuator_input_metadata[0].kind == "identity"


def link_frames(robot, q, qd):
    """Poses of the link frames, how they change along the velocities, and how their Jacobians say that they do."""
    G = robot.group

    def poses(delta):
        x = robot.retract_configuration(q, delta)
        return {name: getattr(robot, f"forward_kinematics_{name}")(x) for name in LINK_FRAMES}

    def rates(g, J):
        twists = G.rotate(G.rotation(g).T, J)
        return jax.vmap(lambda twist: G.pose_rate(g, twist), in_axes=1, out_axes=-1)(twists)

    still = jnp.zeros_like(qd)
    g = poses(still)
    J = {name: getattr(robot, f"jacobian_{name}")(q) for name in LINK_FRAMES}

    def body_jacobians(delta):
        return robot.integration_kinematics(robot.retract_configuration(q, delta), qd)[1]

    nodes, J_nodes, J_dot_nodes = robot.integration_kinematics(q, qd)
    return dict(
        g=g,
        J=J,
        slopes=jax.jacfwd(poses)(still),
        rates={name: jax.vmap(rates)(g[name], J[name]) for name in LINK_FRAMES},
        tips=robot.jacobian_and_time_derivatives_tips(q, qd),
        nodes=(nodes, jax.vmap(G.matrix)(g["coms"])[:, None]),
        J_nodes=(J_nodes, jax.vmap(lambda g, J: G.rotate(G.rotation(g).T, J))(g["coms"], J["coms"])[:, None]),
        J_dot_nodes=(J_dot_nodes, jax.jvp(body_jacobians, (still,), (qd,))[1]),
    )


@zoo.over(("articulated_floating", "pendulum_floating", "umarm"), default=("articulated_floating",))
def test_link_frames_and_their_jacobians(name, x64):
    robot, states = zoo.build(name), zoo.samples(zoo.build(name))
    out = zoo.compiled(link_frames)(robot, states.q[0], states.qd[0])
    for frame in LINK_FRAMES:
        close(out["rates"][frame], out["slopes"][frame])
    close(out["tips"][0], out["J"]["tips"])
    for key in ("nodes", "J_nodes", "J_dot_nodes"):
        close(*out[key])
    p, G = robot.params, robot.group
    for i in range(1, robot.num_links):  # joints sit on tips, those of links without length too
        joint = G.compose(out["g"]["tips"][i - 1], p.parent_to_joint_transform[i])
        close(G.matrix(out["g"]["joints"][i]), G.matrix(joint))


def test_a_pendulum_is_an_articulated_robot_in_the_plane(x64):
    flat = pendulum(tendons=True)
    p, n = flat.params, flat.num_links
    angle, *place = p.base_pose.tolist()

    def lift(x):
        return jnp.pad(x, ((0, 0), (0, 1)))

    polar = jnp.zeros((3, 3)).at[2, 2].set(1.0)[None]
    params = ArticulatedSoftRobotParams(
        joint_screw=jnp.tile(jnp.eye(6)[2:3], (n, 1)),
        tip_position=lift(p.tip_position),
        center_of_mass_position=lift(p.center_of_mass_position),
        center_of_mass_inertia=p.moment_inertia[:, None, None] * polar,
        parent_to_joint_transform=jnp.tile(jnp.eye(4)[None], (n, 1, 1)),
        base_pose=[0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2), *place, 0.0],
        gravity=[0.0, -9.81, 0.0],
        **{
            k: getattr(p, k) for k in ("mass", "joint_stiffness", "joint_damping", "joint_rest_configuration", "radius")
        },
    )
    spatial = ArticulatedSoftRobot(params, actuators=flat.actuators, passive_elements=flat.passive_elements)

    def evaluate(robot, q, qd, z, u, tau):
        s = jnp.linspace(0.0, robot.length, 5)
        poses = robot.forward_kinematics_abscissa_batched(q, s)
        return dict(
            acceleration=robot.forward_dynamics(0.0, jnp.concatenate([q, qd]), (u, tau)),
            C=robot.coriolis_matrix(q, qd),
            terms=robot.dynamics_terms(q, qd),
            energies=(robot.kinetic_energy(q, qd), robot.potential_energy(q)),
            positions=jax.vmap(robot.group.position)(poses)[:, :2],
        )

    function = zoo.compiled(evaluate)
    for state in zip(*zoo.samples(flat), strict=True):
        jax.tree.map(lambda a, b: close(a, b, 1e-10), function(flat, *state), function(spatial, *state))


def umarm_case() -> dict:
    return json.loads((Path(__file__).parent / "data" / "oracles" / "umarm_mckibben.json").read_text())


def test_the_published_umarm(x64):
    case, robot = umarm_case(), UMArm()
    (muscles,) = robot.actuators
    for name, value in case["params"].items():
        np.testing.assert_allclose(getattr(robot.params, name), value, rtol=0, atol=1e-14, err_msg=name)
    for name, value in case["actuation"]["transmission"].items():
        np.testing.assert_allclose(getattr(muscles.transmission, name), value, rtol=0, atol=1e-14, err_msg=name)
    np.testing.assert_allclose(robot.params.base_pose, case["base"]["fixed_base_pose"], atol=1e-14)
    assert muscles.metadata.kind == "mckibben" and muscles.metadata.units == "Pa"
    assert set(muscles.metadata.lower) == {0.0} and robot.num_actuators == 24


def test_every_parameter_of_an_arm_with_universal_joints_is_differentiable(x64):
    """Links without length and mass included: no gradient is NaN."""
    robot = UMArm()
    q, qd, u = jnp.linspace(-0.3, 0.3, 12), jnp.linspace(1.0, -1.0, 12), jnp.linspace(1e4, 9e4, 24)

    def loss(robot):
        y = robot.forward_dynamics(0.0, jnp.concatenate([q, qd]), (u,))
        return jnp.sum(y**2) + jnp.sum(robot.forward_kinematics_tips(q) ** 2)

    for leaf in jax.tree.leaves(zoo.compiled(jax.grad(loss))(robot)):
        assert np.all(np.isfinite(leaf))


def test_metadata_of_joint_actuators():
    tendons = articulated_tendons(np.ones((2, 3)), names=["left", "right"], max_tension=[5.0, 8.0])
    assert (tendons.metadata.kind, tendons.metadata.units) == ("tendon", "N")
    assert tendons.metadata.names == ("left", "right")
    assert (tendons.metadata.lower, tendons.metadata.upper) == ((0.0, 0.0), (5.0, 8.0))
    motor = joint_efforts(np.eye(3)[1:2], max_effort=2.0).metadata
    assert (motor.kind, motor.names, motor.units) == ("joint", ("joint_0",), "N m")
    assert (motor.lower, motor.upper) == ((-2.0,), (2.0,))


def test_actuator_parameters_of_joints_change_in_place(x64):
    robot = pendulum(tendons=True)
    q = jnp.zeros(3)
    moved = robot.update_actuator_params(0, offset=jnp.array([1.0, 2.0]))
    shift = moved.actuator_coordinates(q) - robot.actuator_coordinates(q)
    np.testing.assert_allclose(shift, [0.99, 1.98, 0.0], atol=1e-12)
    stiffer = robot.update_passive_element_params(0, stiffness=jnp.array([800.0]))
    assert stiffer.passive_elastic_energy(q) > robot.passive_elastic_energy(q)
    with pytest.raises(ValueError, match=r"routing must have shape \(2, 3\), got \(1, 3\)"):
        robot.update_actuator_params(0, routing=jnp.ones((1, 3)))


MASSLESS = r"base_mass > 0 and a positive definite base_inertia, got 0\.0"


@pytest.mark.parametrize("make", [articulated, pendulum])
def test_a_floating_base_needs_inertia(make):
    robot = make(floating=True)
    with pytest.raises(ValueError, match=MASSLESS):
        type(robot)(robot.params.replace(base_mass=0.0), floating_base=True)
    with pytest.raises(ValueError, match=MASSLESS):
        robot.update_params(base_mass=0.0)
    with pytest.raises(ValueError, match="positive definite base_inertia"):
        robot.update_params(base_inertia=0 * robot.params.base_inertia)
    fixed = make()
    fixed.update_params(base_mass=0.0)
    traced = jax.vmap(lambda mass: robot.update_params(base_mass=mass).params.base_mass)(jnp.arange(2.0))
    assert traced.shape == (2,)


SPOILED = {
    "links in no row": (lambda: {"mass": 1.0}, r"mass must have one entry a link, shape \(n,\), got \(\)"),
    "a joint that does not move": (lambda: {"joint_screw": np.zeros((5, 6))}, "joint_screw must not hold a zero twist"),
    "planar screws": (lambda: {"joint_screw": np.ones((5, 3))}, r"joint_screw must have shape \(5, 6\), got \(5, 3\)"),
    "a one-sided spring": (
        lambda: {"joint_stiffness": np.triu(np.ones((5, 5)))},
        "joint_stiffness must be symmetric, its largest asymmetry is 1",
    ),
    "damping on the diagonal only": (
        lambda: {"joint_damping": np.ones(5)},
        r"joint_damping must have shape \(5, 5\), got \(5,\)",
    ),
    "a stretching transform": (
        lambda: {"parent_to_joint_transform": np.ones((5, 4, 4))},
        "parent_to_joint_transform must hold rigid motions",
    ),
    "a mirror": (
        lambda: {"parent_to_joint_transform": np.tile(np.diag([1, 1, -1, 1.0]), (5, 1, 1))},
        "parent_to_joint_transform must hold rigid motions",
    ),
    "an unknown field": (lambda: {"joint_pitch": 1.0}, "unknown ArticulatedSoftRobotParams field joint_pitch"),
}


@pytest.mark.parametrize("case", SPOILED)
def test_articulated_parameters_are_checked(case):
    fields, message = SPOILED[case]
    with pytest.raises(ValueError, match=message):
        articulated().params.replace(**fields())


def test_parameters_of_another_class_are_refused():
    with pytest.raises(TypeError, match="params must be PendulumParams, got ArticulatedSoftRobotParams"):
        Pendulum(articulated().params)


def muscles(**changes):
    arm = UMArm().actuators[0].transmission
    fields = {name: getattr(arm, name) for name in vars(arm)} | changes
    return lambda: mckibben_muscles(**fields)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: articulated_tendons([1.0, 2.0]), r"routing must have shape \(m, number of coordinates\), got \(2,\)"),
        (lambda: articulated_tendons([[1.0, 2.0]], reference=[0.0]), r"reference must have shape \(2,\), got \(1,\)"),
        (lambda: articulated_tendons([[1.0]], max_tension=0.0), "max_tension must be positive.* got 0.0"),
        (lambda: joint_efforts(np.eye(2), names=["a"]), "one name and one limit per input"),
        (lambda: joint_springs([3], num_joints=3, stiffness=1.0), r"joints must lie in 0\.\.2, got \[3\]"),
        (muscles(fixed_points=np.zeros((6, 3, 3))), r"fixed_points must have shape \(6, 4, 3\), got \(6, 3, 3\)"),
        (muscles(joint_pair_indices=[(1, 0)]), r"pairs \(i, j\) with 0 <= i < j, got \(\(1, 0\),\)"),
        (
            lambda: Pendulum(pendulum().params, actuators=articulated_tendons(np.ones((1, 5)))),
            r"routing must have 3 columns.* got shape \(1, 5\)",
        ),
        (
            lambda: PCS(pcs(False, 1).params, actuators=articulated_tendons(np.ones((1, 6)))),
            "must run over joints, got a PCS",
        ),
        (lambda: Pendulum(pendulum().params, actuators=muscles()()), "must run over joints in space, got a Pendulum"),
        (
            lambda: ArticulatedSoftRobot(articulated().params, actuators=muscles()()),
            r"joint_pair_indices must lie in 0\.\.4",
        ),
    ],
)
def test_joint_actuation_is_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_muscle_under_pressure_shortens_and_bends_its_joint(x64):
    """One muscle of the first universal joint: virtual work, and the joint turns so that its length falls."""
    robot = UMArm()
    q, u = jnp.zeros(12).at[0].set(0.1), jnp.zeros(24).at[1].set(1e5)

    @zoo.compiled
    def evaluate(robot):
        return robot.actuation_force(q, u), jax.jacfwd(robot.muscle_lengths)(q)[1], robot.muscle_forces(q, u)[1]

    tau, slope, force = evaluate(robot)
    assert force < 0
    close(tau, slope * force)
    assert slope @ tau < 0  # the way in which the joint is pushed shortens the muscle

"""Planar HSA robots: the page of the class, rods, rigid parts, motors, hysteresis, and the published dynamics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from pages import PCS_PAGE, check_page
from soromox.lie import se2
from soromox.systems import IsotropicMaterialParams, LinkSpec, PlanarHSA, PlanarPCS
from zoo_hsa import four_rods, hsa

# beyond PCS_PAGE: r rods a segment
HSA_PAGE = """
    rod_offset: n r
    platform_dimension: n 3
    proximal_cap_length: n
    distal_cap_length: n
    end_effector_offset: 3
    phi_max: n r
    virtual_to_physical_strains(vxi): n r 3
    physical_to_virtual_strains(pxi): 3*n
    forward_kinematics_rod(q s rod_idx): 3
    forward_kinematics_platform(q segment_idx): 3
    forward_kinematics_end_effector(q): 3
    jacobian_end_effector(q): 3 d
    jacobian_and_time_derivative_end_effector(q qd): 3 d; 3 d
    hysteresis_force(q z): d
    actuation_force(q phi qd): d
"""


@pytest.mark.parametrize(
    ("name", "n", "r", "z"),
    [
        ("hsa_hysteresis", 1, 2, 1),
        pytest.param("hsa_2_segments_3_rods_payload", 2, 3, 0, marks=pytest.mark.slow),
        pytest.param("hsa_3_segments_4_rods", 3, 4, 0, marks=pytest.mark.slow),
        pytest.param("hsa_direct", 1, 2, 0, marks=pytest.mark.slow),
    ],
)
def test_every_name_of_the_page_exists_and_answers_in_its_shape(name, n, r, z, x64):
    robot = zoo.build(name)
    given = dict(rod_idx=1, segment_idx=0, vxi=robot.xi_ref, pxi=robot.params.reference_strain)
    # rod strains are the motors' coordinates, three a motor: its force is no fixed direction times one effort
    coordinates = robot.num_actuators * (3 if robot.consider_underactuation else 1)
    check_page(robot, PCS_PAGE + HSA_PAGE, coordinates, given, r=r)
    numbers = dict(num_segments=n, num_rods_per_segment=r, num_dofs=3 * n, num_hysteresis=z, num_auxiliary_states=z)
    numbers |= dict(num_base_coordinates=0, num_base_velocities=0, num_coordinates=3 * n, num_velocities=3 * n)
    numbers |= dict(state_size=6 * n + z, is_planar=True, supports_articulated_tendon_routing=False)
    assert {key: getattr(robot, key) for key in numbers} == numbers
    assert robot.num_actuators == (n * r if robot.consider_underactuation else 3 * n)
    assert sum(len(group.names) for group in robot.actuator_input_metadata) == robot.num_actuators


def test_constructors_of_the_page(x64):
    """``from_links`` leads to a PlanarPCS; what speaks of links refuses rods; ``eps`` and the base pose are taken."""
    robot = zoo.build("hsa_hysteresis")
    link = LinkSpec(0.1, 1000.0, 0.01, IsotropicMaterialParams(1e5, poisson_ratio=0.5))
    assert type(PlanarHSA.from_links([link, link], gravity=[0.0, 0.0])) is PlanarPCS
    assert PlanarHSA.params_from_links([link]).length.shape == (1,)
    with pytest.raises(TypeError, match="PlanarHSA is not made of links"):
        robot.update_link_params(density=[1.0])
    with pytest.raises(TypeError, match="PlanarHSA is not made of links"):
        robot.with_isotropic_material(link.material)
    made = PlanarHSA(robot.params, robot.structure, base_pose=jnp.array([0.1, 0.2, 0.3]), eps=1e-6)
    np.testing.assert_allclose(made.tangent_eps, 1e-6)
    np.testing.assert_allclose(made.base_transform[:2, 2], [0.2, 0.3])
    np.testing.assert_allclose(robot.with_fixed_base_pose(jnp.array([0.1, 0.2, 0.3])).params.base_pose, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="floating robot has no fixed base"):
        zoo.build("hsa_floating").with_fixed_base_pose(jnp.zeros(3))
    with pytest.raises(TypeError, match="params must be PlanarHSAParams"):
        PlanarHSA(zoo.build("planar_pcs_1").params)
    with pytest.raises(ValueError, match="consider_hysteresis needs hysteresis_basis"):
        PlanarHSA(zoo.build("hsa_motor").params, robot.structure)


def test_inverse_kinematics_inverts_the_end_effector_pose(x64):
    """With a turned base, an offset end effector and a payload; beyond half a turn too."""
    robot = hsa(payload=True).with_fixed_base_pose(jnp.array([0.7, 0.1, -0.2]))
    qs = jnp.array([[5.0, 0.1, -0.05], [-20.0, -0.2, 0.1], [80.0, 0.3, 0.2], [0.0, 0.0, 0.0]])
    there_and_back = zoo.compiled(
        jax.vmap(lambda q: robot.inverse_kinematics(robot.forward_kinematics_end_effector(q)))
    )
    np.testing.assert_allclose(there_and_back(qs), qs, atol=1e-10)
    with pytest.raises(AssertionError, match="one segment"):
        zoo.build("hsa_2_segments_3_rods_payload").inverse_kinematics(jnp.zeros(3))
    with pytest.raises(AssertionError, match="floating"):
        zoo.build("hsa_floating").inverse_kinematics(jnp.zeros(3))
    with pytest.raises(ValueError, match=r"chi_ee must have shape \(3,\), got \(2,\)"):
        robot.inverse_kinematics(jnp.zeros(2))


def test_default_poses_and_the_rest_shape(x64):
    """Upright is the identity, since the backbone is local +y; caps and platforms count along it."""
    params = hsa().params
    np.testing.assert_allclose(params.pose_for("upright"), 0, atol=1e-15)
    np.testing.assert_allclose(params.pose_for("hanging"), [np.pi, 0, 0])
    np.testing.assert_allclose(params.pose_for("horizontal"), [-np.pi / 2, 0, 0])

    @zoo.compiled
    def poses(robot):
        q = jnp.zeros(3)
        return (
            robot.forward_kinematics(q, 0.0),
            robot.forward_kinematics(q, robot.length),
            robot.forward_kinematics_platform(q, 0),
            robot.forward_kinematics_end_effector(q),
            robot.forward_kinematics_rod(q, 0.03, 1),
        )

    straight = hsa().update_params(reference_strain=jnp.zeros((1, 2, 3)).at[..., 2].set(1.0))
    for angle in (0.0, 0.6):
        up, side = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
        places = 0.025 * up, 0.084 * up, 0.104 * up, 0.110 * up, 0.055 * up + 0.024 * side
        for pose, place in zip(poses(straight.update_params(base_pose=[angle, 0.0, 0.0])), places, strict=True):
            np.testing.assert_allclose(pose, [angle, *place], atol=1e-15)


@zoo.over(("hsa_2_segments_3_rods_payload", "hsa_floating"), default=("hsa_floating",))
def test_end_effector_jacobian_is_the_derivative_of_its_pose(name, x64):
    """Rows [x, y, theta], columns the velocities of a floating base too."""
    robot = zoo.build(name)
    q, qd, *_ = (x[0] for x in zoo.samples(robot))

    def evaluate(robot, q, qd):
        slopes = jax.jacfwd(robot.forward_kinematics_end_effector)(q)  # planar velocities are coordinate rates
        J_slope = jax.jvp(robot.jacobian_end_effector, (q,), (qd,))[1]
        return slopes[jnp.array([1, 2, 0])], J_slope, robot.jacobian_and_time_derivative_end_effector(q, qd)

    slopes, J_slope, (J, J_dot) = zoo.compiled(evaluate)(robot, q, qd)
    np.testing.assert_allclose(J, slopes, atol=1e-13)
    np.testing.assert_allclose(J_dot, J_slope, atol=1e-11 * np.abs(J_slope).max())


def test_motors_springs_and_dampers_rod_by_rod(x64):
    """K, D and the motor force, from the formulas of the paper, one rod after another."""
    robot = zoo.build("hsa_2_segments_3_rods_payload")
    q, _, _, phi, _ = (np.asarray(x[0]) for x in zoo.samples(robot))
    p = {key: np.asarray(value) for key, value in vars(robot.params).items() if value is not None}
    n, r = p["rod_offset"].shape
    reference = p["reference_strain"].mean(1)
    reference[:, 2] -= (p["rod_offset"] * p["reference_strain"][..., 0]).mean(1)
    K, D, tau = np.zeros((3 * n, 3 * n)), np.zeros((3 * n, 3 * n)), np.zeros(3 * n)
    for i in range(n):
        rows = slice(3 * i, 3 * i + 3)
        for j in range(r):
            T = np.eye(3)
            T[2, 0] = p["rod_offset"][i, j]
            b, s, a = (p[f"nominal_{kind}_stiffness"][i, j] for kind in ("bending", "shear", "axial"))
            m = p["bending_shear_stiffness"][i, j]
            S = np.array([[b, m, 0], [m, s, 0], [0, 0, a]])
            damping = np.diag([p[f"{kind}_damping"][i, j] for kind in ("bending", "shear", "axial")])
            K[rows, rows] += T.T @ S @ T
            D[rows, rows] += T.T @ damping @ T
            c = p["rod_height"][i, j] / p["length"][i] * phi[i * r + j]
            delta = c * np.diag([p[f"{kind}_stiffness_correction"][i, j] for kind in ("bending", "shear", "axial")])
            xi = T @ (q[rows] + reference[i])
            longer = np.array([0, 0, p["strain_coupling"][i, j] * c])
            tau[rows] += T.T @ (-delta @ (xi - p["reference_strain"][i, j]) + (S + delta) @ longer)
    np.testing.assert_allclose(robot.stiffness_matrix(), K, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(robot.damping_matrix(jnp.asarray(q)), D, rtol=1e-12, atol=1e-18)
    force = zoo.compiled(lambda robot, q, phi: robot.actuation_force(q, phi))(robot, jnp.asarray(q), jnp.asarray(phi))
    np.testing.assert_allclose(force, tau, rtol=1e-12)
    np.testing.assert_allclose(robot.xi_ref, reference.reshape(-1), rtol=1e-12)
    virtual = jnp.asarray(q)
    back = robot.physical_to_virtual_strains(robot.virtual_to_physical_strains(virtual))
    np.testing.assert_allclose(back, virtual, rtol=1e-12)


def test_two_rods_of_opposite_handedness_are_one_of_twice_the_stiffness(x64):
    """Three segments of four rods, turned against each other, are three segments of two: the published 4-rod sets."""
    pairs, single = four_rods(3), hsa(3)
    assert pairs.num_actuators == 12 and pairs.num_rods_per_segment == 4
    q, qd, _, phi, _ = (x[0] for x in zoo.samples(single))
    turned = jnp.repeat(phi, 2) * jnp.tile(jnp.array([1.0, -1.0]), 6)
    rates = zoo.compiled(lambda robot, q, qd, phi: robot.forward_dynamics(0.0, robot.pack_state(q, qd), (phi,)))
    np.testing.assert_allclose(rates(pairs, q, qd, turned), rates(single, q, qd, phi), rtol=1e-9)
    (group,) = pairs.actuator_input_metadata
    np.testing.assert_allclose(group.lower[:2], [0, -200 * np.pi / 180])


def test_limits_follow_the_handedness(x64):
    robot = zoo.build("hsa_2_segments_3_rods_payload")
    (group,) = robot.actuator_input_metadata
    assert group.kind == "hsa_motor" and group.units == "rad" and group.names[:2] == ("phi_0_0", "phi_0_1")
    limit = 200 * np.pi / 180
    np.testing.assert_allclose(group.lower, [0, 0, -limit] * 2)
    np.testing.assert_allclose(group.upper, [limit, limit, 0] * 2)
    (direct,) = zoo.build("hsa_direct").actuator_input_metadata
    assert direct.kind == "identity" and direct.lower == (-np.inf,) * 3


def test_hysteresis_follows_bouc_and_wen(x64):
    robot = zoo.build("hsa_hysteresis")
    p = robot.params
    q, qd, _, u, _ = (x[0] for x in zoo.samples(robot))

    @zoo.compiled
    def rates(robot, q, qd, z, u):
        return robot.forward_dynamics(0.0, robot.pack_state(q, qd, z), (u,))

    for z in (0.02, -0.02, 0.0):
        for sign in (1.0, -1.0):
            xd = sign * float(qd[2])
            z_dot = rates(robot, q, sign * qd, jnp.array([z]), u)[-1]
            gamma, beta, A, n = (float(getattr(p, f"hysteresis_{k}")[0]) for k in ("gamma", "beta", "A", "n"))
            np.testing.assert_allclose(z_dot, xd * (A - abs(z) ** n * (gamma + beta * np.sign(xd * z))), rtol=1e-12)
    # alpha = 1 is the robot without hysteresis, alpha = 0 has only the memory's force
    elastic = robot.update_params(hysteresis_alpha=jnp.ones(3))
    plain = PlanarHSA(p)
    without = zoo.compiled(lambda robot, y, u: robot.forward_dynamics(0.0, y, (u,)))(plain, jnp.concatenate([q, qd]), u)
    np.testing.assert_allclose(rates(elastic, q, qd, jnp.array([0.02]), u)[:6], without, rtol=1e-10)
    memory = robot.update_params(hysteresis_alpha=jnp.zeros(3))
    z = jnp.array([0.02])
    held, free = rates(memory, q, qd, z, u)[3:6], rates(memory, q, qd, 0 * z, u)[3:6]
    M = zoo.compiled(lambda robot, q: robot.inertia_matrix(q))(robot, q)
    np.testing.assert_allclose(M @ (free - held), robot.hysteresis_force(q, z), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(
        robot.hysteresis_force(q, z), robot.stiffness_matrix() @ jnp.array([0, 0, 0.02]), rtol=1e-12
    )


def test_gradients_are_finite_where_hysteresis_begins(x64):
    robot = zoo.build("hsa_hysteresis")
    y = robot.pack_state(jnp.zeros(3), jnp.zeros(3))

    def total(robot, y):
        return jnp.sum(robot.forward_dynamics(0.0, y, (jnp.ones(2),)))

    gradient = zoo.compiled(jax.grad(total, allow_int=True))(robot, y)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(gradient))


def test_published_dynamics_of_the_fpu_set(x64):
    """Eigenvalues at rest: -20.7 +- 305i, -4.5 +- 252i, -0.5 +- 68i 1/s."""
    straight = jnp.zeros((1, 2, 3)).at[..., 2].set(1.0)
    robot = hsa().update_params(reference_strain=straight)

    @zoo.compiled
    def newton(robot, q):
        return q - jnp.linalg.solve(jax.jacfwd(robot.potential_force)(q), robot.potential_force(q))

    @zoo.compiled
    def linearised(robot, q):
        return jax.jacfwd(lambda y: robot.forward_dynamics(0.0, y, (jnp.zeros(2),)))(jnp.concatenate([q, 0 * q]))

    q = jnp.zeros(3)
    for _ in range(5):
        q = newton(robot, q)
    values = np.linalg.eigvals(linearised(robot, q))
    values = values[values.imag > 0]
    values = np.sort_complex(values)
    np.testing.assert_allclose(values, [-20.7 + 305j, -4.5 + 252j, -0.5 + 68j], atol=0.4)


def test_the_epu_set_is_indefinite_without_torsion_and_is_kept_so(x64):
    epu = hsa().update_params(
        nominal_bending_stiffness=jnp.full((1, 2), -5.07876266e-5),
        nominal_shear_stiffness=jnp.full((1, 2), 8.56271546e-2),
        nominal_axial_stiffness=jnp.zeros((1, 2)),
        bending_shear_stiffness=jnp.full((1, 2), 1.008408136e-3),
    )
    assert np.linalg.eigvalsh(epu.stiffness_matrix()).min() < 0


def test_the_payload_is_a_point_mass_at_its_centre_of_gravity(x64):
    """It adds m J^T J of its own point, and weighs there."""
    light, q = hsa(payload=True).update_params(platform_mass=0.0), jnp.array([6.0, 0.1, 0.05])
    heavy = light.update_params(platform_mass=0.05)
    tip = se2.translation(light.params.platform_center_of_gravity)

    def point(q):
        return se2.compose(light.forward_kinematics_end_effector(q), tip)[1:]

    def evaluate(light, heavy, q):
        J = jax.jacfwd(point)(q)
        added = heavy.inertia_matrix(q) - light.inertia_matrix(q)
        weight = heavy.gravitational_energy(q) - light.gravitational_energy(q)
        return added, 0.05 * J.T @ J, weight, -0.05 * light.params.gravity @ point(q)

    added, expected, weight, expected_weight = zoo.compiled(evaluate)(light, heavy, q)
    np.testing.assert_allclose(added, expected, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(weight, expected_weight, rtol=1e-10)

"""I-SUPPORT: pieces add up to their sections, rigid links stay rigid, chambers push, parameters are checked."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.actuation import tendons
from soromox.systems import ISupport, ISupportParams, ISupportStructure
from zoo_isupport import isupport


@zoo.compiled
def evaluate(robot, q, qd):
    y = robot.pack_state(q, qd)
    motion = robot.forward_dynamics(0.0, y, (jnp.full(6, 2e4),))
    return motion, robot.forward_kinematics(q, robot.length), robot.elastic_energy(q), robot.actuator_coordinates(q)


def test_pieces_of_one_strain_are_their_section(x64):
    """Pieces that bend alike have the energy, the tip, the chambers and the accelerations of the undivided section."""
    whole, pieces = isupport(), isupport((2, 3))
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 2, 6)) * [6, 6, 6, 0.1, 0.1, 0.1]
    alike = np.repeat(np.arange(2), (2, 3))
    tip, energy, y = evaluate(whole, jnp.array(q.ravel()), jnp.array(qd.ravel()))[1:]
    divided = evaluate(pieces, jnp.array(q[alike].ravel()), jnp.array(qd[alike].ravel()))[1:]
    for a, b in zip(divided, (tip, energy, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)
    E = np.kron(np.eye(2)[alike], np.eye(6))
    np.testing.assert_allclose(E.T @ pieces.stiffness_matrix() @ E, whole.stiffness_matrix(), rtol=1e-12, atol=1e-12)


def test_the_published_arm(x64):
    """Lengths and mass of Alessi et al.; equal chambers only stretch; the rigid links neither bend nor stretch."""
    robot = isupport()
    np.testing.assert_allclose(robot.length, 0.444, rtol=1e-12)
    assert robot.num_dofs == 12 and robot.num_segments == 5 and isupport((2, 3)).num_segments == 8
    (group,) = robot.actuator_input_metadata
    assert group.kind == "pressure_chamber" and group.units == "Pa" and group.lower == (0.0,) * 6
    tube = np.pi * (7.79e-3**2 - 6.39e-3**2)
    disc = np.pi * 0.03**2
    floating = isupport(floating=True)
    M = zoo.compiled(lambda robot, q: robot.inertia_matrix(q))(floating, jnp.zeros(19).at[3].set(1.0))
    mass = 1210 * disc * (0.041 + 0.027 + 0.006) + 1104 * 3 * tube * (0.190 + 0.180)
    np.testing.assert_allclose(M[3, 3], mass, rtol=1e-12)

    @zoo.compiled
    def at(robot, q):
        nodes = jnp.array([0.231, 0.258])
        return robot.actuation_force(q, jnp.full(6, 1e5)), robot.forward_kinematics_abscissa_batched(q, nodes)

    tau = at(robot, jnp.zeros(12))[0].reshape(2, 6)
    np.testing.assert_allclose(tau[:, 3], 3e5 * tube * np.array([0.190, 0.180]), rtol=1e-12)
    np.testing.assert_allclose(tau[:, [0, 1, 2, 4, 5]], 0, atol=1e-12)
    q = jnp.array([0, 0, 5.0, 0.1, 0, 0] * 2)
    ends = np.asarray(at(robot, q)[1])
    np.testing.assert_allclose(np.linalg.inv(ends[0]) @ ends[1], np.eye(4) + 0.027 * np.eye(4, k=3), atol=1e-13)


def test_chambers_follow_the_parameters(x64):
    """Their place and area are parameters: nothing is kept from the construction, and gradients flow."""
    robot = isupport()
    q = jnp.zeros(12).at[2].set(3.0)
    wider = robot.update_params(chamber_distance=[0.021, 0.021])
    A = robot.actuation_matrix(q)
    np.testing.assert_allclose(wider.actuation_matrix(q)[:3, :3], 1.05 * A[:3, :3], rtol=1e-12)
    larger = ISupport(robot.params.replace(chamber_effective_pressure_area=2 * robot.params.pressure_area))
    np.testing.assert_allclose(larger.actuation_matrix(q), 2 * A, rtol=1e-12)

    def push(distance):
        return robot.update_params(chamber_distance=distance).actuation_force(q, jnp.ones(6).at[1:].set(0))[2]

    slope = jax.grad(push)(jnp.array([0.02, 0.02]))
    np.testing.assert_allclose(slope, [A[2, 0] / 0.02, 0], rtol=1e-10)


def test_other_actuators_and_materials(x64):
    params, structure = ISupportParams.alessi2023(), ISupportStructure(max_pressure=1.5e5)
    assert ISupport(params, structure).actuator_input_metadata[0].upper == (1.5e5,) * 6
    assert ISupport(params, actuators=()).num_actuators == 0
    pulled = ISupport(params, actuators=tendons([[0.02, 0.0]], num_segments=5))
    assert pulled.num_actuators == 1 and pulled.actuator_input_metadata[0].kind == "tendon"
    robot = ISupport(params)
    softer = robot.update_link_params(stiffness=0.5 * params.link.stiffness)
    np.testing.assert_allclose(softer.stiffness_matrix(), 0.5 * robot.stiffness_matrix(), rtol=1e-12)


CASES = [
    (lambda p: p.replace(chamber_distance=[0.02]), r"chamber_distance must have shape \(2,\), got \(1,\)"),
    (lambda p: p.replace(chamber_distance=[0.02, np.nan]), "chamber_distance must be finite"),
    (lambda p: p.replace(chamber_inner_radius=[1e-2, 1e-3]), "chamber_outer_radius must exceed chamber_inner_radius"),
    (lambda p: p.replace(chamber_azimuth_angles=[0.0]), r"chamber_azimuth_angles must be \(m, c\), got \(1,\)"),
    (lambda p: p.replace(chamber_effective_pressure_area=[1e-5, 0.0]), "chamber_effective_pressure_area must be pos"),
    (lambda p: ISupportStructure(pcs_segment_counts=(1,)), "pcs_segment_counts must be a positive number .* 2 pneum"),
    (lambda p: ISupportStructure(pcs_segment_counts=(1, 0)), r"pcs_segment_counts must be .* got \(1, 0\)"),
    (
        lambda p: ISupport(p, ISupportStructure(rigid_segment_selector=(True, False, False))),
        r"rigid_segment_selector must have one flag a link \(5\), got 3",
    ),
    (
        lambda p: ISupport(
            p, ISupportStructure(pcs_segment_counts=(2,), rigid_segment_selector=(False, True, True, True, True))
        ),
        r"pcs_segment_counts must have one entry a pneumatic section of the chambers \(2\), got 1",
    ),
    (lambda p: ISupport(p.replace(pcs_segment_lengths=[0.1])), r"pcs_segment_lengths must have shape \(2,\), got"),
    (
        lambda p: ISupport(p.replace(pcs_segment_lengths=[0.1, 0.18])),
        r"pcs_segment_lengths must add up to the lengths \[0.19, 0.18\] of the pneumatic links, got \[0.1, 0.18\]",
    ),
    (lambda p: ISupport(p).update_params(pcs_segment_lengths=[0.1, 0.18]), "pcs_segment_lengths"),
    (
        lambda p: ISupport(p.replace(chamber_distance=[0.02, 0.04])),
        r"chamber_outer_radius must add up to at most the radius \[0.03, 0.03\] .* got \[0.0277.*, 0.04779\]",
    ),
]


@pytest.mark.parametrize(("build", "words"), CASES)
def test_refusals_name_the_field_the_expectation_and_the_value(build, words, x64):
    with pytest.raises(ValueError, match=words):
        build(ISupportParams.alessi2023())


def test_arms_are_built_inside_vmap(x64):
    robot = isupport()

    def tip(stretch):
        made = ISupport(eqx.tree_at(lambda p: p.link.length, robot.params, stretch * robot.params.link.length))
        return made.forward_kinematics(jnp.zeros(12), made.length)[2, 3]

    heights = jax.vmap(tip)(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(heights, [-0.444, -0.888], rtol=1e-12)

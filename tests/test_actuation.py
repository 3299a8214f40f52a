"""Actuators and passive elements: closed forms, metadata, composition, parameters and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.actuation import (
    Actuator,
    ActuatorMetadata,
    ActuatorParams,
    muscles,
    passive_threads,
    pressure_chambers,
    push_rods,
    tendons,
)
from soromox.systems import PCS, PlanarPCS
from zoo_pcs import pcs


def straight(planar: bool, n: int, actuators, **options):
    """A straight rod of the zoo with those actuators."""
    base = pcs(planar, n)
    reference = jnp.zeros_like(base.params.link.reference_strain).at[:, 1 if planar else 3].set(1.0)
    params = base.update_link_params(reference_strain=reference).params
    return (PlanarPCS if planar else PCS)(params, actuators=actuators, **options)


@zoo.compiled
def routed(robot, q):
    return robot.actuator_coordinates(q), robot.actuation_matrix(q)


def test_tendon_lengths_in_closed_form(x64):
    """Minus: bending shortens the inner tendon, a sloped one is a hypotenuse, twist winds a helix, spans count."""
    L = np.array([0.12, 0.10])
    d = 0.01
    planar = straight(True, 2, tendons([[d], [-d], [d]], num_segments=2, start=[0, 0, 1], end=[1, 0, 1]))
    y, A = routed(planar, jnp.array([3.0, 0.1, 0, -2.0, 0, 0]))
    first, second = L[0] * (1.1 - 3.0 * d), L[1] * (1 + 2.0 * d)
    np.testing.assert_allclose(y, [-(first + second), -L[0] * (1.1 + 3.0 * d), -second], rtol=1e-12)
    np.testing.assert_allclose(A[0], [d * L[0], -d * L[0], 0], atol=1e-15)
    np.testing.assert_allclose(A[1, 0], -L[0], rtol=1e-12)
    slope = -0.1
    sloped = straight(True, 2, tendons([[d]], slope=[[slope]], num_segments=2))
    np.testing.assert_allclose(routed(sloped, jnp.zeros(6))[0], [-L.sum() * np.hypot(1, slope)], rtol=1e-12)
    spatial = straight(False, 1, tendons([[0.0, 0.6 * d, 0.8 * d]], num_segments=1))
    y, _ = routed(spatial, jnp.array([20.0, 0, 0, 0.2, 0, 0]))
    np.testing.assert_allclose(y, [-L[0] * np.hypot(1.2, 20.0 * d)], rtol=1e-12)


def test_the_slope_counts_from_the_base_of_the_robot(x64):
    """Under bending a sloped tendon on the second segment sits at intercept + slope L_1 there."""
    L, d, slope, kappa = np.array([0.12, 0.10]), 0.01, -0.05, 2.0
    robot = straight(True, 2, tendons([[d]], slope=[[slope]], num_segments=2, start=[1], end=[1]))
    _, A = routed(robot, jnp.zeros(6).at[3].set(kappa))
    s, w = np.polynomial.legendre.leggauss(40)
    s, w = L[0] + L[1] * (s + 1) / 2, L[1] * w / 2
    offset = d + slope * s
    along = 1 - kappa * offset
    np.testing.assert_allclose(A[3, 0], np.sum(w * offset * along / np.hypot(along, slope)), rtol=1e-10)


def test_inputs_and_coordinates_keep_the_order_of_the_actuators(x64):
    """Two groups of tendons; forces add; the model does not clip; floating bases are not pushed."""
    left = tendons([[0.01]], num_segments=1, names=["left"], max_tension=5.0)
    right = tendons([[-0.01], [-0.015]], num_segments=1, max_tension=[1.0, 2.0])
    robot = straight(True, 1, (left, right), floating_base=True)
    assert robot.num_actuators == 3
    assert [group.names for group in robot.actuator_input_metadata] == [("left",), ("tendon_0", "tendon_1")]
    assert robot.actuator_input_metadata[1].upper == (1.0, 2.0) and robot.actuator_input_metadata[0].units == "N"
    q, u = jnp.array([0.1, 0.2, 0.3, 2.0, 0.1, 0.0]), jnp.array([7.0, -3.0, 11.0])
    force = zoo.compiled(lambda robot, q, u: (robot.actuation_force(q, u), robot.actuation_matrix(q)))
    tau, A = force(robot, q, u)
    np.testing.assert_allclose(tau, A @ u, rtol=1e-12)
    np.testing.assert_array_equal(tau[:3], 0)
    for i, one in enumerate(
        (straight(True, 1, left, floating_base=True), straight(True, 1, right, floating_base=True))
    ):
        np.testing.assert_allclose(force(one, q, u[:1] if i == 0 else u[1:])[1], A[:, :1] if i == 0 else A[:, 1:])


def test_identity_none_and_unactuated(x64):
    q, qd = jnp.array([2.0, 0.1, 0.0]), jnp.zeros(3)
    identity = straight(True, 1, None)
    np.testing.assert_array_equal(identity.actuation_force(q, jnp.arange(3.0)), jnp.arange(3.0))
    bare = straight(True, 1, ())
    assert bare.num_actuators == 0 and bare.actuator_input_metadata == ()
    assert bare.actuator_coordinates(q).shape == (0,) and bare.actuation_matrix(q).shape == (3, 0)
    rates = zoo.compiled(lambda robot, y, args: robot.forward_dynamics(0.0, y, args))
    y = jnp.concatenate([q, qd])
    np.testing.assert_allclose(rates(bare, y, None), rates(identity, y, None), rtol=1e-12)
    np.testing.assert_allclose(rates(bare, y, (None, qd)), rates(identity, y, (qd,)), rtol=1e-12)


def test_kinds_of_threads_differ_in_their_scale_and_metadata(x64):
    """Tendons and muscles shorten, push rods lengthen, chambers fill by the volume over which a pressure acts."""
    offsets, routing = [[0.01], [-0.004]], dict(num_segments=2, slope=[[0.0], [0.02]], end=[1, 0])
    areas = np.array([2e-5, 3e-5])
    kinds = [
        ("tendon", "N", -1.0, tendons(offsets, max_tension=[5.0, 6.0], **routing)),
        ("muscle", "N", -1.0, muscles(offsets, max_tension=[5.0, 6.0], **routing)),
        ("push_rod", "N", 1.0, push_rods(offsets, max_force=[5.0, 6.0], **routing)),
        ("pressure_chamber", "Pa", areas, pressure_chambers(offsets, areas, max_pressure=[5.0, 6.0], **routing)),
    ]
    q, u = jnp.array([3.0, 0.1, 0, -2.0, 0, 0]), jnp.array([2.0, 4.0])
    thread = passive_threads(offsets, stiffness=1.0, rest_length=0.1, **routing).transmission
    plain = straight(True, 2, Actuator(thread, ActuatorMetadata("", ("a", "b"), "N", (0.0, 0.0), (5.0, 6.0))))
    lengths, A = routed(plain, q)
    for kind, units, scale, actuator in kinds:
        metadata = actuator.metadata
        assert (metadata.kind, metadata.units, metadata.lower, metadata.upper) == (kind, units, (0.0, 0.0), (5.0, 6.0))
        assert metadata.names == (f"{kind}_0", f"{kind}_1")
        robot = straight(True, 2, actuator)
        np.testing.assert_allclose(routed(robot, q)[0], scale * lengths, rtol=1e-12)
        np.testing.assert_allclose(robot.actuation_force(q, u), A @ (scale * u), rtol=1e-12, atol=1e-15)


def test_passive_thread_is_a_spring_and_a_damper(x64):
    """``U = k (l - l0)^2 / 2``, force ``(dl/dq) k (l - l0)``, damping ``(dl/dq) d (dl/dq)^T``, in every sum."""
    k, d, rest = 40.0, 0.3, 0.1
    thread = passive_threads([[0.01]], num_segments=1, stiffness=k, damping=d, rest_length=rest)
    plain, robot = straight(True, 1, ()), straight(True, 1, (), passive_elements=thread)
    q, qd = jnp.array([3.0, 0.1, 0.02]), jnp.array([1.0, -0.2, 0.3])

    @zoo.compiled
    def evaluate(robot, q, qd):
        rates = robot.forward_dynamics(0.0, jnp.concatenate([q, qd]))[3:]
        sums = robot.elastic_energy(q), robot.elastic_force(q), robot.damping_matrix(q)
        own = robot.passive_elastic_energy(q), robot.passive_elastic_force(q), robot.passive_damping_matrix(q)
        return sums, own, robot.inertia_matrix(q) @ rates

    (sums, own, pushed), (bare, none, free) = evaluate(robot, q, qd), evaluate(plain, q, qd)
    L = 0.12
    slope = L * np.array([-0.01, (1.1 - 0.03), 0.02])
    along = np.hypot(1.1 - 0.03, 0.02)
    slope = np.array([-0.01 * L * (1.1 - 0.03), L * (1.1 - 0.03), L * 0.02]) / along
    stretch = L * along - rest
    expected = k * stretch**2 / 2, k * stretch * slope, d * np.outer(slope, slope)
    for own_part, part, total, without in zip(own, expected, sums, bare, strict=True):
        np.testing.assert_allclose(own_part, part, rtol=1e-12)
        np.testing.assert_allclose(total, without + part, rtol=1e-12)
    assert not any(np.any(x) for x in none)
    np.testing.assert_allclose(pushed - free, -expected[1] - expected[2] @ qd, rtol=1e-8)


def test_changed_actuators_change_the_physics(x64):
    robot = straight(True, 1, tendons([[0.01], [-0.01]], num_segments=1))
    q = jnp.array([2.0, 0.0, 0.0])
    y, A = routed(robot, q)
    wider = robot.update_actuator_params(0, intercept=1.5 * robot.actuators[0].transmission.intercept)
    np.testing.assert_allclose(routed(wider, q)[1][0], 1.5 * A[0], rtol=1e-12)
    listed = robot.update_actuator_params(0, intercept=[[0.015], [-0.015]])
    np.testing.assert_allclose(routed(listed, q)[0], routed(wider, q)[0], rtol=1e-15)
    again = robot.with_actuator_params(0, wider.actuators[0].params)
    np.testing.assert_allclose(routed(again, q)[0], routed(wider, q)[0], rtol=1e-15)
    assert routed(robot, q)[0][0] == y[0]  # the robot itself stays as it was
    pushing = robot.update_actuator_params(0, scale=jnp.ones(2))
    np.testing.assert_allclose(routed(pushing, q)[0], -y, rtol=1e-15)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda r: r.update_actuator_params(0, colour=1.0),
            ValueError,
            "unknown actuator parameter 'colour'; .*intercept",
        ),
        (
            lambda r: r.update_actuator_params(0, intercept=[[0.1]]),
            ValueError,
            r"intercept must have shape \(2, 1\), got \(1, 1\)",
        ),
        (lambda r: r.update_actuator_params(3, scale=1.0), ValueError, "actuators has 1 entries, so index 3"),
        (lambda r: r.with_actuator_params(0, 3), TypeError, "actuator params must be ActuatorParams, got int"),
        (lambda r: r.update_passive_element_params(0, stiffness=1.0), ValueError, "passive_elements has 0 entries"),
        (lambda r: PlanarPCS(r.params, actuators=(3,)), TypeError, "actuators must hold Actuator objects, got int"),
    ],
)
def test_refusals_say_what_was_expected(call, error, words, x64):
    robot = straight(True, 1, tendons([[0.01], [-0.01]], num_segments=1))
    with pytest.raises(error, match=words):
        call(robot)


def test_params_of_an_actuator_are_one_tree(x64):
    actuator = tendons([[0.01]], num_segments=1)
    assert isinstance(actuator.params, ActuatorParams)
    doubled = actuator.with_params(jax.tree.map(lambda x: 2 * x, actuator.params))
    np.testing.assert_allclose(doubled.transmission.intercept, 0.02)

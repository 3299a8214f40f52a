"""The robots of the suite: what an environment needs to know of them, and their tables of targets."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox_envs.curves import DAMPING, FITS, KINDS, LEAD_IN, PER_KIND, POINTS, SIZE, follow, linearize
from soromox_envs.robots import MODULES, model_of
from soromox_envs.robots.model import input_limits, input_names
from soromox_envs.targets import load_table
from soromox_envs.tasks.track import TrackState

REACHERS = tuple(key for key in MODULES if not model_of(key).postures)


def over(keys, default):
    """Runs a test over robots, as its argument ``key``; those not in ``default`` are slow."""
    slow = {key: [] if key in default else [pytest.mark.slow] for key in keys}
    return pytest.mark.parametrize("key", [pytest.param(k, marks=[pytest.mark.xdist_group(k), *slow[k]]) for k in keys])


@cache
def built(key):
    with jax.enable_x64(True):
        return model_of(key).build()


@pytest.mark.parametrize("key", MODULES)
def test_a_model_names_and_scales_what_its_robot_has(key, x64):
    model, robot = model_of(key), built(key)
    lower, upper = input_limits(robot)
    assert model.key == key and np.all(np.isfinite(lower) & (lower < upper))
    assert len(set(input_names(robot))) == robot.num_actuators
    for names, scales, count in (
        (model.coordinate_names, model.coordinate_scale, robot.num_coordinates),
        (model.rate_names, model.velocity_scale, robot.num_velocities),
    ):
        assert len(set(names)) == len(names) == len(scales) == count
    assert model.control_dt / model.actuator_dt == pytest.approx(round(model.control_dt / model.actuator_dt))
    assert min(model.max_payload, model.max_tip_force, model.body_radius, model.tip_speed_scale) > 0


@over(MODULES, default=("PlanarHSA",))
def test_a_scaled_robot_is_linearly_stiffer_and_more_viscous(key, x64):
    model, robot = model_of(key), built(key)
    q = jnp.asarray(load_table(key)["q"][-1]) + 0.1
    factors = jnp.array([[1.0, 1.0], [2.0, 0.5]])

    @zoo.compiled
    def evaluate(factors):
        def one(factors):
            scaled = model.scaled(robot, *factors)
            return scaled.elastic_force(q), scaled.damping_matrix(q), scaled.inertia_matrix(q)

        return jax.vmap(one)(factors)

    force, damping, inertia = evaluate(factors)
    np.testing.assert_allclose(force[1], 2 * force[0], rtol=1e-12)
    np.testing.assert_allclose(damping[1], 0.5 * damping[0], rtol=1e-12)
    np.testing.assert_array_equal(inertia[1], inertia[0])
    assert np.any(damping[0] != 0) and (np.any(force[0] != 0) or key == "UMArm")  # whose joints have no springs


@over(MODULES, default=("PlanarHSA", "Swimmer", "GVS"))
def test_the_motion_of_the_tip_is_the_rate_of_its_pose(key, x64):
    model, robot = model_of(key), built(key)
    q = jnp.asarray(load_table(key)["q"][-1]) + 0.05 * jnp.arange(robot.num_coordinates)
    v = jnp.cos(jnp.arange(robot.num_velocities, dtype=q.dtype))

    @zoo.compiled
    def both(q, v):
        q = robot.split_state(robot.project_state(robot.pack_state(q, v)))[0]
        rate = robot.configuration_derivative(q, v)
        end = getattr(robot, "forward_kinematics_end_effector", lambda q: robot.forward_kinematics(q, robot.length))
        motion = model.motion(robot, q, v)
        return (motion.tip, motion.rate), jax.jvp(end, (q,), (rate,))

    for ours, autodiff in zip(*both(q, v), strict=True):
        np.testing.assert_allclose(ours, autodiff, rtol=0, atol=1e-12)


@over(REACHERS, default=("PlanarHSA",))
def test_targets_are_tips_of_stable_equilibria(key, x64):
    model, robot, table = model_of(key), built(key), load_table(key)
    lower, upper = input_limits(robot)
    assert len(table["u"]) == 1024 and np.all((table["u"] >= lower) & (table["u"] <= upper))
    rows = slice(None, None, 50)
    length, width = float(model.length(robot)), upper - lower

    @zoo.compiled
    def evaluate(q, u):
        def one(q, u):
            line = linearize(model, robot, q, u)
            body = model.motion(robot, q, body=True).body
            return line.tip, line.tip_slope, jnp.linalg.eigvals(line.stiffness).real.min(), body

        return jax.vmap(one)(q, u)

    tip, slope, stiffness, body = evaluate(jnp.asarray(table["q"][rows]), jnp.asarray(table["u"][rows]))
    assert np.all(np.asarray(stiffness) > 0)
    assert np.abs(tip - table["tip"][rows]).max() < 1e-6 * length
    np.testing.assert_allclose(body, table["body"][rows], atol=1e-6 * length)
    np.testing.assert_allclose(table["body"][rows, -1], tip, atol=1e-6 * length)
    if not robot.is_planar:
        R = table["rotation"]
        np.testing.assert_allclose(R @ np.swapaxes(R, 1, 2), np.broadcast_to(np.eye(3), R.shape), atol=1e-6)
    # the least change of the inputs, in shares of their ranges, by least squares
    target = np.eye(len(width) + tip.shape[1])[:, : tip.shape[1]]
    for stored, by_input in zip(table["sensitivity"][rows], np.asarray(slope) * width, strict=True):
        damped = np.concatenate([by_input, DAMPING * length * np.eye(len(width))])
        shares = np.linalg.lstsq(damped, target)[0]
        np.testing.assert_allclose(stored / width[:, None], shares, rtol=2**-11, atol=1e-6 * np.abs(shares).max())


@pytest.mark.parametrize("key", REACHERS)
def test_curves_are_closed_and_divided_evenly(key, x64):
    model, robot, table = model_of(key), built(key), load_table(key)
    curves, arc, length = table["curves"].astype(float), table["curve_length"], float(model.length(robot))
    assert curves.shape == (len(KINDS) * PER_KIND, POINTS, robot.group.space)
    steps = np.linalg.norm(np.roll(curves, -1, axis=1) - curves, axis=-1)
    assert np.all(np.abs(steps / steps.mean(1, keepdims=True) - 1) < 0.03)
    np.testing.assert_allclose(steps.sum(1), arc, rtol=0.01)
    across = np.linalg.norm(curves[:, :, None] - curves[:, None], axis=-1).max((1, 2)) / length
    assert np.all((across > 0.5 * FITS[-1] * SIZE[0]) & (across < SIZE[1] + 0.04))


def test_the_velocity_of_a_target_keeps_the_digits_of_single_precision():
    """As the positions on the curve do, of which it is a difference."""
    phases = np.arange(0, 4096, 37) / 4096  # such that the place on the curve is exact

    def velocities(dtype):
        def one(curve, phase):
            state = TrackState(curve, phase, jnp.asarray(2.0**-6, dtype), jnp.zeros((), jnp.int32))
            return jax.jvp(state.at, (jnp.zeros((), dtype),), (jnp.ones((), dtype),))[1]

        over_phases = jax.vmap(one, (None, 0))
        return jax.vmap(over_phases, (0, None))(jnp.asarray(curves, dtype), jnp.asarray(phases, dtype))

    curves = load_table("PCS")["curves"]
    single = np.asarray(velocities("float32"))
    with jax.enable_x64(True):
        double = np.asarray(velocities("float64"))
    np.testing.assert_allclose(single, double, rtol=0, atol=5e-7 * np.abs(double).max())


@over(REACHERS, default=())
def test_the_tip_can_follow_the_curves(key, x64):
    model, robot, table = model_of(key), built(key), load_table(key)
    curves = table["curves"][::4].astype(float)
    lower, upper = (jnp.asarray(limit) for limit in input_limits(robot))
    rows = np.argmin(np.linalg.norm(table["tip"] - curves[:, None, -LEAD_IN], axis=-1), axis=1)
    q, u = jnp.asarray(table["q"][rows]), jnp.asarray(table["u"][rows])
    image = follow(model, robot, lower, upper, q, u, jnp.asarray(curves))
    assert np.all(image.sound)
    assert np.linalg.norm(image.tips - curves, axis=-1).max() < 0.002 * float(model.length(robot))


@pytest.mark.parametrize("key", [key for key in MODULES if key not in REACHERS])
def test_robots_without_targets_have_postures_to_begin_from(key, x64):
    model, robot, table = model_of(key), built(key), load_table(key)
    np.testing.assert_array_equal(table["q"], model.postures)
    assert not np.any(table["u"]) and table["u"].shape[1] == robot.num_actuators
    for q, tip in zip(table["q"], table["tip"], strict=True):
        np.testing.assert_allclose(model.tip_position(robot, jnp.asarray(q)), tip, atol=1e-12)

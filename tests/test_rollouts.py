"""Rollouts: the grid, the two ways through time, orders of convergence, chaining, control and environment states."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soromox.simulation import RK4, SemiImplicitEuler
from soromox.systems import PlanarPCS, PlanarPCSParams, SystemState

pytestmark = pytest.mark.usefixtures("x64")


@pytest.fixture(scope="module")
def robot():
    with jax.enable_x64(True):
        params = PlanarPCSParams(
            length=[0.1],
            radius=[0.02],
            density=[1070.0],
            young_modulus=[2e3],
            shear_modulus=[1e3],
            material_damping_coefficient=[3.0],
        )
        return PlanarPCS(params)


def start(robot, **fields) -> SystemState:
    y = jnp.zeros(robot.state_size).at[0].set(5.0).at[4].set(0.3)
    return SystemState(0.0, y, **fields)


U = (1e-4, 2e-3, 1e-3)


def test_saves_at_the_regular_grid_and_at_the_end(robot):
    path = robot.rollout_to(start(robot), t1=0.025, save_dt=0.01, solver_dt=1e-3, solver=RK4())
    np.testing.assert_allclose(path.t, [0, 0.01, 0.02, 0.025], atol=1e-15)
    assert path.y.shape == (4, 6) and path.u.shape == (4, 3)
    np.testing.assert_array_equal(path.y[0], start(robot).y)
    exact = robot.rollout_to(start(robot), t1=0.03, save_dt=0.01, solver_dt=1e-3, solver=RK4())
    np.testing.assert_allclose(exact.t, [0, 0.01, 0.02, 0.03], atol=1e-15)
    late = robot.rollout_to(start(robot), t1=0.025, save_ts=[0.02], solver_dt=1e-3, solver=RK4())
    np.testing.assert_allclose(late.y[0], path.y[2], rtol=1e-12)


def test_scan_and_adaptive_paths_agree(robot):
    options = {"u": jnp.array(U), "t1": 0.05, "save_dt": 0.01}
    scan = robot.rollout_to(start(robot), solver_dt=5e-4, solver=RK4(), **options)
    adaptive = robot.rollout_to(
        start(robot), solver_dt=1e-4, stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-11), **options
    )
    np.testing.assert_allclose(scan.y, adaptive.y, rtol=1e-6, atol=1e-6)
    traced = jax.jit(lambda dt: robot.rollout_to(start(robot), solver_dt=dt, solver=RK4(), **options).y)(5e-4)
    np.testing.assert_allclose(traced, scan.y, rtol=1e-9, atol=1e-10)


def test_an_exhausted_adaptive_path_is_nan(robot):
    path = robot.rollout_to(
        start(robot), t1=0.1, stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-11), max_steps=3
    )
    assert bool(jnp.isnan(path.y[-1]).all())


@pytest.mark.parametrize(("solver", "order"), [("SemiImplicitEuler", 1), ("RK4", 4)])
def test_order_of_convergence(robot, solver, order):
    method = SemiImplicitEuler(robot) if solver == "SemiImplicitEuler" else RK4()

    def end(dt, method):
        return robot.rollout_to(start(robot), u=jnp.array(U), t1=0.04, save_dt=0.04, solver_dt=dt, solver=method).y[-1]

    exact = end(2e-5, RK4())
    steps = np.array([1e-3, 5e-4, 2.5e-4]) * (1 if order == 1 else 2)
    errors = [float(jnp.abs(end(dt, method) - exact).max()) for dt in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.15)


def test_impossible_grids_are_refused_with_a_sentence(robot):
    state = start(robot)
    hold = lambda state: (jnp.zeros(3), None)  # noqa: E731
    discrete = robot.rollout_discrete_closed_loop_to
    with pytest.raises(ValueError, match="duration must be an integer multiple of control_dt, got 0.025 / 0.01 = 2.5"):
        discrete(state, hold, duration=0.025, control_dt=0.01, save_dt=0.01)
    with pytest.raises(ValueError, match="control_dt must be an integer multiple of save_dt"):
        discrete(state, hold, duration=0.02, control_dt=0.01, save_dt=0.004)
    with pytest.raises(ValueError, match="must be positive, got 0.02 and 0"):
        discrete(state, hold, duration=0.02, control_dt=0, save_dt=0.01)
    with pytest.raises(ValueError, match="solver_dt must be positive, got -0.001"):
        robot.rollout_to(state, t1=0.1, solver_dt=-0.001)
    with pytest.raises(ValueError, match="t1 must lie after initial_state.t"):
        robot.rollout_to(state, t1=0.0)
    with pytest.raises(ValueError, match="save_ts must be increasing times within"):
        robot.rollout_to(state, t1=0.1, save_ts=[0.2])
    for name in ("t1", "save_dt"):
        with pytest.raises(ValueError, match=f"{name} is traced, .* give save_ts"):
            jax.jit(lambda x, name=name: robot.rollout_to(state, **{"t1": 0.1, "save_dt": 0.01, name: x}).y)(0.05)


def lag(state: SystemState):
    """A controller with a state: feedback on the strains, filtered."""
    x = state.control_state
    return 1e-3 * x, 20 * (-state.y[:3] - x)


def test_two_chained_rollouts_equal_one_twice_as_long(robot):
    options = {"control_dt": 0.005, "save_dt": 0.005, "solver_dt": 1e-3, "solver": RK4()}
    first = start(robot, control_state=jnp.ones(3))
    whole = robot.rollout_discrete_closed_loop_to(first, lag, duration=0.04, **options)
    half = robot.rollout_discrete_closed_loop_to(first, lag, duration=0.02, **options)
    rest = robot.rollout_discrete_closed_loop_to(half[-1].replace(u=None), lag, duration=0.02, **options)
    assert whole.t.shape == (9,) and half.t.shape == (5,)
    np.testing.assert_allclose(rest.t[-1], whole.t[-1])
    np.testing.assert_allclose(rest.y, whole.y[4:], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(rest.control_state, whole.control_state[4:], rtol=1e-12)


def test_the_control_state_takes_euler_steps_and_feed_forward_adds(robot):
    dt = 0.005
    first = start(robot, control_state=jnp.ones(3), u=jnp.array(U))
    path = robot.rollout_discrete_closed_loop_to(
        first, lag, duration=2 * dt, control_dt=dt, save_dt=dt, solver_dt=1e-3, solver=RK4()
    )
    x = jnp.ones(3)
    for k in range(2):
        np.testing.assert_allclose(path.control_state[k], x, rtol=1e-12)
        np.testing.assert_allclose(path.u[k], jnp.array(U) + 1e-3 * x, rtol=1e-12)
        x = x + dt * 20 * (-path.y[k, :3] - x)
    np.testing.assert_allclose(path.control_state[2], x, rtol=1e-12)
    open_loop = robot.rollout_to(first[()].replace(u=path.u[0]), t1=dt, save_dt=dt, solver_dt=1e-3, solver=RK4())
    np.testing.assert_allclose(path.y[1], open_loop.y[-1], rtol=1e-12)


def test_continuous_closed_loop_is_the_limit_of_the_sampled_one(robot):
    first = start(robot, control_state=jnp.ones(3))
    continuous = robot.rollout_closed_loop_to(first, lag, t1=0.02, save_dt=0.02, solver_dt=5e-4, solver=RK4())
    errors = []
    for dt in (1e-3, 5e-4):
        sampled = robot.rollout_discrete_closed_loop_to(
            first, lag, duration=0.02, control_dt=dt, save_dt=dt, solver_dt=5e-4, solver=RK4()
        )
        errors.append(float(jnp.abs(sampled.y[-1] - continuous.y[-1]).max()))
    assert errors[1] < 0.6 * errors[0]


def test_environment_models_add_forces_and_integrate_their_state(robot):
    def drag(state: SystemState):
        _, v, _ = robot.split_state(state.y)
        return -2e-4 * v, v @ v

    first = start(robot, environment_state=jnp.zeros(()))
    path = robot.rollout_to(
        first, tau_ext=jnp.array(U), environment_model=drag, t1=0.02, save_dt=1e-4, solver_dt=5e-4, solver=RK4()
    )
    speed = np.sum(np.asarray(path.y[:, 3:]) ** 2, axis=1)
    integral = np.concatenate([[0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * 1e-4)])
    np.testing.assert_allclose(path.environment_state, integral, rtol=2e-3, atol=1e-6)
    # identity actuation: the same force through the actuators, and drag folded into the damping
    damped = robot.update_link_params(damping=robot.params.link.damping + 2e-4 * jnp.eye(3)[None])
    same = damped.rollout_to(start(robot), u=jnp.array(U), t1=0.02, save_dt=1e-4, solver_dt=5e-4, solver=RK4())
    np.testing.assert_allclose(path.y, same.y, rtol=1e-9, atol=1e-11)


def sampled_outcome(robot):
    """A scalar of a sampled rollout, as a function of the actuation and a factor on the stiffness."""

    def outcome(u, scale, solver_dt=1e-3):
        stiffness = scale * robot.params.link.stiffness
        path = robot.update_link_params(stiffness=stiffness).rollout_discrete_closed_loop_to(
            start(robot, control_state=jnp.zeros(3)),
            lambda state: (u + lag(state)[0], lag(state)[1]),
            duration=0.02,
            control_dt=0.005,
            save_dt=0.005,
            solver_dt=solver_dt,
            solver=RK4(),
        )
        return path.y[-1] @ jnp.array([1.0, 30.0, 30.0, 0.01, 1.0, 1.0])

    return outcome


def test_gradients_in_both_modes_equal_central_differences(robot):
    """Through ``rollout_discrete_closed_loop_to`` under jit."""
    outcome = sampled_outcome(robot)
    arguments = (jnp.array(U), jnp.ones(()))
    value = jax.jit(outcome)
    reverse = jax.jit(jax.grad(outcome, argnums=(0, 1)))(*arguments)
    forward = jax.jit(jax.jacfwd(outcome, argnums=(0, 1)))(*arguments)
    for index in range(3):
        h = jnp.zeros(3).at[index].set(1e-6)
        slope = (value(arguments[0] + h, 1.0) - value(arguments[0] - h, 1.0)) / 2e-6
        for gradient in (reverse, forward):
            assert float(gradient[0][index]) == pytest.approx(float(slope), rel=1e-4)
    slope = (value(arguments[0], 1 + 1e-5) - value(arguments[0], 1 - 1e-5)) / 2e-5
    for gradient in (reverse, forward):
        assert float(gradient[1]) == pytest.approx(float(slope), rel=1e-4)


@pytest.mark.slow
def test_gradients_pass_through_the_adaptive_path(robot):
    outcome = sampled_outcome(robot)
    arguments = (jnp.array(U), jnp.ones(()))
    scan = jax.jit(jax.grad(outcome, argnums=(0, 1)))(*arguments)
    adaptive = jax.jit(jax.grad(outcome, argnums=(0, 1)))(*arguments, jnp.asarray(1e-3))
    np.testing.assert_allclose(adaptive[0], scan[0], rtol=1e-6)
    np.testing.assert_allclose(adaptive[1], scan[1], rtol=1e-6)


def test_rollouts_vmap_over_states_and_parameters(robot):
    def end(y, scale):
        changed = robot.update_link_params(density=scale * robot.params.link.density)
        return changed.rollout_to(SystemState(0.0, y), t1=0.01, save_dt=0.01, solver_dt=1e-3, solver=RK4()).y[-1]

    ys = start(robot).y[None] * jnp.array([[0.5], [1.0]])
    scales = jnp.array([1.0, 2.0])
    batch = jax.jit(jax.vmap(end))(ys, scales)
    for row, y, scale in zip(batch, ys, scales, strict=True):
        np.testing.assert_allclose(row, eqx.filter_jit(end)(y, scale), rtol=1e-9, atol=1e-12)

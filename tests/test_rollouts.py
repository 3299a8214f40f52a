"""Rollouts in time, against the closed forms of an oscillator."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from soromox.simulation import RK4
from soromox.systems import DynamicalSystem, SystemState

OMEGA = 3.0


class Oscillator(DynamicalSystem):
    """A unit mass on a spring: ``q'' = u + tau_ext - stiffness q``, y = [q, v]."""

    stiffness: Array

    @property
    def num_dofs(self) -> int:
        return 1

    @property
    def num_actuators(self) -> int:
        return 1

    def forward_dynamics(self, t, y, actuation_args=None):
        force = sum(actuation_args)
        return jnp.concatenate([y[1:], force - self.stiffness * y[:1]])


def exact(t, q0=0.5, v0=-1.0, force=0.0):
    """Position of the oscillator under a constant force."""
    rest = force / OMEGA**2
    return rest + (q0 - rest) * np.cos(OMEGA * t) + v0 / OMEGA * np.sin(OMEGA * t)


@pytest.fixture
def spring(x64) -> Oscillator:
    return Oscillator(jnp.array(OMEGA**2))


@pytest.fixture
def start(x64) -> SystemState:
    return SystemState(0.0, [0.5, -1.0])


FINE = dict(solver=RK4(), solver_dt=2e-3)


def no_control(state):
    return jnp.zeros(1, state.y.dtype), None


def all_three(system, start, controller=no_control, t1=1.0, **options):
    """The same motion through the three rollouts; the sampled one samples a thousand times."""
    open_loop = system.rollout_to(start, t1=t1, save_dt=0.25, **FINE, **options)
    closed = system.rollout_closed_loop_to(start, controller, t1=t1, save_dt=0.25, **FINE, **options)
    duration = t1 - float(start.t)
    sampled = system.rollout_discrete_closed_loop_to(
        start, controller, duration=duration, control_dt=0.25, save_dt=0.25, **FINE, **options
    )
    return open_loop, closed, sampled


def test_the_three_rollouts_are_the_closed_form(spring, start):
    for path in all_three(spring, start):
        np.testing.assert_allclose(path.t, np.linspace(0, 1, 5), atol=1e-12)
        np.testing.assert_allclose(path.y[:, 0], exact(path.t), atol=1e-9)
        np.testing.assert_array_equal(path.u, np.zeros((5, 1)))
        assert path.control_state is None and path.environment_state is None


def test_actuation_external_force_and_feedforward_add(spring, start):
    """``initial_state.u`` or the argument ``u``, which wins, the controller's output and ``tau_ext``."""
    start = start.replace(u=[2.0])

    def push(state):
        assert state.u.shape == (1,)
        return jnp.array([0.5]), None

    open_loop, closed, sampled = all_three(spring, start, push, tau_ext=jnp.array([1.0]))
    np.testing.assert_allclose(open_loop.y[:, 0], exact(open_loop.t, force=3.0), atol=1e-9)
    for path in (closed, sampled):
        np.testing.assert_allclose(path.y[:, 0], exact(path.t, force=3.5), atol=1e-9)
        np.testing.assert_allclose(path.u, 2.5)
    wins = spring.rollout_to(start, u=jnp.array([4.0]), t1=1.0, save_dt=0.25, **FINE)
    np.testing.assert_allclose(wins.y[:, 0], exact(wins.t, force=4.0), atol=1e-9)
    np.testing.assert_allclose(wins.u, 4.0)


def test_control_state_is_integrated(spring, start):
    """A controller with the state c' = 1, u = c: exact in continuous time, forward Euler at the sampling instants."""

    def ramp(state):
        return state.control_state["c"], {"c": jnp.ones(1)}

    start = start.replace(control_state={"c": jnp.zeros(1)})
    closed = spring.rollout_closed_loop_to(start, ramp, t1=1.0, save_dt=0.25, **FINE)
    np.testing.assert_allclose(closed.control_state["c"][:, 0], closed.t, atol=1e-12)
    np.testing.assert_allclose(closed.u, closed.control_state["c"], atol=1e-12)
    sampled = spring.rollout_discrete_closed_loop_to(start, ramp, duration=1.0, control_dt=0.25, save_dt=0.125, **FINE)
    held = np.repeat([0, 0.25, 0.5, 0.75], 2)
    np.testing.assert_allclose(sampled.control_state["c"][:, 0], [*held, 1.0], atol=1e-12)
    np.testing.assert_allclose(sampled.u[:, 0], [*held, 0.75], atol=1e-12)
    q, v = 0.5, -1.0
    for i, u in enumerate((0, 0.25, 0.5, 0.75)):
        q, v = exact(0.25, q, v, u), -OMEGA * (q - u / OMEGA**2) * np.sin(OMEGA / 4) + v * np.cos(OMEGA / 4)
        np.testing.assert_allclose(sampled.y[2 * i + 2], [q, v], atol=1e-9)


def test_environment_model_pushes_and_integrates_its_state(spring, start):
    """A second spring at the far end of a damper: compared with the coupled linear system."""

    def damper(state):
        gap = state.environment_state - state.y[:1]
        return gap, -2.0 * gap

    q0, e0 = 0.5, 0.3
    A = np.array([[0, 1, 0], [-(OMEGA**2) - 1, 0, 1], [2, 0, -2.0]])
    values, vectors = np.linalg.eig(A)
    weights = np.linalg.solve(vectors, np.array([q0, -1.0, e0]))
    for path in all_three(spring, start.replace(environment_state=jnp.array([e0])), environment_model=damper):
        expected = np.real(vectors @ (weights[:, None] * np.exp(values[:, None] * np.asarray(path.t))))
        np.testing.assert_allclose(path.y[:, 0], expected[0], atol=1e-9)
        np.testing.assert_allclose(path.environment_state[:, 0], expected[2], atol=1e-9)


def test_save_grids(spring, start):
    late = start.replace(t=0.5)
    path = spring.rollout_to(late, t1=1.2, save_dt=0.25, **FINE)
    np.testing.assert_allclose(path.t, [0.5, 0.75, 1.0, 1.2], atol=1e-12)
    np.testing.assert_allclose(path.y[:, 0], exact(path.t - 0.5), atol=1e-9)
    ts = [0.1, 0.1001, 0.35, 0.9]
    chosen = spring.rollout_to(start, t1=1.0, save_dt=0.25, save_ts=ts, **FINE)
    np.testing.assert_allclose(chosen.t, ts, atol=1e-12)
    np.testing.assert_allclose(chosen.y[:, 0], exact(chosen.t), atol=1e-6)  # linear between the steps of RK4
    np.testing.assert_array_equal(chosen[1].y, chosen.y[1])
    sampled = spring.rollout_discrete_closed_loop_to(
        late, no_control, duration=0.3, control_dt=0.1, save_dt=0.05, **FINE
    )
    np.testing.assert_allclose(sampled.t, 0.5 + 0.05 * np.arange(7), atol=1e-12)
    np.testing.assert_allclose(sampled.y[:, 0], exact(sampled.t - 0.5), atol=1e-9)


@pytest.mark.parametrize("solver", [RK4(), diffrax.Tsit5(), diffrax.Euler()], ids=repr)
def test_the_scan_is_diffraxs_constant_step(solver, spring, start):
    """A concrete ``solver_dt`` scans; a traced one goes through diffeqsolve, with the same steps."""
    options = dict(t1=0.5, save_ts=[0.0, 0.25, 0.5], solver=solver)
    scanned = spring.rollout_to(start, solver_dt=1 / 64, **options)
    solved = jax.jit(lambda h: spring.rollout_to(start, solver_dt=h, **options))(1 / 64)
    np.testing.assert_allclose(scanned.y, solved.y, atol=1e-12)
    constant = diffrax.ConstantStepSize()
    again = spring.rollout_to(start, solver_dt=1 / 64, stepsize_controller=constant, **options)
    np.testing.assert_array_equal(scanned.y, again.y)
    sample = dict(duration=0.5, control_dt=0.25, save_dt=0.25, solver=solver)
    discrete = spring.rollout_discrete_closed_loop_to(start, no_control, solver_dt=1 / 64, **sample)
    np.testing.assert_allclose(discrete.y, scanned.y, atol=1e-12)
    traced = jax.jit(lambda h: spring.rollout_discrete_closed_loop_to(start, no_control, solver_dt=h, **sample))(1 / 64)
    np.testing.assert_allclose(traced.y, scanned.y, atol=1e-12)


def test_an_adaptive_controller_meets_its_tolerance(spring, start):
    tight = diffrax.PIDController(rtol=1e-9, atol=1e-11)
    options = dict(solver=diffrax.Tsit5(), solver_dt=1e-3, stepsize_controller=tight)
    for path in (
        spring.rollout_to(start, t1=1.0, save_dt=0.25, **options),
        spring.rollout_closed_loop_to(start, no_control, t1=1.0, save_dt=0.25, **options),
        spring.rollout_discrete_closed_loop_to(
            start, no_control, duration=1.0, control_dt=0.5, save_dt=0.25, **options
        ),
    ):
        np.testing.assert_allclose(path.y[:, 0], exact(path.t), atol=1e-6)


def test_failure_of_the_adaptive_path_is_nan(spring, start):
    tight = diffrax.PIDController(rtol=1e-10, atol=1e-12)
    path = spring.rollout_to(start, t1=1.0, save_dt=0.5, stepsize_controller=tight, max_steps=3)
    assert np.isnan(path.y[-1]).all()
    sampled = spring.rollout_discrete_closed_loop_to(
        start, no_control, duration=1.0, control_dt=0.5, save_dt=0.5, stepsize_controller=tight, max_steps=3
    )
    assert np.isnan(sampled.y[-1]).all()


class HardSpring(Oscillator):
    """A spring so hard that Newton's method fails at the step of the test."""

    def forward_dynamics(self, t, y, actuation_args=None):
        return jnp.concatenate([y[1:], -1e3 * y[:1] ** 3])


def test_failure_of_an_implicit_step_is_nan(start):
    solver = diffrax.Kvaerno3(root_finder=diffrax.VeryChord(rtol=1e-8, atol=1e-10))
    path = HardSpring(jnp.array(1.0)).rollout_to(start, t1=1.0, save_dt=0.5, solver_dt=0.1, solver=solver)
    assert np.isnan(path.y[1:]).all()


def test_two_chained_rollouts_are_one_twice_as_long(spring, start):
    """Time, control state and environment state continue, the held actuation is not counted twice."""

    def controller(state):
        return jnp.sin(5 * state.t)[None] + state.control_state - state.y[:1], jnp.cos(state.t)[None]

    def friction(state):
        return -0.3 * state.y[1:], state.y[1:] ** 2

    options = dict(environment_model=friction, control_dt=0.1, save_dt=0.05, solver=RK4(), solver_dt=0.01)
    start = start.replace(u=[0.7], control_state=jnp.array([0.1]), environment_state=jnp.zeros(1))
    whole = spring.rollout_discrete_closed_loop_to(start, controller, duration=1.0, **options)
    first = spring.rollout_discrete_closed_loop_to(start, controller, duration=0.5, **options)
    second = spring.rollout_discrete_closed_loop_to(first[-1].replace(u=start.u), controller, duration=0.5, **options)
    for full, tail in zip(jax.tree.leaves(whole), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(full[10:], tail, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(save_dt=None), "save_dt or save_ts"),
        (dict(t1=0.0), "t1 must lie after"),
        (dict(save_dt=-0.1), "save_dt"),
        (dict(solver_dt=0.0), "solver_dt must be positive"),
        (dict(save_ts=[0.5, 0.2]), "increasing"),
        (dict(save_ts=[0.5, 2.0]), "within"),
    ],
)
def test_impossible_times_are_refused(arguments, words, spring, start):
    with pytest.raises(ValueError, match=words):
        spring.rollout_to(start, **(dict(t1=1.0, solver_dt=0.01, save_dt=0.1) | arguments))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(duration=1.05), r"duration must be an integer multiple of control_dt, got 1.05"),
        (dict(save_dt=0.03), r"control_dt must be an integer multiple of save_dt"),
        (dict(save_dt=0.2), r"integer multiple"),
        (dict(control_dt=-0.1), r"positive"),
    ],
)
def test_sampling_periods_must_fit(arguments, words, spring, start):
    with pytest.raises(ValueError, match=words):
        spring.rollout_discrete_closed_loop_to(
            start, no_control, **(dict(duration=1.0, control_dt=0.1, save_dt=0.1) | arguments)
        )
    # within 1e-6 of a multiple is one
    near = dict(duration=1.0 + 5e-7, control_dt=0.1, save_dt=0.1, solver_dt=0.1)
    assert spring.rollout_discrete_closed_loop_to(start, no_control, **near).t.shape == (11,)


@pytest.mark.parametrize("name", ["t1", "save_dt"])
def test_traced_times_need_save_ts(name, spring, start):
    def rollout(value, **more):
        return spring.rollout_to(start, **({"t1": 1.0, "save_dt": 0.5, "solver_dt": 0.01} | {name: value} | more)).y

    with pytest.raises(ValueError, match=f"{name} is traced.*save_ts"):
        jax.jit(rollout)(1.0)
    given = jax.jit(lambda x: rollout(x, save_ts=[0.0, 0.5]))(1.0)
    np.testing.assert_allclose(given[:, 0], exact(np.array([0, 0.5])), atol=1e-6)


def test_a_traced_start_time_runs_in_the_relative_rollout(spring, start):
    @jax.jit
    def rollout(t):
        return spring.rollout_discrete_closed_loop_to(
            start.replace(t=t), no_control, duration=0.5, control_dt=0.25, save_dt=0.25, **FINE
        )

    path = rollout(2.0)
    np.testing.assert_allclose(path.t, [2.0, 2.25, 2.5], atol=1e-12)
    np.testing.assert_allclose(path.y[:, 0], exact(path.t - 2), atol=1e-9)


def test_a_rollout_built_inside_jit_and_vmap(spring):
    """States, controllers and systems made of traced values, with concrete times: nothing is made concrete."""

    @jax.jit
    @jax.vmap
    def rollout(stiffness, q0):
        system = Oscillator(stiffness)
        begin = SystemState(0.0, jnp.stack([q0, -1.0]))
        free = system.rollout_to(begin, t1=0.5, save_dt=0.25, **FINE)
        held = system.rollout_discrete_closed_loop_to(
            begin, lambda s: (-s.y[:1] * 0.0, None), duration=0.5, control_dt=0.25, save_dt=0.25, **FINE
        )
        return free.y, held.y

    free, held = rollout(jnp.array([OMEGA**2, 4.0]), jnp.array([0.5, 0.5]))
    np.testing.assert_allclose(free, held, atol=1e-12)
    np.testing.assert_allclose(free[0, :, 0], exact(np.array([0, 0.25, 0.5])), atol=1e-9)


@pytest.mark.parametrize("path", ["scan", "adaptive"])
def test_the_motion_does_not_depend_on_when_it_begins(path):
    """At 1000 s single-precision times are 6e-5 s apart, a hundredth of a step."""
    spring = Oscillator(jnp.array(OMEGA**2))
    options = dict(save_dt=0.25, solver=RK4(), solver_dt=5e-3)
    if path == "adaptive":
        tight = diffrax.PIDController(rtol=1e-5, atol=1e-5)
        options |= dict(solver=diffrax.Tsit5(), stepsize_controller=tight)

    def motions(t0):
        begin = SystemState(jnp.asarray(t0), [0.5, -1.0])
        free = spring.rollout_to(begin, t1=t0 + 0.5, **options)
        sampled = spring.rollout_discrete_closed_loop_to(begin, no_control, duration=0.5, control_dt=0.25, **options)
        return free, spring.rollout_closed_loop_to(begin, no_control, t1=t0 + 0.5, **options), sampled

    for early, late in zip(motions(0.0), motions(1000.0), strict=True):
        np.testing.assert_array_equal(late.y, early.y)
        np.testing.assert_array_equal(late.t, early.t + 1000)
        np.testing.assert_allclose(early.y[:, 0], exact(np.array([0, 0.25, 0.5])), atol=2e-5)


def test_single_precision_stays_single():
    spring = Oscillator(jnp.array(OMEGA**2))
    path = spring.rollout_to(SystemState(0.0, [0.5, -1.0]), t1=1.0, save_dt=0.25, **FINE)
    assert {x.dtype for x in jax.tree.leaves(path)} == {jnp.dtype("float32")}
    np.testing.assert_allclose(path.y[:, 0], exact(path.t), atol=1e-5)


@pytest.mark.parametrize("path", ["scan", "traced step", "adaptive"])
def test_every_path_is_differentiable_both_ways(path, spring, start):
    def end(stiffness, h):
        options = {
            "scan": dict(solver=RK4(), solver_dt=0.01),
            "traced step": dict(solver=RK4(), solver_dt=h),
            "adaptive": dict(stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-11), solver_dt=0.01),
        }[path]
        system = eqx.tree_at(lambda s: s.stiffness, spring, stiffness)
        return system.rollout_to(start, t1=1.0, save_ts=[1.0], max_steps=256, **options).y[0, 0]

    arguments = jnp.array(OMEGA**2), 0.01
    t, w = 1.0, OMEGA
    slope = (-0.5 * t * np.sin(w * t) - t / w * np.cos(w * t) + np.sin(w * t) / w**2) / (2 * w)
    for derivative in (jax.grad(end), jax.jacfwd(end)):
        np.testing.assert_allclose(jax.jit(derivative)(*arguments), slope, atol=1e-6)

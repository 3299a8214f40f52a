"""Dynamical systems and their rollouts in time."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from diffrax import AbstractSolver, AbstractStepSizeController, ConstantStepSize
from jax import Array, lax
from jax.core import Tracer

from soromox.simulation.paths import adaptive, fixed_grid, substeps
from soromox.systems.state import SystemState

Controller = Callable[[SystemState], tuple[Array, Any | None]]
EnvironmentModel = Callable[[SystemState], tuple[Array | None, Any | None]]


class _Integrated(eqx.Module):
    """What a solver integrates."""

    y: Array
    control_state: Any
    environment_state: Any


class DynamicalSystem(eqx.Module):
    """A system ``y_dot = f(t, y, actuation)``, and its rollouts.

    With a concrete ``solver_dt`` and a constant step a rollout is a plain ``lax.scan`` over the steps of any Diffrax
    solver; a traced ``solver_dt``, traced times or an adaptive controller go through ``diffrax.diffeqsolve``. Both
    are differentiable forward and in reverse.
    """

    @property
    @abstractmethod
    def num_dofs(self) -> int:
        """Degrees of freedom."""

    @property
    @abstractmethod
    def num_actuators(self) -> int:
        """Number of control inputs."""

    @abstractmethod
    def forward_dynamics(self, t: Array, y: Array, actuation_args: tuple | None = None) -> Array:
        """State derivative; ``actuation_args`` is None, ``(u,)`` or ``(u, tau_ext)``."""

    def project_state(self, y: Array) -> Array:
        """Project a state onto the system's manifold; the identity unless there is one."""
        return y

    def vector_field(self) -> Callable[[Array, Array, tuple | None], Array]:
        """``forward_dynamics`` with everything that does not depend on the state computed once, for a rollout."""
        return self.forward_dynamics

    def rollout_to(
        self,
        initial_state: SystemState,
        u: Array | None = None,
        tau_ext: Array | None = None,
        environment_model: EnvironmentModel | None = None,
        t1: float | Array = 10.0,
        solver_dt: float | Array = 1e-4,
        save_dt: float | Array | None = 0.01,
        save_ts: Array | Sequence[float] | None = None,
        solver: AbstractSolver | None = None,
        stepsize_controller: AbstractStepSizeController | None = None,
        max_steps: int | None = None,
    ) -> SystemState:
        """Open-loop trajectory from ``initial_state`` to ``t1`` under a constant actuation.

        Args:
            initial_state: start; its ``u`` is used when ``u`` is not given.
            u: constant actuation.
            tau_ext: constant external generalised force.
            environment_model: from the state to ``(tau_environment, environment_state_dot)``; the force is added.
            t1: final time, s; saved.
            solver_dt: step (initial step under an adaptive controller), s. Shortened to fill a save interval.
            save_dt: saves at ``arange(t0, t1, save_dt)`` and ``t1``.
            save_ts: times to save at instead, within ``[t0, t1]``.
            solver: any Diffrax solver; ``Tsit5`` when omitted.
            stepsize_controller: a Diffrax controller; constant steps when omitted.
            max_steps: bound for the adaptive path, 4096 when omitted; exhaustion gives NaN.

        Returns:
            The trajectory, a SystemState with a leading time axis.

        Raises:
            ValueError: traced ``t1`` or ``save_dt`` without ``save_ts``, or times out of order.
        """
        state = initial_state if u is None else initial_state.replace(u=u)
        return self._continuous(
            state,
            None,
            tau_ext,
            environment_model,
            t1,
            solver_dt,
            save_dt,
            save_ts,
            solver,
            stepsize_controller,
            max_steps,
        )

    def rollout_closed_loop_to(
        self,
        initial_state: SystemState,
        controller: Controller,
        tau_ext: Array | None = None,
        environment_model: EnvironmentModel | None = None,
        t1: float | Array = 10.0,
        solver_dt: float | Array = 1e-4,
        save_dt: float | Array | None = 0.01,
        save_ts: Array | Sequence[float] | None = None,
        solver: AbstractSolver | None = None,
        stepsize_controller: AbstractStepSizeController | None = None,
        max_steps: int | None = None,
    ) -> SystemState:
        """Trajectory in continuous closed loop: the controller acts at every evaluation of the dynamics.

        ``controller(state)`` returns ``(u_control, control_state_dot)``; ``u_control`` adds to ``initial_state.u``. The
        other arguments are those of ``rollout_to``.
        """
        return self._continuous(
            initial_state,
            controller,
            tau_ext,
            environment_model,
            t1,
            solver_dt,
            save_dt,
            save_ts,
            solver,
            stepsize_controller,
            max_steps,
        )

    def rollout_discrete_closed_loop_to(
        self,
        initial_state: SystemState,
        controller: Controller,
        tau_ext: Array | None = None,
        environment_model: EnvironmentModel | None = None,
        duration: float = 10.0,
        solver_dt: float | Array = 1e-4,
        control_dt: float = 0.01,
        save_dt: float = 0.01,
        solver: AbstractSolver | None = None,
        stepsize_controller: AbstractStepSizeController | None = None,
        max_steps: int | None = None,
    ) -> SystemState:
        """Trajectory in sampled closed loop: the controller acts every ``control_dt`` and is held in between.

        A controller that returns ``control_state_dot`` moves ``control_state`` by one forward Euler step over
        ``control_dt``. Saved actuation is what is held from that time on (at the last time, what was held last), so
        that the last saved state, with ``u`` reset, continues the rollout.

        Args:
            duration: s, an integer multiple of ``control_dt`` to a relative 1e-6.
            control_dt: sampling period of the controller, s, an integer multiple of ``save_dt``.
            save_dt: save interval, s.

        Raises:
            ValueError: periods that are not positive or not multiples of each other.
        """
        intervals = _multiple("duration", duration, "control_dt", control_dt)
        saves = _multiple("control_dt", control_dt, "save_dt", save_dt)
        scan_steps = _scan_steps(save_dt, solver_dt, stepsize_controller)
        return _discrete_rollout(
            self,
            _with_traceable_time(initial_state),
            controller,
            tau_ext,
            environment_model,
            (intervals, saves, float(control_dt)),
            solver_dt if scan_steps is None else scan_steps,
            _default_solver(solver),
            stepsize_controller,
            max_steps,
        )

    def _continuous(
        self,
        state,
        controller,
        tau_ext,
        environment_model,
        t1,
        solver_dt,
        save_dt,
        save_ts,
        solver,
        stepping,
        max_steps,
    ) -> SystemState:
        ts = _save_times(state.t, t1, save_dt, save_ts)
        scan_steps, late = None, False
        if isinstance(ts, np.ndarray):
            # times that do not begin at the start get it in front, for the integration alone
            late = bool(ts[0] - float(state.t) > 1e-9 * max(abs(float(t1)), 1e-30))
            ts = np.concatenate([[float(state.t)], ts]) if late else ts
            widths = np.diff(ts)
            scan_steps = _scan_steps(widths.max(initial=0.0), solver_dt, stepping)
            wasteful = widths.min(initial=np.inf) < 0.5 * widths.max(initial=0.0)
            if scan_steps is not None and wasteful and widths.size * scan_steps > 2 * _needed(widths, solver_dt):
                scan_steps = None
                max_steps = max_steps or 2 * _needed(widths, solver_dt) + 16
        dtype = state.y.dtype
        return _continuous_rollout(
            self,
            _with_traceable_time(state),
            controller,
            tau_ext,
            environment_model,
            jnp.asarray(ts, dtype),
            jnp.asarray(t1, dtype),
            late,
            solver_dt if scan_steps is None else scan_steps,
            _default_solver(solver),
            stepping,
            max_steps,
        )


@eqx.filter_jit
def _continuous_rollout(
    system,
    state,
    controller,
    tau_ext,
    environment_model,
    ts,
    t1,
    late,
    stepping,
    solver,
    stepsize_controller,
    max_steps,
) -> SystemState:
    """``stepping`` is the number of scan steps between saves, or the solver_dt of the adaptive path."""
    base = _base_actuation(system, state)
    field = system.vector_field()

    def actuation(t, x: _Integrated):
        if controller is None:
            return base, None
        seen = SystemState(t, x.y, state.u, x.control_state, x.environment_state)
        u, control_rate = controller(seen)
        return base + u, control_rate

    def rate(t, x: _Integrated, _):
        x = eqx.tree_at(lambda x: x.y, x, system.project_state(x.y))
        u, control_rate = actuation(t, x)
        tau, environment_rate = _external(environment_model, tau_ext, SystemState(t, x.y, u, *_others(x)))
        y_rate = field(t, x.y, (u,) if tau is None else (u, tau))
        return _Integrated(
            y_rate, _or_zero(control_rate, x.control_state), _or_zero(environment_rate, x.environment_state)
        )

    start = _Integrated(system.project_state(state.y), state.control_state, state.environment_state)
    term = diffrax.ODETerm(rate)
    if isinstance(stepping, int):
        states = fixed_grid(solver, term, ts, stepping, start)
    else:
        controller_ = ConstantStepSize() if stepsize_controller is None else stepsize_controller
        t0 = state.t.astype(ts.dtype)
        states = adaptive(solver, term, t0, t1, ts, stepping, controller_, max_steps, start)
    ts, states = jax.tree.map(lambda x: x[int(late) :], (ts, states))
    states = eqx.tree_at(lambda x: x.y, states, jax.vmap(system.project_state)(states.y))
    u = jax.vmap(lambda t, x: actuation(t, x)[0])(ts, states)
    return SystemState(ts, states.y, u, states.control_state, states.environment_state)


@eqx.filter_jit
def _discrete_rollout(
    system,
    state,
    controller,
    tau_ext,
    environment_model,
    timing,
    stepping,
    solver,
    stepsize_controller,
    max_steps,
) -> SystemState:
    intervals, saves, control_dt = timing
    base = _base_actuation(system, state)
    field = system.vector_field()
    dtype = state.y.dtype
    save_dt = control_dt / saves

    def hold(carry: tuple[_Integrated, Array], i):
        x, t = carry
        u, control_rate = controller(SystemState(t, x.y, state.u, x.control_state, x.environment_state))
        u = base + u

        def rate(t, free: _Free, _):
            y = system.project_state(free.y)
            seen = SystemState(t, y, u, x.control_state, free.environment_state)
            tau, environment_rate = _external(environment_model, tau_ext, seen)
            y_rate = field(t, y, (u,) if tau is None else (u, tau))
            return _Free(y_rate, _or_zero(environment_rate, free.environment_state))

        free, term = _Free(x.y, x.environment_state), diffrax.ODETerm(rate)
        ts = t + jnp.arange(saves + 1, dtype=dtype) * save_dt
        if isinstance(stepping, int):
            path = fixed_grid(solver, term, ts, stepping, free)
        else:
            controller_ = ConstantStepSize() if stepsize_controller is None else stepsize_controller
            path = adaptive(solver, term, ts[0], ts[-1], ts, stepping, controller_, max_steps, free)
        path = eqx.tree_at(lambda p: p.y, path, jax.vmap(system.project_state)(path.y))
        moved = x.control_state
        if control_rate is not None and moved is not None:
            moved = jax.tree.map(lambda s, r: s + control_dt * r, moved, control_rate)
        held = jax.tree.map(lambda s: jnp.broadcast_to(s, (saves,) + s.shape), (u, x.control_state))
        end = jax.tree.map(lambda p: p[-1], path)
        t_next = state.t.astype(dtype) + (i + 1) * control_dt
        saved = jax.tree.map(lambda p: p[:-1], path)
        return (_Integrated(end.y, moved, end.environment_state), t_next), (ts[:-1], saved, *held)

    start = _Integrated(system.project_state(state.y), state.control_state, state.environment_state)
    (last, t_end), (ts, path, u, control_state) = lax.scan(
        hold, (start, state.t.astype(dtype)), jnp.arange(intervals, dtype=dtype)
    )

    def finish(rows, final):
        return jax.tree.map(lambda r, f: jnp.concatenate([r.reshape((-1,) + f.shape), f[None]]), rows, final)

    return SystemState(
        finish(ts, t_end),
        finish(path.y, last.y),
        finish(u, u[-1, -1]),
        finish(control_state, last.control_state),
        finish(path.environment_state, last.environment_state),
    )


class _Free(eqx.Module):
    """What moves between two control instants; its ``y`` is the mechanical state."""

    y: Array
    environment_state: Any


def _with_traceable_time(state: SystemState) -> SystemState:
    """The start time as an array of the state's precision, so that no program is compiled for its value."""
    return state.replace(t=jnp.asarray(state.t, state.y.dtype))


def _others(x: _Integrated) -> tuple[Any, Any]:
    return x.control_state, x.environment_state


def _base_actuation(system: DynamicalSystem, state: SystemState) -> Array:
    return jnp.zeros(system.num_actuators, state.y.dtype) if state.u is None else state.u


def _external(model: EnvironmentModel | None, tau_ext: Array | None, state: SystemState):
    if model is None:
        return tau_ext, None
    tau, rate = model(state)
    if tau is None:
        return tau_ext, rate
    return (tau if tau_ext is None else tau_ext + tau), rate


def _or_zero(rate: Any, state: Any) -> Any:
    return jax.tree.map(jnp.zeros_like, state) if rate is None else rate


def _default_solver(solver: AbstractSolver | None) -> AbstractSolver:
    return diffrax.Tsit5() if solver is None else solver


def _is_traced(x: Any) -> bool:
    return isinstance(x, Tracer)


def _needed(widths: np.ndarray, solver_dt: Any) -> int:
    return sum(substeps(float(width), float(solver_dt)) for width in widths)


def _scan_steps(interval: float, solver_dt: Any, controller: AbstractStepSizeController | None) -> int | None:
    """Steps between saves for the scan path, or None where only the adaptive machinery will do."""
    if _is_traced(solver_dt) or not (controller is None or isinstance(controller, ConstantStepSize)):
        return None
    if not float(solver_dt) > 0:
        raise ValueError(f"solver_dt must be positive, got {solver_dt}")
    return substeps(float(interval), float(solver_dt))


def _save_times(t0: Any, t1: Any, save_dt: Any, save_ts: Any) -> np.ndarray | Array:
    if save_ts is not None:
        if any(_is_traced(x) for x in (t0, t1, save_ts)):
            return jnp.asarray(save_ts)
        ts = np.asarray(save_ts, float)
        slack = 1e-6 * max(abs(float(t1)), abs(float(t0)), 1e-30)
        ordered = ts.ndim == 1 and ts.size > 0 and np.all(np.diff(ts) >= 0)
        if not ordered or ts[0] < float(t0) - slack or ts[-1] > float(t1) + slack:
            raise ValueError(f"save_ts must be increasing times within [{float(t0)}, {float(t1)}], got {ts.tolist()}")
        return ts
    if save_dt is None:
        raise ValueError("a rollout needs save_dt or save_ts, got neither")
    for name, value in (("initial_state.t", t0), ("t1", t1), ("save_dt", save_dt)):
        if _is_traced(value):
            raise ValueError(
                f"{name} is traced, so the number of saved times is unknown; give save_ts (its shape is static), "
                "or use rollout_discrete_closed_loop_to, whose duration is relative"
            )
    t0, t1, save_dt = float(t0), float(t1), float(save_dt)
    if not t1 > t0 or not save_dt > 0:
        raise ValueError(f"t1 must lie after initial_state.t and save_dt be positive, got t0={t0}, t1={t1}, {save_dt=}")
    ts = np.arange(t0, t1, save_dt)
    return np.append(ts[ts < t1 - 1e-6 * save_dt], t1)


def _multiple(name: str, whole: Any, part_name: str, part: Any) -> int:
    if _is_traced(whole) or _is_traced(part):
        raise ValueError(f"{name} and {part_name} set the number of steps and must be concrete numbers, not traced")
    if not (float(whole) > 0 and float(part) > 0):
        raise ValueError(f"{name} and {part_name} must be positive, got {whole} and {part}")
    ratio = float(whole) / float(part)
    if abs(ratio - round(ratio)) > 1e-6 * ratio or round(ratio) < 1:
        raise ValueError(f"{name} must be an integer multiple of {part_name}, got {whole} / {part} = {ratio}")
    return round(ratio)

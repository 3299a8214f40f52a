"""The compiled programs behind the rollouts of a system."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractSolver, ConstantStepSize
from jax import Array, lax

from soromox.batching import lanes_last
from soromox.simulation.implicit import Implicit
from soromox.simulation.paths import adaptive, fixed_grid
from soromox.systems.state import SystemState

Controller = Callable[[SystemState], tuple[Array, Any | None]]
EnvironmentModel = Callable[[SystemState], tuple[Array | None, Any | None]]


class _Integrated(eqx.Module):
    """What a solver integrates."""

    y: Array
    control_state: Any
    environment_state: Any


@eqx.filter_jit
@lanes_last
def continuous_rollout(
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
    """``ts`` and ``t1`` count from the start; ``stepping`` is the number of scan steps between saves, or the solver_dt
    of the adaptive path."""
    base = _base_actuation(system, state)
    field = system.vector_field()

    def actuation(t, x: _Integrated):
        if controller is None:
            return base, None
        seen = SystemState(t, x.y, state.u, x.control_state, x.environment_state)
        u, control_rate = controller(seen)
        return base + u, control_rate

    # times since the start: steps cut out of absolute ones would change with the rounding of those
    def rate(since, x: _Integrated, request):
        t = state.t + since
        x = eqx.tree_at(lambda x: x.y, x, system.project_state(x.y))
        u, control_rate = actuation(t, x)
        tau, environment_rate = _external(environment_model, tau_ext, SystemState(t, x.y, u, *_others(x)))
        y_rate = field(t, x.y, _arguments(request, u, tau))
        return _Integrated(
            y_rate, _or_zero(control_rate, x.control_state), _or_zero(environment_rate, x.environment_state)
        )

    start = _Integrated(system.project_state(state.y), state.control_state, state.environment_state)
    term = diffrax.ODETerm(rate)
    if isinstance(stepping, int):
        states = fixed_grid(solver, term, ts, stepping, start)
    else:
        controller_ = ConstantStepSize() if stepsize_controller is None else stepsize_controller
        states = adaptive(solver, term, jnp.zeros_like(t1), t1, ts, stepping, controller_, max_steps, start)
    ts, states = jax.tree.map(lambda x: x[int(late) :], (state.t + ts, states))
    states = eqx.tree_at(lambda x: x.y, states, jax.vmap(system.project_state)(states.y))
    u = jax.vmap(lambda t, x: actuation(t, x)[0])(ts, states)
    return SystemState(ts, states.y, u, states.control_state, states.environment_state)


@eqx.filter_jit
@lanes_last
def discrete_rollout(
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

        # time since the interval began: steps cut out of absolute times would change with their rounding
        def rate(since, free: _Free, request):
            y = system.project_state(free.y)
            seen = SystemState(t + since, y, u, x.control_state, free.environment_state)
            tau, environment_rate = _external(environment_model, tau_ext, seen)
            y_rate = field(t + since, y, _arguments(request, u, tau))
            return _Free(y_rate, _or_zero(environment_rate, free.environment_state))

        free, term = _Free(x.y, x.environment_state), diffrax.ODETerm(rate)
        ts = jnp.arange(saves + 1, dtype=dtype) * save_dt
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
        return (_Integrated(end.y, moved, end.environment_state), t_next), (t + ts[:-1], saved, *held)

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


def with_traceable_time(state: SystemState) -> SystemState:
    """The start time as an array of the state's precision, so that no program is compiled for its value."""
    return state.replace(t=jnp.asarray(state.t, state.y.dtype))


def _others(x: _Integrated) -> tuple[Any, Any]:
    return x.control_state, x.environment_state


def _base_actuation(system: Any, state: SystemState) -> Array:
    return jnp.zeros(system.num_actuators, state.y.dtype) if state.u is None else state.u


def _external(model: EnvironmentModel | None, tau_ext: Array | None, state: SystemState):
    if model is None:
        return tau_ext, None
    tau, rate = model(state)
    if tau is None:
        return tau_ext, rate
    return (tau if tau_ext is None else tau_ext + tau), rate


def _arguments(request: Implicit | None, u: Array, tau: Array | None) -> Any:
    """The field's arguments, inside what a linearly implicit solver asks of it."""
    args = (u,) if tau is None else (u, tau)
    return args if request is None else request._replace(args=args)


def _or_zero(rate: Any, state: Any) -> Any:
    return jax.tree.map(jnp.zeros_like, state) if rate is None else rate


def default_solver(solver: AbstractSolver | None) -> AbstractSolver:
    return diffrax.Tsit5() if solver is None else solver

"""Dynamical systems and their rollouts in time."""

from abc import abstractmethod
from collections.abc import Callable, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from diffrax import AbstractSolver, AbstractStepSizeController
from jax import Array

from soromox.simulation.grids import is_traced, save_times, scan_steps_between_saves, total_steps, whole_multiple
from soromox.systems.rollouts import (
    Controller,
    EnvironmentModel,
    continuous_rollout,
    default_solver,
    discrete_rollout,
    with_traceable_time,
)
from soromox.systems.state import SystemState


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
        intervals = whole_multiple("duration", duration, "control_dt", control_dt)
        saves = whole_multiple("control_dt", control_dt, "save_dt", save_dt)
        scan_steps = scan_steps_between_saves(save_dt, solver_dt, stepsize_controller)
        return discrete_rollout(
            self,
            with_traceable_time(initial_state),
            controller,
            tau_ext,
            environment_model,
            (intervals, saves, float(control_dt)),
            solver_dt if scan_steps is None else scan_steps,
            default_solver(solver),
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
        ts = save_times(state.t, t1, save_dt, save_ts)
        scan_steps, late = None, False
        if isinstance(ts, np.ndarray):
            # times that do not begin at the start get it in front, for the integration alone
            late = bool(ts[0] - float(state.t) > 1e-9 * max(abs(float(t1)), 1e-30))
            ts = np.concatenate([[float(state.t)], ts]) if late else ts
            widths = np.diff(ts)
            scan_steps = scan_steps_between_saves(widths.max(initial=0.0), solver_dt, stepping)
            wasteful = widths.min(initial=np.inf) < 0.5 * widths.max(initial=0.0)
            if scan_steps is not None and wasteful and widths.size * scan_steps > 2 * total_steps(widths, solver_dt):
                scan_steps = None
                max_steps = max_steps or 2 * total_steps(widths, solver_dt) + 16
        dtype, begin = state.y.dtype, state.t if is_traced(t1) or is_traced(state.t) else float(state.t)
        return continuous_rollout(
            self,
            with_traceable_time(state),
            controller,
            tau_ext,
            environment_model,
            jnp.asarray(ts - begin, dtype),
            jnp.asarray(t1 - begin, dtype),
            late,
            solver_dt if scan_steps is None else scan_steps,
            default_solver(solver),
            stepping,
            max_steps,
        )

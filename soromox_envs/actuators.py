"""One control interval: actions to commands, actuators that lag behind them, and the physics they drive."""

import math
from typing import Any

import jax.numpy as jnp
from jax import Array

from soromox.systems import SystemState
from soromox_envs.physics import TipPush
from soromox_envs.robots.model import RobotModel
from soromox_envs.state import EnvParams, EnvState


def commanded(before: Array, action: Array, params: EnvParams, dt: float, mode: str, units: str) -> Array:
    """The command (m,) that a finite action (m,) asks for, after another one ``before`` it."""
    lower, upper = params.lower, params.upper
    if units == "physical":
        return jnp.clip(action, lower, upper)
    action = jnp.clip(action, -1, 1)
    if mode == "absolute":
        return 0.5 * (lower + upper) + 0.5 * (upper - lower) * action
    return jnp.clip(before + action * params.rate_limit * dt, lower, upper)


def advance(
    model: RobotModel, robot: Any, state: EnvState, command: Array, params: EnvParams, surroundings: Any
) -> SystemState:
    """The mechanical state one control interval later.

    The actual actuation x approaches the command, dx = clip((command - x)(1 - exp(-dt / lag)), +-rate dt), and
    x + dx / 2 is held over dt. The episode's latency, gain and bias act here.

    Args:
        surroundings: environment model of the rollout, or None.
    """
    dt, physics = model.actuator_dt, state.physics
    approach = 1.0 if model.lag == 0 else 1 - math.exp(-dt / model.lag)
    reach = params.rate_limit * dt
    half = 0.5 * (params.upper - params.lower)
    begin, before = state.system.t, state.command

    def actuators(now: SystemState) -> tuple[Array, Array]:
        x, wanted = now.control_state, command
        if physics is not None and physics.latency is not None:
            wanted = jnp.where(now.t - begin < physics.latency, before, command)
        step = wanted - x
        if not model.instantaneous:
            step = jnp.clip(step * approach, -reach, reach)
        u = wanted if model.instantaneous else x + 0.5 * step
        return u if physics is None else physics.acting(u, half, params.lower, params.upper), step / dt

    path = robot.rollout_discrete_closed_loop_to(
        state.system,
        actuators,
        environment_model=_together(surroundings, _push(model, robot, state)),
        duration=model.control_dt,
        control_dt=dt,
        save_dt=dt,
        solver_dt=model.solver_dt,
        solver=model.make_solver(robot),
    )
    return path[-1].replace(u=None)


def _push(model: RobotModel, robot: Any, state: EnvState) -> TipPush | None:
    if state.physics is None or state.physics.pulses is None:
        return None
    return TipPush(robot, state.physics, model)


def _together(first: Any, second: Any) -> Any:
    """Both environment models at once."""
    if first is None or second is None:
        return first if second is None else second
    return lambda state: (first(state)[0] + second(state)[0], None)

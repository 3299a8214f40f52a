"""What an environment needs to know of a robot beyond its physics."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import numpy as np
from diffrax import AbstractSolver, Bosh3, Heun, Tsit5
from jax import Array

from soromox.simulation import RK4, LinearlyImplicitMidpoint, RosenbrockW2, SemiImplicitEuler
from soromox.systems import SoftRobot

SOLVERS: dict[str, Callable[[SoftRobot], AbstractSolver]] = {
    "RK4": lambda robot: RK4(),
    "SemiImplicitEuler": SemiImplicitEuler,
    "Heun": lambda robot: Heun(),
    "Bosh3": lambda robot: Bosh3(),
    "Tsit5": lambda robot: Tsit5(),
    "LinearlyImplicitMidpoint": LinearlyImplicitMidpoint,
    "RosenbrockW2": RosenbrockW2,
}
"""Solvers by name; a name is hashable, a solver that holds a robot is not."""


@dataclass(frozen=True)
class RobotModel:
    """A robot of the suite: how to build it, how it is driven, how it is integrated and scaled.

    Attributes:
        key: first part of the environment id.
        build: makes the robot, from keyword options.
        length: robot to its length from base to tip, rigid parts included, m.
        tip_pose: (robot, q) to the pose of the tip.
        rate_limit: fastest change of the actuation, input units per second.
        lag: time constant of the actuators, s; 0 for none.
        solver, solver_dt: default integration, from the measured table in docs/solvers.md.
        actuator_dt: period at which the actuator model acts, s.
        coordinate_names: names of q.
        coordinate_scale, velocity_scale: factors that bring q and qd to O(1) in the observation.
        tip_speed_scale: tip speed that is 1 in the observation, robot lengths a second.
        control_dt: control interval of the agent, s.
    """

    key: str
    build: Callable[..., SoftRobot]
    length: Callable[[Any], Array]
    tip_pose: Callable[[Any, Array], Array]
    rate_limit: float
    lag: float
    solver: str
    solver_dt: float
    actuator_dt: float
    coordinate_names: tuple[str, ...]
    coordinate_scale: tuple[float, ...]
    velocity_scale: tuple[float, ...]
    tip_speed_scale: float
    control_dt: float = 0.05

    def tip_position(self, robot: SoftRobot, q: Array) -> Array:
        """World position (space,) of the tip, m."""
        return robot.group.position(self.tip_pose(robot, q))

    def tip_motion(self, robot: SoftRobot, q: Array, q_dot: Array) -> tuple[Array, Array]:
        """Pose of the tip and its rate; traced once a program."""
        return _tip_motion(self.tip_pose, robot, q, q_dot)

    def make_solver(self, robot: SoftRobot) -> AbstractSolver:
        """The default solver for this robot."""
        return SOLVERS[self.solver](robot)


@eqx.filter_jit
def _tip_motion(tip_pose: Callable[[Any, Array], Array], robot: SoftRobot, q: Array, q_dot: Array):
    return jax.jvp(lambda q: tip_pose(robot, q), (q,), (q_dot,))


def input_limits(robot: SoftRobot) -> tuple[np.ndarray, np.ndarray]:
    """Physical limits (m,) of the inputs, from the actuator metadata.

    Raises:
        ValueError: an input without finite limits.
    """
    groups = robot.actuator_input_metadata
    lower = np.concatenate([np.asarray(group.lower, float) for group in groups])
    upper = np.concatenate([np.asarray(group.upper, float) for group in groups])
    if not np.all(np.isfinite(lower) & np.isfinite(upper) & (lower < upper)):
        raise ValueError(f"an environment needs finite limits for every input, got {lower.tolist()}..{upper.tolist()}")
    return lower, upper


def input_names(robot: SoftRobot) -> tuple[str, ...]:
    """Names of the inputs."""
    return tuple(name for group in robot.actuator_input_metadata for name in group.names)


def input_units(robot: SoftRobot) -> tuple[str, ...]:
    """Unit of each input."""
    return tuple(group.units for group in robot.actuator_input_metadata for _ in group.names)

"""What an environment needs to know of a robot beyond its physics."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from diffrax import AbstractSolver, Bosh3, Heun, Tsit5
from jax import Array

from soromox.actuation import ActuatorMetadata
from soromox.core import kinematics
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
class Scaling:
    """Makes a robot of a stiffer or more viscous material: ``scaling(robot, stiffness, damping)`` with two factors ().

    Attributes:
        stiffness, damping: dotted names of the parameters that the elastic forces, or the damping, are linear in.
    """

    stiffness: tuple[str, ...]
    damping: tuple[str, ...]

    def __call__(self, robot: Any, stiffness: Array | float, damping: Array | float) -> Any:
        factors = {name: stiffness for name in self.stiffness} | {name: damping for name in self.damping}

        def values(robot):
            return [attrgetter(name)(robot.params) for name in factors]

        scaled = [factor * value for factor, value in zip(factors.values(), values(robot), strict=True)]
        return eqx.tree_at(values, robot, scaled)


LINK_SCALING = Scaling(("link.stiffness",), ("link.damping",))
JOINT_SCALING = Scaling(("joint_stiffness",), ("joint_damping",))


def chain_length(robot: Any) -> Array:
    """Length of the backbone, m."""
    return robot.length


@dataclass(frozen=True)
class RobotModel:
    """A robot of the suite: how to build it, how it is driven, how it is integrated and scaled.

    Attributes:
        key: first part of the environment id.
        build: makes the robot, from keyword options.
        length: robot to its length from base to tip, rigid parts included, m.
        rate_limit: fastest change of the actuation, input units per second.
        lag: time constant of the actuators, s; 0 for none.
        solver, solver_dt: default integration, from the measured table in docs/solvers.md.
        actuator_dt: period at which the actuator model acts, s.
        coordinate_names: names of q.
        coordinate_scale, velocity_scale: factors that bring q and qd to O(1) in the observation.
        tip_speed_scale: tip speed that is 1 in the observation, robot lengths a second.
        scaled: (robot, stiffness, damping) to the robot with elasticity and damping times these factors.
        max_payload: point mass at the tip with which it still gets to nearly all of its targets, kg.
        max_tip_force: force at the tip that moves it by about a tenth of the length, N.
        body_radius: of the thickest section, m.
        control_dt: control interval of the agent, s.
        tip_offset: robot to the pose of the tip relative to the end of the last segment, where it is not there.
        velocity_names: names of the velocities where they are no rates of q: the base of a floating robot.
        turns: whether the coordinates are angles that may turn all around, observed within (-pi, pi].
        instantaneous: whether actuators follow a command at once, without lag or rate limit.
        postures: configurations (K, nq) that episodes begin from, of a robot that has no targets to reach.
    """

    key: str
    build: Callable[..., SoftRobot]
    length: Callable[[Any], Array]
    rate_limit: float
    lag: float
    solver: str
    solver_dt: float
    actuator_dt: float
    coordinate_names: tuple[str, ...]
    coordinate_scale: tuple[float, ...]
    velocity_scale: tuple[float, ...]
    tip_speed_scale: float
    scaled: Callable[[Any, Any, Any], Any]
    max_payload: float
    max_tip_force: float
    body_radius: float
    control_dt: float = 0.05
    tip_offset: Callable[[Any], Array] | None = None
    velocity_names: tuple[str, ...] = ()
    turns: bool = False
    instantaneous: bool = False
    postures: tuple[tuple[float, ...], ...] = ()

    @property
    def rate_names(self) -> tuple[str, ...]:
        """Names of the velocities."""
        return self.velocity_names or tuple(f"{name}_rate" for name in self.coordinate_names)

    def make(self, **options: Any) -> SoftRobot:
        """The robot, made by one compiled program: up to ten times sooner than ``build``, operation by operation."""
        return eqx.filter_jit(self.build)(**options)

    def tip_position(self, robot: SoftRobot, q: Array) -> Array:
        """World position (space,) of the tip, m."""
        return robot.group.position(self.tip_pose(robot, q))

    def tip_pose(self, robot: Any, q: Array) -> Array:
        """Pose of the tip."""
        return self.motion(robot, q).tip

    def motion(self, robot: Any, q: Array, v: Array | None = None, *, body: bool = False) -> "Motion":
        """What is seen of the robot, at rest without ``v``; traced once a program."""
        v = jnp.zeros(robot.num_velocities, q.dtype) if v is None else v
        return _motion(self.tip_offset, body, robot, q, v)

    def make_solver(self, robot: SoftRobot) -> AbstractSolver:
        """The default solver for this robot."""
        return SOLVERS[self.solver](robot)


class Motion(NamedTuple):
    """Where the tip is, how it moves, and where the body is.

    Attributes:
        tip, rate: pose of the tip and its rate.
        body: eight points (8, space) along the backbone, evenly from an eighth of it on, m, the last one the tip; None
            where nobody asked.
    """

    tip: Array
    rate: Array
    body: Array | None


@eqx.filter_jit
def _motion(tip_offset: Callable[[Any], Array] | None, with_body: bool, robot: Any, q: Array, v: Array) -> Motion:
    G, chain = robot.group, robot.assemble()
    pose, twist, bases = kinematics.end_motion(chain, q, v)
    if tip_offset is not None:
        offset = tip_offset(robot)
        pose, twist = G.compose(pose, offset), G.inverse_adjoint(offset) @ twist
    body = None
    if with_body:
        s = robot.length * jnp.arange(1, 8, dtype=q.dtype) / 8
        inner = jax.vmap(lambda s: G.position(kinematics.pose_at(chain, q, s, bases)))(s)
        body = jnp.concatenate([inner, G.position(pose)[None]])
    return Motion(pose, G.pose_rate(pose, twist), body)


def _inputs(robot: SoftRobot) -> tuple[ActuatorMetadata, ...]:
    # traced, not computed: some robots derive their actuators from their parameters, but metadata hold no arrays
    return eqx.filter_eval_shape(lambda: robot.actuator_input_metadata)


def input_limits(robot: SoftRobot) -> tuple[np.ndarray, np.ndarray]:
    """Physical limits (m,) of the inputs, from the actuator metadata.

    Raises:
        ValueError: an input without finite limits.
    """
    groups = _inputs(robot)
    lower = np.concatenate([np.asarray(group.lower, float) for group in groups])
    upper = np.concatenate([np.asarray(group.upper, float) for group in groups])
    if not np.all(np.isfinite(lower) & np.isfinite(upper) & (lower < upper)):
        raise ValueError(f"an environment needs finite limits for every input, got {lower.tolist()}..{upper.tolist()}")
    return lower, upper


def input_names(robot: SoftRobot) -> tuple[str, ...]:
    """Names of the inputs."""
    return tuple(name for group in _inputs(robot) for name in group.names)


def input_units(robot: SoftRobot) -> tuple[str, ...]:
    """Unit of each input."""
    return tuple(group.units for group in _inputs(robot) for _ in group.names)

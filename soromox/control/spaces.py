"""The spaces in which a controller may work, as task maps: the law is the same in all of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.coordinate_transformations import TaskKinematics
from soromox.systems import SoftRobot


class ConfigurationSpace(eqx.Module):
    """The robot's own coordinates; robots with a fixed base."""

    def __call__(self, robot: SoftRobot, q: Array, v: Array) -> TaskKinematics:
        if robot.floating_base:
            raise ValueError("the configuration of a floating robot is no vector of errors; control a task instead")
        identity = jnp.eye(robot.num_velocities, dtype=q.dtype)
        return TaskKinematics(q, identity, jnp.zeros_like(identity))


class ActuationSpace(eqx.Module):
    """The actuator coordinates ``y_a(q)``, work-conjugate to the efforts: task forces are efforts."""

    def __call__(self, robot: SoftRobot, q: Array, v: Array) -> TaskKinematics:
        A, A_dot = jax.jvp(robot.actuation_matrix, (q,), (robot.configuration_derivative(q, v),))
        return TaskKinematics(robot.actuator_coordinates(q), A.T, A_dot.T)

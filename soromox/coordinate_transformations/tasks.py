"""Task maps: what of a robot is to be controlled, and how it moves."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.lie import so3
from soromox.systems.soft_robot import SoftRobot


class TaskKinematics(NamedTuple):
    """Task coordinates ``x``, Jacobian ``J`` (k, nv) from the robot's velocities, and its time derivative."""

    x: Array
    J: Array
    J_dot: Array


Task = Callable[[SoftRobot, Array, Array], tuple[Array, Array, Array]]
"""From ``(robot, q, v)`` to ``(x, J, J_dot)``: ``PoseTask``, ``MapTask``, or a function of one's own."""


class PoseTask(eqx.Module):
    """Motion of the material point at one arc length.

    Coordinates are ``[theta, x, y]`` in the plane and ``[rotation vector, x, y, z]`` in space; J has the rows
    ``[w, v]`` in world axes, so spatial angular rows give the angular velocity, not the rate of the rotation vector.

    Attributes:
        s: arc length, m; the tip when None.
        rows: which of the 3 or 6 rows, all when None; ``(1, 2)`` is a planar and ``(3, 4, 5)`` a spatial position.
    """

    s: Array | float | None = None
    rows: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def __call__(self, robot: SoftRobot, q: Array, v: Array) -> TaskKinematics:
        s = jnp.asarray(robot.length if self.s is None else self.s, q.dtype)
        rows = jnp.array(range(robot.group.dim) if self.rows is None else self.rows)
        x = robot.forward_kinematics(q, s)
        if not robot.is_planar:
            x = jnp.concatenate([so3.log(x[:3, :3]), x[:3, 3]])
        J, J_dot = robot.jacobian_and_time_derivative(q, v, s)
        return TaskKinematics(x[rows], J[rows], J_dot[rows])


class MapTask(eqx.Module):
    """Coordinates ``x = function(robot, q)`` (k,), differentiated automatically; floating bases included.

    Attributes:
        function: smooth, one configuration at a time.
    """

    function: Callable[[SoftRobot, Array], Array]

    def __call__(self, robot: SoftRobot, q: Array, v: Array) -> TaskKinematics:
        def jacobian(q):
            return jax.jacfwd(lambda step: self.function(robot, robot.retract_configuration(q, step)))(still)

        still = jnp.zeros_like(v)
        J, J_dot = jax.jvp(jacobian, (q,), (robot.configuration_derivative(q, v),))
        return TaskKinematics(self.function(robot, q), J, J_dot)

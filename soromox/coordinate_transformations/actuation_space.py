"""Dynamics in actuation space: coordinates in which each actuator drives one coordinate (collocated form).

Pustina, Della Santina, Boyer, De Luca and Renda, "Input decoupling of Lagrangian systems via coordinate
transformation: general characterization and its application to soft robots", IEEE Transactions on Robotics, 2024.
"""

from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from soromox.coordinate_transformations.operational_space import TransformedDynamics, transformed
from soromox.coordinate_transformations.tasks import TaskKinematics
from soromox.systems.soft_robot import SoftRobot


class ActuationCoordinates(eqx.Module):
    """The task map ``theta = [y_a(q), base, complement q_internal]``, as many coordinates as the robot has.

    The actuator coordinates y_a come first, so that the actuation matrix becomes ``[1; 0]``; then a floating base as
    it is, and a constant linear complement. A change of coordinates as long as its Jacobian is regular.

    Attributes:
        complement: (N - m, N) for N internal coordinates and m actuator coordinates.
    """

    complement: Array

    @classmethod
    def around(cls, robot: SoftRobot, q: Array) -> Self:
        """The complement orthogonal to the actuation matrix at ``q``: regular there and nearby.

        Raises:
            ValueError: more actuator coordinates than internal coordinates.
        """
        A = robot.actuation_matrix(q)[robot.num_base_velocities :]
        n, m = A.shape
        if m > n:
            raise ValueError(
                f"there must be at most as many actuator coordinates as internal coordinates ({n}), got {m}"
            )
        basis = jnp.linalg.qr(lax.stop_gradient(A), mode="complete")[0]
        return cls(basis[:, m:].T)

    def __call__(self, robot: SoftRobot, q: Array, v: Array) -> TaskKinematics:
        base, internal = robot.split_configuration(q)
        A, A_dot = jax.jvp(robot.actuation_matrix, (q,), (robot.configuration_derivative(q, v),))
        n, b = self.complement.shape[0], robot.num_base_velocities
        rest = jnp.zeros((b + n, robot.num_velocities), q.dtype)
        fixed = jnp.concatenate(
            [jnp.eye(b, robot.num_velocities, dtype=q.dtype), jnp.pad(self.complement, ((0, 0), (b, 0)))]
        )
        coordinates = [robot.actuator_coordinates(q), *([] if base is None else [base]), self.complement @ internal]
        return TaskKinematics(
            jnp.concatenate(coordinates), jnp.concatenate([A.T, fixed]), jnp.concatenate([A_dot.T, rest])
        )


def actuation_space_dynamics(
    robot: SoftRobot, coordinates: ActuationCoordinates, q: Array, v: Array
) -> TransformedDynamics:
    """The equation of motion in actuation coordinates, where the force of efforts e is ``[e, 0]``.

    Infinite or NaN where the change of coordinates is singular.
    """
    x, J, J_dot = coordinates(robot, q, v)
    if J.shape[0] != J.shape[1]:
        raise ValueError(f"complement must make theta as long as the velocities ({J.shape[1]}), got {J.shape[0]}")
    return transformed(robot, q, v, robot.inertia_matrix(q), x, J, J_dot, jnp.linalg.inv(J))

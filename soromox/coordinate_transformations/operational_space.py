"""Dynamics in operational space: the equation of motion as a task sees it.

Khatib, "A unified approach for motion and force control of robot manipulators: the operational space formulation",
IEEE Journal on Robotics and Automation, 1987.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from soromox.coordinate_transformations.tasks import Task
from soromox.core.linalg import spd_solve
from soromox.systems.soft_robot import SoftRobot


class TransformedDynamics(NamedTuple):
    """``M x_dd + convective + G + elastic_force + damping_force = J_bar^T tau`` for task coordinates x (k,).

    ``tau`` (nv,) is any other generalised force: actuation, external. The accelerations that follow are those of the
    robot's own equation of motion, for redundant tasks (k < nv) too.

    Attributes:
        x: task coordinates.
        x_dot: ``J v`` (k,).
        J, J_dot: Jacobian (k, nv) and its time derivative.
        J_bar: right inverse (nv, k) of J, along which the other arrays are taken.
        M: inertia ``J_bar^T M J_bar``, Khatib's Lambda (k, k).
        C: ``(J_bar^T C - M J_dot) J_bar``, Khatib's mu (k, k); M_dot - 2 C is skew.
        convective: ``J_bar^T C v - M J_dot v`` (k,): ``C x_dot``, and what motion in the null space adds.
        G: gravitational force ``J_bar^T G``, Khatib's p (k,).
        elastic_force: (k,).
        damping_force: (k,).
    """

    x: Array
    x_dot: Array
    J: Array
    J_dot: Array
    J_bar: Array
    M: Array
    C: Array
    convective: Array
    G: Array
    elastic_force: Array
    damping_force: Array

    @property
    def Lambda(self) -> Array:
        """Khatib's name of ``M``."""
        return self.M

    @property
    def mu(self) -> Array:
        """Khatib's name of ``C``."""
        return self.C

    @property
    def p(self) -> Array:
        """Khatib's name of ``G``."""
        return self.G

    @property
    def null_space_projector(self) -> Array:
        """``N = 1 - J_bar J`` (nv, nv): ``N v`` does not move the task, ``N^T tau`` does not accelerate it."""
        return jnp.eye(self.J.shape[1], dtype=self.J.dtype) - self.J_bar @ self.J

    def force(self, tau: Array) -> Array:
        """Task force (k,) of a generalised force (nv,)."""
        return self.J_bar.T @ tau

    def acceleration(self, tau: Array) -> Array:
        """Task acceleration (k,) under a generalised force (nv,)."""
        forces = self.force(tau) - self.convective - self.G - self.elastic_force - self.damping_force
        return spd_solve(self.M, forces[:, None])[:, 0]


def operational_space_dynamics(robot: SoftRobot, task: Task, q: Array, v: Array) -> TransformedDynamics:
    """Dynamics of a task, ``J_bar = M^-1 J^T Lambda`` being the dynamically consistent inverse.

    At a singular configuration (J without full row rank) Lambda does not exist, and the result is infinite or NaN.
    """
    x, J, J_dot = task(robot, q, v)
    M = robot.inertia_matrix(q)
    mobility = spd_solve(M, J.T)
    J_bar = spd_solve(J @ mobility, mobility.T).T
    return transformed(robot, q, v, M, x, J, J_dot, J_bar)


def transformed(
    robot: SoftRobot, q: Array, v: Array, M: Array, x: Array, J: Array, J_dot: Array, J_bar: Array
) -> TransformedDynamics:
    """The equation of motion along the right inverse ``J_bar``, which is the dynamically consistent one."""
    C = robot.coriolis_matrix(q, v)
    inertia = J_bar.T @ M @ J_bar
    return TransformedDynamics(
        x=x,
        x_dot=J @ v,
        J=J,
        J_dot=J_dot,
        J_bar=J_bar,
        M=inertia,
        C=(J_bar.T @ C - inertia @ J_dot) @ J_bar,
        convective=J_bar.T @ (C @ v) - inertia @ (J_dot @ v),
        G=J_bar.T @ robot.gravitational_force(q),
        elastic_force=J_bar.T @ robot.elastic_force(q),
        damping_force=J_bar.T @ (robot.damping_matrix(q) @ v),
    )

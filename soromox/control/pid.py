"""Tracking and impedance controllers in any space."""

from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from soromox.control.base import ClosedFormModelBasedController
from soromox.control.reference import ReferenceTrajectory
from soromox.coordinate_transformations import Task, operational_space_dynamics
from soromox.systems import SoftRobot, SystemState
from soromox.utils.checks import as_float

Compensation = Literal["none", "potential", "linearizing", "impedance"]


class TaskController(ClosedFormModelBasedController):
    """PID feedback on a task, and what of the model is compensated. The task force F becomes ``tau = J^T F``.

    With e = x_des - x the feedback is ``K_p e + K_d e_dot + K_i z``, z_dot = e (``control_state``, start it with
    ``initial_control_state``); gains may be scalars, vectors, matrices or repeated blocks. Compensation:

    - ``none``: nothing, PID alone;
    - ``potential``: gravity and elasticity where the robot is;
    - ``linearizing``: all of the dynamics; feedback acts on accelerations, ``e_ddot + K_d e_dot + K_p e = 0`` in the
      task (computed torque, operational-space control);
    - ``impedance``: all of the dynamics of the desired motion with the robot's own inertia, so that disturbances F meet
      ``M e_ddot + (C + K_d) e_dot + K_p e = F``: passive, no inertia is shaped (Ott 2008).

    Actuators whose effort is not their input (HSA motors) are not inverted.

    Attributes:
        task: ``ConfigurationSpace()``, ``ActuationSpace()``, a ``PoseTask``, or any task map.
        K_p, K_d, K_i: gains; K_i None means no integral action.
    """

    robot: SoftRobot
    reference_trajectory: ReferenceTrajectory
    task: Task
    K_p: Array = eqx.field(converter=as_float)
    K_d: Array = eqx.field(converter=as_float)
    K_i: Array | None = eqx.field(converter=as_float, default=None)
    compensation: Compensation = eqx.field(static=True, default="linearizing")

    def __check_init__(self):
        if self.compensation not in ("none", "potential", "linearizing", "impedance"):
            raise ValueError(
                f"compensation must be 'none', 'potential', 'linearizing' or 'impedance', got {self.compensation!r}"
            )

    def initial_control_state(self) -> Array | None:
        """Integral of the error at the start, None without integral action."""
        if self.K_i is None:
            return None
        return jnp.zeros_like(self.reference_trajectory.get_state(jnp.zeros(()))[0])

    def model_based_term(self, system_state: SystemState) -> tuple[Array, None]:
        q, v, _ = self.robot.split_state(system_state.y)
        if self.compensation == "none":
            return jnp.zeros(self.robot.num_actuators, q.dtype), None
        d = operational_space_dynamics(self.robot, self.task, q, v)
        force = d.G + d.elastic_force
        if self.compensation != "potential":
            _, rate, acceleration = self.reference_trajectory.get_state(system_state.t)
            force = force + d.M @ acceleration + d.convective + d.damping_force
        if self.compensation == "impedance":
            force = force + d.C @ (rate - d.x_dot)
        return self._to_actuation(q, d.J.T @ force), None

    def error_based_feedback_term(self, system_state: SystemState) -> tuple[Array, Any | None]:
        q, v, _ = self.robot.split_state(system_state.y)
        x, J, _ = self.task(self.robot, q, v)
        desired, rate, _ = self.reference_trajectory.get_state(system_state.t)
        error, integral = desired - x, system_state.control_state
        feedback = self._apply_gain(self.K_p, error) + self._apply_gain(self.K_d, rate - J @ v)
        if self.K_i is not None:
            if integral is None:
                raise ValueError("integral action needs control_state; start with initial_control_state()")
            feedback = feedback + self._apply_gain(self.K_i, integral)
        if self.compensation == "linearizing":
            feedback = operational_space_dynamics(self.robot, self.task, q, v).M @ feedback
        return self._to_actuation(q, J.T @ feedback), None if self.K_i is None else error

"""What controllers have in common."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.control.reference import ReferenceTrajectory
from soromox.systems import SoftRobot, SystemState


class BaseController(eqx.Module):
    """A controller of the rollouts: from the state of the system to an actuation and the rate of its own state.

    Attributes:
        robot: the model that the controller has of the robot.
        reference_trajectory: what it is to follow.
    """

    robot: eqx.AbstractVar[SoftRobot]
    reference_trajectory: eqx.AbstractVar[ReferenceTrajectory]

    @abstractmethod
    def __call__(self, system_state: SystemState) -> tuple[Array, Any | None]:
        """Actuation (num_actuators,), and the time derivative of ``control_state``, None if there is none."""


class ClosedFormModelBasedController(BaseController):
    """Control law ``u = model_based_term + error_based_feedback_term``; a subclass defines either or both."""

    def model_based_term(self, system_state: SystemState) -> tuple[Array, Any | None]:
        """Actuation from the model, and the rate of ``control_state`` that it contributes."""
        return jnp.zeros(self.robot.num_actuators, system_state.y.dtype), None

    def error_based_feedback_term(self, system_state: SystemState) -> tuple[Array, Any | None]:
        """Actuation from the tracking error, and the rate of ``control_state`` that it contributes."""
        return jnp.zeros(self.robot.num_actuators, system_state.y.dtype), None

    def __call__(self, system_state: SystemState) -> tuple[Array, Any | None]:
        terms = self.model_based_term(system_state), self.error_based_feedback_term(system_state)
        rates = [rate for _, rate in terms if rate is not None]
        return terms[0][0] + terms[1][0], jax.tree.map(lambda *x: sum(x), *rates) if rates else None

    def _apply_gain(self, gain: Array, error: Array) -> Array:
        """Gain times error (k,): a scalar, (k,), a matrix (k, k), or a smaller one (b, b) repeated along the diagonal.

        Raises:
            ValueError: a gain of another shape, or k not a multiple of b.
        """
        gain = jnp.asarray(gain)
        if gain.ndim < 2:
            return gain * error
        b, k = gain.shape[-1], error.shape[0]
        if gain.shape != (b, b) or k % b:
            raise ValueError(
                f"a gain on {k} coordinates must be (), ({k},) or (b, b) with b dividing {k}, got {gain.shape}"
            )
        return (error.reshape(-1, b) @ gain.T).reshape(-1)

    def _to_actuation(self, q: Array, tau: Array) -> Array:
        """Efforts whose generalised force is closest to ``tau`` (nv,); the inputs of actuators that apply them."""
        return jnp.linalg.lstsq(self.robot.actuation_matrix(q), tau)[0]

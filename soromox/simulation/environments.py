"""What surrounds a robot, as environment models of the rollouts: ``model(state) -> (force (nv,), state rate)``."""

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.core.line import line_force
from soromox.utils.checks import as_float, require_positive, require_shape

if TYPE_CHECKING:
    from soromox.systems.soft_robot import SoftRobot
    from soromox.systems.state import SystemState


class ViscousDrag(eqx.Module):
    """Resistive force of a viscous fluid at rest on a slender body.

    A piece of the backbone that moves with velocity v and points along the unit tangent t feels the force per
    reference length ``-normal v - (tangential - normal) t (t . v)``; resistance to turning about the tangent is left
    out. A body whose normal coefficient is the larger one swims by undulation. Gray and Hancock, "The propulsion of
    sea-urchin spermatozoa", 1955.

    Attributes:
        robot: any chain, fixed or floating; rods feel it at their quadrature nodes.
        normal, tangential: coefficients, scalars, N s/m^2.
    """

    robot: "SoftRobot"
    normal: Array = eqx.field(converter=as_float)
    tangential: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        for name in ("normal", "tangential"):
            require_shape(name, getattr(self, name), ())
            require_positive(name, getattr(self, name), allow_zero=True)

    def _force(self, q: Array, v: Array) -> Array:
        def resistance(tangent, velocity):
            return -self.normal * velocity - (self.tangential - self.normal) * (tangent @ velocity) * tangent

        return line_force(self.robot.assemble(), q, v, resistance)

    def damping_matrix(self, q: Array) -> Array:
        """D(q), (nv, nv), symmetric positive semi-definite: the force is ``-D v``."""
        return -jax.jacfwd(self._force, argnums=1)(q, jnp.zeros(self.robot.num_velocities, q.dtype))

    def __call__(self, state: "SystemState") -> tuple[Array, None]:
        q, v, _ = self.robot.split_state(state.y)
        return self._force(q, v), None


class TipPulses(eqx.Module):
    """Forces on the tip, in world axes, each constant for a while; pulses may overlap.

    Fixed steps should meet the edges of the pulses; an adaptive solver needs steps shorter than them.

    Attributes:
        robot: any robot.
        times: beginnings (k,), s.
        forces: (k, 2) or (k, 3), N.
        durations: (k,), s.
    """

    robot: "SoftRobot"
    times: Array = eqx.field(converter=as_float)
    forces: Array = eqx.field(converter=as_float)
    durations: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        count, space = jnp.shape(self.times), 2 if self.robot.is_planar else 3
        if len(count) != 1:
            raise ValueError(f"times must have shape (k,), got {count}")
        require_shape("forces", self.forces, (*count, space))
        require_shape("durations", self.durations, count)
        require_positive("durations", self.durations)

    def __call__(self, state: "SystemState") -> tuple[Array, None]:
        q, *_ = self.robot.split_state(state.y)
        acting = (state.t >= self.times) & (state.t < self.times + self.durations)
        force = jnp.where(acting[:, None], self.forces, 0).sum(0).astype(q.dtype)
        J = self.robot.jacobian(q, jnp.asarray(self.robot.length, q.dtype))[self.robot.group.angular :]
        return J.T @ force, None

"""What surrounds a robot, as environment models of the rollouts: ``model(state) -> (force (nv,), state rate)``."""

from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.utils.checks import as_float, require_positive, require_shape

if TYPE_CHECKING:
    from soromox.systems.soft_robot import SoftRobot
    from soromox.systems.state import SystemState


class ViscousDrag(eqx.Module):
    """Resistive force of a viscous fluid at rest on a slender body, by Gauss quadrature along each segment.

    A piece of the backbone that moves with velocity v and points along the unit tangent t feels the force per
    reference length ``-normal v - (tangential - normal) t (t . v)``; resistance to turning about the tangent is left
    out. A body whose normal coefficient is the larger one swims by undulation. Gray and Hancock, "The propulsion of
    sea-urchin spermatozoa", 1955.

    Attributes:
        robot: any chain, fixed or floating.
        normal, tangential: coefficients, scalars, N s/m^2.
        num_points: quadrature points a segment.
    """

    robot: "SoftRobot"
    normal: Array = eqx.field(converter=as_float)
    tangential: Array = eqx.field(converter=as_float)
    num_points: int = eqx.field(static=True, default=5)

    def __check_init__(self):
        for name in ("normal", "tangential"):
            require_shape(name, getattr(self, name), ())
            require_positive(name, getattr(self, name), allow_zero=True)
        if self.num_points < 1:
            raise ValueError(f"num_points must be at least 1, got {self.num_points}")

    def _loads(self, q: Array) -> tuple[Array, Array, Array]:
        """Tangents (P, space), linear Jacobians (P, space, nv) and quadrature weights (P,), m."""
        robot, angular = self.robot, self.robot.group.angular
        nodes, weights = np.polynomial.legendre.leggauss(self.num_points)
        ends = robot.L_cum.astype(q.dtype)
        length = ends[1:, None] - ends[:-1, None]
        s = ends[:-1, None] + length * jnp.asarray((nodes + 1) / 2, q.dtype)[None]
        slope = robot.forward_kinematics_arc_length_derivative_abscissa_batched(q, s.reshape(-1))
        slope = slope[:, 1:] if robot.is_planar else slope[:, :3, 3]
        tangents = slope / jnp.linalg.norm(slope, axis=-1, keepdims=True)
        J = robot.jacobian_abscissa_batched(q, s.reshape(-1))[:, angular:]
        return tangents, J, (length * jnp.asarray(weights / 2, q.dtype)[None]).reshape(-1)

    def damping_matrix(self, q: Array) -> Array:
        """D(q), (nv, nv), symmetric positive semi-definite: the force is ``-D v``."""
        tangents, J, weights = self._loads(q)
        along = jnp.einsum("pi,piv->pv", tangents, J)
        across = self.normal * jnp.einsum("p,piv,piw->vw", weights, J, J)
        return across + (self.tangential - self.normal) * jnp.einsum("p,pv,pw->vw", weights, along, along)

    def __call__(self, state: "SystemState") -> tuple[Array, None]:
        q, v, _ = self.robot.split_state(state.y)
        tangents, J, weights = self._loads(q)
        velocity = jnp.einsum("piv,v->pi", J, v)
        along = jnp.einsum("pi,pi->p", tangents, velocity)
        force = self.normal * velocity + (self.tangential - self.normal) * along[:, None] * tangents
        return -jnp.einsum("p,piv,pi->v", weights, J, force), None


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

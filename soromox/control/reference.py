"""Reference trajectories."""

from collections.abc import Callable
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.utils.checks import as_float


class _Constant(eqx.Module):
    value: Array

    def __call__(self, t: Array) -> Array:
        return self.value


class ReferenceTrajectory(eqx.Module):
    """Desired coordinates over time; velocities and accelerations follow by differentiation.

    Attributes:
        position: twice differentiable function of the time (s) to coordinates (k,) of whatever space is controlled.
    """

    position: Callable[[Array], Array]

    @classmethod
    def constant(cls, value: Array) -> Self:
        """A setpoint (k,)."""
        return cls(_Constant(as_float(value)))

    def get_state(self, t: Array) -> tuple[Array, Array, Array]:
        """Desired position, velocity and acceleration (k,) at a time."""
        t = jnp.asarray(t, jnp.result_type(t, float))
        one = jnp.ones_like(t)

        def velocity(t):
            return jax.jvp(self.position, (t,), (one,))

        (x, x_dot), (_, x_ddot) = jax.jvp(velocity, (t,), (one,))
        return x, x_dot, x_ddot

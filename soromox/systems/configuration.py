"""Configurations, velocities and states of a robot with a fixed or a floating base."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core import base as floating
from soromox.systems.dynamical_system import DynamicalSystem
from soromox.utils.checks import concrete


class ConfigurationSpace(DynamicalSystem):
    """Layout of ``y = [q, v, auxiliary]``.

    Fixed: q and v are the internal coordinates and rates. Floating: q is ``[theta, x, y, internal]`` or
    ``[qx qy qz qw x y z, internal]`` and v is ``[w_world, v_world of the base origin, internal rates]``. All methods
    take leading axes.
    """

    @property
    @abstractmethod
    def is_planar(self) -> bool:
        """True for SE(2), False for SE(3)."""

    @property
    def floating_base(self) -> bool:
        """Whether the base moves; its pose is then part of the configuration."""
        return False

    @property
    def num_internal_dofs(self) -> int:
        """Internal coordinates, the base left out."""
        return self.num_dofs

    @property
    def num_base_coordinates(self) -> int:
        """0 for fixed robots, 3 for planar and 7 for spatial floating ones."""
        return (3 if self.is_planar else 7) if self.floating_base else 0

    @property
    def num_base_velocities(self) -> int:
        """0 for fixed robots, 3 for planar and 6 for spatial floating ones."""
        return (3 if self.is_planar else 6) if self.floating_base else 0

    @property
    def num_coordinates(self) -> int:
        """nq, the base included."""
        return self.num_base_coordinates + self.num_internal_dofs

    @property
    def num_velocities(self) -> int:
        """nv, the base included."""
        return self.num_base_velocities + self.num_internal_dofs

    @property
    def num_auxiliary_states(self) -> int:
        """Trailing first-order states, such as hysteresis."""
        return 0

    @property
    def state_size(self) -> int:
        """Length of y."""
        return self.num_coordinates + self.num_velocities + self.num_auxiliary_states

    def pack_configuration(self, q_internal: Array, *, base_pose: Array | None = None) -> Array:
        """Configuration (..., nq) from internal coordinates and, for floating robots, a base pose."""
        _check_last("q_internal", q_internal, self.num_internal_dofs)
        if not self.floating_base:
            if base_pose is not None:
                raise ValueError("a robot with a fixed base has no runtime base pose; use with_fixed_base_pose")
            return q_internal
        if base_pose is None:
            raise ValueError(f"a floating robot needs base_pose with {self.num_base_coordinates} entries, got None")
        _check_last("base_pose", base_pose, self.num_base_coordinates)
        return _concatenate(base_pose, q_internal)

    def split_configuration(self, q: Array) -> tuple[Array | None, Array]:
        """``(q_base, q_internal)``; q_base is None for fixed robots."""
        _check_last("q", q, self.num_coordinates)
        nb = self.num_base_coordinates
        return (q[..., :nb] if nb else None), q[..., nb:]

    def pack_velocity(self, qd_internal: Array, *, base_velocity: Array | None = None) -> Array:
        """Velocity (..., nv) from internal rates and a world-frame base velocity, zero when omitted."""
        _check_last("qd_internal", qd_internal, self.num_internal_dofs)
        if not self.floating_base:
            if base_velocity is not None:
                raise ValueError("a robot with a fixed base has no base velocity")
            return qd_internal
        if base_velocity is None:
            base_velocity = jnp.zeros(self.num_base_velocities, qd_internal.dtype)
        _check_last("base_velocity", base_velocity, self.num_base_velocities)
        return _concatenate(base_velocity, qd_internal)

    def split_velocity(self, v: Array) -> tuple[Array | None, Array]:
        """``(v_base, qd_internal)``; v_base is None for fixed robots."""
        _check_last("v", v, self.num_velocities)
        nb = self.num_base_velocities
        return (v[..., :nb] if nb else None), v[..., nb:]

    def pack_state(self, q: Array, v: Array, auxiliary_state: Array | None = None) -> Array:
        """State ``[q, v, auxiliary]``; omitted auxiliary states are zero."""
        _check_last("q", q, self.num_coordinates)
        _check_last("v", v, self.num_velocities)
        if auxiliary_state is None:
            auxiliary_state = jnp.zeros(self.num_auxiliary_states, v.dtype)
        _check_last("auxiliary_state", auxiliary_state, self.num_auxiliary_states)
        return _concatenate(q, v, auxiliary_state)

    def split_state(self, y: Array) -> tuple[Array, Array, Array]:
        """``(q, v, auxiliary)``."""
        _check_last("y", y, self.state_size)
        nq, nv = self.num_coordinates, self.num_velocities
        return y[..., :nq], y[..., nq : nq + nv], y[..., nq + nv :]

    def normalize_configuration(self, q: Array) -> Array:
        """Configuration with a unit base quaternion, hemisphere kept; unchanged unless spatial and floating."""
        if not self.floating_base or self.is_planar:
            return q
        value = concrete(q)
        if value is not None:
            norms = np.linalg.norm(value[..., :4], axis=-1)
            if not np.all(np.isfinite(norms)) or not np.all(norms > 0):
                raise ValueError(f"the base quaternion must be finite and non-zero, got {value[..., :4].tolist()}")
        return over_leading(lambda q: jnp.concatenate([floating.normalize(q[:7]), q[7:]]), q)

    def project_state(self, y: Array) -> Array:
        """State with a unit base quaternion; unchanged unless spatial and floating."""
        if not self.floating_base or self.is_planar:
            return y
        return over_leading(lambda y: jnp.concatenate([floating.normalize(y[:7]), y[7:]]), y)

    def configuration_derivative(self, q: Array, v: Array) -> Array:
        """Rate of the stored coordinates under the velocity v."""
        if not self.floating_base or self.is_planar:
            return v

        def rate(q, v):
            return jnp.concatenate([floating.configuration_rate(False, q[:7], v[:6]), v[6:]])

        return over_leading(rate, q, v)

    def retract_configuration(self, q: Array, delta_v: Array) -> Array:
        """Configuration reached along a velocity increment: exp from the left on the quaternion, sums elsewhere."""
        if not self.floating_base or self.is_planar:
            return q + delta_v

        def step(q, delta):
            return jnp.concatenate([floating.retract(False, q[:7], delta[:6]), q[7:] + delta[6:]])

        return over_leading(step, q, delta_v)


def _check_last(name: str, x: Array, size: int) -> None:
    if jnp.ndim(x) < 1 or jnp.shape(x)[-1] != size:
        raise ValueError(f"{name} must have {size} entries along its last axis, got shape {jnp.shape(x)}")


def _concatenate(*parts: Array) -> Array:
    leading = jnp.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return jnp.concatenate([jnp.broadcast_to(part, leading + part.shape[-1:]) for part in parts], axis=-1)


def over_leading(function, *args: Array) -> Array:
    """Map a function of vectors over the leading axes that its arguments share."""
    for _ in range(args[0].ndim - 1):
        function = jax.vmap(function)
    return function(*args)

"""The planar pendulum of n links."""

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from soromox.systems.articulated.joint_chain import JointChain, JointChainParams, parameter
from soromox.utils.checks import require_finite, require_positive, require_shape


class PendulumParams(JointChainParams):
    """Parameters of a pendulum of n links, on top of those of every chain of joints.

    Attributes:
        length: from joint to joint (n,), m.
        center_of_mass_length: from joint to centre of mass along the link (n,), m.
        moment_inertia: about the centre of mass (n,), kg m^2.
    """

    is_planar: ClassVar[bool] = True

    length: Array = parameter()
    center_of_mass_length: Array = parameter()
    moment_inertia: Array = parameter()

    def __check_init__(self):
        n = self.num_links
        for name in ("length", "center_of_mass_length", "moment_inertia"):
            require_shape(name, getattr(self, name), (n,))
        require_positive("length", self.length)
        require_finite("center_of_mass_length", self.center_of_mass_length)
        require_positive("moment_inertia", self.moment_inertia, allow_zero=True)

    @property
    def joint_screw(self) -> Array:
        """Turning about the joint (n, 3)."""
        zero = jnp.zeros_like(self.length)
        return jnp.stack([jnp.ones_like(zero), zero, zero], axis=-1)

    @property
    def parent_to_joint_transform(self) -> Array:
        """Joints sit on the tips (n, 3)."""
        return jnp.zeros((self.length.shape[0], 3), self.length.dtype)

    @property
    def tip_position(self) -> Array:
        """(n, 2), m."""
        return _along_link(self.length)

    @property
    def center_of_mass_position(self) -> Array:
        """(n, 2), m."""
        return _along_link(self.center_of_mass_length)

    @property
    def center_of_mass_inertia(self) -> Array:
        """(n,), kg m^2."""
        return self.moment_inertia


def _along_link(x: Array) -> Array:
    return jnp.stack([x, jnp.zeros_like(x)], axis=-1)


class Pendulum(JointChain):
    """Planar pendulum of n links. A link points along ``(cos, sin)`` of the base angle plus the joint angles to it."""

    params_type: ClassVar[type] = PendulumParams
    __init__ = JointChain.__init__  # for type checkers, which would make one of the fields

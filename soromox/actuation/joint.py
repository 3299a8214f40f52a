"""Actuators that act on generalised coordinates directly."""

import jax.numpy as jnp
from jax import Array

from soromox.actuation.core import Actuator, ActuatorMetadata, Transmission
from soromox.core import Chain


class IdentityTransmission(Transmission):
    """Each input is the generalised force on one internal coordinate."""

    def coordinates(self, chain: Chain, q: Array) -> Array:
        return q

    def matrix(self, chain: Chain, q: Array) -> Array:
        return jnp.eye(q.shape[0], dtype=q.dtype)


def identity(num_coordinates: int) -> Actuator:
    """Identity actuation: u is the generalised force on the internal coordinates; units follow the coordinates."""
    n = num_coordinates
    names = tuple(f"tau_{i}" for i in range(n))
    metadata = ActuatorMetadata("identity", names, "generalised force", (-jnp.inf,) * n, (jnp.inf,) * n)
    return Actuator(IdentityTransmission(), metadata)

"""An actuator is a transmission times an effort model.

The transmission gives work-conjugate coordinates y(q) and their moment matrix A(q) = (dy/dq)^T; the effort model turns
the user's input u into efforts e conjugate to y; the generalised force is A e. Both see the robot only as a
``Chain`` and its internal coordinates.
"""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.core import Chain
from soromox.utils.checks import as_float, require_shape


class ActuatorMetadata(eqx.Module):
    """What a user and an environment need to know of a group of inputs. The model does not clip; environments do.

    Attributes:
        kind: "identity", "tendon", "hsa_motor", ...
        names: one name an input.
        units: unit of the inputs, "N", "N m", "Pa", "rad".
        lower, upper: physical limits of each input; infinite where there are none.
    """

    kind: str = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    units: str = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)

    def __check_init__(self):
        sizes = {"names": len(self.names), "lower": len(self.lower), "upper": len(self.upper)}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"actuator metadata needs one name and one limit per input, got sizes {sizes}")


class Transmission(eqx.Module):
    """Geometry of an actuator."""

    def check(self, planar: bool, num_segments: int) -> None:
        """ValueError if it does not fit such a robot; unless a transmission says otherwise, it fits any."""

    @abstractmethod
    def coordinates(self, chain: Chain, q: Array) -> Array:
        """Work-conjugate coordinates y (m,) at the internal configuration q (N,)."""

    @abstractmethod
    def matrix(self, chain: Chain, q: Array) -> Array:
        """Moment matrix A = (dy/dq)^T, (N, m)."""


class EffortModel(eqx.Module):
    """From inputs to efforts.

    Attributes:
        elastic: whether the effort depends on the coordinates.
    """

    elastic: ClassVar[bool] = False

    @abstractmethod
    def effort(self, u: Array, y: Array, y_dot: Array) -> Array:
        """Efforts (m,) conjugate to the coordinates y (m,) moving at y_dot, for inputs u."""


class DirectEffort(EffortModel):
    """The input is the effort: a tension, a torque, a pressure."""

    def effort(self, u: Array, y: Array, y_dot: Array) -> Array:
        return u


class Actuator(eqx.Module):
    """A group of inputs that share a transmission, an effort model and metadata."""

    transmission: Transmission
    metadata: ActuatorMetadata
    effort_model: EffortModel = DirectEffort()

    @property
    def num_inputs(self) -> int:
        return len(self.metadata.names)

    @property
    def params(self) -> Any:
        """The differentiable parameters: ``transmission`` and ``effort_model``."""
        return ActuatorParams(self.transmission, self.effort_model)

    def stiffness(self, chain: Chain, q: Array, u: Array) -> Array | None:
        """Stiffness (n, k, k) that the held inputs ``u`` lend the segments, for linearly implicit steps.

        None where the effort does not depend on the configuration, as with tendons: what bending does to their lever
        arms is not stiff.
        """
        if not self.effort_model.elastic:
            return None
        A = self.transmission.matrix(chain, q)
        y = self.transmission.coordinates(chain, q)
        slope = jax.jacfwd(lambda y: self.effort_model.effort(u, y, jnp.zeros_like(y)))(y)
        return chain.blocks(-(A @ slope @ A.T))

    def with_params(self, params: "ActuatorParams") -> Self:
        """A copy with all parameters replaced."""
        if not isinstance(params, ActuatorParams):
            raise TypeError(f"actuator params must be ActuatorParams, got {type(params).__name__}")
        return eqx.tree_at(lambda a: (a.transmission, a.effort_model), self, tuple(vars(params).values()))

    def update_params(self, **updates: Any) -> Self:
        """A copy with named fields of the transmission or the effort model replaced, e.g. ``intercept=...``."""
        actuator = self
        for name, value in updates.items():
            owners = [part for part in ("transmission", "effort_model") if hasattr(getattr(self, part), name)]
            if not owners:
                known = sorted({*vars(self.transmission), *vars(self.effort_model)})
                raise ValueError(f"unknown actuator parameter {name!r}; this actuator has {', '.join(known)}")
            value = as_float(value)
            require_shape(name, value, jnp.shape(getattr(getattr(self, owners[0]), name)))
            actuator = eqx.tree_at(lambda a, o=owners[0], n=name: getattr(getattr(a, o), n), actuator, value)
        return actuator


class ActuatorParams(eqx.Module):
    """Parameters of an actuator, as one tree."""

    transmission: Transmission
    effort_model: EffortModel


class PassiveElement(eqx.Module):
    """A spring and damper stretched along the coordinates of a transmission.

    Energy ``sum k (y - y0)^2 / 2``, generalised force ``A k (y - y0)`` on the elastic side, damping ``A diag(d) A^T``.
    """

    transmission: Transmission
    stiffness: Array
    damping: Array
    rest: Array

    def with_params(self, params: "PassiveElement") -> "PassiveElement":
        """Another element of the same kind."""
        if jax.tree.structure(params) != jax.tree.structure(self):
            raise TypeError("a passive element can only be replaced by one of the same structure")
        return params

    def update_params(self, **updates: Any) -> Self:
        """A copy with named fields replaced."""
        unknown = updates.keys() - vars(self).keys()
        if unknown:
            raise ValueError(
                f"unknown passive element field {', '.join(sorted(unknown))}; it has {', '.join(vars(self))}"
            )
        return type(self)(**{**vars(self), **updates})

    def energy(self, chain: Chain, q: Array) -> Array:
        """Stored energy, J."""
        stretch = self.transmission.coordinates(chain, q) - self.rest
        return 0.5 * jnp.sum(self.stiffness * stretch**2)

    def force(self, chain: Chain, q: Array) -> Array:
        """Gradient of the energy (N,)."""
        stretch = self.transmission.coordinates(chain, q) - self.rest
        return self.transmission.matrix(chain, q) @ (self.stiffness * stretch)

    def damping_matrix(self, chain: Chain, q: Array) -> Array:
        """(N, N)."""
        A = self.transmission.matrix(chain, q)
        return (A * self.damping[None]) @ A.T

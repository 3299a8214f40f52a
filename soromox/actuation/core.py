"""An actuator is a transmission times an effort model.

The transmission gives work-conjugate coordinates y(q) and their moment matrix A(q) = (dy/dq)^T; the effort model turns
the user's input u into efforts e conjugate to y; the generalised force is A e. Both see the robot only as a
``Chain`` and its internal coordinates.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core import Chain
from soromox.utils.checks import as_float, require_finite, require_positive, require_shape


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
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"names must differ, got {self.names}")
        if not all(low <= high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"lower must not exceed upper, got {self.lower} and {self.upper}")

    @classmethod
    def within(
        cls,
        kind: str,
        units: str,
        count: int,
        names: Sequence[str] | None,
        limit_name: str,
        limit: float | Sequence[float],
        *,
        signed: bool = False,
    ) -> Self:
        """Inputs between zero, or minus the limit if ``signed``, and a limit; named after their kind without names."""
        labels = tuple(names) if names is not None else tuple(f"{kind}_{i}" for i in range(count))
        upper = np.asarray(limit, float)
        if upper.shape not in ((), (count,)) or not np.all(upper > 0):
            raise ValueError(f"{limit_name} must be positive, a number or one an input ({count}), got {limit}")
        upper = tuple(np.broadcast_to(upper, (count,)).tolist())
        return cls(kind, labels, units, tuple(-x if signed else 0.0 for x in upper), upper)


class Transmission(eqx.Module):
    """Geometry of an actuator."""

    def check(self, robot: Any) -> None:
        """ValueError if it does not fit the robot; unless a transmission says otherwise, it fits any."""

    def lines(self, chain: Chain, q: Array, s_points: Array) -> tuple[Array, Array | None] | None:
        """What of it can be drawn, as m lines at the configuration q (nq,), base included; None for nothing.

        World points (m, k, 2 or 3), m, and radii (m, k), m, where the lines have a thickness. Lines along the body have
        one point per arc length in ``s_points`` (m), spread over the part that they cover; others only their corners.
        """
        return None

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
            part = getattr(actuator, owners[0])
            value = as_float(value)
            require_shape(name, value, jnp.shape(getattr(part, name)))
            # through the constructor, which checks values
            part = type(part)(**{**vars(part), name: value})
            actuator = eqx.tree_at(lambda a, o=owners[0]: getattr(a, o), actuator, part)
        return actuator


class ActuatorParams(eqx.Module):
    """Parameters of an actuator, as one tree."""

    transmission: Transmission
    effort_model: EffortModel


class PassiveElement(eqx.Module):
    """A spring and damper stretched along the coordinates of a transmission.

    Energy ``sum k (y - y0)^2 / 2``, generalised force ``A k (y - y0)`` on the elastic side, damping ``A diag(d) A^T``.

    Attributes:
        transmission: geometry.
        stiffness, damping: k and d (m,), not negative, in the units of force over coordinate and over rate.
        rest: y0 (m,), coordinates without elastic force.
    """

    transmission: Transmission
    stiffness: Array = eqx.field(converter=as_float)
    damping: Array = eqx.field(converter=as_float)
    rest: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        if jnp.ndim(self.stiffness) != 1:
            raise ValueError(f"stiffness must have one entry a coordinate, shape (m,), got {jnp.shape(self.stiffness)}")
        for name in ("damping", "rest"):
            require_shape(name, getattr(self, name), self.stiffness.shape)
        for name in ("stiffness", "damping"):
            require_positive(name, getattr(self, name), allow_zero=True)
        require_finite("rest", self.rest)

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
        return 0.5 * jnp.sum(self.stiffness * self._stretch(chain, q) ** 2)

    def force(self, chain: Chain, q: Array) -> Array:
        """Gradient of the energy (N,)."""
        return self.transmission.matrix(chain, q) @ (self.stiffness * self._stretch(chain, q))

    def _stretch(self, chain: Chain, q: Array) -> Array:
        y = self.transmission.coordinates(chain, q)
        require_shape("rest", self.rest, y.shape)  # one entry would broadcast
        return y - self.rest

    def damping_matrix(self, chain: Chain, q: Array) -> Array:
        """(N, N)."""
        A = self.transmission.matrix(chain, q)
        return (A * self.damping[None]) @ A.T

"""The state of a system in time, and along a trajectory."""

from typing import Any, Self

import equinox as eqx
import jax
import numpy as np
from jax import Array

from soromox.utils.checks import as_float


def _as_time(t: Any) -> Any:
    """Numbers stay concrete, also while tracing: a rollout derives its number of steps from them."""
    if isinstance(t, int | float | np.number | np.ndarray):
        return np.asarray(t, jax.dtypes.canonicalize_dtype(float))
    return as_float(t)


class SystemState(eqx.Module):
    """A system at one time, or with a leading time axis on every leaf along a trajectory.

    Attributes:
        t: time, s.
        y: state vector, ``[q, v, auxiliary]`` for soft robots.
        u: actuation input, added to what a controller gives; None means zero.
        control_state: internal state of a controller, any pytree.
        environment_state: internal state of an environment model, any pytree.
    """

    t: Array = eqx.field(converter=_as_time)
    y: Array = eqx.field(converter=as_float)
    u: Array | None = eqx.field(default=None, converter=as_float)
    control_state: Any = None
    environment_state: Any = None

    def replace(self, **updates: Any) -> Self:
        """A copy with named fields replaced."""
        return type(self)(**{**vars(self), **updates})

    def __getitem__(self, index: Any) -> Self:
        """The state at a time index (or slice) of a trajectory."""
        return jax.tree.map(lambda x: x[index], self)

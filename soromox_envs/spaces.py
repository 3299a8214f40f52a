"""The spaces of the functional environments: boxes of real vectors, and dictionaries of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray


class Box:
    """Arrays between two finite bounds; immutable, equal and hashable by value.

    `low` and `high` are scalars or arrays of the given shape, kept as read-only NumPy arrays (no device
    memory, nothing traced). `shape` defaults to that of `low`.
    """

    low: np.ndarray
    high: np.ndarray
    shape: tuple[int, ...]
    dtype: np.dtype

    def __init__(self, low: Any, high: Any, shape: tuple[int, ...] | None = None, dtype: Any = np.float32):
        low, high, self.dtype = np.array(low, dtype), np.array(high, dtype), np.dtype(dtype)
        self.shape = low.shape if shape is None else tuple(shape)
        try:
            self.low, self.high = np.broadcast_to(low, self.shape), np.broadcast_to(high, self.shape)
        except ValueError:
            raise ValueError(
                f"Box bounds must be scalars or of shape {self.shape}, got {low.shape} and {high.shape}."
            ) from None
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all() and (low <= high).all()):
            raise ValueError(f"Box bounds must be finite with low <= high, got low={low} and high={high}.")

    def sample(self, key: PRNGKeyArray) -> Float[Array, "..."]:
        """Uniform sample of the box."""
        return jax.random.uniform(key, self.shape, self.dtype, self.low, self.high)

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` has the box's shape and lies within its bounds (NaN does not)."""
        x = jnp.asarray(x)
        if x.shape != self.shape:
            return jnp.asarray(False)
        return jnp.all((x >= self.low) & (x <= self.high))

    def to_gymnasium(self) -> Any:
        """The same box as a `gymnasium.spaces.Box`."""
        import gymnasium

        return gymnasium.spaces.Box(self.low.copy(), self.high.copy(), self.shape, self.dtype.type)

    def _value(self) -> tuple[Any, ...]:
        return self.shape, self.dtype.str, self.low.tobytes(), self.high.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def __repr__(self) -> str:
        return f"Box(low={self.low}, high={self.high}, shape={self.shape}, dtype={self.dtype.name})"


class Dict:
    """Named boxes; immutable, equal and hashable by value."""

    spaces: Mapping[str, Box]

    def __init__(self, spaces: Mapping[str, Box]):
        self.spaces = MappingProxyType(dict(spaces))

    def __getitem__(self, name: str) -> Box:
        return self.spaces[name]

    def sample(self, key: PRNGKeyArray) -> dict[str, Array]:
        """A uniform sample of every box."""
        keys = jax.random.split(key, len(self.spaces))
        return {name: box.sample(k) for (name, box), k in zip(self.spaces.items(), keys, strict=True)}

    def contains(self, x: Any) -> Bool[Array, ""]:
        """Whether `x` has the same names and every box contains its entry."""
        if not isinstance(x, Mapping) or x.keys() != self.spaces.keys():
            return jnp.asarray(False)
        return jnp.all(jnp.stack([box.contains(x[name]) for name, box in self.spaces.items()]))

    def to_gymnasium(self) -> Any:
        """The same as a `gymnasium.spaces.Dict`."""
        import gymnasium

        return gymnasium.spaces.Dict({name: box.to_gymnasium() for name, box in self.spaces.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dict) and self.spaces == other.spaces

    def __hash__(self) -> int:
        return hash(tuple(self.spaces.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Dict, (dict(self.spaces),)

    def __repr__(self) -> str:
        return f"Dict({dict(self.spaces)})"

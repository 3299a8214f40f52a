"""Validation: structure always, values where they are concrete."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def as_float(x: Any) -> Any:
    """A floating-point array of the default precision for numbers and lists; floating arrays keep their dtype."""
    if x is None or not isinstance(x, int | float | list | tuple | np.ndarray | np.generic | jax.Array):
        return x
    # through NumPy, so that numbers do not become weakly typed and compile everything twice
    x = x if isinstance(x, jax.Array) else jnp.asarray(np.asarray(x))
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)


def require_shape(name: str, x: Any, shape: tuple[int, ...]) -> None:
    """ValueError unless ``x`` is an array of the given shape."""
    got = None if x is None else np.shape(x)
    if got != shape:
        raise ValueError(f"{name} must have shape {shape}, got {got}")


def concrete(x: Any) -> np.ndarray | None:
    """The value of ``x``, or None inside a transformation."""
    return None if isinstance(x, Tracer) or x is None else np.asarray(x)


def require_finite(name: str, x: Any) -> None:
    """ValueError if a concrete value holds NaN or infinity."""
    value = concrete(x)
    if value is not None and not np.all(np.isfinite(value)):
        raise ValueError(f"{name} must be finite, got {value.tolist()}")


def require_positive(name: str, x: Any, *, allow_zero: bool = False) -> None:
    """ValueError if a concrete value is not finite and positive (or zero, where that is allowed)."""
    require_finite(name, x)
    value = concrete(x)
    if value is not None and not np.all(value >= 0 if allow_zero else value > 0):
        wanted = "non-negative" if allow_zero else "positive"
        raise ValueError(f"{name} must be {wanted}, got {value.tolist()}")


def require_count(name: str, x: Any) -> None:
    """ValueError unless ``x`` is a whole number of at least 1."""
    if not isinstance(x, int | np.integer) or x < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {x!r}")


def require_symmetric(name: str, x: Any) -> None:
    """ValueError if the concrete matrices (..., d, d) are not symmetric to a relative 1e-5."""
    value = concrete(x)
    if value is None:
        return
    gap = np.abs(value - np.swapaxes(value, -1, -2)).max(initial=0.0)
    if gap > 1e-5 * np.abs(value).max(initial=0.0):
        raise ValueError(f"{name} must be symmetric, its largest asymmetry is {gap:.3g}")


def field_list(names: Any) -> str:
    """Names as a readable list for an error message."""
    return ", ".join(sorted(names))

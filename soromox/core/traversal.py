"""The one recursion over segments. It knows order and nothing else."""

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

UNROLLED = 2


def serial(step: Callable, carry: Any, xs: Any, *, reverse: bool = False) -> tuple[Any, Any]:
    """``lax.scan`` over the segments, unrolled where there are so few that a loop costs more than it saves."""
    n = jax.tree.leaves(xs)[0].shape[0]
    return lax.scan(step, carry, xs, reverse=reverse, unroll=n if n <= UNROLLED else 1)

"""The one recursion over segments. It knows order and nothing else."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

UNROLLED = 2


def _count(xs: Any) -> int:
    return jax.tree.leaves(xs)[0].shape[0]


def nothing(xs: Any, zero: Any) -> Any:
    """The carry that says "nothing yet" to ``serial``: None where it unrolls, so that no work is spent on zeros."""
    return zero if _count(xs) > UNROLLED else None


def serial(step: Callable, carry: Any, xs: Any, *, reverse: bool = False) -> tuple[Any, Any]:
    """``lax.scan`` over the segments, unrolled where there are so few that a loop costs more than it saves."""
    n = _count(xs)
    if n > UNROLLED:
        return lax.scan(step, carry, xs, reverse=reverse)
    outputs = []
    for i in reversed(range(n)) if reverse else range(n):
        carry, output = step(carry, jax.tree.map(lambda x, i=i: x[i], xs))
        outputs.append(output)
    if reverse:
        outputs.reverse()
    return carry, jax.tree.map(lambda *x: jnp.stack(x), *outputs)

"""What a linearly implicit solver asks of a vector field."""

from typing import Any, NamedTuple

from jax import Array


class Implicit(NamedTuple):
    """Takes the place of a field's ``args`` where elasticity and damping are to be taken implicitly.

    The field then returns, for its acceleration, the ``x`` of
    ``(M + step D + step^2 K) x = f + step D rate + step K (step rate - shift)``, with f the sum of all its forces and
    K, D the diagonal blocks of the stiffness and damping of its segments. That costs what an evaluation costs: the
    articulated-body recursion factorises one block a segment anyway.

    Attributes:
        args: the field's own ``args``.
        step: s.
        rate, shift: (nv,); their parts on a floating base are not used.
    """

    args: Any
    step: Any
    rate: Array
    shift: Array

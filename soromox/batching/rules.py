"""How each operation of a program runs when the lanes are the last axis of its operands."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxpr_as_fun

NAMELESS = jax.make_jaxpr(lambda: ())().jaxpr.debug_info._replace(arg_names=None, result_paths=None)
UNROLLED = 48  # longest contraction or sum that unrolls into elementwise terms


class Lanes(NamedTuple):
    """A batch: the number of its lanes, and a one that the compiler cannot see."""

    count: int
    one: Array

    def settle(self, x: Array) -> Array:
        """``x``, computed once.

        XLA takes products and sums for cheap enough to be computed anew inside each of their consumers, so that
        chains of them grow exponentially, but not quotients.
        """
        if not jnp.issubdtype(x.dtype, jnp.inexact):
            return x
        return lax.div(x, lax.broadcast(lax.convert_element_type(self.one, x.dtype), x.shape))

    def spread(self, x: Any) -> Array:
        """What all lanes share, with lanes."""
        shape = np.shape(x)
        return lax.broadcast_in_dim(x, (*shape, self.count), range(len(shape)))


Rule = Callable[[JaxprEqn, list[Array], list[bool], Lanes], tuple[list[Array], list[bool]]]
RULES: dict[str, Rule] = {}
ELEMENTWISE = frozenset(
    "abs acos add add_any and asin atan atan2 cbrt ceil clamp convert_element_type copy cos cosh div eq erf exp exp2 "
    "expm1 floor ge gt integer_pow is_finite le log log1p logistic lt max min mul ne neg nextafter not or pow rem "
    "round rsqrt select_n sign sin sinh sqrt square stop_gradient sub tan tanh xor".split()
)


def evaluate(
    program: ClosedJaxpr, args: Sequence[Array], batched: Sequence[bool], lanes: Lanes
) -> tuple[list[Array], list[bool]]:
    """Results of a program and which of them have lanes; ``batched`` says so of the arguments.

    Operations on what all lanes share run once, and those without a rule under ``jax.vmap`` with the lanes last.
    """
    values: dict[Any, tuple[Any, bool]] = {}
    jaxpr = program.jaxpr

    def read(atom) -> tuple[Any, bool]:
        return (atom.val, False) if isinstance(atom, Literal) else values[atom]

    values.update(zip(jaxpr.constvars, ((c, False) for c in program.consts), strict=True))
    values.update(zip(jaxpr.invars, zip(args, batched, strict=True), strict=True))
    for eqn in jaxpr.eqns:
        inputs = [read(atom) for atom in eqn.invars]
        operands, flags = [x for x, _ in inputs], [b for _, b in inputs]
        if not any(flags):
            out, out_flags = _run(eqn)(*operands), [False] * len(eqn.outvars)
        elif eqn.primitive.name in ELEMENTWISE:
            out, out_flags = _elementwise(eqn, operands, flags, lanes)
        else:
            out, out_flags = RULES.get(eqn.primitive.name, _vmapped)(eqn, operands, flags, lanes)
        values.update(zip(eqn.outvars, zip(out, out_flags, strict=True), strict=True))
    outputs = [read(atom) for atom in jaxpr.outvars]
    return [x for x, _ in outputs], [b for _, b in outputs]


def _run(eqn: JaxprEqn) -> Callable[..., list[Any]]:
    """An equation as a function of all its operands."""
    primitive, params = eqn.primitive, eqn.params
    if primitive.get_bind_params(params) is params:  # those that call no functions
        bind = partial(primitive.bind, **params)
        return bind if primitive.multiple_results else lambda *operands: [bind(*operands)]

    def call(*operands):
        free = [i for i, atom in enumerate(eqn.invars) if not isinstance(atom, Literal)]
        # an operand may come twice; its variable counts once
        variables: dict[Any, Any] = {eqn.invars[i]: operands[i] for i in free}
        jaxpr = Jaxpr((), list(variables), eqn.outvars, [eqn], eqn.effects, debug_info=NAMELESS)
        return jaxpr_as_fun(ClosedJaxpr(jaxpr, ()))(*variables.values())

    return call


def _vmapped(eqn, operands, flags, lanes):
    axes = tuple(-1 if flag else None for flag in flags)
    out = jax.vmap(_run(eqn), in_axes=axes, out_axes=-1, axis_size=lanes.count)(*operands)
    return out, [True] * len(out)


def _elementwise(eqn, operands, flags, lanes):
    shape = (*eqn.outvars[0].aval.shape, lanes.count)

    def fit(x: Any, flag: bool) -> Array:
        # some take scalars beside arrays, or axes of one beside longer ones
        if flag:
            return x if x.shape == shape else jnp.broadcast_to(x, shape)
        return lax.broadcast_in_dim(x, shape, range(len(shape) - 1) if np.ndim(x) else ())

    operands = list(map(fit, operands, flags))
    return [eqn.primitive.bind(*operands, **eqn.params)], [True]


def _rule(name: str):
    def register(rule):
        RULES[name] = rule
        return rule

    return register


def _one(name: str):
    """Register a rule for an operation on one array with lanes: ``rule(params, x, lanes) -> result``."""

    def register(rule):
        RULES[name] = lambda eqn, operands, flags, lanes: ([rule(eqn.params, operands[0], lanes)], [True])
        return rule

    return register


@_one("broadcast_in_dim")
def _broadcast_in_dim(params, x, lanes):
    shape = params["shape"]
    return lax.broadcast_in_dim(x, (*shape, lanes.count), (*params["broadcast_dimensions"], len(shape)))


@_one("squeeze")
def _squeeze(params, x, lanes):
    return lax.squeeze(x, params["dimensions"])


@_one("reshape")
def _reshape(params, x, lanes):
    return lax.reshape(x, (*params["new_sizes"], lanes.count))


@_one("transpose")
def _transpose(params, x, lanes):
    return lax.transpose(x, (*params["permutation"], x.ndim - 1))


@_one("rev")
def _rev(params, x, lanes):
    return lax.rev(x, params["dimensions"])


@_one("slice")
def _slice(params, x, lanes):
    strides = params["strides"]
    strides = None if strides is None else (*strides, 1)
    return lax.slice(x, (*params["start_indices"], 0), (*params["limit_indices"], lanes.count), strides)


@_one("settle")
def _settle(params, x, lanes):
    return lanes.settle(x)


@_one("reduce_sum")
def _reduce_sum(params, x, lanes):
    axes = tuple(params["axes"])
    count = prod(x.shape[axis] for axis in axes)
    if not 0 < count <= UNROLLED:
        return jnp.sum(x, axes)
    x = _merged(x, (), axes, [axis for axis in range(x.ndim - 1) if axis not in axes])
    return _total(_along(x, 0), 0)


@_rule("concatenate")
def _concatenate(eqn, operands, flags, lanes):
    operands = [x if flag else lanes.spread(x) for x, flag in zip(operands, flags, strict=True)]
    return [lax.concatenate(operands, eqn.params["dimension"])], [True]


@_rule("stack")
def _stack(eqn, operands, flags, lanes):
    operands = [x if flag else lanes.spread(x) for x, flag in zip(operands, flags, strict=True)]
    return [jnp.stack(operands, eqn.params["axis"])], [True]


@_rule("dot_general")
def _dot_general(eqn, operands, flags, lanes):
    contracted, _ = numbers = eqn.params["dimension_numbers"]
    if not 0 < prod(eqn.invars[0].aval.shape[axis] for axis in contracted[0]) <= UNROLLED:
        return _vmapped(eqn, operands, flags, lanes)
    operands = [x if flag else lax.expand_dims(x, (x.ndim,)) for x, flag in zip(operands, flags, strict=True)]
    return [_product(*operands, lanes.one, numbers, lanes.count)], [True]


@partial(jax.jit, static_argnums=(3, 4), inline=False)
def _product(left, right, one, numbers, count):
    """Product with lanes on the last axis as a sum of elementwise ones; equal products are traced and lowered once."""
    contracted, batch = numbers
    free = [
        [axis for axis in range(x.ndim - 1) if axis not in (*b, *c)]
        for x, b, c in zip((left, right), batch, contracted, strict=True)
    ]
    shared, axis = len(batch[0]), len(batch[0]) + len(free[0])
    # axes shared, free on the left, contracted to one, free on the right, lanes
    left = _merged(left, [*batch[0], *free[0]], contracted[0], [])
    right = _merged(right, batch[1], contracted[1], free[1])
    sizes = (*left.shape[:axis], 1, *right.shape[shared + 1 : -1], count)
    places = (*range(axis + 1), len(sizes) - 1), (*range(shared), *range(axis, len(sizes)))
    lefts = (lax.broadcast_in_dim(x, sizes, places[0]) for x in _along(left, axis))
    rights = (lax.broadcast_in_dim(x, sizes, places[1]) for x in _along(right, shared))
    return Lanes(count, one).settle(_total(map(lax.mul, lefts, rights), axis))


def _merged(x: Array, before: Sequence[int], axes: Sequence[int], after: Sequence[int]) -> Array:
    """An array with lanes whose axes are in this order, and those in the middle are one."""
    order = (*before, *axes, *after, x.ndim - 1)
    if order != tuple(range(x.ndim)):
        x = lax.transpose(x, order)
    if len(axes) == 1:
        return x
    first, last = len(before), len(before) + len(axes)
    return lax.reshape(x, (*x.shape[:first], prod(x.shape[first:last]), *x.shape[last:]))


def _along(x: Array, axis: int) -> Sequence[Array]:
    """The slices of one along an axis."""
    return lax.split(x, (1,) * x.shape[axis], axis)


def _total(terms: Iterable[Array], axis: int) -> Array:
    """The sum, one by one, without the axis of one."""
    return lax.squeeze(reduce(lax.add, terms), (axis,))


@_rule("jit")
def _jit(eqn, operands, flags, lanes):
    return evaluate(eqn.params["jaxpr"], operands, flags, lanes)


@_rule("custom_jvp_call")
def _custom_jvp_call(eqn, operands, flags, lanes):
    # derivatives of the rewritten program are those of the function itself, in place of its custom rule
    out, out_flags = evaluate(eqn.params["call_jaxpr"], operands, flags, lanes)
    return [lanes.settle(x) if flag else x for x, flag in zip(out, out_flags, strict=True)], out_flags


@_rule("scan")
def _scan(eqn, operands, flags, lanes):
    params, program = eqn.params, eqn.params["jaxpr"]
    first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
    consts, carry, xs = operands[:first], operands[first:last], operands[last:]
    count = len(carry)
    carried = flags[first:last]
    while True:  # a carry has lanes if it starts with them or if the body puts them there
        out_flags = _reached(program, [*flags[:first], *carried, *flags[last:]])
        grown = [a or b for a, b in zip(carried, out_flags[:count], strict=True)]
        if grown == carried:
            break
        carried = grown
    carry = [
        lanes.spread(x) if want and not flag else x
        for x, flag, want in zip(carry, flags[first:last], carried, strict=True)
    ]
    wanted = [*carried, *out_flags[count:]]

    def body(carry, xs):
        # else each of their consumers would look them up anew, for every element, which no longer vectorises
        xs = [lanes.settle(x) for x in xs]
        out, got = evaluate(program, [*consts, *carry, *xs], [*flags[:first], *carried, *flags[last:]], lanes)
        out = [lanes.spread(x) if w and not g else x for x, w, g in zip(out, wanted, got, strict=True)]
        return out[:count], out[count:]

    carry, ys = lax.scan(
        body,
        carry,
        xs,
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*carry, *ys], wanted


def _reached(program: ClosedJaxpr, flags: list[bool]) -> list[bool]:
    """Which results depend on arguments with lanes."""
    reached = {var for var, flag in zip(program.jaxpr.invars, flags, strict=True) if flag}

    def has_lanes(atom) -> bool:
        return not isinstance(atom, Literal) and atom in reached

    for eqn in program.jaxpr.eqns:
        if any(map(has_lanes, eqn.invars)):
            reached.update(eqn.outvars)
    return [has_lanes(atom) for atom in program.jaxpr.outvars]

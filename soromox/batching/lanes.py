"""Lanes last: the physics is written for one robot, and a batch of them runs with the lanes on the last axis.

``jax.vmap`` puts the lanes first, so that the innermost loops of a compiled program run over the 3 or 6 components of
a vector, and every small product becomes a batched matrix call. With the lanes last the same loops run over robots:
products unroll into elementwise sums, which the compiler fuses and vectorises (``benchmarks/dynamics.py``).

``lanes_last(f)`` equals ``f``. Where ``jax.vmap`` meets it, its program is rewritten, equation by equation, with the
lanes last (``soromox.batching.rules``), and large batches go through it in chunks that stay in cache. Derivatives taken
before batching, ``vmap(grad(f))``, see plain ``f``; ``grad`` of a batched ``f`` differentiates the rewritten program.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.core import ClosedJaxpr, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir
from jax.interpreters.partial_eval import dce_jaxpr

from soromox.batching.rules import NAMELESS, RULES, Lanes, evaluate

CHUNK = 128  # lanes of one pass on a CPU; about 100 kB for a 6 x 6 matrix at every node of a rod

P = ParamSpec("P")
R = TypeVar("R")
call_p = Primitive("lanes_last")
call_p.multiple_results = True
settle_p = Primitive("settle")


def settle(x: Array) -> Array:
    """``x``, and word to a batched program that it is used more than once and better computed only once.

    Small products settle by themselves; what needs saying so is other elementwise work that products consume.
    """
    return settle_p.bind(x)


def lanes_last(function: Callable[P, R], *, alone: Sequence[bool] | None = None) -> Callable[P, R]:
    """``function`` of arrays and pytrees, whose batches under ``jax.vmap`` run with the lanes on the last axis.

    Args:
        function: any function.
        alone: where given, a call outside ``jax.vmap`` runs as a batch of one lane, so that it rounds as a lane of a
            batch does; says of each positional argument whether it belongs to the lane, or is shared by all lanes.
    """

    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        moving, still = eqx.partition((args, kwargs), eqx.is_array)
        leaves, structure = jax.tree.flatten(moving)
        rest: list[Any] = []

        def flat(*leaves: Array) -> list[Any]:
            call: Any = function
            args, kwargs = eqx.combine(jax.tree.unflatten(structure, leaves), still)
            arrays, others = eqx.partition(call(*args, **kwargs), eqx.is_array)
            out, tree = jax.tree.flatten(arrays)
            rest[:] = tree, others
            return out

        closed = jax.make_jaxpr(flat)(*leaves)
        jaxpr, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
        # what the function closes over becomes an argument, since it may be batched or differentiated too
        jaxpr = jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars], debug_info=NAMELESS)
        flags = None
        if alone is not None:
            own = [flag for flag, arg in zip(alone, moving[0], strict=True) for _ in jax.tree.leaves(arg)]
            flags = (*(False for _ in closed.consts), *own)
        out = call_p.bind(*closed.consts, *leaves, program=ClosedJaxpr(jaxpr, ()), alone=flags)
        tree, others = rest
        return eqx.combine(jax.tree.unflatten(tree, out), others)

    return wrapped


def _inline(*args: Array, program: ClosedJaxpr, alone: tuple[bool, ...] | None) -> list[Array]:
    if alone is None:
        return jaxpr_as_fun(program)(*args)
    lane = [x[..., None] if flag else x for x, flag in zip(args, alone, strict=True)]
    out, flags = evaluate(program, lane, alone, Lanes(1, _hidden_one(lane, alone)))
    return [x[..., 0] if flag else x for x, flag in zip(out, flags, strict=True)]


def _jvp(primals, tangents, *, program, alone):
    moving = [i for i, tangent in enumerate(tangents) if type(tangent) is not ad.Zero]

    def along(*values):
        args = list(primals)
        for i, value in zip(moving, values, strict=True):
            args[i] = value
        return jaxpr_as_fun(program)(*args)

    return jax.jvp(along, [primals[i] for i in moving], [tangents[i] for i in moving])


def _batch(args, dims, *, program, alone):
    batched = [dim is not None for dim in dims]
    total = next(x.shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
    args = [jnp.moveaxis(x, dim, -1) if b else x for x, dim, b in zip(args, dims, batched, strict=True)]
    one = _hidden_one(args, batched)
    count = ceil(total / CHUNK) if _on_cpu() else 1
    if count == 1:
        out, flags = evaluate(program, args, batched, Lanes(total, one))
    else:
        out, flags = _in_chunks(program, args, batched, total, count, one)
    return out, [x.ndim - 1 if flag else None for x, flag in zip(out, flags, strict=True)]


def _in_chunks(program, args, batched, total, count, one):
    """``evaluate`` by ``lax.map`` over ``count`` chunks of lanes; the last lane is repeated to fill them."""
    size = ceil(total / count)
    lanes = Lanes(size, one)
    flags: list[bool] = []

    def split(x):
        if count * size > total:
            x = x[..., np.minimum(np.arange(count * size), total - 1)]
        return jnp.moveaxis(x.reshape(x.shape[:-1] + (count, size)), -2, 0)

    def chunk(moving):
        moving = iter(moving)
        here = [next(moving) if b else x for x, b in zip(args, batched, strict=True)]
        out, flags[:] = evaluate(program, here, batched, lanes)
        return [x if flag else lanes.spread(x) for x, flag in zip(out, flags, strict=True)]

    def merge(x):
        x = jnp.moveaxis(x, 0, -2)
        return x.reshape(x.shape[:-2] + (count * size,))[..., :total]

    out = lax.map(chunk, [split(x) for x, b in zip(args, batched, strict=True) if b])
    return [merge(x) for x in out], [True] * len(out)


def _hidden_one(args: Sequence[Array], batched: Sequence[bool]) -> Array:
    """One, by way of a question to the data of the lanes that the compiler does not know to be rhetorical."""
    data = (x for x, b in zip(args, batched, strict=True) if b and jnp.issubdtype(x.dtype, jnp.floating) and x.size)
    x = next(data, jnp.ones(1)).reshape(-1)[0]
    return lax.stop_gradient(jnp.where(jnp.isnan(x) & jnp.isfinite(x), 2.0, 1.0).astype(x.dtype))


def _on_cpu() -> bool:
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    platform = jax.default_backend() if device is None else getattr(device, "platform", device)
    return platform == "cpu"


call_p.def_impl(lambda *args, **params: jax.jit(partial(_inline, **params))(*args))
call_p.def_abstract_eval(lambda *args, program, alone: program.out_avals)
ad.primitive_jvps[call_p] = _jvp
batching.primitive_batchers[call_p] = _batch
mlir.register_lowering(call_p, mlir.lower_fun(_inline, multiple_results=True))
settle_p.def_impl(lambda x: x)
settle_p.def_abstract_eval(lambda x: x)
ad.deflinear2(settle_p, lambda cotangent, x: (cotangent,))
batching.defvectorized(settle_p)
mlir.register_lowering(settle_p, lambda ctx, x: [x])
RULES["lanes_last"] = lambda eqn, args, batched, lanes: evaluate(eqn.params["program"], args, batched, lanes)

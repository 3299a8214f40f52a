"""The two ways through time: a plain scan over fixed steps, and Diffrax's adaptive machinery."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

DEFAULT_MAX_STEPS = 4096


def substeps(interval: float, solver_dt: float) -> int:
    """Steps of at most ``solver_dt`` that fill an interval, to a relative 1e-6."""
    return max(1, int(np.ceil(interval / solver_dt * (1 - 1e-6))))


def fixed_steps(solver, term, t0: Array, t1: Array, steps: int, state: Any) -> Any:
    """The state at ``t1`` after ``steps`` equal steps of any Diffrax solver from ``t0``; a ``lax.scan``.

    NaN once a step fails, as an implicit solver's may.
    """
    h = (t1 - t0) / steps
    memory = solver.init(term, t0, t0 + h, state, None)

    def step(carry, i):
        state, memory = carry
        t = t0 + i * h
        state, _, _, memory, result = solver.step(term, t, t + h, state, None, memory, False)
        failed = result != diffrax.RESULTS.successful
        state = jax.tree.map(lambda x: jnp.where(failed, jnp.nan, x), state)
        return (state, memory), None

    (state, _), _ = lax.scan(step, (state, memory), jnp.arange(steps, dtype=h.dtype))
    return state


def fixed_grid(solver, term, ts: Array, steps: int, state: Any) -> Any:
    """States at the times ``ts`` (T,), the first of which is the start, with ``steps`` steps between neighbours."""

    def advance(state, interval):
        state = fixed_steps(solver, term, interval[0], interval[1], steps, state)
        return state, state

    _, trajectory = lax.scan(advance, state, jnp.stack([ts[:-1], ts[1:]], axis=1))
    return jax.tree.map(lambda x, xs: jnp.concatenate([x[None], xs]), state, trajectory)


def adaptive(
    solver,
    term,
    t0: Array,
    t1: Array,
    ts: Array,
    solver_dt: Any,
    controller,
    max_steps: int | None,
    state: Any,
) -> Any:
    """States at ``ts`` (T,) through ``diffrax.diffeqsolve``, differentiable in both modes; NaN where it failed."""
    solution = diffrax.diffeqsolve(
        term,
        solver,
        t0=t0,
        t1=t1,
        dt0=jnp.asarray(solver_dt, ts.dtype),
        y0=state,
        saveat=diffrax.SaveAt(ts=ts),
        stepsize_controller=controller,
        adjoint=diffrax.DirectAdjoint(),
        max_steps=DEFAULT_MAX_STEPS if max_steps is None else max_steps,
        throw=False,
    )
    failed = solution.result != diffrax.RESULTS.successful
    return jax.tree.map(lambda x: jnp.where(failed, jnp.nan, x), solution.ys)

"""Newton's method with a line search that no choice of units can mislead."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optimistix as optx
from jax import Array
from jax.scipy.linalg import lu_factor, lu_solve

SMALLEST = 0.5**10


class _State(NamedTuple):
    """The Newton step at the accepted point, its length, the factors it came from; the fraction of it to try next."""

    step: Array
    length: Array
    factors: tuple[Array, Array]
    fraction: Array
    converged: Array
    result: optx.RESULTS


class NaturalNewton(optx.AbstractRootFinder):
    """Damped Newton with the natural monotonicity test, for equations of a vector; an Optimistix root finder.

    A step is halved until the simplified Newton step ``-J(y)^-1 f(y + step)`` beyond it is shorter than the step was.
    That measures lengths of y alone: rescaling or mixing equations changes nothing, so forces and moments need no
    weights. Deuflhard, Newton Methods for Nonlinear Problems, 2004, section 3.3.

    Converged once a Newton step is within ``atol + rtol |y|``, entry by entry; it is still taken, and what remains is
    its square. ``nonlinear_divergence`` when 1/1024 of a step fails the test, ``nonfinite`` at a singular Jacobian.

    Attributes:
        rtol, atol: tolerances of the last step.
        norm: of steps.
    """

    rtol: float
    atol: float
    norm: Callable[[Any], Array] = optx.two_norm

    def init(self, fn, y, args, options, f_struct, aux_struct, tags):
        n, infinite = y.shape[0], jnp.asarray(jnp.inf, y.dtype)
        factors = jnp.eye(n, dtype=y.dtype), jnp.arange(n, dtype=jnp.int32)
        one, no = jnp.ones((), y.dtype), jnp.asarray(False)
        return _State(jnp.zeros_like(y), infinite, factors, one, no, optx.RESULTS.successful)

    def step(self, fn, y, args, options, state, tags):
        trial = y + state.fraction * state.step

        def along(direction):
            return jax.jvp(lambda y: fn(y, args), (trial,), (direction,), has_aux=True)

        f, J, aux = jax.vmap(along, out_axes=(None, 1, None))(jnp.eye(y.shape[0], dtype=y.dtype))
        beyond = self.norm(lu_solve(state.factors, f))
        accepted = beyond <= (1 - 0.25 * state.fraction) * state.length
        factors = lu_factor(J)
        step = -lu_solve(factors, f)
        small = jnp.all(jnp.abs(step) <= self.atol + self.rtol * jnp.abs(trial))
        next_y = jnp.where(accepted, jnp.where(small, trial + step, trial), y)
        moved = _State(step, self.norm(step), factors, jnp.ones_like(state.fraction), small, state.result)
        held = state._replace(fraction=0.5 * state.fraction)
        state = jax.tree.map(lambda a, b: jnp.where(accepted, a, b), moved, held)
        result = optx.RESULTS.where(
            state.fraction < SMALLEST, optx.RESULTS.nonlinear_divergence, optx.RESULTS.successful
        )
        result = optx.RESULTS.where(jnp.isfinite(state.length), result, optx.RESULTS.nonfinite)
        return next_y, state._replace(result=result), aux

    def terminate(self, fn, y, args, options, state, tags):
        return state.converged | (state.result != optx.RESULTS.successful), state.result

    def postprocess(self, fn, y, aux, args, options, state, tags, result):
        return y, aux, {}

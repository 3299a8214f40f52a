"""Solvers that Diffrax does not have, in Diffrax's form."""

from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import RESULTS, AbstractTerm, LocalLinearInterpolation
from jax import lax


class _FixedStep(diffrax.AbstractSolver):
    """A method without error estimate or memory, linear between its steps."""

    term_structure: ClassVar = AbstractTerm
    interpolation_cls: ClassVar[Callable[..., LocalLinearInterpolation]] = LocalLinearInterpolation

    def init(self, terms, t0, t1, y0, args) -> None:
        return None

    def func(self, terms, t0, y0, args) -> Any:
        return terms.vf(t0, y0, args)


class RK4(_FixedStep):
    """The classical fourth-order Runge-Kutta method: four evaluations a step, stable to h |lambda| = 2.8."""

    def order(self, terms) -> int:
        return 4

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        h = t1 - t0
        like = jnp.asarray(h)
        nodes = jnp.asarray([0, 0.5, 0.5, 1], like.dtype)
        weights = jnp.asarray([1 / 6, 1 / 3, 1 / 3, 1 / 6], like.dtype)

        def stage(carry, x):
            # each stage starts from the slope of the one before; a loop keeps one copy of the dynamics in the program
            k, total = carry
            node, weight = x
            y = jax.tree.map(lambda y, k: y + node * h * k, y0, k)
            k = terms.vf(t0 + node * h, y, args)
            return (k, jax.tree.map(lambda total, k: total + weight * k, total, k)), None

        zero = jax.tree.map(jnp.zeros_like, y0)
        (_, slope), _ = lax.scan(stage, (zero, zero), (nodes, weights))
        y1 = jax.tree.map(lambda y, slope: y + h * slope, y0, slope)
        return y1, None, dict(y0=y0, y1=y1), None, RESULTS.successful


class SemiImplicitEuler(_FixedStep):
    """Kick-drift Euler for a state ``y = [q, v, auxiliary]``: one evaluation a step, first order.

    ``v+ = v + h v_dot(q, v)``, then ``q+ = retract(q, h v+)``; unlike ``diffrax.SemiImplicitEuler`` the acceleration
    may depend on the velocity, and floating bases stay on their manifold. Auxiliary, control and environment states
    take a forward Euler step.

    Attributes:
        system: the robot, which supplies ``split_state``, ``pack_state`` and ``retract_configuration``.
    """

    system: Any

    def order(self, terms) -> int:
        return 1

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        h = t1 - t0
        rates = terms.vf(t0, y0, args)
        y1 = jax.tree.map(lambda y, rate: y + h * rate, y0, rates)
        # a bare array is the mechanical state itself, otherwise it is the leaf named y
        if eqx.is_array(y0):
            y1 = self._drift(y0, y1, h)
        else:
            y1 = eqx.tree_at(lambda state: state.y, y1, self._drift(y0.y, y1.y, h))
        return y1, None, dict(y0=y0, y1=y1), None, RESULTS.successful

    def _drift(self, y0, y1, h):
        q, _, _ = self.system.split_state(y0)
        _, v, auxiliary = self.system.split_state(y1)
        return self.system.pack_state(self.system.retract_configuration(q, h * v), v, auxiliary)

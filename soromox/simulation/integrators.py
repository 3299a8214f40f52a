"""Solvers that Diffrax does not have, in Diffrax's form."""

from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
from diffrax import RESULTS, AbstractTerm, LocalLinearInterpolation


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
        def add(y, h, k):
            return jax.tree.map(lambda y, k: y + h * k, y, k)

        h = t1 - t0
        middle = t0 + 0.5 * h
        k1 = terms.vf(t0, y0, args)
        k2 = terms.vf(middle, add(y0, 0.5 * h, k1), args)
        k3 = terms.vf(middle, add(y0, 0.5 * h, k2), args)
        k4 = terms.vf(t1, add(y0, h, k3), args)
        y1 = jax.tree.map(lambda y, a, b, c, d: y + h / 6 * (a + 2 * (b + c) + d), y0, k1, k2, k3, k4)
        return y1, None, dict(y0=y0, y1=y1), None, RESULTS.successful


class SemiImplicitEuler(_FixedStep):
    """Kick-drift Euler for a state ``y = [q, v, auxiliary]``: one evaluation a step, first order.

    ``v+ = v + h v_dot(q, v)``, then ``q+ = retract(q, h v+)``; unlike ``diffrax.SemiImplicitEuler`` the acceleration may
    depend on the velocity, and floating bases stay on their manifold. Auxiliary, control and environment states
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

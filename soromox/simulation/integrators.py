"""Solvers that Diffrax does not have, in Diffrax's form."""

from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import RESULTS, AbstractTerm, LocalLinearInterpolation
from jax import lax

from soromox.simulation.implicit import Implicit


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


class _Mechanical(_FixedStep):
    """A method that knows the mechanical state ``y = [q, v, auxiliary]`` among the leaves that it integrates.

    Attributes:
        system: the robot, which supplies ``split_state``, ``pack_state`` and ``retract_configuration``.
    """

    system: eqx.AbstractVar[Any]

    def _split(self, state):
        # a bare array is the mechanical state itself, otherwise it is the leaf named y
        return self.system.split_state(state if eqx.is_array(state) else state.y)

    def _acceleration(self, rates):
        """The rate of v in a rate of the state, [q_dot, v_dot, auxiliary_dot] like the state."""
        return self._split(rates)[1]

    def _moved(self, state, shift, v, h, rates):
        """The state with q retracted along ``shift``, velocity ``v`` and everything else a step along ``rates``."""
        q = self._split(state)[0]
        moved = jax.tree.map(lambda y, rate: y + h * rate, state, rates)
        y = self.system.pack_state(self.system.retract_configuration(q, shift), v, self._split(moved)[2])
        return y if eqx.is_array(state) else eqx.tree_at(lambda state: state.y, moved, y)


class SemiImplicitEuler(_Mechanical):
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
        v = self._split(y0)[1] + h * self._acceleration(rates)
        y1 = self._moved(y0, h * v, v, h, rates)
        return y1, None, dict(y0=y0, y1=y1), None, RESULTS.successful


class LinearlyImplicitMidpoint(_Mechanical):
    """Implicit midpoint rule with one Newton step a step: second order, one evaluation and factorisation a step.

    The Jacobian is that of elasticity and damping alone, block by block (``Implicit``), and the acceleration of the
    step before predicts the midpoint, so that what the Jacobian leaves out costs no order. Stiff elasticity limits the
    step by accuracy only; stiff modes are not damped beyond their own damping. Everything but q and v takes the
    explicit midpoint rule. The first step needs one evaluation more.

    Attributes:
        system: the robot; its vector field must know ``Implicit``, as those of all chains do.
    """

    system: Any

    def order(self, terms) -> int:
        return 2

    def init(self, terms, t0, t1, y0, args):
        return terms.vf(t0, y0, args)

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        h, rates = t1 - t0, solver_state
        _, v, _ = self._split(y0)
        predicted = self._acceleration(rates)
        middle = self._moved(y0, 0.5 * h * (v + 0.5 * h * predicted), v + 0.5 * h * predicted, 0.5 * h, rates)
        request = Implicit(args, 0.5 * h, predicted, jnp.zeros_like(v))
        rates = terms.vf(t0 + 0.5 * h, middle, request)
        dv = h * self._acceleration(rates)
        y1 = self._moved(y0, h * (v + 0.5 * dv), v + dv, h, rates)
        return y1, None, dict(y0=y0, y1=y1), rates, RESULTS.successful


class RosenbrockW2(_Mechanical):
    """ROS2 (Verwer et al. 1999) as a W-method: second order, two evaluations and factorisations a step.

    The Jacobian is that of elasticity and damping alone, block by block (``Implicit``); the order does not depend on
    it. With ``gamma = 1 - 1/sqrt(2)`` stiff elastic modes are damped out (L-stability). Everything but q and v takes
    Heun's method.

    Attributes:
        system: the robot; its vector field must know ``Implicit``, as those of all chains do.
    """

    system: Any

    def order(self, terms) -> int:
        return 2

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        h = t1 - t0
        step = (1 - 0.5**0.5) * h
        like = jnp.asarray(h)
        _, v, _ = self._split(y0)

        def stage(carry, x):
            # both stages are one program: each moves the state by its weights of what came before and of its own
            y, rate, shift, velocity, acceleration, mean = carry
            node, (before, own), (before_mean, own_mean) = x
            rates = terms.vf(t0 + node * h, y, Implicit(args, step, rate, shift))
            a = self._acceleration(rates) - rate
            velocity = before * velocity + own * (shift + step * a)
            acceleration = before * acceleration + own * a
            mean = jax.tree.map(lambda x, rate: before_mean * x + own_mean * rate, mean, rates)
            y = self._moved(y0, h * velocity, v + h * acceleration, h, mean)
            return (y, 2 * acceleration, v + h * acceleration - 2 * velocity, velocity, acceleration, mean), None

        zero = jnp.zeros_like(v)
        start = y0, zero, v, zero, zero, jax.tree.map(jnp.zeros_like, y0)
        xs = (
            jnp.array([0, 1], like.dtype),
            jnp.array([[0, 1], [1.5, 0.5]], v.dtype),
            jnp.array([[0, 1], [0.5, 0.5]], v.dtype),
        )
        (y1, *_), _ = lax.scan(stage, start, xs)
        return y1, None, dict(y0=y0, y1=y1), None, RESULTS.successful

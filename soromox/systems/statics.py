"""Static equilibria."""

from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from jax import Array, lax

from soromox.simulation.newton import NaturalNewton
from soromox.utils.checks import require_shape

if TYPE_CHECKING:
    from soromox.systems.soft_robot import SoftRobot

STAGES = 8
MAX_STEPS = 64


class Equilibrium(eqx.Module):
    """A solution of ``G(q) + tau_el(q) = A(q) e(u) + tau_ext``, or where the search for one ended.

    Attributes:
        q: configuration (nq,).
        residual: conservative less applied forces (nv,), zero at an equilibrium.
        result: ``optimistix.RESULTS.successful``, or why there is no solution.
        num_steps: Newton steps, all stages together.
    """

    q: Array
    residual: Array
    result: optx.RESULTS
    num_steps: Array

    @property
    def converged(self) -> Array:
        """Whether q is an equilibrium."""
        return self.result == optx.RESULTS.successful


def static_residual(robot: "SoftRobot", q: Array, u: Array | None = None, tau_ext: Array | None = None) -> Array:
    """Gravitational and elastic (passive elements included) less actuation and external forces (nv,).

    Hysteresis is taken at rest: the whole elastic force acts, whatever the history.
    """
    u, tau_ext = robot.unpack_actuation((u, tau_ext), q.dtype)
    force = robot.potential_force(q) - robot.actuation_force(q, u)
    return force if tau_ext is None else force - tau_ext


def static_stiffness(robot: "SoftRobot", q: Array, u: Array | None = None, tau_ext: Array | None = None) -> Array:
    """Derivative of ``static_residual`` (nv, nv): an equilibrium is stable where it is positive definite."""
    return jax.jacfwd(lambda q: static_residual(robot, q, u, tau_ext))(q)


def equilibrium(
    robot: "SoftRobot",
    u: Array | None = None,
    q0: Array | None = None,
    *,
    tau_ext: Array | None = None,
    stages: int = STAGES,
    max_steps: int = MAX_STEPS,
) -> Equilibrium:
    """Static equilibrium under constant actuation, by Newton's method with a line search.

    Differentiable by the implicit function theorem, forward and in reverse, in u, tau_ext and every parameter; never
    raises under ``jit``, ask ``converged``. An equilibrium need not be stable, see ``static_stiffness``.

    Args:
        u: actuation, zero when omitted.
        q0: where Newton's method starts. Without it, the load is followed: u and tau_ext grow from zero in stages,
            each of which starts from the last, so that among several equilibria the one reached from rest is found.
        tau_ext: external generalised force (nv,).
        stages: of the load; more of them follow sharper turns of the path. Unused with ``q0``.
        max_steps: Newton steps of a stage.

    Raises:
        ValueError: a floating robot, wrong shapes, or no stage.
    """
    if robot.floating_base:
        raise ValueError(
            "an equilibrium needs a fixed base: no internal force holds a floating one, so its rows of the statics "
            "balance only without gravity, and then for every base pose"
        )
    if stages < 1:
        raise ValueError(f"stages must be at least 1, got {stages}")
    dtype = jnp.result_type(*(x for x in jax.tree.leaves(robot) if eqx.is_inexact_array(x)))
    u, tau_ext = robot.unpack_actuation((u, tau_ext), dtype)
    tolerance = float(jnp.finfo(dtype).eps) ** 0.5
    solver = NaturalNewton(rtol=tolerance, atol=tolerance)

    if q0 is None:
        fractions, start = jnp.linspace(0, 1, stages + 1, dtype=dtype), jnp.zeros(robot.num_coordinates, dtype)
    else:
        require_shape("q0", q0, (robot.num_coordinates,))
        fractions, start = jnp.ones(1, dtype), jnp.asarray(q0, dtype)

    def stage(carry, fraction):
        q, _, steps = carry
        solution = optx.root_find(
            lambda q, args: static_residual(args[0], q, *args[1]),
            solver,
            lax.stop_gradient(q),
            (robot, jax.tree.map(lambda x: fraction * x, (u, tau_ext))),
            max_steps=max_steps,
            throw=False,
        )
        return (solution.value, solution.result, steps + solution.stats["num_steps"]), None

    nothing = start, optx.RESULTS.successful, jnp.zeros((), int)
    (q, result, steps), _ = lax.scan(stage, nothing, fractions)
    return Equilibrium(q, static_residual(robot, q, u, tau_ext), result, steps)

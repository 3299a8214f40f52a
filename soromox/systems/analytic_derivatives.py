"""Analytic derivative rules of the public robot methods.

Each rule takes a tangent in q, in s or in qd alone through the robot's protected hooks; every other combination, among
them a tangent in the robot's own parameters, goes through plain automatic differentiation of the primal hook. So does
the kinetic energy along q, which costs as much by an analytic rule (``benchmarks/derivatives.py``).
"""

from typing import Any

import equinox as eqx
import jax

from soromox.batching import lanes_last


def _still(tangent: Any) -> bool:
    """Whether an argument, an array or a tree, has no tangent."""
    return not jax.tree.leaves(tangent)


def _along(s_dot: Any) -> bool:
    """Whether an arc length moves; a place, which is a tuple, has its own components."""
    return s_dot is not None and not isinstance(s_dot, tuple)


def _plain(function, primals: tuple, tangents: tuple):
    """Push the tangents that exist through ``function`` by automatic differentiation."""
    moving, still = eqx.partition(primals, jax.tree.map(lambda t: t is not None, tangents, is_leaf=lambda t: t is None))
    tangents = jax.tree.map(lambda t, x: t, eqx.filter(tangents, eqx.is_array), moving)
    return jax.jvp(lambda moving: function(*eqx.combine(moving, still)), (moving,), (tangents,))


def _lanes_last(hook: str, robot, *args) -> Any:
    """The hook of that name; a batch of it runs with the lanes last."""
    return lanes_last(lambda robot, *args: getattr(robot, hook)(*args))(robot, *args)


@eqx.filter_custom_jvp
def forward_kinematics(robot, q, s):
    return robot._forward_kinematics(q, s)


@forward_kinematics.def_jvp
def _forward_kinematics_jvp(primals, tangents):
    robot, q, s = primals
    robot_dot, q_dot, s_dot = tangents
    if _still(robot_dot) and _still(q_dot) and _along(s_dot):
        pose, slope = _lanes_last("_forward_kinematics_and_arc_length_derivative", robot, q, s)
        return pose, slope * s_dot
    return _plain(lambda robot, q, s: robot._forward_kinematics(q, s), primals, tangents)


@eqx.filter_custom_jvp
def jacobian(robot, q, s):
    return robot._jacobian(q, s)


@jacobian.def_jvp
def _jacobian_jvp(primals, tangents):
    robot, q, s = primals
    robot_dot, q_dot, s_dot = tangents
    if _still(robot_dot) and not robot.floating_base:
        if _still(q_dot) and _along(s_dot):
            J, slope = _lanes_last("_jacobian_and_arc_length_derivative", robot, q, s)
            return J, slope * s_dot
        if _still(s_dot) and not _still(q_dot):
            return _lanes_last("_jacobian_and_time_derivative", robot, q, q_dot, s)
    return _plain(lambda robot, q, s: robot._jacobian(q, s), primals, tangents)


def _energy(primal: str, force: str):
    """A scalar energy of q whose gradient is the force of that name."""

    @eqx.filter_custom_jvp
    def energy(robot, q):
        return getattr(robot, primal)(q)

    @energy.def_jvp
    def _(primals, tangents):
        robot, q = primals
        robot_dot, q_dot = tangents
        if _still(robot_dot) and not robot.floating_base:
            return energy(robot, q), _lanes_last(force, robot, q) @ q_dot
        return _plain(lambda robot, q: getattr(robot, primal)(q), primals, tangents)

    return energy


gravitational_energy = _energy("_gravitational_energy", "gravitational_force")
elastic_energy = _energy("_elastic_energy", "elastic_force")


@eqx.filter_custom_jvp
def kinetic_energy(robot, q, qd):
    return robot._kinetic_energy(q, qd)


@kinetic_energy.def_jvp
def _kinetic_energy_jvp(primals, tangents):
    robot, q, qd = primals
    robot_dot, q_dot, qd_dot = tangents
    if not _still(robot_dot) or not _still(q_dot) or robot.floating_base:
        return _plain(lambda robot, q, qd: robot._kinetic_energy(q, qd), primals, tangents)
    momentum = _lanes_last("_momentum", robot, q, qd)
    return kinetic_energy(robot, q, qd), momentum @ qd_dot

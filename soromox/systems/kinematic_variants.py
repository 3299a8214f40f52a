"""The kinematic methods of a robot that follow from their version at one arc length, made from one table."""

from collections.abc import Callable
from typing import Any

import jax

AT_ONE_POINT = {
    "forward_kinematics": ("q",),
    "forward_kinematics_arc_length_derivative": ("q",),
    "forward_kinematics_and_arc_length_derivative": ("q",),
    "forward_kinematics_and_jacobian_inertialframe": ("q",),
    "jacobian": ("q",),
    "jacobian_arc_length_derivative": ("q",),
    "jacobian_and_arc_length_derivative": ("q",),
    "jacobian_and_time_derivative": ("q", "qd"),
    "jacobian_bodyframe": ("q",),
    "jacobian_arc_length_derivative_bodyframe": ("q",),
    "jacobian_and_arc_length_derivative_bodyframe": ("q",),
    "jacobian_and_time_derivative_bodyframe": ("q", "qd"),
}
"""Methods ``name(*arguments, s)`` at one arc length s."""

INERTIAL = ("jacobian", "jacobian_arc_length_derivative", "jacobian_and_arc_length_derivative")
INERTIAL += ("jacobian_and_time_derivative",)
"""Methods that answer in world axes, and go by ``..._inertialframe`` too."""

SPELLINGS = {
    "jacobians_tips": "jacobian_tips",
    "jacobian_and_time_derivatives_tips": "jacobian_and_time_derivative_tips",
}
"""Older spellings of the pages."""


def variants() -> dict[str, Callable]:
    """Methods to put into a class body: at many abscissae, at all segment tips, and under their other names."""
    table: dict[str, Callable] = {}
    for name, arguments in AT_ONE_POINT.items():
        table[f"{name}_abscissa_batched"] = table[f"{name}_batched"] = _batched(name, arguments)
        table[f"{name}_tips"] = _tips(name)
    for name in INERTIAL:
        table[f"{name}_inertialframe"] = _same(name)
        table[f"{name}_inertialframe_abscissa_batched"] = table[f"{name}_abscissa_batched"]
        table[f"{name}_inertialframe_batched"] = table[f"{name}_abscissa_batched"]
    for spelling, name in SPELLINGS.items():
        table[spelling] = table[name]
    return table


def _batched(name: str, arguments: tuple[str, ...]) -> Callable:
    def of_configuration(self, q, s_ps, **options: Any):
        at_point = getattr(self, name)
        return jax.vmap(lambda s: at_point(q, s, **options))(s_ps)

    def of_motion(self, q, qd, s_ps, **options: Any):
        at_point = getattr(self, name)
        return jax.vmap(lambda s: at_point(q, qd, s, **options))(s_ps)

    method = of_motion if "qd" in arguments else of_configuration
    return _document(method, f"{name}_abscissa_batched", f"``{name}`` at arc lengths ``s_ps`` (P,); leading axis P.")


def _tips(name: str) -> Callable:
    def method(self, *args: Any, **kwargs: Any):
        return getattr(self, f"{name}_abscissa_batched")(*args, s_ps=self._tips(), **kwargs)

    return _document(method, f"{name}_tips", f"``{name}`` at the end of every segment; leading axis n.")


def _same(name: str) -> Callable:
    def method(self, *args: Any, **kwargs: Any):
        return getattr(self, name)(*args, **kwargs)

    return _document(method, f"{name}_inertialframe", f"``{name}``, which answers in world axes.")


def _document(method: Callable, name: str, doc: str) -> Callable:
    method.__name__, method.__qualname__, method.__doc__ = name, f"SoftRobot.{name}", doc
    return method

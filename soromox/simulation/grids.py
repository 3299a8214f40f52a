"""The time grids of rollouts: when to save, and how many steps lie between."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from diffrax import AbstractStepSizeController, ConstantStepSize
from jax import Array
from jax.core import Tracer

from soromox.simulation.paths import substeps


def is_traced(x: Any) -> bool:
    return isinstance(x, Tracer)


def total_steps(widths: np.ndarray, solver_dt: Any) -> int:
    return sum(substeps(float(width), float(solver_dt)) for width in widths)


def scan_steps_between_saves(
    interval: float, solver_dt: Any, controller: AbstractStepSizeController | None
) -> int | None:
    """Steps between saves for the scan path, or None where only the adaptive machinery will do."""
    if is_traced(solver_dt) or not (controller is None or isinstance(controller, ConstantStepSize)):
        return None
    if not float(solver_dt) > 0:
        raise ValueError(f"solver_dt must be positive, got {solver_dt}")
    return substeps(float(interval), float(solver_dt))


def save_times(t0: Any, t1: Any, save_dt: Any, save_ts: Any) -> np.ndarray | Array:
    if save_ts is not None:
        if any(is_traced(x) for x in (t0, t1, save_ts)):
            return jnp.asarray(save_ts)
        ts = np.asarray(save_ts, float)
        slack = 1e-6 * max(abs(float(t1)), abs(float(t0)), 1e-30)
        ordered = ts.ndim == 1 and ts.size > 0 and np.all(np.diff(ts) >= 0)
        if not ordered or ts[0] < float(t0) - slack or ts[-1] > float(t1) + slack:
            raise ValueError(f"save_ts must be increasing times within [{float(t0)}, {float(t1)}], got {ts.tolist()}")
        return ts
    if save_dt is None:
        raise ValueError("a rollout needs save_dt or save_ts, got neither")
    for name, value in (("initial_state.t", t0), ("t1", t1), ("save_dt", save_dt)):
        if is_traced(value):
            raise ValueError(
                f"{name} is traced, so the number of saved times is unknown; give save_ts (its shape is static), "
                "or use rollout_discrete_closed_loop_to, whose duration is relative"
            )
    t0, t1, save_dt = float(t0), float(t1), float(save_dt)
    if not t1 > t0 or not save_dt > 0:
        raise ValueError(f"t1 must lie after initial_state.t and save_dt be positive, got t0={t0}, t1={t1}, {save_dt=}")
    ts = np.arange(t0, t1, save_dt)
    return np.append(ts[ts < t1 - 1e-6 * save_dt], t1)


def whole_multiple(name: str, whole: Any, part_name: str, part: Any) -> int:
    if is_traced(whole) or is_traced(part):
        raise ValueError(f"{name} and {part_name} set the number of steps and must be concrete numbers, not traced")
    if not (float(whole) > 0 and float(part) > 0):
        raise ValueError(f"{name} and {part_name} must be positive, got {whole} and {part}")
    ratio = float(whole) / float(part)
    if abs(ratio - round(ratio)) > 1e-6 * ratio or round(ratio) < 1:
        raise ValueError(f"{name} must be an integer multiple of {part_name}, got {whole} / {part} = {ratio}")
    return round(ratio)

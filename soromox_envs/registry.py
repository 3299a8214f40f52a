"""The table of environment ids (robots x tasks) and how an id becomes a functional environment.

Nothing here imports JAX: factories are strings, resolved when an environment is made.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import gymnasium

_GYMNASIUM_ENV = "soromox_envs.adapters.gymnasium_env:GymnasiumEnv"
_GYMNASIUM_VECTOR_ENV = "soromox_envs.adapters.gymnasium_vector:GymnasiumVectorEnv"

REACHERS = ("PlanarHSA", "PlanarPCS", "PCS", "PCS2", "GVS", "ISupport", "UMArm", "SoftChain")
"""Robots with a table of targets to reach."""
_SPATIAL = ("PCS", "PCS2", "GVS", "ISupport", "UMArm", "SoftChain")

# task: robots, max_episode_steps, reward_threshold (undiscounted return of an episode)
_TABLE: dict[str, tuple[tuple[str, ...], int, float]] = {
    "Reach": (REACHERS, 100, 90.0),
    "GoalReach": (REACHERS, 100, 90.0),
    "ReachPose": (_SPATIAL, 100, 85.0),
    "Track": (REACHERS, 200, 180.0),
    "Regulate": (REACHERS, 200, 160.0),
    "ObstacleReach": (REACHERS, 100, 85.0),
    "Disturbance": (REACHERS, 100, 85.0),
    "PayloadReach": (REACHERS, 100, 85.0),
    "Stabilize": (("Pendulum",), 200, 190.0),
    "SwingUp": (("Pendulum",), 200, 160.0),
    "Swim": (("Swimmer",), 400, 300.0),
    "HemisphereTrack": (("PCS",), 105, 45.0),
}
_THRESHOLDS = {
    ("SoftChain", "Reach"): 85.0,
    ("SoftChain", "GoalReach"): 85.0,
    ("SoftChain", "Disturbance"): 80.0,
    ("UMArm", "Reach"): 80.0,
    ("UMArm", "GoalReach"): 80.0,
    ("UMArm", "Track"): 175.0,
    ("UMArm", "Disturbance"): 80.0,
    ("UMArm", "PayloadReach"): 80.0,
    ("PCS", "Regulate"): 150.0,
    ("PCS2", "Regulate"): 150.0,
    ("ISupport", "Regulate"): 130.0,
    ("PlanarPCS", "Disturbance"): 80.0,
    ("PCS", "Disturbance"): 75.0,
    ("ISupport", "Disturbance"): 80.0,
}
"""Returns that count as solved for the slower robots, whose model-based policy stays below that of the task."""
_MODELS = {("PCS", "HemisphereTrack"): "HemisphereArm"}
"""Which model of the suite an id builds, where it is not the one of its robot's name."""
_VERSION = 0


@dataclass(frozen=True)
class EnvEntry:
    """One id: who builds it and how long an episode lasts.

    `factory` is "module:function"; called with `kwargs` and the user's options it returns `(env, params)`.
    Its named keyword parameters are the options of the id. `reward_threshold` is an undiscounted return.
    """

    id: str
    factory: str
    max_episode_steps: int
    reward_threshold: float
    kwargs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


_entries: dict[str, EnvEntry] = {}


def register(entry: EnvEntry) -> None:
    """Add an id to the table and to Gymnasium's registry; an id can be taken only once."""
    if entry.id in _entries:
        raise ValueError(f"The environment id '{entry.id}' is already registered; choose another id.")
    _entries[entry.id] = entry
    gymnasium.register(
        id=entry.id,
        entry_point=_GYMNASIUM_ENV,
        vector_entry_point=_GYMNASIUM_VECTOR_ENV,
        max_episode_steps=entry.max_episode_steps,
        reward_threshold=entry.reward_threshold,
        kwargs={"env_id": entry.id},
    )


def registered() -> tuple[str, ...]:
    """All environment ids, in the order of the table."""
    return tuple(_entries)


def entry_of(env_id: str) -> EnvEntry:
    """The table's entry of an id; a `ValueError` with the nearest id where there is none."""
    if env_id in _entries:
        return _entries[env_id]
    nearest = difflib.get_close_matches(str(env_id), _entries, n=1)
    hint = f"did you mean '{nearest[0]}'?" if nearest else f"expected one of {', '.join(_entries)}."
    raise ValueError(f"There is no environment with the id {env_id!r}; {hint}")


def make(env_id: str, **options: Any) -> tuple[Any, Any]:
    """Build the functional environment of an id (gymnax 1.0 protocol): `env, params = make(id)`.

    Raises `ValueError` for an unknown id and for an option that the id does not have.
    """
    entry = entry_of(env_id)
    module, _, name = entry.factory.partition(":")
    factory = getattr(importlib.import_module(module), name)
    _check_options(entry, factory, options)
    return factory(**entry.kwargs, **options)


def _check_options(entry: EnvEntry, factory: Any, options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(factory).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return  # the factory names its own options
    allowed = [name for name in parameters if name not in entry.kwargs]
    unknown = [name for name in options if name not in allowed]
    if unknown:
        raise ValueError(
            f"{entry.id} has no option {', '.join(map(repr, unknown))}; "
            f"expected {'one of ' + ', '.join(allowed) if allowed else 'none'}."
        )


def _register_table() -> None:
    for task, (robots, max_episode_steps, reward_threshold) in _TABLE.items():
        for robot in robots:
            env_id = f"{robot}-{task}-v{_VERSION}"
            kwargs = MappingProxyType({"robot": _MODELS.get((robot, task), robot), "task": task, "id": env_id})
            solved = _THRESHOLDS.get((robot, task), reward_threshold)
            register(EnvEntry(env_id, "soromox_envs.factory:make_env", max_episode_steps, solved, kwargs))


_register_table()

"""The tasks of the suite, by key."""

from importlib import import_module
from typing import Any

MODULES = {
    "Reach": "reach",
    "GoalReach": "reach",
    "ReachPose": "reach",
    "PayloadReach": "reach",
    "Disturbance": "reach",
    "Track": "track",
    "Regulate": "regulate",
    "Stabilize": "pendulum",
    "SwingUp": "pendulum",
    "ObstacleReach": "obstacles",
    "Swim": "swim",
    "HemisphereTrack": "hemisphere",
}


def task_of(key: str) -> Any:
    """The task of that key, with its defaults; its module is imported on demand."""
    if key not in MODULES:
        raise ValueError(f"unknown task {key!r}; the suite has {', '.join(MODULES)}")
    return getattr(import_module(f"soromox_envs.tasks.{MODULES[key]}"), key)()

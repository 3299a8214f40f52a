"""From the names of a robot, a task and their options to an environment."""

import dataclasses
import inspect
from typing import Any

from soromox_envs.env import SoftRobotEnv
from soromox_envs.physics import randomization_of
from soromox_envs.robots import model_of
from soromox_envs.state import EnvParams
from soromox_envs.tasks import task_of


def make_env(
    robot: str,
    task: str,
    *,
    id: str | None = None,
    action_mode: str = "delta",
    action_units: str = "normalized",
    max_episode_steps: int | None = None,
    randomization: str = "none",
    **options: Any,
) -> tuple[SoftRobotEnv, EnvParams]:
    """The environment of a robot and a task, and its nominal parameters.

    Args:
        robot, task: keys such as ``"PlanarHSA"`` and ``"Reach"``.
        id: name of the environment; ``<robot>-<task>-v0`` when omitted.
        action_mode: ``"delta"`` or ``"absolute"``.
        action_units: ``"normalized"`` or ``"physical"``.
        max_episode_steps: time limit; the task's when omitted.
        randomization: what every episode draws anew: ``"none"``, ``"mild"``, ``"hard"``, ``"failure"``, ``"pulses"``.
        options: of the robot, such as ``hysteresis=True`` of PlanarHSA, and of the task, such as ``shape="circle"`` of
            Track.

    Raises:
        ValueError: a robot, a task or an option that there is not.
    """
    model, name = model_of(robot), id or f"{robot}-{task}-v0"
    own, plain = set(inspect.signature(model.build).parameters), task_of(task)
    goals = {field.name for field in dataclasses.fields(plain)} - {"max_steps"}
    unknown = [option for option in options if option not in own | goals]
    if unknown:
        mine = ["action_mode", "action_units", "max_episode_steps", "randomization", *sorted(own | goals)]
        raise ValueError(f"{name} has no option {', '.join(map(repr, unknown))}; expected one of {', '.join(mine)}.")
    choices = {option: value for option, value in options.items() if option in goals}
    if max_episode_steps is not None:
        choices["max_steps"] = int(max_episode_steps)
    randomization_of(randomization)
    env = SoftRobotEnv(
        name=name,
        model=model,
        task=dataclasses.replace(plain, **choices),
        robot_options=tuple(sorted((option, value) for option, value in options.items() if option in own)),
        action_mode=action_mode,
        action_units_mode=action_units,
        randomization=randomization,
    )
    return env, env.default_params

"""State and parameters of an environment."""

from typing import Any, Self

import equinox as eqx
from jax import Array

from soromox.systems import SoftRobot, SystemState
from soromox_envs.physics import Physics, Randomization


class EnvState(eqx.Module):
    """One lane of an environment.

    Attributes:
        time: steps since the reset, int32.
        system: mechanical state; its ``control_state`` is the actual actuation (m,), its ``u`` stays None.
        command: commanded actuation (m,), input units.
        task: state of the task.
        diverged: whether the state became non-finite; it is frozen from then on.
        physics: what this episode drew from ``EnvParams.randomization``; None where nothing varies.
    """

    time: Array
    system: SystemState
    command: Array
    task: Any
    diverged: Array
    physics: Physics | None = None

    def replace(self, **updates: Any) -> Self:
        """A copy with named fields replaced."""
        return type(self)(**{**vars(self), **updates})


class EnvParams(eqx.Module):
    """What may differ between lanes and be differentiated: the robot and the numbers around it.

    Attributes:
        robot: the nominal robot, all of its physical parameters being leaves.
        lower, upper: limits of the inputs (m,).
        rate_limit: fastest change of the actuation (m,), input units per second.
        table: reachable targets, ``u`` (K, m), ``q`` (K, nq), ``tip`` (K, space), and what else the task looks up.
        max_steps_in_episode: time limit, steps.
        randomization: what every episode draws anew.
    """

    robot: SoftRobot
    lower: Array
    upper: Array
    rate_limit: Array
    table: dict[str, Array]
    max_steps_in_episode: Array
    randomization: Randomization = Randomization()

    def replace(self, **updates: Any) -> Self:
        """A copy with named fields replaced."""
        return type(self)(**{**vars(self), **updates})

"""Model-based controllers as policies, on equal terms with learned ones: they see the observation and nothing else."""

from typing import Any

from agents.errors import UserError
from agents.policy import Policy
from agents.regulator import static_regulator
from agents.swing_up import pendulum_controller
from agents.undulation import undulation_gait
from soromox_envs.tasks.hemisphere import HemisphereTrack
from soromox_envs.tasks.pendulum import Stabilize
from soromox_envs.tasks.reach import Reach
from soromox_envs.tasks.regulate import Regulate
from soromox_envs.tasks.swim import Swim
from soromox_envs.tasks.track import Track

MAKERS = (
    ((Reach, Track, Regulate, HemisphereTrack), static_regulator),
    ((Stabilize,), pendulum_controller),
    ((Swim,), undulation_gait),
)


def make_model_based_policy(env: Any, params: Any, **gains: float) -> Policy:
    """The model-based policy for an environment, built on its nominal parameters.

    Args:
        gains: numbers among the attributes of the policy, such as ``integral_gain`` of ``StaticRegulator``.

    Raises:
        UserError: a task or an action mode that no model-based policy exists for.
    """
    if env.action_mode == "delta" and env.action_units_mode == "normalized":
        for tasks, make in MAKERS:
            if isinstance(env.task, tasks):
                return make(env, params, **gains)
    raise UserError(
        f"a model-based policy exists for the tasks of the suite under normalized delta actions, not for {env.name} "
        "as configured"
    )

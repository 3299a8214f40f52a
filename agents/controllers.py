"""Model-based controllers as policies, on equal terms with learned ones: they see the observation and nothing else."""

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from agents.errors import UserError
from agents.policy import Policy
from soromox.systems import PlanarHSA

NEWTON_STEPS = 4


class RegulatorState(NamedTuple):
    """Static solution so far, ``[theta, phi]`` (1 + m,), the integral action (m,)."""

    solution: Array
    integral: Array


class HSARegulator(Policy):
    """Setpoint regulator of a planar HSA robot with one segment: static inversion of the target plus integral action.

    Inverse kinematics and inverse statics are solved together: the orientation theta of the end effector and the
    motor angles phi for which the robot, posed by closed-form inverse kinematics at (theta, target), is in
    equilibrium; Newton's method, a few steps at every control step, from the last solution. Tip errors map to motor
    angles through the static sensitivity d phi / d target, and are integrated while saturated. The command approaches
    the setpoint with a first-order lag, so as not to ring the lightly damped body. The model is Stoelzle, Rus and
    Della Santina's regulator (Experimental Robotics, 2024).

    Attributes:
        robot: the model.
        lower, upper, rate: limits of the motors (m,), rad and rad/s.
        length: of the robot, m, which scales the observation's positions.
        index: where in the observation tip, target and command stand.
        interval: control interval, s.
        integral_gain: 1/s.
        saturation: largest tip error that is integrated, m.
        approach: share of the way to the setpoint taken in a step.
    """

    robot: PlanarHSA
    lower: Array
    upper: Array
    rate: Array
    length: Array
    index: dict[str, tuple[int, ...]] = eqx.field(static=True)
    interval: float = eqx.field(static=True)
    integral_gain: float = eqx.field(static=True, default=1.0)
    saturation: float = eqx.field(static=True, default=0.005)
    approach: float = eqx.field(static=True, default=0.3)

    def init(self) -> RegulatorState:
        middle = 0.5 * (self.lower + self.upper)
        angle = self.robot.params.base_pose[:1]
        return RegulatorState(jnp.concatenate([angle, middle]), jnp.zeros_like(middle))

    def __call__(
        self, observation: Float[Array, " n"], carry: RegulatorState, key: PRNGKeyArray
    ) -> tuple[Float[Array, " m"], RegulatorState]:
        tip, target, command = (self._read(observation, name) for name in ("tip", "target", "command"))
        solution, sensitivity = self._invert(carry.solution, target)
        error = target - tip
        bounded = error * jnp.minimum(1, self.saturation / jnp.maximum(jnp.linalg.norm(error), 1e-9))
        setpoint = solution[1:] + carry.integral
        inside = (setpoint > self.lower) & (setpoint < self.upper)
        change = self.integral_gain * self.interval * (sensitivity @ bounded)
        integral = carry.integral + jnp.where(inside, change, 0)
        move = self.approach * (jnp.clip(setpoint, self.lower, self.upper) - command)
        action = jnp.clip(move / (self.rate * self.interval), -1, 1)
        return action.astype(jnp.float32), RegulatorState(solution, integral)

    def _read(self, observation: Array, name: str) -> Array:
        values = observation[jnp.array(self.index[name])].astype(self.length.dtype)
        if name == "command":
            return self.lower + 0.5 * (values + 1) * (self.upper - self.lower)
        return values * self.length + self.robot.params.base_pose[1:]

    def _residual(self, solution: Array, target: Array) -> Array:
        q = self.robot.inverse_kinematics(jnp.concatenate([solution[:1], target]))
        return self.robot.potential_force(q) - self.robot.actuation_force(q, solution[1:])

    def _invert(self, solution: Array, target: Array) -> tuple[Array, Array]:
        """The static solution ``[theta, phi]``, and d phi / d target (m, 2)."""

        def newton(solution, _):
            slope = jax.jacfwd(self._residual)(solution, target)
            step = jnp.linalg.solve(slope, self._residual(solution, target))
            # a radian a step at most: far from the solution the linear model is not to be trusted
            return solution - step * jnp.minimum(1, 1 / jnp.maximum(jnp.abs(step).max(), 1e-9)), slope

        solution, _ = jax.lax.scan(newton, solution, None, length=NEWTON_STEPS)
        slope, by_target = jax.jacfwd(self._residual, argnums=(0, 1))(solution, target)
        return solution, -jnp.linalg.solve(slope, by_target)[1:]


def make_model_based_policy(env: Any, params: Any, **gains: float) -> Policy:
    """The model-based policy for an environment, built on its nominal parameters.

    Args:
        gains: ``integral_gain``, ``saturation``, ``approach`` of the regulator.

    Raises:
        UserError: a robot, a task or an action mode that no model-based policy exists for.
    """
    robot = params.robot
    suits = isinstance(robot, PlanarHSA) and robot.num_segments == 1 and robot.consider_underactuation
    names = env.observation_names
    if not suits or "target_x" not in names or env.action_mode != "delta" or env.action_units_mode != "normalized":
        raise UserError(
            f"a model-based policy exists for reaching with a one-segment, motor-driven PlanarHSA under normalized "
            f"delta actions, not for {env.name} as configured"
        )
    find = partial(map, names.index)
    index = {
        "tip": tuple(find(("tip_x", "tip_y"))),
        "target": tuple(find(("target_x", "target_y"))),
        "command": tuple(find(f"command_{name}" for name in env.action_names)),
    }
    length = env.model.length(robot)
    return HSARegulator(
        robot, params.lower, params.upper, params.rate_limit, length, index, float(env.control_dt), **gains
    )

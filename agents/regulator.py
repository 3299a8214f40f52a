"""The static regulator: postures looked up in the robot's table of equilibria, corrected where they miss."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from agents.policy import Policy
from soromox.systems.statics import static_stiffness
from soromox_envs.targets import load_table

TURN = 0.3  # lengths that a tip beside the target counts as much as, for an entry of its rotation that is 1 beside
JUMP = 0.1  # lengths: a target that moved further in a step is another one
ARRIVED = 0.05  # of an input's range: a command this near its setpoint is not on its way any more
AHEAD = 4  # steps by which a moving target is led
ROTATION = tuple(f"{i}{j}" for j in range(2) for i in range(3))


class RegulatorState(NamedTuple):
    """Memory of the regulator.

    Attributes:
        target: followed so far (space,), over the length.
        solution: static solution for it (m,).
        integral: integral action (m,).
        reference: on the way to the setpoint (m,).
        velocity: of the tip a step ago (space,), as observed.
    """

    target: Array
    solution: Array
    integral: Array
    reference: Array
    velocity: Array


class StaticRegulator(Policy):
    """Setpoint regulator: the actuation that holds the goal, approached slowly, integral action and damping at the tip.

    A new goal is solved by the nearest equilibrium of the table, nearest in what the task asks for, corrected to first
    order by the static sensitivity du / dtip. From there on the solution follows the target's motion along the
    sensitivity, so that robots with more inputs than needed do not jump between solutions. Through the same sensitivity
    the tip's error is integrated, saturated, once the command has arrived (after Stoelzle, Rus and Della Santina,
    Experimental Robotics, 2024), and the tip's velocity is opposed. The command approaches the setpoint with a
    first-order lag, so as not to ring a lightly damped body. Positions are over the length, from the base, as observed.

    Attributes:
        goals: what each row of the table is as a goal (K, g).
        tips: its tip (K, space).
        actuation: its actuation (K, m).
        sensitivity: du / dtip (K, m, space), input units a length.
        lower, upper: limits of the inputs (m,).
        reach: change (m,) of the command by an action of 1.
        damping: tip velocity as observed to the tip displacement that opposes it, lengths ().
        index: where in the observation its entries stand.
        interval: control interval, s.
        integral_gain: 1/s.
        saturation: largest tip error that is integrated, lengths.
        approach: share of the way to the setpoint taken in a step.
    """

    goals: Array
    tips: Array
    actuation: Array
    sensitivity: Array
    lower: Array
    upper: Array
    reach: Array
    damping: Array
    index: dict[str, tuple[int, ...]] = eqx.field(static=True)
    interval: float = eqx.field(static=True)
    integral_gain: float = 1.0
    saturation: float = 0.05
    approach: float = 0.3

    def init(self) -> RegulatorState:
        nowhere = jnp.full_like(self.tips[0], jnp.inf)
        nothing = jnp.zeros_like(self.lower)
        return RegulatorState(nowhere, nothing, nothing, nothing, jnp.zeros_like(nowhere))

    def __call__(
        self, observation: Float[Array, " n"] | dict[str, Array], carry: RegulatorState, key: PRNGKeyArray
    ) -> tuple[Float[Array, " m"], RegulatorState]:
        whole = observation["observation"] if isinstance(observation, dict) else observation
        seen = {name: whole[np.array(where)].astype(self.tips.dtype) for name, where in self.index.items()}
        nearest = jnp.argmin(jnp.sum((self.goals - self._goal(seen)[None]) ** 2, axis=1))
        target = seen.get("target", self.tips[nearest])
        ahead = seen["ahead"] + seen["tip"] if "ahead" in seen else target
        solution, sensitivity = self._solve(ahead, nearest, carry)

        span = self.upper - self.lower
        command = self.lower + 0.5 * (seen["command"] + 1) * span
        reference = jnp.where(jnp.isinf(carry.target[0]), command, carry.reference)
        setpoint = solution + carry.integral
        away = jnp.clip(setpoint, self.lower, self.upper) - reference

        error = target - seen["tip"]
        bounded = error * jnp.minimum(1, self.saturation / jnp.maximum(jnp.linalg.norm(error), 1e-9))
        inside = (setpoint > self.lower) & (setpoint < self.upper)
        arrived = jnp.abs(away / span).max() < ARRIVED
        change = self.integral_gain * self.interval * (sensitivity @ bounded)
        integral = carry.integral + jnp.where(inside & arrived, change, 0)

        reference = reference + jnp.clip(self.approach * away, -self.reach, self.reach)
        # a mean of two samples is blind to modes near the Nyquist frequency, which the delay would excite
        velocity = 0.5 * (seen["velocity"] + carry.velocity)
        wanted = reference - sensitivity @ (self.damping * velocity)
        action = jnp.clip((wanted - command) / self.reach, -1, 1).astype(jnp.float32)
        return action, RegulatorState(ahead, solution, integral, reference, seen["velocity"])

    def _goal(self, seen: dict[str, Array]) -> Array:
        """What the task asks for (g,), to be compared with ``goals``."""
        if "posture" in seen:
            return seen["posture"]
        if "rotation_error" not in seen:
            return seen["target"]
        # the first two columns of R R_error, from those of either
        x, y = seen["rotation"].reshape(2, 3)
        R = jnp.stack([x, y, jnp.cross(x, y)], axis=1)
        return jnp.concatenate([seen["target"], TURN * (seen["rotation_error"].reshape(2, 3) @ R.T).reshape(-1)])

    def _solve(self, target: Array, nearest: Array, carry: RegulatorState) -> tuple[Array, Array]:
        """Actuation (m,) that holds the tip at the target, and its sensitivity (m, space)."""
        new = ~(jnp.linalg.norm(target - carry.target) < JUMP)
        shares = (self.actuation - carry.solution[None]) / (self.upper - self.lower)[None]
        apart = jnp.sum((self.tips - target[None]) ** 2, axis=1) + jnp.mean(shares**2, axis=1)
        row = jnp.where(new, nearest, jnp.argmin(apart))
        sensitivity = self.sensitivity[row]
        before = jnp.where(new, self.tips[row], carry.target)
        solution = jnp.where(new, self.actuation[row], carry.solution) + sensitivity @ (target - before)
        return jnp.clip(solution, self.lower, self.upper), sensitivity


def slowest_frequency(robot: Any, q: Array, u: Array) -> float:
    """Natural frequency of the slowest mode about an equilibrium, rad/s."""

    @eqx.filter_jit
    def linearised(robot, q, u):
        return robot.inertia_matrix(q), static_stiffness(robot, q, u)

    return float(np.sqrt(np.linalg.eigvals(np.linalg.solve(*linearised(robot, q, u))).real.min()))


def static_regulator(env: Any, params: Any, damping_ratio: float = 0.2, **gains: float) -> StaticRegulator:
    """The regulator for an environment that wants the tip, or the configuration, somewhere.

    Args:
        damping_ratio: what the damping adds to that of the slowest mode, were the actuators to act at once; less of
            it is used where they are late by more than a sixth of the mode's period, none beyond a quarter.
    """
    names, table, model, robot = env.observation_names, load_table(env.model.key), env.model, params.robot
    length, axes = float(model.length(robot)), "xyz"[: robot.group.space]

    def array(x: Any) -> Array:
        return jnp.asarray(x, params.lower.dtype)

    entries = {
        "tip": [f"tip_{a}" for a in axes],
        "velocity": [f"tip_velocity_{a}" for a in axes],
        "command": [f"command_{name}" for name in env.action_names],
        "target": [f"target_{a}" for a in axes],
        "ahead": [f"target_in_{AHEAD}_minus_tip_{a}" for a in axes],
        "rotation": [f"tip_rotation_{ij}" for ij in ROTATION],
        "rotation_error": [f"rotation_error_{ij}" for ij in ROTATION],
        "posture": [f"goal_{name}" for name in model.coordinate_names],
    }
    index = {name: tuple(map(names.index, those)) for name, those in entries.items() if set(those) <= set(names)}

    goals = tips = (table["tip"] - np.asarray(robot.params.base_pose)[-len(axes) :]) / length
    if "posture" in index:
        goals = table["q"] * np.asarray(model.coordinate_scale)
    elif "rotation_error" in index:
        turns = table["rotation"][:, :, :2].transpose(0, 2, 1).reshape(-1, 6)
        goals = np.concatenate([tips, TURN * turns], axis=1)

    middle = np.argmin(np.sum((tips - tips.mean(0)) ** 2, axis=1))
    frequency = slowest_frequency(robot, array(table["q"][middle]), array(table["u"][middle]))
    late = model.control_dt + model.lag  # half an interval from the mean, half from holding the command
    damping = 2 * damping_ratio / frequency * np.clip(2 * np.cos(min(frequency * late, np.pi)), 0, 1)
    return StaticRegulator(
        goals=array(goals),
        tips=array(tips),
        actuation=array(table["u"]),
        sensitivity=array(length * table["sensitivity"]),
        lower=params.lower,
        upper=params.upper,
        reach=params.rate_limit * env.control_dt,
        damping=array(damping * model.tip_speed_scale),
        index=index,
        interval=float(env.control_dt),
        **gains,
    )

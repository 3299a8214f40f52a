"""The environment: a robot and a task under the functional gymnax 1.0 protocol.

One step is one ``rollout_discrete_closed_loop_to`` over one control interval. The controller inside it is the actuator
model: the actual actuation approaches the command with a lag and a rate limit, and is applied at the midpoint.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from soromox.batching import lanes_last
from soromox.systems import SystemState
from soromox_envs.robots import model_of
from soromox_envs.robots.model import RobotModel, input_limits, input_names, input_units
from soromox_envs.spaces import Box
from soromox_envs.state import EnvParams, EnvState
from soromox_envs.targets import load_table
from soromox_envs.tasks import task_of

OBSERVATION_BOUND = 10.0
DIVERGENCE_PENALTY = -1.0
AXES = {2: ("x", "y"), 3: ("x", "y", "z")}
ROTATIONS = {2: ("cos_theta", "sin_theta"), 3: tuple(f"rotation_{i}{j}" for j in range(2) for i in range(3))}


@dataclass(frozen=True)
class SoftRobotEnv:
    """A soft-robot task; frozen and hashable by value, all numbers live in ``EnvParams``.

    Attributes:
        name: id, such as ``PlanarHSA-Reach-v0``.
        model: the robot.
        task: the task.
        robot_options: options of the robot's constructor.
        action_mode: ``"delta"`` moves the command by up to what the rate limit allows in an interval,
            ``"absolute"`` sets it.
        action_units: ``"normalized"`` actions in [-1, 1], or ``"physical"`` commands in the units of the inputs.
        transition_gradients: let gradients through the state from step to step.
    """

    name: str
    model: RobotModel
    task: Any
    robot_options: tuple[tuple[str, Any], ...] = ()
    action_mode: str = "delta"
    action_units_mode: str = "normalized"
    transition_gradients: bool = False
    _facts: dict = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self):
        for name, value, allowed in (
            ("action_mode", self.action_mode, ("delta", "absolute")),
            ("action_units", self.action_units_mode, ("normalized", "physical")),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")

    @property
    def control_dt(self) -> float:
        """Interval of a step, s."""
        return self.model.control_dt

    @property
    def default_params(self) -> EnvParams:
        """Nominal parameters, in the default precision."""
        with jax.ensure_compile_time_eval():  # plain arrays, even when asked for while tracing
            robot = self.model.build(**dict(self.robot_options))
            lower, upper = (jnp.asarray(limit, float) for limit in input_limits(robot))
            table = {name: jnp.asarray(values, float) for name, values in load_table(self.model.key).items()}
            rate = jnp.asarray(np.full(lower.shape, self.model.rate_limit), float)
            return EnvParams(robot, lower, upper, rate, table, jnp.asarray(self.task.max_steps, jnp.int32))

    def with_transition_gradients(self) -> "SoftRobotEnv":
        """The same environment, differentiable from step to step."""
        return replace(self, transition_gradients=True)

    # the spaces and names do not depend on parameters
    def _describe(self, what: str) -> Any:
        if not self._facts:
            with jax.ensure_compile_time_eval():
                robot = self.model.build(**dict(self.robot_options))
                lower, upper = input_limits(robot)
            self._facts.update(
                names=input_names(robot),
                units=input_units(robot),
                limits=(lower, upper),
                space=robot.group.space,
                auxiliary=robot.num_auxiliary_states,
            )
        return self._facts[what]

    @property
    def num_actions(self) -> int:
        """Number of inputs, m."""
        return len(self._describe("names"))

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self._describe("names")

    @property
    def action_units(self) -> tuple[str, ...]:
        """Physical unit of each input."""
        return self._describe("units")

    @property
    def action_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Physical limits (m,) of the inputs."""
        return self._describe("limits")

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Name of each entry of the observation."""
        axes, inputs = AXES[self._describe("space")], self.action_names
        return (
            *self.model.coordinate_names,
            *(f"{name}_rate" for name in self.model.coordinate_names),
            *(f"tip_{a}" for a in axes),
            *(f"tip_{name}" for name in ROTATIONS[self._describe("space")]),
            *(f"tip_velocity_{a}" for a in axes),
            *(f"actual_{name}" for name in inputs),
            *(f"command_{name}" for name in inputs),
            *self.task.observation_names(axes),
        )

    def observation_space(self, params: EnvParams | None = None) -> Box:
        """Box of the observation; entries are O(1)."""
        return Box(-OBSERVATION_BOUND, OBSERVATION_BOUND, (len(self.observation_names),))

    def action_space(self, params: EnvParams | None = None) -> Box:
        """Box of the action."""
        if self.action_units_mode == "normalized":
            return Box(-1.0, 1.0, (self.num_actions,))
        lower, upper = (limit.astype(np.float32) for limit in self.action_limits)
        return Box(lower, upper, (self.num_actions,))

    def reset(self, key: Array, params: EnvParams | None = None) -> tuple[Array, EnvState]:
        """A new episode: observation and state."""
        return self.reset_env(key, self.default_params if params is None else params)

    def step(
        self, key: Array, state: EnvState, action: Array, params: EnvParams | None = None
    ) -> tuple[Array, EnvState, Array, Array, Array, dict[str, Any]]:
        """One control interval with auto-reset in the same step: obs, state, reward, terminated, truncated, info.

        ``info["final_observation"]`` is the true last observation; the returned one belongs to the new episode.
        """
        params = self.default_params if params is None else params
        obs, state, reward, terminated, info = self.step_env(key, state, action, params)
        truncated = self.is_truncated(state, params)
        # folding keeps the reset key apart from every key that split or an adapter's fold_in(key, t + 1) makes
        fresh_obs, fresh = self.reset_env(jax.random.fold_in(key, 2**31 - 1), params)
        done = terminated | truncated
        new_state = jax.tree.map(lambda a, b: jnp.where(done, lax.stop_gradient(a), b), fresh, state)
        new_obs = jnp.where(done, lax.stop_gradient(fresh_obs), obs)
        info = {**info, "terminated": terminated, "truncated": truncated, "final_observation": obs}
        return new_obs, new_state, reward, terminated, truncated, info

    def reset_env(self, key: Array, params: EnvParams) -> tuple[Array, EnvState]:
        """A new episode, by a look-up in the table of equilibria."""
        task, start = self.task.reset(key, params.table)
        robot = params.robot
        y = robot.pack_state(start.q, jnp.zeros(robot.num_velocities, start.q.dtype))
        system = SystemState(jnp.zeros((), y.dtype), y, None, start.actuation)
        state = EnvState(jnp.zeros((), jnp.int32), system, start.actuation, task, jnp.zeros((), bool))
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: Array, state: EnvState, action: Array, params: EnvParams
    ) -> tuple[Array, EnvState, Array, Array, dict[str, Any]]:
        """One control interval without reset: obs, state, reward, terminated, info."""
        return lanes_last(self._step, alone=(True, True, True, False))(key, state, action, params)

    def _step(
        self, key: Array, state: EnvState, action: Array, params: EnvParams
    ) -> tuple[Array, EnvState, Array, Array, dict[str, Any]]:
        action = jnp.asarray(action, state.system.y.dtype)
        sane = jnp.all(jnp.isfinite(action))
        command = self._command(state, jnp.where(jnp.isfinite(action), action, 0), params)
        system = self._advance(state.system, command, params)
        healthy = sane & ~state.diverged & jnp.all(jnp.isfinite(system.y))
        # a diverged lane keeps its last state, finite; selecting before use keeps NaN out of gradients too
        last = jax.tree.map(lambda x: jnp.where(jnp.isfinite(x), x, 0), state.system)
        system = jax.tree.map(lambda new, old: jnp.where(healthy, new, old), system, last)
        moved = state.replace(
            time=state.time + 1, system=system, command=jnp.where(healthy, command, state.command), diverged=~healthy
        )
        tip = self._tip(moved, params)
        position = params.robot.group.position(tip[0])
        task, terms = self.task.evaluate(state.task, position, self.model.length(params.robot))
        moved = moved.replace(task=task)
        reward = jnp.where(healthy, self.task.reward(terms), DIVERGENCE_PENALTY)
        info = {
            "is_success": terms.is_success & healthy,
            "distance": terms.distance,
            "reward_terms": terms.reward_terms,
            "diverged": ~healthy,
        }
        obs = self._observe(moved, tip, params)
        truncated = self.is_truncated(moved, params)
        info |= {"terminated": ~healthy, "truncated": truncated, "final_observation": obs}
        if not self.transition_gradients:
            obs, moved = lax.stop_gradient((obs, moved))
        return obs, moved, reward, ~healthy, info

    def is_terminated(self, state: EnvState, params: EnvParams) -> Array:
        """True after a divergence."""
        return state.diverged

    def is_truncated(self, state: EnvState, params: EnvParams) -> Array:
        """True at the time limit, unless the episode ended by itself."""
        return (state.time >= params.max_steps_in_episode) & ~state.diverged

    def observe(self, key: Array, state: EnvState, action: Array | None, params: EnvParams) -> Array:
        """Observation (n,) float32: q, qd, tip pose and velocity, actual and commanded actuation, task entries."""

        def observe(state, params):
            return self._observe(state, self._tip(state, params), params)

        return lanes_last(observe, alone=(True, False))(state, params)

    def _tip(self, state: EnvState, params: EnvParams) -> tuple[Array, Array]:
        """Pose of the tip and its rate."""
        robot = params.robot
        q, qd, _ = robot.split_state(state.system.y)
        return self.model.tip_motion(robot, q, robot.configuration_derivative(q, qd))

    def _observe(self, state: EnvState, tip_motion: tuple[Array, Array], params: EnvParams) -> Array:
        robot, model = params.robot, self.model
        q, qd, _ = robot.split_state(state.system.y)
        G, length = robot.group, model.length(robot)
        pose, pose_rate = tip_motion
        tip, origin = G.position(pose), robot.params.base_pose[-G.space :]
        velocity = G.position(pose_rate)
        half = 0.5 * (params.upper - params.lower)

        def normalized(u):
            return (u - params.lower) / half - 1

        entries = [
            q * jnp.asarray(model.coordinate_scale, q.dtype),
            qd * jnp.asarray(model.velocity_scale, q.dtype),
            (tip - origin) / length,
            G.rotation(pose)[:, : G.space - 1].T.reshape(-1),
            velocity / (model.tip_speed_scale * length),
            normalized(state.system.control_state),
            normalized(state.command),
            self.task.observe(state.task, tip, origin, length),
        ]
        bound = OBSERVATION_BOUND
        return jnp.clip(jnp.concatenate(entries).astype(jnp.float32), -bound, bound)

    def render(self, state: EnvState, params: EnvParams | None = None) -> np.ndarray:
        """An image (H, W, 3) uint8 of the robot and its task; needs no display."""
        from soromox_envs.rendering import render_state

        return render_state(self, state, self.default_params if params is None else params)

    def _command(self, state: EnvState, action: Array, params: EnvParams) -> Array:
        lower, upper = params.lower, params.upper
        if self.action_units_mode == "physical":
            return jnp.clip(action, lower, upper)
        action = jnp.clip(action, -1, 1)
        if self.action_mode == "absolute":
            return 0.5 * (lower + upper) + 0.5 * (upper - lower) * action
        return jnp.clip(state.command + action * params.rate_limit * self.control_dt, lower, upper)

    def _advance(self, system: SystemState, command: Array, params: EnvParams) -> SystemState:
        """One control interval of physics towards the command."""
        model, dt = self.model, self.model.actuator_dt
        approach = 1.0 if model.lag == 0 else 1 - math.exp(-dt / model.lag)
        reach = params.rate_limit * dt

        def actuators(state: SystemState) -> tuple[Array, Array]:
            x = state.control_state
            step = jnp.clip((command - x) * approach, -reach, reach)
            return x + 0.5 * step, step / dt

        path = params.robot.rollout_discrete_closed_loop_to(
            system,
            actuators,
            duration=self.control_dt,
            control_dt=dt,
            save_dt=dt,
            solver_dt=model.solver_dt,
            solver=model.make_solver(params.robot),
        )
        return path[-1].replace(u=None)


def make_env(
    robot: str,
    task: str,
    *,
    id: str | None = None,
    action_mode: str = "delta",
    action_units: str = "normalized",
    max_episode_steps: int | None = None,
    hysteresis: bool = False,
) -> tuple[SoftRobotEnv, EnvParams]:
    """The environment of a robot and a task, and its nominal parameters.

    Args:
        robot, task: keys such as ``"PlanarHSA"`` and ``"Reach"``.
        id: name of the environment; ``<robot>-<task>-v0`` when omitted.
        action_mode: ``"delta"`` or ``"absolute"``.
        action_units: ``"normalized"`` or ``"physical"``.
        max_episode_steps: time limit; the task's when omitted.
        hysteresis: the published Bouc-Wen hysteresis of the PlanarHSA robot.
    """
    options = (("hysteresis", True),) if hysteresis else ()
    overrides = {} if max_episode_steps is None else {"max_steps": int(max_episode_steps)}
    env = SoftRobotEnv(
        name=id or f"{robot}-{task}-v0",
        model=model_of(robot),
        task=task_of(task, **overrides),
        robot_options=options,
        action_mode=action_mode,
        action_units_mode=action_units,
    )
    return env, env.default_params

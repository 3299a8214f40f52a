"""The environment: a robot and a task under the functional gymnax 1.0 protocol.

One step is one ``rollout_discrete_closed_loop_to`` over one control interval. The controller inside it is the actuator
model: the actual actuation approaches the command with a lag and a rate limit, and is applied at the midpoint.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import eval_context

from soromox.batching import lanes_last
from soromox.systems import SystemState
from soromox_envs import actuators, observation
from soromox_envs.physics import Randomization, randomization_of
from soromox_envs.robots.model import RobotModel, input_limits, input_names, input_units
from soromox_envs.spaces import Box, Dict
from soromox_envs.state import EnvParams, EnvState
from soromox_envs.targets import load_table
from soromox_envs.tasks.base import Picture, Sight

OBSERVATION_BOUND = observation.BOUND
DIVERGENCE_PENALTY = -1.0


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
        randomization: name of the ranges that the default parameters carry.
    """

    name: str
    model: RobotModel
    task: Any
    robot_options: tuple[tuple[str, Any], ...] = ()
    action_mode: str = "delta"
    action_units_mode: str = "normalized"
    transition_gradients: bool = False
    randomization: str = "none"
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
        with eval_context():  # plain arrays, even when asked for while tracing
            ranges = randomization_of(self.randomization).merged(Randomization.of(**dict(self.task.ranges)))
            robot = self.model.make(**dict(self.robot_options))
            lower, upper = (jnp.asarray(limit, float) for limit in input_limits(robot))
            if ranges.payload is not None:
                robot = robot.with_payload(0.0)
            columns, table = ("u", "q", "tip", *self.task.columns), load_table(self.model.key)
            table = {name: jnp.asarray(table[name], float) for name in columns}
            rate = jnp.asarray(np.full(lower.shape, self.model.rate_limit), float)
            steps = jnp.asarray(self.task.max_steps, jnp.int32)
            return EnvParams(robot, lower, upper, rate, table, steps, ranges)

    def with_transition_gradients(self) -> "SoftRobotEnv":
        """The same environment, differentiable from step to step."""
        return replace(self, transition_gradients=True)

    def randomize(self, keys: Array, params: EnvParams | None = None) -> tuple[EnvParams, Any]:
        """One robot a key (n,) drawn from the randomization, and the ``in_axes`` to vmap over these parameters.

        For training on a fixed set of robots; episodes draw afresh by themselves.
        """
        params = self.default_params if params is None else params
        physics = jax.vmap(lambda key: self._draw(key, params))(keys)
        robots = jax.vmap(lambda physics: physics.robot(params.robot, self.model))(physics)
        still = jax.tree.map(lambda _: None, params)
        axes = eqx.tree_at(
            lambda p: p.robot, still, jax.tree.map(lambda _: 0, params.robot), is_leaf=lambda x: x is None
        )
        return params.replace(robot=robots), axes

    # the spaces and names do not depend on parameters
    def _describe(self, what: str) -> Any:
        if not self._facts:
            with eval_context():
                robot = self.model.make(**dict(self.robot_options))
                lower, upper = input_limits(robot)
            self._facts.update(
                names=input_names(robot),
                units=input_units(robot),
                limits=(lower, upper),
                space=robot.group.space,
                base=robot.num_base_coordinates,
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
        return tuple(name for names in self.observation_layout.values() for name in names)

    @property
    def observation_layout(self) -> dict[str, tuple[str, ...]]:
        """Names of the entries of the observation, by what they are."""
        space, base = self._describe("space"), self._describe("base")
        return observation.layout(self.model, self.task, self.action_names, space, base)

    def observation_space(self, params: EnvParams | None = None) -> Box | Dict:
        """Box of the observation, whose entries are O(1); with goals, a dictionary of three."""
        box = Box(-OBSERVATION_BOUND, OBSERVATION_BOUND, (len(self.observation_names),))
        if not self.task.goal_conditioned:
            return box
        goal = Box(-OBSERVATION_BOUND, OBSERVATION_BOUND, (self._describe("space"),))
        return Dict({"observation": box, "achieved_goal": goal, "desired_goal": goal})

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
        fresh = lax.stop_gradient((fresh_obs, fresh))
        new_obs, new_state = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, (obs, state))
        info = {**info, "terminated": terminated, "truncated": truncated, "final_observation": obs}
        return new_obs, new_state, reward, terminated, truncated, info

    def reset_env(self, key: Array, params: EnvParams) -> tuple[Any, EnvState]:
        """A new episode, by a look-up in the table of equilibria."""
        physics = self._draw(key, params) if params.randomization.varies else None
        robot = params.robot if physics is None else physics.robot(params.robot, self.model)
        task, start = self.task.reset(key, params.table, self.model, robot)
        y = robot.pack_state(start.q, jnp.zeros(robot.num_velocities, start.q.dtype))
        system = SystemState(jnp.zeros((), y.dtype), y, None, start.actuation)
        state = EnvState(jnp.zeros((), jnp.int32), system, start.actuation, task, jnp.zeros((), bool), physics)
        return self.observe(key, state, None, params), state

    def _draw(self, key: Array, params: EnvParams) -> Any:
        # folded, since the task draws from the key itself
        key, space = jax.random.fold_in(key, 2**31 - 2), params.robot.group.space
        duration = self.task.max_steps * self.control_dt
        return params.randomization.draw(key, self.model, space, params.lower.shape[0], duration)

    def step_env(
        self, key: Array, state: EnvState, action: Array, params: EnvParams
    ) -> tuple[Any, EnvState, Array, Array, dict[str, Any]]:
        """One control interval without reset: obs, state, reward, terminated, info."""
        step = lanes_last(self._step, alone=(True, True, True, False))
        if self.transition_gradients:
            # the reverse pass keeps a state a step and runs the step again, instead of keeping all its stages
            step = jax.checkpoint(step)
        return step(self._noise(key, state), state, action, params)

    def _step(
        self, noise: Array | None, state: EnvState, action: Array, params: EnvParams
    ) -> tuple[Any, EnvState, Array, Array, dict[str, Any]]:
        action = jnp.asarray(action, state.system.y.dtype)
        sane = jnp.all(jnp.isfinite(action))
        finite = jnp.where(jnp.isfinite(action), action, 0)
        modes = self.action_mode, self.action_units_mode
        command = actuators.commanded(state.command, finite, params, self.control_dt, *modes)
        robot = params.robot if state.physics is None else state.physics.robot(params.robot, self.model)
        system = actuators.advance(self.model, robot, state, command, params, self.task.surroundings(robot))
        healthy = sane & ~state.diverged & jnp.all(jnp.isfinite(system.y))
        # a diverged lane keeps its last state, finite; selecting before use keeps NaN out of gradients too
        last = jax.tree.map(lambda x: jnp.where(jnp.isfinite(x), x, 0), state.system)
        system = jax.tree.map(lambda new, old: jnp.where(healthy, new, old), system, last)
        moved = state.replace(
            time=state.time + 1, system=system, command=jnp.where(healthy, command, state.command), diverged=~healthy
        )
        sight = observation.look(self.model, self.task, moved, robot)
        task, terms = self.task.evaluate(state.task, sight)
        moved = moved.replace(task=task)
        obs = self._observation(moved, sight, params, noise)
        if self.task.goal_conditioned:
            reward = self.task.reward_of(obs["achieved_goal"], obs["desired_goal"])
        else:
            reward = self.task.reward(terms)
        info = {
            "is_success": terms.is_success & healthy,
            "distance": terms.distance,
            "reward_terms": terms.reward_terms,
            "diverged": ~healthy,
            "terminated": ~healthy,
            "truncated": self.is_truncated(moved, params),
            "final_observation": obs,
        }
        if terms.cost is not None:
            info["cost"] = terms.cost
        if not self.transition_gradients:
            obs, moved = lax.stop_gradient((obs, moved))
        return obs, moved, jnp.where(healthy, reward, DIVERGENCE_PENALTY), ~healthy, info

    def is_terminated(self, state: EnvState, params: EnvParams) -> Array:
        """True after a divergence."""
        return state.diverged

    def is_truncated(self, state: EnvState, params: EnvParams) -> Array:
        """True at the time limit, unless the episode ended by itself."""
        return (state.time >= params.max_steps_in_episode) & ~state.diverged

    def observe(self, key: Array, state: EnvState, action: Array | None, params: EnvParams) -> Any:
        """Observation (n,) float32: see ``observation_names``; with goals, a dictionary."""

        def observe(noise, state, params):
            return self._observation(state, self.sight(state, params), params, noise)

        return lanes_last(observe, alone=(True, True, False))(self._noise(key, state), state, params)

    def compute_reward(self, achieved_goal: Array, desired_goal: Array, info: Any = None) -> Array:
        """Reward of a goal-conditioned task for goals (..., space) as observed."""
        if not self.task.goal_conditioned:
            raise ValueError(f"{self.name} is not goal-conditioned: its reward needs more than goals")
        reward = self.task.reward_of
        for _ in range(jnp.ndim(achieved_goal) - 1):
            reward = jax.vmap(reward)
        return reward(jnp.asarray(achieved_goal), jnp.asarray(desired_goal))

    def sight(self, state: EnvState, params: EnvParams) -> Sight:
        """What a task sees of the robot."""
        robot = params.robot if state.physics is None else state.physics.robot(params.robot, self.model)
        return observation.look(self.model, self.task, state, robot)

    def picture(self, state: EnvState, params: EnvParams) -> Picture:
        """Where the task's target, path and obstacles are."""
        return self.task.picture(state.task, self.sight(state, params))

    def _noise(self, key: Array, state: EnvState) -> Array | None:
        if state.physics is None or state.physics.noise is None:
            return None
        size = len(self.observation_names)
        return state.physics.noise * jax.random.normal(key, (size,), state.system.y.dtype)

    def _observation(self, state: EnvState, sight: Sight, params: EnvParams, noise: Array | None) -> Any:
        whole = observation.entries(self.task, state, sight, params, noise)
        if not self.task.goal_conditioned:
            return whole
        achieved, desired = (goal.astype(jnp.float32) for goal in self.task.goals(state.task, sight))
        return {"observation": whole, "achieved_goal": achieved, "desired_goal": desired}

    def render(self, state: EnvState, params: EnvParams | None = None) -> np.ndarray:
        """An image (H, W, 3) uint8 of the robot and its task; needs no display."""
        from soromox_envs.rendering import render_state

        return render_state(self, state, self.default_params if params is None else params)

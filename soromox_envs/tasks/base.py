"""What tasks see, and what they say."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from soromox_envs.physics import Physics, Range
from soromox_envs.rewards import long_tolerance, tolerance
from soromox_envs.robots.model import RobotModel


class Start(NamedTuple):
    """How an episode begins: configuration (nq,), settled under the actuation (m,)."""

    q: Array
    actuation: Array


class Terms(NamedTuple):
    """Outcome of a step.

    Attributes:
        reward_terms: named terms in [0, 1] (), of which the task makes the reward.
        distance: to the goal (), m.
        is_success: whether the task is done ().
        cost: what a constraint was violated by (), m; None for tasks without one.
    """

    reward_terms: dict[str, Array]
    distance: Array
    is_success: Array
    cost: Array | None = None


class Sight(eqx.Module):
    """What a task sees of the robot.

    Attributes:
        model: the robot's entry in the suite.
        robot: the robot of the episode.
        q, v: configuration (nq,) and velocity (nv,).
        pose, pose_rate: of the tip, and its time derivative.
        length: of the robot (), m.
        steps: since the episode began ().
        physics: what this episode drew; None where nothing varies.
        body: points (8, space) along the backbone, m; None for a task that does not see them.
    """

    model: RobotModel = eqx.field(static=True)
    robot: Any
    q: Array
    v: Array
    pose: Array
    pose_rate: Array
    length: Array
    steps: Array
    physics: Physics | None = None
    body: Array | None = None

    @property
    def time(self) -> Array:
        """Since the episode began (), s."""
        return self.steps.astype(self.q.dtype) * self.model.control_dt

    @property
    def tip(self) -> Array:
        """Position (space,) of the tip, m."""
        return self.robot.group.position(self.pose)

    @property
    def velocity(self) -> Array:
        """Velocity (space,) of the tip, m/s."""
        return self.robot.group.position(self.pose_rate)

    @property
    def rotation(self) -> Array:
        """Rotation (space, space) of the tip."""
        return self.robot.group.rotation(self.pose)

    @property
    def origin(self) -> Array:
        """Where the base is mounted (space,), m."""
        return self.robot.params.base_pose[-self.robot.group.space :]


class Picture(NamedTuple):
    """What a picture shows of a task, m.

    Attributes:
        target: where ``point``, the tip unless given, should go (space,).
        radius: distance that counts as there ().
        point: (space,) or None.
        path: of the target (n, space), or None.
        obstacles: centres (k, space) and radii (k,) of spheres, zero where there is none, or None.
    """

    target: Array
    radius: Array
    point: Array | None = None
    path: Array | None = None
    obstacles: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class Task:
    """What to do with a robot; frozen and hashable by value. Its state is a pytree that the environment carries.

    Attributes:
        max_steps: steps an episode.
        reward_names: names of the reward's terms.
        ranges: what varies in every episode of this task, whatever the randomization (``Randomization``).
        columns: of the robot's table, besides ``u``, ``q`` and ``tip``, that ``reset`` looks up.
        sees_body: whether it looks at points along the body.
        goal_conditioned: whether the observation is a dictionary with goals.
        published_reward: whether the reward is somebody else's, whose terms need not lie in [0, 1].
    """

    max_steps: int = 100
    reward_names: ClassVar[tuple[str, ...]] = ()
    ranges: ClassVar[tuple[tuple[str, Range], ...]] = ()
    columns: ClassVar[tuple[str, ...]] = ()
    sees_body: ClassVar[bool] = False
    goal_conditioned: ClassVar[bool] = False
    published_reward: ClassVar[bool] = False

    @abstractmethod
    def reset(self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any) -> tuple[Any, Start]:
        """State and start of a new episode, looked up in the robot's table; ``robot`` is the episode's."""

    @abstractmethod
    def evaluate(self, state: Any, sight: Sight) -> tuple[Any, Terms]:
        """The state after a step, and its outcome."""

    @abstractmethod
    def observe(self, state: Any, sight: Sight) -> Array:
        """Entries (k,) that the task adds to the observation, O(1)."""

    @abstractmethod
    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the entries of ``observe``; ``axes`` are those of positions."""

    def extra_names(self, model: RobotModel, axes: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the entries of ``observe`` for a robot."""
        return self.observation_names(axes)

    def reward(self, terms: Terms) -> Array:
        """Mean of the terms."""
        return mean_of(terms.reward_terms)

    def surroundings(self, robot: Any) -> Any:
        """Environment model of the rollouts, ``model(state) -> (force, None)``; None for none."""
        return None

    @abstractmethod
    def picture(self, state: Any, sight: Sight) -> Picture:
        """What to draw."""


def distance_between(a: Array, b: Array) -> Array:
    """Euclidean distance with finite derivatives everywhere."""
    return jnp.sqrt(jnp.sum((a - b) ** 2) + 1e-12)


def closeness(distance: Array, length: Array, radius: Array) -> dict[str, Array]:
    """The two terms of every task that wants a point somewhere: ``near`` has a slope far away, ``precise`` close by.

    ``near`` is heavy-tailed with a margin of a quarter of the length, ``precise`` Gaussian: 1 within a quarter of the
    success radius, 0.1 at five radii.
    """
    return {
        "near": long_tolerance(distance, margin=0.25 * length),
        "precise": tolerance(distance, bound=0.25 * radius, margin=4.75 * radius),
    }


def mean_of(terms: dict[str, Array]) -> Array:
    """Mean of the reward terms."""
    return jnp.mean(jnp.stack(list(terms.values())))


def consecutive(steps: Array, within: Array) -> Array:
    """Count of consecutive steps, int32."""
    return jnp.where(within, steps + 1, 0).astype(jnp.int32)

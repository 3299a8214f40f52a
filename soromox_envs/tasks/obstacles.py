"""ObstacleReach: reach without touching the spheres in the way."""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox_envs.rewards import tolerance
from soromox_envs.robots.model import RobotModel
from soromox_envs.tasks.base import Picture, Sight, Start, Terms, closeness, consecutive, distance_between
from soromox_envs.tasks.reach import Reach

SLOTS, CANDIDATES = 8, 32
CLEARANCE = 0.02  # lengths between an obstacle and the postures at the start and at the goal
SOFTNESS = 0.01  # lengths over which the distances of a body's points blend


class ObstacleState(eqx.Module):
    """Target and obstacles.

    Attributes:
        target: (space,), m.
        centers: of the spheres (8, space), m; of discs in the plane.
        radii: (8,), m; zero where there is no obstacle.
        steps_within: consecutive steps within the success radius.
        violated: whether anything was touched in this episode.
    """

    target: Array
    centers: Array
    radii: Array
    steps_within: Array
    violated: Array

    def distances(self, body: Array, body_radius: float, length: Array) -> Array:
        """Signed distances (points, 8) of a body's points (points, space), m; ``length`` where there is no obstacle."""
        apart = jnp.sqrt(jnp.sum((body[:, None] - self.centers[None]) ** 2, axis=-1) + 1e-12)
        return jnp.where(self.radii[None] > 0, apart - self.radii[None] - body_radius, length)


@dataclass(frozen=True)
class ObstacleReach(Reach):
    """Reach among 1 to 8 spheres that neither the start nor the goal posture touches.

    ``clear`` joins the reward: 1 while the body is outside, falling with the depth of its deepest point.
    ``info["cost"]`` is that depth, m. Success: reached, and nothing touched in the whole episode. The observation has
    each centre, and the smooth signed distance of the body to it.
    """

    reward_names: ClassVar[tuple[str, ...]] = ("near", "precise", "clear")
    columns: ClassVar[tuple[str, ...]] = ("body",)
    sees_body: ClassVar[bool] = True

    def reset(self, key: Array, table: dict[str, Array], model: RobotModel, robot: Any) -> tuple[ObstacleState, Start]:
        length = model.length(robot)
        draw, place, side, size, number = jax.random.split(key, 5)
        start, goal = jax.random.randint(draw, (2,), 0, table["tip"].shape[0])
        bodies = jnp.concatenate([table["body"][start], table["body"][goal]])
        dtype, space = bodies.dtype, bodies.shape[1]
        # candidates about the way from tip to tip, and about the bodies' own reach
        along = jax.random.uniform(place, (CANDIDATES, 1), dtype)
        way = table["tip"][start][None] + along * (table["tip"][goal] - table["tip"][start])[None]
        centers = way + 0.2 * length * jax.random.normal(side, (CANDIDATES, space), dtype)
        radii = length * jax.random.uniform(size, (CANDIDATES,), dtype, 0.03, 0.08)
        apart = jnp.sqrt(jnp.sum((centers[:, None] - bodies[None]) ** 2, axis=-1)).min(1)
        free = apart - radii - model.body_radius > CLEARANCE * length
        first = jnp.argsort(~free)[:SLOTS]
        count = jax.random.randint(number, (), 1, SLOTS + 1)
        there = free[first] & (jnp.arange(SLOTS) < count)
        state = ObstacleState(
            table["tip"][goal],
            centers[first],
            jnp.where(there, radii[first], 0),
            jnp.zeros((), jnp.int32),
            jnp.zeros((), bool),
        )
        return state, Start(table["q"][start], table["u"][start])

    def evaluate(self, state: ObstacleState, sight: Sight) -> tuple[ObstacleState, Terms]:
        distance, radius = distance_between(sight.tip, state.target), self.radius * sight.length
        depth = jnp.maximum(-self._distances(state, sight).min(), 0)
        violated = state.violated | (depth > 0)
        steps = consecutive(state.steps_within, distance < radius)
        rewards = closeness(distance, sight.length, radius)
        rewards |= {"clear": tolerance(depth, margin=0.05 * sight.length)}
        terms = Terms(rewards, distance, (steps >= self.hold_steps) & ~violated, depth)
        return ObstacleState(state.target, state.centers, state.radii, steps, violated), terms

    def _distances(self, state: ObstacleState, sight: Sight) -> Array:
        assert sight.body is not None
        return state.distances(sight.body, sight.model.body_radius, sight.length)

    def observe(self, state: ObstacleState, sight: Sight) -> Array:
        soft = SOFTNESS * sight.length
        nearest = -soft * jax.nn.logsumexp(-self._distances(state, sight) / soft, axis=0)
        there = state.radii > 0
        centers = jnp.where(there[:, None], (state.centers - sight.origin[None]) / sight.length, 0)
        distances = jnp.where(there, nearest / sight.length, 1)
        return jnp.concatenate([super().observe(state, sight), centers.reshape(-1), distances])

    def observation_names(self, axes: tuple[str, ...]) -> tuple[str, ...]:
        centers = tuple(f"obstacle_{i}_{a}" for i in range(SLOTS) for a in axes)
        return super().observation_names(axes) + centers + tuple(f"obstacle_{i}_distance" for i in range(SLOTS))

    def picture(self, state: ObstacleState, sight: Sight) -> Picture:
        return Picture(state.target, self.radius * sight.length, obstacles=(state.centers, state.radii))

"""The layout of observations: the same entries for every robot, then those of the task."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from soromox.core.base import pose_from_coordinates
from soromox_envs.robots.model import RobotModel
from soromox_envs.state import EnvParams, EnvState
from soromox_envs.tasks.base import Sight

BOUND = 10.0
AXES = {2: ("x", "y"), 3: ("x", "y", "z")}
ROTATIONS = {2: ("cos_theta", "sin_theta"), 3: tuple(f"rotation_{i}{j}" for j in range(2) for i in range(3))}


def layout(model: RobotModel, task: Any, inputs: tuple[str, ...], space: int, base: int) -> dict[str, tuple[str, ...]]:
    """Names of the entries, by what they are, in order; ``base`` is the number of coordinates of a floating base."""
    axes = AXES[space]
    return {
        "coordinates, scaled": model.coordinate_names[base:],
        "their rates, scaled": model.rate_names,
        "tip from the base, over the length": tuple(f"tip_{a}" for a in axes),
        "rotation of the tip": tuple(f"tip_{name}" for name in ROTATIONS[space]),
        f"tip velocity, over {model.tip_speed_scale:g} lengths/s": tuple(f"tip_velocity_{a}" for a in axes),
        "actual actuation, -1 to 1 between its limits": tuple(f"actual_{name}" for name in inputs),
        "commanded actuation, likewise": tuple(f"command_{name}" for name in inputs),
        "of the task": task.extra_names(model, axes),
    }


def look(model: RobotModel, task: Any, state: EnvState, robot: Any) -> Sight:
    """What there is to see for the task of the robot of the episode."""
    q, v, _ = robot.split_state(state.system.y)
    tip, rate, body = model.motion(robot, q, v, body=task.sees_body)
    return Sight(model, robot, q, v, tip, rate, model.length(robot), state.time, state.physics, body)


def entries(task: Any, state: EnvState, sight: Sight, params: EnvParams, noise: Array | None) -> Array:
    """The observation (n,), float32, within ``BOUND``.

    Internal coordinates, velocities, tip pose and velocity, actual and commanded actuation, entries of the task. A
    floating robot sees its velocities and its tip from its own base, and nothing of where it is.
    """
    model, robot = sight.model, sight.robot
    G, dtype = robot.group, sight.q.dtype
    half = 0.5 * (params.upper - params.lower)
    base = robot.num_base_coordinates
    v, position, rotation, velocity = sight.v, sight.tip - sight.origin, sight.rotation, sight.velocity
    if robot.floating_base:
        pose = pose_from_coordinates(robot.is_planar, sight.q[:base])
        to_base = G.rotation(pose).T
        turn, shift = jnp.split(v[: robot.num_base_velocities], [G.angular])
        turn = to_base @ turn if G.angular == 3 else turn
        v = jnp.concatenate([turn, to_base @ shift, v[robot.num_base_velocities :]])
        position, rotation = to_base @ (sight.tip - G.position(pose)), to_base @ rotation
        velocity = to_base @ velocity

    q = sight.q[base:]
    if model.turns:
        q = jnp.arctan2(jnp.sin(q), jnp.cos(q))

    def normalized(u: Array) -> Array:
        return (u - params.lower) / half - 1

    parts = [
        q * jnp.asarray(model.coordinate_scale[base:], dtype),
        v * jnp.asarray(model.velocity_scale, dtype),
        position / sight.length,
        rotation[:, : G.space - 1].T.reshape(-1),
        velocity / (model.tip_speed_scale * sight.length),
        normalized(state.system.control_state),
        normalized(state.command),
        task.observe(state.task, sight),
    ]
    whole = jnp.concatenate(parts)
    if noise is not None:
        whole = whole + noise
    return jnp.clip(whole.astype(jnp.float32), -BOUND, BOUND)

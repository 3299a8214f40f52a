"""Actuators as renderers see them: lines along the body."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.actuation.threadlike import ThreadlikeTransmission


class ActuatorVisualLayer(eqx.Module):
    """Lines of one group of actuators.

    Attributes:
        kind: what they are, such as "tendon", or "passive" for springs and dampers.
        points: world positions (m, k, 2 or 3) of k points on each of m lines, m.
        inputs: actuation (m,) in the unit of the actuator, where it was given.
    """

    kind: str = eqx.field(static=True)
    points: Array
    inputs: Array | None = None


def actuator_visual_layers(
    robot: Any, q: Array, s_points: Array, *, actuator_inputs: Array | None = None
) -> tuple[ActuatorVisualLayer, ...]:
    """Layers of a robot at the configuration q: its own ``actuator_visual_layers``, otherwise its tendons.

    Args:
        s_points: arc lengths (k,), m, of the points on a thread that runs along the whole body; those that start or
            end elsewhere have as many points.
        actuator_inputs: actuation (num_actuators,), handed to the layers.
    """
    own = getattr(robot, "actuator_visual_layers", None)
    if own is not None:
        return tuple(own(q, s_points, actuator_inputs=actuator_inputs))
    layers, first = [], 0
    for actuator in getattr(robot, "actuators", ()):
        last = first + actuator.num_inputs
        if isinstance(actuator.transmission, ThreadlikeTransmission):
            inputs = None if actuator_inputs is None else actuator_inputs[first:last]
            points = thread_points(robot, actuator.transmission, q, s_points)
            layers.append(ActuatorVisualLayer(actuator.metadata.kind, points, inputs))
        first = last
    for element in getattr(robot, "passive_elements", ()):
        if isinstance(element.transmission, ThreadlikeTransmission):
            points = thread_points(robot, element.transmission, q, s_points)
            layers.append(ActuatorVisualLayer("passive", points))
    return tuple(layers)


def thread_points(robot: Any, threads: ThreadlikeTransmission, q: Array, s_points: Array) -> Array:
    """World points (m, k, 2 or 3) on routed threads."""
    ends = robot.L_cum
    begin, end = ends[jnp.array(threads.start)], ends[jnp.array(threads.end) + 1]
    s = begin[:, None] + (end - begin)[:, None] * (s_points / robot.length)[None]
    group = robot.group

    def point(intercept, slope, s):
        offset = jnp.concatenate([jnp.zeros(1, s.dtype), intercept + slope * s])
        pose = group.compose(robot.forward_kinematics(q, s), group.translation(offset))
        return group.position(pose)

    return jax.vmap(jax.vmap(point, (None, None, 0)))(threads.intercept, threads.slope, s)

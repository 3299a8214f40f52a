"""Actuators and passive elements as renderers see them: lines, some of them with a thickness."""

import equinox as eqx
from jax import Array

from soromox.actuation.core import Actuator, PassiveElement, Transmission
from soromox.core import Chain


class ActuatorVisualLayer(eqx.Module):
    """Lines of one group of actuators or of passive elements.

    Attributes:
        kind: that of the actuator, such as "tendon", or "passive" for springs and dampers.
        points: world positions (m, k, 2 or 3) of k points on each of m lines, m.
        radii: (m, k) of what has a thickness, such as chambers, m; None for threads.
        inputs: actuation (m,) in the unit of the actuator, where it was given.
    """

    kind: str = eqx.field(static=True)
    points: Array
    radii: Array | None = None
    inputs: Array | None = None


def visual_layers(
    chain: Chain,
    q: Array,
    s_points: Array,
    actuators: tuple[Actuator, ...],
    passive_elements: tuple[PassiveElement, ...],
    inputs: Array | None,
) -> tuple[ActuatorVisualLayer, ...]:
    """Layers of all members that can be seen, actuators first, at the configuration q (nq,)."""
    layers, first = [], 0
    for actuator in actuators:
        last = first + actuator.num_inputs
        own = None if inputs is None else inputs[first:last]
        layers += _layer(actuator.metadata.kind, actuator.transmission, chain, q, s_points, own)
        first = last
    for element in passive_elements:
        layers += _layer("passive", element.transmission, chain, q, s_points, None)
    return tuple(layers)


def _layer(
    kind: str, transmission: Transmission, chain: Chain, q: Array, s_points: Array, inputs: Array | None
) -> list[ActuatorVisualLayer]:
    lines = transmission.lines(chain, q, s_points)
    return [] if lines is None else [ActuatorVisualLayer(kind, *lines, inputs)]

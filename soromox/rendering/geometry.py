"""What a picture needs to know of a robot, computed on the device and fetched in one transfer.

The compiled functions take the robot as an argument: robots of one structure share a program whatever their parameters.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation import ActuatorVisualLayer


class Backbone(NamedTuple):
    """Points along a robot's body: positions (k, 2 or 3), m, radii (k,), m, and what drives it."""

    points: Any
    radii: Any
    layers: tuple[ActuatorVisualLayer, ...] = ()


class HSABody(NamedTuple):
    """Poses and sizes of a planar HSA robot with n segments of r rods.

    Attributes:
        flexible: poses [theta, x, y] (n, k, 3) of the virtual backbone between caps.
        base, tip: poses (3,) of the mount and of the end effector.
        rod_offset, rod_radius, handedness: (n, r).
        proximal_cap, distal_cap: lengths (n,), m.
        platform: width and height (n, 2), m.
    """

    flexible: Any
    base: Any
    tip: Any
    rod_offset: Any
    rod_radius: Any
    handedness: Any
    proximal_cap: Any
    distal_cap: Any
    platform: Any


def backbone_positions(robot: Any, q: Array, num_points: int) -> Array:
    """World positions (num_points, 2 or 3) of points evenly spaced along the body, ends included."""
    position = robot.group.position
    return jax.vmap(lambda s: position(robot.forward_kinematics(q, s)))(_abscissae(robot, q, num_points))


def backbone(robot: Any, q: Array, num_points: int) -> Backbone:
    """Body and threads of any robot; a robot without ``cross_section_geometry`` is drawn 1/20 as wide as long."""
    s = _abscissae(robot, q, num_points)
    section = getattr(robot, "cross_section_geometry", None)
    if section is None:
        radii = jnp.full_like(s, 0.025) * robot.length
    else:
        radii = jax.vmap(lambda s: section(q, s)[1][0])(s)
    return Backbone(backbone_positions(robot, q, num_points), radii, robot.actuator_visual_layers(q, s))


def hsa_body(robot: Any, q: Array, num_points: int) -> HSABody:
    """Poses and sizes of a planar HSA robot."""
    p, ends = robot.params, robot.L_cum
    # A node belongs to the segment that ends there: a hair further, the next segment begins.
    fraction = jnp.linspace(1e-4, 1, num_points, dtype=ends.dtype)
    s = ends[:-1, None] + p.length[:, None] * fraction[None]
    base = robot.base_transform_from_configuration(q)
    return HSABody(
        flexible=jax.vmap(jax.vmap(lambda s: robot.forward_kinematics(q, s)))(s),
        base=jnp.stack([jnp.arctan2(base[1, 0], base[0, 0]), base[0, 2], base[1, 2]]),
        tip=robot.forward_kinematics_end_effector(q),
        rod_offset=p.rod_offset,
        rod_radius=p.rod_outer_radius,
        handedness=p.rod_height,
        proximal_cap=p.proximal_cap_length,
        distal_cap=p.distal_cap_length,
        platform=p.platform_dimension[:, :2],
    )


def fetch(geometry: Callable, robot: Any, q: Any, num_points: int) -> Any:
    """``geometry(robot, q, num_points)`` with NumPy arrays as leaves.

    Raises:
        ValueError: q is not (nq,).
    """
    q = q if isinstance(q, jax.Array) else np.asarray(q)
    flat, layout = _packed(geometry, robot, q, num_points)
    flat = np.asarray(flat, float)
    sizes = [int(np.prod(shape)) for shape in layout.shapes]
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    leaves = [part.reshape(shape) for part, shape in zip(parts, layout.shapes, strict=True)]
    return jax.tree.unflatten(layout.structure, leaves)


class _Layout(NamedTuple):
    shapes: tuple[tuple[int, ...], ...]
    structure: Any


@eqx.filter_jit
def _packed(geometry: Callable, robot: Any, q: Array, num_points: int) -> tuple[Array, _Layout]:
    # Checked here, once a shape, and not in every frame.
    if q.shape != (robot.num_coordinates,):
        raise ValueError(f"q must have shape ({robot.num_coordinates},), got {q.shape}")
    q = q.astype(float)
    leaves, structure = jax.tree.flatten(geometry(robot, q, num_points))
    layout = _Layout(tuple(leaf.shape for leaf in leaves), structure)
    return jnp.concatenate([leaf.astype(q.dtype).ravel() for leaf in leaves]), layout


def _abscissae(robot: Any, q: Array, num_points: int) -> Array:
    return jnp.linspace(0, 1, num_points, dtype=q.dtype) * robot.length

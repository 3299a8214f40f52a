"""Actuators and springs that act on generalised coordinates directly: efforts in joints, tendons over them."""

from collections.abc import Sequence
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from soromox.actuation.core import Actuator, ActuatorMetadata, PassiveElement, Transmission
from soromox.core import Chain, Joints, kinematics
from soromox.lie import Group
from soromox.utils.checks import as_float, require_finite, require_shape


class IdentityTransmission(Transmission):
    """Each input is the generalised force on one internal coordinate."""

    def coordinates(self, chain: Chain, q: Array) -> Array:
        return q

    def matrix(self, chain: Chain, q: Array) -> Array:
        return jnp.eye(q.shape[0], dtype=q.dtype)


def identity(num_coordinates: int) -> Actuator:
    """Identity actuation: u is the generalised force on the internal coordinates; units follow the coordinates."""
    n = num_coordinates
    names = tuple(f"tau_{i}" for i in range(n))
    metadata = ActuatorMetadata("identity", names, "generalised force", (-jnp.inf,) * n, (jnp.inf,) * n)
    return Actuator(IdentityTransmission(), metadata)


class JointTransmission(Transmission):
    """Coordinates affine in the internal ones, ``y = R (q - q_ref) + y0``; ``A = R^T``.

    Attributes:
        routing: R, (m, N): ratios of gears, or moment arms of tendons in m.
        reference: q_ref (N,).
        offset: y0 (m,).
    """

    routing: Array = eqx.field(converter=as_float)
    reference: Array = eqx.field(converter=as_float)
    offset: Array = eqx.field(converter=as_float)

    def __check_init__(self):
        if np.ndim(self.routing) != 2:
            raise ValueError(f"routing must have shape (m, number of coordinates), got {np.shape(self.routing)}")
        m, n = self.routing.shape
        for name, shape in (("routing", (m, n)), ("reference", (n,)), ("offset", (m,))):
            require_shape(name, getattr(self, name), shape)
            require_finite(name, getattr(self, name))

    def check(self, robot: Any) -> None:
        n = robot.num_internal_dofs
        if self.routing.shape[1] != n:
            raise ValueError(f"routing must have {n} columns, one a coordinate, got shape {self.routing.shape}")

    def coordinates(self, chain: Chain, q: Array) -> Array:
        return self.routing @ (q - self.reference) + self.offset

    def matrix(self, chain: Chain, q: Array) -> Array:
        return self.routing.T


class ArticulatedTendonTransmission(JointTransmission):
    """Tendons over pulleys in the joints: the routing holds moment arms, the coordinates are lengths, m."""

    def check(self, robot: Any) -> None:
        if not robot.supports_articulated_tendon_routing:
            raise ValueError(f"articulated tendons must run over joints, got a {type(robot).__name__}, which has none")
        super().check(robot)

    def lines(self, chain: Chain, q: Array, s_points: Array) -> tuple[Array, Array | None]:
        """From pulley to pulley, beside the joint axes by the moment arms, to the link behind the last joint turned."""
        G, joints = chain.group, cast(Joints, chain.segments)
        before = jax.vmap(G.compose)(kinematics.segment_bases(chain, q), joints.parent_to_joint)
        axis, point = _axes(G, before, joints.screw)
        after = kinematics.point_poses(chain, q)[:, -1]
        along = jax.vmap(G.position)(after) - point
        normal = _cross(axis, along)
        size = jnp.sqrt(jnp.sum(normal**2, axis=1, keepdims=True))
        normal = normal / jnp.where(size > 0, size, 1)
        index = np.arange(joints.length.shape[0])

        def line(arms):
            aside = arms[:, None] * normal
            last = jnp.max(jnp.where(arms != 0, index, 0))
            end = (point + 0.5 * along + aside)[last]
            corners = jnp.where((index <= last)[:, None], point + aside, end[None])
            return jnp.concatenate([corners, end[None]])

        return jax.vmap(line)(self.routing), None


def _axes(G: Group, frames: Array, screws: Array) -> tuple[Array, Array]:
    """World directions (n, 1 or 3) of the joint axes, and world positions (n, space) of the joint frames."""
    directions = jax.vmap(lambda g, screw: G.rotate(G.rotation(g), screw)[: G.angular])(frames, screws)
    return directions, jax.vmap(G.position)(frames)


def _cross(axis: Array, v: Array) -> Array:
    """``axis x v``, (n, space); planar axes are normal to the plane."""
    if axis.shape[1] == 1:
        return axis * jnp.stack([-v[:, 1], v[:, 0]], axis=1)
    return jnp.cross(axis, v)


def joint_efforts(
    routing: ArrayLike | Sequence,
    *,
    reference: ArrayLike | Sequence | None = None,
    offset: ArrayLike | Sequence | None = None,
    names: Sequence[str] | None = None,
    units: str = "N m",
    max_effort: float | Sequence[float] = float("inf"),
) -> Actuator:
    """Efforts u in +-max_effort conjugate to ``y = R (q - reference) + offset``: motors in some joints, gears.

    Args:
        routing: R, (m, N), one row an input; rows of the identity choose joints.
        reference, offset: (N,) and (m,); zero when omitted.
        names: one an input.
        units: of the inputs.
        max_effort: N m where y is an angle.
    """
    transmission = _affine(JointTransmission, routing, reference, offset)
    count = transmission.routing.shape[0]
    metadata = ActuatorMetadata.within("joint", units, count, names, "max_effort", max_effort, signed=True)
    return Actuator(transmission, metadata)


def articulated_tendons(
    routing: ArrayLike | Sequence,
    *,
    reference: ArrayLike | Sequence | None = None,
    offset: ArrayLike | Sequence | None = None,
    names: Sequence[str] | None = None,
    max_tension: float | Sequence[float] = float("inf"),
) -> Actuator:
    """Tendons over joints, with a tension u in [0, max_tension] N that turns joint j by the torque ``R[:, j] u``.

    Args:
        routing: moment arms R, (m, N), m.
        reference: (N,) configuration at which the tendons' coordinates are ``offset``; zero when omitted.
        offset: (m,), m; zero when omitted.
        names: one a tendon.
        max_tension: N.
    """
    transmission = _affine(ArticulatedTendonTransmission, routing, reference, offset)
    count = transmission.routing.shape[0]
    return Actuator(transmission, ActuatorMetadata.within("tendon", "N", count, names, "max_tension", max_tension))


def passive_articulated_tendons(
    routing: ArrayLike | Sequence,
    *,
    stiffness: ArrayLike | Sequence,
    damping: ArrayLike | Sequence = 0.0,
    reference: ArrayLike | Sequence | None = None,
    offset: ArrayLike | Sequence | None = None,
) -> PassiveElement:
    """Elastic tendons over joints, stretched by ``y = R (q - reference) + offset`` (m).

    Args:
        routing: moment arms R, (m, N), m.
        stiffness, damping: N/m and N s/m.
        reference, offset: (N,) and (m,); zero when omitted.
    """
    return _springs(_affine(ArticulatedTendonTransmission, routing, reference, offset), stiffness, damping, 0.0)


def joint_springs(
    joints: Sequence[int],
    *,
    num_joints: int,
    stiffness: ArrayLike | Sequence,
    damping: ArrayLike | Sequence = 0.0,
    rest: ArrayLike | Sequence = 0.0,
) -> PassiveElement:
    """Springs and dampers in some joints (or on some internal coordinates of any robot).

    Args:
        joints: indices of the joints, one a spring.
        num_joints: internal coordinates of the robot.
        stiffness, damping: N m/rad and N m s/rad, or N/m and N s/m on sliding joints.
        rest: coordinates without force, rad or m.

    Raises:
        ValueError: also if a joint does not exist.
    """
    chosen = [int(i) for i in joints]
    if any(not 0 <= i < num_joints for i in chosen):
        raise ValueError(f"joints must lie in 0..{num_joints - 1}, got {chosen}")
    return _springs(_affine(JointTransmission, np.eye(num_joints)[chosen], None, None), stiffness, damping, rest)


def _affine(kind: type[JointTransmission], routing: Any, reference: Any, offset: Any) -> JointTransmission:
    routing = as_float(routing)
    reference = jnp.zeros(routing.shape[-1:], routing.dtype) if reference is None else reference
    offset = jnp.zeros(routing.shape[:1], routing.dtype) if offset is None else offset
    return kind(routing, reference, offset)


def _springs(transmission: JointTransmission, stiffness: Any, damping: Any, rest: Any) -> PassiveElement:
    count = transmission.offset.shape
    return PassiveElement(transmission, *(jnp.broadcast_to(as_float(x), count) for x in (stiffness, damping, rest)))

"""McKibben muscles around universal joints: braided tubes that shorten under pressure."""

from collections.abc import Sequence
from math import pi
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from soromox.actuation.core import Actuator, ActuatorMetadata, Transmission
from soromox.core import Chain, Joints, kinematics
from soromox.lie import se3
from soromox.utils.checks import as_float, require_finite, require_positive, require_shape

SIZES = ("reference_length", "length_offset", "thread_length", "num_turns")


class McKibbenTransmission(Transmission):
    """g groups of m muscles, each group around a universal joint made of two joints (i, j) of a spatial chain.

    A muscle ends at a point fixed before joint i and one that moves behind joint j, at
    ``p = T exp(S_i q_i) parent_to_joint_j exp(S_j q_j) moving_point``. Its coordinate is the volume between the threads
    of a braid, ``(B^2 - l^2) l / (4 pi N^2)``, conjugate to the pressure (Chou and Hannaford, 1996).

    Attributes:
        moving_base_transform: T, pose of joint i in the frame of the fixed points (g, 4, 4).
        moving_points: behind joint j (g, m, 3), m.
        fixed_points: (g, m, 3), m.
        reference_length: distance of the points at q = 0, (g, m), m.
        length_offset: muscle length l at that distance (g, m), m.
        thread_length: B, (g, m), m.
        num_turns: N of a thread about the muscle (g, m).
        joint_pair_indices: (i, j) of each group.
    """

    moving_base_transform: Array = eqx.field(converter=as_float)
    moving_points: Array = eqx.field(converter=as_float)
    fixed_points: Array = eqx.field(converter=as_float)
    reference_length: Array = eqx.field(converter=as_float)
    length_offset: Array = eqx.field(converter=as_float)
    thread_length: Array = eqx.field(converter=as_float)
    num_turns: Array = eqx.field(converter=as_float)
    joint_pair_indices: tuple[tuple[int, int], ...] = eqx.field(
        static=True, converter=lambda pairs: tuple((int(i), int(j)) for i, j in pairs)
    )

    def __check_init__(self):
        if any(not 0 <= i < j for i, j in self.joint_pair_indices):
            raise ValueError(f"joint_pair_indices must be pairs (i, j) with 0 <= i < j, got {self.joint_pair_indices}")
        if np.ndim(self.moving_points) != 3:
            raise ValueError(f"moving_points must have shape (g, m, 3), got {np.shape(self.moving_points)}")
        g, m = len(self.joint_pair_indices), self.moving_points.shape[1]
        points = {"moving_base_transform": (g, 4, 4), "moving_points": (g, m, 3), "fixed_points": (g, m, 3)}
        for name, shape in points.items():
            require_shape(name, getattr(self, name), shape)
            require_finite(name, getattr(self, name))
        for name in SIZES:
            require_shape(name, getattr(self, name), (g, m))
            require_positive(name, getattr(self, name))

    def check(self, robot: Any) -> None:
        if robot.is_planar or not robot.supports_articulated_tendon_routing:
            raise ValueError(f"McKibben muscles must run over joints in space, got a {type(robot).__name__}")
        missing = [pair for pair in self.joint_pair_indices if max(pair) >= robot.num_internal_dofs]
        if missing:
            raise ValueError(f"joint_pair_indices must lie in 0..{robot.num_internal_dofs - 1}, got {missing}")

    def lengths(self, chain: Chain, q: Array) -> Array:
        """Muscle lengths l (g, m), m."""
        return self._evaluate(chain, q)[0]

    def slopes(self, length: Array) -> Array:
        """Volume per muscle length (g, m), m^2; times the pressure it is the force that lengthens a muscle."""
        return (self.thread_length**2 - 3 * length**2) / (4 * pi * self.num_turns**2)

    def coordinates(self, chain: Chain, q: Array) -> Array:
        length = self.lengths(chain, q)
        return ((self.thread_length**2 - length**2) * length / (4 * pi * self.num_turns**2)).reshape(-1)

    def matrix(self, chain: Chain, q: Array) -> Array:
        length, slope = self._evaluate(chain, q)
        N = q.shape[0]
        select = jnp.asarray(np.eye(N)[np.array(self.joint_pair_indices)], q.dtype)
        A = jnp.einsum("gjn,gmj->ngm", select, self.slopes(length)[..., None] * slope)
        return A.reshape(N, -1)

    def _evaluate(self, chain: Chain, q: Array) -> tuple[Array, Array]:
        """Muscle lengths (g, m) and their slopes (g, m, 2) along the two joints."""
        joints, pairs = cast(Joints, chain.segments), np.array(self.joint_pair_indices)

        def distances(x, base, screws, second, moving, fixed):
            g = base @ se3.exp(screws[0] * x[0]) @ second @ se3.exp(screws[1] * x[1])
            reach = moving @ g[:3, :3].T + g[None, :3, 3] - fixed
            distance = jnp.sqrt(jnp.sum(reach**2, axis=1))
            return distance, distance

        slope, distance = jax.vmap(jax.jacfwd(distances, has_aux=True))(
            q[pairs],
            self.moving_base_transform,
            joints.screw[pairs],
            joints.parent_to_joint[pairs[:, 1]],
            self.moving_points,
            self.fixed_points,
        )
        return distance - self.reference_length + self.length_offset, slope

    def lines(self, chain: Chain, q: Array, s_points: Array) -> tuple[Array, Array | None]:
        """From the fixed to the moving points, as thick as their braids."""
        joints, pairs = cast(Joints, chain.segments), np.array(self.joint_pair_indices)
        before = kinematics.segment_bases(chain, q) @ joints.parent_to_joint
        fixed_frame = before[pairs[:, 0]] @ jax.vmap(se3.inverse)(self.moving_base_transform)
        moving_frame = before[pairs[:, 1]] @ jax.vmap(se3.exp)(
            joints.screw[pairs[:, 1]] * chain.internal(q)[pairs[:, 1], None]
        )

        def place(frame, points):
            return points @ frame[:3, :3].T + frame[None, :3, 3]

        ends = jax.vmap(place)(fixed_frame, self.fixed_points), jax.vmap(place)(moving_frame, self.moving_points)
        length = self.lengths(chain, chain.internal(q))
        radius = jnp.sqrt(jnp.maximum(self.thread_length**2 - length**2, 0)) / (2 * pi * self.num_turns)
        lines = jnp.stack(ends, axis=2)
        return lines.reshape(-1, 2, 3), jnp.repeat(radius.reshape(-1, 1), 2, axis=1)


def mckibben_muscles(
    *,
    moving_base_transform: ArrayLike | Sequence,
    moving_points: ArrayLike | Sequence,
    fixed_points: ArrayLike | Sequence,
    joint_pair_indices: Sequence[Sequence[int]],
    reference_length: ArrayLike | Sequence,
    length_offset: ArrayLike | Sequence,
    thread_length: ArrayLike | Sequence,
    num_turns: ArrayLike | Sequence,
    names: Sequence[str] | None = None,
    max_pressure: float | Sequence[float] = float("inf"),
) -> Actuator:
    """McKibben muscles under pressures u in [0, max_pressure] Pa, group after group.

    The geometry is that of ``McKibbenTransmission``; lengths and turns are (g, m), (g, 1) or numbers.
    """
    shape = np.shape(moving_points)[:2]
    sizes = (reference_length, length_offset, thread_length, num_turns)
    transmission = McKibbenTransmission(
        moving_base_transform,
        moving_points,
        fixed_points,
        *(jnp.broadcast_to(as_float(size), shape) for size in sizes),
        joint_pair_indices=joint_pair_indices,
    )
    count = transmission.num_turns.size
    metadata = ActuatorMetadata.within("mckibben", "Pa", count, names, "max_pressure", max_pressure)
    return Actuator(transmission, metadata)

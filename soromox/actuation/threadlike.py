"""Threads routed along a continuum body: tendons."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer

from soromox.actuation.core import Actuator, ActuatorMetadata, Transmission
from soromox.core import Chain, rods
from soromox.lie import Group
from soromox.utils.checks import as_float


class ThreadlikeTransmission(Transmission):
    """Threads at the material offsets ``r(s) = intercept + slope s``, s the arc length from the base of the robot.

    The coordinate of a thread is ``scale`` times its length between the segments ``start`` and ``end``, inclusive, by
    the Gauss nodes of the body: with ``t = r' + kappa x r + sigma`` the length is ``int |t| ds`` and its gradient
    ``int B^T [r x t/|t| ; t/|t|] ds``.

    Attributes:
        intercept: (m, 2) as [y, z] in space, (m, 1) as [y] in the plane, m.
        slope: like intercept, per metre.
        scale: (m,) -1 for tendons, which pull.
        start, end: segment indices (m,).
    """

    intercept: Array
    slope: Array
    scale: Array
    start: tuple[int, ...] = eqx.field(static=True)
    end: tuple[int, ...] = eqx.field(static=True)

    def check(self, planar: bool, num_segments: int) -> None:
        wanted, axes = (1, "[y] in the plane") if planar else (2, "[y, z] in space")
        if self.intercept.shape[-1] != wanted:
            raise ValueError(f"intercept must hold offsets {axes}, shape (m, {wanted}), got {self.intercept.shape}")
        if max(self.end, default=0) >= num_segments:
            raise ValueError(f"threads must end within segments 0..{num_segments - 1}, got {max(self.end)}")

    def coordinates(self, chain: Chain, q: Array) -> Array:
        return self._evaluate(chain, q)[0]

    def matrix(self, chain: Chain, q: Array) -> Array:
        return self._evaluate(chain, q)[1]

    def _evaluate(self, chain: Chain, q: Array) -> tuple[Array, Array]:
        field = rods(chain).strain_field(chain.scatter(q))
        s = field.s + chain.segment_ends[:-1][:, None]
        index = np.arange(chain.num_segments)
        spans = np.array([(index >= a) & (index <= b) for a, b in zip(self.start, self.end, strict=True)])
        weights = field.weights[None] * jnp.asarray(spans, field.weights.dtype)[..., None]

        def thread(intercept, slope, scale, weights):
            def node(s, xi, B, weight):
                rate, gradient = _stretch(chain.group, intercept + slope * s, slope, xi)
                return weight * rate, weight * (B.T @ gradient)

            lengths, gradients = jax.vmap(jax.vmap(node))(s, field.xi, field.B, weights)
            return scale * lengths.sum(), scale * chain.gather(gradients.sum(1))

        y, A = jax.vmap(thread)(self.intercept, self.slope, self.scale, weights)
        return y, A.T


def _stretch(G: Group, offset: Array, slope: Array, xi: Array) -> tuple[Array, Array]:
    """Length of thread per arc length of backbone, and its gradient (d,) with respect to the strain."""
    axial = jnp.zeros(1, offset.dtype)
    to_thread = G.inverse_adjoint(G.translation(jnp.concatenate([axial, offset])))[G.angular :]
    t = to_thread @ xi + jnp.concatenate([axial, slope])
    rate = jnp.sqrt(t @ t)
    return rate, to_thread.T @ (t / rate)


def tendons(
    intercept: Array | Sequence,
    *,
    num_segments: int,
    slope: Array | Sequence | None = None,
    start: Sequence[int] | None = None,
    end: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    max_tension: float | Sequence[float] = float("inf"),
) -> Actuator:
    """Tendons that pull with a tension u >= 0 (N); their coordinate is minus their length.

    Args:
        intercept: material offsets at the base of the robot, m: (m, 3) as [x, y, z] with x = 0, (m, 2) as [y, z],
            or (m, 1) as [y] for planar robots.
        num_segments: segments of the robot they run through.
        slope: change of the offset per metre of arc length, shaped like intercept; zero when omitted.
        start, end: first and last segment of each tendon, inclusive; the whole robot when omitted.
        names: one a tendon.
        max_tension: upper limit, N, in the metadata.

    Raises:
        ValueError: if shapes disagree, an offset leaves the cross section's plane, or a segment does not exist.
    """
    offsets = _in_section("intercept", as_float(intercept))
    m = offsets.shape[0]
    slopes = jnp.zeros_like(offsets) if slope is None else _in_section("slope", as_float(slope))
    if slopes.shape != offsets.shape:
        raise ValueError(f"slope must have the shape of intercept, {offsets.shape}, got {slopes.shape}")
    first = tuple(int(i) for i in (start if start is not None else [0] * m))
    last = tuple(int(i) for i in (end if end is not None else [num_segments - 1] * m))
    if len(first) != m or len(last) != m:
        raise ValueError(f"start and end need one segment a tendon ({m}), got {len(first)} and {len(last)}")
    for a, b in zip(first, last, strict=True):
        if not 0 <= a <= b < num_segments:
            raise ValueError(f"a tendon must run over segments 0..{num_segments - 1} in order, got {a}..{b}")
    labels = tuple(names) if names is not None else tuple(f"tendon_{i}" for i in range(m))
    upper = np.broadcast_to(np.asarray(max_tension, float), (m,))
    transmission = ThreadlikeTransmission(offsets, slopes, -jnp.ones(m, offsets.dtype), first, last)
    metadata = ActuatorMetadata("tendon", labels, "N", (0.0,) * m, tuple(float(x) for x in upper))
    return Actuator(transmission, metadata)


def _in_section(name: str, x: Array) -> Array:
    if x.ndim != 2 or x.shape[1] not in (1, 2, 3):
        raise ValueError(f"{name} must have shape (m, 3), (m, 2) or, for planar robots, (m, 1), got {x.shape}")
    if x.shape[1] < 3:
        return x
    if not isinstance(x, Tracer) and np.any(np.asarray(x[:, 0]) != 0):
        raise ValueError(f"{name} must lie in the cross section: its x component must be 0, got {x[:, 0].tolist()}")
    return x[:, 1:]

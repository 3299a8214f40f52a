"""Threads routed along a continuum body: tendons, muscles, push rods, pressure chambers, and passive threads."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation.core import Actuator, ActuatorMetadata, PassiveElement, Transmission
from soromox.core import Chain, kinematics, rods
from soromox.lie import Group
from soromox.utils.checks import as_float, concrete, require_finite, require_positive, require_shape

INFINITY = float("inf")


class ThreadlikeTransmission(Transmission):
    """Threads at the material offsets ``r(s) = intercept + slope s``, s the arc length from the base of the robot.

    The coordinate of a thread is ``scale`` times its length between the segments ``start`` and ``end``, inclusive, by
    the Gauss nodes of the body: with ``t = r' + kappa x r + sigma`` the length is ``int |t| ds`` and its gradient
    ``int B^T [r x t/|t| ; t/|t|] ds``.

    Attributes:
        intercept: (m, 2) as [y, z] in space, (m, 1) as [y] in the plane, m.
        slope: like intercept, per metre.
        scale: (m,) -1 for what pulls, 1 for what pushes, the effective area (m^2) of pressure chambers.
        start, end: first and last segment of each thread.
    """

    intercept: Array = eqx.field(converter=as_float)
    slope: Array = eqx.field(converter=as_float)
    scale: Array = eqx.field(converter=as_float)
    start: tuple[int, ...] = eqx.field(static=True)
    end: tuple[int, ...] = eqx.field(static=True)

    def __check_init__(self):
        shape = np.shape(self.intercept)
        if len(shape) != 2 or shape[1] not in (1, 2):
            raise ValueError(f"intercept must have shape (m, 2) or, for planar robots, (m, 1), got {shape}")
        require_shape("slope", self.slope, shape)
        require_shape("scale", self.scale, shape[:1])
        for name in ("intercept", "slope", "scale"):
            require_finite(name, getattr(self, name))
        for name in ("start", "end"):
            if len(getattr(self, name)) != shape[0]:
                raise ValueError(f"{name} must have one segment a thread ({shape[0]}), got {len(getattr(self, name))}")
        for first, last in zip(self.start, self.end, strict=True):
            if not 0 <= first <= last:
                raise ValueError(f"start and end must be segments from 0 in order, got {first}..{last}")

    def check(self, robot: Any) -> None:
        profiles = getattr(robot, "section_profiles", None)
        if profiles is None:
            raise ValueError(f"threads run along robots made of rods, got a {type(robot).__name__}")
        wanted, axes = (1, "[y] in the plane") if robot.is_planar else (2, "[y, z] in space")
        if self.intercept.shape[1] != wanted:
            raise ValueError(f"intercept must hold offsets {axes}, shape (m, {wanted}), got {self.intercept.shape}")
        if max(self.end, default=0) >= robot.num_segments:
            raise ValueError(f"end must be one of the segments 0..{robot.num_segments - 1}, got {max(self.end)}")
        intercept, slope, lengths = (concrete(x) for x in (self.intercept, self.slope, robot.segment_length))
        if intercept is None or slope is None or lengths is None:
            return
        # offsets and sections vary linearly along a segment: a thread that leaves the body has left it at an end
        ends = np.cumsum(np.concatenate([[0], lengths]))
        s = np.stack([ends[:-1], ends[1:]], axis=1)
        gauge = profiles.gauge(intercept + slope * s[..., None, None])
        if gauge is None:
            return
        for i, (first, last) in enumerate(zip(self.start, self.end, strict=True)):
            reach = gauge[first : last + 1, :, i].max()
            if reach > 1 + 1e-5:
                raise ValueError(
                    f"intercept and slope must keep thread {i} inside the cross section, got {intercept[i].tolist()} "
                    f"and {slope[i].tolist()}, which reach {reach:.3g} times its extent"
                )

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

    def lines(self, chain: Chain, q: Array, s_points: Array) -> tuple[Array, Array | None]:
        ends = chain.segment_ends
        begin, end = ends[np.array(self.start)], ends[np.array(self.end) + 1]
        s = begin[:, None] + (end - begin)[:, None] * (s_points / ends[-1])[None]

        def point(intercept, slope, s):
            offset = jnp.concatenate([jnp.zeros(1, s.dtype), intercept + slope * s])
            group = chain.group
            return group.position(group.compose(kinematics.pose_at(chain, q, s), group.translation(offset)))

        return jax.vmap(jax.vmap(point, (None, None, 0)))(self.intercept, self.slope, s), None


class ChamberTransmission(ThreadlikeTransmission):
    """Chambers along threads: ``scale`` is their effective area (m^2), the coordinates are volumes (m^3)."""

    def lines(self, chain: Chain, q: Array, s_points: Array) -> tuple[Array, Array | None]:
        points, _ = super().lines(chain, q, s_points)
        return points, jnp.broadcast_to(jnp.sqrt(self.scale / jnp.pi)[:, None], points.shape[:2])


def _stretch(G: Group, offset: Array, slope: Array, xi: Array) -> tuple[Array, Array]:
    """Length of thread per arc length of backbone, and its gradient (d,) with respect to the strain."""
    axial = jnp.zeros(1, offset.dtype)
    to_thread = G.inverse_adjoint(G.translation(jnp.concatenate([axial, offset])))[G.angular :]
    t = to_thread @ xi + jnp.concatenate([axial, slope])
    rate = jnp.sqrt(t @ t)
    return rate, to_thread.T @ (t / rate)


class Routing(TypedDict, total=False):
    """Where threads run, besides their offsets at the base of the robot.

    Every kind of thread takes these, and ``intercept``: material offsets at s = 0, m, as (m, 3) [x, y, z] with x = 0,
    (m, 2) [y, z] or, for planar robots, (m, 1) [y].

    Attributes:
        slope: change of the offset per metre of arc length, shaped like intercept; zero when omitted.
        start, end: first and last segment of each thread, inclusive; the whole robot when omitted.
    """

    slope: Array | Sequence
    start: Sequence[int]
    end: Sequence[int]


def tendons(
    intercept: Array | Sequence,
    *,
    num_segments: int,
    names: Sequence[str] | None = None,
    max_tension: float | Sequence[float] = INFINITY,
    **routing: Unpack[Routing],
) -> Actuator:
    """Tendons that pull with a tension u in [0, max_tension] N; their coordinate is minus their length."""
    transmission = _route(intercept, -1.0, num_segments, **routing)
    return _driven("tendon", "N", transmission, names, "max_tension", max_tension)


def muscles(
    intercept: Array | Sequence,
    *,
    num_segments: int,
    names: Sequence[str] | None = None,
    max_tension: float | Sequence[float] = INFINITY,
    **routing: Unpack[Routing],
) -> Actuator:
    """Muscle fibres that contract with a tension u in [0, max_tension] N; their coordinate is minus their length."""
    transmission = _route(intercept, -1.0, num_segments, **routing)
    return _driven("muscle", "N", transmission, names, "max_tension", max_tension)


def push_rods(
    intercept: Array | Sequence,
    *,
    num_segments: int,
    names: Sequence[str] | None = None,
    max_force: float | Sequence[float] = INFINITY,
    **routing: Unpack[Routing],
) -> Actuator:
    """Rods that push with a force u in [0, max_force] N; their coordinate is their length."""
    transmission = _route(intercept, 1.0, num_segments, **routing)
    return _driven("push_rod", "N", transmission, names, "max_force", max_force)


def pressure_chambers(
    intercept: Array | Sequence,
    area: Array | Sequence | float,
    *,
    num_segments: int,
    names: Sequence[str] | None = None,
    max_pressure: float | Sequence[float] = INFINITY,
    **routing: Unpack[Routing],
) -> Actuator:
    """Chambers of effective ``area`` (m,), m^2, under a pressure u in [0, max_pressure] Pa; the coordinate is their
    volume."""
    areas = as_float(area)
    require_positive("area", areas)
    transmission = _route(intercept, areas, num_segments, ChamberTransmission, **routing)
    return _driven("pressure_chamber", "Pa", transmission, names, "max_pressure", max_pressure)


def passive_threads(
    intercept: Array | Sequence,
    *,
    num_segments: int,
    stiffness: Array | Sequence | float,
    rest_length: Array | Sequence | float,
    damping: Array | Sequence | float = 0.0,
    **routing: Unpack[Routing],
) -> PassiveElement:
    """Elastic threads: springs of ``stiffness`` (N/m) without force at ``rest_length`` (m), with ``damping`` (N s/m).

    They push where they are shorter than at rest.
    """
    transmission = _route(intercept, 1.0, num_segments, **routing)
    count = transmission.scale.shape
    fields = {"stiffness": stiffness, "damping": damping, "rest": rest_length}
    arrays = {name: jnp.broadcast_to(as_float(value), count) for name, value in fields.items()}
    require_positive("rest_length", arrays["rest"])
    return PassiveElement(transmission, **arrays)


def _route(
    intercept: Array | Sequence,
    scale: Array | float,
    num_segments: int,
    kind: type[ThreadlikeTransmission] = ThreadlikeTransmission,
    *,
    slope: Array | Sequence | None = None,
    start: Sequence[int] | None = None,
    end: Sequence[int] | None = None,
) -> ThreadlikeTransmission:
    offsets = _in_section("intercept", intercept)
    m = offsets.shape[0]
    slopes = jnp.zeros_like(offsets) if slope is None else _in_section("slope", slope)
    first = tuple(int(i) for i in (start if start is not None else [0] * m))
    last = tuple(int(i) for i in (end if end is not None else [num_segments - 1] * m))
    if max(last, default=0) >= num_segments:
        raise ValueError(f"end must be one of the segments 0..{num_segments - 1}, got {max(last)}")
    scales = jnp.asarray(scale, offsets.dtype)
    if scales.shape not in ((), (m,)):
        raise ValueError(f"area must be a number or have shape ({m},), got {scales.shape}")
    return kind(offsets, slopes, jnp.broadcast_to(scales, (m,)), first, last)


def _in_section(name: str, value: Array | Sequence) -> Array:
    x = as_float(value)
    if x.ndim != 2 or x.shape[1] not in (1, 2, 3):
        raise ValueError(f"{name} must have shape (m, 3), (m, 2) or, for planar robots, (m, 1), got {x.shape}")
    if x.shape[1] < 3:
        return x
    along = concrete(x[:, 0])
    if along is not None and np.any(along != 0):
        raise ValueError(f"{name} must lie in the cross section: its x component must be 0, got {along.tolist()}")
    return x[:, 1:]


def _driven(
    kind: str,
    units: str,
    transmission: ThreadlikeTransmission,
    names: Sequence[str] | None,
    limit_name: str,
    limit: float | Sequence[float],
) -> Actuator:
    count = transmission.scale.shape[0]
    return Actuator(transmission, ActuatorMetadata.within(kind, units, count, names, limit_name, limit))

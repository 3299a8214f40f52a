"""What differs from episode to episode beyond the task: material, payload, actuators, sensors, pushes.

A ``Randomization`` holds the ranges, ``Physics`` what one episode drew from them. A field that is None is absent from
the compiled program and costs nothing. ``PRESETS`` names ready ranges.
"""

from types import MappingProxyType
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.systems import SoftRobot, SystemState
from soromox_envs.robots.model import RobotModel

PULSE_PERIOD = 2.0  # s, one push a period
PULSE_DURATION = 0.2  # s
DEGREE = float(np.pi / 180)

Range = tuple[float, float]


class Physics(eqx.Module):
    """One episode's draw; every field is None where it does not vary.

    Attributes:
        stiffness, damping: factors () on the elasticity and the damping of the body.
        payload: point mass at the tip (), kg.
        gain: factors (m,) between the actuation and what acts on the body.
        bias: offsets (m,) of what acts, input units.
        latency: how late a command reaches the actuators (), s, at most the control interval.
        tilt: rotation of gravity, (1,) in the plane or (2,) about two horizontal axes, rad.
        noise: standard deviation of the observation's noise ().
        pulses: forces (k, space) on the tip, N, one within each ``PULSE_PERIOD``, for ``PULSE_DURATION``.
        pulse_times: when they begin (k,), s.
    """

    stiffness: Array | None = None
    damping: Array | None = None
    payload: Array | None = None
    gain: Array | None = None
    bias: Array | None = None
    latency: Array | None = None
    tilt: Array | None = None
    noise: Array | None = None
    pulses: Array | None = None
    pulse_times: Array | None = None

    def robot(self, nominal: Any, model: RobotModel) -> Any:
        """The robot of this episode."""
        robot = nominal
        if self.stiffness is not None or self.damping is not None:
            one = jnp.ones((), nominal.params.gravity.dtype)
            factors = (one if x is None else x for x in (self.stiffness, self.damping))
            robot = model.scaled(robot, *factors)
        if self.payload is not None:
            robot = robot.update_params(payload_mass=self.payload)
        if self.tilt is not None:
            robot = robot.update_params(gravity=_tilted(robot.params.gravity, self.tilt))
        return robot

    def acting(self, actuation: Array, half: Array, lower: Array, upper: Array) -> Array:
        """What acts on the body under an actuation (m,): its gain and bias, within what the actuators can do."""
        if self.gain is None and self.bias is None:
            return actuation
        gain = 1.0 if self.gain is None else self.gain
        bias = 0.0 if self.bias is None else self.bias * half
        return jnp.clip(lower + gain * (actuation - lower) + bias, lower, upper)

    def push(self, t: Array) -> Array | None:
        """Force (space,) on the tip at a time, N; None where nothing ever pushes."""
        if self.pulses is None or self.pulse_times is None:
            return None
        acting = (t >= self.pulse_times) & (t < self.pulse_times + PULSE_DURATION)
        return jnp.where(acting[:, None], self.pulses, 0).sum(0)


class TipPush(eqx.Module):
    """Environment model of the rollouts: the episode's force on the tip, as a generalised force."""

    robot: SoftRobot
    physics: Physics
    model: RobotModel = eqx.field(static=True)

    def __call__(self, state: SystemState) -> tuple[Array, None]:
        q = self.robot.split_state(state.y)[0]
        slopes = jax.jacfwd(lambda q: self.model.tip_position(self.robot, q))(q)
        return self.physics.push(state.t) @ slopes, None


class Randomization(eqx.Module):
    """Ranges, each (2,) from low to high, from which every episode draws; None leaves a quantity as it is.

    Attributes:
        stiffness, damping: factors, drawn log-uniformly.
        payload: tip mass over the robot's largest payload.
        gain: factors, one an input.
        bias: over half of the input's range, one an input.
        latency: over the control interval.
        tilt: of gravity, rad, in a random direction.
        noise: standard deviation of the observation's noise.
        pulses: size of the pushes on the tip over the robot's largest tip force, in random directions.
        failure: probability (2,), of which the second counts, that one input of the episode is dead.
    """

    stiffness: Array | None = None
    damping: Array | None = None
    payload: Array | None = None
    gain: Array | None = None
    bias: Array | None = None
    latency: Array | None = None
    tilt: Array | None = None
    noise: Array | None = None
    pulses: Array | None = None
    failure: Array | None = None

    @classmethod
    def of(cls, **ranges: Range) -> Self:
        """From pairs of numbers."""
        for name, (low, high) in ranges.items():
            if not (np.isfinite([low, high]).all() and low <= high):
                raise ValueError(f"{name} must be a range (low, high) of finite numbers in order, got {(low, high)}")
        return cls(**{name: jnp.asarray(pair, float) for name, pair in ranges.items()})

    @property
    def varies(self) -> bool:
        """Whether anything is random at all; known when tracing."""
        return bool(jax.tree.leaves(self))

    def draw(self, key: Array, model: RobotModel, space: int, inputs: int, duration: float) -> Physics:
        """The physics of an episode of at most ``duration`` seconds."""
        keys = dict(zip(vars(self), jax.random.split(key, len(vars(self))), strict=True))

        def uniform(name: str, shape: tuple[int, ...] = ()) -> Any:
            ends = getattr(self, name)
            if ends is None:
                return None
            return ends[0] + (ends[1] - ends[0]) * jax.random.uniform(keys[name], shape, ends.dtype)

        def factor(name: str) -> Any:
            ends = getattr(self, name)
            if ends is None:
                return None
            logs = jnp.log(ends)
            return jnp.exp(logs[0] + (logs[1] - logs[0]) * jax.random.uniform(keys[name], (), ends.dtype))

        payload, latency, size = uniform("payload"), uniform("latency"), uniform("tilt")
        tilt = pulses = times = None
        if size is not None:
            tilt = size * _direction(jax.random.fold_in(keys["tilt"], 1), (), space - 1, size.dtype)
        if self.pulses is not None:
            count = max(1, int(duration / PULSE_PERIOD))
            strength = uniform("pulses", (count,)) * model.max_tip_force
            along = _direction(jax.random.fold_in(keys["pulses"], 1), (count,), space, strength.dtype)
            late = jax.random.uniform(jax.random.fold_in(keys["pulses"], 2), (count,), strength.dtype, 0.25, 0.5)
            pulses, times = strength[:, None] * along, PULSE_PERIOD * (jnp.arange(count, dtype=strength.dtype) + late)
        gain = uniform("gain", (inputs,))
        if self.failure is not None:
            dead = jax.random.randint(keys["failure"], (), 0, inputs)
            fails = jax.random.uniform(jax.random.fold_in(keys["failure"], 1), (), self.failure.dtype) < self.failure[1]
            alive = jnp.where(fails & (jnp.arange(inputs) == dead), 0, 1).astype(self.failure.dtype)
            gain = alive if gain is None else gain * alive
        return Physics(
            stiffness=factor("stiffness"),
            damping=factor("damping"),
            payload=None if payload is None else payload * model.max_payload,
            gain=gain,
            bias=uniform("bias", (inputs,)),
            latency=None if latency is None else latency * model.control_dt,
            tilt=tilt,
            noise=uniform("noise"),
            pulses=pulses,
            pulse_times=times,
        )

    def merged(self, other: "Randomization") -> "Randomization":
        """These ranges, and those of ``other`` where these have none."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in vars(self)}
        return Randomization(**{name: theirs if ours is None else ours for name, (ours, theirs) in pairs.items()})


_MILD: dict[str, Range] = {
    "stiffness": (0.9, 1.1),
    "damping": (0.8, 1.25),
    "payload": (0.0, 0.25),
    "gain": (0.95, 1.05),
    "bias": (-0.02, 0.02),
    "latency": (0.0, 0.25),
    "tilt": (0.0, 2 * DEGREE),
    "noise": (0.0, 0.004),
}
_HARD: dict[str, Range] = {
    "stiffness": (0.75, 1.33),
    "damping": (0.5, 2.0),
    "payload": (0.0, 1.0),
    "gain": (0.85, 1.15),
    "bias": (-0.05, 0.05),
    "latency": (0.0, 1.0),
    "tilt": (0.0, 10 * DEGREE),
    "noise": (0.0, 0.02),
}
PRESETS = MappingProxyType(
    {
        "none": {},
        "mild": _MILD,
        "hard": _HARD,
        "failure": {"failure": (1.0, 1.0)},
        "pulses": {"pulses": (0.5, 1.0)},
    }
)
"""Ranges by name: ``none``, ``mild``, ``hard`` to train under; ``failure`` and ``pulses`` to evaluate under."""


def randomization_of(choice: "str | Randomization | None") -> Randomization:
    """The ranges of that name, or those given.

    Raises:
        ValueError: a name that there is not.
    """
    if isinstance(choice, Randomization):
        return choice
    name = "none" if choice is None else choice
    if name not in PRESETS:
        raise ValueError(f"randomization must be one of {', '.join(PRESETS)} or a Randomization, got {choice!r}")
    return Randomization.of(**PRESETS[name])


def _direction(key: Array, shape: tuple[int, ...], dim: int, dtype: Any) -> Array:
    x = jax.random.normal(key, (*shape, dim), dtype)
    return x / jnp.sqrt(jnp.sum(x**2, axis=-1, keepdims=True) + 1e-12)


def _tilted(gravity: Array, tilt: Array) -> Array:
    """Gravity turned by the angle (1,), or about the world's x and y axes by a rotation vector (2,)."""
    if gravity.shape == (2,):
        c, s = jnp.cos(tilt[0]), jnp.sin(tilt[0])
        return jnp.stack([c * gravity[0] - s * gravity[1], s * gravity[0] + c * gravity[1]])
    angle = jnp.sqrt(jnp.sum(tilt**2) + 1e-18)
    axis = jnp.concatenate([tilt, jnp.zeros(1, tilt.dtype)]) / angle
    along = (axis @ gravity) * axis
    return jnp.cos(angle) * (gravity - along) + jnp.sin(angle) * jnp.cross(axis, gravity) + along

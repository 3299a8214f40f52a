"""The swimmer's gait: a bending wave along the body, and a bend towards the target."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from agents.policy import Policy


class GaitState(NamedTuple):
    """Time into the gait (), s, and the direction across the body (2,) in which it bends; zero at the beginning."""

    time: Array
    across: Array


class UndulationGait(Policy):
    """A wave of bending that travels along the body, away from where it swims to (Gray and Hancock 1955).

    The wave lies in the plane of the body's axis and the target. It begins at whichever end is nearer to the target,
    and a constant bend towards the target, in proportion to how far it lies beside the axis, steers.

    Attributes:
        tensions: of the tendons (m,) by the bending moments (segments, 2) towards either cross axis, in shares of the
            moment of one tendon under its largest tension: (m, segments, 2), N.
        upper: largest tensions (m,), N.
        reach: change (m,) of the command by an action of 1, N.
        index: where in the observation its entries stand.
        interval: control interval, s.
        period: of the wave, s.
        amplitude: largest moment.
        lag: of the wave from one segment to the next, turns.
        steering: constant moment, for a target straight beside the body.
    """

    tensions: Array
    upper: Array
    reach: Array
    index: dict[str, tuple[int, ...]] = eqx.field(static=True)
    interval: float = eqx.field(static=True)
    period: float = 1.0
    amplitude: float = 1.2
    lag: float = 0.25
    steering: float = 0.8

    def init(self) -> GaitState:
        zero = jnp.zeros((), self.upper.dtype)
        return GaitState(zero, jnp.zeros(2, self.upper.dtype))

    def __call__(
        self, observation: Float[Array, " n"], carry: GaitState, key: PRNGKeyArray
    ) -> tuple[Float[Array, " m"], GaitState]:
        target, command = (
            observation[np.array(self.index[name])].astype(self.upper.dtype) for name in ("target", "command")
        )
        beside = target[1:] / jnp.maximum(jnp.linalg.norm(target[1:]), 1e-6)
        across = jnp.where(carry.time > 0, carry.across, beside)
        turn = target[1:] @ across / jnp.maximum(jnp.linalg.norm(target), 1e-6)
        segments = jnp.arange(self.tensions.shape[1], dtype=across.dtype)
        phase = 2 * jnp.pi * (carry.time / self.period + jnp.sign(target[0]) * self.lag * segments)
        moment = self.amplitude * jnp.sin(phase) + self.steering * turn
        wanted = jnp.clip(jnp.einsum("msa,s,a->m", self.tensions, moment, across), 0, self.upper)
        action = jnp.clip((wanted - 0.5 * (command + 1) * self.upper) / self.reach, -1, 1).astype(jnp.float32)
        return action, GaitState(carry.time + self.interval, across)


def undulation_gait(env: Any, params: Any, **gains: float) -> UndulationGait:
    """The gait for an environment whose robot floats, from a straight body driven by tendons."""
    robot, names, coordinates = params.robot, env.observation_names, env.model.coordinate_names
    q = params.table["q"][0]
    slope = np.asarray(eqx.filter_jit(jax.jacfwd(robot.actuation_force, argnums=1))(q, jnp.zeros_like(params.upper)))
    # bending towards y turns about z, towards z about -y
    first = robot.num_base_coordinates - robot.num_base_velocities
    bends = [[coordinates.index(f"bend_{a}_{i}") - first for a in "zy"] for i in range(robot.num_segments)]
    moments = slope[np.array(bends)] * np.array([1, -1])[:, None]
    strongest = (np.abs(moments) * np.asarray(params.upper)).max()
    # tendons only pull: the one on the other side of each pair goes slack, and this one takes its share
    tensions = 2 * strongest * np.linalg.pinv(moments.reshape(-1, slope.shape[1]))
    index = {
        "target": tuple(names.index(f"target_from_middle_{a}") for a in "xyz"),
        "command": tuple(names.index(f"command_{name}") for name in env.action_names),
    }
    tensions = jnp.asarray(tensions.reshape(-1, *moments.shape[:2]), params.upper.dtype)
    reach = params.rate_limit * env.control_dt
    return UndulationGait(tensions, params.upper, reach, index, float(env.control_dt), **gains)

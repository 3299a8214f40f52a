"""The pendulum's controller: energy pumping until it comes near the top, then a linear quadratic regulator."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from agents.policy import MemorylessPolicy

STATE_COST = (1.0, 0.1, 0.1)  # of angles (rad), their rates (rad/s), the actual and the commanded torque (N m)
EFFORT_COST = 1.0  # of the action
SURPLUS = 0.02  # of the energy at the top above that at rest there, to arrive in spite of damping


class PendulumController(MemorylessPolicy):
    """Swings a chain up by its first joint and balances it there.

    Far from upright the torque is ``pumping (E_top - E) dq_0/dt``, which brings the energy to that of the upright rest
    (Spong, "The swing up control problem for the Acrobot", 1995); it is commanded as fast as the motor allows. Where
    the quadratic cost to go, of the system linearised about upright and sampled at the control interval, is below
    ``catch``, its optimal regulator acts. Its state has the lag of the motor: [q, dq/dt, actual torque, command].

    Attributes:
        robot: the model, upright at q = 0.
        gain: of the regulator (2 n + 2,), to the action.
        cost_to_go: its quadratic form (2 n + 2, 2 n + 2).
        scale: factors (2 n + 2,) from the observation's entries to the state.
        limit: largest torque (), N m.
        reach: change () of the command by an action of 1, N m.
        index: where in the observation the state stands.
        pumping: torque an energy and an angular speed, N m / (J rad/s).
        catch: cost to go at which balancing begins.
    """

    robot: Any
    gain: Array
    cost_to_go: Array
    scale: Array
    limit: Array
    reach: Array
    index: tuple[int, ...] = eqx.field(static=True)
    pumping: float = 5.0
    catch: float = 30.0

    def action(self, observation: Float[Array, " n"], key: PRNGKeyArray) -> Float[Array, " 1"]:
        state = observation[np.array(self.index)].astype(self.scale.dtype) * self.scale
        n = (state.shape[0] - 2) // 2
        q, q_dot, command = jnp.arctan2(jnp.sin(state[:n]), jnp.cos(state[:n])), state[n : 2 * n], state[-1]
        state = jnp.concatenate([q, state[n:]])
        rest = jnp.zeros_like(q)
        top = (1 + SURPLUS) * self.robot.potential_energy(rest)
        energy = self.robot.kinetic_energy(q, q_dot) + self.robot.potential_energy(q)
        torque = jnp.clip(self.pumping * (top - energy) * q_dot[0], -self.limit, self.limit)
        balance = state @ self.cost_to_go @ state < self.catch
        action = jnp.where(balance, -self.gain @ state, (torque - command) / self.reach)
        return jnp.clip(action, -1, 1).astype(jnp.float32)[None]


def pendulum_controller(env: Any, params: Any, **gains: float) -> PendulumController:
    """The controller for an environment with an upright pendulum."""
    from scipy.linalg import expm, solve_discrete_are  # slow to import

    robot, model, names = params.robot, env.model, env.observation_names
    n = robot.num_coordinates
    limit, reach = params.upper[0], params.rate_limit[0] * env.control_dt
    (torque,) = env.action_names
    state = (*model.coordinate_names, *model.rate_names, f"actual_{torque}", f"command_{torque}")
    scale = 1 / np.array([*model.coordinate_scale, *model.velocity_scale, *[1 / float(limit)] * 2])

    @eqx.filter_jit
    def slopes(robot, y, u):
        return jax.jacfwd(lambda y, u: robot.forward_dynamics(0.0, y, (u,)), argnums=(0, 1))(y, u)

    by_state, by_torque = slopes(robot, jnp.zeros(2 * n, params.lower.dtype), jnp.zeros_like(params.lower))
    # over an interval: the command, set at its beginning, stays, and the actual torque approaches it
    A = np.zeros((2 * n + 2, 2 * n + 2))
    A[: 2 * n, : 2 * n], A[: 2 * n, 2 * n :][:, :1] = by_state, by_torque
    A[2 * n, 2 * n :] = np.array([-1, 1]) / model.lag
    A = expm(A * env.control_dt)
    B = float(reach) * A[:, -1:]
    angle, rate, torque = STATE_COST
    P = solve_discrete_are(A, B, np.diag([angle] * n + [rate] * n + [torque] * 2), [[EFFORT_COST]])
    gain = np.linalg.solve(B.T @ P @ B + EFFORT_COST, B.T @ P @ A)[0]
    gain, P, scale = (jnp.asarray(x, params.lower.dtype) for x in (gain, P, scale))
    return PendulumController(robot, gain, P, scale, limit, reach, tuple(map(names.index, state)), **gains)

"""Single precision against double, and gradients at the straight configuration, in both precisions and both modes."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

import zoo

STEP = 1e-4
STENCIL = np.array([1.0, -1.0, 2.0, -2.0])
WEIGHTS = np.array([8.0, -8.0, -1.0, 1.0]) / (12 * STEP)


def response(robot, q, qd, z, u, tau):
    """State derivative, tip pose and energy, in one vector."""
    y_dot = robot.forward_dynamics(0.0, robot.pack_state(q, qd, z), (u, tau))
    pose = robot.forward_kinematics(q, robot.length).reshape(-1)
    return jnp.concatenate([y_dot, pose, robot.total_energy(q, qd)[None]])


def derivatives(robot, states, direction, weights):
    """Responses at all states; at the last, straight one the slope along ``direction`` in forward mode and from
    differences, and the gradient of the response weighted by ``weights``."""
    straight = tuple(x[-1] for x in states)
    steps = jnp.asarray(STEP * STENCIL, straight[0].dtype)
    around = [x[None] + steps[:, None] * d[None] for x, d in zip(straight, direction, strict=True)]
    rows = [jnp.concatenate([x, moved]) for x, moved in zip(states, around, strict=True)]
    values = jax.vmap(lambda *state: response(robot, *state))(*rows)
    _, push = jax.linearize(lambda *state: response(robot, *state), *straight)
    gradient = jax.linear_transpose(push, *straight)(weights)
    return dict(
        value=values[: -len(STENCIL)],
        differences=WEIGHTS @ values[-len(STENCIL) :],
        forward=push(*direction),
        gradient=jnp.concatenate(gradient),
    )


@cache
def evaluate(name: str, dtype: str) -> dict[str, np.ndarray]:
    """``derivatives`` of a robot of the zoo; both precisions have the same directions and weights."""
    with jax.enable_x64(True):
        robot, rng = zoo.build(name, dtype), np.random.default_rng(2)
        states = zoo.samples(robot)
        direction = [rng.uniform(0.5, 1, x.shape[1:]) * np.abs(x[:-1]).max(0, initial=0) for x in states]
        if robot.floating_base and not robot.is_planar:
            direction[0][:4] = 0  # quaternions stay unit ones
        size = jax.eval_shape(response, robot, *(x[0] for x in states)).shape
        weights = rng.uniform(0.5, 1, size)
        cast = jax.tree.map(lambda x: jnp.asarray(x, dtype), (tuple(direction), weights))
        result = jax.tree.map(np.asarray, zoo.compiled(derivatives)(robot, tuple(states), *cast))
        along = np.concatenate(cast[0]) @ result["gradient"]
        return {**result, "reverse": along, "weighted": weights * result["forward"]}


@cache
def single_tolerance(name: str) -> float:
    """1e-3, or for an ill-conditioned robot the error of a backward stable solution, eps/2 times the condition number
    of its inertia matrix (with unit diagonal, the largest of all states)."""
    with jax.enable_x64(True):
        robot = zoo.build(name, "float64")
        M = np.asarray(zoo.compiled(lambda q: jax.vmap(robot.inertia_matrix)(q))(zoo.samples(robot)[0]))
    size = np.sqrt(np.diagonal(M, axis1=1, axis2=2))
    condition = np.linalg.cond(M / (size[:, :, None] * size[:, None])).max()
    return max(1e-3, 0.5 * float(np.finfo(np.float32).eps) * condition)


def near(a, b, tolerance, err_msg=""):
    """Equal to the tolerance relative to the largest entry."""
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max(), err_msg=err_msg)


@zoo.over(default=("planar_pcs_3_selector",))
def test_gradients_at_the_straight_configuration_are_right_in_both_modes(name):
    """Finite, forward equal to central differences, reverse equal to forward; single precision equal to double."""
    double, single = evaluate(name, "float64"), evaluate(name, "float32")
    near(double["forward"], double["differences"], 1e-7)
    for result, tolerance in ((double, 1e-11), (single, 1e-4)):
        gap = abs(result["reverse"] - result["weighted"].sum())
        assert gap <= tolerance * np.abs(result["weighted"]).sum()
    near(single["forward"], double["forward"], single_tolerance(name))
    near(single["gradient"], double["gradient"], single_tolerance(name))


@zoo.over(default=("planar_pcs_3_selector",))
def test_forward_dynamics_agree_in_both_precisions(name):
    double, single = evaluate(name, "float64"), evaluate(name, "float32")
    assert single["value"].dtype == np.float32
    for one, other in zip(single["value"], double["value"], strict=True):
        near(one, other, single_tolerance(name))

"""Laws of kinematics, over the zoo of robots."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import zoo


def at_arc_length(robot, q, qd, s) -> dict[str, Array]:
    """Everything the laws speak of, at one material point, so that a robot compiles once."""
    G = robot.group

    def moved(delta_and_s):
        """Pose and both Jacobians after a step along the velocities and the arc length."""
        x = robot.retract_configuration(q, delta_and_s[:-1])
        pose, J = robot.forward_kinematics_and_jacobian_inertialframe(x, s + delta_and_s[-1])
        return pose, J, G.rotate(G.rotation(pose).T, J), robot.forward_kinematics(x, s + delta_and_s[-1])

    still = jnp.zeros(qd.size + 1, q.dtype)
    pose, J, J_body, alone = moved(still)
    slopes = jax.jacfwd(moved)(still)
    return dict(
        pose=pose,
        pose_alone=alone,
        J=J,
        J_body=J_body,
        slopes=slopes,
        # column j of the body Jacobian is the body twist along the velocity j: the pose moves by pose_rate
        pose_rates=jax.vmap(lambda twist: G.pose_rate(pose, twist), in_axes=1, out_axes=-1)(J_body),
        pose_and_s=robot.forward_kinematics_and_arc_length_derivative(q, s),
        J_and_dot=robot.jacobian_and_time_derivative(q, qd, s),
        J_body_and_dot=robot.jacobian_and_time_derivative_bodyframe(q, qd, s),
        J_and_s=robot.jacobian_and_arc_length_derivative(q, s),
        J_body_and_s=robot.jacobian_and_arc_length_derivative_bodyframe(q, s),
        v=qd,
        segment=robot.classify_segment(s)[0],
    )


@cache
def evaluate(name: str) -> dict[str, np.ndarray]:
    """``at_arc_length`` at every sample, at the base, inside and at the end of each segment."""
    with jax.enable_x64(True):
        robot = zoo.build(name)
        states = zoo.samples(robot)
        ends = robot.L_cum
        s = jnp.sort(jnp.concatenate([ends, ends[:-1] + 0.3 * robot.L]))
        function = zoo.compiled(at_arc_length)
        rows = [function(robot, q, qd, at) for q, qd in zip(states.q, states.qd, strict=True) for at in s]
        shape = (len(states.q), len(s))
        return jax.tree.map(lambda *x: np.stack(x).reshape(shape + x[0].shape), *rows)


def close(a, b, tolerance=1e-11):
    """Equal to the tolerance relative to the largest entry."""
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(np.abs(b).max(initial=0.0), 1.0))


def along(slopes, v):
    """Directional derivative from the slopes, whose last axis is the velocities and then the arc length."""
    return np.einsum("ns...j,nsj->ns...", slopes[..., :-1], v)


@zoo.over()
def test_jacobian_is_the_derivative_of_the_pose(name):
    e = evaluate(name)
    close(e["pose_rates"], e["slopes"][0][..., :-1])


@zoo.over()
def test_a_pose_by_itself_is_that_of_the_frame(name):
    e = evaluate(name)
    close(e["pose_alone"], e["pose"])
    close(e["slopes"][3], e["slopes"][0])


@zoo.over()
def test_time_derivatives(name):
    e = evaluate(name)
    close(e["J_and_dot"][0], e["J"])
    close(e["J_and_dot"][1], along(e["slopes"][1], e["v"]))
    close(e["J_body_and_dot"][0], e["J_body"])
    close(e["J_body_and_dot"][1], along(e["slopes"][2], e["v"]))


@zoo.over()
def test_arc_length_derivatives(name):
    e = evaluate(name)
    for i, (key, value) in enumerate({"pose_and_s": "pose", "J_and_s": "J", "J_body_and_s": "J_body"}.items()):
        close(e[key][0], e[value])
        close(e[key][1], e["slopes"][i][..., -1])


@zoo.over()
def test_a_node_belongs_to_the_segment_that_ends_there(name, x64):
    ends = np.asarray(zoo.build(name).L_cum[1:])
    owners = [np.flatnonzero(ends == end)[0] for end in ends]  # the first one, where others have no length
    np.testing.assert_array_equal(evaluate(name)["segment"][0], [0, *np.repeat(owners, 2)])


@zoo.over(zoo.FEW)
def test_batched_and_tip_methods_are_the_single_one(name, x64):
    robot, e = zoo.build(name), evaluate(name)
    states, ends = zoo.samples(robot), robot.L_cum
    s = jnp.sort(jnp.concatenate([ends, ends[:-1] + 0.3 * robot.L]))
    q = states.q[0]
    poses, J = zoo.compiled(type(robot).forward_kinematics_and_jacobian_inertialframe_abscissa_batched)(robot, q, s)
    close(np.asarray(poses), e["pose"][0])
    close(np.asarray(J), e["J"][0])
    close(np.asarray(zoo.compiled(type(robot).forward_kinematics_tips)(robot, q)), e["pose"][0, 2::2])

"""Laws of the equation of motion in operational and in actuation space."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.coordinate_transformations import (
    ActuationCoordinates,
    MapTask,
    PoseTask,
    actuation_space_dynamics,
    operational_space_dynamics,
)

ROBOTS = zoo.over(
    ("planar_pcs_2_scaled_tendons", "pcs_2_tendons", "pcs_2_floating", "articulated_floating"),
    default=("planar_pcs_2_scaled_tendons",),
)


def position(robot, q):
    """Tip position, as a user would write it."""
    pose = robot.forward_kinematics(q, robot.length)
    return pose[1:] if robot.is_planar else pose[:3, 3]


def tip(robot) -> PoseTask:
    """The task that ``position`` is, but for the vertical direction."""
    return PoseTask(rows=(1,) if robot.is_planar else (3, 4))


def terms(robot, q, qd, z, u, tau):
    """All that the laws speak of, at one state."""
    coordinates = ActuationCoordinates.around(robot, q)
    y = robot.pack_state(q, qd, z)
    found = dict(
        v=qd,
        M=robot.inertia_matrix(q),
        A=robot.actuation_matrix(q),
        effort=robot.actuator_efforts(q, u, qd),
        acceleration=robot.forward_dynamics(0.0, y, (u, tau))[robot.num_coordinates :][: qd.size],
        kinetic=robot.kinetic_energy(q, qd),
    )
    force = found["A"] @ found["effort"] + tau
    own = MapTask(position)(robot, q, qd)
    found |= dict(own=own, whole=PoseTask()(robot, q, qd), rows=len(tip(robot).rows))

    for name, change, task in (
        ("operational", operational_space_dynamics, tip(robot)),
        ("actuation", actuation_space_dynamics, coordinates),
    ):

        def along(step, change=change, task=task):
            return change(robot, task, robot.retract_configuration(q, step), qd)

        dynamics, rates = jax.jvp(along, (jnp.zeros_like(qd),), (qd,))
        found[name] = dynamics
        found[f"{name}_motion"] = dict(
            x_dot=rates.x,
            M_dot=rates.M,
            acceleration=dynamics.acceleration(force),
            force=dynamics.force(found["A"] @ found["effort"]),
            N=dynamics.null_space_projector,
        )
    return found


@cache
def evaluate(name):
    with jax.enable_x64(True):
        robot = zoo.build(name)
        function = zoo.compiled(terms)
        return [jax.tree.map(np.asarray, function(robot, *state)) for state in zip(*zoo.samples(robot), strict=True)]


def close(a, b, tolerance=1e-9, scale=None):
    size = np.abs(b).max(initial=0.0) if scale is None else scale
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(size, 1e-12))


@ROBOTS
def test_task_maps_give_the_rates_of_their_coordinates(name):
    robot = zoo.build(name)
    for e in evaluate(name):
        linear = slice(robot.group.angular, None)
        for own, built_in in zip(e["own"], e["whole"], strict=True):
            close(built_in[linear], own)
        close(e["operational"].x_dot, e["operational_motion"]["x_dot"])
        # a floating quaternion is no sum of its rates
        if robot.is_planar or not robot.floating_base:
            close(e["actuation"].x_dot, e["actuation_motion"]["x_dot"])


@ROBOTS
def test_operational_inertia_and_consistent_inverse_are_khatibs(name):
    for e in evaluate(name):
        d, N, M = e["operational"], e["operational_motion"]["N"], e["M"]
        close(np.linalg.inv(d.J @ np.linalg.solve(M, d.J.T)), d.Lambda)
        close(d.J @ d.J_bar, np.eye(len(d.J)))
        close(N @ N, N)
        close(d.J @ N, 0, scale=np.abs(d.J).max())
        close(d.J @ np.linalg.solve(M, N.T), 0, scale=np.abs(d.J @ np.linalg.inv(M)).max())  # no task acceleration
        close(d.Lambda, d.M)
        close(d.mu, d.C)
        close(d.p, d.G)


@ROBOTS
@pytest.mark.parametrize("space", ["operational", "actuation"])
def test_the_transformed_coriolis_matrix_is_consistent_with_the_transformed_inertia(name, space):
    for e in evaluate(name):
        d, M_dot = e[space], e[f"{space}_motion"]["M_dot"]
        excess = M_dot - 2 * d.C
        close(excess + excess.T, 0, scale=np.abs(d.C).max())
        if space == "actuation":
            close(d.C @ d.x_dot, d.convective)
            close(0.5 * d.x_dot @ d.M @ d.x_dot, e["kinetic"])
        rate = np.ones(len(d.J))  # a motion without null-space part has the task's kinetic energy
        close(0.5 * rate @ d.M @ rate, 0.5 * (d.J_bar @ rate) @ e["M"] @ (d.J_bar @ rate))


@ROBOTS
@pytest.mark.parametrize("space", ["operational", "actuation"])
def test_transformed_accelerations_are_those_of_the_robot(name, space):
    for e in evaluate(name):
        d, motion = e[space], e[f"{space}_motion"]
        expected = d.J @ e["acceleration"] + d.J_dot @ e["v"]
        close(motion["acceleration"], expected, 1e-8, scale=np.abs(d.J @ e["acceleration"]).max())


@ROBOTS
def test_efforts_act_on_the_actuation_coordinates_alone(name):
    for e in evaluate(name):
        force, m = e["actuation_motion"]["force"], len(e["effort"])
        close(force, np.concatenate([e["effort"], np.zeros(len(force) - m)]))


def test_too_many_actuator_coordinates_are_refused(x64):
    robot = zoo.build("hsa_motor")
    with pytest.raises(ValueError, match=r"at most as many actuator coordinates as internal coordinates \(3\), got 6"):
        eqx.filter_eval_shape(ActuationCoordinates.around, robot, jnp.zeros(3))


def test_transformations_are_differentiable_and_batch(x64):
    robot = zoo.build("planar_pcs_2_scaled_tendons")
    q, qd, *_ = zoo.samples(robot)

    def inertia(robot, q, qd):
        return operational_space_dynamics(robot, tip(robot), q, qd).Lambda

    def of_density(scale):
        heavier = robot.update_link_params(density=scale * robot.params.link.density)
        return jax.vmap(inertia, (None, 0, 0))(heavier, q, qd)

    value, slope = zoo.compiled(lambda x: jax.jvp(of_density, (x,), (jnp.ones_like(x),)))(jnp.asarray(1.0))
    close(slope, value)  # an inertia is linear in the density
    close(value[1], zoo.compiled(inertia)(robot, q[1], qd[1]))

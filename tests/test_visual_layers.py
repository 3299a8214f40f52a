"""What renderers see of actuators and passive elements is where the physics has it."""

import jax.numpy as jnp
import numpy as np

import zoo
from soromox.actuation import (
    articulated_tendons,
    muscles,
    passive_articulated_tendons,
    passive_threads,
    pressure_chambers,
    push_rods,
    tendons,
)
from soromox.systems import PCS, Pendulum, PendulumParams, PlanarPCS, UMArm
from zoo_isupport import isupport
from zoo_pcs import pcs


@zoo.compiled
def seen(robot, q, fractions, inputs=None):
    """The layers, and the coordinates of the actuators, then those of the passive elements."""
    chain = robot.assemble()
    stretched = [element.transmission.coordinates(chain, chain.internal(q)) for element in robot.passive_elements]
    layers = robot.actuator_visual_layers(q, fractions * robot.length, actuator_inputs=inputs)
    return layers, jnp.concatenate([robot.actuator_coordinates(q), *stretched])


ALONG = jnp.linspace(0, 1, 201)


def lengths(points):
    return np.linalg.norm(np.diff(points, axis=1), axis=-1).sum(1)


def test_threads_are_as_long_as_their_coordinates_say(x64):
    """Of every kind, active or passive, floating too; chambers have their volume; inputs go with their lines."""
    for planar in (True, False):
        base, axes = pcs(planar, 2), 1 if planar else 2

        def o(*offset, axes=axes):
            return [offset[:axes]]

        drives = (
            tendons(o(0.012, 0.0), num_segments=2),
            muscles(o(-0.012, 0.0), num_segments=2, slope=o(0.02, 0.0)),
            push_rods(o(0.0, 0.012), num_segments=2, end=[0]),
            pressure_chambers(o(-0.006, -0.009), 2e-5, num_segments=2, start=[1]),
        )
        spring = passive_threads(o(0.006, -0.01), num_segments=2, stiffness=1.0, rest_length=0.2)
        robot = (PlanarPCS if planar else PCS)(
            base.params, actuators=drives, passive_elements=spring, floating_base=True
        )
        q = zoo.samples(robot).q[0]
        layers, y = seen(robot, q, ALONG, jnp.arange(4.0))
        assert [layer.kind for layer in layers] == ["tendon", "muscle", "push_rod", "pressure_chamber", "passive"]
        assert [layer.inputs.tolist() for layer in layers[:4]] == [[0], [1], [2], [3]] and layers[4].inputs is None
        drawn = np.concatenate([lengths(layer.points) for layer in layers])
        area = np.pi * layers[3].radii[0, 0] ** 2
        np.testing.assert_allclose(drawn, y / np.array([-1, -1, 1, area, 1]), rtol=1e-4)


def test_chambers_of_an_arm_run_along_their_sections(x64):
    robot = isupport((2, 1))
    (layer,), _ = seen(robot, jnp.zeros(18), jnp.linspace(0, 1, 3))
    assert layer.points.shape == (6, 3, 3)
    depth = -np.array([[0.041, 0.136, 0.231]] * 3 + [[0.258, 0.348, 0.438]] * 3)
    np.testing.assert_allclose(layer.points[..., 2], depth, atol=1e-12)
    np.testing.assert_allclose(np.hypot(layer.points[..., 0], layer.points[..., 1]), 0.02, rtol=1e-12)


def test_tendons_pass_the_joints_at_their_moment_arms(x64):
    """At a distance of |R| from the joint, on the side on which a tension turns it the right way; to the last joint."""
    n, ones = 3, np.ones(3)
    params = PendulumParams.horizontal(
        length=ones,
        mass=ones,
        moment_inertia=ones,
        center_of_mass_length=0.5 * ones,
        joint_stiffness=np.eye(n),
        joint_damping=np.eye(n),
        joint_rest_configuration=0 * ones,
        radius=0.05 * ones,
    )
    spring = passive_articulated_tendons([[0.0, 0.0, 0.3]], stiffness=1.0)
    robot = Pendulum(params, actuators=articulated_tendons([[0.2, -0.1, 0.0]]), passive_elements=spring)
    (active, passive), _ = seen(robot, jnp.zeros(3), ALONG)
    np.testing.assert_allclose(active.points[0], [[0, 0.2], [1, -0.1], [1.5, -0.1], [1.5, -0.1]], atol=1e-12)
    np.testing.assert_allclose(passive.points[0], [[0, 0], [1, 0], [2, 0.3], [2.5, 0.3]], atol=1e-12)
    assert (active.kind, passive.kind) == ("tendon", "passive")


def test_muscles_have_the_volume_of_their_coordinate(x64):
    """``pi r^2 l`` of what is drawn, l the muscle's own length: the ends are as far apart as the muscle says."""
    robot = UMArm()
    q = jnp.asarray(np.random.default_rng(0).uniform(-0.3, 0.3, 12))
    (layer,), volume = seen(robot, q, ALONG)
    muscle = robot.actuators[0].transmission
    own = robot.muscle_lengths(q)
    np.testing.assert_allclose(np.pi * layer.radii[:, 0] ** 2 * own, volume, rtol=1e-10)
    apart = lengths(layer.points) - (muscle.reference_length - muscle.length_offset).ravel()
    np.testing.assert_allclose(apart, own, rtol=1e-10)


def test_rods_are_where_their_kinematics_say(x64):
    robot = zoo.build("hsa_2_segments_3_rods_payload")
    q = zoo.samples(robot).q[0]
    (layer,), _ = seen(robot, q, jnp.linspace(0, 1, 3), jnp.arange(6.0))
    assert layer.kind == "hsa_motor" and layer.points.shape == (6, 3, 2) and layer.inputs.shape == (6,)
    for segment, rod in ((0, 1), (1, 2)):
        s = robot.L_cum[segment + 1]
        pose = robot.forward_kinematics_rod(q, s, rod)
        np.testing.assert_allclose(layer.points[3 * segment + rod, -1], pose[1:], atol=1e-12)

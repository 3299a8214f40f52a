"""A payload is a point mass at the tip, for every family."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.systems import Pendulum, PendulumParams

FAMILIES = ("planar_pcs_2_scaled_tendons", "pcs_2_tendons", "planar_gvs_2_floating", "articulated_floating")


def test_a_pendulum_with_a_payload_is_one_with_a_heavier_last_link(x64):
    """Mass, centre and inertia of the last link with a point at its tip, added up by hand."""
    length, mass, load = np.array([0.3, 0.2]), np.array([0.4, 0.2]), 0.15
    center, inertia = 0.5 * length, mass * length**2 / 12
    common = dict(
        length=length,
        joint_stiffness=np.diag([0.5, 0.3]),
        joint_damping=np.diag([0.02, 0.01]),
        joint_rest_configuration=np.zeros(2),
        radius=np.full(2, 0.01),
    )
    light = Pendulum(PendulumParams(center_of_mass_length=center, mass=mass, moment_inertia=inertia, **common))
    total = mass[1] + load
    joint = (mass[1] * center[1] + load * length[1]) / total
    about = inertia[1] + mass[1] * (joint - center[1]) ** 2 + load * (length[1] - joint) ** 2
    heavy = Pendulum(
        PendulumParams(
            center_of_mass_length=np.array([center[0], joint]),
            mass=np.array([mass[0], total]),
            moment_inertia=np.array([inertia[0], about]),
            **common,
        )
    )
    y, u = jnp.array([0.4, -0.7, 1.0, -2.0]), jnp.array([0.1, 0.05])
    for loaded in (light.with_payload(load), light.with_payload().update_params(payload_mass=load)):
        step = zoo.compiled(lambda robot: (robot.forward_dynamics(0.0, y, (u,)), robot.total_energy(y[:2], y[2:])))
        for a, b in zip(step(loaded), step(heavy), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n == FAMILIES[0] else pytest.mark.slow) for n in FAMILIES]
)
def test_a_payload_adds_the_terms_of_a_point_mass_at_the_tip(name, x64):
    """M grows by m J^T J, G by -m J^T g, the kinetic energy by m |v|^2 / 2; no payload and a zero one are the same."""
    robot, load = zoo.build(name), 0.2
    q, v, *_ = (x[0] for x in zoo.samples(robot))

    def look(robot):
        M, _, G = robot.dynamics_terms(q, v)
        return M, G, robot.kinetic_energy(q, v)

    look = zoo.compiled(look)
    J = zoo.compiled(lambda robot: robot.jacobian(q, jnp.asarray(robot.length)))(robot)[robot.group.angular :]
    plain, empty, loaded = look(robot), look(robot.with_payload()), look(robot.with_payload(load))
    for a, b in zip(plain, empty, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-14 * np.abs(b).max())
    expected = load * J.T @ J, -load * J.T @ robot.params.gravity, 0.5 * load * jnp.sum((J @ v) ** 2)
    for a, b, c in zip(loaded, plain, expected, strict=True):
        np.testing.assert_allclose(a - b, c, rtol=0, atol=1e-10 * np.abs(c).max() + 1e-14 * np.abs(b).max())


def test_payloads_are_checked():
    robot = zoo.build("pendulum_floating")
    with pytest.raises(ValueError, match="payload_mass must be non-negative, got -1"):
        robot.with_payload(-1.0)
    with pytest.raises(ValueError, match=r"payload_mass must have shape \(\), got \(2,\)"):
        robot.with_payload(jnp.ones(2))
    with pytest.raises(ValueError, match="payload_mass is part of the layout"):
        robot.update_params(payload_mass=1.0)
    assert jax.vmap(lambda m: robot.with_payload(m).params.payload_mass)(jnp.arange(3.0)).shape == (3,)

"""Environment models: drag dissipates and leads to terminal velocities, pulses give their impulse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.simulation import RK4
from soromox.simulation.environments import TipPulses, ViscousDrag
from soromox.systems import PlanarPCS, PlanarPCSParams, SystemState


def rod(gravity):
    """A soft floating rod, 0.2 m long."""
    fields = dict(length=0.2, radius=0.01, density=1000.0, young_modulus=1e5, shear_modulus=4e4)
    fields = {name: np.array([value]) for name, value in fields.items()}
    return PlanarPCS(PlanarPCSParams(gravity=gravity, **fields), floating_base=True)


@zoo.over(
    ("planar_pcs_2_floating", "pcs_2_floating", "hsa_motor", "articulated"),
    default=("planar_pcs_2_floating", "hsa_motor"),
)
def test_drag_takes_the_power_of_its_damping_matrix(name, x64):
    robot = zoo.build(name)
    drag = ViscousDrag(robot, normal=2.0, tangential=0.7)

    nodes, weights = np.polynomial.legendre.leggauss(5)  # as many as the robots have
    ends = np.asarray(robot.L_cum)
    half = 0.5 * np.diff(ends)
    s, ds = ((ends[:-1] + half)[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()

    @zoo.compiled
    def evaluate(drag, q, v):
        force, rate = drag(SystemState(0.0, robot.pack_state(q, v)))
        assert rate is None
        slope = robot.forward_kinematics_arc_length_derivative_abscissa_batched(q, jnp.asarray(s))
        slope = slope[:, 1:] if robot.is_planar else slope[:, :3, 3]
        tangent = slope / jnp.maximum(jnp.linalg.norm(slope, axis=-1, keepdims=True), 1e-9)  # some links have no length
        J = robot.jacobian_abscissa_batched(q, jnp.asarray(s))[:, robot.group.angular :]
        along = jnp.einsum("pi,piv->pv", tangent, J)
        wanted = 2.0 * jnp.einsum("p,piv,piw->vw", ds, J, J) - 1.3 * jnp.einsum("p,pv,pw->vw", ds, along, along)
        return force, drag.damping_matrix(q), wanted

    states = zoo.samples(robot)
    for q, v in zip(states.q, states.qd, strict=True):
        force, D, wanted = evaluate(drag, q, v)
        np.testing.assert_allclose(D, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
        np.testing.assert_allclose(force, -D @ v, rtol=0, atol=1e-12 * np.abs(force).max())
        np.testing.assert_allclose(D, D.T, rtol=0, atol=1e-13 * np.abs(D).max())
        assert np.linalg.eigvalsh(D).min() > -1e-12 * np.abs(D).max()
        assert force @ v < 0


def test_a_falling_rod_approaches_its_terminal_velocity(x64):
    """Gravity and drag are the same all along a straight rod, which therefore falls without bending or turning."""
    robot = rod([3.0, -9.81])
    mass, length = 1000 * np.pi * 0.01**2 * 0.2, 0.2
    angle, normal, tangential = 0.4, 9.0, 4.0
    drag = ViscousDrag(robot, normal, tangential)
    q = robot.pack_configuration(jnp.zeros(3), base_pose=jnp.array([angle, 0.1, 0.2]))
    start = SystemState(0.0, robot.pack_state(q, jnp.zeros(6)))
    motion = robot.rollout_to(start, environment_model=drag, t1=0.1, solver=RK4(), solver_dt=1e-3, save_dt=0.05)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    coefficients = length * np.array([tangential, normal])
    terminal = mass * (turn.T @ [3.0, -9.81]) / coefficients
    approach = 1 - np.exp(-coefficients * np.asarray(motion.t)[:, None] / mass)
    velocity = jax.vmap(robot.split_state)(motion.y)[1]
    np.testing.assert_allclose(velocity[:, 1:3], (terminal * approach) @ turn.T, rtol=0, atol=1e-9)
    np.testing.assert_allclose(velocity[:, 3:], 0, atol=1e-9)


def test_pulses_give_their_impulse(x64):
    robot = rod([0.0, 0.0])
    times, durations = jnp.array([2.0**-6, 2.0**-5]), jnp.array([2.0**-5, 2.0**-6])  # steps meet these edges exactly
    forces = jnp.array([[0.1, 0.0], [0.3, 0.2]])
    pulses = TipPulses(robot, times, forces, durations)
    q = robot.pack_configuration(jnp.zeros(3), base_pose=jnp.array([0.7, 0.0, 0.0]))
    start = SystemState(0.0, robot.pack_state(q, jnp.zeros(6)))
    motion = robot.rollout_to(
        start, environment_model=pulses, t1=2.0**-4, solver=RK4(), solver_dt=2.0**-11, save_dt=2.0**-4
    )
    q, v, _ = robot.split_state(motion.y[-1])
    momentum = zoo.compiled(robot.inertia_matrix)(q) @ v
    np.testing.assert_allclose(momentum[1:3], durations @ forces, rtol=1e-6)


def test_bad_environments_are_refused():
    robot = rod([0.0, 0.0])
    with pytest.raises(ValueError, match="tangential must be non-negative"):
        ViscousDrag(robot, 1.0, -1.0)
    with pytest.raises(ValueError, match="normal"):
        ViscousDrag(robot, [1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match=r"forces must have shape \(1, 2\)"):
        TipPulses(robot, [0.0], [[1.0, 0.0, 0.0]], [1.0])
    with pytest.raises(ValueError, match="durations must be positive"):
        TipPulses(robot, [0.0], [[1.0, 0.0]], [0.0])


@pytest.mark.slow
@pytest.mark.optimised
def test_an_undulating_rod_swims_head_first_and_only_if_drag_is_anisotropic(x64):
    from docs.examples.swimming import swim

    def progress(normal, tangential):
        """Advance (m) of the middle along the body, over the third second."""
        robot, ts, qs = swim(3.0, normal, tangential)
        middle = jax.vmap(lambda q: robot.forward_kinematics(q, 0.5 * robot.length)[1:])(qs)
        return float(middle[-1, 0] - middle[np.searchsorted(ts, 2.0 - 1e-6), 0])

    forwards = progress(2.0, 1.0)
    assert forwards > 0.01
    assert abs(progress(1.5, 1.5)) < 0.2 * forwards

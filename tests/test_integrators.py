"""Laws of the solvers: order of convergence on every state layout, and stability where explicit methods have none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.simulation import RK4, Implicit, LinearlyImplicitMidpoint, RosenbrockW2, SemiImplicitEuler
from soromox.systems import PCS, PCSParams, SystemState

CASES = [
    ("SemiImplicitEuler", "pcs_2_floating", 1, 1024),
    ("RK4", "planar_pcs_1", 4, 64),
    ("LinearlyImplicitMidpoint", "pcs_2_floating", 2, 1024),
    ("LinearlyImplicitMidpoint", "hsa_hysteresis", 2, 32),
    ("LinearlyImplicitMidpoint", "planar_pcs_2_scaled_tendons", 2, 64),
    ("RosenbrockW2", "pcs_2_floating", 2, 256),
    ("RosenbrockW2", "hsa_hysteresis", 2, 32),
    ("RosenbrockW2", "articulated", 2, 32),
]


def make_solver(name, robot):
    kinds = {kind.__name__: kind for kind in (SemiImplicitEuler, LinearlyImplicitMidpoint, RosenbrockW2)}
    return RK4() if name == "RK4" else kinds[name](robot)


@pytest.mark.parametrize(("method", "name", "order", "steps"), CASES)
def test_order_of_convergence(method, name, order, steps, x64):
    """The error falls with the step to the power of the order, of the mechanical state and of an environment's."""
    robot = zoo.build(name)
    q, qd, z, u, _ = (x[0] for x in zoo.samples(robot))

    def drag(state):
        q, v, _ = robot.split_state(state.y)
        return -0.3 * robot.damping_matrix(q) @ v, jnp.sin(1e-2 * jnp.sum(v)) - state.environment_state

    @zoo.compiled
    def end(robot, y, u, h):
        start = SystemState(0.0, y, u, environment_state=jnp.ones(()))
        options = dict(save_ts=[0.01], solver_dt=h, solver=make_solver(method, robot), max_steps=4096)
        last = robot.rollout_to(start, environment_model=drag, t1=0.01, **options)[-1]
        return last.y, last.environment_state

    y = robot.pack_state(q, 0.1 * qd, z)
    coarse, fine, finest = (end(robot, y, u, jnp.array(0.01 / n)) for n in (steps, 2 * steps, 4 * steps))
    for a, b, c in zip(coarse, fine, finest, strict=True):
        slope = np.log2(np.linalg.norm(a - b) / np.linalg.norm(b - c))
        assert abs(slope - order) < 0.15, slope


@zoo.over(("planar_pcs_2_scaled_tendons", "hsa_motor", "pcs_2_floating", "articulated"))
def test_an_implicit_request_solves_the_augmented_equation_of_motion(name, x64):
    robot = zoo.build(name)
    q, qd, z, u, tau = (x[0] for x in zoo.samples(robot))
    rng = np.random.default_rng(3)
    rate, shift, h = jnp.asarray(rng.normal(size=qd.shape)) * qd, jnp.asarray(rng.normal(size=qd.shape)) * qd, 0.02

    @zoo.compiled
    def evaluate(robot, q, qd, u, tau):
        y = robot.pack_state(q, qd, z)
        _, plain, _ = robot.split_state(robot.forward_dynamics(0.0, y, (u, tau)))
        _, x, _ = robot.split_state(robot.forward_dynamics(0.0, y, Implicit((u, tau), h, rate, shift)))
        chain = robot.assemble()
        tangent = jax.jacfwd(lambda s: robot.actuation_force(jnp.concatenate([q[: -s.size], s]), u, qd))(
            chain.internal(q)
        )
        K = robot.stiffness_matrix().at[:, robot.num_base_velocities :].add(-tangent if name == "hsa_motor" else 0)
        D = robot._with_base(robot._with_base(chain.dense(chain.damping)).T).T
        return robot.inertia_matrix(q), plain, x, block_diagonal(robot, K), block_diagonal(robot, D)

    M, plain, x, K, D = map(np.asarray, evaluate(robot, q, qd, u, tau))
    expected = np.linalg.solve(M + h * D + h**2 * K, M @ plain + h * D @ rate + h * K @ (h * rate - shift))
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


def block_diagonal(robot, A):
    chain = robot.assemble()
    blocks = chain.blocks(A[robot.num_base_velocities :, robot.num_base_velocities :])
    return robot._with_base(robot._with_base(chain.dense(blocks)).T).T


@pytest.mark.parametrize("method", ["LinearlyImplicitMidpoint", "RosenbrockW2"])
def test_stable_far_beyond_the_explicit_limit(method, x64):
    """A thin firm rod, whose shear decays at 4,200 /s, swings under gravity; steps are 10 times RK4's limit."""
    rod = PCS(
        PCSParams(
            length=[0.2], radius=[0.01], density=[1070.0], young_modulus=[1e6], shear_modulus=[1e6 / 3],
            material_damping_coefficient=[1e3],
        )
    )  # fmt: skip
    rod = rod.with_fixed_base_pose(jnp.array([0.0, 0, 0, 1, 0, 0, 0]))
    A = zoo.compiled(jax.jacfwd(lambda y: rod.forward_dynamics(0.0, y)))(jnp.zeros(12))
    fastest = np.abs(np.linalg.eigvals(np.asarray(A))).max()
    limit = 2.78 / fastest

    def tips(solver, h):
        n = round(1.0 / h)
        path = rod.rollout_to(SystemState(0.0, jnp.zeros(12)), t1=1.0, save_dt=0.1, solver_dt=1.0 / n, solver=solver)
        return np.asarray(zoo.compiled(jax.vmap(lambda y: rod.forward_kinematics(y[:6], 0.2)[:3, 3]))(path.y))

    reference = tips(RK4(), 0.5 * limit)
    assert np.ptp(reference[:, 2]) > 0.05
    assert not np.all(np.isfinite(tips(RK4(), 10 * limit)))
    error = np.linalg.norm(tips(make_solver(method, rod), 10 * limit) - reference, axis=1)
    assert error.max() < 0.1 * 0.2

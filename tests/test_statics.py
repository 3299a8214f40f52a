"""Static equilibria balance the equation of motion, follow the load from rest, and are differentiable."""

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest

import zoo
from soromox.simulation.newton import NaturalNewton
from soromox.systems import PlanarPCS, PlanarPCSParams, PlanarPCSStructure
from soromox.systems.statics import static_stiffness

ROBOTS = zoo.over(
    ("planar_pcs_2_scaled_tendons", "pcs_2_tendons", "hsa_motor", "gvs_2_joints_tendons", "articulated"),
    default=("planar_pcs_2_scaled_tendons", "hsa_motor"),
)


def rod(orientation="horizontal", **updates):
    """A rod that only bends, without gravity unless told otherwise."""
    fields = dict(length=0.2, radius=0.01, density=1000.0, young_modulus=1e6, shear_modulus=4e5)
    fields = {name: np.atleast_1d(value) for name, value in fields.items()}
    gravity = updates.pop("gravity", [0.0, 0.0])
    structure = PlanarPCSStructure(strain_selector=(True, False, False))
    return PlanarPCS(getattr(PlanarPCSParams, orientation)(gravity=gravity, **fields | updates), structure)


@ROBOTS
def test_equilibria_do_not_accelerate(name, x64):
    robot = zoo.build(name)
    states = zoo.samples(robot)

    @zoo.compiled
    def settle(robot, u, tau):
        def one(u, tau):
            found = robot.equilibrium(u, tau_ext=tau)
            y = robot.pack_state(found.q, jnp.zeros_like(tau))
            acceleration = robot.forward_dynamics(0.0, y, (u, tau))[robot.num_coordinates :]
            return found, robot.inertia_matrix(found.q) @ acceleration, robot.elastic_force(found.q)

        return jax.vmap(one)(u, tau)

    found, unbalanced, elastic = settle(robot, states.u, 1e-4 * states.tau)
    assert np.all(found.converged)
    scale = np.abs(elastic).max()
    np.testing.assert_allclose(unbalanced, 0, atol=1e-11 * scale)
    np.testing.assert_allclose(found.residual, 0, atol=1e-12 * scale)


def test_a_bending_moment_bends_by_the_compliance_of_each_robot_of_a_batch():
    robot, scales = rod(), jnp.array([1.0, 10.0])

    @zoo.compiled
    def settle(scale):
        return robot.update_link_params(stiffness=scale * robot.params.link.stiffness).equilibrium(jnp.array([0.003]))

    found = jax.vmap(settle)(scales)
    stiffness = scales * 1e6 * np.pi * 0.01**4 / 4 * 0.2
    np.testing.assert_allclose(found.q[:, 0], 0.003 / stiffness, rtol=1e-5)
    assert found.q.dtype == jnp.float32 and np.all(found.converged)


def test_the_sensitivity_is_that_of_the_implicit_function_theorem(x64):
    """To the input and to a parameter, forward and in reverse, against central differences; second order too."""
    robot = rod(gravity=[0.0, -9.81])

    def bending(x):
        stiffness = x[0] * robot.params.link.stiffness
        return robot.update_link_params(stiffness=stiffness).equilibrium(x[1:]).q[0]

    @zoo.compiled
    def evaluate(x):
        value, slope = jax.value_and_grad(bending)(x)
        return value, slope, jax.jacfwd(bending)(x), jax.jacfwd(jax.grad(bending))(x)

    x, h = jnp.array([1.0, 0.002]), 1e-5
    _, slope, forward, curvature = evaluate(x)
    rows = [(evaluate(x + h * e), evaluate(x - h * e)) for e in jnp.eye(2)]
    np.testing.assert_allclose(slope, [(a[0] - b[0]) / (2 * h) for a, b in rows], rtol=1e-7)
    np.testing.assert_allclose(forward, slope, rtol=1e-12)
    np.testing.assert_allclose(curvature, [(a[1] - b[1]) / (2 * h) for a, b in rows], rtol=1e-6)


def test_the_branch_from_rest_is_the_one_of_the_targets(x64):
    """The shipped table of the PlanarHSA was found by following the load in small stages."""
    from soromox_envs.robots import model_of
    from soromox_envs.targets import load_table

    robot, table = model_of("PlanarHSA").build(), load_table("PlanarHSA")
    u, q = jnp.asarray(table["u"][::64]), table["q"][::64]

    @zoo.compiled
    def settle(robot, u):
        return jax.vmap(lambda u: robot.equilibrium(u))(u)

    found = settle(robot, u)
    assert np.all(found.converged)
    np.testing.assert_allclose(found.q, q, rtol=0, atol=1e-8 * np.abs(q).max())


def test_heavy_upright_rods_stand_unstably(x64):
    """Beyond the critical weight the straight shape still balances, and its static stiffness says it is unstable."""
    light, heavy = (rod("upright", gravity=[0.0, -g]) for g in (1.0, 60.0))

    @zoo.compiled
    def settle(robot):
        q = robot.equilibrium().q
        return q, static_stiffness(robot, q)

    for robot, stable in ((light, True), (heavy, False)):
        q, stiffness = settle(robot)
        np.testing.assert_allclose(q, 0, atol=1e-9)
        assert (np.linalg.eigvalsh(stiffness).min() > 0) == stable
    bent = zoo.compiled(lambda robot, q0: robot.equilibrium(q0=q0))(heavy, jnp.array([12.0]))
    assert bool(bent.converged) and float(jnp.abs(bent.q[0])) > 1


def test_unsolvable_statics_are_reported_and_stay_finite(x64):
    solver = NaturalNewton(rtol=1e-8, atol=1e-8)

    def solve(function, start, **options):
        return optx.root_find(lambda y, _: function(y), solver, jnp.asarray(start), throw=False, **options)

    assert solve(lambda y: y**2 + 1, [3.0]).result != optx.RESULTS.successful
    assert solve(jnp.ones_like, [1.0]).result == optx.RESULTS.nonfinite
    assert solve(lambda y: jnp.log(y), [5.0]).result == optx.RESULTS.successful  # the full step leaves its domain
    short = solve(lambda y: y**3 - 8, [20.0], max_steps=2)
    assert short.result == optx.RESULTS.nonlinear_max_steps_reached and np.isfinite(short.value)


def test_scales_of_equations_do_not_matter(x64):
    """The path of the search is the same for rows in other units."""
    solver = NaturalNewton(rtol=1e-8, atol=1e-8)

    def steps(scale):
        def rosenbrock(y, _):
            return scale * jnp.stack([10 * (y[1] - y[0] ** 2), 1 - y[0]])

        solution = optx.root_find(rosenbrock, solver, jnp.array([-1.2, 1.0]))
        np.testing.assert_allclose(solution.value, 1, atol=1e-9)
        return int(solution.stats["num_steps"])

    assert steps(jnp.array([1.0, 1.0])) == steps(jnp.array([1e6, 1e-6]))


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="needs a fixed base"):
        zoo.build("planar_pcs_2_floating").equilibrium()
    robot = rod()
    with pytest.raises(ValueError, match=r"actuation u must have shape \(1,\), got \(2,\)"):
        robot.equilibrium(jnp.zeros(2))
    with pytest.raises(ValueError, match="q0"):
        robot.equilibrium(q0=jnp.zeros(3))
    with pytest.raises(ValueError, match="stages must be at least 1, got 0"):
        robot.equilibrium(stages=0)

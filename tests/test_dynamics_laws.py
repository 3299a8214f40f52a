"""Laws of motion, over the zoo of robots."""

from functools import cache

import equinox as eqx
import flat_oracle
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import zoo
from soromox.actuation import tendons
from soromox.core import dynamics
from soromox.systems import PCS, PlanarPCS
from zoo_pcs import pcs


def terms(robot, q, qd, z, u, tau) -> dict[str, Array]:
    """Everything the laws speak of, at one state, so that a robot compiles once."""
    M, convective, G = robot.dynamics_terms(q, qd)
    y = robot.pack_state(q, qd, z)
    acceleration = robot.forward_dynamics(0.0, y, (u, tau))[robot.num_coordinates :][: robot.num_velocities]
    elastic = robot.elastic_force(q)
    restoring = elastic
    if robot.num_auxiliary_states:
        alpha = robot.hysteresis_alpha
        restoring = alpha * elastic + (1 - alpha) * robot.hysteresis_force(q, z)
    D, A = robot.damping_matrix(q), robot.actuation_matrix(q)

    def functions(delta):
        """What the laws differentiate, along the velocities, floating bases included."""
        x = robot.retract_configuration(q, delta)
        energies = robot._kinetic_energy(x, qd), robot._gravitational_energy(x), robot._elastic_energy(x)
        return *energies, robot.actuator_coordinates(x), robot.inertia_matrix(x)

    slopes = jax.jacfwd(functions)(jnp.zeros_like(qd))
    return dict(
        v=qd,
        M=M,
        M_slope=slopes[4],
        C=robot.coriolis_matrix(q, qd),
        convective=convective,
        G=G,
        kinetic_slope=slopes[0],
        gravity_slope=slopes[1],
        elastic=elastic,
        elastic_slope=slopes[2],
        actuator_slope=slopes[3],
        A=A,
        D=D,
        restoring=restoring,
        force=A @ robot.actuator_efforts(q, u, qd) + tau - D @ qd - restoring,
        acceleration=acceleration,
        required=dynamics.inverse_dynamics(robot.assemble(), q, qd, acceleration),
        kinetic=robot._kinetic_energy(q, qd),
    )


@cache
def evaluate(name: str) -> dict[str, np.ndarray]:
    """``terms`` at every sample of a robot, as NumPy arrays with the samples in front."""
    with jax.enable_x64(True):
        robot = zoo.build(name)
        function = zoo.compiled(terms)
        rows = [function(robot, *state) for state in zip(*zoo.samples(robot), strict=True)]
        return jax.tree.map(lambda *x: np.stack(x), *rows)


def close(a, b, tolerance=1e-11, scale=None):
    """Equal to the tolerance relative to the largest entry (or to ``scale``)."""
    a, b = np.broadcast_arrays(a, b)
    size = np.abs(b).max(initial=0.0) if scale is None else scale
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(size, np.finfo(float).tiny))


def along(matrices, vectors):
    """One matrix-vector product a sample."""
    return np.einsum("n...j,nj->n...", matrices, vectors)


@zoo.over()
def test_mass_matrix_is_symmetric_positive_definite_and_gives_the_kinetic_energy(name):
    e = evaluate(name)
    v = e["v"]
    close(e["M"], np.swapaxes(e["M"], 1, 2))
    size = np.sqrt(np.einsum("nii->ni", e["M"]))
    assert np.linalg.eigvalsh(e["M"] / size[:, :, None] / size[:, None]).min() > 1e-12
    close(0.5 * np.einsum("ni,nij,nj->n", v, e["M"], v), e["kinetic"])


@zoo.over()
def test_coriolis_matrix_is_christoffels(name):
    e = evaluate(name)
    v = e["v"]
    excess = along(e["M_slope"], v) - 2 * e["C"]
    close(excess + np.swapaxes(excess, 1, 2), 0, scale=np.abs(e["C"]).max())
    close(along(e["C"], v), e["convective"])
    robot = zoo.build(name)
    if robot.is_planar or not robot.floating_base:  # world angular velocities in space are no coordinate rates
        dM = e["M_slope"]
        christoffel = 0.5 * (dM + np.swapaxes(dM, 2, 3) - np.moveaxis(dM, 3, 1))
        close(np.einsum("nijk,nk->nij", christoffel, v), e["C"])
        close(along(along(dM, v), v) - e["kinetic_slope"], e["convective"])


@zoo.over()
def test_conservative_forces_are_energy_gradients(name):
    e = evaluate(name)
    close(e["G"], e["gravity_slope"])
    close(e["elastic"], e["elastic_slope"])


@zoo.over()
def test_actuation_is_conjugate_to_its_coordinates(name):
    e = evaluate(name)
    close(np.swapaxes(e["actuator_slope"], 1, 2), e["A"])


@zoo.over()
def test_damping_dissipates(name):
    D = evaluate(name)["D"]
    close(D, np.swapaxes(D, 1, 2))
    assert np.linalg.eigvalsh(D).min() >= -1e-12 * np.abs(D).max()


@zoo.over()
def test_articulated_bodies_equal_the_dense_solve_and_newton_euler_inverts_them(name):
    e = evaluate(name)
    dense = np.linalg.solve(e["M"], (e["force"] - e["convective"] - e["G"])[..., None])[..., 0]
    close(e["acceleration"], dense, 1e-10)
    assert (np.abs(e["required"] - e["force"]) / summands(e)).max() < 1e-14


def summands(e):
    """What a force adds up from, |M| |a| + |force|: accelerations of 1e7 of light coordinates cancel in M a."""
    return along(np.abs(e["M"]), np.abs(e["acceleration"])) + np.abs(e["force"])


@zoo.over()
def test_power_balance(name):
    """The energy changes by what the actuators and external forces give and the dampers take."""
    e = evaluate(name)
    v = e["v"]
    gain = e["kinetic_slope"] + along(e["M"], e["acceleration"]) + e["gravity_slope"] + e["restoring"]
    supplied = e["force"] + e["restoring"]  # the force of the equation of motion less the restoring one
    excess = np.sum((gain - supplied) * v, 1)
    assert (np.abs(excess) / np.sum(summands(e) * np.abs(v), 1)).max() < 1e-14


@zoo.over()
def test_recursion_equals_the_flat_sums(name):
    robot, e = zoo.build(name), evaluate(name)
    with jax.enable_x64(True):
        states, cells = zoo.samples(robot), flat_oracle.cells(robot)
        for i in range(states.q.shape[0]):
            M, C, G = flat_oracle.dynamics(robot, cells, np.asarray(states.q[i]), np.asarray(states.qd[i]))
            close(e["M"][i], M)
            close(e["C"][i], C)
            close(e["G"][i], G)


def essentials(robot, q, qd, z, u, tau) -> dict[str, Array]:
    """The results that users see, at one state."""
    y = robot.pack_state(q, qd, z)
    return dict(
        M=robot.inertia_matrix(q),
        C=robot.coriolis_matrix(q, qd),
        kinetic=robot.kinetic_energy(q, qd),
        acceleration=robot.forward_dynamics(0.0, y, (u, tau))[q.size : q.size + qd.size],
    )


@zoo.over(zoo.FEW)
def test_single_precision_is_close_to_double(name):
    double, robot = evaluate(name), zoo.build(name, "float32")
    batched = zoo.compiled(jax.vmap(essentials, in_axes=(None, 0, 0, 0, 0, 0)))
    for key, value in batched(robot, *zoo.samples(robot)).items():
        assert value.dtype == jnp.float32
        close(np.asarray(value), double[key], 1e-3)


@zoo.over(zoo.FEW, default=("hsa_hysteresis",))
def test_a_batch_of_states_and_robots_gives_what_each_gives_alone(name, x64):
    robot, states = zoo.build(name), zoo.samples(zoo.build(name))
    copies = jax.tree.map(lambda x: jnp.stack([x] * 3), robot)
    copies = eqx.tree_at(
        lambda r: r.params.gravity, copies, jnp.outer(jnp.array([1.0, 0.5, 0.0]), robot.params.gravity)
    )
    batch = zoo.compiled(jax.vmap(essentials))(copies, *states)
    alone = zoo.compiled(essentials)
    for i, state in enumerate(zip(*states, strict=True)):
        for key, value in alone(jax.tree.map(lambda x, i=i: x[i], copies), *state).items():
            close(np.asarray(batch[key][i]), np.asarray(value), 1e-10)


def test_compiled_equals_eager(x64):
    robot = zoo.build("planar_pcs_1")
    q, qd, *_, u, tau = (x[0] for x in zoo.samples(robot))
    arguments = 0.0, jnp.concatenate([q, qd]), (u, tau)
    compiled = zoo.compiled(lambda robot, *args: robot.forward_dynamics(*args))(robot, *arguments)
    close(np.asarray(robot.forward_dynamics(*arguments)), np.asarray(compiled))


def test_planar_pcs_is_spatial_pcs_in_the_plane(x64):
    """Bending about z, stretch and shear along y of a spatial rod in the x-y plane are the planar rod."""
    plane = [2, 3, 4, 8, 9, 10]
    selector = "".join("1" if i in plane else "0" for i in range(12))
    flat, spatial = (
        pcs(True, 2, scaled=True, tendon=True),
        pcs(False, 2, selector=selector, scaled=True),
    )
    lift = dict(gravity=[3.0, -9.81, 0.0], base_pose=[0, 0, 0, 1.0, 0.1, 0.2, 0.0])
    flat = flat.update_params(gravity=[3.0, -9.81], base_pose=[0.0, 0.1, 0.2])
    reference = jnp.zeros((2, 6)).at[:, jnp.array([2, 3, 4])].set(flat.params.link.reference_strain)
    spatial = spatial.update_params(**lift).update_link_params(reference_strain=reference)
    line = flat.actuators[0].transmission
    threads = tendons(
        jnp.pad(line.intercept, ((0, 0), (0, 1))),
        slope=jnp.pad(line.slope, ((0, 0), (0, 1))),
        num_segments=2,
        start=line.start,
        end=line.end,
    )
    spatial = PCS(spatial.params, spatial.structure, actuators=threads)
    flat = PlanarPCS(flat.params, flat.structure, actuators=flat.actuators)

    def evaluate(robot, q, qd, z, u, tau):
        s = jnp.linspace(0.0, robot.length, 4)
        return essentials(robot, q, qd, z, u, tau) | dict(
            bias=robot.dynamics_terms(q, qd)[1:],
            elastic=robot.elastic_force(q),
            damping=robot.damping_matrix(q),
            actuation=robot.actuation_matrix(q),
            coordinates=robot.actuator_coordinates(q),
            energy=robot.potential_energy(q),
            pose=jax.vmap(robot.group.matrix)(robot.forward_kinematics_abscissa_batched(q, s)),
            jacobian=robot.jacobian_abscissa_batched(q, s),
        )

    function, rows = zoo.compiled(evaluate), jnp.array([0, 1, 3])
    for state in zip(*zoo.samples(flat), strict=True):
        planar, full = function(flat, *state), function(spatial, *state)
        full["pose"] = full["pose"][:, rows[:, None], rows]
        full["jacobian"] = full["jacobian"][:, jnp.array([2, 3, 4])]
        for key in planar:
            for a, b in zip(jax.tree.leaves(planar[key]), jax.tree.leaves(full[key]), strict=True):
                close(np.asarray(a), np.asarray(b), 1e-10)

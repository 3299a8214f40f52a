"""Parameters: equivalent ways in, replacement, tracing, and refusals that say what was expected and what came."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.systems import (
    PCS,
    CircularSection,
    ContinuumLinkParams,
    IsotropicMaterialParams,
    LinkSpec,
    PCSParams,
    PCSStructure,
    PlanarHSA,
    PlanarHSAStructure,
    PlanarPCS,
    PlanarPCSParams,
    PlanarPCSStructure,
)
from zoo_hsa import hsa
from zoo_pcs import pcs

FLAT = dict(
    length=[0.12, 0.1],
    radius=[0.018, 0.015],
    density=[1070.0, 1040.0],
    young_modulus=[2e5, 3e5],
    shear_modulus=[7e4, 1e5],
    material_damping_coefficient=[200.0, 300.0],
)


@zoo.compiled
def acceleration(robot, q):
    return robot.forward_dynamics(0.0, robot.pack_state(q, jnp.ones_like(q)))


@pytest.mark.parametrize("planar", [True, False])
def test_all_ways_to_a_robot_meet(planar, x64):
    """Flat fields, link specifications, an isotropic material set later, and the matrices by hand."""
    robot, params = (PlanarPCS, PlanarPCSParams) if planar else (PCS, PCSParams)
    flat = robot(params(**FLAT))
    rows = [{key: value[i] for key, value in FLAT.items()} for i in range(2)]
    links = [
        LinkSpec(
            row["length"],
            row["density"],
            row["radius"],
            IsotropicMaterialParams(
                row["young_modulus"],
                shear_modulus=row["shear_modulus"],
                material_damping_coefficient=row["material_damping_coefficient"],
            ),
        )
        for row in rows
    ]
    built = robot.from_links(links)
    ratio = np.array(FLAT["young_modulus"]) / (2 * np.array(FLAT["shear_modulus"])) - 1
    material = IsotropicMaterialParams(
        FLAT["young_modulus"],
        poisson_ratio=ratio.tolist(),
        material_damping_coefficient=FLAT["material_damping_coefficient"],
    )
    later = robot(params(**FLAT | dict(young_modulus=[1.0, 1.0]))).with_isotropic_material(material)
    for other in (built, later):
        for a, b in zip(jax.tree.leaves(other.params), jax.tree.leaves(flat.params), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    L, r = np.array(FLAT["length"]), np.array(FLAT["radius"])
    E, G, eta = (np.array(FLAT[key]) for key in ("young_modulus", "shear_modulus", "material_damping_coefficient"))
    A, second = np.pi * r**2, np.pi * r**4 / 4
    if planar:
        stiffness, damping = [E * second, E * A, G * A], [3 * second, 3 * A, A]
    else:
        stiffness = [2 * G * second, E * second, E * second, E * A, G * A, G * A]
        damping = [2 * second, 3 * second, 3 * second, 3 * A, A, A]
    np.testing.assert_allclose(flat.stiffness_matrix(), np.diag(np.transpose(L * stiffness).ravel()), rtol=1e-12)
    D = flat.damping_matrix(jnp.zeros(flat.num_dofs))
    np.testing.assert_allclose(D, np.diag(np.transpose(L * eta * damping).ravel()), rtol=1e-12)
    explicit = LinkSpec(0.1, 1000.0, 0.01, stiffness=np.eye(3 if planar else 6), damping=2 * np.eye(3 if planar else 6))
    np.testing.assert_allclose(robot.from_links([explicit]).stiffness_matrix(), np.eye(3 if planar else 6))


def test_an_incompressible_material_is_accepted(x64):
    material = IsotropicMaterialParams(3e5, poisson_ratio=0.5)
    young, shear, damping = material.resolve(2)
    np.testing.assert_allclose(young / shear, 3.0)
    np.testing.assert_array_equal(damping, 0)


def test_a_scaled_basis_makes_angles_of_curvatures(x64):
    plain = PlanarPCS(PlanarPCSParams(**FLAT))
    scaled = PlanarPCS(plain.params, PlanarPCSStructure(scale_rotational_basis_by_length=True))
    q = jnp.array([0.3, 0.1, 0.0, -0.2, 0.0, 0.1])
    curvatures = q.at[jnp.array([0, 3])].divide(plain.L)
    np.testing.assert_allclose(scaled.strain(q), plain.strain(curvatures), rtol=1e-12)
    np.testing.assert_allclose(scaled.elastic_energy(q), plain.elastic_energy(curvatures), rtol=1e-12)


def test_a_selector_picks_strains(x64):
    robot = PlanarPCS(PlanarPCSParams(**FLAT), PCSStructure(strain_selector=[1, 0, 0, 1, 1, 0]))
    assert robot.num_dofs == 3 and robot.B_xi.shape == (6, 3)
    np.testing.assert_allclose(robot.strain(jnp.array([1.0, 2.0, 0.3])), [1, 1, 0, 2, 1.3, 0])


@zoo.over(("planar_pcs_2_scaled_tendons", "hsa_hysteresis"))
def test_every_way_to_change_a_parameter_changes_the_physics(name, x64):
    """``with_params``, ``update_params`` and ``eqx.tree_at`` on a used robot: nothing is cached."""
    robot = zoo.build(name)
    q = zoo.samples(robot).q[0]
    before = acceleration(robot, q)
    gravity = jnp.array([3.0, -1.0])
    ways = (
        robot.with_params(robot.params.replace(gravity=gravity)),
        robot.update_params(gravity=gravity),
        eqx.tree_at(lambda r: r.params.gravity, robot, gravity),
    )
    after = [acceleration(way, q) for way in ways]
    for one in after:
        np.testing.assert_array_equal(one, after[0])
        assert np.abs(one - before).max() > 1e-3 * np.abs(before).max()
    np.testing.assert_array_equal(acceleration(robot, q), before)
    longer = robot.params.length * 1.1
    stretched = (
        robot.update_params(length=longer) if name.startswith("hsa") else robot.update_link_params(length=longer)
    )
    np.testing.assert_allclose(stretched.length, 1.1 * robot.length, rtol=1e-12)
    assert np.abs(acceleration(stretched, q) - before).max() > 1e-3 * np.abs(before).max()


def test_robots_are_built_inside_jit_vmap_and_grad(x64):
    """Physics randomised by lane: the same numbers as one robot after another, and gradients through construction."""

    def spin(young, gravity):
        params = PlanarPCSParams(**FLAT | dict(young_modulus=jnp.stack([young, young])), gravity=gravity)
        robot = PlanarPCS(params).update_link_params(density=jnp.array([900.0, 800.0]))
        return jnp.sum(robot.forward_dynamics(0.0, jnp.ones(12)) ** 2) ** 0.5

    young, gravity = jnp.array([1e5, 2e5, 4e5]), jnp.array([[0.0, -9.81], [1.0, 0.0], [0.0, 0.0]])
    lanes = zoo.compiled(jax.vmap(spin))(young, gravity)
    alone = zoo.compiled(jax.value_and_grad(spin))
    for i in range(3):
        value, slope = alone(young[i], gravity[i])
        np.testing.assert_allclose(lanes[i], value, rtol=1e-10)
        h = 1e-4 * young[i]
        ahead, behind = alone(young[i] + h, gravity[i])[0], alone(young[i] - h, gravity[i])[0]
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=1e-6)


def test_hsa_robots_are_built_inside_vmap(x64):
    robot = zoo.build("hsa_motor")

    def force(scale):
        made = PlanarHSA(robot.params.replace(strain_coupling=scale * robot.params.strain_coupling))
        assert made.actuator_input_metadata[0].upper[0] > 3  # phi_max is concrete here
        return made.actuation_force(jnp.zeros(3), jnp.ones(2))

    lanes = zoo.compiled(jax.vmap(force))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(lanes[0], robot.actuation_force(jnp.zeros(3), jnp.ones(2)), rtol=1e-12)
    assert lanes[1, 2] > 1.5 * lanes[0, 2]


def test_the_base_pose_of_the_constructor_wins(x64):
    params = PlanarPCSParams(**FLAT, base_pose=[1.0, 2.0, 3.0])
    robot = PlanarPCS(params, base_pose=jnp.array([0.5, 0.0, 0.0]))
    np.testing.assert_allclose(robot.params.base_pose, [0.5, 0, 0])
    np.testing.assert_allclose(PlanarPCS(params).params.base_pose, [1, 2, 3])
    with pytest.raises(ValueError, match=r"pose must have shape \(3,\), got \(2,\)"):
        robot.with_fixed_base_pose(jnp.zeros(2))
    with pytest.raises(ValueError, match="pose must be finite"):
        robot.with_fixed_base_pose(jnp.array([0.0, jnp.nan, 0.0]))


def flat(**changes):
    return lambda: PlanarPCSParams(**FLAT | changes)


def hsa_with(**changes):
    return lambda: hsa(hysteresis=True).params.replace(**changes)


def link(**changes):
    return lambda: PlanarPCS(PlanarPCSParams(**FLAT)).update_link_params(**changes)


def without(name):
    return lambda: PlanarPCSParams(**{key: value for key, value in FLAT.items() if key != name})


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (flat(radius=[0.1]), r"radius must have shape \(2,\), got \(1,\)"),
        (flat(length=[0.1, -0.1]), r"length must be positive, got \[0.1, -0.1\]"),
        (flat(length=[0.1, np.nan]), r"length must be finite, got \[0.1, nan\]"),
        (flat(density=[0.0, 1.0]), "density must be positive"),
        (flat(young_modulus=[np.inf, 1.0]), "young_modulus must be finite"),
        (flat(shear_modulus=[-1.0, 1.0]), r"shear_modulus must be positive, got \[-1.0, 1.0\]"),
        (flat(material_damping_coefficient=[-1.0, 1.0]), "material_damping_coefficient must be non-negative"),
        (flat(reference_strain=[0.0, 1.0, 0.0]), r"reference_strain must have 2 x 3 = 6 entries, got shape \(3,\)"),
        (flat(colour=1.0), "need link or the fields .*; unknown colour"),
        (without("radius"), "missing radius"),
        (flat(gravity=[0.0, 0.0, -9.81]), r"gravity must have shape \(2,\), got \(3,\)"),
        (flat(gravity=[0.0, np.nan]), "gravity must be finite"),
        (flat(base_pose=[0.0]), r"base_pose must have shape \(3,\), got \(1,\)"),
        (lambda: PlanarPCSParams(PCSParams(**FLAT).link), "PlanarPCSParams links must have 3 strains, got 6"),
        (lambda: PCSParams(PCSParams(**FLAT).link, length=[0.1]), "not both; got link and length"),
        (lambda: PlanarPCSParams(**FLAT).replace(colour=1), "unknown PlanarPCSParams field colour; it has"),
        (lambda: PlanarPCSParams.pose_for("sideways"), "orientation must be one of .* got 'sideways'"),
        (link(stiffness=np.ones((2, 3))), r"stiffness must have shape \(2, 3, 3\), got \(2, 3\)"),
        (link(stiffness=np.array([np.triu(np.ones((3, 3)))] * 2)), "stiffness must be symmetric, its largest"),
        (link(damping=np.full((2, 3, 3), np.nan)), "damping must be finite"),
        (link(length=[0.1]), r"length must have shape \(2,\), got \(1,\)"),
        (lambda: CircularSection([[0.1], [0.0]]), "radius must be positive"),
        (lambda: IsotropicMaterialParams(1e5), "needs shear_modulus or poisson_ratio, got neither"),
        (lambda: IsotropicMaterialParams(1e5, 1e5, 0.3), "needs shear_modulus or poisson_ratio, got both"),
        (lambda: IsotropicMaterialParams(1e5, poisson_ratio=0.6), r"poisson_ratio must lie in \(-1, 0.5\], got 0.6"),
        (lambda: IsotropicMaterialParams(1e5, poisson_ratio=-1.0), r"poisson_ratio must lie in \(-1, 0.5\], got -1.0"),
        (lambda: IsotropicMaterialParams([1e5] * 3, [1e5] * 3).resolve(2), r"a scalar or have shape \(2,\)"),
        (lambda: PlanarPCS.from_links([]), "needs at least one link, got none"),
        (lambda: PlanarPCS.from_links([LinkSpec(0.1, 1e3, 0.01)]), "material, or both stiffness and damping"),
        (lambda: PlanarPCS.from_links([LinkSpec([0.1], 1e3, 0.01)]), r"link length must have shape \(\), got \(1,\)"),
        (
            lambda: PlanarPCS.from_links([LinkSpec(0.1, 1e3, 0.01, stiffness=np.eye(6), damping=np.eye(6))]),
            r"link stiffness must have shape \(3, 3\), got \(6, 6\)",
        ),
        (lambda: PCSStructure(num_gauss_points=0), "num_gauss_points must be a whole number of at least 1, got 0"),
        (
            lambda: PlanarPCS(PlanarPCSParams(**FLAT), PCSStructure(strain_selector=[True] * 3)),
            "strain_selector must have 6 flags, got 3",
        ),
        (
            lambda: PlanarPCS(PlanarPCSParams(**FLAT)).with_params(pcs(True, 3).params),
            r"length is part of the layout: expected shape \(2,\), got \(3,\)",
        ),
        (hsa_with(rod_density=[[1.0]]), r"rod_density must have shape \(1, 2\), got \(1, 1\)"),
        (hsa_with(rod_inner_radius=[[0.02, 0.02]]), "rod_outer_radius must exceed rod_inner_radius"),
        (hsa_with(distal_cap_length=[-0.1]), r"distal_cap_length must be non-negative, got"),
        (hsa_with(platform_mass=-1.0), r"platform_mass must be non-negative, got -1.0"),
        (hsa_with(platform_dimension=[[0.1, 0.1]]), r"platform_dimension must have shape \(1, 3\), got \(1, 2\)"),
        (hsa_with(nominal_bending_stiffness=[[np.nan, 1.0]]), "nominal_bending_stiffness must be finite"),
        (hsa_with(hysteresis_basis=[[1.0], [0.0]]), r"hysteresis_basis must have shape \(3, 1\), got \(2, 1\)"),
        (hsa_with(hysteresis_n=None), r"hysteresis_n must have shape \(1,\), got None"),
        (hsa_with(hysteresis_alpha=[np.nan, 1.0, 1.0]), "hysteresis_alpha must be finite"),
        (hsa_with(end_effector_offset=[0.0, np.nan, 0.0]), "end_effector_offset must be finite"),
        (hsa_with(length=0.1), r"length must be \(n,\) and rod_offset \(n, r\), got \(\)"),
        (
            lambda: hsa().with_params(hsa(1, 3).params),
            r"rod_height is part of the layout: expected shape \(1, 2\), got \(1, 3\)",
        ),
    ],
)  # fmt: skip
def test_refusals_name_the_field_the_expectation_and_the_value(build, words, x64):
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: PCS(PlanarPCSParams(**FLAT)), "params must be PCSParams, got PlanarPCSParams"),
        (lambda: PlanarPCS(PlanarPCSParams(**FLAT), 5), "structure must be PCSStructure, got int"),
        (
            lambda: PlanarHSA(hsa().params, PCSStructure()),
            "structure must be PlanarHSAStructure, got PCSStructure",
        ),
        (lambda: hsa().with_params(PlanarPCSParams(**FLAT)), "params must be PlanarHSAParams"),
        (link(colour=1), "unknown link field colour; links have"),
    ],
)
def test_wrong_types_are_refused(build, words, x64):
    with pytest.raises(TypeError, match=words):
        build()


def test_link_params_check_their_strains(x64):
    section = CircularSection([[0.01]])
    with pytest.raises(ValueError, match=r"reference_strain must have shape \(n, 3\) or \(n, 6\), got \(1, 4\)"):
        ContinuumLinkParams([0.1], [1.0], np.zeros((1, 4)), section, np.zeros((1, 4, 4)), np.zeros((1, 4, 4)))


def test_numbers_and_lists_become_arrays_and_arrays_keep_their_precision(x64):
    single = PlanarPCSParams(**{key: jnp.asarray(value, "float32") for key, value in FLAT.items()})
    assert single.link.stiffness.dtype == jnp.float32
    assert PlanarPCSParams(**FLAT).link.stiffness.dtype == jnp.float64
    assert PlanarHSAStructure().consider_underactuation

"""Variable-strain robots: bases, joints, sections, and where they must equal other families."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from soromox.actuation import tendons
from soromox.core import StrainBasis, sections
from soromox.core.bases import FUNCTIONS
from soromox.simulation import LinearlyImplicitMidpoint
from soromox.systems import (
    GVS,
    PCS,
    Circle,
    Ellipse,
    GVSSegment,
    IsotropicMaterialParams,
    JointSpec,
    LinkSpec,
    PCSStructure,
    PlanarGVS,
    Rectangle,
    SystemState,
)
from soromox.systems.cross_sections import SectionProfiles

FOLDER = Path(__file__).parent / "data" / "oracles"
ALL = (True,) * 6
SILICONE = IsotropicMaterialParams(2e5, poisson_ratio=0.45, material_damping_coefficient=200.0)


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_bases_agree_with_the_published_ones(kind, x64):
    data = json.loads((FOLDER / "gvs_basis_functions.json").read_text())
    basis = StrainBasis(kind, data["strain_selector"], data["basis_order"])
    X = jnp.array(data["X"])
    expected = data["bases"][kind]
    assert basis.num_columns == expected["num_columns"]
    np.testing.assert_allclose(basis(X), expected["B"], atol=1e-12)
    slopes = jax.vmap(jax.jacfwd(basis))(X)
    np.testing.assert_allclose(slopes, expected["dB_dX"], atol=1e-11)


def test_a_constant_basis_is_a_pcs_robot(x64):
    """Order 0 on all strains behind fixed joints: every term of the dynamics, and the poses, are those of PCS."""
    links = [LinkSpec(0.2, 1070.0, 0.02, SILICONE), LinkSpec(0.1, 1000.0, 0.015, SILICONE)]
    basis = StrainBasis("legendre", ALL, 0)
    variable = GVS.from_segments([GVSSegment(link, basis) for link in links], scale_rotational_basis_by_length=True)
    constant = PCS.from_links(links, structure=PCSStructure(scale_rotational_basis_by_length=True))
    rng = np.random.default_rng(0)
    q, qd, u = (jnp.asarray(0.3 * rng.normal(size=12)) for _ in range(3))
    s = jnp.array([0.05, 0.2, 0.27])

    @zoo.compiled
    def terms(robot):
        frames = robot.forward_kinematics_abscissa_batched(q, s), robot.jacobian_abscissa_batched(q, s)
        rates = robot.forward_dynamics(0.0, jnp.concatenate([q, qd]), (u,))
        matrices = robot.damping_matrix(q), robot.stiffness_matrix(), robot.coriolis_matrix(q, qd)
        return *frames, *matrices, *robot.dynamics_terms(q, qd), rates

    for ours, expected in zip(terms(variable), terms(constant), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_the_discrete_pose_converges_to_the_rod(x64):
    """Linear curvature: the tangent turns by the integral of the curvature, and the tip error falls as h^4."""
    link, basis = LinkSpec(0.3, 1000.0, 0.02, SILICONE), StrainBasis("monomial", ALL, 1)
    q = jnp.zeros(12).at[jnp.array([2, 3, 4, 5])].set(jnp.array([3.0, 4.0, -2.0, 5.0]))

    def tip(points: int):
        robot = GVS.from_segments([GVSSegment(link, basis, num_gauss_points=points)])
        return zoo.compiled(robot.forward_kinematics)(q, robot.length)

    exact = tip(40)
    errors = [np.abs(tip(points) - exact).max() for points in (4, 8, 16)]
    assert errors[0] / errors[2] > 4**3.3
    assert errors[2] < 1e-6


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical", "cylindrical", "spherical", "planar", "free"])
def test_joints_move_the_frame_as_their_names_say(kind, x64):
    """Rotations turn about the axis and keep its points, travels shift along it, a helix does both."""
    joint = JointSpec(kind, axis="z", plane="xy", pitch=0.1)
    robot = GVS.from_segments([GVSSegment(LinkSpec(0.3, 1000.0, 0.02, SILICONE), StrainBasis("monomial", ALL), joint)])
    count = robot.num_dofs - 6
    q = jnp.linspace(0.3, 0.7, count)
    robot = robot.with_fixed_base_pose(jnp.array([0, 0, 0, 1.0, 0, 0, 0]))
    g = np.asarray(
        zoo.compiled(lambda robot, q: robot.forward_kinematics(q, 0.0))(robot, jnp.concatenate([q, jnp.zeros(6)]))
    )
    R, p = g[:3, :3], g[:3, 3]
    c, s = np.cos(q[0]), np.sin(q[0])
    about_z = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    expected = {
        "revolute": (about_z, [0, 0, 0]),
        "prismatic": (np.eye(3), [0, 0, q[0]]),
        "helical": (about_z, [0, 0, 0.1 * q[0]]),
        "cylindrical": (about_z, [0, 0, q[-1]]),
    }
    if kind in expected:
        np.testing.assert_allclose(R, expected[kind][0], atol=1e-14)
        np.testing.assert_allclose(p, expected[kind][1], atol=1e-14)
    elif kind == "planar":
        np.testing.assert_allclose(R, about_z, atol=1e-14)
        assert p[2] == 0 and np.linalg.norm(p) > 0.3
    else:
        angle = np.arccos((np.trace(R) - 1) / 2)
        np.testing.assert_allclose(angle, np.linalg.norm(q[:3]), atol=1e-12)
        assert (np.linalg.norm(p) > 0) == (kind == "free")


@pytest.mark.parametrize(
    ("section", "area", "iy", "iz"),
    [
        (lambda: Circle(0.1), np.pi * 1e-2, np.pi * 1e-4 / 4, np.pi * 1e-4 / 4),
        (lambda: Ellipse(0.1, 0.2), np.pi * 2e-2, np.pi * 8e-4 / 4, np.pi * 2e-4 / 4),
        (lambda: Rectangle(0.1, 0.2), 2e-2, 8e-4 / 12, 2e-4 / 12),
    ],
)
def test_sections_have_their_textbook_moments(section, area, iy, iz, x64):
    """At the base, and halfway along a link whose tip is twice as large."""
    profiles = SectionProfiles.of([jax.tree.map(lambda x: jnp.array([x, 2 * x]), section())])
    for X, scale in ((0.0, 1.0), (0.5, 1.5)):
        expected = [area * scale**2, iy * scale**4, iz * scale**4]
        np.testing.assert_allclose(np.ravel(profiles.geometry(jnp.full((1, 1), X))), expected, rtol=1e-14)
    assert sections.SHAPES.keys() == {"circle", "ellipse", "rectangle"}


@pytest.mark.slow
@pytest.mark.optimised
def test_sorosims_tendon_driven_rod(x64):
    """SoRoSim's tip trajectory within 1e-6 m RMS: two rods that buckle under gravity and two tendons."""
    data = json.loads((FOLDER / "sorosim_tendon_driven_gvs.json").read_text())
    material = IsotropicMaterialParams(1e6, shear_modulus=1e6 / 3, material_damping_coefficient=1e4)
    basis = StrainBasis("legendre", (1, 1, 1, 1, 0, 0), 1)
    robot = GVS.from_segments(
        [GVSSegment(LinkSpec(0.3, 1000.0, 0.03, material), basis)] * 2,
        scale_rotational_basis_by_length=True,
        actuators=tendons([[0.0, 0.02], [0.02, 0.0]], num_segments=2),
    )
    start = SystemState(0.0, jnp.zeros(robot.state_size))
    solver = LinearlyImplicitMidpoint(robot)
    path = robot.rollout_to(
        start, u=jnp.ones(2), t1=data["t"][-1], save_ts=jnp.array(data["t"]), solver_dt=1e-3, solver=solver
    )
    q = robot.split_state(path.y)[0]
    tips = jax.jit(jax.vmap(lambda q: robot.forward_kinematics(q, robot.length)))(q)[:, :3, 3]
    error = np.asarray(tips) - np.array(data["tip_position"])
    assert np.sqrt((error**2).sum(1).mean()) < 1e-6


def one(floating: bool = False, **changes) -> GVS:
    """A robot of one segment with parts exchanged."""
    parts = dict(link=LinkSpec(0.2, 1000.0, 0.02, SILICONE), basis=StrainBasis("monomial", ALL, 1)) | changes
    return GVS.from_segments([GVSSegment(**parts)], floating_base=floating)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: StrainBasis("spline", ALL), "basis kind must be one of monomial, .*, got 'spline'"),
        (lambda: StrainBasis("monomial", (1, 1)), "basis selector must have 3 or 6 flags .*, got 2 and 2"),
        (
            lambda: StrainBasis("monomial", ALL, (1, 2)),
            "basis selector must have .* order as many numbers, got 6 and 2",
        ),
        (lambda: StrainBasis("monomial", ALL, -1), "basis order must be non-negative, got -1"),
        (lambda: JointSpec("hinge"), "joint kind must be one of fixed, .*, got 'hinge'"),
        (lambda: JointSpec("revolute", axis="w"), "joint axis must be one of x, y, z, got 'w'"),
        (lambda: JointSpec("helical", pitch=np.nan), "joint pitch must be finite"),
        (lambda: one(joint=JointSpec("revolute", stiffness=np.eye(2))), r"joint stiffness must have shape \(1, 1\)"),
        (
            lambda: one(joint=JointSpec("cylindrical", damping=[[1.0, 0.5], [0.0, 1.0]])),
            "joint damping must be symmetric",
        ),
        (
            lambda: one(basis=StrainBasis("monomial", (1, 1, 1))),
            "bases of this robot must select among 6 strains, got 3",
        ),
        (lambda: one(link=LinkSpec(0.2, 1000.0, 0.02)), "needs an isotropic material and no matrices, got no material"),
        (lambda: one(num_gauss_points=0), r"num_gauss_points must be at least 1, got \(0,\)"),
        (lambda: LinkSpec(-0.2, 1000.0, 0.02), "link length must be positive, got -0.2"),
        (lambda: LinkSpec(0.2, 1000.0, 0.02, cross_section=Circle(0.01)), "needs radius or cross_section, got both"),
        (lambda: Circle([0.1, 0.2, 0.3]), r"radius must be a number or a pair \[base, tip\], got shape \(3,\)"),
        (lambda: Rectangle(0.1, -0.2), "width must be positive, got -0.2"),
        (
            lambda: PCS.from_links([LinkSpec(0.2, 1000.0, material=SILICONE, cross_section=Circle([0.1, 0.2]))]),
            "tapering",
        ),
        (lambda: one(joint=JointSpec("revolute"), floating=True), "first joint of a floating robot must be fixed"),
        (lambda: GVS.from_segments([]), "needs at least one segment, got none"),
        (lambda: one().update_params(young_modulus=[-1.0]), r"young_modulus must be positive, got \[-1.0\]"),
        (lambda: one().update_params(length=[0.1, 0.2]), r"length must have shape \(1,\), got \(2,\)"),
        (lambda: PlanarGVS.from_segments([planar(JointSpec("spherical"))]), "joints in the plane must be one of"),
        (lambda: PlanarGVS.from_segments([planar(JointSpec("prismatic", "z"))]), "must be x or y, got 'z'"),
    ],
)
def test_refusals_say_what_was_expected_and_what_came(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def planar(joint: JointSpec) -> GVSSegment:
    return GVSSegment(LinkSpec(0.2, 1000.0, 0.02, SILICONE), StrainBasis("monomial", ALL[:3]), joint)


def test_every_parameter_is_a_leaf_that_gradients_reach(x64):
    """Built and updated inside a gradient; each parameter that matters at this state has a slope."""
    robot = one(joint=JointSpec("helical", pitch=0.1, stiffness=[[0.2]], damping=[[0.1]]))
    q, qd = jnp.full(robot.num_dofs, 0.2), jnp.full(robot.num_dofs, 0.3)

    def acceleration(params):
        return robot.with_params(params).forward_dynamics(0.0, jnp.concatenate([q, qd]))[-1]

    slopes = zoo.compiled(jax.grad(acceleration))(robot.params)
    for path, slope in jax.tree_util.tree_leaves_with_path(slopes):
        name = jax.tree_util.keystr(path)
        assert np.all(np.isfinite(slope)), name
        assert np.any(slope != 0), name

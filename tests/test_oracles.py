"""Reference numbers: `data/oracles/`, cut from the published package's, and SoRoSim's trajectory.

Those numbers carry the published package's Gauss nodes, which are off by about 1e-7; with exact nodes agreement is
max|a - b| <= 1e-6 max|b| an array, 2e-6 for forward dynamics.
"""

import json
from pathlib import Path

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soromox.actuation import tendons
from soromox.simulation import RK4, SemiImplicitEuler
from soromox.systems import (
    PCS,
    CircularSection,
    ContinuumLinkParams,
    PCSParams,
    PCSStructure,
    PlanarHSA,
    PlanarHSAParams,
    PlanarHSAStructure,
    PlanarPCS,
    PlanarPCSParams,
    SystemState,
)

FOLDER = Path(__file__).parent / "data" / "oracles"
CASES = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem.startswith(("planar_", "pcs_")))
SUMS = {
    "potential_energy": ("gravitational_energy", "elastic_energy"),
    "total_energy": ("gravitational_energy", "elastic_energy"),
}
INPUTS = ("q", "qd", "u", "s", "z")
# tips of converged rollouts: what differing Gauss nodes leave of them, m; hysteresis amplifies it at every turn
TIP_TOLERANCE = {"planar_hsa_fpu_hysteresis": 5e-6}
# one of each kind in the default suite, the others are slow
DEFAULT = ("planar_pcs_2seg_tendon", "planar_pcs_2seg_floating", "pcs_2seg_tendon4", "planar_hsa_fpu_hysteresis")
DEFAULT_ROLLOUTS = ("planar_pcs_2seg_tendon", "planar_hsa_fpu_hysteresis")


def cases(default: tuple[str, ...]) -> pytest.MarkDecorator:
    """All files, those outside the default suite marked slow."""
    marks = [pytest.param(name, marks=() if name in default else pytest.mark.slow) for name in CASES]
    return pytest.mark.parametrize("name", marks)


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


def robot_of(case: dict):
    pose = case["base"]["fixed_base_pose"]
    pose = None if pose is None else jnp.array(pose)
    if case["system"] == "PlanarHSA":
        return hsa_of(case, pose)
    link, spatial = case["params"]["link"], case["system"] == "PCS"
    links = ContinuumLinkParams(
        link["length"],
        link["density"],
        link["reference_strain"],
        CircularSection(link["cross_section"]["coefficients"]),
        link["stiffness"],
        link["damping"],
    )
    routing, actuators = case["actuation"], None
    if "intercept_xyz" in routing:
        axes = slice(0, 3) if spatial else slice(1, 2)
        actuators = tendons(
            np.array(routing["intercept_xyz"])[:, axes],
            slope=np.array(routing["slope_xyz_per_m"])[:, axes],
            num_segments=len(link["length"]),
            start=routing["start_segment_index"],
            end=routing["end_segment_index"],
        )
    kind, params = (PCS, PCSParams) if spatial else (PlanarPCS, PlanarPCSParams)
    scaled = case["structure"]["scale_rotational_basis_by_length"]
    return kind(
        params(links, gravity=case["params"]["gravity"], base_pose=pose),
        PCSStructure(scale_rotational_basis_by_length=scaled),
        actuators=actuators,
        floating_base=case["base"]["floating_base"],
    )


def hsa_of(case: dict, pose) -> PlanarHSA:
    """Our model of the published one, which has no pi in the mass of the end caps and none of their lateral inertia.

    Without pi: density over pi. Without the lateral parallel-axis term: a platform as heavy, but narrower by the
    width w' with w'^2 = w^2 - 12 sum rho_c ro^2 l_dc off^2 / (rho_p w h d).
    """
    p = {name: np.array(value) for name, value in case["params"].items() if value not in (None, [])}
    width, height, depth = p["platform_dimension"][0]
    moved = p["end_cap_density"] * p["rod_outer_radius"] ** 2 * p["distal_cap_length"] * p["rod_offset"] ** 2
    narrow = np.sqrt(width**2 - 12 * moved.sum() / (p["platform_density"][0] * width * height * depth))
    p["platform_dimension"] = np.array([[narrow, height, depth * width / narrow]])
    p["end_cap_density"] = p["end_cap_density"] / np.pi
    flags = {name: case["structure"][name] for name in ("consider_underactuation", "consider_hysteresis")}
    return PlanarHSA(PlanarHSAParams(base_pose=pose, **p), PlanarHSAStructure(**flags))


@eqx.filter_jit
def evaluate(robot, q, qd, u, s, z) -> dict:
    """Every quantity that the files have, by its name there."""
    J, J_dot = robot.jacobian_and_time_derivative_abscissa_batched(q, qd, s)
    M, convective, G = robot.dynamics_terms(q, qd)
    out = {
        "actuation_force": robot.actuation_force(q, u),
        "coriolis_times_qd": robot.coriolis_matrix(q, qd) @ qd,
        "dynamics_terms_Cqd": convective,
        "damping_matrix": robot.damping_matrix(q),
        "elastic_energy": robot.elastic_energy(q),
        "elastic_force": robot.elastic_force(q),
        "forward_kinematics": robot.forward_kinematics_abscissa_batched(q, s),
        "gravitational_energy": robot.gravitational_energy(q),
        "gravitational_force": G,
        "inertia_matrix": M,
        "jacobian": J,
        "jacobian_bodyframe": robot.jacobian_bodyframe_abscissa_batched(q, s),
        "jacobian_time_derivative": J_dot,
        "kinetic_energy": robot.kinetic_energy(q, qd),
        "potential_energy": robot.potential_energy(q),
        "total_energy": robot.total_energy(q, qd),
        "forward_dynamics": robot.forward_dynamics(0.0, robot.pack_state(q, qd, z), (u,)),
        "stiffness_matrix": robot.stiffness_matrix(),
    }
    if not isinstance(robot, PlanarHSA):
        return out | {
            "actuation_matrix": robot.actuation_matrix(q),
            "actuator_coordinates": robot.actuator_coordinates(q),
            "actuator_velocities": robot.actuator_velocities(q, qd),
        }
    J_tip, J_tip_dot = robot.jacobian_and_time_derivative_end_effector(q, qd)
    return out | {
        "forward_kinematics_end_effector": robot.forward_kinematics_end_effector(q),
        "forward_kinematics_platform_last": robot.forward_kinematics_platform(q, 0),
        "forward_kinematics_rods_mid": jnp.stack(
            [robot.forward_kinematics_rod(q, robot.length / 2, i) for i in range(robot.num_rods_per_segment)]
        ),
        "jacobian_end_effector": J_tip,
        "jacobian_time_derivative_end_effector": J_tip_dot,
        "physical_strains": robot.virtual_to_physical_strains(robot.strain(q)),
        "hysteresis_force": robot.hysteresis_force(q, z) if robot.consider_hysteresis else jnp.zeros_like(q),
    }


@cases(DEFAULT)
def test_every_quantity_agrees(name, x64):
    case = load(name)
    robot = robot_of(case)
    for sample in case["samples"]:
        arguments = [jnp.array(sample.get(key, [])) for key in INPUTS]
        ours = evaluate(robot, *arguments)
        theirs = {key: value for key, value in sample.items() if key not in INPUTS}
        for key, value in {**theirs, "stiffness_matrix": case["stiffness_matrix"]}.items():
            value = np.array(value)
            # energies that nearly cancel are as exact as their parts
            scale = sum(abs(theirs[part]) for part in SUMS[key]) if key in SUMS else np.abs(value).max(initial=0)
            tolerance = 2e-6 if key == "forward_dynamics" else 1e-6
            assert ours[key].shape == value.shape, key
            assert np.abs(ours[key] - value).max(initial=0) <= tolerance * scale + 1e-14, key


@cases(DEFAULT_ROLLOUTS)
def test_rollouts_meet_the_stored_ones(name, x64):
    case = load(name)
    robot, rollout = robot_of(case), case["rollout"]
    start = SystemState(rollout["t0"], jnp.array(rollout["y0"]))
    step = 2e-4 if isinstance(robot, PlanarHSA) else 5e-5
    path = robot.rollout_to(
        start, u=jnp.array(rollout["u"]), t1=rollout["t1"], save_ts=rollout["t"], solver_dt=step, solver=RK4()
    )
    q = robot.split_state(path.y)[0]
    tips = jax.jit(jax.vmap(lambda q: robot.forward_kinematics(q, robot.length)))(q)
    assert np.abs(tips - np.array(rollout["tip_pose"])).max() < TIP_TOLERANCE.get(name, 1e-6)
    np.testing.assert_allclose(path.t, rollout["t"], atol=1e-12)


@pytest.mark.parametrize("solver", ["SemiImplicitEuler", "Euler", "Tsit5"])
def test_fixed_steps_of_a_floating_robot_agree_step_by_step(solver, x64):
    (run,) = load("integrator_fixed_steps")["runs"]
    case = load("pcs_1seg")
    case["base"] |= {"floating_base": True, "fixed_base_pose": None}
    robot = robot_of(case)
    method = SemiImplicitEuler(robot) if solver == "SemiImplicitEuler" else getattr(diffrax, solver)()
    start = SystemState(0.0, jnp.array(run["y0"]))
    path = robot.rollout_to(
        start, u=jnp.array(run["u"]), t1=run["t"][-1], save_ts=run["t"], solver_dt=run["h"], solver=method
    )
    expected = np.array(run[solver])
    scale = np.abs(expected).max(axis=0)
    assert np.all(np.abs(path.y - expected).max(axis=0) <= 1e-6 * np.maximum(scale, scale.max()))


def test_sorosims_planar_rod(x64):
    """SoRoSim's tip trajectory within 1e-6 m RMS: two rods of 0.3 m under gravity across their axis."""
    data = load("sorosim_planar_pcs")
    params = PlanarPCSParams(
        length=[0.3, 0.3],
        radius=[0.03, 0.03],
        density=[1000.0, 1000.0],
        young_modulus=[1e6, 1e6],
        shear_modulus=[1e6 / 3, 1e6 / 3],
        material_damping_coefficient=[1e4, 1e4],
        gravity=[-9.81, 0.0],
    )
    robot = PlanarPCS(params)
    start = SystemState(0.0, jnp.zeros(robot.state_size))
    path = robot.rollout_to(start, t1=data["t"][-1], save_dt=0.1, solver_dt=5e-5, solver=RK4())
    q = robot.split_state(path.y)[0]
    tips = jax.jit(jax.vmap(lambda q: robot.forward_kinematics(q, robot.length)))(q)[:, 1:]
    error = np.asarray(tips) - np.array(data["tip_position"])[:, [0, 2]]
    assert np.sqrt((error**2).sum(1).mean()) < 1e-6

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

from oracle_robots import robot_of
from soromox.simulation import RK4, SemiImplicitEuler
from soromox.systems import PlanarHSA, PlanarPCS, PlanarPCSParams, SystemState, UMArm
from soromox.systems.articulated import JointChain

FOLDER = Path(__file__).parent / "data" / "oracles"
CASES = sorted(path.stem for path in FOLDER.glob("*.json") if "samples" in json.loads(path.read_text()))
SUMS = {
    "potential_energy": ("gravitational_energy", "elastic_energy"),
    "total_energy": ("gravitational_energy", "elastic_energy"),
}
INPUTS = ("q", "qd", "u", "s", "z")
# tips of converged rollouts: what differing Gauss nodes leave of them, m; hysteresis amplifies it at every turn
TIP_TOLERANCE = {"planar_hsa_fpu_hysteresis": 5e-6}
STEPS = {PlanarHSA: 2e-4, JointChain: 5e-4}  # s
# one of each kind in the default suite, the others are slow
DEFAULT = ("planar_pcs_2seg_tendon", "planar_pcs_2seg_floating", "pcs_2seg_tendon4", "planar_hsa_fpu_hysteresis")
DEFAULT += ("articulated_2link_seed", "pendulum_3link_tendon", "umarm_mckibben")
DEFAULT_ROLLOUTS = ("planar_pcs_2seg_tendon", "planar_hsa_fpu_hysteresis")


def cases(default: tuple[str, ...]) -> pytest.MarkDecorator:
    """All files, those outside the default suite marked slow."""
    marks = [pytest.param(name, marks=() if name in default else pytest.mark.slow) for name in CASES]
    return pytest.mark.parametrize("name", marks)


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


@eqx.filter_jit
def evaluate(robot, q, qd, u, s, z) -> dict:
    """Every quantity that the files have, by its name there."""
    J, J_dot = robot.jacobian_and_time_derivative_abscissa_batched(q, qd, s)
    M, convective, G = robot.dynamics_terms(q, qd)
    C = robot.coriolis_matrix(q, qd)
    out = {
        "actuation_force": robot.actuation_force(q, u),
        "coriolis_matrix": C,
        "coriolis_times_qd": C @ qd,
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
    if isinstance(robot, JointChain):
        out |= {
            f"{quantity}_{at}": getattr(robot, f"{quantity}_{at}")(q)
            for quantity in ("forward_kinematics", "jacobian")
            for at in ("joints", "coms", "tips")
        }
    if isinstance(robot, UMArm):
        out |= {"muscle_effective_lengths": robot.muscle_lengths(q), "muscle_axial_forces": robot.muscle_forces(q, u)}
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
    step = next((h for kind, h in STEPS.items() if isinstance(robot, kind)), 5e-5)
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

"""Our robots for the files in `data/oracles/`: one builder a published class."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from soromox.actuation import articulated_tendons, passive_articulated_tendons, tendons
from soromox.core import StrainBasis
from soromox.systems import (
    GVS,
    PCS,
    ArticulatedSoftRobot,
    ArticulatedSoftRobotParams,
    Circle,
    CircularSection,
    ContinuumLinkParams,
    GVSSegment,
    IsotropicMaterialParams,
    ISupport,
    ISupportParams,
    ISupportStructure,
    LinkSpec,
    PCSParams,
    PCSStructure,
    Pendulum,
    PendulumParams,
    PlanarHSA,
    PlanarHSAParams,
    PlanarHSAStructure,
    PlanarPCS,
    PlanarPCSParams,
    UMArm,
)
from soromox.systems.chain_robot import ChainRobot


def robot_of(case: dict) -> ChainRobot:
    """The robot that a file describes."""
    pose = case["base"]["fixed_base_pose"]
    return BUILDERS[case["system"]](case, None if pose is None else jnp.array(pose))


def routed_tendons(case: dict, axes: slice):
    """The tendons of a file, or None for identity actuation."""
    routing = case["actuation"]
    if "intercept_xyz" not in routing:
        return None
    return tendons(
        np.array(routing["intercept_xyz"])[:, axes],
        slope=np.array(routing["slope_xyz_per_m"])[:, axes],
        num_segments=len(case["params"]["link"]["length"]),
        start=routing["start_segment_index"],
        end=routing["end_segment_index"],
    )


def links_of(case: dict) -> ContinuumLinkParams:
    link = case["params"]["link"]
    return ContinuumLinkParams(
        link["length"],
        link["density"],
        link["reference_strain"],
        CircularSection(link["cross_section"]["coefficients"]),
        link["stiffness"],
        link["damping"],
    )


def pcs_of(case: dict, pose) -> PlanarPCS | PCS:
    spatial = case["system"] == "PCS"
    kind, params = (PCS, PCSParams) if spatial else (PlanarPCS, PlanarPCSParams)
    scaled = case["structure"]["scale_rotational_basis_by_length"]
    return kind(
        params(links_of(case), gravity=case["params"]["gravity"], base_pose=pose),
        PCSStructure(scale_rotational_basis_by_length=scaled),
        actuators=routed_tendons(case, slice(0, 3) if spatial else slice(1, 2)),
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


def gvs_of(case: dict, pose) -> GVS:
    segments = []
    for part in case["structure"]["segments"]:
        link, joint, basis = part["link"], part["joint"], part["basis"]
        assert (link["section"], joint["type"]) == ("CIRCULAR", "fixed")
        radius = link["coefficients"]
        material = IsotropicMaterialParams(
            link["young_modulus"],
            poisson_ratio=link["poisson_ratio"],
            material_damping_coefficient=link["material_damping_coefficient"],
        )
        spec = LinkSpec(
            link["length"],
            link["density"],
            cross_section=Circle(radius if len(radius) == 2 else radius[0]),
            material=material,
            reference_strain=link["reference_strain"],
        )
        functions = StrainBasis(basis["type"], basis["strain_selector"], basis["basis_order"])
        segments.append(GVSSegment(spec, functions, num_gauss_points=part["num_gauss_points"]))
    return GVS.from_segments(
        segments,
        scale_rotational_basis_by_length=case["structure"]["scale_rotational_basis_by_length"],
        gravity=jnp.array(case["params"]["gravity"]),
        base_pose=pose,
        actuators=routed_tendons(case, slice(0, 3)),
    )


def isupport_of(case: dict, pose) -> ISupport:
    p = {name: value for name, value in case["params"].items() if name != "link"}
    params = ISupportParams(link=links_of(case), base_pose=pose, **p)
    return ISupport(params, ISupportStructure(**case["structure"]), floating_base=case["base"]["floating_base"])


def joints_of(case: dict, pose) -> Pendulum | ArticulatedSoftRobot:
    robots = {"Pendulum": (Pendulum, PendulumParams)}
    robot, params = robots.get(case["system"], (ArticulatedSoftRobot, ArticulatedSoftRobotParams))
    actuators, passive, routing = None, (), case["actuation"]
    if "routing_matrix" in routing:
        actuators = articulated_tendons(
            routing["routing_matrix"],
            reference=routing["reference_configuration"],
            offset=routing["coordinate_offset"],
        )
    if "passive" in routing:
        spring = routing["passive"]
        passive = passive_articulated_tendons(
            spring["routing_matrix"],
            stiffness=spring["stiffness"],
            damping=spring["damping"],
            reference=spring["reference_configuration"],
            offset=spring["coordinate_offset"],
        )
    return robot(params(base_pose=pose, **case["params"]), actuators=actuators, passive_elements=passive)


def umarm_of(case: dict, pose) -> UMArm:
    """The preset, which has the file's parameters: a test of its own says so."""
    return UMArm()


BUILDERS: dict[str, Callable[..., ChainRobot]] = {
    "PlanarPCS": pcs_of,
    "PCS": pcs_of,
    "GVS": gvs_of,
    "PlanarHSA": hsa_of,
    "ISupport": isupport_of,
    "Pendulum": joints_of,
    "ArticulatedSoftRobot": joints_of,
    "McKibbenActuatedUMArm": umarm_of,
}

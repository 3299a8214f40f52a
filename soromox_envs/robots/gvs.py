"""GVS: a tapered tentacle with tendons, hanging; its strain varies linearly along the driven part.

The silicone tentacle of the two-tendon identification experiments: a driven link of 0.305 m that tapers from 15.41 to
6.42 mm radius, a passive tip of 0.055 m; Young's modulus 0.304 MPa, Poisson ratio 0.45, density 1310 kg/m^3,
Kelvin-Voigt damping 10 kPa s. The experiments have tendons at 30 and 150 degrees, converging with the taper; the
default adds a third at 270 degrees, so that the tip can be moved in all directions.
"""

import numpy as np

from soromox.actuation import tendons
from soromox.core import StrainBasis
from soromox.systems import GVS, Circle, GVSParams, GVSSegment, IsotropicMaterialParams, LinkSpec
from soromox_envs.robots.model import RobotModel, Scaling, chain_length

MAX_TENSION = 5.0  # N
AZIMUTHS = np.deg2rad([30.0, 150.0, 270.0])
OFFSET, TAPER = 0.0114, -0.0295  # of the tendons: m, m per metre


def _segment(length: float, radii: list[float], strains: tuple[int, ...], order: int) -> GVSSegment:
    material = IsotropicMaterialParams(3.04e5, poisson_ratio=0.45, material_damping_coefficient=1e4)
    link = LinkSpec(length=length, density=1310.0, cross_section=Circle(radii), material=material)
    basis = StrainBasis("monomial", tuple(i in strains for i in range(6)), order)
    return GVSSegment(link, basis, num_gauss_points=8)


def build(published_tendons: bool = False) -> GVS:
    """The tentacle; with ``published_tendons`` the two of the experiments alone."""
    azimuths = AZIMUTHS[:2] if published_tendons else AZIMUTHS
    directions = np.stack([np.cos(azimuths), np.sin(azimuths)], axis=1)
    actuator = tendons(
        (OFFSET * directions).tolist(),
        slope=(TAPER * directions).tolist(),
        num_segments=2,
        end=[0] * len(azimuths),
        max_tension=MAX_TENSION,
    )
    driven = _segment(0.305, [0.01541, 0.00642], (0, 1, 2, 3), 1)
    tip = _segment(0.055, [0.00642, 0.00480], (1, 2), 0)
    return GVS.from_segments(
        [driven, tip],
        scale_rotational_basis_by_length=True,
        base_pose=GVSParams.pose_for("hanging"),
        actuators=actuator,
    )


DRIVEN = tuple(f"{name}_{term}" for name in ("twist", "bend_y", "bend_z", "axial") for term in ("constant", "linear"))

MODEL = RobotModel(
    key="GVS",
    build=build,
    length=chain_length,
    rate_limit=10.0,
    lag=0.02,
    solver="RosenbrockW2",
    solver_dt=0.005,
    actuator_dt=0.005,
    coordinate_names=(*DRIVEN, "tip_bend_y", "tip_bend_z"),
    coordinate_scale=(1.0,) * 6 + (4.0,) * 2 + (1.0,) * 2,
    velocity_scale=(0.1,) * 6 + (0.4,) * 2 + (0.1,) * 2,
    tip_speed_scale=8.0,
    scaled=Scaling(
        ("young_modulus", "shear_modulus", "joint_stiffness"), ("material_damping_coefficient", "joint_damping")
    ),
    max_payload=0.005,
    max_tip_force=0.03,
    body_radius=0.01541,
)

MODELS = {MODEL.key: MODEL}

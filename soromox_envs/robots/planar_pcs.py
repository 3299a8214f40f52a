"""PlanarPCS: a tendon-driven arm of two constant-strain segments in the plane, hanging.

Two segments of 0.15 m and 20 mm radius, Young's modulus 0.5 MPa, incompressible (G = E / 3), density 1070 kg/m^3,
Kelvin-Voigt damping 318 Pa s. A pair of antagonistic tendons at 18 mm ends with each segment.
"""

from soromox.actuation import tendons
from soromox.systems import PlanarPCS, PlanarPCSParams
from soromox_envs.robots.model import LINK_SCALING, RobotModel, chain_length

YOUNG_MODULUS = 0.5e6  # Pa
OFFSET = 0.018  # m
MAX_TENSION = 30.0  # N


def build() -> PlanarPCS:
    """The arm."""
    params = PlanarPCSParams.hanging(
        length=[0.15, 0.15],
        radius=[0.02, 0.02],
        density=[1070.0, 1070.0],
        young_modulus=[YOUNG_MODULUS] * 2,
        shear_modulus=[YOUNG_MODULUS / 3] * 2,
        material_damping_coefficient=[318.0, 318.0],
    )
    actuator = tendons(
        [[OFFSET], [-OFFSET]] * 2,
        num_segments=2,
        end=[0, 0, 1, 1],
        names=[f"tendon_{segment}_{side}" for segment in (0, 1) for side in ("left", "right")],
        max_tension=MAX_TENSION,
    )
    return PlanarPCS(params, actuators=actuator)


MODEL = RobotModel(
    key="PlanarPCS",
    build=build,
    length=chain_length,
    rate_limit=60.0,
    lag=0.02,
    solver="RosenbrockW2",
    solver_dt=1 / 240,
    actuator_dt=1 / 240,
    coordinate_names=tuple(f"{name}_{i}" for i in (0, 1) for name in ("curvature", "axial", "shear")),
    coordinate_scale=(0.1, 4.0, 4.0) * 2,
    velocity_scale=(0.01, 0.4, 0.4) * 2,
    tip_speed_scale=8.0,
    scaled=LINK_SCALING,
    max_payload=0.03,
    max_tip_force=0.5,
    body_radius=0.02,
)

MODELS = {MODEL.key: MODEL}

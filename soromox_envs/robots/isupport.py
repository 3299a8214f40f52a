"""ISupport: two pneumatic sections of three chambers, hanging (Alessi et al., IEEE Access 11, 2023).

Up to 1 bar a chamber. Each section is one piece of constant strain.
"""

from soromox.systems import ISupport, ISupportParams, ISupportStructure
from soromox_envs.robots.model import LINK_SCALING, RobotModel, chain_length

MAX_PRESSURE = 1e5  # Pa


def build() -> ISupport:
    """The published arm."""
    params = ISupportParams.alessi2023(base_pose=ISupportParams.pose_for("hanging"))
    return ISupport(params, ISupportStructure(pcs_segment_counts=(1, 1), max_pressure=MAX_PRESSURE))


MODEL = RobotModel(
    key="ISupport",
    build=build,
    length=chain_length,
    rate_limit=2e5,
    lag=0.05,
    solver="RosenbrockW2",
    solver_dt=0.005,
    actuator_dt=0.005,
    coordinate_names=tuple(
        f"{name}_{i}" for i in (0, 1) for name in ("twist", "bend_y", "bend_z", "axial", "shear_y", "shear_z")
    ),
    coordinate_scale=(0.1, 0.1, 0.1, 4.0, 4.0, 4.0) * 2,
    velocity_scale=(0.01, 0.01, 0.01, 0.4, 0.4, 0.4) * 2,
    tip_speed_scale=8.0,
    scaled=LINK_SCALING,
    max_payload=0.015,
    max_tip_force=0.25,
    body_radius=0.03,
)

MODELS = {MODEL.key: MODEL}

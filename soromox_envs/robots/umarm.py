"""UMArm: a hanging arm of six universal joints and 24 McKibben muscles, with the published parameters.

The joints have no springs: all stiffness is that of the pressurised muscles.
"""

from soromox.systems import UMArm
from soromox.systems.articulated import umarm_muscles
from soromox_envs.robots.model import JOINT_SCALING, RobotModel, chain_length

MAX_PRESSURE = 2e5  # Pa


def build() -> UMArm:
    """The published arm."""
    return UMArm(actuators=umarm_muscles(max_pressure=MAX_PRESSURE))


MODEL = RobotModel(
    key="UMArm",
    build=build,
    length=chain_length,
    rate_limit=4e5,
    lag=0.05,
    solver="RK4",
    solver_dt=0.005,
    actuator_dt=0.005,
    coordinate_names=tuple(f"joint_{i}" for i in range(12)),
    coordinate_scale=(1.0,) * 12,
    velocity_scale=(0.1,) * 12,
    tip_speed_scale=8.0,
    scaled=JOINT_SCALING,
    max_payload=0.1,
    max_tip_force=1.3,
    body_radius=0.047,
)

MODELS = {MODEL.key: MODEL}

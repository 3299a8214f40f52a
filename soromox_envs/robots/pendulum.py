"""Pendulum: two links in the plane, a motor in the first joint, a weak spring in the second; straight up at rest.

Links of 0.25 m and 0.2 kg. Gravity overcomes the spring (0.25 N m/rad would just hold the second link up), and the
motor (0.5 N m of the 0.98 N m that hold the arm out sideways), which has to swing it up.
"""

from math import pi

import numpy as np

from soromox.actuation import joint_efforts
from soromox.systems import Pendulum, PendulumParams
from soromox_envs.robots.model import JOINT_SCALING, RobotModel, chain_length

LENGTH, MASS = 0.25, 0.2  # m, kg
MAX_TORQUE = 0.5  # N m


def build() -> Pendulum:
    """The pendulum; q = 0 is upright, q = [pi, 0] hanging."""
    params = PendulumParams.upright(
        mass=[MASS] * 2,
        length=[LENGTH] * 2,
        center_of_mass_length=[LENGTH / 2] * 2,
        moment_inertia=[MASS * LENGTH**2 / 12] * 2,
        joint_stiffness=np.diag([0.0, 0.2]),
        joint_damping=np.diag([0.01, 0.02]),
        joint_rest_configuration=[0.0, 0.0],
        radius=[0.015] * 2,
    )
    motor = joint_efforts([[1.0, 0.0]], names=["torque"], max_effort=MAX_TORQUE)
    return Pendulum(params, actuators=motor)


MODEL = RobotModel(
    key="Pendulum",
    build=build,
    length=chain_length,
    rate_limit=10.0,
    lag=0.02,
    solver="RK4",
    solver_dt=0.005,
    actuator_dt=0.005,
    coordinate_names=("joint_0", "joint_1"),
    coordinate_scale=(1.0, 1.0),
    velocity_scale=(0.05, 0.03),
    turns=True,
    tip_speed_scale=8.0,
    scaled=JOINT_SCALING,
    max_payload=0.02,
    max_tip_force=0.2,
    body_radius=0.015,
    postures=((pi, 0.0), (0.0, 0.0)),
)

MODELS = {MODEL.key: MODEL}

"""SoftChain: five rigid links on elastic joints with alternating axes, hanging, a torque in every joint.

Links of 0.1 m, solid discs of 20 mm radius and density 1000 kg/m^3; joints of 2 N m/rad and 0.05 N m s/rad, motors of
up to 1.5 N m.
"""

from math import pi

import numpy as np

from soromox.actuation import joint_efforts
from soromox.systems import ArticulatedSoftRobot, ArticulatedSoftRobotParams
from soromox_envs.robots.model import JOINT_SCALING, RobotModel, chain_length

LINKS = 5
LENGTH, RADIUS = 0.1, 0.02  # m
MASS = 1000.0 * pi * RADIUS**2 * LENGTH  # kg
MAX_TORQUE = 1.5  # N m


def build() -> ArticulatedSoftRobot:
    """The chain; its first axis is y, across the first link, which points along x."""
    along_link = np.array([LENGTH, 0.0, 0.0])
    transverse = MASS * (3 * RADIUS**2 + LENGTH**2) / 12
    params = ArticulatedSoftRobotParams.hanging(
        joint_screw=np.eye(6)[1 + np.arange(LINKS) % 2],
        tip_position=np.tile(along_link, (LINKS, 1)),
        center_of_mass_position=np.tile(along_link / 2, (LINKS, 1)),
        mass=np.full(LINKS, MASS),
        center_of_mass_inertia=np.tile(np.diag([MASS * RADIUS**2 / 2, transverse, transverse]), (LINKS, 1, 1)),
        joint_stiffness=2.0 * np.eye(LINKS),
        joint_damping=0.05 * np.eye(LINKS),
        joint_rest_configuration=np.zeros(LINKS),
        parent_to_joint_transform=np.tile(np.eye(4), (LINKS, 1, 1)),
        radius=np.full(LINKS, RADIUS),
    )
    names = [f"torque_{i}" for i in range(LINKS)]
    return ArticulatedSoftRobot(params, actuators=joint_efforts(np.eye(LINKS), names=names, max_effort=MAX_TORQUE))


MODEL = RobotModel(
    key="SoftChain",
    build=build,
    length=chain_length,
    rate_limit=6.0,
    lag=0.02,
    solver="RosenbrockW2",
    solver_dt=0.005,
    actuator_dt=0.005,
    coordinate_names=tuple(f"joint_{i}" for i in range(LINKS)),
    coordinate_scale=(1.0,) * LINKS,
    velocity_scale=(0.1,) * LINKS,
    tip_speed_scale=8.0,
    scaled=JOINT_SCALING,
    max_payload=0.05,
    max_tip_force=0.7,
    body_radius=RADIUS,
)

MODELS = {MODEL.key: MODEL}

"""Chains of joints for the zoo."""

import numpy as np

from soromox.actuation import articulated_tendons, joint_efforts, joint_springs, passive_articulated_tendons
from soromox.systems import ArticulatedSoftRobot, ArticulatedSoftRobotParams, Pendulum, PendulumParams, UMArm
from soromox.systems.articulated import umarm_params


def joint_actuation(n: int) -> dict:
    """Two tendons, a coupled motor, an elastic tendon and a spring, all off their zeros."""
    rows = np.random.default_rng(5).uniform(-0.03, 0.03, (4, n))
    return dict(
        actuators=(
            articulated_tendons(rows[:2], reference=np.linspace(0.1, 0.2, n), offset=[0.01, 0.02]),
            joint_efforts(20 * rows[2:3], offset=[0.3]),
        ),
        passive_elements=(
            passive_articulated_tendons(rows[3:], stiffness=[400.0], damping=[8.0], offset=[0.004]),
            joint_springs([n - 1], num_joints=n, stiffness=[0.4], damping=[0.02], rest=[0.3]),
        ),
    )


def articulated(*, tendons: bool = False, floating: bool = False) -> ArticulatedSoftRobot:
    """A universal joint (its first link without mass and length), a prismatic, a helical and a revolute joint."""
    n = 5
    offsets = np.broadcast_to(np.eye(4), (n, 4, 4)).copy()
    offsets[1, :3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    offsets[3, :3, 3] = [0.0, 0.01, 0.02]
    offsets[4, :3, :3] = [[0.8, 0, 0.6], [0, 1, 0], [-0.6, 0, 0.8]]
    length = np.array([0.0, 0.2, 0.1, 0.15, 0.1])
    tips = length[:, None] * np.array([[0.6, 0.0, 0.8]])
    mass = np.array([0.0, 0.4, 0.3, 0.2, 0.1])
    inertia = np.array([[2e-3, 3e-4, 0.0], [3e-4, 3e-3, -1e-4], [0.0, -1e-4, 4e-3]])
    params = ArticulatedSoftRobotParams(
        joint_screw=[
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.6, 0.0, 0.8],
            [0.0, 0.8, 0.6, 0.01, 0.04, 0.03],
            [1.2, 0.0, 0.0, 0.0, 0.05, 0.0],
        ],
        tip_position=tips,
        center_of_mass_position=0.4 * tips + 0.01,
        mass=mass,
        center_of_mass_inertia=inertia[None] * mass[:, None, None],
        joint_stiffness=np.diag([0.5, 0.4, 0.3, 0.2, 0.1]) + 0.05,
        joint_damping=np.diag([0.05, 0.04, 0.03, 0.02, 0.01]) + 0.01,
        joint_rest_configuration=[0.1, -0.2, 0.02, 0.3, 0.0],
        parent_to_joint_transform=offsets,
        radius=np.full(n, 0.02),
        joint_armature=[0.01, 0.0, 0.02, 0.0, 0.0],
        base_mass=0.5,
        base_inertia=np.diag([1e-2, 2e-2, 3e-2]),
    )
    return ArticulatedSoftRobot(params, floating_base=floating, **(joint_actuation(n) if tendons else {}))


def pendulum(n: int = 3, *, tendons: bool = False, floating: bool = False) -> Pendulum:
    """A slanting pendulum of n unequal links."""
    params = PendulumParams(
        base_pose=[-1.2, 0.1, 0.2],
        mass=[0.4, 0.3, 0.2][:n],
        length=[0.2, 0.15, 0.1][:n],
        center_of_mass_length=[0.12, 0.05, 0.06][:n],
        moment_inertia=[2e-3, 1e-3, 5e-4][:n],
        joint_stiffness=(np.diag([0.5, 0.4, 0.3]) + 0.05)[:n, :n],
        joint_damping=(np.diag([0.05, 0.04, 0.03]) + 0.01)[:n, :n],
        joint_rest_configuration=[0.1, -0.2, 0.3][:n],
        radius=[0.02, 0.018, 0.015][:n],
        base_mass=0.5,
        base_inertia=1e-2,
    )
    return Pendulum(params, floating_base=floating, **(joint_actuation(n) if tendons else {}))


ROBOTS = {
    "articulated": lambda: articulated(),
    "articulated_tendons": lambda: articulated(tendons=True),
    "articulated_floating": lambda: articulated(tendons=True, floating=True),
    "pendulum_1": lambda: pendulum(1),
    "pendulum_tendons": lambda: pendulum(tendons=True),
    "pendulum_floating": lambda: pendulum(tendons=True, floating=True),
    "umarm": lambda: UMArm(umarm_params(base_pose=[0.1, 0.7, 0.3, 0.6, 0.1, 0.2, 1.2])),  # slanting
}
DEFAULT = ("articulated_floating", "pendulum_floating")

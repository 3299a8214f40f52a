"""Chains of rigid links on joints."""

from soromox.systems.articulated.articulated_soft_robot import ArticulatedSoftRobot as ArticulatedSoftRobot
from soromox.systems.articulated.articulated_soft_robot import (
    ArticulatedSoftRobotParams as ArticulatedSoftRobotParams,
)
from soromox.systems.articulated.joint_chain import JointChain as JointChain
from soromox.systems.articulated.joint_chain import JointChainParams as JointChainParams
from soromox.systems.articulated.umarm import UMArm as UMArm
from soromox.systems.articulated.umarm import umarm_muscles as umarm_muscles
from soromox.systems.articulated.umarm import umarm_params as umarm_params

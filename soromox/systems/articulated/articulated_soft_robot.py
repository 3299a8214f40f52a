"""Spatial chains of rigid links on screw joints."""

from typing import ClassVar

import numpy as np
from jax import Array

from soromox.systems.articulated.joint_chain import JointChain, JointChainParams, parameter
from soromox.utils.checks import concrete, require_finite, require_shape, require_symmetric


class ArticulatedSoftRobotParams(JointChainParams):
    """Parameters of n rigid links behind screw joints, on top of those of every chain of joints.

    Points and inertias are given in the post-joint frame of their link.

    Attributes:
        joint_screw: twist ``[w, v]`` of each joint in its joint frame (n, 6), of any pitch, not normalised.
        tip_position: (n, 3), m; zero where the next joint sits on this one, as in a universal joint.
        center_of_mass_position: (n, 3), m.
        center_of_mass_inertia: about the centre of mass (n, 3, 3), kg m^2.
        parent_to_joint_transform: from the previous tip (the base) to the joint frame before its motion (n, 4, 4).
        base_inertia: (3, 3), kg m^2.
    """

    is_planar: ClassVar[bool] = False

    joint_screw: Array = parameter()
    tip_position: Array = parameter()
    center_of_mass_position: Array = parameter()
    center_of_mass_inertia: Array = parameter()
    parent_to_joint_transform: Array = parameter()
    base_inertia: Array = parameter(((0.0,) * 3,) * 3)

    def __check_init__(self):
        n = self.num_links
        for name, shape in (
            ("joint_screw", (n, 6)),
            ("tip_position", (n, 3)),
            ("center_of_mass_position", (n, 3)),
            ("center_of_mass_inertia", (n, 3, 3)),
            ("parent_to_joint_transform", (n, 4, 4)),
        ):
            require_shape(name, getattr(self, name), shape)
            require_finite(name, getattr(self, name))
        require_symmetric("center_of_mass_inertia", self.center_of_mass_inertia)
        screw = concrete(self.joint_screw)
        if screw is not None and not np.all(np.any(screw != 0, axis=1)):
            raise ValueError(f"joint_screw must not hold a zero twist, got {screw.tolist()}")
        require_rigid("parent_to_joint_transform", self.parent_to_joint_transform)


def require_rigid(name: str, g: Array) -> None:
    """ValueError if concrete matrices (..., 4, 4) are not rigid motions to 1e-5."""
    value = concrete(g)
    if value is None:
        return
    R = value[..., :3, :3]
    straight = np.allclose(value[..., 3, :], [0, 0, 0, 1], atol=1e-5)
    if not straight or not np.allclose(R @ np.swapaxes(R, -1, -2), np.eye(3), atol=1e-5) or np.linalg.det(R).min() < 0:
        raise ValueError(f"{name} must hold rigid motions, last row [0, 0, 0, 1], got {value.tolist()}")


class ArticulatedSoftRobot(JointChain):
    """Spatial serial chain of rigid links on screw joints, with joint springs and dampers.

    Frames: ``g_joint = g_parent_tip parent_to_joint``, ``g_link = g_joint exp(screw q)``,
    ``g_tip = g_link translation(tip)``. Arc length runs along the straight lines from joint to tip. Forward dynamics is
    the articulated-body algorithm (Featherstone, 1983), which equals the solve of the dense matrices.
    """

    params_type: ClassVar[type] = ArticulatedSoftRobotParams
    __init__ = JointChain.__init__  # for type checkers, which would make one of the fields

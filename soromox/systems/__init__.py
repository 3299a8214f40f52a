"""Robots, their states and their rollouts."""

from soromox.systems.dynamical_system import DynamicalSystem as DynamicalSystem
from soromox.systems.params import BaseSoftRobotParams as BaseSoftRobotParams
from soromox.systems.pcs import (
    PCS as PCS,
    CircularSection as CircularSection,
    ContinuumLinkParams as ContinuumLinkParams,
    IsotropicMaterialParams as IsotropicMaterialParams,
    LinkSpec as LinkSpec,
    PCSParams as PCSParams,
    PCSStructure as PCSStructure,
    PlanarHSA as PlanarHSA,
    PlanarHSAParams as PlanarHSAParams,
    PlanarHSAStructure as PlanarHSAStructure,
    PlanarPCS as PlanarPCS,
    PlanarPCSParams as PlanarPCSParams,
    PlanarPCSStructure as PlanarPCSStructure,
)
from soromox.systems.soft_robot import SoftRobot as SoftRobot
from soromox.systems.state import SystemState as SystemState

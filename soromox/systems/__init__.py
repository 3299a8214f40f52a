"""Robots, their states and their rollouts."""

from soromox.systems.dynamical_system import DynamicalSystem as DynamicalSystem
from soromox.systems.params import BaseSoftRobotParams as BaseSoftRobotParams
from soromox.systems.pcs import (
    PCS as PCS,
)
from soromox.systems.pcs import (
    CircularSection as CircularSection,
)
from soromox.systems.pcs import (
    ContinuumLinkParams as ContinuumLinkParams,
)
from soromox.systems.pcs import (
    IsotropicMaterialParams as IsotropicMaterialParams,
)
from soromox.systems.pcs import (
    LinkSpec as LinkSpec,
)
from soromox.systems.pcs import (
    PCSParams as PCSParams,
)
from soromox.systems.pcs import (
    PCSStructure as PCSStructure,
)
from soromox.systems.pcs import (
    PlanarHSA as PlanarHSA,
)
from soromox.systems.pcs import (
    PlanarHSAParams as PlanarHSAParams,
)
from soromox.systems.pcs import (
    PlanarHSAStructure as PlanarHSAStructure,
)
from soromox.systems.pcs import (
    PlanarPCS as PlanarPCS,
)
from soromox.systems.pcs import (
    PlanarPCSParams as PlanarPCSParams,
)
from soromox.systems.pcs import (
    PlanarPCSStructure as PlanarPCSStructure,
)
from soromox.systems.soft_robot import SoftRobot as SoftRobot
from soromox.systems.state import SystemState as SystemState

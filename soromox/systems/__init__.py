"""Robots, their states and their rollouts."""

from soromox.systems.articulated import ArticulatedSoftRobot as ArticulatedSoftRobot
from soromox.systems.articulated import ArticulatedSoftRobotParams as ArticulatedSoftRobotParams
from soromox.systems.articulated import UMArm as UMArm
from soromox.systems.cross_sections import Circle as Circle
from soromox.systems.cross_sections import Ellipse as Ellipse
from soromox.systems.cross_sections import Rectangle as Rectangle
from soromox.systems.dynamical_system import DynamicalSystem as DynamicalSystem
from soromox.systems.gvs import GVS as GVS
from soromox.systems.gvs import GVSParams as GVSParams
from soromox.systems.gvs import GVSSegment as GVSSegment
from soromox.systems.gvs import GVSStructure as GVSStructure
from soromox.systems.gvs import JointSpec as JointSpec
from soromox.systems.gvs import PlanarGVS as PlanarGVS
from soromox.systems.gvs import PlanarGVSParams as PlanarGVSParams
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
    ISupport as ISupport,
)
from soromox.systems.pcs import (
    ISupportParams as ISupportParams,
)
from soromox.systems.pcs import (
    ISupportStructure as ISupportStructure,
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
from soromox.systems.pendulum import Pendulum as Pendulum
from soromox.systems.pendulum import PendulumParams as PendulumParams
from soromox.systems.soft_robot import SoftRobot as SoftRobot
from soromox.systems.state import SystemState as SystemState

"""Actuation: transmissions, effort models, metadata, and passive elements."""

from soromox.actuation.core import (
    Actuator as Actuator,
)
from soromox.actuation.core import (
    ActuatorMetadata as ActuatorMetadata,
)
from soromox.actuation.core import (
    ActuatorParams as ActuatorParams,
)
from soromox.actuation.core import (
    DirectEffort as DirectEffort,
)
from soromox.actuation.core import (
    EffortModel as EffortModel,
)
from soromox.actuation.core import (
    PassiveElement as PassiveElement,
)
from soromox.actuation.core import (
    Transmission as Transmission,
)
from soromox.actuation.hsa import HSAMotor as HSAMotor
from soromox.actuation.hsa import RodTransmission as RodTransmission
from soromox.actuation.joint import ArticulatedTendonTransmission as ArticulatedTendonTransmission
from soromox.actuation.joint import IdentityTransmission as IdentityTransmission
from soromox.actuation.joint import JointTransmission as JointTransmission
from soromox.actuation.joint import articulated_tendons as articulated_tendons
from soromox.actuation.joint import identity as identity
from soromox.actuation.joint import joint_efforts as joint_efforts
from soromox.actuation.joint import joint_springs as joint_springs
from soromox.actuation.joint import passive_articulated_tendons as passive_articulated_tendons
from soromox.actuation.mckibben import McKibbenTransmission as McKibbenTransmission
from soromox.actuation.mckibben import mckibben_muscles as mckibben_muscles
from soromox.actuation.threadlike import ThreadlikeTransmission as ThreadlikeTransmission
from soromox.actuation.threadlike import muscles as muscles
from soromox.actuation.threadlike import passive_threads as passive_threads
from soromox.actuation.threadlike import pressure_chambers as pressure_chambers
from soromox.actuation.threadlike import push_rods as push_rods
from soromox.actuation.threadlike import tendons as tendons
from soromox.actuation.visual import ActuatorVisualLayer as ActuatorVisualLayer
from soromox.actuation.visual import visual_layers as visual_layers

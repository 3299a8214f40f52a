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
from soromox.actuation.joint import IdentityTransmission as IdentityTransmission
from soromox.actuation.joint import identity as identity
from soromox.actuation.threadlike import ThreadlikeTransmission as ThreadlikeTransmission
from soromox.actuation.threadlike import tendons as tendons

"""Actuation: transmissions, effort models, metadata, and passive elements."""

from soromox.actuation.core import (
    Actuator as Actuator,
    ActuatorMetadata as ActuatorMetadata,
    ActuatorParams as ActuatorParams,
    DirectEffort as DirectEffort,
    EffortModel as EffortModel,
    PassiveElement as PassiveElement,
    Transmission as Transmission,
)
from soromox.actuation.hsa import HSAMotor as HSAMotor, RodTransmission as RodTransmission
from soromox.actuation.joint import IdentityTransmission as IdentityTransmission, identity as identity
from soromox.actuation.threadlike import ThreadlikeTransmission as ThreadlikeTransmission, tendons as tendons

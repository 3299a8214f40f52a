"""Piecewise-constant-strain robots."""

from soromox.systems.pcs.hsa_params import (
    PlanarHSAParams as PlanarHSAParams,
    PlanarHSAStructure as PlanarHSAStructure,
)
from soromox.systems.pcs.links import (
    CircularSection as CircularSection,
    ContinuumLinkParams as ContinuumLinkParams,
    IsotropicMaterialParams as IsotropicMaterialParams,
    LinkSpec as LinkSpec,
)
from soromox.systems.pcs.pcs import (
    PCS as PCS,
    PCSParams as PCSParams,
    PCSStructure as PCSStructure,
    PlanarPCS as PlanarPCS,
    PlanarPCSParams as PlanarPCSParams,
    PlanarPCSStructure as PlanarPCSStructure,
)
from soromox.systems.pcs.planar_hsa import PlanarHSA as PlanarHSA

"""Piecewise-constant-strain robots."""

from soromox.systems.pcs.hsa_params import (
    PlanarHSAParams as PlanarHSAParams,
)
from soromox.systems.pcs.hsa_params import (
    PlanarHSAStructure as PlanarHSAStructure,
)
from soromox.systems.pcs.isupport import ISupport as ISupport
from soromox.systems.pcs.isupport import ISupportParams as ISupportParams
from soromox.systems.pcs.isupport import ISupportStructure as ISupportStructure
from soromox.systems.pcs.links import (
    CircularSection as CircularSection,
)
from soromox.systems.pcs.links import (
    ContinuumLinkParams as ContinuumLinkParams,
)
from soromox.systems.pcs.links import (
    IsotropicMaterialParams as IsotropicMaterialParams,
)
from soromox.systems.pcs.links import (
    LinkSpec as LinkSpec,
)
from soromox.systems.pcs.pcs import (
    PCS as PCS,
)
from soromox.systems.pcs.pcs import (
    PCSParams as PCSParams,
)
from soromox.systems.pcs.pcs import (
    PCSStructure as PCSStructure,
)
from soromox.systems.pcs.pcs import (
    PlanarPCS as PlanarPCS,
)
from soromox.systems.pcs.pcs import (
    PlanarPCSParams as PlanarPCSParams,
)
from soromox.systems.pcs.pcs import (
    PlanarPCSStructure as PlanarPCSStructure,
)
from soromox.systems.pcs.planar_hsa import PlanarHSA as PlanarHSA

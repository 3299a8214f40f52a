"""Variable-strain robots."""

from soromox.systems.gvs.gvs import GVS as GVS
from soromox.systems.gvs.gvs import PlanarGVS as PlanarGVS
from soromox.systems.gvs.joints import JointSpec as JointSpec
from soromox.systems.gvs.joints import JointType as JointType
from soromox.systems.gvs.params import GVSParams as GVSParams
from soromox.systems.gvs.params import GVSSegment as GVSSegment
from soromox.systems.gvs.params import GVSStructure as GVSStructure
from soromox.systems.gvs.params import PlanarGVSParams as PlanarGVSParams

"""The physics core: segments, the chain of them, and one recursion for every family of robots."""

from soromox.core.bases import StrainBasis as StrainBasis
from soromox.core.chain import Chain as Chain
from soromox.core.chain import rods as rods
from soromox.core.segments import ConstantStrain as ConstantStrain
from soromox.core.segments import Joints as Joints
from soromox.core.segments import Rods as Rods
from soromox.core.segments import Segments as Segments
from soromox.core.variable_strain import VariableStrain as VariableStrain

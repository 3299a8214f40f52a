"""The physics core: segments, the chain of them, and one recursion for every family of robots."""

from soromox.core.chain import Chain as Chain
from soromox.core.chain import rods as rods
from soromox.core.segments import ConstantStrain as ConstantStrain
from soromox.core.segments import Joints as Joints
from soromox.core.segments import Segments as Segments

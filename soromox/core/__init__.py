"""The physics core: segments, the chain of them, and one recursion for every family of robots."""

from soromox.core.chain import Chain as Chain
from soromox.core.segments import ConstantStrain as ConstantStrain, Joints as Joints, Segments as Segments

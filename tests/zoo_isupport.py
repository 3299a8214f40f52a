"""I-SUPPORT arms for the zoo."""

import numpy as np

from soromox.systems import ISupport, ISupportParams, ISupportStructure


def isupport(counts=(1, 1), *, lengths=None, floating: bool = False) -> ISupport:
    """The published arm, hanging, with that many pieces of each pneumatic section."""
    params = ISupportParams.alessi2023(base_pose=ISupportParams.pose_for("hanging"), pcs_segment_lengths=lengths)
    return ISupport(params, ISupportStructure(pcs_segment_counts=counts), floating_base=floating)


ROBOTS = {
    "isupport": lambda: isupport(),
    "isupport_2_3_pieces": lambda: isupport((2, 3), lengths=np.array([0.1, 0.09, 0.05, 0.06, 0.07])),
    "isupport_floating": lambda: isupport(floating=True),
}
DEFAULT = ("isupport",)

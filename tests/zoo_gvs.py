"""Variable-strain robots for the zoo."""

import numpy as np

from soromox.actuation import tendons
from soromox.core import StrainBasis
from soromox.systems import GVS, Circle, Ellipse, GVSSegment, IsotropicMaterialParams, JointSpec, LinkSpec, PlanarGVS
from soromox.systems import Rectangle as Box

SECTIONS = (Circle([0.016, 0.010]), Box(0.02, [0.03, 0.024]), Ellipse([0.012, 0.009], 0.015))
SELECTORS = {True: ("110", "101", "111"), False: ("111100", "011010", "001100")}


def segment(planar: bool, i: int, kind: str, order, joint: JointSpec, points: int) -> GVSSegment:
    """The i-th of three different links, behind a joint."""
    reference = np.zeros(3 if planar else 6)
    reference[len(reference) // 2 - 1 :][:2] = [0.4, 1.0]
    link = LinkSpec(
        length=[0.2, 0.12, 0.1][i],
        density=[1070.0, 1040.0, 1000.0][i],
        cross_section=SECTIONS[i],
        material=IsotropicMaterialParams(
            [2e5, 2.2e5, 2.4e5][i], poisson_ratio=0.45, material_damping_coefficient=200.0
        ),
        reference_strain=reference,
    )
    return GVSSegment(link, StrainBasis(kind, [c == "1" for c in SELECTORS[planar][i]], order), joint, points)


def gvs(planar: bool, segments, *, tendon=False, floating=False, scaled=False) -> GVS:
    """A robot of links ``(kind of basis, order, joint)``; ``tendon`` adds tendons that run along tapering lines."""
    n, actuators = len(segments), None
    parts = [segment(planar, i, kind, order, joint, 6 - i) for i, (kind, order, joint) in enumerate(segments)]
    if tendon:
        k = 1 if planar else 2
        offsets = np.array([[0.008, 0.004], [-0.009, 0.005]])[:, :k]
        actuators = tendons(offsets, slope=-0.01 * np.sign(offsets), num_segments=n, start=[0, n - 1])
    family = PlanarGVS if planar else GVS
    pose = family.params_type.pose_for("hanging")
    return family.from_segments(
        parts,
        base_pose=pose,
        actuators=actuators,
        floating_base=floating,
        scale_rotational_basis_by_length=scaled,
    )


HINGE = JointSpec("revolute", "y", stiffness=[[0.4]], damping=[[0.02]])
BALL = JointSpec("spherical", stiffness=np.diag([0.5, 0.4, 0.3]) + 0.02, damping=np.diag([0.05, 0.04, 0.03]))
SCREW = JointSpec("helical", "z", pitch=0.02)
SLEEVE = JointSpec("cylindrical", "x", stiffness=np.diag([0.3, 40.0]))
TABLE = JointSpec("planar", plane="yz", stiffness=np.diag([0.3, 20.0, 30.0]))
RAIL = JointSpec("prismatic", "x", stiffness=[[30.0]])
FIXED = JointSpec()

ROBOTS = {
    "gvs_1_linear": lambda: gvs(False, [("monomial", 1, FIXED)]),
    "gvs_2_joints_tendons": lambda: gvs(
        False, [("legendre", 2, BALL), ("chebyshev", (0, 1, 2, 0, 1, 0), HINGE)], tendon=True, scaled=True
    ),
    "gvs_3_bumps": lambda: gvs(False, [("gaussian", 1, SCREW), ("imq", 1, SLEEVE), ("fourier", 1, TABLE)]),
    "gvs_2_floating": lambda: gvs(
        False, [("legendre", (0, 1, 1, 0, 0, 0), FIXED), ("monomial", 0, HINGE)], floating=True, tendon=True
    ),
    "planar_gvs_2_tendons": lambda: gvs(True, [("legendre", 2, FIXED), ("fourier", 1, RAIL)], tendon=True),
    "planar_gvs_2_floating": lambda: gvs(
        True, [("monomial", 1, FIXED), ("chebyshev", 1, JointSpec("revolute", stiffness=[[0.3]]))], floating=True
    ),
}
DEFAULT = ("planar_gvs_2_floating",)

"""Robots of handed shearing auxetics for the zoo."""

from math import pi

import numpy as np

from soromox.systems import PlanarHSA, PlanarHSAParams, PlanarHSAStructure
from soromox.systems.pcs.hsa_params import PER_ROD


def hsa(
    n: int = 1, r: int = 2, *, motor: bool = True, hysteresis: bool = False, payload: bool = False, floating=False
) -> PlanarHSA:
    """The FPU control set, hanging, stretched to n segments of r rods."""

    def rods(value):
        return np.full((n, r), value)

    fields = dict(
        length=[0.059, 0.05, 0.055][:n],
        proximal_cap_length=[0.025, 0.01, 0.02][:n],
        distal_cap_length=[0.014, 0.012, 0.01][:n],
        rod_height=np.broadcast_to(np.where(np.arange(r) == 2, -1.0, 1.0), (n, r)),
        rod_outer_radius=rods(0.0127),
        rod_inner_radius=rods(0.01027),
        rod_offset=np.broadcast_to(np.array([-0.024, 0.024, 0.01])[:r], (n, r)),
        reference_strain=np.broadcast_to(np.array([0.3, 0.01, 1.0]), (n, r, 3)),
        strain_coupling=rods(0.00984819),
        platform_dimension=np.broadcast_to(np.array([0.08, 0.012, 0.08]), (n, 3)),
        rod_density=rods(1596.76),
        platform_density=[925.0] * n,
        end_cap_density=[1420.8] * n,
        nominal_bending_stiffness=rods(1.142692754e-3),
        nominal_shear_stiffness=rods(1.182924148),
        nominal_axial_stiffness=rods(11.32944938),
        bending_shear_stiffness=rods(8.96839082e-3),
        bending_stiffness_correction=rods(-1.935121048e-5),
        shear_stiffness_correction=rods(-9.51375922e-4),
        axial_stiffness_correction=rods(3.01633e-2),
        bending_damping=rods(4e-6),
        shear_damping=rods(2e-5),
        axial_damping=rods(1.6e-3),
        phi_max=rods(200 * pi / 180),
    )
    if hysteresis:
        fields |= dict(
            hysteresis_basis=np.tile(np.array([[0.0], [0.0], [1.0]]), (n, 1)),
            hysteresis_alpha=np.tile([0.9, 0.8, 0.6], n),
            hysteresis_A=[1.0],
            hysteresis_n=[1.5],
            hysteresis_beta=[30.0],
            hysteresis_gamma=[1.0],
        )
    if payload:
        fields |= dict(
            platform_mass=0.05, platform_center_of_gravity=[0.01, 0.02], end_effector_offset=[0.3, 0.01, 0.02]
        )
    structure = PlanarHSAStructure(consider_underactuation=motor, consider_hysteresis=hysteresis)
    return PlanarHSA(PlanarHSAParams.hanging(**fields), structure, floating_base=floating)


def four_rods(n: int, **options) -> PlanarHSA:
    """The same robot of pairs of rods, one of each handedness and half as much of everything each ("system_id" set)."""
    robot = hsa(n, 2, **options)
    p = {name: value for name, value in vars(robot.params).items() if value is not None}
    rods = {name: np.repeat(p[name], 2, axis=1) for name in (*PER_ROD, "reference_strain")}
    rods |= {name: rods[name] / 2 for name in PER_ROD if "stiffness" in name or "damping" in name}
    rods |= dict(rod_density=rods["rod_density"] / 2, rod_height=rods["rod_height"] * np.array([[1, -1, 1, -1]]))
    halved = dict(end_cap_density=p["end_cap_density"] / 2)
    return PlanarHSA(PlanarHSAParams(**p | rods | halved), robot.structure, floating_base=robot.floating)


ROBOTS = {
    "hsa_direct": lambda: hsa(motor=False),
    "hsa_motor": lambda: hsa(),
    "hsa_hysteresis": lambda: hsa(hysteresis=True),
    "hsa_2_segments_3_rods_payload": lambda: hsa(2, 3, payload=True),
    "hsa_3_segments_4_rods": lambda: four_rods(3),
    "hsa_floating": lambda: hsa(floating=True, payload=True),
}
DEFAULT = ("hsa_hysteresis", "hsa_2_segments_3_rods_payload")

"""PlanarHSA: one segment, two rods, the FPU control set of Stoelzle et al. 2024, hanging."""

from math import pi

import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.systems import PlanarHSA, PlanarHSAParams, PlanarHSAStructure
from soromox_envs.robots.model import RobotModel, Scaling


def fpu_params() -> PlanarHSAParams:
    """The published control parameters of the FPU robot, hanging under Earth's gravity."""

    def rods(left, right=None):
        return np.array([[left, left if right is None else right]], float)

    return PlanarHSAParams.hanging(
        length=[0.059],
        proximal_cap_length=[0.025],
        distal_cap_length=[0.014],
        rod_height=rods(1),
        rod_outer_radius=rods(0.0127),
        rod_inner_radius=rods(0.01027),
        rod_offset=rods(-0.024, 0.024),
        reference_strain=[[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]],
        strain_coupling=rods(0.00984819),
        platform_dimension=[[0.08, 0.012, 0.08]],
        rod_density=rods(1596.76),
        platform_density=[925.0],
        end_cap_density=[1420.8],
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
        hysteresis_basis=[[0.0], [0.0], [1.0]],
        hysteresis_alpha=[1.0, 1.0, 0.6],
        hysteresis_A=[1.0],
        hysteresis_n=[1.0],
        hysteresis_beta=[30.0],
        hysteresis_gamma=[1.0],
    )


def build(hysteresis: bool = False) -> PlanarHSA:
    """The robot; with ``hysteresis`` the published Bouc-Wen model of the axial strain is part of it."""
    return PlanarHSA(fpu_params(), PlanarHSAStructure(consider_hysteresis=hysteresis))


def length(robot: PlanarHSA) -> Array:
    """Base to end effector along the rest shape, rigid parts included, m: 0.110."""
    p = robot.params
    return jnp.sum(p.length + p.proximal_cap_length + p.distal_cap_length + p.platform_dimension[:, 1])


def tip_offset(robot: PlanarHSA) -> Array:
    """End effector [theta, x, y] relative to the last platform's outer face."""
    return robot.params.end_effector_offset


STIFFNESSES = ("bending_stiffness", "shear_stiffness", "axial_stiffness")
SCALING = Scaling(
    stiffness=(
        "bending_shear_stiffness",
        *(f"nominal_{name}" for name in STIFFNESSES),
        *(f"{name}_correction" for name in STIFFNESSES),
    ),
    damping=("bending_damping", "shear_damping", "axial_damping"),
)

MODEL = RobotModel(
    key="PlanarHSA",
    build=build,
    length=length,
    tip_offset=tip_offset,
    rate_limit=5.8,
    lag=0.0,
    solver="RK4",
    solver_dt=0.005,
    actuator_dt=0.005,
    coordinate_names=("curvature", "shear", "axial"),
    coordinate_scale=(0.1, 4.0, 4.0),
    velocity_scale=(0.01, 0.1, 0.4),
    tip_speed_scale=8.0,
    scaled=SCALING,
    max_payload=0.02,
    max_tip_force=4.0,
    body_radius=0.04,
)

MODELS = {MODEL.key: MODEL}

"""Tendon-driven soft arms of one and two constant-strain segments, hanging.

``PCS``: length 0.25 m, radius 25 mm, Young's modulus 0.25 MPa, density 1070 kg/m^3, four tendons at 20 mm with up to
25 N, the silicone arm of the field's published reaching environment. ``PCS2``: two segments of 0.15 m and 20 mm radius
of the same material; four tendons at 15 mm end with the first segment, four more run through, each with up to 8 N:
with 25 N eight of them would halve its length and throw it about chaotically. The silicone is incompressible
(G = E / 3) and has a Kelvin-Voigt damping of 318 Pa s.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation import tendons
from soromox.core import kinematics
from soromox.systems import PCS, PCSParams
from soromox_envs.robots.model import RobotModel

YOUNG_MODULUS = 0.25e6  # Pa
DAMPING = 318.0  # Pa s
DENSITY = 1070.0  # kg / m^3
STRAINS = ("twist", "bend_y", "bend_z", "axial", "shear_y", "shear_z")


def _arm(lengths: list[float], radius: float, offset: float, max_tension: float) -> PCS:
    n = len(lengths)
    azimuth = np.tile(0.5 * np.pi * np.arange(4), n)
    ends = np.repeat(np.arange(n), 4)
    params = PCSParams.hanging(
        length=lengths,
        radius=np.full(n, radius),
        density=np.full(n, DENSITY),
        young_modulus=np.full(n, YOUNG_MODULUS),
        shear_modulus=np.full(n, YOUNG_MODULUS / 3),
        material_damping_coefficient=np.full(n, DAMPING),
    )
    actuator = tendons(
        jnp.asarray(offset * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)),
        num_segments=n,
        end=ends.tolist(),
        names=[f"tendon_{segment}_{i % 4}" for i, segment in enumerate(ends)],
        max_tension=max_tension,
    )
    return PCS(params, actuators=actuator)


def build_pcs() -> PCS:
    """One segment."""
    return _arm([0.25], 0.025, 0.02, 25.0)


def build_pcs2() -> PCS:
    """Two segments."""
    return _arm([0.15, 0.15], 0.02, 0.015, 8.0)


def length(robot: PCS) -> Array:
    """Length of the rod, m."""
    return robot.length


def tip_pose(robot: PCS, q: Array) -> Array:
    """Homogeneous matrix of the end of the rod."""
    return kinematics.end_pose(robot.assemble(), q)


def _model(key: str, build, segments: int, rate_limit: float, solver: str, solver_dt: float) -> RobotModel:
    return RobotModel(
        key=key,
        build=build,
        length=length,
        tip_pose=tip_pose,
        rate_limit=rate_limit,
        lag=0.02,
        solver=solver,
        solver_dt=solver_dt,
        actuator_dt=solver_dt,
        coordinate_names=tuple(f"{name}_{i}" for i in range(segments) for name in STRAINS),
        coordinate_scale=(0.1, 0.1, 0.1, 4.0, 4.0, 4.0) * segments,
        velocity_scale=(0.01, 0.01, 0.01, 0.4, 0.4, 0.4) * segments,
        tip_speed_scale=8.0,
    )


MODELS = {
    "PCS": _model("PCS", build_pcs, 1, 50.0, "RK4", 0.00625),
    "PCS2": _model("PCS2", build_pcs2, 2, 16.0, "RosenbrockW2", 0.005),
}

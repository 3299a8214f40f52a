"""Tendon-driven soft arms of one and two constant-strain segments, and their kin without gravity.

``PCS``: length 0.25 m, radius 25 mm, Young's modulus 0.25 MPa, density 1070 kg/m^3, four tendons at 20 mm with up to
25 N, the silicone arm of the field's published reaching environment. ``PCS2``: two segments of 0.15 m and 20 mm radius
of the same material; four tendons at 15 mm end with the first segment, four more run through, each with up to 8 N:
with 25 N eight of them would halve its length and throw it about chaotically. The silicone is incompressible
(G = E / 3) and has a Kelvin-Voigt damping of 318 Pa s.

``HemisphereArm``: ``PCS`` as that environment drives it, without gravity and lag, at most 0.5 N a step at 15 Hz.
``Swimmer``: the body of ``PCS2``, its base free, in a medium that carries its weight; its tendons are twice as fast. It
bends and twists, but neither stretches nor shears: those stiff strains would ask for steps below a millisecond, since
a method that damps them, as RosenbrockW2 does, gives a free body a spurious thrust that outswims the drag.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from soromox.actuation import tendons
from soromox.systems import PCS, PCSParams, PCSStructure
from soromox_envs.robots.model import LINK_SCALING, RobotModel, chain_length

YOUNG_MODULUS = 0.25e6  # Pa
DAMPING = 318.0  # Pa s
DENSITY = 1070.0  # kg / m^3
STRAINS = ("twist", "bend_y", "bend_z", "axial", "shear_y", "shear_z")
BASE_COORDINATES = tuple(f"base_{name}" for name in ("qx", "qy", "qz", "qw", "x", "y", "z"))
BASE_VELOCITIES = tuple(f"base_{kind}_{axis}" for kind in ("angular_velocity", "velocity") for axis in "xyz")


def _arm(
    lengths: list[float],
    radius: float,
    offset: float,
    max_tension: float,
    *,
    floating: bool = False,
    structure: PCSStructure | None = None,
    **params: Any,
) -> PCS:
    n = len(lengths)
    azimuth = np.tile(0.5 * np.pi * np.arange(4), n)
    ends = np.repeat(np.arange(n), 4)
    fields: dict[str, Any] = dict(
        radius=radius,
        density=DENSITY,
        young_modulus=YOUNG_MODULUS,
        shear_modulus=YOUNG_MODULUS / 3,
        material_damping_coefficient=DAMPING,
    )
    arrays: dict[str, Any] = {name: np.full(n, value) for name, value in fields.items()}
    material = PCSParams(**{"length": lengths, "base_pose": PCSParams.pose_for("hanging"), **arrays, **params})
    actuator = tendons(
        jnp.asarray(offset * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)),
        num_segments=n,
        end=ends.tolist(),
        names=[f"tendon_{segment}_{i % 4}" for i, segment in enumerate(ends)],
        max_tension=max_tension,
    )
    return PCS(material, structure, actuators=actuator, floating_base=floating)


def build_pcs() -> PCS:
    """One segment."""
    return _arm([0.25], 0.025, 0.02, 25.0)


def build_pcs2() -> PCS:
    """Two segments."""
    return _arm([0.15, 0.15], 0.02, 0.015, 8.0)


def build_hemisphere_arm() -> PCS:
    """One segment without gravity."""
    return _arm([0.25], 0.025, 0.02, 55.0, gravity=np.zeros(3))


def build_swimmer() -> PCS:
    """Two segments, neutrally buoyant, with a floating base."""
    pose = PCSParams.pose_for("horizontal")
    bending = PCSStructure(strain_selector=(True, True, True, False, False, False) * 2)
    weightless = dict(base_pose=pose, gravity=np.zeros(3))
    return _arm([0.15, 0.15], 0.02, 0.015, 8.0, floating=True, structure=bending, **weightless)


def _model(key: str, build: Callable[[], PCS], segments: int, **facts: Any) -> RobotModel:
    common: dict[str, Any] = dict(
        length=chain_length,
        lag=0.02,
        coordinate_names=tuple(f"{name}_{i}" for i in range(segments) for name in STRAINS),
        coordinate_scale=(0.1, 0.1, 0.1, 4.0, 4.0, 4.0) * segments,
        velocity_scale=(0.01, 0.01, 0.01, 0.4, 0.4, 0.4) * segments,
        tip_speed_scale=8.0,
        scaled=LINK_SCALING,
    )
    return RobotModel(key, build, **common | facts)


_PCS = _model(
    "PCS",
    build_pcs,
    1,
    rate_limit=50.0,
    solver="RK4",
    solver_dt=0.00625,
    actuator_dt=0.00625,
    max_payload=0.05,
    max_tip_force=0.8,
    body_radius=0.025,
)
_PCS2 = _model(
    "PCS2",
    build_pcs2,
    2,
    rate_limit=16.0,
    solver="RosenbrockW2",
    solver_dt=0.005,
    actuator_dt=0.005,
    max_payload=0.03,
    max_tip_force=0.3,
    body_radius=0.02,
)
_HEMISPHERE_ARM = replace(
    _PCS,
    key="HemisphereArm",
    build=build_hemisphere_arm,
    rate_limit=7.5,
    lag=0.0,
    instantaneous=True,
    solver_dt=1 / 240,
    actuator_dt=1 / 15,
    control_dt=1 / 15,
)
_BENDING = tuple(f"{name}_{i}" for i in range(2) for name in STRAINS[:3])
_SWIMMER = replace(
    _PCS2,
    key="Swimmer",
    build=build_swimmer,
    rate_limit=32.0,
    solver="RK4",
    solver_dt=0.003125,
    actuator_dt=0.003125,
    coordinate_names=BASE_COORDINATES + _BENDING,
    coordinate_scale=(1.0,) * 4 + (3.0,) * 3 + (0.1,) * 6,
    velocity_names=BASE_VELOCITIES + tuple(f"{name}_rate" for name in _BENDING),
    velocity_scale=(0.1,) * 3 + (1.0,) * 3 + (0.01,) * 6,
    postures=((0.0, 0.0, 0.0, 1.0) + (0.0,) * 9,),
)

MODELS = {model.key: model for model in (_PCS, _PCS2, _HEMISPHERE_ARM, _SWIMMER)}

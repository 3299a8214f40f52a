"""Bad input is refused where it is given, by a ValueError that names the field, the expectation and the value.

Every array of every parameter class is spoiled in turn: a row too many, not a number, a sign that physics excludes.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from soromox.actuation import (
    ActuatorMetadata,
    PassiveElement,
    ThreadlikeTransmission,
    muscles,
    passive_threads,
    pressure_chambers,
    push_rods,
    tendons,
)
from soromox.systems import (
    PCS,
    Circle,
    CircularSection,
    ContinuumLinkParams,
    Ellipse,
    IsotropicMaterialParams,
    ISupportParams,
    JointSpec,
    LinkSpec,
    PCSStructure,
    PlanarPCS,
    Rectangle,
)
from soromox.systems.articulated import umarm_muscles
from zoo_gvs import ROBOTS
from zoo_hsa import hsa
from zoo_joints import articulated, pendulum
from zoo_pcs import pcs

MATERIAL = IsotropicMaterialParams([1e5, 2e5], shear_modulus=[4e4, 5e4], material_damping_coefficient=[10.0, 20.0])
CHECKED: dict[str, Callable[[], Any]] = {
    "PlanarPCSParams": lambda: pcs(True, 2).params,
    "PCSParams": lambda: pcs(False, 2).params,
    "planar links": lambda: pcs(True, 2).params.link,
    "links": lambda: pcs(False, 2).params.link,
    "sections": lambda: CircularSection([[0.01], [0.02]]),
    "material": lambda: MATERIAL,
    "LinkSpec": lambda: LinkSpec(0.1, 1e3, 0.01, MATERIAL, np.eye(6), np.eye(6), np.array([0, 0, 0, 1.0, 0, 0])),
    "PlanarHSAParams": lambda: hsa(2, 3, hysteresis=True, payload=True).params,
    "ISupportParams": lambda: ISupportParams.alessi2023(
        pcs_segment_lengths=[0.19, 0.18], chamber_effective_pressure_area=[6e-5, 6e-5]
    ),
    "threads": lambda: ThreadlikeTransmission([[0.01, 0.0]], [[0.0, 0.0]], [1.0], (0,), (1,)),
    "passive thread": lambda: pcs(True, 2, tendon=True).passive_elements[0],
    "ArticulatedSoftRobotParams": lambda: articulated().params,
    "PendulumParams": lambda: pendulum().params,
    "joint tendons": lambda: pendulum(tendons=True).actuators[0].transmission,
    "joint spring": lambda: pendulum(tendons=True).passive_elements[1],
    "McKibben muscles": lambda: umarm_muscles().transmission,
    "GVSParams": lambda: ROBOTS["gvs_2_joints_tendons"]().params,
    "section profiles": lambda: ROBOTS["gvs_1_linear"]().params.cross_section,
    "circle": lambda: Circle([0.01, 0.02]),
    "ellipse": lambda: Ellipse([0.01, 0.02], 0.03),
    "rectangle": lambda: Rectangle(0.01, 0.02),
    "joint of GVS": lambda: JointSpec("revolute", stiffness=[[1.0]], damping=[[1.0]]),
}
"""One valid object of each class that holds physical values; families add theirs."""
POSITIVE = {"length", "density", "radius", "coefficients", "young_modulus", "shear_modulus"}
POSITIVE |= {"rod_outer_radius", "rod_inner_radius", "rod_density", "pcs_segment_lengths"}
POSITIVE |= {"chamber_inner_radius", "chamber_outer_radius", "chamber_distance", "chamber_effective_pressure_area"}
POSITIVE |= {"semi_axis_y", "semi_axis_z", "height", "width", "base", "tip"}
NON_NEGATIVE = {"material_damping_coefficient", "proximal_cap_length", "distal_cap_length", "platform_dimension"}
NON_NEGATIVE |= {"platform_density", "end_cap_density", "platform_mass", "phi_max", "hysteresis_n"}
NON_NEGATIVE |= {"bending_damping", "shear_damping", "axial_damping"}
POSITIVE |= {"reference_length", "length_offset", "thread_length", "num_turns"}
NON_NEGATIVE |= {"mass", "joint_armature", "base_mass", "moment_inertia"}
NAMES = {"coefficients": "radius"}
SIGNED_ELSEWHERE = {"PassiveElement": {"stiffness", "damping"}}
"""Names that must not be negative in one class only."""


def arrays(thing: Any) -> dict[str, jax.Array]:
    return {name: value for name, value in vars(thing).items() if isinstance(value, jax.Array)}


def spoiled(thing: Any, name: str, value: Any) -> Any:
    return type(thing)(**{**vars(thing), name: value})


def signs(thing: Any, name: str) -> list[float]:
    """Values that the field must not hold."""
    if name in POSITIVE:
        return [-1.0, 0.0]
    return [-1.0] if name in NON_NEGATIVE | SIGNED_ELSEWHERE.get(type(thing).__name__, set()) else []


@pytest.mark.parametrize("key", CHECKED)
def test_every_array_is_checked(key, x64):
    thing = CHECKED[key]()
    for name, value in arrays(thing).items():
        assert jax.tree.structure(spoiled(thing, name, value)) == jax.tree.structure(thing)
        if key != "material":  # the links know its shapes
            with pytest.raises(ValueError, match=r"must .*got"):
                spoiled(thing, name, jnp.stack([value] * 5))
        for bad in (np.nan, np.inf):
            with pytest.raises(ValueError, match=rf"{NAMES.get(name, name)} must .*got .*{bad}"):
                spoiled(thing, name, value.at[(0,) * value.ndim].set(bad))
        for bad in signs(thing, name):
            with pytest.raises(ValueError, match=rf"{NAMES.get(name, name)} must be .*got .*{bad}"):
                spoiled(thing, name, value.at[(0,) * value.ndim].set(bad))


def routed(planar=True, **routing):
    offsets = np.array([[0.01, 0.0]])[:, : 1 if planar else 2]
    return tendons(offsets, num_segments=2, **routing)


def robot(actuators=(), passive=(), planar=True):
    base = pcs(planar, 2)
    return (PlanarPCS if planar else PCS)(base.params, actuators=actuators, passive_elements=passive)


CASES = {
    "a thread beyond the last segment": (lambda: routed(end=[2]), r"end must be one of the segments 0..1, got 2"),
    "a thread that ends before it begins": (lambda: routed(start=[1], end=[0]), "segments from 0 in order, got 1..0"),
    "a thread before the first segment": (lambda: routed(start=[-1]), r"in order, got -1..1"),
    "too many ends": (lambda: routed(end=[0, 1]), r"end must have one segment a thread \(1\), got 2"),
    "a slope of another shape": (lambda: routed(slope=[[0.0, 0.1]]), r"slope must have shape \(1, 1\), got \(1, 2\)"),
    "an offset along the body": (lambda: tendons([[0.1, 0, 0]], num_segments=1), r"x component must be 0, got \[0.1"),
    "offsets in one row": (lambda: tendons([0.01], num_segments=1), r"intercept must have shape .* got \(1,\)"),
    "planar threads in space": (lambda: robot(routed(), planar=False), r"shape \(m, 2\), got \(1, 1\)"),
    "spatial threads in the plane": (lambda: robot(routed(False)), r"shape \(m, 1\), got \(1, 2\)"),
    "a robot with fewer segments": (
        lambda: robot(tendons([[0.01]], num_segments=3)),
        r"end must be one of the segments 0..1, got 2",
    ),
    "an offset outside the body": (
        lambda: robot(tendons([[0.01], [0.016]], num_segments=2)),
        r"must keep thread 1 inside the cross section, got \[0.016\] .* reach 1.07 times",
    ),
    "a slope out of the body": (lambda: robot(routed(slope=[[0.1]])), r"thread 0 inside .* and \[0.1\]"),
    "a passive thread outside the body": (
        lambda: robot(passive=passive_threads([[0.02]], num_segments=2, stiffness=1.0, rest_length=0.2)),
        "must keep thread 0 inside",
    ),
    "a routing that is moved outside": (
        lambda: robot(routed()).update_actuator_params(0, intercept=[[0.03]]),
        "must keep thread 0 inside",
    ),
    "a body that becomes thinner than its routing": (
        lambda: robot(routed()).update_link_params(cross_section=CircularSection([[0.018], [0.005]])),
        "must keep thread 0 inside",
    ),
    "a negative tension": (lambda: routed(max_tension=-1.0), "max_tension must be positive.*got -1.0"),
    "too many tensions": (lambda: routed(max_tension=[1.0, 2.0]), r"one an input \(1\), got \[1.0, 2.0\]"),
    "a limit of muscles": (
        lambda: muscles([[0.01]], num_segments=1, max_tension=np.nan),
        "max_tension must be positive.*got nan",
    ),
    "a limit of rods": (lambda: push_rods([[0.01]], num_segments=1, max_force=0.0), "max_force must be positive"),
    "a chamber without area": (
        lambda: pressure_chambers([[0.01]], 0.0, num_segments=1),
        "area must be positive, got 0.0",
    ),
    "areas of other chambers": (
        lambda: pressure_chambers([[0.01]], [1e-4, 1e-4], num_segments=1),
        r"area must be a number or have shape \(1,\), got \(2,\)",
    ),
    "negative stiffness": (
        lambda: passive_threads([[0.01]], num_segments=1, stiffness=-1.0, rest_length=0.1),
        r"stiffness must be non-negative, got \[-1.0\]",
    ),
    "negative damping": (
        lambda: passive_threads([[0.01]], num_segments=1, stiffness=1.0, rest_length=0.1, damping=-1.0),
        r"damping must be non-negative, got \[-1.0\]",
    ),
    "no rest length": (
        lambda: passive_threads([[0.01]], num_segments=1, stiffness=1.0, rest_length=0.0),
        r"rest_length must be positive, got \[0.0\]",
    ),
    "a passive element of other coordinates": (
        lambda: robot(passive=PassiveElement(routed().transmission, *np.ones((3, 2)))).elastic_force(jnp.zeros(6)),
        r"rest must have shape \(1,\), got \(2,\)",
    ),
    "limits the wrong way round": (
        lambda: ActuatorMetadata("x", ("a",), "N", (1.0,), (0.0,)),
        r"lower must not exceed upper, got \(1.0,\) and \(0.0,\)",
    ),
    "a limit that is no number": (
        lambda: ActuatorMetadata("x", ("a",), "N", (np.nan,), (0.0,)),
        r"lower must not exceed upper, got \(nan,\) and \(0.0,\)",
    ),
    "two inputs of one name": (
        lambda: routed(False).metadata and tendons([[0.01], [0.0]], num_segments=1, names=["a", "a"]),
        r"names must differ, got \('a', 'a'\)",
    ),
    "names for other inputs": (lambda: routed(names=["a", "b"]), "one name and one limit per input, got"),
    "no Gauss point": (lambda: PCSStructure(num_gauss_points=0), "num_gauss_points must be a whole .* got 0"),
    "half a Gauss point": (lambda: PCSStructure(num_gauss_points=2.5), "num_gauss_points must be a whole .* got 2.5"),
    "a structure of another robot": (
        lambda: PCS(pcs(False, 2).params, PCSStructure(strain_selector=[True] * 6), actuators=()),
        "strain_selector must have 12 flags, got 6",
    ),
    "an asymmetric stiffness": (
        lambda: pcs(True, 1).update_link_params(stiffness=np.array([[[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]])),
        "stiffness must be symmetric, its largest asymmetry is 1",
    ),
    "a Poisson ratio": (
        lambda: IsotropicMaterialParams(1e5, poisson_ratio=0.51),
        r"poisson_ratio must lie in \(-1, 0.5\], got 0.51",
    ),
    "a base quaternion of zero": (
        lambda: pcs(False, 1).update_params(base_pose=jnp.zeros(7)),
        "base_pose must have a quaternion other than zero, got",
    ),
    "a state of another size": (
        lambda: pcs(True, 1).forward_dynamics(0.0, jnp.zeros(5), None),
        r"y must have 6 entries along its last axis, got shape \(5,\)",
    ),
    "an input of another size": (
        lambda: pcs(True, 1).forward_dynamics(0.0, jnp.zeros(6), (jnp.zeros(2),)),
        r"must have shape \(3,\), got",
    ),
    "links of unlike strains": (
        lambda: ContinuumLinkParams([0.1], [1.0], np.zeros(6), CircularSection([[0.1]]), np.eye(6), np.eye(6)),
        r"reference_strain must have shape \(n, 3\) or \(n, 6\), got \(6,\)",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusals_say_what_was_expected_and_what_came(case, x64):
    build, words = CASES[case]
    with pytest.raises(ValueError, match=words):
        build()

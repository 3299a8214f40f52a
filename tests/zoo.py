"""The robots over which the laws run, one line each, and the states at which they are tried.

A law evaluates a robot once, in one compiled function, and keeps NumPy arrays; tests of one robot form a group, so that
`pytest -n 2 --dist loadgroup` compiles each robot in one worker only.
"""

from collections.abc import Callable
from functools import cache
from math import pi
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from soromox.actuation import PassiveElement, ThreadlikeTransmission, tendons
from soromox.core import Chain, Joints
from soromox.core.base import pose_from_coordinates
from soromox.systems import (
    PCS,
    BaseSoftRobotParams,
    PCSParams,
    PCSStructure,
    PlanarHSA,
    PlanarHSAParams,
    PlanarHSAStructure,
    PlanarPCS,
    PlanarPCSParams,
)
from soromox.systems.chain_robot import ChainRobot
from soromox.utils.checks import as_float


class JointParams(BaseSoftRobotParams):
    """Screw joints and rigid links, straight on the core: what a later family of articulated robots needs."""

    length: Array = eqx.field(converter=as_float)
    screw: Array = eqx.field(converter=as_float)
    parent_to_joint: Array = eqx.field(converter=as_float)
    tip: Array = eqx.field(converter=as_float)
    mass: Array = eqx.field(converter=as_float)
    center_of_mass: Array = eqx.field(converter=as_float)
    rotational_inertia: Array = eqx.field(converter=as_float)
    stiffness: Array = eqx.field(converter=as_float)
    damping: Array = eqx.field(converter=as_float)
    armature: Array = eqx.field(converter=as_float)
    base_inertia: Array = eqx.field(converter=as_float)


class PlanarJointParams(JointParams):
    is_planar: ClassVar[bool] = True


class SpatialJointParams(JointParams):
    is_planar: ClassVar[bool] = False


class JointRobot(ChainRobot):
    """A chain of joints through the public interface."""

    def __init__(self, params: JointParams, *, floating_base: bool = False):
        self._install(params, None, None, (), None, floating_base)

    @property
    def num_dofs(self) -> int:
        return self.params.length.shape[0]

    def assemble(self) -> Chain:
        p, G = self.params, self.group
        inertia = jax.vmap(G.rigid_inertia)(p.mass, p.center_of_mass - p.tip, p.rotational_inertia)
        return Chain(
            segments=Joints(self.is_planar, p.length, inertia, p.screw, p.parent_to_joint, p.tip),
            base=pose_from_coordinates(self.is_planar, p.base_pose),
            gravity=p.gravity,
            stiffness=p.stiffness,
            damping=p.damping,
            rest=jnp.zeros_like(p.length),
            floating=self.floating,
            armature=p.armature,
            base_inertia=p.base_inertia if self.floating else None,
        )


def joints(planar: bool, floating: bool = False) -> JointRobot:
    """A planar arm of three joints, or a spatial one with a revolute, a prismatic and a helical joint."""
    n = 3
    shared = dict(
        length=np.array([0.2, 0.15, 0.1]),
        mass=[0.4, 0.3, 0.2],
        stiffness=np.diag([0.5, 0.4, 0.3]) + 0.05,
        damping=np.diag([0.05, 0.04, 0.03]) + 0.01,
        armature=[0.01, 0.0, 0.02],
    )
    if planar:
        tips = shared["length"][:, None] * np.array([[1.0, 0.0]])
        return JointRobot(
            PlanarJointParams(
                screw=[[1.0, 0.0, 0.0], [1.0, 0.02, 0.0], [0.0, 0.1, 1.0]],
                parent_to_joint=[[0.0, 0.0, 0.0], [0.3, 0.01, 0.0], [-0.2, 0.0, 0.02]],
                tip=tips,
                center_of_mass=0.4 * tips + 0.01,
                rotational_inertia=[2e-3, 1e-3, 5e-4],
                base_inertia=np.diag([1e-2, 0.5, 0.5]),
                **shared,
            ),
            floating_base=floating,
        )
    offsets = np.broadcast_to(np.eye(4), (n, 4, 4)).copy()
    offsets[1, :3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    offsets[2, :3, 3] = [0.0, 0.01, 0.02]
    tips = shared["length"][:, None] * np.array([[0.6, 0.0, 0.8]])
    return JointRobot(
        SpatialJointParams(
            screw=[[0.0, 0.0, 1.0, 0, 0, 0], [0, 0, 0, 0.0, 1.0, 0.0], [0.0, 0.8, 0.6, 0.01, 0.04, 0.03]],
            parent_to_joint=offsets,
            tip=tips,
            center_of_mass=0.4 * tips + 0.01,
            rotational_inertia=np.diag([2e-3, 3e-3, 4e-3])[None] * np.array([1.0, 0.5, 0.3])[:, None, None],
            base_inertia=np.diag([1e-2, 2e-2, 3e-2, 0.5, 0.5, 0.5]),
            **shared,
        ),
        floating_base=floating,
    )


def pcs(planar: bool, n: int, *, selector=None, scaled: bool = False, tendon: bool = False, floating: bool = False):
    """A PCS robot of n soft rods; ``tendon`` adds routed tendons and a passive thread; a slight reference curvature."""
    d = 3 if planar else 6
    reference = np.zeros((n, d))
    reference[:, d // 2] = 1.0
    reference[:, d // 2 - 1] = 0.4
    fields = dict(
        length=[0.12, 0.10, 0.08][:n],
        radius=[0.018, 0.015, 0.012][:n],
        density=[1070.0, 1040.0, 1000.0][:n],
        young_modulus=[2e5, 2.2e5, 2.4e5][:n],
        shear_modulus=[7e4, 7.5e4, 8e4][:n],
        material_damping_coefficient=[200.0, 240.0, 280.0][:n],
        reference_strain=reference,
    )
    robot, params = (PlanarPCS, PlanarPCSParams) if planar else (PCS, PCSParams)
    active = None if selector is None else tuple(bool(int(c)) for c in selector)
    structure = PCSStructure(strain_selector=active, scale_rotational_basis_by_length=scaled)
    actuators, passive = None, ()
    if tendon:
        k = 1 if planar else 2
        last = n - 1
        actuators = tendons(
            np.array([[0.012, 0.004], [-0.012, 0.006], [0.002, -0.014]])[:, :k],
            slope=np.array([[-0.02, 0.01], [0.02, 0.0], [0.0, 0.03]])[:, :k],
            num_segments=n,
            start=[0, 0, last],
            end=[0, last, last],
        )
        line = ThreadlikeTransmission(
            jnp.array([[0.009, -0.008]])[:, :k], jnp.zeros((1, k)), jnp.ones(1), (0,), (last,)
        )
        passive = PassiveElement(line, jnp.array([30.0]), jnp.array([0.2]), jnp.array([0.19]))
    return robot(
        params.hanging(**fields), structure, actuators=actuators, passive_elements=passive, floating_base=floating
    )


def hsa(
    n: int = 1, r: int = 2, *, motor: bool = True, hysteresis: bool = False, payload: bool = False, floating=False
) -> PlanarHSA:
    """The FPU control set, hanging, stretched to n segments of r rods."""

    def rods(value):
        return np.full((n, r), value)

    fields = dict(
        length=[0.059, 0.05][:n],
        proximal_cap_length=[0.025, 0.01][:n],
        distal_cap_length=[0.014, 0.012][:n],
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


ZOO: dict[str, Callable[[], ChainRobot]] = {
    "planar_pcs_1": lambda: pcs(True, 1),
    "planar_pcs_3_selector": lambda: pcs(True, 3, selector="110101010"),
    "planar_pcs_2_scaled_tendons": lambda: pcs(True, 2, scaled=True, tendon=True),
    "planar_pcs_2_floating": lambda: pcs(True, 2, floating=True),
    "pcs_1": lambda: pcs(False, 1),
    "pcs_2_scaled_selector": lambda: pcs(False, 2, selector="011100111011", scaled=True),
    "pcs_2_tendons": lambda: pcs(False, 2, tendon=True),
    "pcs_2_floating": lambda: pcs(False, 2, floating=True, tendon=True),
    "hsa_direct": lambda: hsa(motor=False),
    "hsa_motor": lambda: hsa(),
    "hsa_hysteresis": lambda: hsa(hysteresis=True),
    "hsa_2_segments_3_rods_payload": lambda: hsa(2, 3, payload=True),
    "hsa_floating": lambda: hsa(floating=True, payload=True),
    "joints_planar": lambda: joints(True),
    "joints_spatial": lambda: joints(False),
    "joints_planar_floating": lambda: joints(True, floating=True),
    "joints_spatial_floating": lambda: joints(False, floating=True),
}
DEFAULT = (
    "planar_pcs_3_selector",
    "planar_pcs_2_scaled_tendons",
    "pcs_2_scaled_selector",
    "pcs_2_floating",
    "hsa_hysteresis",
    "hsa_2_segments_3_rods_payload",
    "joints_planar_floating",
    "joints_spatial_floating",
)
"""Robots of the default suite; every part of the others is in one of these."""
FEW = ("planar_pcs_2_scaled_tendons", "pcs_2_floating", "hsa_hysteresis")
"""One robot a family, for laws that cost much."""


def over(names=tuple(ZOO), default=DEFAULT) -> pytest.MarkDecorator:
    """Runs a test over robots of the zoo, as its argument ``name``; those not in ``default`` are slow."""
    slow = {name: [] if name in default else [pytest.mark.slow] for name in names}
    group = pytest.mark.xdist_group
    return pytest.mark.parametrize("name", [pytest.param(n, marks=[group(n), *slow[n]]) for n in names])


def compiled(function: Callable) -> Callable:
    """``eqx.filter_jit`` for functions that run once: compiling fast matters more than running fast."""
    options = {
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
        "xla_cpu_use_fusion_emitters": False,
    }
    return eqx.filter_jit(function, compiler_options=options)


class Sample(NamedTuple):
    """States (rows of every array) at which a law is tried; the last one has the internal coordinates at zero."""

    q: Array
    qd: Array
    z: Array
    u: Array
    tau: Array


@cache
def build(name: str, dtype: str = "float64") -> ChainRobot:
    """The robot of that name; its arrays have the given dtype."""
    with jax.enable_x64(True):
        robot = ZOO[name]()
        return jax.tree.map(lambda x: x.astype(dtype), robot)


def scale(robot: ChainRobot) -> np.ndarray:
    """Size (N,) of large internal coordinates: 4 rad/m of bending, 15 % of stretch and shear, 0.8 rad of a joint."""
    if isinstance(robot, JointRobot):
        return np.full(robot.num_dofs, 0.8)
    d = robot.group.dim
    strain = np.tile([4.0] * (d // 2) + [0.15] * (d - d // 2), robot.num_segments)
    B = np.asarray(robot.B_xi)
    return B.T @ strain / (B**2).sum(0)


def samples(robot: ChainRobot, seed: int = 0, random: int = 2) -> Sample:
    """``random`` states of large amplitude, and one with the internal coordinates at zero."""
    rng = np.random.default_rng(seed)
    rows = random + 1
    with jax.enable_x64(True):
        size = scale(robot)
    internal = rng.uniform(-1, 1, (rows, robot.num_internal_dofs)) * size
    internal[-1] = 0
    base = rng.normal(size=(rows, robot.num_base_coordinates))
    if robot.floating_base and not robot.is_planar:
        base[:, :4] /= np.linalg.norm(base[:, :4], axis=1, keepdims=True)
    rates = rng.uniform(-5, 5, (rows, robot.num_internal_dofs)) * size
    base_rates = rng.normal(size=(rows, robot.num_base_velocities))
    z = rng.uniform(-0.02, 0.02, (rows, robot.num_auxiliary_states))
    u = rng.uniform(0.2, 1.0, (rows, robot.num_actuators)) * (3.0 if isinstance(robot, PlanarHSA) else 0.5)
    tau = rng.normal(size=(rows, robot.num_velocities))
    dtype = jax.tree.leaves(robot)[0].dtype
    parts = (np.hstack([base, internal]), np.hstack([base_rates, rates]), z, u, tau)
    with jax.enable_x64(True):
        return Sample(*(jnp.asarray(x, dtype) for x in parts))

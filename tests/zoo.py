"""The robots over which the laws run, one line each, and the states at which they are tried.

The robots are in `zoo_<family>.py`, each with its table `ROBOTS` and the names of its `DEFAULT` ones: those of the
default suite, in which every part of the others is. A law evaluates a robot once, in one compiled function, and keeps
NumPy arrays; tests of one robot form a group, so that `pytest -n 2 --dist loadgroup` compiles each in one worker only.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import zoo_gvs
import zoo_hsa
import zoo_isupport
import zoo_joints
import zoo_pcs
from soromox.systems import PlanarHSA
from soromox.systems.chain_robot import ChainRobot

FAMILIES = (zoo_pcs, zoo_gvs, zoo_hsa, zoo_isupport, zoo_joints)
ZOO: dict[str, Callable[[], ChainRobot]] = {name: make for family in FAMILIES for name, make in family.ROBOTS.items()}
DEFAULT = tuple(name for family in FAMILIES for name in family.DEFAULT)
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
    chain, d = robot.assemble(), robot.group.dim
    strain = np.array([4.0] * (d // 2) + [0.15] * (d - d // 2))
    n, k = chain.num_segments, chain.segments.width
    reach = np.zeros((n, k))
    if hasattr(chain.segments, "strain_field"):
        basis = np.asarray(chain.segments.strain_field(jnp.zeros((n, k))).B)
        reach = np.abs(basis / strain[:, None]).max(axis=(1, 2))
    return np.asarray(chain.gather(np.where(reach > 0, 1 / np.where(reach > 0, reach, 1), 0.8)))


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
    with jax.enable_x64(True):
        stiffness = np.diag(np.asarray(compiled(type(robot).stiffness_matrix)(robot)))[-robot.num_internal_dofs :]
    # of the size of the elastic forces: a force of size 1 on an inertia of 1e-8 would try round-off and nothing else
    elastic = np.where(stiffness > 0, stiffness * size, 1.0)
    tau = rng.normal(size=(rows, robot.num_velocities)) * np.append(np.ones(robot.num_base_velocities), elastic)
    dtype = jax.tree.leaves(robot)[0].dtype
    parts = (np.hstack([base, internal]), np.hstack([base_rates, rates]), z, u, tau)
    with jax.enable_x64(True):
        return Sample(*(jnp.asarray(x, dtype) for x in parts))

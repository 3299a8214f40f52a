"""Serial chains of rigid links on one-coordinate joints: what the planar and the spatial family share."""

from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation import Actuator, PassiveElement
from soromox.core import Chain, Joints, kinematics
from soromox.core.base import pose_from_coordinates
from soromox.systems.chain_robot import ChainRobot
from soromox.systems.params import BaseSoftRobotParams
from soromox.utils.checks import (
    as_float,
    concrete,
    require_finite,
    require_positive,
    require_shape,
    require_symmetric,
)


def parameter(default: Any = ...) -> Any:
    """A differentiable field, by keyword."""
    given = {} if default is ... else {"default": default}
    return eqx.field(converter=as_float, kw_only=True, **given)


class JointChainParams(BaseSoftRobotParams):
    """Parameters of n rigid links, each behind its joint. SI units; joint quantities per rad or m of joint motion.

    Attributes:
        mass: of the links (n,), kg; may be zero where a joint has armature or the next link's mass.
        joint_stiffness, joint_damping: symmetric (n, n).
        joint_rest_configuration: without elastic force (n,).
        radius: of the links, for renderers (n,), m.
        joint_armature: inertia on the diagonal of M (n,), as of a rotor behind its gears; zero when omitted.
        base_mass: of the base, its centre at the base's origin, kg; a floating base needs one.
        base_inertia: rotational, about that centre, (3, 3) in space and a number in the plane, kg m^2.
    """

    mass: Array = parameter()
    joint_stiffness: Array = parameter()
    joint_damping: Array = parameter()
    joint_rest_configuration: Array = parameter()
    radius: Array = parameter()
    joint_armature: Array | None = parameter(None)
    base_mass: Array = parameter(0.0)
    base_inertia: Array = parameter(0.0)

    @property
    def num_links(self) -> int:
        """Number of links."""
        if np.ndim(self.mass) != 1:
            raise ValueError(f"mass must have one entry a link, shape (n,), got {np.shape(self.mass)}")
        return self.mass.shape[0]

    def __check_init__(self):
        n = self.num_links
        armature = () if self.joint_armature is None else ("joint_armature",)
        for name in ("mass", "radius", *armature):
            require_shape(name, getattr(self, name), (n,))
            require_positive(name, getattr(self, name), allow_zero=name != "radius")
        require_shape("joint_rest_configuration", self.joint_rest_configuration, (n,))
        require_finite("joint_rest_configuration", self.joint_rest_configuration)
        for name in ("joint_stiffness", "joint_damping"):
            require_shape(name, getattr(self, name), (n, n))
            require_finite(name, getattr(self, name))
            require_symmetric(name, getattr(self, name))
        require_shape("base_mass", self.base_mass, ())
        require_positive("base_mass", self.base_mass, allow_zero=True)
        require_shape("base_inertia", self.base_inertia, () if self.is_planar else (3, 3))
        require_finite("base_inertia", self.base_inertia)
        if not self.is_planar:
            require_symmetric("base_inertia", self.base_inertia)


# what the pages call the parameters
ATTRIBUTES = {
    "joint_screw": "joint_screw",
    "g_parent_joint": "parent_to_joint_transform",
    "p_tip": "tip_position",
    "p_com": "center_of_mass_position",
    "m": "mass",
    "I_com": "center_of_mass_inertia",
    "g": "gravity",
    "K": "joint_stiffness",
    "D": "joint_damping",
    "q_ref_k": "joint_rest_configuration",
    "r": "radius",
}


def _alias(name: str) -> property:
    return property(lambda self: getattr(self.params, name), doc=f"``params.{name}``.")


class JointChain(ChainRobot):
    """A serial chain of rigid links on one-coordinate joints, with springs and dampers in the joints.

    A subclass names its parameter class, which gives ``joint_screw``, ``parent_to_joint_transform``, ``tip_position``,
    ``center_of_mass_position`` and ``center_of_mass_inertia``, as fields or derived from its own.

    Raises:
        TypeError: parameters of another class.
        ValueError: a floating base without inertia, or an actuator that does not fit the chain.
    """

    params_type: ClassVar[type] = JointChainParams

    def __init__(
        self,
        params: Any,
        *,
        actuators: Actuator | tuple[Actuator, ...] | None = None,
        passive_elements: PassiveElement | tuple[PassiveElement, ...] | None = (),
        base_pose: Array | None = None,
        floating_base: bool = False,
        eps: float | None = None,
    ):
        if not isinstance(params, self.params_type):
            raise TypeError(f"params must be {self.params_type.__name__}, got {type(params).__name__}")
        self._install(params, None, actuators, passive_elements, base_pose, floating_base, eps)

    def _checked(self) -> Self:
        if self.floating:
            _require_massive_base(self.params)
        return super()._checked()

    locals().update({name: _alias(field) for name, field in ATTRIBUTES.items()})

    @property
    def num_dofs(self) -> int:
        return self.num_links

    @property
    def num_links(self) -> int:
        """Number of links, and of joints."""
        return self.params.num_links

    @property
    def num_segments(self) -> int:
        return self.num_links

    @property
    def supports_articulated_tendon_routing(self) -> bool:
        return True

    @property
    def segment_length(self) -> Array:
        square = jnp.sum(self.params.tip_position**2, axis=1)
        # a root whose slope stays finite for links without length
        return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)

    @property
    def total_length(self) -> Array:
        """Total backbone length, m."""
        return self.length

    def assemble(self) -> Chain:
        p, G = self.params, self.group
        offset = p.center_of_mass_position - p.tip_position
        segments = Joints(  # pyright: ignore[reportCallIssue], which takes a property for a field
            planar=self.is_planar,
            length=self.segment_length,
            screw=p.joint_screw,
            parent_to_joint=p.parent_to_joint_transform,
            tip=p.tip_position,
            tip_inertia=jax.vmap(G.rigid_inertia)(p.mass, offset, p.center_of_mass_inertia),
        )
        base_inertia = None
        if self.floating:
            base_inertia = G.rigid_inertia(p.base_mass, jnp.zeros_like(p.gravity), p.base_inertia)
        return Chain(
            segments=self._loaded(segments),
            base=pose_from_coordinates(self.is_planar, p.base_pose),
            gravity=p.gravity,
            stiffness=p.joint_stiffness,
            damping=p.joint_damping,
            rest=p.joint_rest_configuration,
            floating=self.floating,
            armature=p.joint_armature,
            base_inertia=base_inertia,
        )

    def forward_kinematics_joints(self, q: Array) -> Array:
        """Poses (n, *pose) of the joint frames before the joint motion, fixed to the parent links."""
        G = self.group
        return jax.vmap(G.compose)(kinematics.segment_bases(self.assemble(), q), self.params.parent_to_joint_transform)

    def forward_kinematics_coms(self, q: Array) -> Array:
        """Poses (n, *pose) of the centres of mass, in the axes of the links."""
        G = self.group
        return jax.vmap(G.compose)(kinematics.point_poses(self.assemble(), q)[:, -1], self._tip_to_com())

    def jacobian_joints(self, q: Array) -> Array:
        """Jacobians (n, 3 or 6, nv) of ``forward_kinematics_joints``, rows ``[w, v]`` in world axes."""
        G = self.group
        to_joint = jax.vmap(G.inverse_adjoint)(self.params.parent_to_joint_transform)
        J = to_joint @ kinematics.base_jacobians(self.assemble(), q)
        return self._in_world_axes(self.forward_kinematics_joints(q), J)

    def jacobian_coms(self, q: Array) -> Array:
        """Jacobians (n, 3 or 6, nv) of the centres of mass, rows ``[w, v]`` in world axes."""
        g, J, _ = self._at_coms(q, jnp.zeros(self.num_velocities, q.dtype))
        return self._in_world_axes(g, J)

    def integration_kinematics(self, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Homogeneous poses, body Jacobians and their rates at the centres of mass, leading axes (n, 1)."""
        g, J, J_dot = self._at_coms(q, qd)
        return jax.vmap(self.group.matrix)(g)[:, None], J[:, None], J_dot[:, None]

    def cross_section_geometry(self, q: Array, s: Array) -> tuple[Array, Array]:
        """``(kind, dimensions)`` of the section at ``s`` for renderers: kind 0 is a disc of radius dimensions[0], m."""
        index, _ = self.classify_segment(s)
        return jnp.asarray(0, jnp.int32), self.params.radius[index][None]

    def _tip_to_com(self) -> Array:
        return jax.vmap(self.group.translation)(self.params.center_of_mass_position - self.params.tip_position)

    def _at_coms(self, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Poses, body Jacobians and their rates at the centres of mass."""
        chain, G = self.assemble(), self.group

        def link(tip, offset):
            frame, rate = kinematics.jacobian_rate_at(chain, q, qd, tip)
            X = G.inverse_adjoint(offset)
            return G.compose(frame.g, offset), X @ frame.J, X @ rate

        return jax.vmap(link)(self._tips(), self._tip_to_com())

    def _in_world_axes(self, g: Array, J: Array) -> Array:
        return jax.vmap(kinematics.world_jacobian, in_axes=(None, 0, 0))(self.group, g, J)


def _require_massive_base(params: JointChainParams) -> None:
    """ValueError for a base that could turn against the first joint without moving any mass: M would be singular."""
    mass, inertia = concrete(params.base_mass), concrete(params.base_inertia)
    if mass is None or inertia is None:
        return
    if not mass > 0 or not np.linalg.eigvalsh(np.atleast_2d(inertia)).min() > 0:
        raise ValueError(
            "a floating chain of joints needs a base with mass and rotational inertia, or its mass matrix is singular: "
            f"give base_mass > 0 and a positive definite base_inertia, got {mass.tolist()} and {inertia.tolist()}"
        )

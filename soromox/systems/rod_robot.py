"""What robots made of deformable rods share."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import jax
from jax import Array

from soromox.actuation import Actuator, PassiveElement
from soromox.core import rods
from soromox.systems.chain_robot import ChainRobot
from soromox.systems.cross_sections import SectionProfiles


class RodRobot(ChainRobot):
    """A chain of rods; a family names its parameter and structure classes and implements ``assemble``.

    Args:
        params: physical parameters.
        structure: static settings; the family's defaults when omitted.
        actuators: identity actuation of the internal coordinates when None, none when ``()``.
        passive_elements: springs and dampers along transmissions.
        base_pose: wins over the pose in the params.
        floating_base: whether the base moves.
        eps: kept for callers; the series behind the tangent operators need none.

    Raises:
        TypeError: params or structure of another class.
        ValueError: a structure, actuator or passive element that does not fit the params.
    """

    params_type: ClassVar[type]
    structure_type: ClassVar[type]

    def __init__(
        self,
        params: Any,
        structure: Any = None,
        *,
        actuators: Actuator | tuple[Actuator, ...] | None = None,
        passive_elements: PassiveElement | tuple[PassiveElement, ...] | None = (),
        base_pose: Array | None = None,
        floating_base: bool = False,
        eps: float | None = None,
    ):
        structure = self.structure_type() if structure is None else structure
        for value, kind, name in (
            (params, self.params_type, "params"),
            (structure, self.structure_type, "structure"),
        ):
            if not isinstance(value, kind):
                raise TypeError(f"{name} must be {kind.__name__}, got {type(value).__name__}")
        self._install(params, structure, actuators, passive_elements, base_pose, floating_base, eps)

    def _checked(self) -> Self:
        self.structure.check(self.params)
        return super()._checked()

    @property
    @abstractmethod
    def section_profiles(self) -> SectionProfiles:
        """Cross sections of the segments, where threads may run."""

    def integration_kinematics(self, q: Array, qd: Array) -> tuple[Array, Array, Array]:
        """Homogeneous poses, body Jacobians and their rates at the quadrature points, leading axes (n, num points)."""
        chain = self.assemble()
        field = rods(chain).strain_field(chain.scatter(chain.internal(q)))
        s = field.s + chain.segment_ends[:-1, None]
        J, J_dot = self.jacobian_and_time_derivative_bodyframe_abscissa_batched(q, qd, s.reshape(-1))
        poses = self.forward_kinematics_abscissa_batched(q, s.reshape(-1))
        g = jax.vmap(self.group.matrix)(poses)
        g, J, J_dot = (x.reshape(s.shape + x.shape[1:]) for x in (g, J, J_dot))
        return g, J, J_dot

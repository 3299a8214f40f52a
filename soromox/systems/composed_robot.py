"""What a robot is put together from, and copies with some of it exchanged."""

from collections.abc import Callable
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from soromox.actuation import Actuator, ActuatorMetadata, PassiveElement, identity
from soromox.systems.params import BaseSoftRobotParams
from soromox.systems.soft_robot import SoftRobot


class ComposedRobot(SoftRobot):
    """A soft robot of parameters, a static structure, actuators and passive elements; nothing else is stored.

    Attributes:
        params: physical parameters, differentiable.
        structure: static settings of the family.
        actuators: installed actuators, in the order of the inputs.
        passive_elements: installed springs and dampers.
        floating: whether the base moves.
        eps: the tolerance that the constructor was given; the series behind the tangent operators need none.
    """

    params: Any
    structure: Any = eqx.field(static=True)
    actuators: tuple[Actuator, ...]
    passive_elements: tuple[PassiveElement, ...]
    floating: bool = eqx.field(static=True)
    eps: float | None = eqx.field(static=True)

    @property
    def floating_base(self) -> bool:
        return self.floating

    @property
    def is_planar(self) -> bool:
        return self.params.is_planar

    def _install(
        self,
        params: BaseSoftRobotParams,
        structure: Any,
        actuators: Actuator | tuple[Actuator, ...] | None,
        passive_elements: PassiveElement | tuple[PassiveElement, ...] | None,
        base: Array | None,
        floating: bool,
        eps: float | None = None,
    ) -> None:
        """Set the fields; ``actuators=None`` is identity actuation, ``()`` none; a ``base`` wins over the params."""
        self.params = params if base is None else params.replace(base_pose=base)
        self.structure = structure
        self.floating = bool(floating)
        self.eps = None if eps is None else float(eps)
        self.passive_elements = _as_tuple(passive_elements, PassiveElement, "passive_elements")
        if actuators is None:
            self.actuators = (identity(self.num_internal_dofs),)
        else:
            self.actuators = _as_tuple(actuators, Actuator, "actuators")
        self._checked()

    def _checked(self) -> Self:
        """This robot, unless an actuator or a passive element does not fit it."""
        for member in (*self.actuators, *self.passive_elements):
            member.transmission.check(self)
        return self

    def _driven(self) -> tuple[Actuator, ...]:
        """The actuators at work: those installed, unless a family derives its own from its params."""
        return self.actuators

    @property
    def num_actuators(self) -> int:
        return sum(actuator.num_inputs for actuator in self._driven())

    @property
    def actuator_input_metadata(self) -> tuple[ActuatorMetadata, ...]:
        return tuple(actuator.metadata for actuator in self._driven())

    def with_params(self, params: Any) -> Self:
        """A copy with all physical parameters replaced; the layout (segments, rods, states) must stay.

        Raises:
            TypeError: parameters of another class.
            ValueError: an array of another shape, or one more or less.
        """
        if not isinstance(params, type(self.params)):
            raise TypeError(f"params must be {type(self.params).__name__}, got {type(params).__name__}")
        expected, given = _shapes(self.params), _shapes(params)
        for name in expected | given:
            if expected.get(name) != given.get(name):
                raise ValueError(
                    f"{name} is part of the layout: expected shape {expected.get(name)}, got {given.get(name)}; "
                    "build a new robot instead"
                )
        return eqx.tree_at(lambda robot: robot.params, self, params)._checked()

    def update_params(self, **updates: Any) -> Self:
        """A copy with named parameter fields replaced."""
        return self.with_params(self.params.replace(**updates))

    def with_actuator_params(self, index: int, params: Any) -> Self:
        """A copy with all parameters of one actuator replaced."""
        return self._exchange("actuators", index, lambda actuator: actuator.with_params(params))

    def update_actuator_params(self, index: int, **updates: Any) -> Self:
        """A copy with named parameters of one actuator replaced."""
        return self._exchange("actuators", index, lambda actuator: actuator.update_params(**updates))

    def with_passive_element_params(self, index: int, params: Any) -> Self:
        """A copy with one passive element replaced by another of the same kind."""
        return self._exchange("passive_elements", index, lambda element: element.with_params(params))

    def update_passive_element_params(self, index: int, **updates: Any) -> Self:
        """A copy with named fields of one passive element replaced."""
        return self._exchange("passive_elements", index, lambda element: element.update_params(**updates))

    def _exchange(self, group: str, index: int, change: Callable) -> Self:
        members = getattr(self, group)
        if not 0 <= index < len(members):
            raise ValueError(f"{group} has {len(members)} entries, so index {index} does not exist")
        changed = members[:index] + (change(members[index]),) + members[index + 1 :]
        return eqx.tree_at(lambda robot: getattr(robot, group), self, changed)._checked()


def _shapes(params: Any) -> dict[str, tuple[int, ...]]:
    """Shape of every parameter by its name."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {jax.tree_util.keystr(path, simple=True, separator="."): jnp.shape(leaf) for path, leaf in leaves}


def _as_tuple(members: Any, kind: type, name: str) -> tuple:
    members = () if members is None else members
    members = (members,) if isinstance(members, kind) else tuple(members)
    for member in members:
        if not isinstance(member, kind):
            raise TypeError(f"{name} must hold {kind.__name__} objects, got {type(member).__name__}")
    return members

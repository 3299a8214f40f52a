"""Parameter classes: physical values as differentiable leaves."""

from collections.abc import Callable
from functools import partial
from math import cos, pi, sin
from typing import Any, ClassVar, Self

import equinox as eqx
import numpy as np
from jax import Array

from soromox.utils.checks import as_float, concrete, field_list, require_finite, require_positive, require_shape

EARTH_GRAVITY = 9.81  # m/s^2


class BaseSoftRobotParams(eqx.Module):
    """Parameters that every soft robot has: where its base is, and gravity.

    Attributes:
        base_pose: planar ``[theta, x, y]`` or spatial ``[qx qy qz qw x y z]``; upright when omitted.
        gravity: world-frame acceleration (2,) or (3,), m/s^2; Earth's, downwards, when omitted.
        payload_mass: point mass at the tip of the last segment (), kg; None, which costs nothing, when omitted.
    """

    is_planar: ClassVar[bool]
    backbone_angle: ClassVar[float] = 0.0
    """Direction of a planar backbone in its own base frame, rad: 0 along local x, pi/2 along local y."""

    base_pose: Array = eqx.field(default=None, converter=as_float, kw_only=True)
    gravity: Array = eqx.field(default=None, converter=as_float, kw_only=True)
    payload_mass: Array | None = eqx.field(default=None, converter=lambda x: _or_default(_nothing, x), kw_only=True)

    def __init_subclass__(cls, **kwargs: Any):
        """Give the two fields the defaults of the subclass's dimension, whichever way it is constructed."""
        super().__init_subclass__(**kwargs)
        if not hasattr(cls, "is_planar"):
            return
        defaults = {"base_pose": lambda: cls.pose_for("upright"), "gravity": cls._earth_gravity}
        for name, default in defaults.items():
            converter = partial(_or_default, default)
            setattr(cls, name, eqx.field(default=None, converter=converter, kw_only=True))
            cls.__annotations__ = {**cls.__dict__.get("__annotations__", {}), name: Array}

    @classmethod
    def _earth_gravity(cls) -> Array:
        return as_float([0.0, -EARTH_GRAVITY] if cls.is_planar else [0.0, 0.0, -EARTH_GRAVITY])

    def __check_init__(self):
        require_shape("base_pose", self.base_pose, (3,) if self.is_planar else (7,))
        require_shape("gravity", self.gravity, (2,) if self.is_planar else (3,))
        if self.payload_mass is not None:
            require_shape("payload_mass", self.payload_mass, ())
            require_positive("payload_mass", self.payload_mass, allow_zero=True)
        require_finite("base_pose", self.base_pose)
        require_finite("gravity", self.gravity)
        pose = concrete(self.base_pose)
        if not self.is_planar and pose is not None and not np.any(pose[:4]):
            raise ValueError(f"base_pose must have a quaternion other than zero, got {pose.tolist()}")

    @classmethod
    def pose_for(cls, orientation: str) -> Array:
        """Base pose at the origin with the straight backbone ``"horizontal"``, ``"upright"`` or ``"hanging"``."""
        angles = {"horizontal": 0.0, "upright": pi / 2, "hanging": -pi / 2}
        if orientation not in angles:
            raise ValueError(f"orientation must be one of {', '.join(angles)}, got {orientation!r}")
        angle = angles[orientation]
        if cls.is_planar:
            # unwrapped angles are kept in (-pi, pi]
            theta = (angle - cls.backbone_angle + pi) % (2 * pi) - pi
            return as_float(np.array([pi if theta == -pi else theta, 0, 0]))
        half = -angle / 2
        return as_float(np.array([0, sin(half), 0, cos(half), 0, 0, 0]))

    @classmethod
    def horizontal(cls, *args: Any, **kwargs: Any) -> Self:
        """Parameters with the backbone along world x."""
        return cls(*args, base_pose=cls.pose_for("horizontal"), **kwargs)

    @classmethod
    def upright(cls, *args: Any, **kwargs: Any) -> Self:
        """Parameters with the backbone upwards."""
        return cls(*args, base_pose=cls.pose_for("upright"), **kwargs)

    @classmethod
    def hanging(cls, *args: Any, **kwargs: Any) -> Self:
        """Parameters with the backbone downwards."""
        return cls(*args, base_pose=cls.pose_for("hanging"), **kwargs)

    def replace(self, **updates: Any) -> Self:
        """A validated copy with named fields replaced.

        Raises:
            ValueError: an unknown field, or a value that its field does not allow.
        """
        fields = vars(self)
        unknown = updates.keys() - fields.keys()
        if unknown:
            raise ValueError(f"unknown {type(self).__name__} field {field_list(unknown)}; it has {field_list(fields)}")
        return type(self)(**{**fields, **updates})


def _nothing() -> None:
    return None


def _or_default(default: Callable[[], Any], value: Any) -> Any:
    return default() if value is None else as_float(value)

"""The interface through which the physics core sees SE(2) and SE(3)."""

from typing import ClassVar, Protocol

from jax import Array


class Group(Protocol):
    """A group of rigid motions, as a stateless class of pure functions on one element.

    Twists and wrenches are angular first. A *pose* is the group's public representation: ``[theta, x, y]``
    (theta unwrapped) for SE(2), a 4x4 homogeneous matrix for SE(3).

    Attributes:
        dim: dimension ``d`` of the algebra, 3 or 6.
        space: dimension of the Euclidean space, 2 or 3.
        angular: number of angular components of a twist, 1 or 3.
        degree: degree of ``polynomials``, 2 or 4.
        pose_shape: shape of a pose, ``(3,)`` or ``(4, 4)``.
    """

    dim: ClassVar[int]
    space: ClassVar[int]
    angular: ClassVar[int]
    degree: ClassVar[int]
    pose_shape: ClassVar[tuple[int, ...]]

    @staticmethod
    def identity(dtype) -> Array: ...

    @staticmethod
    def compose(g: Array, h: Array) -> Array: ...

    @staticmethod
    def inverse(g: Array) -> Array: ...

    @staticmethod
    def exp(x: Array) -> Array:
        """Pose reached by the constant body twist ``x`` (d,) in unit time."""
        ...

    @staticmethod
    def log(g: Array) -> Array:
        """The twist whose exponential is ``g``: the shortest in space, that of the unwrapped angle in the plane."""
        ...

    @staticmethod
    def tangent(x: Array) -> Array:
        """Body tangent operator (d, d): ``int_0^1 Ad(exp(-s x)) ds``, so exp'(x)[dx] has body twist T(x) dx."""
        ...

    @staticmethod
    def polynomials(z: Array) -> Array:
        """Operators of ``exp(x)`` as polynomials in ``ad(x)``, for twists of squared angle ``z`` (rad^2).

        Coefficients (3, degree) of ``ad(x) .. ad(x)^degree``: of the inverse adjoint less the identity, of the body
        tangent operator less the identity, and the derivatives of the latter's with respect to ``z``.
        """
        ...

    @staticmethod
    def ad(x: Array) -> Array:
        """Matrix (d, d) of the Lie bracket ``y -> [x, y]``."""
        ...

    @staticmethod
    def coad(h: Array) -> Array:
        """Matrix (d, d) of ``x -> ad(x)^T h``, for a wrench or momentum ``h``."""
        ...

    @staticmethod
    def adjoint(g: Array) -> Array: ...

    @staticmethod
    def inverse_adjoint(g: Array) -> Array:
        """``adjoint(inverse(g))``: takes twists of the base of ``g`` to its end."""
        ...

    @staticmethod
    def rotation(g: Array) -> Array: ...

    @staticmethod
    def position(g: Array) -> Array: ...

    @staticmethod
    def translation(p: Array) -> Array:
        """Pure translation by ``p`` (space,)."""
        ...

    @staticmethod
    def rotate(R: Array, twist: Array) -> Array:
        """Express a twist (d,) or the rows of a Jacobian (d, n) in axes rotated by ``R``."""
        ...

    @staticmethod
    def pose_rate(g: Array, x: Array) -> Array:
        """Rate of the stored pose (same shape) when ``g`` moves with body twist ``x``."""
        ...

    @staticmethod
    def mass_moment(inertia: Array) -> tuple[Array, Array]:
        """Mass and first moment ``m c`` (space,) of a spatial inertia (d, d)."""
        ...

    @staticmethod
    def rigid_inertia(mass: Array, center: Array, rotational: Array) -> Array:
        """Spatial inertia (d, d) about the frame of a body with its inertia given about the centre of mass."""
        ...

    @staticmethod
    def matrix(g: Array) -> Array:
        """Homogeneous matrix of a pose."""
        ...

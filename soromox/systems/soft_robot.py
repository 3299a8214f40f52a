"""The public interface of every soft robot."""

from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
from jax import Array

from soromox.actuation import ActuatorMetadata, ActuatorVisualLayer
from soromox.autodiff import custom_jvp_enabled
from soromox.core.kinematics import world_jacobian
from soromox.core.segments import group_of
from soromox.lie import Group
from soromox.systems import analytic_derivatives as analytic
from soromox.systems.configuration import ConfigurationSpace
from soromox.systems.kinematic_variants import variants
from soromox.systems.statics import MAX_STEPS, STAGES, Equilibrium, equilibrium

ExecutionBackend = Literal["jax", "warp"]


def check_backend(backend: ExecutionBackend | None) -> None:
    """Only JAX executes; any other name is refused."""
    if backend == "warp":
        raise NotImplementedError("the warp backend does not exist yet; leave backend=None or choose 'jax'")
    if backend not in (None, "jax"):
        raise ValueError(f"backend must be None, 'jax' or 'warp', got {backend!r}")


class SoftRobot(ConfigurationSpace):
    """A soft robot: ``M(q) qdd + C(q, qd) qd + G(q) + tau_el(q) + D(q) qd = A(q) e(u) + tau_ext``.

    Public methods dispatch to protected hooks and carry analytic derivative rules; a subclass provides the hooks (or
    the public methods) it has, the others follow by automatic differentiation. Poses are ``[theta, x, y]`` or 4x4;
    Jacobians have rows ``[w, v]`` in world axes, the linear ones being the velocity of the material point, and one
    column per generalised velocity.
    """

    @property
    def length(self) -> Array:
        """Total backbone length, m."""
        raise NotImplementedError(f"{type(self).__name__} must define length")

    @property
    def actuator_input_metadata(self) -> tuple[ActuatorMetadata, ...]:
        """Metadata groups in the order in which controls are concatenated."""
        return ()

    def actuator_visual_layers(
        self, q: Array, s_points: Array, *, actuator_inputs: Array | None = None
    ) -> tuple[ActuatorVisualLayer, ...]:
        """Geometry of the active and passive elements for renderers, at the configuration q (nq,).

        Args:
            s_points: arc lengths (k,), m, of the points on a line along the whole body.
            actuator_inputs: actuation (num_actuators,), handed to the layers.
        """
        return ()

    @property
    def supports_articulated_tendon_routing(self) -> bool:
        """Whether joint indices describe a serial articulated routing."""
        return False

    @property
    def group(self) -> Group:
        """SE(2) or SE(3)."""
        return group_of(self.is_planar)

    def precompute(self) -> None:
        """Nothing is cached, so there is nothing to refresh."""

    def forward_kinematics(self, q: Array, s: Array, *, backend: ExecutionBackend | None = None) -> Array:
        """Pose of the material point at arc length ``s`` (m)."""
        check_backend(backend)
        if custom_jvp_enabled():
            return analytic.forward_kinematics(self, q, s)
        return self._forward_kinematics(q, s)

    def forward_kinematics_arc_length_derivative(self, q: Array, s: Array) -> Array:
        """Derivative of ``forward_kinematics`` with respect to ``s``, same shape."""
        return self._forward_kinematics_arc_length_derivative(q, s)

    def forward_kinematics_and_arc_length_derivative(self, q: Array, s: Array) -> tuple[Array, Array]:
        """``forward_kinematics`` and its derivative with respect to ``s``."""
        return self._forward_kinematics_and_arc_length_derivative(q, s)

    def forward_kinematics_and_jacobian_inertialframe(
        self, q: Array, s: Array, *, backend: ExecutionBackend | None = None
    ) -> tuple[Array, Array]:
        """Pose and Jacobian in one traversal."""
        check_backend(backend)
        return self.forward_kinematics(q, s), self.jacobian(q, s)

    def jacobian(self, q: Array, s: Array, *, backend: ExecutionBackend | None = None) -> Array:
        """Jacobian (3 or 6, nv) at arc length ``s``, rows ``[w, v]`` in world axes."""
        check_backend(backend)
        if custom_jvp_enabled():
            return analytic.jacobian(self, q, s)
        return self._jacobian(q, s)

    def jacobian_arc_length_derivative(self, q: Array, s: Array) -> Array:
        """Derivative of ``jacobian`` with respect to ``s``."""
        return self._jacobian_and_arc_length_derivative(q, s)[1]

    def jacobian_and_arc_length_derivative(self, q: Array, s: Array) -> tuple[Array, Array]:
        """``jacobian`` and its derivative with respect to ``s``."""
        return self._jacobian_and_arc_length_derivative(q, s)

    def jacobian_and_time_derivative(self, q: Array, qd: Array, s: Array) -> tuple[Array, Array]:
        """``jacobian`` and its time derivative along ``qd``."""
        return self._jacobian_and_time_derivative(q, qd, s)

    def jacobian_bodyframe(self, q: Array, s: Array) -> Array:
        """The same velocity as ``jacobian``, in the axes of the material frame at ``s``."""
        return self._jacobian_bodyframe(q, s)

    def jacobian_arc_length_derivative_bodyframe(self, q: Array, s: Array) -> Array:
        """Derivative of ``jacobian_bodyframe`` with respect to ``s``."""
        return self.jacobian_and_arc_length_derivative_bodyframe(q, s)[1]

    def jacobian_and_arc_length_derivative_bodyframe(self, q: Array, s: Array) -> tuple[Array, Array]:
        """``jacobian_bodyframe`` and its derivative with respect to ``s``."""
        return jax.jvp(lambda s: self._jacobian_bodyframe(q, s), (s,), (jnp.ones_like(s),))

    def jacobian_and_time_derivative_bodyframe(self, q: Array, qd: Array, s: Array) -> tuple[Array, Array]:
        """``jacobian_bodyframe`` and its time derivative along ``qd``."""
        rate = self.configuration_derivative(q, qd)
        return jax.jvp(lambda q: self._jacobian_bodyframe(q, s), (q,), (rate,))

    def _tips(self) -> Any:
        """What the hooks take as ``s`` at the ends of all segments, leading axis n."""
        return self.L_cum[1:]

    locals().update(variants())

    def _defines(self, name: str) -> bool:
        """Whether a subclass overrides that public method."""
        return next(c for c in type(self).__mro__ if name in vars(c)) is not SoftRobot

    def _public_instead(self, name: str, *args: Array) -> Array:
        """The public method, where a subclass defines that instead of the protected hook."""
        if not self._defines(name):
            arguments = "q, s" if len(args) == 2 else "q"
            raise NotImplementedError(f"{type(self).__name__} must define _{name}({arguments})")
        return getattr(self, name)(*args)

    if TYPE_CHECKING:  # type checkers do not see the table

        def __getattr__(self, name: str) -> Any: ...

    def _forward_kinematics(self, q: Array, s: Array) -> Array:
        return self._public_instead("forward_kinematics", q, s)

    def _forward_kinematics_arc_length_derivative(self, q: Array, s: Array) -> Array:
        s = jnp.asarray(s, q.dtype)
        return jax.jvp(lambda s: self._forward_kinematics(q, s), (s,), (jnp.ones_like(s),))[1]

    def _forward_kinematics_and_arc_length_derivative(self, q: Array, s: Array) -> tuple[Array, Array]:
        return self._forward_kinematics(q, s), self._forward_kinematics_arc_length_derivative(q, s)

    def _jacobian(self, q: Array, s: Array) -> Array:
        if self._defines("jacobian"):
            return self.jacobian(q, s)
        if self.floating_base:
            raise NotImplementedError(f"a floating {type(self).__name__} must define _jacobian(q, s)")
        slopes = jax.jacfwd(lambda q: self._forward_kinematics(q, s))(q)
        if self.is_planar:
            return slopes
        R = self._forward_kinematics(q, s)[:3, :3]
        spin = jnp.einsum("ijk,lj->ilk", slopes[:3, :3], R)
        return jnp.concatenate([jnp.stack([spin[2, 1], spin[0, 2], spin[1, 0]]), slopes[:3, 3]])

    def _jacobian_bodyframe(self, q: Array, s: Array) -> Array:
        G = self.group
        return world_jacobian(G, G.inverse(self._forward_kinematics(q, s)), self._jacobian(q, s))

    def _jacobian_and_time_derivative(self, q: Array, qd: Array, s: Array) -> tuple[Array, Array]:
        return jax.jvp(lambda q: self._jacobian(q, s), (q,), (self.configuration_derivative(q, qd),))

    def _jacobian_and_arc_length_derivative(self, q: Array, s: Array) -> tuple[Array, Array]:
        s = jnp.asarray(s, q.dtype)
        return jax.jvp(lambda s: self._jacobian(q, s), (s,), (jnp.ones_like(s),))

    def inertia_matrix(self, q: Array) -> Array:
        """M(q), (nv, nv)."""
        raise NotImplementedError(f"{type(self).__name__} must define inertia_matrix(q)")

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Christoffel-consistent C(q, qd), (nv, nv): C qd is the convective force, M_dot - 2 C is skew."""
        slopes = jax.jacfwd(self.inertia_matrix)(q)
        along = jnp.einsum("ijk,k->ij", slopes, qd)
        return 0.5 * (along + jnp.einsum("ijk,j->ik", slopes, qd) - jnp.einsum("jki,j->ik", slopes, qd))

    def gravitational_force(self, q: Array) -> Array:
        """G(q) = dU_g/dq, (nv,)."""
        return self._gravitational_force(q)

    def elastic_force(self, q: Array) -> Array:
        """Elastic force (nv,) on the left of the equation of motion."""
        return jax.grad(self._elastic_energy)(q)

    def potential_force(self, q: Array) -> Array:
        """Gravitational plus elastic force, (nv,)."""
        return self.gravitational_force(q) + self.elastic_force(q)

    def damping_matrix(self, q: Array) -> Array:
        """D(q), (nv, nv); zero unless a family defines it."""
        return jnp.zeros((self.num_velocities, self.num_velocities), q.dtype)

    def dynamics_terms(
        self, q: Array, qd: Array, *, backend: ExecutionBackend | None = None
    ) -> tuple[Array, Array, Array]:
        """``(M, C qd, G)``."""
        check_backend(backend)
        return self.inertia_matrix(q), self.coriolis_matrix(q, qd) @ qd, self.gravitational_force(q)

    def forward_dynamics(self, t: Array, y: Array, actuation_args: tuple | None = None) -> Array:
        """State derivative of ``y = [q, qd, auxiliary]``; ``actuation_args`` is None, ``(u,)`` or ``(u, tau_ext)``."""
        q, qd, _ = self.split_state(y)
        u, tau_ext = self.unpack_actuation(actuation_args, y.dtype)
        tau = self.actuation_force(q, u, qd) - self.damping_matrix(q) @ qd - self.elastic_force(q)
        tau = tau if tau_ext is None else tau + tau_ext
        M, convective, G = self.dynamics_terms(q, qd)
        acceleration = jnp.linalg.solve(M, tau - convective - G)
        return jnp.concatenate([self.configuration_derivative(q, qd), acceleration])

    def equilibrium(
        self,
        u: Array | None = None,
        q0: Array | None = None,
        *,
        tau_ext: Array | None = None,
        stages: int = STAGES,
        max_steps: int = MAX_STEPS,
    ) -> Equilibrium:
        """Static equilibrium under the actuation ``u``, see ``soromox.systems.statics.equilibrium``."""
        return equilibrium(self, u, q0, tau_ext=tau_ext, stages=stages, max_steps=max_steps)

    def unpack_actuation(self, actuation_args: tuple | None, dtype) -> tuple[Array, Array | None]:
        """``(u, tau_ext)`` from None, ``(u,)`` or ``(u, tau_ext)``; no input means zero."""
        args = (None,) if actuation_args is None else tuple(actuation_args)
        if len(args) not in (1, 2):
            raise ValueError(f"actuation_args must be None, (u,) or (u, tau_ext), got {len(args)} entries")
        u = jnp.zeros(self.num_actuators, dtype) if args[0] is None else args[0]
        tau_ext = args[1] if len(args) == 2 else None
        if jnp.shape(u) != (self.num_actuators,):
            raise ValueError(f"actuation u must have shape ({self.num_actuators},), got {jnp.shape(u)}")
        if tau_ext is not None and jnp.shape(tau_ext) != (self.num_velocities,):
            raise ValueError(f"tau_ext must have shape ({self.num_velocities},), got {jnp.shape(tau_ext)}")
        return u, tau_ext

    def actuator_coordinates(self, q: Array) -> Array:
        """Work-conjugate coordinates of the transmissions, in actuator order."""
        raise NotImplementedError(f"{type(self).__name__} must define actuator_coordinates(q)")

    def actuation_matrix(self, q: Array, *, backend: ExecutionBackend | None = None) -> Array:
        """Moment matrix A(q), (nv, number of actuator coordinates)."""
        raise NotImplementedError(f"{type(self).__name__} must define actuation_matrix(q)")

    def actuator_velocities(self, q: Array, qd: Array) -> Array:
        """Rates of the actuator coordinates, ``A(q)^T qd``."""
        return self.actuation_matrix(q).T @ qd

    def actuator_efforts(
        self, q: Array, u: Array, qd: Array | None = None, *, actuation_matrix: Array | None = None
    ) -> Array:
        """Efforts conjugate to the actuator coordinates; the input itself unless an effort model says otherwise."""
        return u

    def actuation_force(self, q: Array, u: Array, qd: Array | None = None) -> Array:
        """Generalised force ``A(q) e(u)``, (nv,)."""
        A = self.actuation_matrix(q)
        return A @ self.actuator_efforts(q, u, qd, actuation_matrix=A)

    def passive_elastic_force(self, q: Array) -> Array:
        """Elastic force of the passive elements (nv,); part of ``elastic_force``."""
        return jnp.zeros(self.num_velocities, q.dtype)

    def passive_damping_matrix(self, q: Array) -> Array:
        """Damping matrix of the passive elements (nv, nv); part of ``damping_matrix``."""
        return jnp.zeros((self.num_velocities, self.num_velocities), q.dtype)

    def passive_elastic_energy(self, q: Array) -> Array:
        """Energy stored in the passive elements, J; part of ``elastic_energy``."""
        return jnp.zeros((), q.dtype)

    def kinetic_energy(self, q: Array, qd: Array) -> Array:
        """T = qd^T M qd / 2, J."""
        if custom_jvp_enabled():
            return analytic.kinetic_energy(self, q, qd)
        return self._kinetic_energy(q, qd)

    def gravitational_energy(self, q: Array) -> Array:
        """U_g = -sum m g.p, J, measured from the world origin."""
        if custom_jvp_enabled():
            return analytic.gravitational_energy(self, q)
        return self._gravitational_energy(q)

    def elastic_energy(self, q: Array) -> Array:
        """Elastic energy, J."""
        if custom_jvp_enabled():
            return analytic.elastic_energy(self, q)
        return self._elastic_energy(q)

    def potential_energy(self, q: Array) -> Array:
        """U = U_g + U_el, J."""
        return self.gravitational_energy(q) + self.elastic_energy(q)

    def total_energy(self, q: Array, qd: Array) -> Array:
        """E = T + U, J."""
        return self.kinetic_energy(q, qd) + self.potential_energy(q)

    def _kinetic_energy(self, q: Array, qd: Array) -> Array:
        return 0.5 * qd @ self.inertia_matrix(q) @ qd

    def _momentum(self, q: Array, qd: Array) -> Array:
        """``M qd`` (nv,), the gradient of the kinetic energy in qd."""
        return self.inertia_matrix(q) @ qd

    def _gravitational_energy(self, q: Array) -> Array:
        return self._public_instead("gravitational_energy", q)

    def _gravitational_force(self, q: Array) -> Array:
        return jax.grad(self._gravitational_energy)(q)

    def _elastic_energy(self, q: Array) -> Array:
        return self._public_instead("elastic_energy", q)

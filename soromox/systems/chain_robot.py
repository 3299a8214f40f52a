"""Robots made of a chain: every hook of the public interface from one ``assemble``."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation import Actuator, ActuatorVisualLayer, visual_layers
from soromox.batching import lanes_last
from soromox.core import Chain, dynamics, kinematics
from soromox.core.base import base_pose, pose_from_coordinates
from soromox.core.segments import Segments
from soromox.simulation.implicit import Implicit
from soromox.systems.composed_robot import ComposedRobot
from soromox.systems.configuration import over_leading
from soromox.systems.soft_robot import ExecutionBackend, check_backend
from soromox.utils.checks import require_finite, require_shape


class ChainRobot(ComposedRobot):
    """A soft robot whose physics is a ``Chain``. A family implements ``assemble`` and its own vocabulary.

    Only parameters are stored. Whatever follows from them is computed where it is used, so gradients, ``vmap`` over
    parameters and ``eqx.tree_at`` are always right; rollouts assemble once.
    """

    @abstractmethod
    def assemble(self) -> Chain:
        """The chain that the parameters and the structure describe; its stiffness and damping are the body's own."""

    def _loaded(self, segments: Segments) -> Segments:
        """The segments with the payload, if there is one, on the last tip."""
        mass, G = self.params.payload_mass, self.group
        if mass is None:
            return segments
        rotational = jnp.zeros((3, 3) if G.angular == 3 else (), mass.dtype)
        load = G.rigid_inertia(mass, jnp.zeros(G.space, mass.dtype), rotational)
        last = jnp.asarray(np.arange(segments.length.shape[0]) == segments.length.shape[0] - 1, mass.dtype)
        loads = last[:, None, None] * load[None]
        tip_inertia = loads if segments.tip_inertia is None else segments.tip_inertia + loads
        return eqx.tree_at(lambda s: s.tip_inertia, segments, tip_inertia, is_leaf=lambda x: x is None)

    def with_payload(self, mass: float | Array = 0.0) -> Self:
        """A copy with a point mass (kg) at its tip, which ``update_params(payload_mass=...)`` can then change."""
        params = self.params.replace(payload_mass=mass)
        return eqx.tree_at(lambda robot: robot.params, self, params)

    @property
    def segment_length(self) -> Array:
        """Arc length of each segment (n,), m."""
        return self.params.length

    @property
    def num_segments(self) -> int:
        """Number of segments."""
        return self.segment_length.shape[0]

    @property
    def length(self) -> Array:
        return jnp.sum(self.segment_length)

    @property
    def L(self) -> Array:
        """Arc length of each segment (n,), m."""
        return self.segment_length

    @property
    def L_cum(self) -> Array:
        """Arc lengths (n + 1,) at which segments begin and end, m."""
        return self.assemble().segment_ends

    @property
    def tangent_eps(self) -> Array:
        """Smallest angle that tangent operators tell from zero: ``eps``, or the precision of the parameters."""
        dtype = self.segment_length.dtype
        return jnp.asarray(jnp.finfo(dtype).eps if self.eps is None else self.eps, dtype)

    @property
    def base_transform(self) -> Array:
        """Homogeneous matrix of the fixed (or nominal) base pose."""
        return self.group.matrix(pose_from_coordinates(self.is_planar, self.params.base_pose))

    def base_transform_from_configuration(self, q: Array) -> Array:
        """Homogeneous matrix of the runtime base pose, or the fixed one; takes leading axes."""
        chain = self.assemble()
        return over_leading(lambda q: self.group.matrix(base_pose(chain, q)), q)

    def with_fixed_base_pose(self, pose: Array) -> Self:
        """A copy mounted at another pose, planar (3,) or spatial (7,); refused by floating robots."""
        if self.floating:
            raise ValueError("a floating robot has no fixed base pose; put the pose into its configuration")
        require_shape("pose", pose, (3,) if self.is_planar else (7,))
        require_finite("pose", pose)
        return self.with_params(self.params.replace(base_pose=pose))

    def classify_segment(self, s: Array) -> tuple[Array, Array]:
        """``(segment index, arc length within it)``; a node belongs to the segment that ends there."""
        place = kinematics.locate(self.assemble(), s)
        return jnp.asarray(place.index), place.s

    def actuator_visual_layers(
        self, q: Array, s_points: Array, *, actuator_inputs: Array | None = None
    ) -> tuple[ActuatorVisualLayer, ...]:
        return visual_layers(self.assemble(), q, s_points, self._driven(), self.passive_elements, actuator_inputs)

    def _tips(self) -> kinematics.Place:
        return kinematics.Place(jnp.arange(self.num_segments), self.segment_length)

    def _forward_kinematics(self, q: Array, s: Array) -> Array:
        return kinematics.pose_at(self.assemble(), q, s)

    def _forward_kinematics_and_arc_length_derivative(self, q: Array, s: Array) -> tuple[Array, Array]:
        frame = kinematics.frame_at(self.assemble(), q, s)
        return frame.g, self.group.pose_rate(frame.g, frame.xi)

    def _forward_kinematics_arc_length_derivative(self, q: Array, s: Array) -> Array:
        return self._forward_kinematics_and_arc_length_derivative(q, s)[1]

    def forward_kinematics_and_jacobian_inertialframe(
        self, q: Array, s: Array, *, backend: ExecutionBackend | None = None
    ) -> tuple[Array, Array]:
        check_backend(backend)
        frame = kinematics.frame_at(self.assemble(), q, s)
        return frame.g, kinematics.world_jacobian(self.group, frame.g, frame.J)

    def _jacobian(self, q: Array, s: Array) -> Array:
        return self.forward_kinematics_and_jacobian_inertialframe(q, s)[1]

    def _jacobian_bodyframe(self, q: Array, s: Array) -> Array:
        return kinematics.frame_at(self.assemble(), q, s).J

    def _jacobian_and_arc_length_derivative(self, q: Array, s: Array) -> tuple[Array, Array]:
        G, frame = self.group, kinematics.frame_at(self.assemble(), q, s)
        J = kinematics.world_jacobian(G, frame.g, frame.J)
        return J, kinematics.world_rate(G, frame.g, frame.J, frame.J_s, frame.xi)

    def jacobian_and_arc_length_derivative_bodyframe(self, q: Array, s: Array) -> tuple[Array, Array]:
        frame = kinematics.frame_at(self.assemble(), q, s)
        return frame.J, frame.J_s

    def _jacobian_and_time_derivative(self, q: Array, qd: Array, s: Array) -> tuple[Array, Array]:
        G = self.group
        frame, J_dot = kinematics.jacobian_rate_at(self.assemble(), q, qd, s)
        J = kinematics.world_jacobian(G, frame.g, frame.J)
        return J, kinematics.world_rate(G, frame.g, frame.J, J_dot, frame.J @ qd)

    def jacobian_and_time_derivative_bodyframe(self, q: Array, qd: Array, s: Array) -> tuple[Array, Array]:
        frame, J_dot = kinematics.jacobian_rate_at(self.assemble(), q, qd, s)
        return frame.J, J_dot

    def inertia_matrix(self, q: Array) -> Array:
        return dynamics.inertia_matrix(self.assemble(), q)

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        return dynamics.coriolis_matrix(self.assemble(), q, qd)

    def dynamics_terms(
        self, q: Array, qd: Array, *, backend: ExecutionBackend | None = None
    ) -> tuple[Array, Array, Array]:
        check_backend(backend)
        chain = self.assemble()
        convective = dynamics.bias_force(chain, q, qd)
        return dynamics.inertia_matrix(chain, q), convective, dynamics.gravitational_force(chain, q)

    def stiffness_matrix(self) -> Array:
        """Elastic stiffness of the body, (nv, nv), zero for the base."""
        chain = self.assemble()
        return self._with_base(self._with_base(chain.dense(chain.stiffness)).T).T

    def elastic_force(self, q: Array) -> Array:
        return self._with_base(self._elastic(self.assemble(), q)) + self.passive_elastic_force(q)

    def damping_matrix(self, q: Array) -> Array:
        chain = self.assemble()
        body = self._with_base(self._with_base(chain.dense(chain.damping)).T).T
        return body + self.passive_damping_matrix(q)

    def _elastic(self, chain: Chain, q: Array) -> Array:
        """Elastic force of the body on the internal coordinates."""
        return chain.apply(chain.stiffness, chain.internal(q) - chain.rest)

    def _elastic_energy(self, q: Array) -> Array:
        chain = self.assemble()
        stretch = chain.internal(q) - chain.rest
        return 0.5 * stretch @ chain.apply(chain.stiffness, stretch) + self.passive_elastic_energy(q)

    def _gravitational_energy(self, q: Array) -> Array:
        return dynamics.gravitational_energy(self.assemble(), q)

    def _gravitational_force(self, q: Array) -> Array:
        return dynamics.gravitational_force(self.assemble(), q)

    def _kinetic_energy(self, q: Array, qd: Array) -> Array:
        return dynamics.kinetic_energy(self.assemble(), q, qd)

    def _momentum(self, q: Array, qd: Array) -> Array:
        return dynamics.momentum(self.assemble(), q, qd)

    def passive_elastic_force(self, q: Array) -> Array:
        chain = self.assemble()
        forces = [element.force(chain, chain.internal(q)) for element in self.passive_elements]
        return self._with_base(sum(forces, jnp.zeros(chain.num_internal, q.dtype)))

    def passive_damping_matrix(self, q: Array) -> Array:
        chain = self.assemble()
        D = jnp.zeros((chain.num_internal,) * 2, q.dtype)
        D = sum((element.damping_matrix(chain, chain.internal(q)) for element in self.passive_elements), D)
        return self._with_base(self._with_base(D).T).T

    def passive_elastic_energy(self, q: Array) -> Array:
        chain = self.assemble()
        energies = [element.energy(chain, chain.internal(q)) for element in self.passive_elements]
        return sum(energies, jnp.zeros((), q.dtype))

    def actuator_coordinates(self, q: Array) -> Array:
        chain = self.assemble()
        parts = [a.transmission.coordinates(chain, chain.internal(q)) for a in self._driven()]
        return jnp.concatenate([jnp.zeros(0, q.dtype), *parts])

    def actuation_matrix(self, q: Array, *, backend: ExecutionBackend | None = None) -> Array:
        check_backend(backend)
        chain = self.assemble()
        parts = [a.transmission.matrix(chain, chain.internal(q)) for a in self._driven()]
        return self._with_base(jnp.concatenate([jnp.zeros((chain.num_internal, 0), q.dtype), *parts], axis=1))

    def actuator_efforts(
        self, q: Array, u: Array, qd: Array | None = None, *, actuation_matrix: Array | None = None
    ) -> Array:
        chain = self.assemble()
        A = self.actuation_matrix(q) if actuation_matrix is None else actuation_matrix
        y = self.actuator_coordinates(q)
        if A.shape != (self.num_velocities, y.shape[0]):
            raise ValueError(f"actuation_matrix must have shape {(self.num_velocities, y.shape[0])}, got {A.shape}")
        if u.shape != (self.num_actuators,):
            raise ValueError(f"u must have shape ({self.num_actuators},), got {u.shape}")
        y_dot = jnp.zeros_like(y) if qd is None else A.T @ qd
        efforts, i, j = [jnp.zeros(0, q.dtype)], 0, 0
        for actuator in self._driven():
            m = actuator.transmission.coordinates(chain, chain.internal(q)).shape[0]
            part = slice(j, j + m)
            efforts.append(actuator.effort_model.effort(u[i : i + actuator.num_inputs], y[part], y_dot[part]))
            i, j = i + actuator.num_inputs, j + m
        return jnp.concatenate(efforts)

    def forward_dynamics(self, t: Array, y: Array, actuation_args: tuple | None = None) -> Array:
        return lanes_last(lambda robot, *args: robot.vector_field()(*args))(self, t, y, actuation_args)

    def vector_field(self) -> Callable[[Array, Array, tuple | None], Array]:
        chain, driven = self.assemble(), self._driven()

        def field(t: Array, y: Array, actuation_args: tuple | Implicit | None = None) -> Array:
            q, qd, auxiliary = self.split_state(y)
            implicit = actuation_args if isinstance(actuation_args, Implicit) else None
            u, tau_ext = self.unpack_actuation(actuation_args if implicit is None else implicit.args, y.dtype)
            tau, own = self._internal_force(chain, driven, q, qd, auxiliary, u), None
            if implicit is not None:
                force, own = self._implicit(chain, driven, q, u, implicit)
                tau = tau + force
            tau = self._with_base(tau) if tau_ext is None else self._with_base(tau) + tau_ext
            acceleration = dynamics.forward_dynamics(chain, q, qd, tau, own=own)
            drift, memory = self.configuration_derivative(q, qd), self._auxiliary_rate(chain, qd, auxiliary)
            return jnp.concatenate([drift, acceleration, memory])

        return field

    def _internal_force(
        self, chain: Chain, driven: tuple[Actuator, ...], q: Array, qd: Array, auxiliary: Array, u: Array
    ) -> Array:
        """Actuation less elasticity and damping, on the internal coordinates (N,)."""
        x, rates = chain.internal(q), chain.rates(qd)
        tau = -self._restoring(chain, q, auxiliary) - chain.apply(chain.damping, rates)
        for element in self.passive_elements:
            tau = tau - element.force(chain, x) - element.damping_matrix(chain, x) @ rates
        i = 0
        for actuator in driven:
            A = actuator.transmission.matrix(chain, x)
            y = actuator.transmission.coordinates(chain, x)
            tau = tau + A @ actuator.effort_model.effort(u[i : i + actuator.num_inputs], y, A.T @ rates)
            i += actuator.num_inputs
        return tau

    def _implicit(
        self, chain: Chain, driven: tuple[Actuator, ...], q: Array, u: Array, implicit: Implicit
    ) -> tuple[Array, Array]:
        """Force (N,) and inertia (n, k, k) that a linearly implicit stage adds to the equation of motion."""
        x, h = chain.internal(q), implicit.step
        stiffness, damping = chain.blocks(chain.stiffness), chain.blocks(chain.damping)
        i = 0
        for actuator in driven:
            extra = actuator.stiffness(chain, x, u[i : i + actuator.num_inputs])
            stiffness = stiffness if extra is None else stiffness + extra
            i += actuator.num_inputs
        rate, shift = (chain.scatter(chain.rates(v)) for v in (implicit.rate, implicit.shift))
        force = jnp.einsum("nij,nj->ni", damping, rate) + jnp.einsum("nij,nj->ni", stiffness, h * rate - shift)
        return chain.gather(h * force), h * damping + h**2 * stiffness

    def _restoring(self, chain: Chain, q: Array, auxiliary: Array) -> Array:
        """Elastic force of the body in the equation of motion; families with hysteresis mix it in."""
        return self._elastic(chain, q)

    def _auxiliary_rate(self, chain: Chain, qd: Array, auxiliary: Array) -> Array:
        return jnp.zeros_like(auxiliary)

    def _with_base(self, x: Array) -> Array:
        """Internal rows (N, ...) under zero rows for the base."""
        return jnp.concatenate([jnp.zeros((self.num_base_velocities,) + x.shape[1:], x.dtype), x])

"""Planar robots of handed shearing auxetic (HSA) rods.

Stoelzle, Rus, Della Santina, "An experimental study of model-based control for planar handed shearing auxetics robots",
Experimental Robotics, 2024, doi:10.1007/978-3-031-63596-0_14.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from soromox.actuation import Actuator, ActuatorMetadata, HSAMotor, RodTransmission, identity
from soromox.core import Chain, ConstantStrain, kinematics, sections
from soromox.core.kinematics import Frame
from soromox.lie import se2
from soromox.systems.pcs.hsa_params import PlanarHSAParams, PlanarHSAStructure, rod_stiffness
from soromox.systems.pcs.pcs import PlanarPCS, gauss_legendre
from soromox.utils.checks import concrete, require_shape

PARAMETER_ATTRIBUTES = (
    "rod_offset",
    "platform_dimension",
    "proximal_cap_length",
    "distal_cap_length",
    "end_effector_offset",
    "phi_max",
    "hysteresis_basis",
    "hysteresis_alpha",
    "hysteresis_A",
    "hysteresis_n",
    "hysteresis_beta",
    "hysteresis_gamma",
)
"""Parameters that are attributes of the robot too."""


def _parameter(name: str) -> property:
    return property(lambda self: getattr(self.params, name), doc=f"``params.{name}``.")


class PlanarHSA(PlanarPCS):
    """Planar HSA robot: segments of parallel rods between rigid caps and platforms.

    Strains of the virtual backbone are [kappa, shear, axial] a segment, the backbone runs along local +y. Rods share
    bending and shear; the axial strain of a rod is shifted by its offset times the curvature. Arc length counts the
    flexible part only; caps and platforms count in every kinematic query. The state is ``[q, qd]``, with hysteresis
    ``[q, qd, z]``.
    """

    params_type: ClassVar[type] = PlanarHSAParams
    structure_type: ClassVar[type] = PlanarHSAStructure

    def __init__(
        self,
        params: PlanarHSAParams,
        structure: PlanarHSAStructure | None = None,
        *,
        base_pose: Array | None = None,
        floating_base: bool = False,
        eps: float | None = None,
    ):
        options = {"actuators": (), "base_pose": base_pose, "floating_base": floating_base, "eps": eps}
        super().__init__(params, structure, **options)

    @property
    def consider_underactuation(self) -> bool:
        """Whether inputs are motor angles."""
        return self.structure.consider_underactuation

    @property
    def consider_hysteresis(self) -> bool:
        """Whether Bouc-Wen hysteresis is part of the state."""
        return self.structure.consider_hysteresis

    @property
    def num_rods_per_segment(self) -> int:
        """Rods a segment."""
        return self.params.rod_offset.shape[1]

    def _driven(self) -> tuple[Actuator, ...]:
        return (self._motors() if self.consider_underactuation else identity(self.num_dofs),)

    @property
    def num_hysteresis(self) -> int:
        """Number of hysteresis states."""
        return self.params.hysteresis_basis.shape[-1] if self.consider_hysteresis else 0

    @property
    def num_auxiliary_states(self) -> int:
        return self.num_hysteresis

    locals().update({name: _parameter(name) for name in PARAMETER_ATTRIBUTES})

    # rods are no links: these two lead to a PlanarPCS, as the page of this class has it
    params_from_links = PlanarPCS.params_from_links  # pyright: ignore[reportAssignmentType]
    from_links = PlanarPCS.from_links  # pyright: ignore[reportAssignmentType]

    def assemble(self) -> Chain:
        p = self.params
        nodes, weights = gauss_legendre(self.structure.num_gauss_points, p.length.dtype)
        area, second, _ = sections.annulus(p.rod_outer_radius, p.rod_inner_radius)
        rods = sections.section_inertia(True, p.rod_density, area, second, second)
        sideways = jnp.stack([jnp.zeros_like(p.rod_offset), p.rod_offset, jnp.zeros_like(p.rod_offset)], axis=-1)
        rods = jax.vmap(jax.vmap(_moved))(rods, sideways).sum(1)
        inertia = rods[:, None] * (p.length[:, None] * weights[None])[..., None, None]
        reference = self.physical_to_virtual_strains(p.reference_strain).reshape(-1, 3)
        segments = ConstantStrain(
            planar=True,
            length=p.length,
            inertia=inertia,
            scale=self._scale(),
            reference=reference,
            nodes=nodes,
            weights=weights,
            tip_inertia=self._tip_inertia(),
            base_offset=jax.vmap(_up)(p.proximal_cap_length),
            tip_offset=jax.vmap(_up)(p.distal_cap_length + p.platform_dimension[:, 1]),
        )
        maps = RodTransmission(p.rod_offset).rod_maps()
        dampings = jnp.stack([p.bending_damping, p.shear_damping, p.axial_damping], axis=-1)
        damping = jnp.einsum("nrki,nrk,nrkj->nij", maps, dampings, maps)
        return self._chain(segments, self._strain_stiffness(), damping)

    def _strain_stiffness(self) -> Array:
        """Stiffness (n, 3, 3) of the virtual backbone."""
        maps = RodTransmission(self.params.rod_offset).rod_maps()
        return jnp.einsum("nrki,nrkl,nrlj->nij", maps, rod_stiffness(self.params), maps)

    def _tip_inertia(self) -> Array:
        """Inertia (n, 3, 3) of distal caps, platforms and the payload about the tip frames, beyond the platforms."""
        p = self.params

        def segment(distal, platform, platform_density, cap_density, offsets, radii):
            width, height, depth = platform
            mass = platform_density * width * height * depth
            polar = mass * (width**2 + height**2) / 12
            body = se2.rigid_inertia(mass, jnp.stack([jnp.zeros_like(height), -height / 2]), polar)
            cap_mass = cap_density * jnp.pi * radii**2 * distal
            cap_polar = cap_mass * (3 * radii**2 + distal**2) / 12
            centers = jnp.stack([offsets, jnp.broadcast_to(-height - distal / 2, offsets.shape)], axis=-1)
            return body + jax.vmap(se2.rigid_inertia)(cap_mass, centers, cap_polar).sum(0)

        inertia = jax.vmap(segment)(
            p.distal_cap_length,
            p.platform_dimension,
            p.platform_density,
            p.end_cap_density,
            p.rod_offset,
            p.rod_outer_radius,
        )
        payload = se2.compose(p.end_effector_offset, se2.translation(p.platform_center_of_gravity))
        center = se2.position(payload)
        return inertia.at[-1].add(se2.rigid_inertia(p.platform_mass, center, jnp.zeros_like(p.platform_mass)))

    @property
    def actuator_input_metadata(self) -> tuple[ActuatorMetadata, ...]:
        return (self._motor_metadata() if self.consider_underactuation else identity(self.num_dofs).metadata,)

    @property
    def num_actuators(self) -> int:
        return self.params.rod_offset.size if self.consider_underactuation else self.num_dofs

    def _motor_metadata(self) -> ActuatorMetadata:
        n, r = self.params.rod_offset.shape
        names = tuple(f"phi_{i}_{j}" for i in range(n) for j in range(r))
        return ActuatorMetadata("hsa_motor", names, "rad", *_motor_range(self.params))

    def _motors(self) -> Actuator:
        p = self.params
        corrections = (p.bending_stiffness_correction, p.shear_stiffness_correction, p.axial_stiffness_correction)
        motor = HSAMotor(
            handedness=p.rod_height / p.length[:, None],
            coupling=p.strain_coupling,
            stiffness=rod_stiffness(p),
            correction=jnp.stack(corrections, axis=-1),
            reference=p.reference_strain,
        )
        return Actuator(RodTransmission(p.rod_offset), self._motor_metadata(), motor)

    def virtual_to_physical_strains(self, vxi: Array) -> Array:
        """Rod strains (n, r, 3) of virtual-backbone strains (3 n,)."""
        maps = RodTransmission(self.params.rod_offset).rod_maps()
        return jnp.einsum("nrij,nj->nri", maps, vxi.reshape(-1, 3))

    def physical_to_virtual_strains(self, pxi: Array) -> Array:
        """Virtual-backbone strains (3 n,) of rod strains (n, r, 3): means, the axial one less mean(offset kappa)."""
        mean = pxi.mean(1)
        shift = (self.params.rod_offset * pxi[..., 0]).mean(1)
        return mean.at[:, 2].add(-shift).reshape(-1)

    def _tip_height(self) -> Array:
        """Distance (n,) from the flexible end of each segment to the outer face of its platform, m."""
        return self.params.distal_cap_length + self.params.platform_dimension[:, 1]

    def forward_kinematics_rod(self, q: Array, s: Array, rod_idx: Array) -> Array:
        """Pose [theta, x, y] of the centre line of a rod at arc length ``s``."""
        index, _ = self.classify_segment(s)
        offset = self.params.rod_offset[index, rod_idx]
        return se2.compose(self.forward_kinematics(q, s), se2.translation(jnp.stack([offset, jnp.zeros_like(offset)])))

    def forward_kinematics_platform(self, q: Array, segment_idx: Array) -> Array:
        """Pose [theta, x, y] of the centre of a segment's platform."""
        end = self.forward_kinematics(q, self.L_cum[1:][segment_idx])
        height = self._tip_height()[segment_idx] - 0.5 * self.params.platform_dimension[segment_idx, 1]
        return se2.compose(end, _up(height))

    def forward_kinematics_end_effector(self, q: Array) -> Array:
        """Pose [theta, x, y] of the end effector: last platform's outer face and ``end_effector_offset``."""
        return se2.compose(kinematics.end_pose(self.assemble(), q), self._end_effector_from_rods())

    def _end_effector_from_rods(self) -> Array:
        return se2.compose(_up(self._tip_height()[-1]), self.params.end_effector_offset)

    def jacobian_end_effector(self, q: Array) -> Array:
        """Jacobian (3, nv) of the end effector, rows [x, y, theta], world axes."""
        return self.jacobian_and_time_derivative_end_effector(q, jnp.zeros(self.num_velocities, q.dtype))[0]

    def jacobian_and_time_derivative_end_effector(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Jacobian of the end effector, rows [x, y, theta], and its time derivative along ``qd``."""
        frame, rate = kinematics.jacobian_rate_at(self.assemble(), q, qd, self.length)
        offset = self._end_effector_from_rods()
        X = se2.inverse_adjoint(offset)
        moved = Frame(se2.compose(frame.g, offset), X @ frame.J, frame.xi, frame.J_s)
        J = kinematics.world_jacobian(se2, moved.g, moved.J)
        J_dot = kinematics.world_rate(se2, moved.g, moved.J, X @ rate, moved.J @ qd)
        order = jnp.array([1, 2, 0])
        return J[order], J_dot[order]

    def inverse_kinematics(self, chi_ee: Array) -> Array:
        """Active coordinates that put the end effector at the pose [theta, x, y]; closed form, one fixed segment.

        The angle is taken unwrapped. With inactive strains the nearest active coordinates are returned.

        Raises:
            AssertionError: more than one segment (as the page of this method has it), or a floating base.
        """
        if self.num_segments != 1 or self.floating:
            raise AssertionError(
                f"inverse_kinematics is defined for one segment on a fixed base, got {self.num_segments} segments"
                f"{' on a floating base' if self.floating else ''}"
            )
        require_shape("chi_ee", chi_ee, (3,))
        start = se2.compose(self.params.base_pose, _up(self.params.proximal_cap_length[0]))
        end = se2.compose(chi_ee, se2.inverse(self._end_effector_from_rods()))
        xi = se2.log(se2.compose(se2.inverse(start), end)) / self.length
        basis = self.B_xi
        return basis.T @ (xi - self.xi_ref) / jnp.sum(basis**2, axis=0)

    def actuation_force(self, q: Array, phi: Array, qd: Array | None = None) -> Array:
        """Generalised force (nv,) of motor angles ``phi`` (rad), or of the direct inputs."""
        return super().actuation_force(q, phi, qd)

    def hysteresis_force(self, q: Array, z: Array) -> Array:
        """Generalised force ``K B_h z`` (nv,) of the hysteresis states, before the mixing by alpha."""
        if not self.consider_hysteresis:
            return jnp.zeros(self.num_velocities, q.dtype)
        return self._with_base(self.B_xi.T @ self._strain_force(self.params.hysteresis_basis @ z))

    def _strain_force(self, strain: Array) -> Array:
        """``K strain`` on all virtual strains (3 n,)."""
        return jnp.einsum("nij,nj->ni", self._strain_stiffness(), strain.reshape(-1, 3)).reshape(-1)

    def _restoring(self, chain: Chain, q: Array, auxiliary: Array) -> Array:
        if not self.consider_hysteresis:
            return self._elastic(chain, q)
        alpha, B = self.params.hysteresis_alpha, self.B_xi
        elastic = self._strain_force(B @ chain.internal(q))
        memory = self._strain_force(self.params.hysteresis_basis @ auxiliary)
        return B.T @ (alpha * elastic + (1 - alpha) * memory)

    def _auxiliary_rate(self, chain: Chain, qd: Array, auxiliary: Array) -> Array:
        if not self.consider_hysteresis:
            return auxiliary
        p, z = self.params, auxiliary
        rate = p.hysteresis_basis.T @ (self.B_xi @ chain.rates(qd))
        still = z == 0
        magnitude = jnp.where(still, 0, jnp.abs(jnp.where(still, 1, z)) ** p.hysteresis_n)
        return rate * (p.hysteresis_A - magnitude * (p.hysteresis_gamma + p.hysteresis_beta * jnp.sign(rate * z)))

    def cross_section_geometry(self, q: Array, s: Array) -> tuple[Array, Array]:
        index, _ = self.classify_segment(s)
        return jnp.asarray(0, jnp.int32), jnp.abs(self.params.rod_offset[index]).max()[None]


def _up(height: Array) -> Array:
    """Pose ``height`` along local y."""
    return se2.translation(jnp.stack([jnp.zeros_like(height), height]))


def _moved(inertia: Array, pose: Array) -> Array:
    """Inertia of a body at ``pose``, about the frame that the pose is given in."""
    X = se2.inverse_adjoint(pose)
    return X.T @ inertia @ X


def _motor_range(params: PlanarHSAParams) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Motor limits: 0..phi_max on right-handed rods, -phi_max..0 on left-handed ones; infinite while traced."""
    limit, hand = concrete(params.phi_max), concrete(params.rod_height)
    if limit is None or hand is None:
        count = params.phi_max.size
        return (float("-inf"),) * count, (float("inf"),) * count
    signed = (limit * hand).reshape(-1)
    return tuple(float(min(x, 0)) for x in signed), tuple(float(max(x, 0)) for x in signed)

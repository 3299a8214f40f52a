"""UMArm: a hanging arm of three segments with universal joints, driven by 24 McKibben muscles."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.actuation import Actuator, PassiveElement
from soromox.actuation.mckibben import McKibbenTransmission, mckibben_muscles
from soromox.systems.articulated.articulated_soft_robot import ArticulatedSoftRobot, ArticulatedSoftRobotParams


class Link(NamedTuple):
    """A link along local -z: length, m; mass, kg; centre of mass below its joint, m; Ixx = Iyy and Izz, kg m^2."""

    length: float
    mass: float
    center: float
    transverse: float
    axial: float


class Segment(NamedTuple):
    """Two universal joints, each before a link: a tube, a connector. The muscles of a segment are alike."""

    tube: Link
    connector: Link
    thread_length: float  # B, m
    num_turns: float  # N
    muscle_length: float  # at q = 0, m


# published parameters
SEGMENTS = (
    Segment(
        Link(0.26505, 0.7, 0.132525, 4.543475193231e-3, 1.14973140712e-4),
        Link(0.07249, 0.2002, 0.036245, 9.040485833833e-5, 5.1209e-6),
        thread_length=0.2,
        num_turns=1.04,
        muscle_length=0.1514,
    ),
    Segment(
        Link(0.23414, 0.5, 0.11707, 2.449077438193e-3, 8.606360404134e-5),
        Link(0.07326, 0.2002, 0.03663, 9.228092804667e-5, 5.1209e-6),
        thread_length=0.161,
        num_turns=1.04,
        muscle_length=0.1225,
    ),
    Segment(
        Link(0.23166, 0.5, 0.11583, 2.389460633945e-3, 8.641165999239e-5),
        Link(0.12987985, 0.00021, 0.037108528571429, 5.018035947530e-7, 1.16894e-7),
        thread_length=0.155,
        num_turns=1.0,
        muscle_length=0.1173,
    ),
)
BASE_HEIGHT = 1.2  # m
ARMATURE = 0.01  # kg m^2
DAMPING = 2.25  # N m s
TUBE_RADIUS = 0.028  # of the muscles' ends on a tube, and to draw, m
PLATE_RADIUS = 0.047  # of their ends on the plates at the joints, m
ATTACHMENT = 0.0437125  # from the joint to the ends on the tube, m
AZIMUTHS = np.deg2rad([180.0, -90.0, 0.0, 90.0])
TWIST = np.deg2rad(45.0)  # of the second universal joint of a segment about the arm


def umarm_params(**fields: Any) -> ArticulatedSoftRobotParams:
    """The published parameters, hanging from a height of 1.2 m; keywords replace fields."""
    links = [link for segment in SEGMENTS for link in segment[:2]]
    n = 2 * len(links)  # of each universal joint the first link is massless and without length
    joint = np.arange(n) % 2
    turns = [_pose(np.eye(3)) if j else _pose(_about_z(TWIST if i % 4 else -TWIST)) for i, j in enumerate(joint)]
    turns[0] = _pose(np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]]))  # local z upwards, on the hanging base

    def downwards(distances):
        return np.stack([np.zeros(n), np.zeros(n), _second(-np.array(distances))], axis=1)

    inertia = np.array([[link.transverse, link.transverse, link.axial] for link in links])
    published = dict(
        mass=_second([link.mass for link in links]),
        joint_stiffness=np.zeros((n, n)),
        joint_damping=DAMPING * np.eye(n),
        joint_rest_configuration=np.zeros(n),
        radius=np.full(n, TUBE_RADIUS),
        joint_armature=np.full(n, ARMATURE),
        joint_screw=np.eye(6)[joint],
        tip_position=downwards([link.length for link in links]),
        center_of_mass_position=downwards([link.center for link in links]),
        center_of_mass_inertia=np.eye(3)[None] * np.stack([_second(x) for x in inertia.T], axis=1)[:, None],
        parent_to_joint_transform=np.stack(turns),
    )
    pose = ArticulatedSoftRobotParams.pose_for("hanging") + np.array([0, 0, 0, 0, 0, 0, BASE_HEIGHT])
    return ArticulatedSoftRobotParams(**{"base_pose": pose, **published, **fields})


def umarm_muscles(*, max_pressure: float = float("inf")) -> Actuator:
    """The 24 muscles, four around each universal joint, with pressures (Pa) as inputs.

    Before a tube they run from the plate of the joint to the tube behind it; at its end from the tube to the plate of
    the next joint.
    """
    plate = PLATE_RADIUS * _circle(AZIMUTHS)
    to_tube = TUBE_RADIUS * _circle(AZIMUTHS) - np.array([[0, 0, ATTACHMENT]])
    base, moving, fixed = [], [], []
    for segment in SEGMENTS:
        length = segment.tube.length
        to_end = TUBE_RADIUS * _circle(AZIMUTHS + TWIST) - np.array([[0, 0, length - ATTACHMENT]])
        base += [np.eye(4), _pose(_about_z(TWIST), [0, 0, -length])]
        moving += [to_tube, plate]
        fixed += [plate, to_end]

    def of_segments(name):
        return np.repeat([getattr(segment, name) for segment in SEGMENTS], 2)[:, None]

    groups = range(2 * len(SEGMENTS))
    return mckibben_muscles(
        moving_base_transform=np.stack(base),
        moving_points=np.stack(moving),
        fixed_points=np.stack(fixed),
        joint_pair_indices=[(2 * k, 2 * k + 1) for k in groups],
        reference_length=float(np.hypot(ATTACHMENT, PLATE_RADIUS - TUBE_RADIUS)),
        length_offset=of_segments("muscle_length"),
        thread_length=of_segments("thread_length"),
        num_turns=of_segments("num_turns"),
        names=[f"muscle_{k}_{i}" for k in groups for i in range(AZIMUTHS.size)],
        max_pressure=max_pressure,
    )


class UMArm(ArticulatedSoftRobot):
    """UMArm: 12 joints in 6 universal joints, driven by pressures (Pa) in 24 McKibben muscles.

    Without arguments it is the published robot: ``umarm_params()`` and ``umarm_muscles()``.
    """

    def __init__(
        self,
        params: ArticulatedSoftRobotParams | None = None,
        *,
        actuators: Actuator | tuple[Actuator, ...] | None = None,
        passive_elements: PassiveElement | tuple[PassiveElement, ...] | None = (),
        base_pose: Array | None = None,
        floating_base: bool = False,
        eps: float | None = None,
    ):
        super().__init__(
            umarm_params() if params is None else params,
            actuators=umarm_muscles() if actuators is None else actuators,
            passive_elements=passive_elements,
            base_pose=base_pose,
            floating_base=floating_base,
            eps=eps,
        )

    def muscle_lengths(self, q: Array) -> Array:
        """Lengths of the muscles, m, in the order of the inputs."""
        chain = self.assemble()
        lengths = [muscle.lengths(chain, chain.internal(q)).reshape(-1) for muscle in self._muscles()]
        return jnp.concatenate([jnp.zeros(0, q.dtype), *lengths])

    def muscle_forces(self, q: Array, u: Array) -> Array:
        """Forces of the muscles along themselves at the pressures ``u``, N; a muscle that pulls has a negative one."""
        chain = self.assemble()
        slopes = [m.slopes(m.lengths(chain, chain.internal(q))).reshape(-1) for m in self._muscles()]
        return jnp.concatenate([jnp.zeros(0, q.dtype), *slopes]) * u

    def _muscles(self) -> list[McKibbenTransmission]:
        transmissions = (actuator.transmission for actuator in self.actuators)
        return [transmission for transmission in transmissions if isinstance(transmission, McKibbenTransmission)]


def _second(x: Any) -> np.ndarray:
    """Zeros for the first links of the universal joints, ``x`` for the second ones."""
    return np.stack([np.zeros(len(x)), np.asarray(x)], axis=1).reshape(-1)


def _pose(rotation: np.ndarray, position: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    g = np.eye(4)
    g[:3, :3], g[:3, 3] = rotation, position
    return g


def _about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _circle(azimuths: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(azimuths), np.sin(azimuths), np.zeros_like(azimuths)], axis=1)

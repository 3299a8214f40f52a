"""The class pages of the published documentation, as tables: every name, its arguments, the shapes of its answer."""

import jax
import jax.numpy as jnp

import zoo

# n segments, w strains each, d coordinates, y the state, g quadrature points, p points asked for, h x h matrices,
# z auxiliary states, m actuator coordinates; a pose is [theta, x, y] or a matrix
PCS_PAGE = """
    tangent_eps:
    length:
    segment_length: n
    base_transform: h h
    B_xi: w*n d
    L: n
    L_cum: n+1
    xi_ref: w*n
    cross_section_geometry(q s): ; 1
    integration_kinematics(q qd): n g h h; n g w d; n g w d
    inertia_matrix(q): d d
    coriolis_matrix(q qd): d d
    stiffness_matrix(): d d
    elastic_force(q): d
    damping_matrix(q): d d
    dynamics_terms(q qd backend): d d; d; d
    forward_dynamics(t y actuation_args): y
    project_state(y): y
    pack_configuration(q_internal base_pose): d
    split_configuration(q): None; d
    pack_velocity(qd_internal base_velocity): d
    split_velocity(v): None; d
    pack_state(q v auxiliary_state): y
    split_state(y): d; d; z
    normalize_configuration(q): d
    configuration_derivative(q v): d
    retract_configuration(q delta_v): d
    base_transform_from_configuration(q): h h
    precompute(): None
    forward_kinematics(q s backend): pose
    forward_kinematics_tips(q): n pose
    forward_kinematics_abscissa_batched(q s_ps backend): p pose
    forward_kinematics_arc_length_derivative(q s): pose
    forward_kinematics_and_arc_length_derivative(q s): pose; pose
    jacobian(q s): w d
    jacobian_tips(q): n w d
    jacobian_abscissa_batched(q s_ps): p w d
    jacobian_arc_length_derivative(q s): w d
    jacobian_and_arc_length_derivative(q s): w d; w d
    jacobian_and_time_derivative(q qd s): w d; w d
    jacobian_and_time_derivative_abscissa_batched(q qd s_ps): p w d; p w d
    jacobian_bodyframe(q s): w d
    jacobian_bodyframe_abscissa_batched(q s_ps): p w d
    jacobian_and_time_derivative_bodyframe(q qd s): w d; w d
    jacobian_and_time_derivative_bodyframe_abscissa_batched(q qd s_ps): p w d; p w d
    jacobian_and_arc_length_derivative_bodyframe(q s): w d; w d
    jacobian_arc_length_derivative_bodyframe(q s): w d
    jacobian_inertialframe(q s backend): w d
    jacobian_inertialframe_abscissa_batched(q s_ps backend): p w d
    forward_kinematics_and_jacobian_inertialframe(q s backend): pose; w d
    forward_kinematics_and_jacobian_inertialframe_abscissa_batched(q s_ps backend): p pose; p w d
    jacobian_and_arc_length_derivative_inertialframe(q s): w d; w d
    jacobian_arc_length_derivative_inertialframe(q s): w d
    jacobian_and_time_derivative_inertialframe(q qd s): w d; w d
    jacobian_and_time_derivative_inertialframe_abscissa_batched(q qd s_ps): p w d; p w d
    gravitational_force(q): d
    potential_force(q): d
    passive_elastic_force(q): d
    passive_damping_matrix(q): d d
    passive_elastic_energy(q):
    kinetic_energy(q qd):
    gravitational_energy(q):
    elastic_energy(q):
    potential_energy(q):
    total_energy(q qd):
    classify_segment(s): ;
    strain(q): w*n
    actuator_coordinates(q): m
    actuator_velocities(q qd): m
    actuation_matrix(q backend): d m
    actuator_efforts(q u qd actuation_matrix): m
"""


def check_page(robot, lines: str, coordinates: int | None = None, given=None, **sizes: int) -> None:
    """Evaluate every line ``name(arguments): shapes`` abstractly, with further arguments and sizes where given."""
    q, qd, z, u, tau = (x[0] for x in zoo.samples(robot))
    y, s_ps = robot.pack_state(q, qd, z), jnp.linspace(0, robot.length, 4)
    values = dict(q=q, qd=qd, v=qd, q_internal=q, qd_internal=qd, delta_v=qd, z=z, auxiliary_state=z)
    values |= dict(s=s_ps[1], s_ps=s_ps, t=0.0, y=y, u=u, phi=u, actuation_args=(u, tau))
    values |= dict.fromkeys(["backend", "base_pose", "base_velocity", "actuation_matrix"])
    values |= given or {}
    pose = (3,) if robot.is_planar else (4, 4)
    known = dict(
        n=robot.num_segments, w=robot.group.dim, d=robot.num_dofs, y=y.size, g=robot.structure.num_gauss_points
    )
    known |= dict(p=4, h=pose[-1], z=z.size, m=robot.num_actuators if coordinates is None else coordinates) | sizes
    for line in lines.split("\n"):
        call, _, answer = line.strip().partition(":")
        if not call:
            continue
        method, parenthesis, names = call.rstrip(")").partition("(")
        value = getattr(robot, method)
        if parenthesis:
            keywords = {key: values[key] for key in names.split()}
            arrays = {key: x for key, x in keywords.items() if isinstance(x, jax.Array)}
            value = jax.eval_shape(lambda arrays, f=value, k=keywords: f(**(k | arrays)), arrays)
        expected = [_shape(part, pose, known) for part in answer.split(";")]
        shapes = [None if x is None else tuple(x.shape) for x in (value if isinstance(value, tuple) else (value,))]
        assert shapes == expected, method


def _shape(part: str, pose: tuple[int, ...], known: dict[str, int]) -> tuple[int, ...] | None:
    if "None" in part:
        return None
    shapes = (pose if size == "pose" else (eval(size, {}, known),) for size in part.split())
    return tuple(size for shape in shapes for size in shape)

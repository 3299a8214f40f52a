"""The slow simple version of the physics: one cell after another, dense columns, plain NumPy.

A body is a list of cells. A cell moves the frame by ``exp(omega)`` with ``omega = basis q + offset`` (d,) and may carry
inertias at its end. Groups enter through ``hat`` alone: adjoints and tangent operators are matrix exponentials, and
time derivatives are complex steps, exact to round-off. Formulas: design notes, Christoffel-consistent C of
Echeandia and Wensing 2021.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, expm, logm

from soromox.systems import GVS, ISupport, PlanarHSA


class Cell(NamedTuple):
    """One step along the body: ``exp(basis q + offset)``, then the inertia (d, d) that sits there."""

    basis: np.ndarray
    offset: np.ndarray
    inertia: np.ndarray | None = None


class MagnusCell(NamedTuple):
    """A step of fourth order: the strains ``basis q + offset`` at its two Zanna positions, over the arc ``step``."""

    bases: tuple[np.ndarray, np.ndarray]
    offset: np.ndarray
    step: float
    inertia: np.ndarray | None = None


def exponent(cell, q):
    """Exponent (d,) of a cell and its derivative (d, N)."""
    if isinstance(cell, Cell):
        return cell.basis @ q + cell.offset, cell.basis
    (B1, B2), h, c = cell.bases, cell.step, np.sqrt(3) * cell.step**2 / 12
    a, b = (ad(B @ q + cell.offset) for B in cell.bases)
    return h / 2 * ((B1 + B2) @ q + 2 * cell.offset) + c * a @ (B2 @ q + cell.offset), h / 2 * (B1 + B2) + c * (
        a @ B2 - b @ B1
    )


def hat(x):
    n = 3 if x.shape[0] == 3 else 4
    X = np.zeros((n, n), x.dtype)
    X[:-1, -1] = x[n - 2 if n == 3 else 3 :]
    if n == 3:
        X[0, 1], X[1, 0] = -x[0], x[0]
    else:
        X[0, 1], X[0, 2], X[1, 2] = -x[2], x[1], -x[0]
        X[1, 0], X[2, 0], X[2, 1] = x[2], -x[1], x[0]
    return X


def vee(X):
    angular = [X[1, 0]] if X.shape[0] == 3 else [X[2, 1], X[0, 2], X[1, 0]]
    return np.array([*angular, *X[:-1, -1]])


def adjoint(g):
    d = 3 if g.shape[0] == 3 else 6
    return np.stack([vee(g @ hat(e) @ np.linalg.inv(g)) for e in np.eye(d)], axis=1)


def ad(x):
    return np.stack([vee(hat(x) @ hat(e) - hat(e) @ hat(x)) for e in np.eye(x.shape[0])], axis=1)


def tangent(x):
    """``int_0^1 exp(-s ad x) ds``, a block of one matrix exponential."""
    d = x.shape[0]
    return expm(np.block([[-ad(x), np.eye(d)], [np.zeros((d, 2 * d))]]))[:d, d:]


def base(robot, q):
    """Pose of the base and its body Jacobian under world-frame velocities."""
    planar, d = robot.is_planar, robot.group.dim
    p = q[: robot.num_base_coordinates] if robot.floating_base else np.asarray(robot.params.base_pose)
    g = np.eye(3 if planar else 4, dtype=q.dtype)
    if planar:
        g[:2] = [[np.cos(p[0]), -np.sin(p[0]), p[1]], [np.sin(p[0]), np.cos(p[0]), p[2]]]
    else:
        x, y, z, w = p[:4] / np.sqrt(p[:4] @ p[:4])
        g[:3, :3] = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        g[:3, 3] = p[4:]
    J = np.zeros((d, robot.num_velocities), q.dtype)
    if robot.floating_base:
        R = g[:-1, :-1].T
        J[:, :d] = block_diag(1.0, R) if planar else block_diag(R, R)
    return g, J


def points(robot, cells, q):
    """Pose, body Jacobian (d, nv) and inertia wherever a cell carries one."""
    g, J = base(robot, q)
    nb, internal = robot.num_base_velocities, q[robot.num_base_coordinates :]
    found = []
    for cell in cells:
        omega, slope = exponent(cell, internal)
        step = expm(hat(omega))
        columns = np.hstack([np.zeros((J.shape[0], nb)), tangent(omega) @ slope])
        g, J = g @ step, adjoint(np.linalg.inv(step)) @ J + columns
        if cell.inertia is not None:
            found.append((g, J, cell.inertia))
    return found


def dynamics(robot, cells, q, v):
    """Mass matrix, Coriolis matrix and gravity force, each a plain sum over the points."""
    h = 1e-30
    rate = np.asarray(robot.configuration_derivative(q, v))
    here, moved = points(robot, cells, q), points(robot, cells, q + 1j * h * rate)
    d = robot.group.dim
    M, C, G = np.zeros((v.size, v.size)), np.zeros((v.size, v.size)), np.zeros(v.size)
    for (g, J, inertia), (_, J_moved, _) in zip(here, moved, strict=True):
        J_dot, eta = J_moved.imag / h, J @ v
        bracket = inertia @ ad(eta)
        momentum = np.stack([ad(e).T @ inertia @ eta for e in np.eye(d)], axis=1)
        M += J.T @ inertia @ J
        C += J.T @ (inertia @ J_dot + 0.5 * (bracket - bracket.T - momentum) @ J)
        fall = np.concatenate([np.zeros(d - g.shape[0] + 1), g[:-1, :-1].T @ np.asarray(robot.params.gravity)])
        G -= J.T @ inertia @ fall
    armature = getattr(robot.params, "joint_armature", None)
    armature = np.zeros(robot.num_internal_dofs) if armature is None else np.asarray(armature)
    M[robot.num_base_velocities :, robot.num_base_velocities :] += np.diag(armature)
    return M, C, G


def cells(robot, nodes=5):
    """The cells of a robot, from its parameters."""
    if isinstance(robot, GVS):
        return variable_cells(robot)
    if not hasattr(robot, "B_xi"):
        return joint_cells(robot)
    d, L = robot.group.dim, np.asarray(robot.segment_length)
    x, w = np.polynomial.legendre.leggauss(nodes)
    ends = np.concatenate([[0], (x + 1) / 2, [1]])
    B, reference = np.asarray(robot.B_xi), np.asarray(robot.xi_ref)
    found = []
    for i in range(robot.num_segments):
        rows = slice(d * i, d * (i + 1))
        section, before, after = hsa_bodies(robot, i) if isinstance(robot, PlanarHSA) else rod(robot, i)
        found += before
        for k in range(nodes + 1):
            step = L[i] * (ends[k + 1] - ends[k])
            weight = None if k == nodes else 0.5 * w[k] * L[i] * section
            found.append(Cell(step * B[rows], step * reference[rows], weight))
        found += after
    return found


def variable_cells(robot):
    """Joints, then the pieces of each rod between its own Gauss nodes; the bases are the robot's."""
    p, structure, d, found, first = robot.params, robot.structure, robot.group.dim, [], 0
    for i, (basis, joint, count) in enumerate(
        zip(structure.bases, structure.joints, structure.num_gauss_points, strict=True)
    ):
        columns, advance = joint.columns(robot.is_planar)
        width, L = columns.shape[1], float(p.length[i])
        turn = np.zeros((d, robot.num_dofs))
        turn[:, first : first + width] = columns + float(p.joint_pitch[i]) * advance
        found.append(Cell(turn, np.zeros(d)))
        first += width

        def strain(X, basis=basis, first=first, L=L):
            B = np.zeros((d, robot.num_dofs))
            B[:, first : first + basis.num_columns] = basis(np.array(X))
            if structure.scale_rotational_basis_by_length:
                B[: robot.group.angular] /= L
            return B

        x, w = np.polynomial.legendre.leggauss(count)
        ends = np.concatenate([[0], (x + 1) / 2, [1]])
        for k in range(count + 1):
            a, h = ends[k], ends[k + 1] - ends[k]
            pair = strain(a + h * (0.5 - np.sqrt(3) / 6)), strain(a + h * (0.5 + np.sqrt(3) / 6))
            weight = None if k == count else 0.5 * w[k] * L * profile(p, i, ends[k + 1], robot.is_planar)
            found.append(MagnusCell(pair, np.asarray(p.reference_strain[i]), h * L, weight))
        first += basis.num_columns
    return found


def profile(p, i, X, planar):
    """Inertia per length of a tapering section."""
    base, tip = np.asarray(p.cross_section.base[i]), np.asarray(p.cross_section.tip[i])
    y, z = base + X * (tip - base)
    A, Iy, Iz = {
        "circle": (np.pi * y**2, np.pi * y**4 / 4, np.pi * y**4 / 4),
        "ellipse": (np.pi * y * z, np.pi * y * z**3 / 4, np.pi * y**3 * z / 4),
        "rectangle": (y * z, y * z**3 / 12, y**3 * z / 12),
    }[p.cross_section.shapes[i]]
    return float(p.density[i]) * np.diag([Iz, A, A] if planar else [Iy + Iz, Iy, Iz, A, A, A])


def rod(robot, i):
    if isinstance(robot, ISupport):
        return isupport_section(robot, int(robot.structure.link_of_piece[i])), [], []
    link = robot.params.link
    r, rho = float(link.cross_section.radius[i]), float(link.density[i])
    area, second = np.pi * r**2, np.pi * r**4 / 4
    diagonal = [second, area, area] if robot.is_planar else [2 * second, second, second, area, area, area]
    return rho * np.diag(diagonal), [], []


def isupport_section(robot, i):
    """A disc where the link is rigid, a tube at the place of every chamber where it is pneumatic."""
    p, rigid = robot.params, robot.structure.rigid_segment_selector
    chambers, r = rigid[:i].count(False), float(p.link.cross_section.radius[i])
    outer, inner, places = r, 0.0, np.zeros((1, 2))
    if not rigid[i]:
        outer, inner = float(p.chamber_outer_radius[chambers]), float(p.chamber_inner_radius[chambers])
        azimuth = np.asarray(p.chamber_azimuth_angles[chambers])
        places = float(p.chamber_distance[chambers]) * np.stack([np.cos(azimuth), np.sin(azimuth)], axis=1)
    area, second = np.pi * (outer**2 - inner**2), np.pi * (outer**4 - inner**4) / 4
    tube = float(p.link.density[i]) * np.diag([2 * second, second, second, area, area, area])
    return sum(at(tube, [0.0, *place]) for place in places)


def hsa_bodies(robot, i):
    """Rods, and the rigid bodies before and after them: every mass at its own place."""
    p = {name: np.asarray(value)[i] for name, value in vars(robot.params).items() if np.ndim(value) and len(value) > i}
    rigid = np.zeros((3, robot.num_dofs))
    ro, ri, off = p["rod_outer_radius"], p["rod_inner_radius"], p["rod_offset"]
    area, second = np.pi * (ro**2 - ri**2), np.pi * (ro**4 - ri**4) / 4
    section = sum(
        at(rho * np.diag([I, A, A]), [x, 0.0]) for rho, I, A, x in zip(p["rod_density"], second, area, off, strict=True)
    )
    before = [Cell(rigid, np.array([0, 0, p["proximal_cap_length"]]))]
    w, h, depth = p["platform_dimension"]
    cap, mass = p["distal_cap_length"], p["platform_density"] * w * h * depth
    caps = p["end_cap_density"] * np.pi * ro**2 * cap
    inertia = sum(
        at(np.diag([m * (3 * r**2 + cap**2) / 12, m, m]), [x, 0.0]) for m, r, x in zip(caps, ro, off, strict=True)
    )
    after = [
        Cell(rigid, np.array([0, 0, cap / 2]), inertia),
        Cell(rigid, np.array([0, 0, cap / 2 + h / 2]), np.diag([mass * (w**2 + h**2) / 12, mass, mass])),
        Cell(rigid, np.array([0, 0, h / 2])),
    ]
    if i == robot.num_segments - 1:
        angle, *shift = np.asarray(robot.params.end_effector_offset)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        centre = shift + turn @ np.asarray(robot.params.platform_center_of_gravity)
        m = float(robot.params.platform_mass)
        after.append(Cell(rigid, np.zeros(3), at(np.diag([0.0, m, m]), centre)))
    return section, before, after


def joint_cells(robot):
    """The base, and each link at its centre of mass."""
    p, d, n = robot.params, robot.group.dim, robot.num_dofs
    rigid, angular = np.zeros((d, n)), np.zeros(1 if robot.is_planar else 3)

    def body(rotational, mass):
        return block_diag(np.atleast_2d(rotational), float(mass) * np.eye(d - angular.size))

    found = [Cell(rigid, np.zeros(d), body(p.base_inertia, p.base_mass))] if robot.floating_base else []
    for i in range(n):
        inertia = at(body(p.center_of_mass_inertia[i], p.mass[i]), p.center_of_mass_position[i])
        found += [
            Cell(rigid, vee(logm(np.asarray(robot.group.matrix(p.parent_to_joint_transform[i]))).real)),
            Cell(np.outer(p.joint_screw[i], np.eye(n)[i]), np.zeros(d), inertia),
            Cell(rigid, np.concatenate([angular, p.tip_position[i]])),
        ]
    return found


def at(inertia, center):
    """Inertia about the frame, of a body given about a parallel frame at ``center``."""
    d = inertia.shape[0]
    X = adjoint(expm(hat(np.concatenate([np.zeros(d - len(center)), -np.asarray(center)]))))
    return X.T @ inertia @ X

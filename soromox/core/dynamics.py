"""Dynamics of a chain, written once for SE(2) and SE(3).

A segment is "a joint with a flexible body": with the twist ``eta`` of its base and its own rates ``v`` a point moves
with ``X eta + S v``, so all its inertial points fold into one composite inertia on ``[eta, v]``. What remains is a
recursion of d x d matrices over the segments. References: Featherstone, Rigid Body Dynamics Algorithms, 2008
(Newton-Euler, articulated bodies); Echeandia and Wensing, 2021 (Christoffel-consistent C); Pustina, Della Santina and
De Luca, arXiv 2402.07037, and Mathew et al., arXiv 2411.04546 (the recursion for soft segments).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from soromox.core.base import base_motion, gravity_twist, spin
from soromox.core.chain import Chain
from soromox.core.kinematics import base_jacobians, point_poses
from soromox.core.linalg import spd_solve
from soromox.core.traversal import nothing, serial


class Motion(NamedTuple):
    """State of every point relative to its segment's base, and the twists that result.

    ``A`` (n, p + 1, d, d + k) takes ``[twist of the segment's base, rates]`` to the body twist ``eta`` (n, p + 1, d);
    ``bias`` (n, p + 1, d) is the velocity-dependent part of the acceleration relative to the base's, ``fall``
    (n, p + 1, d) the acceleration of free fall.
    """

    A: Array
    eta: Array
    bias: Array
    fall: Array


def motion(chain: Chain, q: Array, v: Array) -> Motion:
    """Twists of all points, by one pass from base to tip."""
    G, base = chain.group, base_motion(chain, q, v)
    A, twist, bias = chain.segments.flow(chain.scatter(chain.internal(q)), chain.scatter(chain.rates(v)))
    X, fall = A[..., : G.dim], gravity_twist(chain, base.g)
    if chain.num_segments == 1 and not chain.floating:
        return Motion(A, twist, bias, X @ fall)

    def step(carry, x):
        eta, fall = carry
        X, twist = x
        return (X @ eta + twist, X @ fall), carry

    eta_base, fall_base = serial(step, (base.eta, fall), (X[:, -1], twist[:, -1]))[1]
    carried, fall = (jnp.einsum("npij,nj->npi", X, x) for x in (eta_base, fall_base))
    # [twist, X eta + twist] = [twist, X eta]
    bracket = jax.vmap(jax.vmap(lambda a, b: G.ad(a) @ b))(twist, carried)
    return Motion(A, carried + twist, bias - bracket, fall)


def _gyroscopic(chain: Chain, eta: Array, inertia: Array) -> Array:
    """Wrench ``-ad(eta)^T I eta`` that keeps each body (..., d, d) on its twist (..., d)."""

    def wrench(eta, inertia):
        return -chain.group.coad(inertia @ eta) @ eta

    for _ in range(eta.ndim - 1):
        wrench = jax.vmap(wrench)
    return wrench(eta, inertia)


def inverse_dynamics(chain: Chain, q: Array, v: Array, v_dot: Array, *, gravity: bool = True) -> Array:
    """Generalised force ``M v_dot + C v + G`` (nv,) by Newton-Euler; O(n)."""
    G, base = chain.group, base_motion(chain, q, v)
    A, eta, bias, _ = motion(chain, q, v)
    X, S = A[..., : G.dim], A[..., G.dim :]
    relative = jnp.einsum("npdk,nk->npd", S, chain.scatter(chain.rates(v_dot))) + bias
    a0 = base.bias + base.J @ v_dot - (gravity_twist(chain, base.g) if gravity else 0)
    inertia = chain.segments.point_inertia
    F = jnp.einsum("npij,npj->npi", inertia, _accelerations(X, relative, a0)) + _gyroscopic(chain, eta, inertia)
    f0 = None
    if chain.base_inertia is not None:
        f0 = chain.base_inertia @ a0 - G.coad(chain.base_inertia @ base.eta) @ base.eta
    return generalised_force(chain, base.J, X, S, F, f0, v_dot)


def momentum(chain: Chain, q: Array, v: Array) -> Array:
    """Generalised momentum ``M v`` (nv,); O(n)."""
    return _force_at_rest(chain, q, v, gravity=False)


def gravitational_force(chain: Chain, q: Array) -> Array:
    """``G = dU/dq`` (nv,), along velocities when floating; O(n)."""
    zero = jnp.zeros(chain.num_base_velocities + chain.num_internal, q.dtype)
    return _force_at_rest(chain, q, zero, gravity=True)


def _force_at_rest(chain: Chain, q: Array, v_dot: Array, *, gravity: bool) -> Array:
    """``inverse_dynamics`` of a body at rest, with either gravity alone or none."""
    base = base_motion(chain, q, jnp.zeros_like(v_dot))
    g, S = chain.segments.local(chain.scatter(chain.internal(q)))
    X = jax.vmap(jax.vmap(chain.group.inverse_adjoint))(g)
    if gravity:
        relative, a0 = jnp.zeros_like(X[..., 0]), -gravity_twist(chain, base.g)
    else:
        relative, a0 = jnp.einsum("npdk,nk->npd", S, chain.scatter(chain.rates(v_dot))), base.J @ v_dot
    F = jnp.einsum("npij,npj->npi", chain.segments.point_inertia, _accelerations(X, relative, a0))
    f0 = None if chain.base_inertia is None else chain.base_inertia @ a0
    return generalised_force(chain, base.J, X, S, F, f0, v_dot)


def _accelerations(X: Array, relative: Array, a0: Array) -> Array:
    """Accelerations (n, p + 1, d) of the points, by one pass from the base's ``a0`` to the tip."""

    def outward(a, x):
        X, relative = x
        return X @ a + relative, a

    a_base = serial(outward, a0, (X[:, -1], relative[:, -1]))[1]
    return jnp.einsum("npij,nj->npi", X, a_base) + relative


def generalised_force(
    chain: Chain, J_base: Array, X: Array, S: Array, F: Array, f0: Array | None, v_dot: Array
) -> Array:
    """Force (nv,) of the wrenches ``F`` on the points and ``f0`` on the base, by one pass from tip to base."""
    f_own = jnp.einsum("npij,npi->nj", X, F)
    tau_own = jnp.einsum("npdk,npd->nk", S, F)

    def inward(f, x):
        X, S, f_own, tau_own = x
        return X.T @ f + f_own, S.T @ f + tau_own

    f, tau = serial(inward, jnp.zeros_like(f_own[0]), (X[:, -1], S[:, -1], f_own, tau_own), reverse=True)
    tau = chain.gather(tau)
    if chain.armature is not None:
        tau = tau + chain.armature * chain.rates(v_dot)
    if not chain.floating:
        return tau
    f = f if f0 is None else f + f0
    return jnp.concatenate([J_base[:, : chain.group.dim].T @ f, tau])


def composite_inertia(X: Array, S: Array, inertia: Array) -> Array:
    """Inertia (n, d + k, d + k) of each segment on ``[eta_base, rates]``, summed over the points given."""
    A = jnp.concatenate([X, S], axis=-1)
    return jnp.einsum("npia,npij,npjb->nab", A, inertia, A)


def inertia_matrix(chain: Chain, q: Array) -> Array:
    """Mass matrix (nv, nv): composite inertias seen through the base Jacobian of each segment."""
    g, S = chain.segments.local(chain.scatter(chain.internal(q)))
    X = jax.vmap(jax.vmap(chain.group.inverse_adjoint))(g)
    H = composite_inertia(X, S, chain.segments.point_inertia)
    A = jnp.concatenate([base_jacobians(chain, q), chain.selection(q.dtype)], axis=1)
    M = jnp.einsum("nav,nab,nbw->vw", A, H, A)
    if chain.armature is not None:
        rows = jnp.arange(chain.num_base_velocities, M.shape[0])
        M = M.at[rows, rows].add(chain.armature)
    if chain.base_inertia is not None:
        J = base_motion(chain, q, jnp.zeros(M.shape[0], q.dtype)).J
        M = M + J.T @ chain.base_inertia @ J
    return M


def coriolis_matrix(chain: Chain, q: Array, v: Array) -> Array:
    """Christoffel-consistent C (nv, nv): ``sum J^T (I J_dot + B(I, eta) J)``, M_dot - 2 C skew.

    ``B = 1/2 (I ad_eta - ad_eta^T I - [x -> ad_x^T I eta])``; the same on both groups, fixed and floating.
    """
    G, base = chain.group, base_motion(chain, q, v)
    rates = chain.scatter(chain.rates(v))
    (g, S), (_, S_dot) = jax.jvp(chain.segments.local, (chain.scatter(chain.internal(q)),), (rates,))
    X = jax.vmap(jax.vmap(G.inverse_adjoint))(g)

    def point(J, J_dot, X, S, S_dot, E, rates):
        J_new = X @ J + S @ E
        return J_new, X @ J_dot + S_dot @ E - G.ad(S @ rates) @ (X @ J)

    def segment(carry, x):
        J, J_dot = carry
        X, S, S_dot, E, rates, inertia = x
        J, J_dot = jax.vmap(point, (None, None, 0, 0, 0, None, None))(J, J_dot, X, S, S_dot, E, rates)
        C = jax.vmap(lambda J, J_dot, inertia: _coriolis(G, inertia, J, J_dot, J @ v))(J, J_dot, inertia)
        return (J[-1], J_dot[-1]), C.sum(0)

    xs = (X, S, S_dot, chain.selection(q.dtype), rates, chain.segments.point_inertia)
    J0_dot = -spin(G, base.eta) @ base.J
    C = serial(segment, (base.J, J0_dot), xs)[1].sum(0)
    if chain.base_inertia is not None:
        C = C + _coriolis(G, chain.base_inertia, base.J, J0_dot, base.eta)
    return C


def _coriolis(G, inertia: Array, J: Array, J_dot: Array, eta: Array) -> Array:
    bracket = inertia @ G.ad(eta)
    # -ad^T I is the transpose of -I ad, since I is symmetric
    B = 0.5 * (bracket - bracket.T - G.coad(inertia @ eta))
    return J.T @ (inertia @ J_dot + B @ J)


def forward_dynamics(chain: Chain, q: Array, v: Array, tau: Array, *, own: Array | None = None) -> Array:
    """Acceleration (nv,) under the generalised force ``tau``, by articulated bodies; O(n).

    Gravity and velocity-dependent forces are included; elastic, damping and actuation forces belong in ``tau``.
    ``own`` (n, k, k) is inertia to add to the segments' own coordinates.
    """
    G, base, segments = chain.group, base_motion(chain, q, v), chain.segments
    d, k = G.dim, segments.width
    A, eta, bias, fall = motion(chain, q, v)
    felt = bias - fall
    # the base of a single fixed segment does not move
    alone = chain.num_segments == 1 and not chain.floating
    if alone:
        A = A[..., d:]

    def load(inertia, eta, felt):
        return jnp.einsum("...ij,...j->...i", inertia, felt) + _gyroscopic(chain, eta, inertia)

    tip_load, H, b = None, None, None
    if segments.inertia.shape[1]:
        A_nodes = A[:, :-1]
        H = jnp.einsum("npia,npib->nab", A_nodes, jnp.einsum("npij,npja->npia", segments.inertia, A_nodes))
        b = jnp.einsum("npia,npi->na", A_nodes, load(segments.inertia, eta[:, :-1], felt[:, :-1]))
    if segments.tip_inertia is not None:
        tip_load = segments.tip_inertia, load(segments.tip_inertia, eta[:, -1], felt[:, -1])

    def inward(beyond, x):
        H, b, tip_load, A, bias, tau, added = x
        if beyond is not None:
            inertia, force = beyond
            beyond = inertia, inertia @ bias + force
        for body in (tip_load, beyond):
            if body is not None:
                inertia, wrench = body
                H_body, b_body = A.T @ (inertia @ A), A.T @ wrench
                H, b = (H_body, b_body) if H is None else (H + H_body, b + b_body)
        gains = spd_solve(H[-k:, -k:] + added, jnp.concatenate([H[-k:, :-k], (tau - b[-k:])[:, None]], axis=1))
        if alone:
            return beyond, gains
        inertia = H[:d, :d] - H[:d, d:] @ gains[:, :d]
        return (inertia, b[:d] + H[:d, d:] @ gains[:, d]), gains

    rates = chain.scatter(chain.rates(tau))
    added = jax.vmap(jnp.diag)(chain.diagonal(q.dtype))
    xs = (H, b, tip_load, A[:, -1], bias[:, -1], rates, added if own is None else added + own)
    zero = jnp.zeros((d, d), q.dtype), jnp.zeros(d, q.dtype)
    articulated, gains = serial(inward, nothing(xs, zero), xs, reverse=True)
    a0 = jnp.zeros(d, q.dtype)
    if chain.floating:
        inertia, force = articulated
        if chain.base_inertia is not None:
            inertia = inertia + chain.base_inertia
            weight = chain.base_inertia @ gravity_twist(chain, base.g)
            force = force - weight - G.coad(chain.base_inertia @ base.eta) @ base.eta
        to_body = G.rotation(base.g).T
        a0 = spd_solve(inertia, (G.rotate(to_body, tau[:d]) - force)[:, None])[:, 0]

    def outward(a, x):
        A, bias, gains = x
        if alone:
            return a, gains[:, -1]
        acceleration = gains[:, d] - gains[:, :d] @ a
        return A @ jnp.concatenate([a, acceleration]) + bias, acceleration

    accelerations = chain.gather(serial(outward, a0, (A[:, -1], bias[:, -1], gains))[1])
    if not chain.floating:
        return accelerations
    return jnp.concatenate([G.rotate(G.rotation(base.g), a0 - base.bias), accelerations])


def bias_force(chain: Chain, q: Array, v: Array) -> Array:
    """Convective force ``C(q, v) v`` (nv,)."""
    return inverse_dynamics(chain, q, v, jnp.zeros_like(v), gravity=False)


def kinetic_energy(chain: Chain, q: Array, v: Array) -> Array:
    """Kinetic energy, J."""
    eta = motion(chain, q, v).eta
    energy = 0.5 * jnp.einsum("npi,npij,npj->", eta, chain.segments.point_inertia, eta)
    if chain.armature is not None:
        energy = energy + 0.5 * (chain.armature @ chain.rates(v) ** 2)
    if chain.base_inertia is not None:
        base = base_motion(chain, q, v).eta
        energy = energy + 0.5 * base @ chain.base_inertia @ base
    return energy


def gravitational_energy(chain: Chain, q: Array) -> Array:
    """Potential ``-sum m g . p``, J, measured from the world origin."""
    G = chain.group

    def energy(g, inertia):
        mass, moment = G.mass_moment(inertia)
        return -chain.gravity @ (mass * G.position(g) + G.rotation(g) @ moment)

    total = jax.vmap(jax.vmap(energy))(point_poses(chain, q), chain.segments.point_inertia).sum()
    if chain.base_inertia is not None:
        total = total + energy(base_motion(chain, q, jnp.zeros(G.dim, q.dtype)).g, chain.base_inertia)
    return total

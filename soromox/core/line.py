"""Forces spread along the body of a chain."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.core.base import base_motion
from soromox.core.chain import Chain
from soromox.core.dynamics import generalised_force, motion
from soromox.core.segments import Joints, Rods

LINK_POINTS = 5  # of the Gauss rule along a rigid link


def line_force(chain: Chain, q: Array, v: Array, force: Callable[[Array, Array], Array]) -> Array:
    """Generalised force (nv,) of a force per reference length (N/m) on the line of the body.

    Rods are loaded at their quadrature nodes, rigid links along the line from joint to tip.

    Args:
        force: (tangent, velocity), each (space,) in body axes, to the force (space,) in them.
    """
    G, segments = chain.group, chain.segments
    A, eta, _, _ = motion(chain, q, v)

    def wrench(twist, tangent, weight):
        direction = tangent / jnp.sqrt(tangent @ tangent)
        return jnp.concatenate([jnp.zeros(G.angular, q.dtype), weight * force(direction, twist[G.angular :])])

    if isinstance(segments, Rods):
        field = segments.strain_field(chain.scatter(chain.internal(q)))
        loads = jax.vmap(jax.vmap(wrench))(eta[:, :-1], field.xi[..., G.angular :], field.weights)
        F = jnp.concatenate([loads, jnp.zeros_like(loads[:, :1])], axis=1)
    elif isinstance(segments, Joints):
        nodes, weights = (jnp.asarray(x, q.dtype) for x in np.polynomial.legendre.leggauss(LINK_POINTS))

        def link(twist, tip, length):
            """Wrench on the tip frame; a link without length bears nothing."""

            def piece(node, weight):
                shift = G.inverse_adjoint(G.translation(0.5 * (node - 1) * tip))
                return shift.T @ wrench(shift @ twist, jnp.where(length > 0, tip, 1), 0.5 * weight * length)

            return jax.vmap(piece)(nodes, weights).sum(0)

        F = jax.vmap(link)(eta[:, -1], segments.tip, segments.length)[:, None]
    else:
        raise TypeError(f"no line is known of {type(segments).__name__}")
    X, S = A[..., : G.dim], A[..., G.dim :]
    return generalised_force(chain, base_motion(chain, q, v).J, X, S, F, None, jnp.zeros_like(v))

"""Laws of the batched layout: with the lanes last a program gives what it gives lane by lane."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import zoo
from soromox.batching import lanes_last, settle
from soromox.batching.lanes import CHUNK

PRODUCTS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "ij,kj->ki": ((3, 4), (5, 4)),
    "npia,npib->nab": ((2, 3, 4, 5), (2, 3, 4, 6)),
    "pkc,kic->pic": ((3, 4, 5), (4, 6, 5)),
    "i,j->ij": ((3,), (4,)),
    "aib,bci->bac": ((3, 4, 5), (5, 6, 4)),
    "ba,ab->": ((3, 4), (4, 3)),
    "ij,jk->ki": ((3, 40), (40, 5)),
}


@pytest.mark.parametrize("spec", PRODUCTS)
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (-1, 0)])
def test_products(spec, axes, x64):
    rng = np.random.default_rng(0)
    operands = []
    for shape, axis in zip(PRODUCTS[spec], axes, strict=True):
        x = rng.normal(size=(7, *shape) if axis is not None else shape)
        operands.append(jnp.asarray(np.moveaxis(x, 0, axis) if axis == -1 else x))

    def product(a, b):
        return jnp.einsum(spec, a, b)

    expected = jax.vmap(product, axes)(*operands)
    np.testing.assert_allclose(jax.vmap(lanes_last(product), axes)(*operands), expected, rtol=1e-12, atol=1e-13)


def program(x, y, n):
    """Control flow, shared and batched carries, indexing, padding, reductions, a custom derivative and integers."""

    @jax.custom_jvp
    def softened(z):
        return jnp.sqrt(1 + z * z)

    softened.defjvp(lambda p, t: (softened(*p), p[0] / softened(*p) * t[0]))

    def body(carry, k):
        a, count, shared = carry
        a = softened(a @ y) + k * jnp.flip(a, 1)[:, ::-1]
        return (a, count + n, shared * 1.5), (a.sum(0), shared)

    (a, count, shared), (sums, trace) = lax.scan(body, (x, 0, jnp.ones(2)), jnp.arange(3.0))
    i = jnp.argmax(a[:, 0])
    picked = settle(a)[i] + jnp.pad(a, 1).reshape(-1)[4] + jnp.where(count > 3, a.max(), a.min())
    total = lax.cond(count > 0, lambda a: jnp.cumsum(a, 0), lambda a: -a, a)
    return {"picked": picked, "sums": sums, "trace": trace, "shared": shared, "count": count, "total": total}


@pytest.mark.parametrize("lanes", [1, 5, CHUNK + 3, 2 * CHUNK])
def test_any_program(lanes, x64):
    rng = np.random.default_rng(1)
    x, y = jnp.asarray(rng.normal(size=(lanes, 3, 3))), jnp.asarray(rng.normal(size=(3, 3)))
    n = jnp.arange(lanes)
    expected = zoo.compiled(jax.vmap(program, (0, None, 0)))(x, y, n)
    got = zoo.compiled(jax.vmap(lanes_last(program), (0, None, 0)))(x, y, n)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12), got, expected)
    # and in batches of batches
    nested = zoo.compiled(jax.vmap(jax.vmap(lanes_last(program), (0, None, 0)), (None, None, 0)))(x, y, n[None])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a[0], b, rtol=1e-12, atol=1e-12), nested, expected)


def test_derivatives_before_and_after_batching(x64):
    rng = np.random.default_rng(2)
    x, y = jnp.asarray(rng.normal(size=(5, 3, 3))), jnp.asarray(rng.normal(size=(3, 3)))

    def total(f, x, y):
        return jnp.sum(f(x, y, 1)["total"] ** 2)

    plain = zoo.compiled(jax.vmap(jax.grad(lambda x, y: total(program, x, y), (0, 1)), (0, None)))(x, y)
    inside = zoo.compiled(jax.vmap(jax.grad(lambda x, y: total(lanes_last(program), x, y), (0, 1)), (0, None)))(x, y)
    outside = zoo.compiled(
        jax.grad(lambda x, y: jax.vmap(lambda x: total(lanes_last(program), x, y))(x).sum(), (0, 1))
    )(x, y)
    forward = zoo.compiled(
        lambda x, t: jax.jvp(lambda x: jax.vmap(lambda x: total(lanes_last(program), x, y))(x), (x,), (t,))[1]
    )(x, jnp.ones_like(x))
    for a, b in zip(inside, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(outside[0], plain[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(outside[1], plain[1].sum(0), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(forward, plain[0].sum((1, 2)), rtol=1e-11, atol=1e-11)


def test_a_diverged_lane_leaves_the_others_alone(x64):
    x, y = jnp.ones((4, 3, 3)), jnp.eye(3)
    run = zoo.compiled(jax.vmap(lanes_last(program), (0, None, None)))
    clean, sick = run(x, y, 1), run(x.at[0, 0, 0].set(jnp.nan), y, 1)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[1:], b[1:]), sick, clean)


@zoo.over(("planar_pcs_2_scaled_tendons", "pcs_2_floating", "hsa_hysteresis", "articulated_floating"))
def test_forward_dynamics_of_lanes_and_of_lanes_with_their_own_parameters(name, x64):
    robot = zoo.build(name)
    q, qd, z, u, tau = zoo.samples(robot)

    @zoo.compiled
    def run(robot, q, qd, z, u, tau):
        y = jax.vmap(robot.pack_state)(q, qd, z)
        lanes = jax.vmap(lambda y, u, tau: robot.forward_dynamics(0.0, y, (u, tau)))(y, u, tau)
        own = jax.tree.map(lambda x: jnp.stack([x, x, x]), robot)
        loop = [robot.vector_field()(0.0, y[i], (u[i], tau[i])) for i in range(3)]
        return (
            lanes,
            jax.vmap(lambda r, y, u, tau: r.forward_dynamics(0.0, y, (u, tau)))(own, y, u, tau),
            jnp.stack(loop),
        )

    lanes, own, loop = map(np.asarray, run(robot, q, qd, z, u, tau))
    scale = np.abs(loop).max(1, keepdims=True)
    np.testing.assert_allclose(lanes / scale, loop / scale, rtol=0, atol=1e-12)
    np.testing.assert_allclose(own / scale, loop / scale, rtol=0, atol=1e-12)

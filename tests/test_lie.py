"""Group laws, each written once and run over SE(2) and SE(3)."""

from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

import zoo
from soromox.lie import se2, se3, so3, stumpff

GROUPS = pytest.mark.parametrize("G", [se2, se3], ids=["SE2", "SE3"])
PRECISIONS = pytest.mark.parametrize("dtype", ["float32", "float64"])
SIZES = {"zero": 0.0, "tiny": 1e-9, "small": 1e-4, "medium": 1.0, "large": 2.9}
"""Rotation angles, rad; those of the plane are unwrapped, so there the large one is tripled."""


def twists(G, seed=0) -> np.ndarray:
    """Nothing at all, then a twist a size with an angular part of that norm, and their negatives."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(SIZES), G.dim))
    angles = np.array(list(SIZES.values())) * np.where(np.arange(len(SIZES)) == 4, 3 if G is se2 else 1, 1)
    direction = x[:, : G.angular] / np.linalg.norm(x[:, : G.angular], axis=1, keepdims=True)
    x[:, : G.angular] = direction * angles[:, None]
    x = np.concatenate([x, -x])
    x[0] = 0
    return x


def operations(G, x, y, z):
    """All that the laws need, at twists x, y and z, so that a group compiles once."""
    g, h = G.exp(x), G.exp(y)
    dx_slopes = jax.jacfwd(G.exp)(x)
    center = z[-G.space :]
    rotational = 2 + z[0] ** 2 if G is se2 else 3 * jnp.eye(3, dtype=x.dtype) + jnp.outer(z[:3], z[:3])
    inertia = G.rigid_inertia(1.5 + z[0] ** 2, center, rotational)
    return dict(
        g=G.matrix(g),
        h=G.matrix(h),
        product=G.matrix(G.compose(g, h)),
        inverse=G.matrix(G.inverse(g)),
        identity=G.matrix(G.identity(x.dtype)),
        log=G.log(g),
        log_slope=jax.jacfwd(lambda x: G.log(G.exp(x)))(x),
        log_slope_reverse=jax.jacrev(lambda x: G.log(G.exp(x)))(x),
        exp_slope=dx_slopes,
        exp_slope_reverse=jax.jacrev(G.exp)(x),
        moved=jax.vmap(lambda twist: G.pose_rate(g, twist), in_axes=1, out_axes=-1)(G.tangent(x)),
        exp_second=jax.jacfwd(jax.jacrev(lambda x: G.matrix(G.exp(x))))(x),
        tangent=G.tangent(x),
        adjoint=G.adjoint(g),
        adjoint_h=G.adjoint(h),
        adjoint_product=G.adjoint(G.compose(g, h)),
        inverse_adjoint=G.inverse_adjoint(g),
        ad=G.ad(x),
        ad_y=G.ad(y),
        coad=G.coad(z),
        hat=G.hat(x),
        hat_y=G.hat(y),
        rotation=G.rotation(g),
        position=G.position(g),
        translation=G.matrix(G.translation(center)),
        rotated=G.rotate(G.rotation(g), y),
        mass=G.mass_moment(inertia)[0],
        moment=G.mass_moment(inertia)[1],
        inertia=inertia,
        inertia_moved=G.inverse_adjoint(G.translation(center)).T
        @ G.rigid_inertia(1.5 + z[0] ** 2, jnp.zeros_like(center), rotational)
        @ G.inverse_adjoint(G.translation(center)),
        center=center,
        x=x,
        y=y,
        z=z,
    )


@pytest.fixture(scope="module", params=["SE2-float32", "SE2-float64", "SE3-float32", "SE3-float64"])
def group(request):
    """The group, the operations at all twists as NumPy arrays, and a comparison at the precision's tolerance."""
    name, dtype = request.param.split("-")
    G = se2 if name == "SE2" else se3
    with jax.enable_x64(dtype == "float64"):
        x, y, z = (jnp.asarray(twists(G, seed), dtype) for seed in range(3))
        values = zoo.compiled(jax.vmap(lambda x, y, z: operations(G, x, y, z)))(x, y[::-1], z)
    assert all(v.dtype == dtype for v in values.values())
    tolerance = 2e-12 if dtype == "float64" else 2e-5

    def close(a, b):
        a, b = np.broadcast_arrays(a, b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.abs(b).max()))

    return G, {k: np.asarray(v, np.float64) for k, v in values.items()}, close


def each(function, *arrays):
    return np.stack([function(*row) for row in zip(*arrays, strict=True)])


def test_closure(group):
    G, e, close = group
    R = e["rotation"]
    close(R @ np.swapaxes(R, 1, 2), np.eye(G.space))
    close(np.linalg.det(R), 1.0)
    close(e["product"], e["g"] @ e["h"])
    close(e["g"][:, -1], np.eye(G.space + 1)[-1])
    close(e["g"][:, :-1, -1], e["position"])


def test_identity_and_inverse(group):
    G, e, close = group
    close(e["identity"], np.eye(G.space + 1))
    close(e["inverse"] @ e["g"], np.eye(G.space + 1))


def test_exponential_is_the_matrix_exponential(group):
    _, e, close = group
    close(e["g"], each(expm, e["hat"]))


def test_logarithm_inverts_the_exponential(group):
    G, e, close = group
    close(e["log"], e["x"])
    close(e["log_slope"], np.eye(G.dim))
    close(e["log_slope_reverse"], np.eye(G.dim))


def test_tangent_operator_is_the_derivative_of_the_exponential(group):
    _, e, close = group
    close(e["moved"], e["exp_slope"])
    close(e["exp_slope_reverse"], e["exp_slope"])


def test_tangent_operator_is_its_integral(group):
    _, e, close = group
    nodes, weights = np.polynomial.legendre.leggauss(20)
    integral = sum(w / 2 * each(expm, -(n + 1) / 2 * e["ad"]) for n, w in zip(nodes, weights, strict=True))
    close(e["tangent"], integral)


def test_second_derivative_of_the_exponential_at_zero(group):
    """``d2 exp(0)[a, b] = (a^ b^ + b^ a^) / 2``, forward over reverse."""
    G, e, close = group
    with jax.enable_x64(True):
        basis = np.stack([np.asarray(G.hat(a)) for a in jnp.eye(G.dim)])
    products = np.einsum("aij,bjk->ikab", basis, basis)
    close(e["exp_second"][0], 0.5 * (products + np.swapaxes(products, 2, 3)))
    assert np.all(np.isfinite(e["exp_second"]))


def test_adjoint(group):
    G, e, close = group
    close(e["adjoint"], each(expm, e["ad"]))
    close(e["adjoint_product"], e["adjoint"] @ e["adjoint_h"])
    close(e["inverse_adjoint"] @ e["adjoint"], np.eye(G.dim))


def test_bracket(group):
    _, e, close = group
    apply = np.einsum("nij,nj->ni", e["ad"], e["y"])
    close(apply, -np.einsum("nij,nj->ni", e["ad_y"], e["x"]))
    commutator = e["hat"] @ e["hat_y"] - e["hat_y"] @ e["hat"]
    with jax.enable_x64(True):
        close(np.stack([np.asarray(group[0].hat(jnp.asarray(a))) for a in apply]), commutator)


def test_coadjoint(group):
    _, e, close = group
    close(np.einsum("nij,nj->ni", e["coad"], e["x"]), np.einsum("nji,nj->ni", e["ad"], e["z"]))


def test_translation_and_rotation_of_twists(group):
    G, e, close = group
    close(e["translation"][:, :-1, -1], e["center"])
    close(e["translation"][:, :-1, :-1], np.eye(G.space))
    turned = np.einsum("nij,nj->ni", e["rotation"], e["y"][:, G.angular :])
    close(e["rotated"][:, G.angular :], turned)


def test_rigid_inertia(group):
    G, e, close = group
    close(e["inertia"], e["inertia_moved"])
    close(e["mass"], 1.5 + e["z"][:, 0] ** 2)
    close(e["moment"], e["mass"][:, None] * e["center"])


@PRECISIONS
def test_rotations_and_quaternions(dtype):
    rng = np.random.default_rng(3)
    w = rng.normal(size=(40, 3))
    w *= (np.linspace(0, np.pi, 40) / np.linalg.norm(w, axis=1))[:, None]
    tolerance = 1e-12 if dtype == "float64" else 2e-6

    def evaluate(w, v):
        R, q, p = so3.exp(w), so3.quaternion_exp(w), so3.quaternion_exp(v)
        return (
            (so3.quaternion_to_matrix(q), R),
            (so3.quaternion_to_matrix(3 * so3.quaternion_from_matrix(R)), R),
            (so3.quaternion_to_matrix(so3.quaternion_multiply(q, p)), R @ so3.exp(v)),
            (so3.exp(so3.log(R)), R),
            (so3.skew(w) @ v, jnp.cross(w, v)),
        )

    with jax.enable_x64(dtype == "float64"):
        pairs = zoo.compiled(jax.vmap(evaluate))(jnp.asarray(w, dtype), jnp.asarray(w[::-1], dtype))
    for a, b in pairs:
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=10 * tolerance)


def series(z, k, derivative=0):
    """``d^m/dz^m c_k(z)`` by its series in extended precision; right to 1e-15 for z up to about 25."""
    z, total = np.longdouble(z), np.longdouble(0)
    for j in range(derivative, 60):
        slope = np.longdouble(factorial(j) // factorial(j - derivative))
        total += (-1) ** j * slope * z ** (j - derivative) / np.longdouble(factorial(2 * j + k))
    return float(total)


@PRECISIONS
@pytest.mark.parametrize("order", [1, 2, 3])
def test_stumpff_functions_and_their_derivatives(order, dtype):
    z = np.array([0.0, 1e-12, 1e-3, 0.3, 0.999, 1.0, 1.001, 4.0, 20.0])

    def value(z):
        return stumpff(z, order)

    forward, reverse = jax.jacfwd(value), jax.jacrev(value)
    with jax.enable_x64(dtype == "float64"):
        functions = (value, forward, reverse, jax.jacfwd(forward), jax.jacfwd(reverse), jax.jacrev(forward))
        rows = zoo.compiled(jax.vmap(lambda z: [f(z) for f in functions]))(jnp.asarray(z, dtype))
    tolerance = 1e-13 if dtype == "float64" else 3e-6
    for row, derivative in zip(rows, (0, 1, 1, 2, 2, 2), strict=True):
        expected = [[series(x, k, derivative) for k in range(order + 1)] for x in z]
        np.testing.assert_allclose(row, expected, rtol=0, atol=tolerance)

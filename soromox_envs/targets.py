"""Tables of reachable targets: stable static equilibria over the admissible actuation, spread over the workspace.

``python -m soromox_envs.targets PlanarHSA`` rebuilds ``soromox_envs/robots/data/PlanarHSA.npz``. A table holds
``u`` (K, m), ``q`` (K, nq) and ``tip`` (K, space), float64, m and the units of the inputs.
"""

import argparse
from importlib.resources import files
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.stats import qmc

from soromox.batching import lanes_last
from soromox_envs.robots import model_of
from soromox_envs.robots.model import RobotModel, input_limits

NEWTON_STEPS = 8
STAGES = 16
TABLE_SIZE = 1024
GRID = 160
LOG2_SAMPLES = 12


def load_table(key: str) -> dict[str, np.ndarray]:
    """The shipped table of a robot."""
    path = files("soromox_envs.robots") / "data" / f"{key}.npz"
    with path.open("rb") as file, np.load(file) as table:
        return dict(table)


def residual(robot, q: Array, u: Array) -> Array:
    """Static residual: conservative less actuation force (nv,)."""
    return robot.potential_force(q) - robot.actuation_force(q, u)


def equilibrium(robot, u: Array) -> Array:
    """Configuration reached quasi-statically from rest as the actuation grows from zero to ``u``.

    Newton's method in stages along the way, so that the branch is the one the robot follows.
    """

    def stage(q, fraction):
        def newton(q, _):
            slope = jax.jacfwd(residual, argnums=1)(robot, q, fraction * u)
            return q - jnp.linalg.solve(slope, residual(robot, q, fraction * u)), None

        return jax.lax.scan(newton, q, None, length=NEWTON_STEPS)[0], None

    start = jnp.zeros(robot.num_coordinates, u.dtype)
    return jax.lax.scan(stage, start, jnp.linspace(0, 1, STAGES + 1, dtype=u.dtype))[0]


def stable(robot, q: Array, u: Array) -> Array:
    """Whether the equilibrium balances and every static stiffness is positive."""
    slope = jax.jacfwd(residual, argnums=1)(robot, q, u)
    balanced = jnp.abs(residual(robot, q, u)).max() < 1e-9
    return balanced & (jnp.linalg.eigvals(slope).real.min() > 0)


def spread(points: np.ndarray, count: int) -> np.ndarray:
    """Indices of ``count`` points far from each other (farthest-point sampling from the mean)."""
    chosen = [int(np.argmin(np.linalg.norm(points - points.mean(0), axis=1)))]
    gap = np.linalg.norm(points - points[chosen[0]], axis=1)
    while len(chosen) < min(count, len(points)):
        chosen.append(int(np.argmax(gap)))
        gap = np.minimum(gap, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.array(chosen)


def admissible_inputs(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Actuations (K, m): a regular grid of two inputs, a low-discrepancy set of more."""
    m = len(lower)
    if m <= 2:
        axes = [np.linspace(a, b, GRID) for a, b in zip(lower, upper, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, m)
    return lower + (upper - lower) * qmc.Sobol(m, scramble=False).random_base2(LOG2_SAMPLES)


def build_table(model: RobotModel, size: int = TABLE_SIZE) -> dict[str, np.ndarray]:
    """Equilibria over the admissible actuation, thinned to an even spread of tips."""
    robot = model.build()
    inputs = jnp.asarray(admissible_inputs(*input_limits(robot)))

    @eqx.filter_jit
    def settle(robot, u):
        def one(u):
            q = equilibrium(robot, u)
            return q, model.tip_position(robot, q), stable(robot, q, u)

        return jax.vmap(lanes_last(one))(u)

    q, tip, ok = (np.asarray(x) for x in settle(robot, inputs))
    u, q, tip = np.asarray(inputs)[ok], q[ok], tip[ok]
    kept = spread(tip, size)
    return {"u": u[kept], "q": q[kept], "tip": tip[kept]}


def main() -> None:
    """Rebuild the table of one robot."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("robot", help="key of a robot, such as PlanarHSA")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "robots" / "data")
    arguments = parser.parse_args()
    with jax.enable_x64(True):
        table = build_table(model_of(arguments.robot))
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(arguments.out / f"{arguments.robot}.npz", u=table["u"], q=table["q"], tip=table["tip"])


if __name__ == "__main__":
    main()

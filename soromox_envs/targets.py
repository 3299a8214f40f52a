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

from soromox.systems.statics import static_stiffness
from soromox_envs.robots import model_of
from soromox_envs.robots.model import RobotModel, input_limits

TABLE_SIZE = 1024
GRID = 160
LOG2_SAMPLES = 12


def load_table(key: str) -> dict[str, np.ndarray]:
    """The shipped table of a robot."""
    path = files("soromox_envs.robots") / "data" / f"{key}.npz"
    with path.open("rb") as file, np.load(file) as table:
        return dict(table)


def stable(robot, q: Array, u: Array) -> Array:
    """Whether every static stiffness of an equilibrium is positive."""
    return jnp.linalg.eigvals(static_stiffness(robot, q, u)).real.min() > 0


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
    from scipy.stats import qmc  # slow to import, and only tables need it

    return lower + (upper - lower) * qmc.Sobol(m, scramble=False).random_base2(LOG2_SAMPLES)


def build_table(model: RobotModel, size: int = TABLE_SIZE) -> dict[str, np.ndarray]:
    """Equilibria over the admissible actuation, thinned to an even spread of tips."""
    robot = model.build()
    inputs = jnp.asarray(admissible_inputs(*input_limits(robot)))

    @eqx.filter_jit
    def settle(robot, u):
        def one(u):
            found = robot.equilibrium(u)
            q, balanced = found.q, found.converged & (jnp.abs(found.residual).max() < 1e-9)
            return q, model.tip_position(robot, q), balanced & stable(robot, q, u)

        return jax.vmap(one)(u)

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

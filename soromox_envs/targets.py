"""Tables of reachable targets: stable static equilibria over the admissible actuation, spread over the workspace.

``python -m soromox_envs.targets PCS`` rebuilds ``soromox_envs/robots/data/PCS.npz``. Targets and curves are frozen:
those of a table that is there stay, and what is derived from them is computed anew; without one, they are found. A
table holds, m and units of the inputs,

- ``u`` (K, m), ``q`` (K, nq), ``tip`` (K, space), float64: actuation, equilibrium and position of the tip;
- ``rotation`` (K, 3, 3) of the tip, of spatial robots, and ``body`` (K, 8, space), points along the backbone, float32;
- ``sensitivity`` (K, m, space), float32: the least change of the inputs, over their ranges, that moves the tip;
- ``curves`` (48, 64, space), float32: closed curves that the tip can follow, 16 circles, 16 figure-eights, 16 random
  smooth ones, at equal arc lengths, and ``curve_length`` (48,).

Robots without targets (a pendulum, a swimmer) have a table of the postures that episodes begin from, without the last
three.
"""

import argparse
from importlib.resources import files
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from soromox.systems.statics import static_stiffness
from soromox_envs.robots import model_of
from soromox_envs.robots.model import RobotModel, input_limits

Table = dict[str, np.ndarray]

TABLE_SIZE = 1024
GRID = 160
LOG2_SAMPLES = 12
LANES = 256  # solved together
FROZEN = ("u", "q", "tip", "curves", "curve_length")
DATA = Path(__file__).parent / "robots" / "data"


def load_table(key: str) -> Table:
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


def find_targets(model: RobotModel, robot: Any, size: int = TABLE_SIZE) -> Table:
    """Equilibria over the admissible actuation, thinned to an even spread of tips."""
    inputs = jnp.asarray(admissible_inputs(*input_limits(robot)))

    @eqx.filter_jit
    def settle(robot, u):
        def one(u):
            found = robot.equilibrium(u)
            q, balanced = found.q, found.converged & (jnp.abs(found.residual).max() < 1e-9)
            return q, model.tip_position(robot, q), balanced & stable(robot, q, u)

        return jax.lax.map(one, u, batch_size=LANES)

    q, tip, ok = (np.asarray(x) for x in settle(robot, inputs))
    u, q, tip = np.asarray(inputs)[ok], q[ok], tip[ok]
    kept = spread(tip, size)
    return {"u": u[kept], "q": q[kept], "tip": tip[kept]}


def postures(model: RobotModel, robot: Any) -> Table:
    """The postures of a robot without targets, at which its inputs are zero."""
    q = np.array(model.postures)
    tip = jax.vmap(lambda q: model.tip_position(robot, q))(jnp.asarray(q))
    return {"u": np.zeros((len(q), robot.num_actuators)), "q": q, "tip": np.asarray(tip)}


@eqx.filter_jit
def _bodies(model: RobotModel, robot: Any, q: Array) -> tuple[Array, Array]:
    """Rotations of the tip and points along the backbone, of configurations (K, nq)."""

    def one(q):
        motion = model.motion(robot, q, body=True)
        return robot.group.rotation(motion.tip), motion.body

    return jax.lax.map(one, q, batch_size=LANES)


@eqx.filter_jit
def _sensitivities(model: RobotModel, robot: Any, q: Array, u: Array, width: Array) -> Array:
    """d u / d tip (K, m, space), least in the norm of shares of the ranges."""
    from soromox_envs.curves import DAMPING, damped_inverse, linearize

    def one(x):
        slope = linearize(model, robot, *x).tip_slope * width[None]
        return width[:, None] * damped_inverse(slope, DAMPING * model.length(robot))

    return jax.lax.map(one, (q, u), batch_size=LANES)


def rounded(x: Array, bits: int = 11) -> Array:
    """Numbers rounded to so many binary digits, which compress to half the size."""
    mantissa, exponent = jnp.frexp(x)
    return jnp.ldexp(jnp.round(mantissa * 2**bits) / 2**bits, exponent)


def derived(model: RobotModel, robot: Any, table: Table) -> Table:
    """What follows from the targets of a table."""
    q, u = jnp.asarray(table["q"]), jnp.asarray(table["u"])
    rotation, body = _bodies(model, robot, q)
    found: dict[str, Any] = {"body": body, **({} if robot.is_planar else {"rotation": rotation})}
    if not model.postures:
        lower, upper = input_limits(robot)
        found["sensitivity"] = rounded(_sensitivities(model, robot, q, u, jnp.asarray(upper - lower)))
    if not model.postures and "curves" not in table:
        from soromox_envs.curves import tracking_curves

        found["curves"], found["curve_length"] = tracking_curves(model, robot, table)
    return {name: np.asarray(values, np.float32) for name, values in found.items()}


def build_table(model: RobotModel, frozen: Table | None = None) -> Table:
    """The table of a robot, about the targets of an earlier one if there is one."""
    robot = model.build()
    if frozen is not None:
        table = {name: frozen[name] for name in FROZEN if name in frozen}
    else:
        table = postures(model, robot) if model.postures else find_targets(model, robot)
    return table | derived(model, robot, table)


def rebuild(key: str, folder: Path = DATA) -> None:
    """Write the table of one robot."""
    path = folder / f"{key}.npz"
    frozen = dict(np.load(path)) if path.is_file() else None
    with jax.enable_x64(True):
        table = build_table(model_of(key), frozen)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **table)  # pyright: ignore[reportArgumentType]


def main() -> None:
    """Rebuild the table of one robot."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("robot", help="key of a robot, such as PlanarHSA")
    parser.add_argument("--out", type=Path, default=DATA)
    arguments = parser.parse_args()
    rebuild(arguments.robot, arguments.out)


if __name__ == "__main__":
    main()

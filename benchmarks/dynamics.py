"""Forward dynamics: microseconds an evaluation and a lane, float32, one core.

``python -m benchmarks.dynamics`` compares ways to the accelerations of a batch of PCS robots:

- ``lanes last``: ``jax.vmap(robot.forward_dynamics)``, which runs with the lanes on the last axis;
- ``lanes first``: the same recursion as ``jax.vmap`` batches it by itself;
- ``dense``: mass matrix, Coriolis force and gravity from the public methods, and ``jnp.linalg.solve``;
- ``flat``: the tests' oracle, dense columns in NumPy (float64), one robot at a time.

The last three are measured at 64 lanes, the oracle on one of them.
"""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import parser, report, table
from benchmarks.timing import compile_seconds, confine, seconds
from soromox.systems import PCS, PCSParams, PlanarPCS, PlanarPCSParams
from tests import flat_oracle

LANES = (1, 64, 1024)
COMPARED = 64  # lanes at which the three ways are compared


def rod(planar: bool, segments: int):
    """A silicone rod of equal segments of 0.25 m."""
    kind, params = (PlanarPCS, PlanarPCSParams) if planar else (PCS, PCSParams)
    values = dict(
        length=0.25,
        radius=0.025,
        density=1070.0,
        young_modulus=2.5e5,
        shear_modulus=2.5e5 / 3,
        material_damping_coefficient=318.0,
    )
    return kind(params(**{name: np.full(segments, value) for name, value in values.items()}))


def dense(robot, y, u):
    """Accelerations from the terms of the equation of motion."""
    q, v, _ = robot.split_state(y)
    M, convective, gravity = robot.dynamics_terms(q, v)
    tau = robot.actuation_force(q, u) - robot.elastic_force(q) - robot.damping_matrix(q) @ v
    return jnp.linalg.solve(M, tau - convective - gravity)


def flat(robot):
    """Function of q and v: accelerations from the oracle's sums, without input."""
    cells = flat_oracle.cells(robot)
    K, D = np.asarray(robot.stiffness_matrix()), np.asarray(robot.damping_matrix(jnp.zeros(robot.num_dofs)))

    def accelerations(q, v):
        M, C, G = flat_oracle.dynamics(robot, cells, q, v)
        return np.linalg.solve(M, -C @ v - G - K @ q - D @ v)

    return accelerations


def measure(planar: bool, segments: int, lanes: int) -> dict:
    """One row: times of the ways, compile time, floating-point operations."""
    robot = rod(planar, segments)
    n = robot.num_velocities
    y = jnp.asarray(np.random.default_rng(0).normal(size=(lanes, 2 * n)) * 0.3, jnp.float32)
    u = jnp.zeros((lanes, n), jnp.float32)
    ways = {
        "lanes_last": lambda y, u: robot.forward_dynamics(0.0, y, (u,)),
        "lanes_first": lambda y, u: robot.vector_field()(0.0, y, (u,)),
        "dense": lambda y, u: dense(robot, y, u),
    }
    row = {"robot": "planar" if planar else "spatial", "segments": segments, "lanes": lanes}
    for name, function in ways.items() if lanes == COMPARED else [("lanes_last", ways["lanes_last"])]:
        program, compiling = compile_seconds(jax.vmap(function), y, u)
        row[f"{name}_us"] = 1e6 * seconds(program, y, u)[1] / lanes
        row[f"{name}_compile_s"] = compiling
        if name == "lanes_last" and lanes == COMPARED:
            row["flops"] = program.cost_analysis().get("flops", float("nan")) / lanes
    if lanes == COMPARED:
        state = np.asarray(y[0], np.float64)
        row["flat_us"] = 1e6 * seconds(flat(robot), state[:n], state[n:])[0]
    return row


def peak_gflops() -> float:
    """Multiply-adds this core reaches on 6 x 6 products of 64 lanes that stay in cache, 2 operations each."""
    a = jnp.asarray(np.random.default_rng(0).normal(size=(6, 6, 64)), jnp.float32)

    def product(a, b):
        return sum(a[:, k, None] * b[None, k] for k in range(6)) * 0.1

    program, _ = compile_seconds(lambda a, b: jax.lax.fori_loop(0, 100, lambda _, b: product(a, b), b), a, a)
    return 100 * 2 * 6**3 * 64 / seconds(program, a, a)[1] / 1e9


def markdown(rows: list[dict], peak: float) -> str:
    """The rows as a table."""
    columns = {
        "rod": "{robot}",
        "segments": "{segments}",
        "lanes": "{lanes}",
        "lanes last": "{lanes_last_us:.2f}",
        "lanes first": "{lanes_first_us:.2f}",
        "dense": "{dense_us:.2f}",
        "flat": "{flat_us:,.0f}",
        "operations": "{flops:,.0f}",
        "compile (s)": "{lanes_last_compile_s:.1f}",
    }
    title = (
        f"Forward dynamics of PCS rods, float32, microseconds an evaluation and lane; this core's small products reach "
        f"{peak:.0f} GFlop/s"
    )
    return table(title, rows, columns)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--segments", type=int, nargs="+", default=[1, 2, 4])
    options.add_argument("--lanes", type=int, nargs="+", default=list(LANES))
    arguments = options.parse_args()
    confine()
    peak = peak_gflops()
    cases = [(planar, n, lanes) for planar in (True, False) for n in arguments.segments for lanes in arguments.lanes]
    rows = [measure(*case) for case in cases]
    report(arguments, markdown(rows, peak), peak_gflops=peak, rows=rows)


if __name__ == "__main__":
    main()

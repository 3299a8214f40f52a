"""Forward dynamics: microseconds an evaluation and a lane, float32, one core.

``python -m benchmarks.dynamics`` compares three ways to the accelerations of a batch of PCS robots:

- ``lanes last``: ``jax.vmap(robot.forward_dynamics)``, which runs with the lanes on the last axis;
- ``lanes first``: the same recursion as ``jax.vmap`` batches it by itself;
- ``dense``: mass matrix, Coriolis force and gravity from the public methods, and ``jnp.linalg.solve``.

The last two are measured at 64 lanes.
"""

import argparse
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.machine import describe_machine
from benchmarks.timing import compile_seconds, confine, seconds
from soromox.systems import PCS, PCSParams, PlanarPCS, PlanarPCSParams

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


def measure(planar: bool, segments: int, lanes: int) -> dict:
    """One row: times of the three ways, compile time, floating-point operations."""
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
    return row


def peak_gflops() -> float:
    """Multiply-adds this core reaches on 6 x 6 products of 64 lanes that stay in cache, 2 operations each."""
    a = jnp.asarray(np.random.default_rng(0).normal(size=(6, 6, 64)), jnp.float32)

    def product(a, b):
        return sum(a[:, k, None] * b[None, k] for k in range(6)) * 0.1

    program, _ = compile_seconds(lambda a, b: jax.lax.fori_loop(0, 100, lambda _, b: product(a, b), b), a, a)
    return 100 * 2 * 6**3 * 64 / seconds(program, a, a)[1] / 1e9


def markdown(rows: list[dict], peak: float) -> str:
    """The rows as a Markdown table."""
    lines = [
        f"Forward dynamics of PCS rods, float32, microseconds an evaluation and lane; this core's small products reach "
        f"{peak:.0f} GFlop/s",
        "",
        "| rod | segments | lanes | lanes last | lanes first | dense | operations | compile (s) |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        keys = ("lanes_last_us", "lanes_first_us", "dense_us")
        times = " | ".join(f"{row[key]:.2f}" if key in row else "" for key in keys)
        operations = f"{row['flops']:,.0f}" if "flops" in row else ""
        lines.append(
            f"| {row['robot']} | {row['segments']} | {row['lanes']} | {times} | {operations} | "
            f"{row['lanes_last_compile_s']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--lanes", type=int, nargs="+", default=list(LANES))
    parser.add_argument("--json", type=Path, help="also write the rows here")
    arguments = parser.parse_args()
    confine()
    peak = peak_gflops()
    cases = [(planar, n, lanes) for planar in (True, False) for n in arguments.segments for lanes in arguments.lanes]
    rows = [measure(*case) for case in cases]
    print(markdown(rows, peak))
    if arguments.json:
        result = {"machine": describe_machine(), "peak_gflops": peak, "rows": rows}
        arguments.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

"""Analytic derivative rules of the public methods against plain automatic differentiation, float32, one core.

``python -m benchmarks.derivatives`` differentiates the same public methods with the rules on and off
(``soromox.custom_jvp_mode``): gradients of the energies, Jacobians along a motion, poses and Jacobians along the arc
length. Batches of 64 states; CPU time of an evaluation and a lane, and time to compile.
"""

import argparse
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from benchmarks.dynamics import rod
from benchmarks.machine import describe_machine
from benchmarks.timing import compile_seconds, confine, seconds
from soromox import custom_jvp_mode

LANES = 64


def derivatives(robot) -> dict:
    """Functions of q, v and s that carry a rule, each differentiated as a user would."""
    return {
        "grad gravitational_energy": lambda q, v, s: jax.grad(robot.gravitational_energy)(q),
        "grad elastic_energy": lambda q, v, s: jax.grad(robot.elastic_energy)(q),
        "grad kinetic_energy, q": lambda q, v, s: jax.grad(robot.kinetic_energy)(q, v),
        "grad kinetic_energy, v": lambda q, v, s: jax.grad(robot.kinetic_energy, argnums=1)(q, v),
        "jvp kinetic_energy, q": lambda q, v, s: jax.jvp(lambda q: robot.kinetic_energy(q, v), (q,), (v,))[1],
        "jvp jacobian, q": lambda q, v, s: jax.jvp(lambda q: robot.jacobian(q, s), (q,), (v,)),
        "jvp jacobian, s": lambda q, v, s: jax.jvp(lambda s: robot.jacobian(q, s), (s,), (jnp.ones_like(s),)),
        "jvp forward_kinematics, s": lambda q, v, s: jax.jvp(
            lambda s: robot.forward_kinematics(q, s), (s,), (jnp.ones_like(s),)
        ),
    }


def measure(planar: bool, segments: int) -> list[dict]:
    """Rows of one robot."""
    robot = rod(planar, segments)
    rng = np.random.default_rng(0)
    q, v = (jnp.asarray(0.3 * rng.normal(size=(LANES, robot.num_velocities)), jnp.float32) for _ in range(2))
    s = jnp.asarray(rng.uniform(0.1, 0.9, LANES) * robot.length, jnp.float32)
    rows = []
    for name, function in tqdm(derivatives(robot).items(), desc=f"{'planar' if planar else 'spatial'} {segments}"):
        row = {"robot": "planar" if planar else "spatial", "segments": segments, "derivative": name}
        for way, enabled in (("analytic", True), ("plain", False)):
            with custom_jvp_mode(enabled):
                # another function each time: jax.jit remembers what it traced
                program, compiling = compile_seconds(jax.vmap(lambda *args, f=function: f(*args)), q, v, s)
            row[f"{way}_us"] = 1e6 * seconds(program, q, v, s)[0] / LANES
            row[f"{way}_compile_s"] = compiling
        rows.append(row)
    return rows


def markdown(rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    lines = [
        f"Derivatives of PCS rods, float32, CPU microseconds an evaluation: analytic rules, plain automatic "
        f"differentiation and their ratio; {LANES} lanes",
        "",
        "| rod | segments | derivative | analytic | plain | ratio | compile (s), analytic | plain |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        analytic, plain = row["analytic_us"], row["plain_us"]
        lines.append(
            f"| {row['robot']} | {row['segments']} | {row['derivative']} | {analytic:.2f} | {plain:.2f} | "
            f"{plain / analytic:.1f} x | {row['analytic_compile_s']:.1f} | {row['plain_compile_s']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--json", type=Path, help="also write the rows here")
    arguments = parser.parse_args()
    confine()
    rows = [row for planar in (True, False) for n in arguments.segments for row in measure(planar, n)]
    print(markdown(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": describe_machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()

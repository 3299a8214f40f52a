"""Forward dynamics over the number of segments: the recursion is O(n), and its program does not grow.

``python -m benchmarks.scaling`` prints microseconds an evaluation (float32, 64 lanes, one core) and seconds to compile.
"""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.dynamics import rod
from benchmarks.report import parser, report, table
from benchmarks.timing import compile_seconds, confine, seconds

SEGMENTS = (4, 8, 16, 32, 64)
LANES = 64


def measure(planar: bool, segments: int) -> dict:
    """Time and compile time of a batch of rods."""
    robot = rod(planar, segments)
    n = robot.num_velocities
    y = jnp.asarray(np.random.default_rng(0).normal(size=(LANES, 2 * n)) * 0.1, jnp.float32)
    program, compiling = compile_seconds(jax.vmap(lambda y: robot.forward_dynamics(0.0, y)), y)
    us = 1e6 * seconds(program, y)[0] / LANES
    return {
        "rod": "planar" if planar else "spatial",
        "segments": segments,
        "us": us,
        "us_a_segment": us / segments,
        "compile_s": compiling,
    }


def exponent(rows: list[dict]) -> float:
    """Slope of log time over log segments; 1 is O(n)."""
    return float(np.polyfit(*(np.log([row[key] for row in rows]) for key in ("segments", "us")), 1)[0])


def markdown(rows: list[dict]) -> str:
    """The rows as a table, the growth of each rod's time below."""
    columns = {
        "rod": "{rod}",
        "segments": "{segments}",
        "us an evaluation": "{us:.1f}",
        "us a segment": "{us_a_segment:.2f}",
        "compile (s)": "{compile_s:.1f}",
    }
    lines = [table(f"Forward dynamics of PCS rods, float32, {LANES} lanes", rows, columns)]
    for kind in dict.fromkeys(row["rod"] for row in rows):
        mine = [row for row in rows if row["rod"] == kind]
        if len(mine) > 1:
            lines += ["", f"Time grows as segments^{exponent(mine):.2f} ({kind})."]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--segments", type=int, nargs="+", default=list(SEGMENTS))
    arguments = options.parse_args()
    confine()
    rows = [measure(planar, n) for planar in (True, False) for n in arguments.segments]
    report(arguments, markdown(rows), rows=rows)


if __name__ == "__main__":
    main()

"""Time until an environment has taken its first step, in new processes: cold, and warm from the persistent cache.

``python -m benchmarks.startup`` prints reset + step after imports and ``make``, tracing and compiling included.
"""

import os
import subprocess
import sys
import tempfile

from benchmarks.report import parser, report, table

CASES = (("PlanarHSA", 1), ("PlanarHSA", 256), ("PCS", 1), ("PCS", 256), ("PCS2", 256), ("GVS", 1))
PROGRAM = """
import sys, time
robot, lanes = sys.argv[1], int(sys.argv[2])
import jax, jax.numpy as jnp
from soromox_envs.factory import make_env
env, params = make_env(robot, "Reach")
reset, step = env.reset, env.step
keys, actions = jax.random.key(0), jnp.zeros(env.num_actions)
if lanes > 1:
    keys, actions = jax.random.split(keys, lanes), jnp.zeros((lanes, env.num_actions))
    reset, step = jax.vmap(reset, (0, None)), jax.vmap(step, (0, 0, 0, None))
jax.block_until_ready(keys)
start = time.perf_counter()
_, state = jax.jit(reset)(keys, params)
jax.block_until_ready(jax.jit(step)(keys, state, actions, params))
print(time.perf_counter() - start)
"""


def measure(robot: str, lanes: int) -> dict:
    """Seconds of the first reset + step without and with a filled cache."""
    row = {"robot": robot, "lanes": lanes}
    with tempfile.TemporaryDirectory() as cache:
        settings = {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        for name in ("cold_s", "warm_s"):
            command = [sys.executable, "-c", PROGRAM, robot, str(lanes)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | settings)
            row[name] = float(done.stdout)
    return row


def markdown(rows: list[dict]) -> str:
    """The rows as a table."""
    columns = {"robot (Reach)": "{robot}", "lanes": "{lanes}", "cold (s)": "{cold_s:.1f}", "warm (s)": "{warm_s:.1f}"}
    return table("First reset + step (tracing, compiling and running), after imports", rows, columns)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--robot", nargs="+", default=sorted({robot for robot, _ in CASES}))
    arguments = options.parse_args()
    rows = [measure(*case) for case in CASES if case[0] in arguments.robot]
    report(arguments, markdown(rows), rows=rows)


if __name__ == "__main__":
    main()

"""Time until an environment has taken its first step, in new processes: cold, and warm from the persistent cache.

``python -m benchmarks.startup`` prints make + reset + step after imports, tracing and compiling included.
"""

import os
import subprocess
import sys
import tempfile

from benchmarks.report import parser, report, table

CASES = (
    ("PlanarHSA-Reach-v0", 1),
    ("PlanarHSA-Reach-v0", 256),
    ("PCS-Reach-v0", 1),
    ("PCS-Reach-v0", 256),
    ("PCS2-Reach-v0", 256),
    ("ISupport-Disturbance-v0", 1),
    ("Swimmer-Swim-v0", 1),
    ("GVS-Reach-v0", 1),
    ("GVS-ObstacleReach-v0", 1),
)
PROGRAM = """
import sys, time
name, lanes = sys.argv[1], int(sys.argv[2])
import jax, jax.numpy as jnp, soromox_envs.factory
start = time.perf_counter()
env, params = soromox_envs.make(name)
reset, step = env.reset, env.step
keys, actions = jax.random.key(0), jnp.zeros(env.num_actions)
if lanes > 1:
    keys, actions = jax.random.split(keys, lanes), jnp.zeros((lanes, env.num_actions))
    reset, step = jax.vmap(reset, (0, None)), jax.vmap(step, (0, 0, 0, None))
_, state = jax.jit(reset)(keys, params)
jax.block_until_ready(jax.jit(step)(keys, state, actions, params))
print(time.perf_counter() - start)
"""


def measure(env_id: str, lanes: int) -> dict:
    """Seconds of make and the first reset + step without and with a filled cache."""
    row = {"id": env_id, "lanes": lanes}
    with tempfile.TemporaryDirectory() as cache:
        settings = {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        for name in ("cold_s", "warm_s"):
            command = [sys.executable, "-c", PROGRAM, env_id, str(lanes)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | settings)
            row[name] = float(done.stdout)
    return row


def markdown(rows: list[dict]) -> str:
    """The rows as a table."""
    columns = {"id": "{id}", "lanes": "{lanes}", "cold (s)": "{cold_s:.1f}", "warm (s)": "{warm_s:.1f}"}
    return table("make + first reset + step (tracing, compiling and running), after imports", rows, columns)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--id", nargs="+", default=sorted({env_id for env_id, _ in CASES}))
    arguments = options.parse_args()
    rows = [measure(*case) for case in CASES if case[0] in arguments.id]
    report(arguments, markdown(rows), rows=rows)


if __name__ == "__main__":
    main()

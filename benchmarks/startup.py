"""Time until an environment has taken its first step, in new processes: cold, and warm from the persistent cache.

``python -m benchmarks.startup`` prints make + reset + step after imports, tracing and compiling included: of
``gymnasium.make`` for a single environment, of the vmapped functional face for several lanes.
"""

import os
import subprocess
import sys
import tempfile
from itertools import product

from tqdm import tqdm

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
SINGLE = """
import sys, time
import gymnasium, numpy as np, soromox_envs, soromox_envs.factory
start = time.perf_counter()
env = gymnasium.make(sys.argv[1])
env.reset(seed=0)
env.step(np.zeros(env.action_space.shape, np.float32))
print(time.perf_counter() - start)
"""
LANES = """
import sys, time
import jax, jax.numpy as jnp, soromox_envs.factory
start = time.perf_counter()
env, params = soromox_envs.make(sys.argv[1])
keys = jax.random.split(jax.random.key(0), int(sys.argv[2]))
actions = jnp.zeros((len(keys), env.num_actions))
_, state = jax.jit(jax.vmap(env.reset, (0, None)))(keys, params)
jax.block_until_ready(jax.jit(jax.vmap(env.step, (0, 0, 0, None)))(keys, state, actions, params))
print(time.perf_counter() - start)
"""


def measure(env_id: str, lanes: int) -> dict:
    """Seconds of make and the first reset + step without and with a filled cache."""
    row = {"id": env_id, "lanes": lanes}
    program = SINGLE if lanes == 1 else LANES
    with tempfile.TemporaryDirectory() as cache:
        settings = {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        for name in ("cold_s", "warm_s"):
            command = [sys.executable, "-c", program, env_id, str(lanes)]
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
    options.add_argument("--id", nargs="+", help="these, each with --lanes; by default a choice of both")
    options.add_argument("--lanes", nargs="+", type=int, default=[1])
    arguments = options.parse_args()
    cases = list(product(arguments.id, arguments.lanes)) if arguments.id else CASES
    rows = [measure(*case) for case in tqdm(cases)]
    report(arguments, markdown(rows), rows=rows)


if __name__ == "__main__":
    main()

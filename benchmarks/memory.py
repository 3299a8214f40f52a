"""Memory of many lanes: peak resident set of a process, and its growth over 1e5 batched steps with resets.

``python -m benchmarks.memory --lanes 4096`` prints MB.
"""

import resource
from pathlib import Path

import jax
import jax.numpy as jnp
from tqdm import tqdm

from benchmarks.report import parser, report
from soromox_envs.factory import make_env


def resident() -> float:
    """Resident set now, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measure(robot: str, lanes: int, steps: int, growth_lanes: int) -> dict:
    """Peak with ``lanes`` lanes, then the growth over ``steps`` more steps of a smaller batch."""
    env, params = make_env(robot, "Reach")
    reset = jax.jit(jax.vmap(env.reset, (0, None)))
    step = jax.jit(jax.vmap(env.step, (0, 0, 0, None)))

    def run(lanes, count, bar=False):
        keys = jax.random.split(jax.random.key(0), lanes)
        _, state = reset(keys, params)
        action = jnp.ones((lanes, env.num_actions))
        for i in tqdm(range(count), disable=not bar):
            _, state, *_ = step(keys, state, action if i % 2 else -action, params)
        jax.block_until_ready(state)

    run(lanes, 110)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    run(growth_lanes, 1000)
    before = resident()
    run(growth_lanes, steps, bar=True)
    growth = resident() - before
    return {"robot": robot, "lanes": lanes, "peak_mb": peak, "steps": steps, "growth_mb": growth}


def markdown(row: dict) -> str:
    """The row as a sentence."""
    return (
        f"{row['robot']}, {row['lanes']} lanes: peak resident set {row['peak_mb']:.0f} MB; growth over "
        f"{row['steps']:,} steps with resets {row['growth_mb']:.1f} MB"
    )


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--robot", default="PlanarHSA")
    options.add_argument("--lanes", type=int, default=4096)
    options.add_argument("--steps", type=int, default=100_000)
    options.add_argument("--growth-lanes", type=int, default=2)
    arguments = options.parse_args()
    row = measure(arguments.robot, arguments.lanes, arguments.steps, arguments.growth_lanes)
    report(arguments, markdown(row), rows=[row])


if __name__ == "__main__":
    main()

"""Environment steps per CPU-second: physics, reward and auto-reset, random actions, episodes ending at their real rate.

``python -m benchmarks.throughput --env PlanarHSA-Reach-v0 --lanes 64 256 1024`` prints one row a lane count. On a CPU
the process confines itself to one core unless ``--all-cores`` is given.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import soromox_envs
from benchmarks.machine import describe_machine

STEPS = 50
REPEATS = 5


def measure(env_id: str, lanes: int) -> dict:
    """Compile time and the best of a few repetitions."""
    env, params = soromox_envs.make(env_id)
    reset = jax.jit(jax.vmap(env.reset, (0, None)))
    _, state = reset(jax.random.split(jax.random.key(0), lanes), params)
    # lanes in all phases of an episode, so that resets come at their real rate
    state = state.replace(time=jax.random.randint(jax.random.key(1), (lanes,), 0, env.task.max_steps, jnp.int32))

    def rollout(state, key, params):
        def step(state, key):
            action_key, step_key = jax.random.split(key)
            action = jax.random.uniform(action_key, (lanes, env.num_actions), minval=-1, maxval=1)
            out = jax.vmap(env.step, (0, 0, 0, None))(jax.random.split(step_key, lanes), state, action, params)
            return out[1], out[2].mean()

        return jax.lax.scan(step, state, jax.random.split(key, STEPS))

    start = time.perf_counter()
    program = jax.jit(rollout).lower(state, jax.random.key(2), params).compile()
    compile_time = time.perf_counter() - start
    rates = []
    for repeat in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        state, _ = jax.block_until_ready(program(state, jax.random.key(repeat), params))
        rates.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = min(rates)
    steps = STEPS * lanes
    return {
        "env": env_id,
        "lanes": lanes,
        "compile_s": compile_time,
        "steps_per_cpu_s": steps / cpu,
        "steps_per_wall_s": steps / wall,
        "dtype": str(state.system.y.dtype),
    }


def markdown(rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    lines = ["| id | lanes | steps per CPU-second | steps per second | compile (s) |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        lines.append(
            f"| {row['env']} | {row['lanes']} | {row['steps_per_cpu_s']:,.0f} | {row['steps_per_wall_s']:,.0f} | "
            f"{row['compile_s']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="PlanarHSA-Reach-v0")
    parser.add_argument("--lanes", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--all-cores", action="store_true", help="do not confine the process to one core")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    arguments = parser.parse_args()
    if arguments.device == "cpu" and not arguments.all_cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with jax.default_device(jax.devices(arguments.device)[0]):
        rows = [measure(arguments.env, lanes) for lanes in arguments.lanes]
    print(markdown(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": describe_machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()

"""Environment steps per CPU-second: physics, reward and auto-reset, random actions, episodes ending at their real rate.

``python -m benchmarks.throughput --robot PCS --lanes 64 256 1024`` prints one row a lane count. On a CPU the process
confines itself to one core; ``--processes 2`` runs two of them, a core each, and adds their rates. ``--naive`` adds the
setting that the field uses: Tsit5 at 0.1 ms in float64, 8 lanes.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp

from benchmarks.machine import describe_machine
from benchmarks.timing import compile_seconds, confine, seconds
from soromox_envs.env import make_env

STEPS = 50
GPU_LANES = (256, 1024, 4096, 16384)
CPU_LANES = (64, 256, 1024)


def measure(robot: str, lanes: int, *, naive: bool = False, steps: int = STEPS) -> dict:
    """Compile time and rates of one lane count."""
    env, params = make_env(robot, "Reach")
    if naive:
        env = replace(env, model=replace(env.model, solver="Tsit5", solver_dt=1e-4))
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

        return jax.lax.scan(step, state, jax.random.split(key, steps))

    program, compiling = compile_seconds(rollout, state, jax.random.key(2), params)
    cpu, wall = seconds(program, state, jax.random.key(3), params, repeats=2 if naive else 5)
    return {
        "robot": robot,
        "setting": "naive" if naive else "default",
        "lanes": lanes,
        "processes": 1,
        "compile_s": compiling,
        "steps_per_cpu_s": steps * lanes / cpu,
        "steps_per_s": steps * lanes / wall,
        "dtype": str(state.system.y.dtype),
    }


def measure_processes(robot: str, lanes: int, processes: int) -> dict:
    """Rates of processes that run at once, a core each."""
    command = [sys.executable, "-m", "benchmarks.throughput", "--robot", robot, "--lanes", str(lanes)]
    running = [
        subprocess.Popen([*command, "--core", str(i), "--json", "/dev/stdout", "--quiet"], stdout=subprocess.PIPE)
        for i in range(processes)
    ]
    rows = [json.loads(process.communicate()[0])["rows"][0] for process in running]
    return {**rows[0], "processes": processes, "steps_per_s": sum(row["steps_per_s"] for row in rows)}


def markdown(rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| robot (Reach) | setting | lanes | processes | steps per CPU-second | steps per second | compile (s) |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['robot']} | {row['setting']} {row['dtype']} | {row['lanes']} | {row['processes']} | "
            f"{row['steps_per_cpu_s']:,.4g} | {row['steps_per_s']:,.4g} | {row['compile_s']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", nargs="+", default=["PlanarHSA"])
    parser.add_argument("--lanes", type=int, nargs="+")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--naive", action="store_true", help="also measure Tsit5 at 0.1 ms, float64, 8 lanes")
    parser.add_argument("--processes", type=int, default=1, help="also measure so many processes, a core each")
    parser.add_argument("--core", type=int, default=0, help="core to stay on")
    parser.add_argument("--quiet", action="store_true", help="print no table")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        confine(arguments.core)
    counts = arguments.lanes or (CPU_LANES if arguments.device == "cpu" else GPU_LANES)
    rows = []
    with jax.default_device(jax.devices(arguments.device)[0]):
        for robot in arguments.robot:
            rows += [measure(robot, lanes) for lanes in counts]
            if arguments.processes > 1:
                rows.append(measure_processes(robot, counts[-1], arguments.processes))
            if arguments.naive:
                with jax.enable_x64(True):
                    rows.append(measure(robot, 8, naive=True, steps=4))
    if not arguments.quiet:
        print(markdown(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": describe_machine(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()

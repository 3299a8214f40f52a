"""Environment steps per CPU-second: physics, reward and auto-reset, random actions, episodes ending at their real rate.

``python -m benchmarks.throughput --robot PCS --lanes 64 256 1024`` prints one row a lane count. On a CPU the process
confines itself to one core; ``--processes 2`` runs two of them, a core each, and adds their rates. ``--naive PCS`` adds
the setting that the field uses: Tsit5 at 0.1 ms in float64, 8 lanes.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp

from benchmarks.report import parser, report, table
from benchmarks.timing import compile_seconds, confine, seconds
from soromox_envs.factory import make_env

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
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{i}.json" for i in range(processes)]
        running = [
            subprocess.Popen([*command, "--core", str(i), "--json", str(file)], stdout=subprocess.DEVNULL)
            for i, file in enumerate(files)
        ]
        if any(process.wait() for process in running):
            raise RuntimeError(f"a process of {' '.join(command)} failed")
        rows = [json.loads(file.read_text())["rows"][0] for file in files]
    total = {rate: sum(row[rate] for row in rows) for rate in ("steps_per_cpu_s", "steps_per_s")}
    return {**rows[0], **total, "steps_per_cpu_s": total["steps_per_cpu_s"] / processes, "processes": processes}


def markdown(rows: list[dict]) -> str:
    """The rows as a table."""
    columns = {
        "robot (Reach)": "{robot}",
        "setting": "{setting} {dtype}",
        "lanes": "{lanes}",
        "processes": "{processes}",
        "steps per CPU-second": "{steps_per_cpu_s:,.4g}",
        "steps per second": "{steps_per_s:,.4g}",
        "compile (s)": "{compile_s:.1f}",
    }
    return table("", rows, columns)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__)
    options.add_argument("--robot", nargs="+", default=["PlanarHSA"])
    options.add_argument("--lanes", type=int, nargs="+")
    options.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    options.add_argument("--naive", nargs="*", default=(), help="robots also measured with Tsit5 at 0.1 ms, float64")
    options.add_argument("--processes", type=int, default=1, help="also measure so many processes, a core each")
    options.add_argument("--core", type=int, default=0, help="core to stay on")
    arguments = options.parse_args()
    if arguments.device == "cpu":
        confine(arguments.core)
    counts = arguments.lanes or (CPU_LANES if arguments.device == "cpu" else GPU_LANES)
    rows = []
    with jax.default_device(jax.devices(arguments.device)[0]):
        for robot in arguments.robot:
            rows += [measure(robot, lanes) for lanes in counts]
            if arguments.processes > 1:
                rows.append(measure_processes(robot, counts[-1], arguments.processes))
            if robot in arguments.naive:
                with jax.enable_x64(True):
                    rows.append(measure(robot, 8, naive=True, steps=4))
    report(arguments, markdown(rows), rows=rows)


if __name__ == "__main__":
    main()

"""``make bench``: the benchmarks of speed and memory, into ``benchmarks/results/<date>-<device>.json`` and ``.md``."""

import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import jax

RESULTS = Path(__file__).parent / "results"
PROGRAMS = {
    "dynamics": ["--segments", "1", "2", "--lanes", "64", "1024"],
    "scaling": ["--segments", "4", "16", "64"],
    "arm": [],
    "throughput": ["--robot", "PlanarHSA", "PCS", "--lanes", "256", "--processes", "2", "--naive", "PCS"],
    "startup": ["--id", "PlanarHSA-Reach-v0", "--lanes", "1", "256"],
    "memory": [],
}
"""A choice that takes less than ten minutes on two cores; by themselves the programs measure more."""


def main() -> None:
    """Run each program in a process of its own and collect what it measured."""
    collected, tables = {}, []
    # compile times are those of a first run
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    for name, options in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "result.json"
            command = [sys.executable, "-m", f"benchmarks.{name}", *options, "--json", str(target)]
            tables.append(
                subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
            )
            print(tables[-1])
            collected[name] = json.loads(target.read_text())
    RESULTS.mkdir(exist_ok=True)
    stem = RESULTS / f"{date.today()}-{jax.default_backend()}"
    stem.with_suffix(".json").write_text(json.dumps(collected, indent=1) + "\n")
    stem.with_suffix(".md").write_text("\n".join(tables))


if __name__ == "__main__":
    main()

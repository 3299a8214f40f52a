"""How long a compiled program takes."""

import os
import time
from collections.abc import Callable

import jax


def confine(core: int = 0) -> None:
    """Keep this process on one core, so that rates are rates a core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core % (os.cpu_count() or 1)})


def compile_seconds(function: Callable, *args) -> tuple[Callable, float]:
    """The program for these arguments, and how long tracing and compiling took."""
    start = time.perf_counter()
    program = jax.jit(function).lower(*args).compile()
    return program, time.perf_counter() - start


def seconds(program: Callable, *args, repeats: int = 5, at_least: float = 0.04) -> tuple[float, float]:
    """CPU and wall time of a call, the fastest of ``repeats`` batches of calls that take ``at_least`` seconds each."""
    start = time.perf_counter()
    jax.block_until_ready(program(*args))
    calls = max(1, int(at_least / (time.perf_counter() - start)))
    best = []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(calls):
            out = program(*args)
        jax.block_until_ready(out)
        best.append(((time.process_time() - cpu) / calls, (time.perf_counter() - wall) / calls))
    return min(best)

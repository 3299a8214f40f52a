"""Lanes over devices: on a CPU one XLA device a core, since XLA spreads no small operation over cores."""

import os

import jax
import numpy as np
from jax.sharding import Mesh

from agents.errors import UserError

AXIS = "lanes"


def use_cpu_cores(limit: int = 4) -> None:
    """Let XLA see the CPU's cores as devices. For entry points, before the first array is made.

    Does nothing where the user has decided (`XLA_FLAGS`, `JAX_NUM_CPU_DEVICES`) or JAX is already running.
    """
    chosen = jax.config.jax_num_cpu_devices  # pyright: ignore[reportAttributeAccessIssue]
    if chosen != -1 or "device_count" in os.environ.get("XLA_FLAGS", ""):
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    power_of_two = 1 << (min(cores, limit).bit_length() - 1)  # divides the usual numbers of lanes
    try:
        jax.config.update("jax_num_cpu_devices", power_of_two)
    except RuntimeError:  # the backend is up, in a notebook or a test: keep its devices
        pass


def lane_mesh(num_devices: int | None = None) -> Mesh:
    """A mesh of one axis over `num_devices` devices (all local ones by default)."""
    devices = jax.local_devices()
    count = len(devices) if num_devices is None else num_devices
    if not 1 <= count <= len(devices):
        raise UserError(f"Expected num_devices to be between 1 and the {len(devices)} there are, got {count}.")
    return Mesh(np.array(devices[:count]), (AXIS,))

"""What a measurement was taken on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import jax

PACKAGES = ("jax", "jaxlib", "equinox", "diffrax", "numpy", "gymnasium")


def describe_machine() -> dict:
    """Processor, cores, devices and versions."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "devices": [device.device_kind for device in jax.devices()],
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }

"""What every test shares: JAX's settings, the x64 fixture, and the handling of slow and gpu tests."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

# Before JAX is imported, and in the environment, so that xdist's workers and the programs that tests start
# share one compilation cache. Set JAX_COMPILATION_CACHE_DIR to keep it elsewhere.
ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several workers, one GPU
os.environ.setdefault("MPLBACKEND", "Agg")
# XLA's older emitters compile in about half the time; compile_faces_as_users has the exception
if "xla_cpu_use_fusion_emitters" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_use_fusion_emitters=false".strip()

import jax  # noqa: E402
import pytest  # noqa: E402

from soromox_envs.adapters import gymnasium_env, gymnasium_vector, lanes  # noqa: E402

FACES = {"reset_single": 0, "step_single": 0, "reset_lanes": 0, "restart_lanes": 0, "step_lanes": (0, 1, 2)}


def compile_faces_as_users() -> None:
    """The faces' programs keep XLA's default emitters: the older ones round one lane of PlanarHSA unlike many."""
    for name, static in FACES.items():
        function = getattr(lanes, name).__wrapped__
        program = jax.jit(function, static_argnums=static, compiler_options={"xla_cpu_use_fusion_emitters": True})
        for module in (lanes, gymnasium_env, gymnasium_vector):
            if hasattr(module, name):
                setattr(module, name, program)


compile_faces_as_users()
STARTED = pytest.StashKey[float]()
MAPPINGS = Path("/proc/self/maps")
MOST_MAPPINGS = 30_000
"""Linux grants a process 65,530 memory mappings, a compiled program takes three; beyond, XLA dies of a segfault."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--start-limit",
        type=float,
        metavar="SECONDS",
        help="Start no further test after this many seconds; those left are reported as skipped.",
    )


def pytest_configure(config: pytest.Config) -> None:
    jax.config.update("jax_numpy_rank_promotion", "raise")
    config.stash[STARTED] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    limit = item.config.getoption("--start-limit")
    if limit is not None and time.monotonic() - item.config.stash[STARTED] > limit:
        pytest.skip(f"not started within {limit:g} s")
    if item.get_closest_marker("gpu") and jax.default_backend() == "cpu":
        pytest.skip("JAX sees no accelerator")


@pytest.fixture(autouse=True)
def _rank_promotion(request: pytest.FixtureRequest) -> Iterator[None]:
    """Lets a test marked `allow_rank_promotion` call code that the strict setting would stop."""
    if request.node.get_closest_marker("allow_rank_promotion"):
        with jax.numpy_rank_promotion("allow"):
            yield
    else:
        yield


@pytest.fixture
def x64() -> Iterator[None]:
    """The test runs in double precision: arrays made inside it default to float64."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True)
def _quick_compile(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compile with few optimisations, in about half the time, unless a test marked `optimised` computes much."""
    jax.config.update("jax_disable_most_optimizations", request.node.get_closest_marker("optimised") is None)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module", autouse=True)
def _few_mappings() -> Iterator[None]:
    """After a module, let go of the compiled programs before there are too many of them for the process."""
    yield
    if MAPPINGS.exists() and MAPPINGS.read_bytes().count(b"\n") > MOST_MAPPINGS:
        jax.clear_caches()

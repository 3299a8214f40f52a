"""The table of ids and the spaces."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest
from adapter_checks import DOUBLE, every_id

import soromox_envs
from soromox_envs import registry
from soromox_envs.spaces import Box

ROOT = Path(__file__).parent.parent


def test_import_is_light_and_registers_the_ids():
    program = (
        "import sys, gymnasium, soromox_envs\n"
        "heavy = {'jax', 'gymnax', 'matplotlib', 'torch', 'equinox'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert all(gymnasium.spec(i).id == i for i in soromox_envs.registered())\n"
        "print(*soromox_envs.registered())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "PlanarHSA-Reach-v0" in done.stdout.split()


def test_imports_start_no_backend():
    """Which device, how many threads and which precision are chosen after the import, by the user."""
    program = (
        "import soromox.systems, soromox.control, soromox.rendering, soromox_envs.env, agents.train\n"
        "from jax._src import xla_bridge\n"
        "assert not xla_bridge.backends_are_initialized()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@every_id
def test_spec_says_how_long_an_episode_is(env_id):
    spec, entry = gymnasium.spec(env_id), registry.entry_of(env_id)
    assert spec.max_episode_steps == entry.max_episode_steps > 0
    assert spec.reward_threshold == entry.reward_threshold
    _, params = soromox_envs.make(env_id)
    assert int(params.max_steps_in_episode) == entry.max_episode_steps


def test_unknown_id_names_the_nearest():
    with pytest.raises(ValueError, match=r"'PlanarHSA-Reech-v0'; did you mean 'PlanarHSA-Reach-v0'\?"):
        soromox_envs.make("PlanarHSA-Reech-v0")
    with pytest.raises(ValueError, match="'x'; expected one of PlanarHSA-Reach-v0"):
        soromox_envs.make("x")


@every_id
def test_unknown_option_names_the_allowed_ones(env_id):
    with pytest.raises(ValueError, match=rf"{env_id}.*'colour'.*action_units"):
        soromox_envs.make(env_id, colour="red")
    with pytest.raises(ValueError, match=rf"{env_id}.*'colour'.*action_units"):
        gymnasium.make(env_id, colour="red")


def test_an_id_is_taken_only_once():
    with pytest.raises(ValueError, match=f"'{DOUBLE}' is already registered"):
        registry.register(registry.entry_of(DOUBLE))


# Spaces


def test_boxes_are_values():
    box = Box(-1.0, [1.0, 2.0], (2,))
    assert box == Box([-1.0, -1.0], [1.0, 2.0]) and hash(box) == hash(Box([-1.0, -1.0], [1.0, 2.0]))
    assert box != Box(-1.0, 1.0, (2,)) and box != Box(-1.0, [1.0, 2.0], (2,), np.float16)
    assert box.to_gymnasium() == gymnasium.spaces.Box(np.array([-1, -1]), np.array([1, 2]), dtype=np.float32)
    assert pickle.loads(pickle.dumps(box)) == box
    with pytest.raises(ValueError, match="read-only"):
        box.high[0] = 3.0


def test_boxes_sample_and_contain():
    box = Box(-1.0, [1.0, 2.0], (2,))
    samples = jax.jit(jax.vmap(box.sample))(jax.random.split(jax.random.key(0), 1000))
    assert samples.dtype == np.float32 and jax.vmap(box.contains)(samples).all()
    np.testing.assert_allclose(samples.max(0), [1.0, 2.0], atol=0.05)
    for outside in ([1.1, 0.0], [np.nan, 0.0], [0.0], [[0.0, 0.0]]):
        assert not box.contains(np.array(outside, np.float32))


def test_boxes_refuse_bad_bounds():
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(\) and \(3,\)"):
        Box(0.0, np.ones(3), (2,))
    with pytest.raises(ValueError, match="finite with low <= high"):
        Box(0.0, np.inf, (2,))


@pytest.mark.parametrize(("package", "above"), [("soromox", {"soromox_envs", "agents"}), ("soromox_envs", {"agents"})])
def test_imports_point_one_way(package, above):
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not above & {name.split(".")[0] for name in names}, path

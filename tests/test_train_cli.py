"""The commands: what they write, and that every mistake gets one sentence and exit code 2."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import doubles
import jax
import numpy as np
import pytest
import yaml

from agents.checkpoint import Header, load_checkpoint, package_versions, save_checkpoint
from agents.config import config_from_mapping, config_to_mapping, load_config
from agents.errors import UserError, run_command
from agents.evaluate import evaluate
from agents.policy import ZeroPolicy
from agents.ppo import Agent, PPOConfig
from agents.stats import interquartile_mean, stratified_bootstrap
from agents.train import TrainConfig, train

pytestmark = pytest.mark.optimised

ROOT = Path(__file__).resolve().parent.parent
ENV_ID = "PointReach-v0"
TINY = {
    "ppo": {
        "total_steps": 2048,
        "num_lanes": 16,
        "rollout_length": 32,
        "minibatches": 2,
        "epochs": 2,
        "hidden_sizes": [8],
        "num_devices": 1,
    },
    "evaluation": {"episodes": 12, "video_episodes": 1},
}


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Commands that find the doubles by their ids, in an empty folder."""
    registry = ModuleType("soromox_envs")
    registry.registered = lambda: tuple(doubles.DOUBLES)
    registry.make = doubles.make
    controllers = ModuleType("agents.controllers")
    controllers.make_model_based_policy = lambda env, params: ZeroPolicy(env.num_actions)
    monkeypatch.setitem(sys.modules, "soromox_envs", registry)
    monkeypatch.setitem(sys.modules, "agents.controllers", controllers)
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(yaml.safe_dump(TINY))
    return tmp_path


def run_train(*arguments: str) -> int:
    return run_command(train, ["--env", ENV_ID, "--config", "tiny.yaml", *arguments])


def assert_one_sentence(capsys, *words: str) -> None:
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ") and error.endswith(".") and "\n" not in error
    for word in words:
        assert word in error


def test_a_run_leaves_everything_behind_and_is_not_overwritten(commands, capsys):
    assert run_train("--run-name", "first", "--set", "ppo.learning_rate=1e-2", "--seed", "4") == 0
    folder = commands / "runs" / ENV_ID / "first"
    names = {path.name for path in folder.iterdir()}
    assert names >= {"config.yaml", "metrics.jsonl", "learning_curve.png", "checkpoint.eqx", "video.mp4"}
    assert load_config(TrainConfig, folder / "config.yaml").ppo.learning_rate == 1e-2
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["env_steps"] for line in lines] == [512, 1024, 1536, 2048]
    report = (folder / "report.md").read_text()
    assert all(f"| {name} |" in report for name in ("random", "zero", "model-based", "trained"))
    assert (folder / "video.mp4").read_bytes()[4:8] == b"ftyp"
    assert (folder / "learning_curve.png").read_bytes()[1:4] == b"PNG"

    capsys.readouterr()
    before = (folder / "metrics.jsonl").stat().st_mtime_ns
    assert run_train("--run-name", "first") == 2
    assert_one_sentence(capsys, "exists", "--force", "--run-name")
    assert (folder / "metrics.jsonl").stat().st_mtime_ns == before

    arguments = ["--env", ENV_ID, "--checkpoint", str(folder), "--episodes", "12", "--json", "scores.json"]
    assert run_command(evaluate, arguments) == 0
    table = capsys.readouterr().out
    assert all(f"| {name} |" in table for name in ("random", "zero", "model-based", "checkpoint"))
    scores = json.loads(Path("scores.json").read_text())["policies"]
    results = json.loads((folder / "results.json").read_text())["policies"]
    for field, value in results["trained"].items():  # the same episodes, the same policy
        np.testing.assert_allclose(scores["checkpoint"][field], value, rtol=1e-5, err_msg=field)
    assert run_command(evaluate, arguments) == 2
    assert_one_sentence(capsys, "scores.json", "--force")


def test_several_seeds_share_a_report(commands):
    assert run_train("--run-name", "seeds", "--seeds", "2", "--eval-episodes", "10") == 0
    folder = commands / "runs" / ENV_ID / "seeds"
    assert (folder / "seed0" / "checkpoint.eqx").is_file() and (folder / "seed1" / "metrics.jsonl").is_file()
    results = json.loads((folder / "results.json").read_text())
    assert results["policies"]["trained"]["episodes"] == 20 and results["policies"]["zero"]["episodes"] == 10
    assert [cost["seed"] for cost in results["training"]] == [0, 1]
    first, second = ((folder / f"seed{seed}" / "metrics.jsonl").read_text() for seed in (0, 1))
    assert first != second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--env", "PointReech-v0"], ["PointReech-v0", "did you mean 'PointReach-v0'?"]),
        (["--set", "ppo.learning_rat=1"], ["'learning_rat'", "did you mean 'learning_rate'?", "clip_ratio"]),
        (["--set", "pop.learning_rate=1"], ["'pop'", "did you mean 'ppo'?"]),
        (["--set", "ppo.epochs=2.5"], ["ppo.epochs", "a whole number", "2.5"]),
        (["--set", "ppo.learning_rate=fast"], ["ppo.learning_rate", "a finite number", "'fast'"]),
        (["--set", "ppo.learning_rate=-1"], ["learning_rate", "positive", "-1"]),
        (["--set", "ppo=3"], ["ppo", "3"]),
        (["--set", "ppo.epochs"], ["a.b=value", "'ppo.epochs'"]),
        (["--config", "none.yaml"], ["none.yaml", "found none"]),
        (["--set", "ppo.num_devices=99"], ["num_devices", "got 99"]),
        (["--out", "tiny.yaml"], ["tiny.yaml", "folder"]),
        (["--seeds", "0"], ["at least one seed", "0"]),
        (["--eval-episodes", "0"], ["at least one evaluation episode"]),
    ],
)
def test_mistakes_get_one_sentence(commands, capsys, arguments, words):
    assert run_train(*arguments) == 2
    assert_one_sentence(capsys, *words)
    assert not (commands / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--checkpoint", "none"], ["none", "found none"]),
        (["--checkpoint", "tiny.yaml"], ["tiny.yaml", "another kind of file"]),
        (["--policies", "checkpoint"], ["--checkpoint PATH"]),
        (["--episodes", "0"], ["at least one episode", "0"]),
        (["--json", "nowhere/scores.json"], ["nowhere", "--json"]),
    ],
)
def test_evaluation_mistakes_get_one_sentence(commands, capsys, arguments, words):
    assert run_command(evaluate, ["--env", ENV_ID, *arguments]) == 2
    assert_one_sentence(capsys, *words)


def test_unknown_id_in_the_real_registry_leaves_no_traceback():
    pytest.importorskip("soromox_envs")
    for program in ("train", "evaluate"):
        command = [sys.executable, "-m", f"agents.{program}", "--env", "PlanarHSA-Reech-v0"]
        done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        assert "did you mean 'PlanarHSA-Reach-v0'?" in done.stderr and "Traceback" not in done.stderr


def test_configurations_survive_yaml_and_are_coerced(tmp_path):
    config = TrainConfig()
    assert config_from_mapping(TrainConfig, yaml.safe_load(yaml.safe_dump(config_to_mapping(config)))) == config
    (tmp_path / "c.yaml").write_text("ppo: {learning_rate: 1e-3, target_kl: null, hidden_sizes: [32, 16]}\n")
    overrides = [
        "ppo.total_steps=2e6",
        "ppo.anneal_learning_rate=off",
        "ppo.target_kl=1e-2",
        "ppo.num_devices=null",
    ]
    ppo = load_config(TrainConfig, tmp_path / "c.yaml", overrides).ppo
    assert (ppo.learning_rate, ppo.target_kl, ppo.num_devices) == (1e-3, 1e-2, None)
    assert (ppo.hidden_sizes, ppo.total_steps, ppo.anneal_learning_rate) == ((32, 16), 2_000_000, False)
    assert load_config(TrainConfig, tmp_path / "c.yaml", ["ppo.hidden_sizes=8,8"]).ppo.hidden_sizes == (8, 8)


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "ppo").glob("*.yaml")), ids=lambda path: path.stem)
def test_stored_configurations_load(path):
    assert load_config(TrainConfig, path).ppo.num_updates > 0


def test_checkpoints_come_back_and_misfits_are_refused(tmp_path):
    config = PPOConfig(hidden_sizes=(8,), total_steps=10)
    agent = Agent(4, 2, config, key=jax.random.key(1))
    path = tmp_path / "checkpoint.eqx"
    save_checkpoint(path, agent, Header("A-v0", 4, 2, config, 1, 10, package_versions()))
    loaded, header = load_checkpoint(tmp_path, "A-v0", 4, 2)
    assert header.config == config and header.versions["jax"] == jax.__version__
    for one, other in zip(jax.tree.leaves(agent), jax.tree.leaves(loaded), strict=True):
        np.testing.assert_array_equal(one, other)
    for expected, word in ((("B-v0", 4, 2), "env id 'B-v0', got 'A-v0'"), (("A-v0", 5, 2), "size 5, got 4")):
        with pytest.raises(UserError, match=word):
            load_checkpoint(path, *expected)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match="damaged"):
        load_checkpoint(path, "A-v0", 4, 2)


def test_interquartile_mean_and_its_interval():
    assert interquartile_mean(np.arange(8.0)) == 3.5
    assert interquartile_mean(np.array([0.0, 1.0, 2.0, 3.0, 100.0])) == pytest.approx((0.75 + 2 + 3 * 0.75) / 2.5)
    scores = np.random.default_rng(1).normal(size=(3, 200))
    low, high = stratified_bootstrap(list(scores))
    assert low < interquartile_mean(scores.ravel()) < high
    assert 0.1 < high - low < 0.3
    assert stratified_bootstrap([np.full(5, 2.0)]) == (2.0, 2.0)

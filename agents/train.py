"""Train a policy: `python -m agents.train --env PlanarHSA-Reach-v0` writes `runs/<id>/<run>/`."""

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import yaml
from tqdm import tqdm

from agents.checkpoint import FILE_NAME, Header, package_versions, save_checkpoint
from agents.config import config_to_mapping, load_config
from agents.devices import use_cpu_cores
from agents.errors import UserError, run_command
from agents.evaluate import EVALUATION_SEED, make_policy
from agents.interface import make_environment, sizes
from agents.policy import PPOPolicy
from agents.ppo import Agent, PPOConfig, Trainer, make_train
from agents.report import comparison_table, plot_learning_curves, summarise, write_report, write_video
from agents.rollout import Episodes, evaluate_policy, record_episodes

CONFIGS = Path(__file__).resolve().parent.parent / "configs" / "ppo"
BASELINES = ("random", "zero", "model-based")


@dataclass(frozen=True)
class EvaluationConfig:
    """What is done with a trained policy: fresh episodes for the table, and how many of them are filmed."""

    episodes: int = 300
    video_episodes: int = 3
    seed: int = EVALUATION_SEED

    def __post_init__(self) -> None:
        if self.episodes < 1 or not 0 <= self.video_episodes <= self.episodes:
            raise UserError(
                "Expected at least one evaluation episode, and no more video_episodes than episodes, "
                f"got {self.episodes} episodes and {self.video_episodes} video_episodes."
            )


@dataclass(frozen=True)
class TrainConfig:
    """All that a training depends on, apart from the environment and the seed."""

    ppo: PPOConfig = field(default_factory=PPOConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)


@dataclass(frozen=True)
class TrainedSeed:
    """A trained agent, its metrics (a mapping an update), and what it cost in s."""

    agent: Agent
    metrics: list[dict[str, Any]]
    wall_s: float
    startup_s: float


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m agents.train", description="Train a policy with PPO.")
    parser.add_argument("--env", required=True, metavar="ID", help="environment id")
    parser.add_argument("--config", type=Path, metavar="FILE", help="default: configs/ppo/<ID>.yaml")
    parser.add_argument("--set", action="append", default=[], metavar="a.b=c", help="override an entry of the config")
    parser.add_argument("--seed", type=int, default=0, help="the (first) seed")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="train N seeds, one after the other")
    parser.add_argument("--eval-episodes", type=int, metavar="N", help="as --set evaluation.episodes=N")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="where runs go (default: runs)")
    parser.add_argument("--run-name", metavar="NAME", help="default: the date, the time and the seed")
    parser.add_argument("--force", action="store_true", help="write into a run folder that exists")
    return parser.parse_args(arguments)


def train(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    options = parse(arguments)
    if options.seeds < 1:
        raise UserError(f"Expected at least one seed, got --seeds {options.seeds}.")
    use_cpu_cores()
    env, params = make_environment(options.env)
    config = load_config(TrainConfig, options.config or CONFIGS / f"{options.env}.yaml", options.set)
    if options.eval_episodes is not None:
        config = replace(config, evaluation=replace(config.evaluation, episodes=options.eval_episodes))
    trainer = make_train(env, params, config.ppo)
    folder = _make_run_folder(options)

    seeds = range(options.seed, options.seed + options.seeds)
    trained = {}
    for seed in seeds:
        seed_folder = folder if len(seeds) == 1 else folder / f"seed{seed}"
        trained[seed] = _train_seed(env, params, config, trainer, seed, seed_folder)
    _write_results(env, params, config, folder, trained)


def _make_run_folder(options: argparse.Namespace) -> Path:
    name = options.run_name or f"{time.strftime('%Y%m%d-%H%M%S')}-seed{options.seed}"
    folder: Path = options.out / options.env / name
    if folder.exists() and not options.force:
        raise UserError(f"The run folder '{folder}' exists; pass --force to overwrite it, or another --run-name.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Expected a folder that can be written at '{folder}': {error.strerror}.") from error
    return folder


def _train_seed(env: Any, params: Any, config: TrainConfig, trainer: Trainer, seed: int, folder: Path) -> TrainedSeed:
    """Train with a progress bar; writes config.yaml, metrics.jsonl (a line an update) and the checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"# {env.name}, seed {seed}\n" + yaml.safe_dump(config_to_mapping(config), sort_keys=False)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    batch_size = config.ppo.batch_size
    lines: list[dict[str, Any]] = []
    start = time.perf_counter()
    startup_s = 0.0
    bar = tqdm(total=trainer.num_updates * batch_size, unit="step", unit_scale=True, desc=f"seed {seed}")
    with bar, (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        state = trainer.init(jax.random.key(seed))
        for update in range(1, trainer.num_updates + 1):
            state, metrics = trainer.update_many(state, 1)
            values = {name: _finite(value[0]) for name, value in jax.device_get(metrics).items()}
            wall_s = time.perf_counter() - start
            startup_s = startup_s or wall_s  # the first update compiles
            speed = (update - 1) * batch_size / (wall_s - startup_s) if update > 1 else None
            progress = {
                "update": update,
                "env_steps": update * batch_size,
                "wall_s": wall_s,
                "steps_per_s": speed,
            }
            lines.append(progress | values)
            file.write(json.dumps(lines[-1]) + "\n")
            if values["return"] is not None:
                bar.set_postfix({"return": f"{values['return']:.1f}", "success": f"{values['success']:.0%}"}, False)
            bar.update(batch_size)
    header = Header(
        env.name, *sizes(env, params), config.ppo, seed, trainer.num_updates * batch_size, package_versions()
    )
    save_checkpoint(folder / FILE_NAME, state.agent, header)
    return TrainedSeed(state.agent, lines, time.perf_counter() - start, startup_s)


def _finite(value: Any) -> float | None:
    """JSON has no NaN: a mean over no episodes becomes null."""
    number = float(value)
    return number if math.isfinite(number) else None


def _write_results(
    env: Any, params: Any, config: TrainConfig, folder: Path, trained: Mapping[int, TrainedSeed]
) -> None:
    """Evaluate the trained agents and the baselines on the same fresh episodes; write what people look at."""
    key, episodes = jax.random.key(config.evaluation.seed), config.evaluation.episodes
    title = f"PPO on {env.name}"
    curves = {f"seed {seed}": result.metrics for seed, result in trained.items()}
    plot_learning_curves(folder / "learning_curve.png", title, curves)

    outcomes: dict[str, list[Episodes]] = {}
    for name in BASELINES:
        policy = make_policy(name, env, params)
        outcomes[name] = [evaluate_policy(env, params, policy, key, episodes)]
    outcomes["trained"], films = [], []
    for result in trained.values():
        recorded = 0 if films else config.evaluation.video_episodes
        played, states = record_episodes(env, params, PPOPolicy(result.agent), key, episodes, recorded)
        outcomes["trained"].append(played)
        films += states
    frames = (env.render(state, params) for film in films for state in film)
    write_video(folder / "video.mp4", frames, round(1 / env.control_dt))

    results = {name: summarise(strata) for name, strata in outcomes.items()}
    costs = [
        {
            "seed": seed,
            "success": f"{100 * played.success.mean():.1f} %",
            "environment steps": result.metrics[-1]["env_steps"],
            "wall-clock": f"{result.wall_s:.0f} s",
            "of it compiling and first update": f"{result.startup_s:.0f} s",
            "steps / s": f"{result.metrics[-1]['steps_per_s'] or 0:.0f}",
        }
        for (seed, result), played in zip(trained.items(), outcomes["trained"], strict=True)
    ]
    write_report(folder / "report.md", title, results, costs)
    record = {"env": env.name, "policies": results, "training": costs}
    (folder / "results.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(comparison_table(results))
    print(f"Written to {folder}/")


if __name__ == "__main__":
    raise SystemExit(run_command(train))

"""Compare policies on fresh episodes: `python -m agents.evaluate --env <id> --checkpoint runs/<id>/<run>`."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from agents.checkpoint import load_checkpoint
from agents.devices import use_cpu_cores
from agents.errors import UserError, run_command
from agents.interface import make_environment, sizes
from agents.policy import PPOPolicy, RandomPolicy, ZeroPolicy
from agents.report import comparison_table, machine_info, summarise
from agents.rollout import evaluate_policy

POLICIES = ("random", "zero", "model-based", "checkpoint")
EVALUATION_SEED = 10_000


def make_policy(name: str, env: Any, params: Any, checkpoint: Path | None = None) -> Any:
    """The policy of that name, for an environment."""
    observation_size, action_size = sizes(env, params)
    if name == "random":
        return RandomPolicy(action_size)
    if name == "zero":
        return ZeroPolicy(action_size)
    if name == "model-based":
        from agents.controllers import make_model_based_policy  # pyright: ignore[reportMissingImports]

        return make_model_based_policy(env, params)
    if checkpoint is None:
        raise UserError("Expected --checkpoint PATH with the policy 'checkpoint', got none.")
    return PPOPolicy(load_checkpoint(checkpoint, env.name, observation_size, action_size)[0])


def evaluate(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m agents.evaluate", description="Compare policies.")
    parser.add_argument("--env", required=True, metavar="ID", help="environment id")
    parser.add_argument("--checkpoint", type=Path, metavar="PATH", help="checkpoint file, or the folder of its run")
    parser.add_argument("--episodes", type=int, default=100, help="fresh episodes a policy (default 100)")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, help="default: all there are")
    parser.add_argument("--seed", type=int, default=EVALUATION_SEED, help="of the episodes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file as well")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    options = parser.parse_args(arguments)
    if options.episodes < 1:
        raise UserError(f"Expected at least one episode, got --episodes {options.episodes}.")
    if options.json and options.json.exists() and not options.force:
        raise UserError(f"'{options.json}' exists; pass --force to overwrite it, or another name.")
    if options.json and not options.json.parent.is_dir():
        raise UserError(f"Expected a folder at '{options.json.parent}' for the file of --json, found none.")
    names = options.policies or (POLICIES if options.checkpoint else POLICIES[:-1])
    use_cpu_cores()
    env, params = make_environment(options.env)
    policies = {name: make_policy(name, env, params, options.checkpoint) for name in dict.fromkeys(names)}
    key = jax.random.key(options.seed)
    results = {
        name: summarise([evaluate_policy(env, params, policy, key, options.episodes)])
        for name, policy in policies.items()
    }
    print(comparison_table(results))
    if options.json:
        record = {"env": options.env, "seed": options.seed, "policies": results, "machine": machine_info()}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(run_command(evaluate))

"""The command line: ``soromox-envs list``, ``show``, ``rollout``, ``check``, ``targets``; -h tells more."""

import argparse
import json
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from soromox_envs import registry


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message}\n")


def known_id(text: str) -> str:
    try:
        return registry.entry_of(text).id
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def known_robot(text: str) -> str:
    from soromox_envs.robots import model_of

    try:
        return model_of(text).key
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive whole number, got {text!r}")
    return int(text)


def new_file(text: str) -> Path:
    path = Path(text)
    if path.suffix != ".mp4" or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"expected a file .mp4 in a folder that exists, got {text!r}")
    return path


def list_ids(options: argparse.Namespace) -> int:
    """All ids: inputs, entries of the observation, task, length of an episode."""
    sizes = json.loads((files("soromox_envs") / "sizes.json").read_text(encoding="utf-8"))
    line = "{:<28}{:>8}{:>14}  {:<18}{:>9}".format
    print(line("id", "inputs", "observations", "task", "horizon"))
    for env_id in registry.registered():
        inputs, observations, seconds = sizes[env_id] if env_id in sizes else sizes_of(env_id)
        print(line(env_id, inputs, observations, env_id.split("-")[1], f"{seconds:g} s"))
    return 0


def sizes_of(env_id: str) -> tuple[int, int, float]:
    """Number of inputs and of entries of the observation, and the length of an episode, s."""
    env, _ = registry.make(env_id)
    seconds = registry.entry_of(env_id).max_episode_steps * env.control_dt
    return env.num_actions, len(env.observation_names), round(seconds, 6)


def show(options: argparse.Namespace) -> int:
    """Actuators, observation, reward, termination, robot and integration of an id, as Markdown."""
    from soromox_envs.pages import page_of

    print(page_of(options.id), end="")
    return 0


def rollout(options: argparse.Namespace) -> int:
    """Play one episode, say how it went, and film it if asked."""
    from soromox_envs.rollout import film, roll_out

    env, params = registry.make(options.id, randomization=options.randomization)
    steps = options.steps or int(params.max_steps_in_episode)
    episode = roll_out(env, params, options.policy, steps, options.seed)
    print(f"{options.id}, {options.policy} policy, seed {options.seed}: {len(episode.reward)} steps")
    print(f"return    {episode.reward.sum():.3f}")
    first, last = (1e3 * episode.distance[i] for i in (0, -1))
    print(f"distance  {first:.1f} mm after one step, {last:.1f} mm at the end")
    print(f"success   {'yes' if episode.success[-1] else 'no'} at the end, in {episode.success.sum()} steps")
    if episode.terminated:
        print("the state diverged in the last step")
    if options.video:
        film(env, params, episode, options.video)
        print(f"video     {options.video}")
    return 0


def check(options: argparse.Namespace) -> int:
    """Try the contract on an id: survival, spaces, time limit, divergence, determinism; exit code 1 if it is broken."""
    from soromox_envs.check import Violation
    from soromox_envs.check import check as checks

    try:
        for name, found in checks(options.id, options.randomization):
            print(f"ok      {name}: {found}", flush=True)
    except Violation as violation:
        print(f"broken  {violation}")
        return 1
    return 0


def targets(options: argparse.Namespace) -> int:
    """Rebuild a robot's table of reachable targets."""
    from soromox_envs.targets import DATA, rebuild

    rebuild(options.robot, options.out or DATA)
    return 0


def parser() -> Parser:
    """The grammar of the command line."""
    whole = Parser(prog="soromox-envs", description="Reinforcement-learning environments for soft robots.")
    commands = whole.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function):
        sub = commands.add_parser(name, help=function.__doc__, description=function.__doc__)
        sub.set_defaults(run=function)
        return sub

    command("list", list_ids)
    command("show", show).add_argument("id", type=known_id, metavar="ID")
    roll, contract = command("rollout", rollout), command("check", check)
    for sub in (roll, contract):
        sub.add_argument("id", type=known_id, metavar="ID")
        sub.add_argument("--randomization", default="none", help="none, mild, hard, failure or pulses (default none)")
    roll.add_argument("--policy", default="zero", help="zero, random, or a package's, such as model-based")
    roll.add_argument("--steps", type=positive, help="default: an episode")
    roll.add_argument("--seed", type=int, default=0)
    roll.add_argument("--video", type=new_file, metavar="FILE", help="write an MP4")
    rebuild = command("targets", targets)
    rebuild.add_argument("robot", type=known_robot, metavar="KEY", help="of a robot, such as PlanarHSA")
    rebuild.add_argument("--out", type=Path, metavar="FOLDER", help="default: where the package keeps its tables")
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0; 1 for a broken contract; 2 and one sentence for a mistake of the user."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except BrokenPipeError:  # the reader has seen enough
        sys.stdout = None
        return 0
    except (ValueError, ModuleNotFoundError, OSError) as error:
        print(f"soromox-envs: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())

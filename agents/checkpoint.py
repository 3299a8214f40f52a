"""Checkpoints: one file, a line of JSON that says what it holds, then the arrays of a trained agent."""

import importlib.metadata
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

from agents.config import config_from_mapping, config_to_mapping
from agents.errors import UserError
from agents.ppo import Agent, PPOConfig

FILE_NAME = "checkpoint.eqx"
_FORMAT = "soromox-envs agent, version 1"
_PACKAGES = ("soromox-envs", "jax", "equinox", "diffrax", "optax", "numpy")


@dataclass(frozen=True)
class Header:
    """What a checkpoint was made for and with."""

    env_id: str
    observation_size: int
    action_size: int
    config: PPOConfig
    seed: int
    env_steps: int
    versions: dict[str, str]


def package_versions() -> dict[str, str]:
    """Installed versions of the packages that training depends on."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def save_checkpoint(path: Path | str, agent: Agent, header: Header) -> None:
    """Write an agent and its header to one file."""
    fields = dict(vars(header), config=config_to_mapping(header.config))
    with Path(path).open("wb") as file:
        file.write(json.dumps({"format": _FORMAT, **fields}).encode() + b"\n")
        eqx.tree_serialise_leaves(file, agent)


def load_checkpoint(path: Path | str, env_id: str, observation_size: int, action_size: int) -> tuple[Agent, Header]:
    """Read an agent for the environment `env_id`; `path` is the file or the run's folder that holds it.

    Whatever does not fit (another environment, other sizes, a damaged file) is a `UserError`.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    if not path.is_file():
        raise UserError(f"Expected a checkpoint at '{path}', found none.")
    with path.open("rb") as file:
        header = _header(file.readline(), path)
        expected = {"env_id": env_id, "observation_size": observation_size, "action_size": action_size}
        for name, value in expected.items():
            if getattr(header, name) != value:
                raise UserError(
                    f"Expected a checkpoint with {name.replace('_', ' ')} {value!r}, "
                    f"got {getattr(header, name)!r} in '{path}'."
                )
        make = lambda key: Agent(observation_size, action_size, header.config, key=key)  # noqa: E731
        like = eqx.filter_eval_shape(make, jax.random.key(0))
        try:
            return eqx.tree_deserialise_leaves(file, like), header
        except (RuntimeError, ValueError, EOFError, OSError, TypeError) as error:
            raise UserError(
                f"Expected the arrays of networks with hidden sizes {header.config.hidden_sizes} "
                f"in '{path}', got other or damaged ones."
            ) from error


def _header(line: bytes, path: Path) -> Header:
    try:
        fields: dict[str, Any] = json.loads(line)
        if fields.pop("format") != _FORMAT:
            raise ValueError
        return Header(**dict(fields, config=config_from_mapping(PPOConfig, fields["config"])))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"Expected a checkpoint of this project in '{path}', got another kind of file.") from error

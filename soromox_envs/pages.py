"""What there is to say of an id, as Markdown: the pages under docs/environments, and ``soromox-envs show``."""

import dataclasses
import inspect
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from soromox_envs import registry
from soromox_envs.env import DIVERGENCE_PENALTY
from soromox_envs.tasks.base import Task

SCORES = ("random", "zero", "away", "model_based", "trained")
SOLVERS = Path(__file__).resolve().parent.parent / "docs" / "solvers.md"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table, its columns as wide as their widest cell."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, " | ".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" for line in lines)


def page_of(env_id: str, scores: Mapping[str, float] | None = None) -> str:
    """The page of an id, without its picture; ``scores`` are mean returns by policy, and ``success`` (a share)."""
    env, params = registry.make(env_id)
    sections = {
        "Task": _task(env),
        "Actions": _actions(env),
        "Observation": _observation(env),
        "Robot": _robot(env, params),
        "Integration": _integration(env),
        "Reference scores": _scores(scores),
        "Use": f"""```python
import gymnasium
import soromox_envs

env = gymnasium.make("{env_id}")  # Gymnasium Env
envs = gymnasium.make_vec("{env_id}", num_envs=64)  # natively batched
env, params = soromox_envs.make("{env_id}")  # functional
```""",
    }
    return f"# {env_id}\n\n" + "\n\n".join(f"## {name}\n\n{text}" for name, text in sections.items() if text) + "\n"


def _task(env: Any) -> str:
    entry = registry.entry_of(env.name)
    seconds = entry.max_episode_steps * env.control_dt
    rows = [
        ("reward terms", ", ".join(env.task.reward_names)),
        ("reward", _sentence(type(env.task).reward)),
        ("time limit", f"{entry.max_episode_steps} steps of {env.control_dt:.3g} s: {seconds:g} s; truncates"),
        ("termination", f"only when the state is no longer finite, with a reward of {DIVERGENCE_PENALTY:g}"),
        ("solved at", f"a return of {entry.reward_threshold:g}"),
    ]
    options = [(f.name, getattr(env.task, f.name)) for f in dataclasses.fields(env.task) if f.name != "max_steps"]
    varied = [f"{name} {low:g} to {high:g}" for name, (low, high) in env.task.ranges]
    rows += [("options", ", ".join(f"`{name}={value!r}`" for name, value in options))] if options else []
    rows += [("drawn every episode", ", ".join(varied))] if varied else []
    return f"{_doc(type(env.task))}\n\n{table(('quantity', 'value'), rows)}"


def _actions(env: Any) -> str:
    m, (lower, upper) = env.num_actions, env.action_limits
    rates = np.broadcast_to(env.model.rate_limit, m)
    rows = [
        (i, name, unit, f"{low:g}", f"{high:g}", "none" if env.model.instantaneous else f"{rate:g}")
        for i, (name, unit, low, high, rate) in enumerate(
            zip(env.action_names, env.action_units, lower, upper, rates, strict=True)
        )
    ]
    most = f"{env.model.rate_limit * env.control_dt:g} {env.action_units[0]}"
    lag = "" if env.model.lag == 0 else f", with a lag of {1e3 * env.model.lag:g} ms"
    heard = "at once" if env.model.instantaneous else f"no faster than listed{lag}"
    text = (
        f"`Box(-1, 1, ({m},), float32)`. An action of 1 raises the command by {most}; the actuators follow {heard}. "
        '`action_mode="absolute"` sets the command between its limits, `action_units="physical"` in the units below.'
    )
    return f"{_wrapped(text)}\n\n{table(('', 'input', 'unit', 'lowest', 'highest', 'fastest change, 1/s'), rows)}"


def _observation(env: Any) -> str:
    rows, first = [], 0
    for what, names in env.observation_layout.items():
        if names:
            last = first + len(names) - 1
            rows.append((first if first == last else f"{first}-{last}", ", ".join(f"`{n}`" for n in names), what))
            first = last + 1
    text = f"{first} entries, float32, within 10."
    if env.task.goal_conditioned:
        text = (
            f"A dictionary: `observation` ({first} entries, below), `achieved_goal` and `desired_goal` (positions from "
            "the base, over the length), float32, within 10. `compute_reward(achieved_goal, desired_goal, info)` gives "
            "the reward of goals."
        )
    return f"{_wrapped(text)}\n\n{table(('entries', 'names', 'what'), rows)}"


def _robot(env: Any, params: Any) -> str:
    robot, model = params.robot, env.model
    module = sys.modules[inspect.unwrap(model.build).__module__]
    rows = [
        ("model", f"`soromox.systems.{type(robot).__name__}`"),
        ("coordinates", f"{robot.num_coordinates}" + (", its base free" if robot.floating_base else "")),
        ("length, base to tip", f"{float(model.length(robot)):.4g} m"),
        ("gravity", f"{_numbers(np.asarray(params.robot.params.gravity, float).round(4))} m/s^2"),
        ("thickest radius", f"{model.body_radius:g} m"),
        ("payload at most", f"{model.max_payload:g} kg"),
        ("push at most", f"{model.max_tip_force:g} N"),
        ("stored equilibria", f"{params.table['u'].shape[0]}"),
    ]
    return f"{_wrapped(module.__doc__ or '')}\n\n{table(('quantity', 'value'), rows)}"


def _integration(env: Any) -> str:
    model = env.model
    text = (
        f"{model.solver} at {1e3 * model.solver_dt:.4g} ms, {round(env.control_dt / model.solver_dt)} steps a control "
        f"interval; the actuators' model acts every {1e3 * model.actuator_dt:.4g} ms."
    )
    measured = solver_section(model.key)
    if not measured:
        return _wrapped(text)
    return f"{_wrapped(f'{text} Measured against a converged one ([all solvers](../solvers.md)):')}\n\n{measured}"


def solver_section(key: str) -> str:
    """The table that docs/solvers.md has for a robot; empty where there is none, or no docs."""
    if not SOLVERS.is_file():
        return ""
    sections = SOLVERS.read_text(encoding="utf-8").split("\n## ")[1:]
    mine = [text for text in sections if text.split(maxsplit=1)[0].split("-")[0] == key]
    return "\n".join(line for line in mine[0].splitlines() if line.startswith("|")) if mine else ""


def _scores(scores: Mapping[str, float] | None) -> str:
    if not scores:
        return ""
    rows = [(name.replace("_", "-"), f"{scores[name]:.1f}") for name in SCORES if name in scores]
    success = f"\n\nSuccess of the model-based policy: {100 * scores['success']:.0f} %." if "success" in scores else ""
    return table(("policy", "mean return"), rows) + success


def _doc(task: type) -> str:
    """Docstrings of a task and of those it derives from, up to their lists of attributes."""
    texts = []
    for ancestor in task.__mro__[: task.__mro__.index(Task)]:
        text = inspect.cleandoc(ancestor.__doc__ or "").split("\nAttributes:")[0]
        name = "" if ancestor is task else f"{ancestor.__name__}: "
        texts += [_wrapped(name + text)]
    return "\n\n".join(texts)


def _wrapped(text: str) -> str:
    parts = text.strip().replace("``", "`").split("\n\n")
    return "\n\n".join(textwrap.fill(" ".join(part.split()), 120) for part in parts)


def _sentence(function: Any) -> str:
    return (inspect.getdoc(function) or "").split("\n")[0].rstrip(".").lower()


def _numbers(x: Any) -> str:
    return ", ".join(f"{value + 0.0:g}" for value in np.ravel(x))

"""Writes the documentation of the ids: ``python -m soromox_envs.docs`` makes a page an id, its picture, and the index.

Everything comes from the code, but for ``docs/environments/scores.json``: by id, mean returns by policy and the share
of ``success``. The sizes that ``soromox-envs list`` prints are written as well.
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from soromox_envs import registry
from soromox_envs.__main__ import known_id, sizes_of
from soromox_envs.pages import page_of, table
from soromox_envs.progress import progress

PACKAGE = Path(__file__).resolve().parent
FOLDER = PACKAGE.parent / "docs" / "environments"
SIZES = PACKAGE / "sizes.json"
PIXELS = 240


def read_scores(folder: Path = FOLDER) -> Mapping[str, Any]:
    """Reference scores by id."""
    path = folder / "scores.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def text_of(env_id: str, scores: Mapping[str, Any]) -> str:
    """The page of an id, with its picture."""
    title, rest = page_of(env_id, scores.get(env_id)).split("\n", maxsplit=1)
    return f"{title}\n\n![{env_id}](images/{env_id}.png)\n{rest}"


def index_of(env_ids: Iterable[str], sizes: Mapping[str, Any], scores: Mapping[str, Any]) -> str:
    """The index: a section a task, with thumbnails."""
    tasks: dict[str, list[str]] = {}
    for env_id in env_ids:
        tasks.setdefault(env_id.split("-")[1], []).append(env_id)
    sections = []
    for task, members in tasks.items():
        rows = []
        for env_id in members:
            picture = f'<a href="{env_id}.md"><img src="images/{env_id}.png" width="120" alt="{env_id}"></a>'
            inputs, observations, seconds = sizes[env_id]
            reached = scores.get(env_id, {}).get("model_based")
            score = "" if reached is None else f"{reached:.1f}"
            rows.append((picture, f"[{env_id}]({env_id}.md)", inputs, observations, f"{seconds:g} s", score))
        head = ("", "id", "inputs", "observations", "episode", "model-based return")
        sections.append(f"## {task}\n\n{table(head, rows)}")
    total = sum(map(len, tasks.values()))
    intro = f"# The environments\n\n{total} ids. All pages are made from the code by `python -m soromox_envs.docs`."
    return "\n\n".join([intro, *sections]) + "\n"


def write_picture(env_id: str, path: Path) -> None:
    """The picture of an id at a reset, PNG of 256 colours."""
    import cv2

    from soromox_envs.rendering import render_state

    env, params = registry.make(env_id)
    _, state = jax.jit(env.reset)(jax.random.key(1), params)
    frame = render_state(env, state, params, 2 * PIXELS, 2 * PIXELS)
    small = cv2.resize(frame, (PIXELS, PIXELS), interpolation=cv2.INTER_AREA)
    coarse = np.minimum((small.astype(int) + 4) // 8 * 8, 255).astype(np.uint8)  # few colours compress well
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), coarse[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 9])


def main() -> None:
    """Write pages, pictures, index and sizes."""
    command = argparse.ArgumentParser(prog="python -m soromox_envs.docs", description=main.__doc__)
    command.add_argument("ids", nargs="*", type=known_id, metavar="ID", help="pages to write (default: all)")
    command.add_argument("--no-pictures", action="store_true", help="keep the pictures that there are")
    options = command.parse_args()
    scores = read_scores()
    sizes = json.loads(SIZES.read_text(encoding="utf-8")) if SIZES.is_file() else {}
    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in progress(options.ids or registry.registered(), "pages", "id"):
        sizes[env_id] = sizes_of(env_id)
        (FOLDER / f"{env_id}.md").write_text(text_of(env_id, scores), encoding="utf-8")
        if not options.no_pictures:
            write_picture(env_id, FOLDER / "images" / f"{env_id}.png")
    written = {env_id: sizes[env_id] for env_id in registry.registered() if env_id in sizes}
    lines = ",\n".join(f"{json.dumps(env_id)}: {json.dumps(size)}" for env_id, size in written.items())
    SIZES.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    (FOLDER / "README.md").write_text(index_of(written, sizes, scores), encoding="utf-8")


if __name__ == "__main__":
    main()

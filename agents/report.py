"""What a run leaves for people: the comparison table, the learning curve, the video, the report."""

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from agents.checkpoint import package_versions
from agents.rollout import Episodes
from agents.stats import interquartile_mean, stratified_bootstrap

_COLUMNS = (
    "policy",
    "success",
    "return, IQM [95 %]",
    "final distance, median",
    "effort",
    "diverged",
    "episodes",
)


def summarise(strata: Sequence[Episodes]) -> dict[str, Any]:
    """Numbers of a policy over its episodes; one stratum a training seed. Distances in m, rates in [0, 1]."""
    pooled = Episodes(*(np.concatenate(column) for column in zip(*strata, strict=True)))
    low, high = stratified_bootstrap([episodes.episode_return for episodes in strata])
    return {
        "success_rate": float(pooled.success.mean()),
        "return_iqm": float(interquartile_mean(pooled.episode_return)),
        "return_iqm_low": low,
        "return_iqm_high": high,
        "final_distance_median": float(np.median(pooled.distance)),
        "effort": float(pooled.effort.mean()),
        "diverged_rate": float(pooled.diverged.mean()),
        "episodes": int(pooled.success.size),
    }


def comparison_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Markdown table of summaries, a policy a line."""
    lines = [_row(_COLUMNS), _row(["---"] + ["---:"] * (len(_COLUMNS) - 1))]
    for name, result in results.items():
        returns = f"{result['return_iqm']:.2f} [{result['return_iqm_low']:.2f}, {result['return_iqm_high']:.2f}]"
        lines.append(
            _row(
                (
                    name,
                    f"{100 * result['success_rate']:.1f} %",
                    returns,
                    f"{1000 * result['final_distance_median']:.2f} mm",
                    f"{result['effort']:.3f}",
                    f"{100 * result['diverged_rate']:.1f} %",
                    str(result["episodes"]),
                )
            )
        )
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def machine_info() -> dict[str, str]:
    """Where something ran: processor, cores, JAX devices, versions."""
    devices = jax.local_devices()
    return {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores",
        "devices": f"{len(devices)} x {devices[0].device_kind}",
        "python": platform.python_version(),
    } | package_versions()


def write_report(path: Path, title: str, results: Mapping[str, Any], costs: Sequence[Mapping[str, Any]]) -> None:
    """`report.md`: table, cost of each training run (a mapping of label to text), machine, and files."""
    sections = [
        f"# {title}",
        comparison_table(results),
        "Fresh episodes, deterministic policies, the same for all.",
    ]
    sections += ["## Training", _row(costs[0]) + "\n" + _row(["---:"] * len(costs[0]))]
    sections[-1] += "".join("\n" + _row(map(str, cost.values())) for cost in costs)
    sections += ["## Learning curve", "![Learning curve](learning_curve.png)"]
    sections += ["## Machine", "\n".join(f"- {name}: {value}" for name, value in machine_info().items())]
    path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def plot_learning_curves(path: Path, title: str, curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """PNG of return and success rate over environment steps, a line a seed, from the lines of metrics."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    figure.suptitle(title)
    panels = zip(
        figure.subplots(1, 2),
        (("return", 1, "episode return"), ("success", 100, "success rate, %")),
        strict=True,
    )
    for axes, (name, factor, label) in panels:
        for curve, metrics in curves.items():
            points = [(line["env_steps"], factor * line[name]) for line in metrics if line[name] is not None]
            axes.plot(*np.array(points).reshape(-1, 2).T, label=curve, linewidth=1.4)
        axes.set(xlabel="environment steps", ylabel=label)
        axes.grid(alpha=0.3)
    if len(curves) > 1:
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=130)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a `metrics.jsonl`."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_video(path: Path, frames: Iterable[np.ndarray], frames_per_second: float) -> None:
    """MP4 (H.264) of uint8 frames (height, width, 3), all of one size; odd sizes are padded by a pixel."""
    import imageio_ffmpeg

    frames = [np.pad(frame, [(0, n % 2) for n in frame.shape[:2]] + [(0, 0)], mode="edge") for frame in frames]
    if not frames:
        return
    height, width = frames[0].shape[:2]
    source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(frames_per_second)]
    target = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", str(path)]
    # Not imageio_ffmpeg.write_frames: it forks, which JAX's threads may not survive.
    program = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error"]
    subprocess.run([*program, *source, "-i", "-", *target], input=np.stack(frames).tobytes(), check=True)

"""Videos that every browser plays: H.264 in yuv420p."""

import subprocess
import tempfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from soromox.rendering.extras import optional


def write_video(path: str | PathLike, frames: Iterable[np.ndarray], fps: float = 20.0) -> None:
    """Write RGB frames, uint8 (H, W, 3), to an MP4 file; odd sizes get one more row or column, a repeated one.

    Frames may come from a generator: only one is held at a time.

    Raises:
        ValueError: no frames, a frame of another size or type than (H, W, 3) uint8, or fps not positive.
        FileNotFoundError: the folder does not exist.
        ModuleNotFoundError: imageio_ffmpeg is not installed.
        OSError: ffmpeg could not write the file.
    """
    if not fps > 0:
        raise ValueError(f"fps must be positive, got {fps}")
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(path.parent)!r} for the video does not exist")
    program = optional("imageio_ffmpeg").get_ffmpeg_exe()
    source = iter(frames)
    first = next(source, None)
    if first is None:
        raise ValueError("a video needs at least one frame, got none")
    shape = np.shape(first)
    _require_frame(first, shape)
    with tempfile.TemporaryFile() as messages:
        encoder = subprocess.Popen(
            [program, *_options(shape, fps), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=messages,
        )
        assert encoder.stdin is not None
        try:
            _send(encoder.stdin, first)
            for frame in source:
                _require_frame(frame, shape)
                _send(encoder.stdin, frame)
        except BrokenPipeError:
            pass  # ffmpeg has stopped; its own words follow below
        finally:
            _close(encoder.stdin)
            status = encoder.wait()
        if status != 0:
            messages.seek(0)
            reason = messages.read().decode(errors="replace").strip().splitlines()[-1:]
            raise OSError(f"ffmpeg could not write {str(path)!r}: {' '.join(reason) or f'exit status {status}'}")


def _options(shape: tuple[int, ...], fps: float) -> list[str]:
    height, width = shape[0] + shape[0] % 2, shape[1] + shape[1] % 2
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    coded = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]
    return ["-y", "-loglevel", "error", *raw, *coded, "-f", "mp4"]


def _require_frame(frame: Any, shape: tuple[int, ...]) -> None:
    frame = np.asarray(frame)
    if frame.ndim != 3 or frame.shape[2] != 3 or 0 in frame.shape or frame.dtype != np.uint8:
        raise ValueError(f"a frame must be uint8 (H, W, 3), got {frame.dtype} {frame.shape}")
    if frame.shape != shape:
        raise ValueError(f"all frames must have the size of the first, {shape}, got {frame.shape}")


def _send(pipe: Any, frame: np.ndarray) -> None:
    frame = np.asarray(frame)
    height, width, _ = frame.shape
    pipe.write(np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge").tobytes())


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        pass

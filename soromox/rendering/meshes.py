"""Surfaces of round bodies in space."""

import numpy as np

from soromox.rendering.colors import Color

LIGHT = np.array([-0.15, -0.65, 0.75])
"""Direction towards the light, world."""


def parallel_frames(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tangents and two normals, (k, 3) each, along a curve (k, 3), carried along without twist."""
    tangent = np.gradient(points, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-12)
    helper = np.eye(3)[np.argmin(np.abs(tangent[0]))]
    normal = np.zeros_like(points)
    for i in range(len(points)):
        helper = helper - (helper @ tangent[i]) * tangent[i]
        helper = helper / max(np.linalg.norm(helper), 1e-12)
        normal[i] = helper
    return tangent, normal, np.cross(tangent, normal)


def tube_faces(points: np.ndarray, radii: np.ndarray, color: Color, sides: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Quadrilaterals (f, 4, 3) of a closed tube, m, and their shaded colours (f, 3)."""
    tangent, normal, binormal = parallel_frames(points)
    angle = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    around = np.cos(angle)[None, :, None] * normal[:, None] + np.sin(angle)[None, :, None] * binormal[:, None]
    rings = points[:, None] + radii[:, None, None] * around
    after = np.roll(rings, -1, axis=1)
    wall = np.stack([rings[:-1], after[:-1], after[1:], rings[1:]], axis=2).reshape(-1, 4, 3)
    outward = (around[:-1] + np.roll(around, -1, axis=1)[1:]).reshape(-1, 3)
    ends = []
    for at in (0, -1):
        center = np.broadcast_to(points[at], rings[at].shape)
        ends.append(np.stack([center, center, rings[at], after[at]], axis=1))
    facing = np.repeat([-tangent[0], tangent[-1]], sides, axis=0)
    faces = np.concatenate([wall, *ends])
    return faces, shade(np.concatenate([outward, facing]), color)


def shade(normals: np.ndarray, color: Color) -> np.ndarray:
    """Colours (f, 3) of faces with outward normals (f, 3): ambient, diffuse and a soft highlight."""
    light = LIGHT / np.linalg.norm(LIGHT)
    facing = normals @ light / np.maximum(np.linalg.norm(normals, axis=1), 1e-12)
    base = np.array(color[:3]) * (0.7 + 0.4 * np.clip(facing, 0, 1) + 0.25 * np.clip(facing, -1, 0))[:, None]
    return np.clip(base + 0.25 * np.clip(facing, 0, 1)[:, None] ** 12, 0, 1)

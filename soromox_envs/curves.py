"""Closed curves that a robot's tip can follow quasi-statically, made for its table of targets.

A wanted curve (a circle, a figure-eight, a random smooth one) is laid onto the sheet of tips about one of them. The
curve that ships is its image, the tips of the static equilibria under admissible actuation that come nearest to it,
smoothed by at most 0.4 % of the length.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.interpolate import CubicSpline
from scipy.spatial import KDTree

from soromox.systems.statics import static_residual
from soromox_envs.robots.model import RobotModel, input_limits

KINDS = ("circle", "figure-eight", "random")
PER_KIND, POINTS = 16, 64
SIZE = (0.1, 0.25)  # of the curves across, robot lengths
FITS = (1.0, 0.6)  # what of the size is tried before a place is given up, for thin workspaces
MARGIN = 1.3  # about a curve, within the workspace: shares of the size
DEPARTURE = 0.02, 0.1  # of the image from the wanted curve at most: robot lengths, shares of the size
JUMP = 0.1  # of an input between neighbouring points, shares of its range
WANTED, LEAD_IN, SETTLING = 64, 16, 8  # points: of a wanted curve, before its beginning, at the first of them
STEPS = (True, False)  # whether the inputs move, in the linear solves of a point
PASSES = 4  # in which a linear solve finds the inputs that meet their limits
SOLVED = 1e-3  # size of Newton's last step, after which the error is of its square
DAMPING = 0.01  # least tip motion, over the range of an input, that counts as one: robot lengths
RELAXATION = 0.05  # share of the way home that inputs go in a step, where the tip does not mind
NEIGHBOURS = 32
HARMONICS = 6  # waves of a curve that ships
SMOOTHING = 0.004  # by how much that may move the image, robot lengths
UNEVENNESS = 0.03  # of the steps along a curve, or it turns too sharply
BATCH = 24  # wanted curves of a kind that are tried at a time
ATTEMPTS = 40


class Linearization(NamedTuple):
    """Statics about (q, u), and the tip's motion.

    Attributes:
        stiffness: of the posture (n, n); stable where its eigenvalues are positive.
        correction: what Newton's method takes off q (n,).
        posture_slope: d q / d u (n, m) along equilibria.
        tip: position (space,), m, after the correction.
        tip_slope: d tip / d u (space, m) along equilibria.
    """

    stiffness: Array
    correction: Array
    posture_slope: Array
    tip: Array
    tip_slope: Array


def linearize(model: RobotModel, robot: Any, q: Array, u: Array) -> Linearization:
    """Linearised statics of a robot with a fixed base, and of its tip."""
    residual = static_residual(robot, q, u)
    stiffness, load = jax.jacfwd(lambda q, u: static_residual(robot, q, u), (0, 1))(q, u)
    solved = jnp.linalg.solve(stiffness, jnp.concatenate([residual[:, None], load], axis=1))
    correction, posture_slope = solved[:, 0], -solved[:, 1:]
    J = jax.jacfwd(lambda q: model.tip_position(robot, q))(q)
    tip = model.tip_position(robot, q) - J @ correction
    return Linearization(stiffness, correction, posture_slope, tip, J @ posture_slope)


def damped_inverse(slope: Array, damping: Array) -> Array:
    """Pseudo-inverse (m, space) of a slope (space, m); directions slower than ``damping`` fade out."""
    gram = slope @ slope.T + damping**2 * jnp.eye(slope.shape[0], dtype=slope.dtype)
    return jnp.linalg.solve(gram, slope).T


class Image(NamedTuple):
    """A curve followed: tips (n, space), m; inputs (n, m), shares of their ranges; whether all is stable and solved."""

    tips: Array
    shares: Array
    sound: Array


@eqx.filter_jit
def follow(model: RobotModel, robot: Any, lower: Array, upper: Array, q: Array, u: Array, points: Array) -> Image:
    """Images of closed curves (c, n, space): damped Gauss-Newton within the limits, from point to point.

    Args:
        q, u: equilibria (c, nq) and (c, m) near the points ``LEAD_IN`` before the beginnings.
    """
    width = upper - lower
    damping = DAMPING * model.length(robot)

    def along(q, u, points):
        home = (u - lower) / width

        def solve(carry, moving):
            q, x, goal = carry
            line = linearize(model, robot, q, lower + width * x)
            slope, error = line.tip_slope * width[None], goal - line.tip
            rest, held = RELAXATION * (home - x), jnp.zeros(x.shape, bool)
            for _ in range(PASSES):  # inputs that meet a limit stay there, the others make up for them
                free = slope * jnp.where(held, 0, 1)[None]
                step = rest + damped_inverse(free, damping) @ (error - slope @ rest)
                held = held | (x + step < 0) | (x + step > 1)
                bounded = jnp.clip(x + step, 0, 1) - x
                rest = jnp.where(held, bounded, rest)
            step = jnp.clip(bounded, -JUMP, JUMP) * moving
            q = q - line.correction + line.posture_slope @ (width * step)
            return (q, x + step, goal), line

        def point(carry, goal):
            (q, x, _), lines = jax.lax.scan(solve, (*carry, goal), jnp.array(STEPS))
            last = jax.tree.map(lambda values: values[-1], lines)
            stable = jnp.linalg.eigvals(last.stiffness).real.min() > 0
            solved = jnp.abs(last.correction).max() < SOLVED * (1 + jnp.abs(q).max())
            return (q, x), Image(last.tip, x, stable & solved)

        first = jnp.broadcast_to(points[-LEAD_IN], (SETTLING, points.shape[1]))
        path = jnp.concatenate([first, points[-LEAD_IN:], points])
        _, image = jax.lax.scan(point, (q, home), path)
        image = jax.tree.map(lambda values: values[-points.shape[0] :], image)
        return image._replace(sound=jnp.all(image.sound))

    return jax.vmap(along)(q, u, points)


def resampled(points: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """``count`` points at equal arc lengths of the smooth closed curve through points (n, space), and its length."""
    closed = np.concatenate([points, points[:1]])
    spline = CubicSpline(np.arange(len(closed)), closed, bc_type="periodic")
    fine = np.linspace(0, len(points), 64 * len(points) + 1)
    arc = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(spline(fine), axis=0), axis=1))])
    where = np.interp(np.linspace(0, arc[-1], count, endpoint=False), arc, fine)
    return spline(where), float(arc[-1])


def smoothed(points: np.ndarray) -> np.ndarray:
    """A closed curve (n, space) without what is finer than its ``HARMONICS`` lowest waves."""
    waves = np.fft.rfft(points, axis=0)
    waves[HARMONICS + 1 :] = 0
    return np.fft.irfft(waves, len(points), axis=0)


def _unevenness(points: np.ndarray) -> float:
    """Largest share by which a step between points at equal arc lengths differs from the mean one: sharp turns."""
    steps = np.linalg.norm(np.roll(points, -1, axis=0) - points, axis=1)
    return float(np.abs(steps / steps.mean() - 1).max())


def flat_curve(kind: str, rng: np.random.Generator) -> np.ndarray:
    """A closed plane curve (n, 2), 1 across, about the origin."""
    t = np.linspace(0, 2 * np.pi, 512, endpoint=False)
    if kind == "circle":
        xy = np.stack([np.cos(t), np.sin(t)], axis=1)
    elif kind == "figure-eight":
        xy = np.stack([np.cos(t), np.sin(t) * np.cos(t)], axis=1)
    else:
        k = np.arange(1, 4)
        waves = np.concatenate([np.cos(k * t[:, None]), np.sin(k * t[:, None])], axis=1)
        xy = (waves / np.tile(k**3, 2)) @ rng.normal(size=(6, 2))
    xy = xy - 0.5 * (xy.max(0) + xy.min(0))
    return xy / (2 * np.linalg.norm(xy, axis=1).max())


class Sheet:
    """The tips of a table as a surface: what is near, and where it lies."""

    def __init__(self, tips: np.ndarray):
        self.tips, self.tree = tips, KDTree(tips)
        self.gap = float(np.median(self.tree.query(tips, 2)[0][:, 1]))

    def lay(self, center: np.ndarray, xy: np.ndarray) -> np.ndarray | None:
        """A plane curve about a tip, bent onto the sheet (n, space); None where a larger one leaves the workspace."""
        reach = max(np.linalg.norm(xy, axis=1).max(), self.tree.query(center, NEIGHBOURS)[0][-1])
        offsets = self.tips[self.tree.query_ball_point(center, 1.2 * reach)] - center
        axes = np.linalg.svd(offsets - offsets.mean(0))[2]
        points, around = center + xy @ axes[:2], center + MARGIN * xy @ axes[:2]
        if len(axes) == 3:
            height = np.linalg.lstsq(_quadratic(offsets @ axes[:2].T), offsets @ axes[2], rcond=None)[0]
            points = points + (_quadratic(xy) @ height)[:, None] * axes[2]
            around = around + (_quadratic(MARGIN * xy) @ height)[:, None] * axes[2]
        inside = self.tree.query(around)[0].max() < 1.2 * self.gap
        return points if inside else None


def _quadratic(xy: np.ndarray) -> np.ndarray:
    x, y = xy.T
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)


def wanted_curves(kind: str, count: int, sheet: Sheet, length: float, rng: np.random.Generator) -> np.ndarray:
    """Curves (count, WANTED, space) within the workspace, m.

    Raises:
        RuntimeError: a workspace without room for them.
    """
    found = []
    for _ in range(1000 * count):
        turn = rng.uniform(0, 2 * np.pi)
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        xy = rng.uniform(*SIZE) * length * flat_curve(kind, rng) @ rotation
        center = sheet.tips[rng.integers(len(sheet.tips))]
        fitting = (points for fit in FITS if (points := sheet.lay(center, fit * xy)) is not None)
        if (points := next(fitting, None)) is not None:
            found.append(resampled(points[::4], WANTED)[0])
        if len(found) == count:
            return np.stack(found)
    raise RuntimeError(f"the workspace has no room for a {kind} of {FITS[-1] * SIZE[0]} lengths across")


def tracking_curves(model: RobotModel, robot: Any, table: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Curves (3 * PER_KIND, POINTS, space), kind by kind, at equal arc lengths, and their lengths, m.

    Raises:
        RuntimeError: too few that the robot can follow.
    """
    length, sheet, rng = float(model.length(robot)), Sheet(table["tip"]), np.random.default_rng(0)
    lower, upper = (jnp.asarray(limit) for limit in input_limits(robot))
    kept: dict[str, list[tuple[np.ndarray, float]]] = {kind: [] for kind in KINDS}
    for _ in range(ATTEMPTS):
        wanted = np.concatenate([wanted_curves(kind, BATCH, sheet, length, rng) for kind in KINDS])
        rows = sheet.tree.query(wanted[:, -LEAD_IN])[1]
        q, u = jnp.asarray(table["q"][rows]), jnp.asarray(table["u"][rows])
        image = jax.tree.map(np.asarray, follow(model, robot, lower, upper, q, u, jnp.asarray(wanted)))
        away = np.linalg.norm(image.tips - wanted, axis=-1).max(1)
        across = np.linalg.norm(wanted.max(1) - wanted.min(1), axis=-1)
        jump = np.abs(image.shares - np.roll(image.shares, 1, axis=1)).max((1, 2))
        close = away < np.minimum(DEPARTURE[0] * length, DEPARTURE[1] * across)
        good = image.sound & close & (jump < JUMP)
        for i in np.flatnonzero(good):
            curve = smoothed(image.tips[i])
            points, arc = resampled(curve, POINTS)
            near = np.linalg.norm(curve - image.tips[i], axis=1).max() < SMOOTHING * length
            if near and _unevenness(points) < UNEVENNESS:
                kept[KINDS[i // BATCH]].append((points, arc))
        if all(len(curves) >= PER_KIND for curves in kept.values()):
            chosen = [curve for curves in kept.values() for curve in curves[:PER_KIND]]
            return np.stack([points for points, _ in chosen]), np.array([arc for _, arc in chosen])
    raise RuntimeError(f"too few curves that {model.key} can follow: { {k: len(c) for k, c in kept.items()} }")

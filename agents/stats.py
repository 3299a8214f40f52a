"""Statistics of few noisy scores (Agarwal et al., arXiv 2108.13264)."""

from collections.abc import Callable, Sequence

import numpy as np


def interquartile_mean(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Mean of the middle half of the scores; the scores at the quartiles count in part."""
    scores = np.sort(np.asarray(scores, float), axis=axis)
    count = scores.shape[axis]
    # Score i covers the quantiles [i, i + 1] / count; its weight is what of them lies in the middle half.
    edges = np.clip(np.arange(count + 1) / count, 0.25, 0.75)
    return np.tensordot(np.moveaxis(scores, axis, -1), 2 * np.diff(edges), axes=1)


def stratified_bootstrap(
    strata: Sequence[np.ndarray],
    statistic: Callable[..., np.ndarray] = interquartile_mean,
    confidence: float = 0.95,
    repetitions: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of a statistic of pooled scores, resampled in each stratum (a training seed)."""
    generator = np.random.default_rng(seed)
    samples = []
    for scores in strata:
        scores = np.asarray(scores, float)
        samples.append(scores[generator.integers(0, scores.size, (repetitions, scores.size))])
    values = statistic(np.concatenate(samples, axis=1), axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)

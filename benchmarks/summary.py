"""Medians, spreads and paired ratios."""

import statistics
from collections.abc import Sequence

import numpy as np

_RESAMPLES = 2000


def spread(samples: Sequence[float]) -> dict[str, float]:
    """Summarise samples: median, smallest, largest and the interquartile range."""
    low, high = np.percentile(samples, [25, 75])
    return {
        "median": statistics.median(samples),
        "min": min(samples),
        "max": max(samples),
        "iqr": float(high - low),
    }


def paired_ratio(ours: Sequence[float], theirs: Sequence[float], seed: int = 0) -> dict[str, float]:
    """How many times faster ``ours`` is than ``theirs``, repetition by repetition.

    Args:
        ours: Seconds per repetition.
        theirs: Seconds of the other contender in the same repetitions.
        seed: Seed of the bootstrap.

    Returns:
        The median of the paired ratios ``theirs / ours`` and its 95 % bootstrap interval.

    >>> paired_ratio([1.0, 2.0], [2.0, 4.0])
    {'median': 2.0, 'low': 2.0, 'high': 2.0}
    """
    ratios = np.asarray(theirs) / np.asarray(ours)
    picks = np.random.default_rng(seed).integers(0, len(ratios), (_RESAMPLES, len(ratios)))
    low, high = np.percentile(np.median(ratios[picks], axis=1), [2.5, 97.5])
    return {"median": float(np.median(ratios)), "low": float(low), "high": float(high)}

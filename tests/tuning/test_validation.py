"""Strategies against their definitions."""

import numpy as np
import pytest

from tilewright.costs.arrays import TileSizes
from tilewright.tuning.validation import MeasuredSpace, compare


def _space():
    time = np.array([4, 4, 8, 8, 16])
    base, width = np.array([1, 1, 2, 2, 8]), np.array([32, 32, 64, 64, 128])
    return MeasuredSpace(
        sizes=TileSizes(time=time, space=(base, width), k=np.zeros(5, dtype=np.int64)),
        threads=(np.array([1, 1, 2, 1, 1]), np.array([32, 16, 32, 64, 64])),
        predicted=np.array([1.0, 5.0, 1.05, 2.0, 3.0]),
        measured=np.array([4.0, 3.0, 2.0, 8.0, 1.0]),
        footprint=np.array([10, 10, 20, 20, 60]),
        face=np.array([1, 1, 5, 5, 90]),
        limit=48,
    )


def test_strategies_by_hand():
    found = {each.name: each for each in compare(_space())}
    assert found["model minimum"].fraction == 0.25
    assert (
        found["within 10 % of the model's minimum"].fraction,
        found["within 10 % of the model's minimum"].tries,
    ) == (
        0.5,
        2,
    )
    assert (found["exhaustive"].fraction, found["exhaustive"].tries) == (1.0, 5)
    assert (found["largest footprint"].fraction, found["largest footprint"].tries) == (0.5, 2)
    assert found["half capacity"].fraction == 0.5
    assert found["largest hexagon face"].fraction == 0.5
    assert found["baseline"].tries == 4
    assert found["random"].fraction == pytest.approx(np.mean([1 / 4, 1 / 3, 1 / 2, 1 / 8, 1]))

"""What a measurement says of its samples."""

import math
import statistics
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.records import Measurement, Outcome


@given(st.lists(st.floats(min_value=1e-9, max_value=1e6), min_size=1, max_size=9))
def test_the_median_is_that_of_statistics_in_any_order(samples):
    assert Measurement(seconds=tuple(samples)).median == statistics.median(samples)


def test_without_samples_the_median_is_no_number():
    assert math.isnan(Measurement(outcome=Outcome.CRASH, detail="signal 11").median)


def test_outcomes_are_kept_as_words():
    assert [Outcome(word) for word in ("ok", "illegal", "timeout")] == [Outcome.OK, Outcome.ILLEGAL, Outcome.TIMEOUT]
    with pytest.raises(ValueError, match="soon"):
        Outcome("soon")


def test_measurements_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Measurement().seconds = (1.0,)

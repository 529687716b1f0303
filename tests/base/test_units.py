import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.errors import UsageError
from tilewright.base.units import (
    format_seconds,
    format_shape,
    parse_bytes,
    parse_seconds,
    parse_shape,
    real_number,
)


@given(st.lists(st.integers(1, 2**48), min_size=1, max_size=4))
def test_a_shape_is_read_as_it_is_written(shape):
    assert parse_shape(format_shape(tuple(shape))) == tuple(shape)


def test_what_is_no_shape_is_refused():
    for text in ["", "x", "4x", "4x-1", "0x4", "4.0x4", "4 x 4", "²", "1" * 40, "4x4\n5", "0x10000"]:
        with pytest.raises(UsageError):
            parse_shape(text)


@pytest.mark.parametrize(("text", "seconds"), [("10ms", 0.01), ("2", 2.0), ("1.5h", 5400.0), ("3e-3 s", 0.003)])
def test_durations(text, seconds):
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "ms", "-1s", "1 day", "inf", "nan"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(UsageError):
        parse_seconds(text)


@given(st.floats(1e-12, 1e6))
def test_a_written_duration_reads_back_to_three_digits(seconds):
    assert parse_seconds(format_seconds(seconds)) == pytest.approx(seconds, rel=6e-3)


def test_what_is_no_positive_number_is_one_sentence():
    for value in [None, "3", True, -1, float("nan"), float("inf"), 1j, [], np.array([1.0, 2.0])]:
        with pytest.raises(UsageError, match="a time is positive, got"):
            real_number(value, "a time")


def test_real_numbers_of_any_type():
    assert real_number(np.float32(2.5), "a time") == 2.5
    assert real_number(0, "a time", zero=True) == 0.0
    with pytest.raises(UsageError, match="a time is positive"):
        real_number(0, "a time")


@pytest.mark.parametrize("text", ["9" * 400, "1e9", "0 B", "-1", "99999999999 TiB"])
def test_sizes_that_nothing_has(text):
    with pytest.raises(UsageError, match="a size is a number of bytes"):
        parse_bytes(text)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.errors import UsageError
from tilewright.base.units import (
    format_seconds,
    format_shape,
    parse_seconds,
    parse_shape,
)


@given(st.lists(st.integers(1, 2**48), min_size=1, max_size=4))
def test_a_shape_is_read_as_it_is_written(shape):
    assert parse_shape(format_shape(tuple(shape))) == tuple(shape)


@pytest.mark.parametrize("text", ["", "x", "4x", "4x-1", "0x4", "4.0x4", "4 x 4", "²", "1" * 40, "4x4\n5", "0x10000"])
def test_what_is_no_shape_is_refused(text):
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

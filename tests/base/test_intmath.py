"""Whole-number division that rounds up."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.intmath import ceil_div, round_up

POSITIVE = st.integers(min_value=1, max_value=10**30)


@given(st.integers(), POSITIVE)
def test_ceil_div_rounds_up_exactly_whatever_the_size(numerator, denominator):
    assert ceil_div(numerator, denominator) == math.ceil(Fraction(numerator, denominator))


@given(st.integers(), POSITIVE)
def test_round_up_is_the_least_multiple_that_is_not_below(value, multiple):
    found = round_up(value, multiple)
    assert found % multiple == 0
    assert 0 <= found - value < multiple

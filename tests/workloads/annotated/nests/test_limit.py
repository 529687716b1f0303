"""A limit ends the work that looks at it, and no other."""

import pytest

from tilewright.workloads.annotated.nests.limit import TimeUpError, check_time, limited


def test_work_without_a_limit_goes_on():
    check_time()


def test_work_ends_with_the_innermost_limit():
    left = [1.0]
    with limited(lambda: 5.0):
        with limited(lambda: left[0]):
            check_time()
            left[0] = 0.0
            with pytest.raises(TimeUpError, match="the time was over"):
                check_time()
        check_time()
    check_time()

"""Fields that live at the ends of an axis: their cells, shapes and errors."""

import numpy as np
import pytest

from tilewright.base.errors import ArrayError, UsageError
from tilewright.programs.stencil.storage import Subdomain


@pytest.mark.parametrize(("low", "high", "extent"), [(2, 3, 9), (0, 4, 9), (5, 0, 9), (4, 4, 6), (7, 7, 3)])
def test_what_is_cut_is_spread_again(low, high, extent):
    part, whole = Subdomain(1, low, high), np.arange(4.0 * extent).reshape(4, extent) + 1
    kept = part.cut(whole)
    assert kept.shape == part.shape(whole.shape) == (4, min(extent, low + high))
    places = np.arange(extent)
    inside = (places < low) | (places >= extent - high)
    np.testing.assert_array_equal(part.spread(kept, whole.shape), np.where(inside, whole, 0))


def test_cells_and_shapes_that_cannot_be_are_refused():
    with pytest.raises(UsageError, match="a subdomain has cells at an end of its axis, got 0 and 0"):
        Subdomain(0, 0, 0)
    with pytest.raises(ArrayError, match="'q' lives in 2 and 3 cells at the ends of axis 0"):
        Subdomain(0, 2, 3).check(np.zeros((9, 4)), (9, 4), "q")

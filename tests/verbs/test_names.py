"""Names that are nearly right: what was meant is said."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError


@tw.stencil
def heat(u, alpha):
    return u[0] + alpha * (u[-1] + u[1] - 2 * u[0])


U = np.ones(8, dtype=np.float32)


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ({"bondary": "wrap", "alpha": 0.1}, "did you mean boundary"),
        ({"alhpa": 0.1}, "did you mean alpha"),
        ({"bnd": "wrap", "alpha": 0.1}, "did you mean boundary\\?"),
        ({"qqq": 1, "alpha": 0.1}, "its scalars are alpha"),
        ({"u": U, "alpha": 0.1}, "it is a field"),
    ],
)
def test_a_name_that_is_no_scalar_has_a_hint(names, hint):
    with pytest.raises(UsageError, match=hint):
        tw.run(heat, U, steps=1, **names)


def test_tune_hints_as_well():
    with pytest.raises(UsageError, match="did you mean boundary"):
        tw.tune(heat, shape=(8,), steps=1, effort="none", bondary="wrap")


def test_none_is_no_array():
    with pytest.raises(ArrayError, match="'u' is None"):
        tw.run(heat, None, steps=1, alpha=0.1)


@pytest.mark.parametrize("place", ["u.npy", "nowhere/u.npy"])
def test_where_no_file_can_be_is_said_before_anything_is_computed(place, tmp_path):
    from tilewright.runtime.formats.files import check_output

    (tmp_path / "u.npy").mkdir()
    with pytest.raises(UsageError, match=r"is a folder, where a file|there is no folder"):
        check_output(tmp_path / place)


def test_a_folder_is_no_file_to_read(tmp_path):
    from tilewright.runtime.formats.files import read_planes

    (tmp_path / "u.npy").mkdir()
    with pytest.raises(ArrayError, match="is a folder, where a file is to be read"):
        read_planes(tmp_path / "u.npy")

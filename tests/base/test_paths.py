import pytest

from tilewright.base.errors import UsageError
from tilewright.base.paths import as_path


@pytest.mark.parametrize("given", [None, 3, b"x", "", "a\0b", "x" * 5000, ["a"]])
def test_what_is_no_path_is_one_sentence(given):
    with pytest.raises(UsageError, match="the result is a path, got"):
        as_path(given, "the result")


def test_a_path_may_be_of_anything_that_is_there_or_not(tmp_path):
    assert as_path(tmp_path, "a folder") == tmp_path
    assert as_path(str(tmp_path / "none" / "u.npy"), "a file") == tmp_path / "none" / "u.npy"

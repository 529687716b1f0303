"""Hints at names that are nearly right."""

import pytest

from tilewright.base.names import meant

NAMES = ("heat2d", "heat3d", "wave2d", "jacobi2d")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("het2d", "did you mean heat2d?"),
        ("jacobi", "did you mean jacobi2d?"),  # its consonants begin those of one name
        ("wave2", "did you mean wave2d?"),
        ("WV2D", "did you mean wave2d?"),
    ],
)
def test_what_is_alike_is_meant(name, hint):
    assert meant(name, NAMES) == hint


def test_nothing_alike_says_the_other_sentence():
    assert meant("qqq", NAMES) == ""
    assert meant("qqq", NAMES, "`tilewright programs` lists them") == "`tilewright programs` lists them"
    assert meant("heat2d", ()) == ""


def test_known_names_may_be_an_iterator():
    assert meant("het2d", iter(NAMES)) == "did you mean heat2d?"


def test_at_most_three_are_named():
    many = [f"heat{number}d" for number in range(9)]
    assert meant("heat", many).count(" or ") == 2

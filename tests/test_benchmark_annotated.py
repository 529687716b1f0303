"""The benchmark of annotated files: a row whose time did not suffice is measured again, with twice as much."""

import sys
from pathlib import Path

import pytest

import tilewright as tw

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def annotated(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    import annotated

    yield annotated
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


class Tuned:
    """What a tuning found, by the seconds that it was given."""

    def __init__(self, rounds, notes=()):
        self.size = {"rounds": rounds, "notes": list(notes)}

    def to_dict(self):
        return {"regions": [{"results": [self.size]}]}


def _over():
    raise tw.UsageError("the time was over before the original body was built and run", "give more --seconds")


def _tune(monkeypatch, annotated, *found):
    """Let the tunings return these, in turn; the seconds they are given."""
    given, left = [], list(found)

    def annotate(_file, *, seconds, **_):
        given.append(seconds)
        one = left.pop(0)
        return one() if callable(one) else one

    monkeypatch.setattr(annotated.tw, "annotate", annotate)
    return given


@pytest.mark.parametrize(
    "first",
    [
        Tuned(0),
        Tuned(1),
        Tuned(3, ["an iterated stencil, but its kernel did not run: the time was over"]),
        _over,
    ],
    ids=["apart", "one round", "a kernel left out", "nothing"],
)
def test_too_short_a_time_is_doubled(annotated, monkeypatch, capsys, first):
    good = Tuned(3, ["what was left out"])
    given = _tune(monkeypatch, annotated, first, good)
    assert annotated.enough("2mm", 8.0) == (good.size, 16.0)
    assert given == [8.0, 16.0]
    assert "2mm: 8 s do not suffice" in capsys.readouterr().err


def test_it_ends_where_no_time_suffices_and_where_a_file_is_refused(annotated, monkeypatch):
    given = _tune(monkeypatch, annotated, *[Tuned(2)] * 9)
    with pytest.raises(SystemExit, match="2mm: not measured"):
        annotated.enough("2mm", 1.0)
    assert given == [2.0**each for each in range(annotated.DOUBLINGS + 1)]

    def refused():
        raise tw.UsageError("the file has no annotated region")

    _tune(monkeypatch, annotated, refused)
    with pytest.raises(tw.UsageError, match="no annotated region"):
        annotated.enough("2mm", 1.0)


def test_a_region_that_is_tuned_in_time_says_its_rounds(annotated):
    result = tw.annotate(annotated.EXAMPLES / "vec_maxpy.c", runs=2, seconds=300, repeats=1)
    (size,) = result.to_dict()["regions"][0]["results"]
    assert size["rounds"] >= annotated.ROUNDS
    assert not any("timed in turn" in note for note in size["notes"])

"""What a measurement says of its samples, and a record as a document, a text and a page."""

import math
import statistics
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.records import Measurement, Outcome, Record
from tilewright.base.tables import Table


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Point(Record):
    shape: tuple[int, ...]
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result(Record):
    KEYS = "name *=point points outcome=outcomes.first twice seconds=point.shape"

    name: str
    point: Point
    points: tuple[Point, ...]

    @property
    def outcomes(self):
        return SimpleNamespace(first=Outcome.OK)

    def twice(self) -> float:
        return 2.0

    def shown(self):
        return Table(("tiling", ">n"), tuple((f"<{n}>", str(n)) for n in range(30)), self.name), "two\nlines", "one"


def test_a_record_is_a_document_a_text_and_a_page():
    point = Point(shape=(2, 3), file=Path("a.npy"))
    one = Result(name="it", point=point, points=(point,))
    plain = {"shape": [2, 3], "file": "a.npy"}
    assert point.to_dict() == plain
    assert one.to_dict() == {
        "name": "it", **plain, "points": [plain], "outcome": "ok", "twice": 2.0, "seconds": [2, 3],
    }  # fmt: skip
    assert str(point) == repr(point) == "shape  [2, 3]\nfile   a.npy"
    assert str(one).splitlines()[:3] == ["it", "tiling   n", "------  --"]
    page = one._repr_html_()
    assert '<code>&lt;19&gt;</code></td><td class="n">19</td>' in page
    assert "… and 10 more" in page
    assert "<pre>two\nlines</pre><p>one</p>" in page
    assert hash(point) == hash(Point(shape=(2, 3), file=Path("a.npy")))

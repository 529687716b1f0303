"""The transcript of README: a step that does not end is a failed step, and the transcript goes on."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def first_minutes(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    import first_minutes

    yield first_minutes
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_step_beyond_the_limit_has_failed_and_says_so(first_minutes, tmp_path):
    place = first_minutes.Place(tmp_path, tmp_path / "no.whl", limit=0.2)
    late = place.do(first_minutes.Step(shown="sleep 60", words=("sleep", "60")))
    assert not late.passed
    assert late.said == "error: stopped after 0.2 s, the limit of a step (--limit)"


def test_a_step_within_the_limit_is_told_by_its_last_line(first_minutes, tmp_path):
    place = first_minutes.Place(tmp_path, tmp_path / "no.whl")
    done = place.do(first_minutes.Step(shown="echo", words=("sh", "-c", "echo first; echo last")))
    assert done.passed
    assert done.said == "last"

"""The page of where things are: what it names is there, and no package is missing from it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "layout.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "tilewright"


def test_every_file_and_folder_that_is_named_is_there():
    named = re.findall(r"`((?:src|tests|benchmarks|reproduce|examples)(?:/[\w./]+)?)`", PAGE)
    assert len(named) > 30
    assert not [each for each in named if not (ROOT / each).exists()]


def test_every_layer_has_a_row():
    rows = set(re.findall(r"`([\w./]+)`", "".join(line for line in PAGE.splitlines() if line.startswith("| `"))))
    layers = {str(path.parent.relative_to(ROOT)) for path in PACKAGE.glob("*/__init__.py")}
    alone = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert layers <= rows
    assert alone <= rows


def test_twelve_questions_are_answered_by_a_path():
    questions = re.split(r"^\d+\. ", PAGE, flags=re.MULTILINE)[1:]
    assert len(questions) == 12
    assert all(re.search(r"`(?:src|tests|benchmarks|reproduce)/[\w./]+`", each) for each in questions)


def test_the_ten_files_for_a_weekend_are_as_long_as_said_and_hold_what_is_to_see():
    rows = re.findall(r"^\| (\d+) \| `(src/[\w/]+\.py)` \| (\d+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 11))
    lengths = []
    for _, file, said, sentence in rows:
        text = (ROOT / file).read_text(encoding="utf-8")
        lengths.append(len(text.splitlines()))
        assert lengths[-1] == pytest.approx(int(said), rel=0.2), file
        names = re.findall(r"`(\w+)`", sentence)
        assert names, file
        assert all(re.search(rf"^ *(?:def|class) {name}\b", text, flags=re.MULTILINE) for name in names), file
    assert sum(lengths) == pytest.approx(2500, rel=0.1)
    assert "some 2,500 lines" in PAGE

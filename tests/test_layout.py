"""The page of where things are: what it names is there, and no package is missing from it."""

import re
from pathlib import Path

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

"""The page on reliability names its tests; they exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = 15


def test_every_row_names_tests_that_exist():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|.*\|(.*)\|$", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, ROWS + 1))
    for number, names in rows:
        file = ""
        found = re.findall(r"`([^`]*)::(\w+)`", names)
        assert len(found) == names.count("`") // 2 > 0, number
        for named, test in found:
            file = named or file
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"

"""The page of the twelve problem forms: every call on it runs."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "problems.md").read_text(encoding="utf-8")


def test_every_problem_has_a_call_that_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    sections = re.split(r"^### (?=\d+\. )", PAGE, flags=re.MULTILINE)[1:]
    assert [int(section.partition(".")[0]) for section in sections] == list(range(1, 13))
    assert all("```python" in section for section in sections)
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks:
        exec(compile(block, "docs/problems.md", "exec"), names)  # noqa: S102  (our own documentation)
    assert {"fastest", "winner", "trade_off", "chip"} <= set(names)

"""Generated texts as files that a person can read, one per thing that texts may hold.

After a change that is meant, look at the differences, then write the files anew:
``pytest tests/golden --update-golden``. What is too long for them, or too much, is held by the digests of
``tests/laws/test_recorded_texts.py``.
"""

import cProfile
import functools
from pathlib import Path
from types import CodeType

import pytest

import tilewright.codegen

from . import (
    cases_boundaries,
    cases_loops,
    cases_prelude,
    cases_products,
    cases_programs,
    cases_sums,
    cases_tilings,
)
from .shown import FOLDER, Case, shown

CASES = (
    *cases_prelude.CASES,
    *cases_tilings.CASES,
    *cases_boundaries.CASES,
    *cases_sums.CASES,
    *cases_programs.CASES,
    *cases_products.CASES,
    *cases_loops.CASES,
)
LONGEST = 370
"""Lines that a person may be asked to read."""
ROOM = Path(tilewright.codegen.__file__).parent
ONE_TEXT = {"gpu/jacobi1d_none"}
"""Cases that show that two languages share a text."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_the_text_is_the_golden_file(case, golden):
    text = written(case)
    assert text.count("\n") <= LONGEST
    golden(case.file, text)


def test_every_file_has_one_case():
    files = [case.file for case in CASES]
    assert not {file for file in files if files.count(file) > 1}, "two cases write one file"
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    own = {file for file in found if not file.startswith("commands/")}  # those are of tests/cli/test_output.py
    stale = sorted(file for file in own if not file.endswith((".py", ".pyc")) and file not in files)
    assert not stale, f"no case writes {stale}: delete {'it' if len(stale) == 1 else 'them'} or name a case"


def test_no_two_files_show_the_same():
    """A case whose text is another's shows nothing."""
    texts: dict[str, list[str]] = {}
    for case in CASES:
        texts.setdefault(written(case).partition("*/\n\n")[2], []).append(case.file)
    same = [files for files in texts.values() if len({file.partition(".")[0] for file in files} - ONE_TEXT) > 1]
    assert same == []


def test_every_module_that_writes_text_is_at_work_in_some_file():
    with cProfile.Profile() as profile:
        for case in CASES:
            case.write()
    called = (entry.code for entry in profile.getstats())
    modules = {Path(code.co_filename) for code in called if isinstance(code, CodeType)}
    rooms = (path for path in ROOM.rglob("*.py") if path.parent.name not in {"ir", "print"})
    files = {path.relative_to(ROOM).as_posix() for path in rooms if path.name != "__init__.py"}
    assert files <= {path.relative_to(ROOM).as_posix() for path in modules if path.is_relative_to(ROOM)}


@functools.cache
def written(case: Case) -> str:
    """What its file holds."""
    return shown(case)

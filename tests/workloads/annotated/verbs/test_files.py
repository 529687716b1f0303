"""Files in the style of the original tool's users: every one is read, tuned, and computes what its old body does."""

from pathlib import Path

import pytest

from tilewright.workloads.annotated.verbs.annotate import annotate

FOLDER = Path(__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.c") if not path.stem.endswith("_init"))
OFTEN = {
    "adi",
    "axpy4",
    "bratu3d_function",
    "correlation",
    "device_declarations",
    "gemver",
    "missing_semicolons",
    "nested_loop_regions",
    "trailing_blanks",
    "unknown_parameter",
}
"""Those with something of their own; the others run with ``-m stress``."""
NOTES = {
    "missing_semicolons": "ends without a semicolon",
    "unknown_parameter": "uses @CFLAGS, which is no parameter",
    "nested_loop_regions": "is inside the region's old body",
}


def test_there_are_files():
    assert len(FILES) >= 18


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.stress) for name in FILES]
)
def test_users_files_go_through(name):
    result = annotate(FOLDER / f"{name}.c", runs=1, seconds=300, repeats=1, search="Randomsearch", seed=2)
    for site in result.to_dict()["regions"]:
        assert NOTES.get(name, "") in " ".join(site["notes"])
        for size in site["results"]:
            assert size["outcomes"] == {"ok": 1}, size["failures"]
            assert size["validated"]
            assert size["finite"]

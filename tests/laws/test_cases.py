"""The law of everything: whatever is asked of a run together with whatever else, it gives what NumPy computes.

Every two values of two dimensions of :class:`tests.laws.case.Case` are in one of the cases; what cannot be together is
refused in its sentence. The stress run draws cases at random, and has every family, element type and boundary.
``TILEWRIGHT_LAWS_DRAW=3`` draws others.
"""

import contextlib
import io
import itertools
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tests.distributed.in_threads import threaded_mpi  # noqa: F401  (a fixture)

from tilewright.runtime.devices import opencl
from tilewright.tuning import choice

from . import case_run
from .case import DIMENSIONS, Case, drawn, every_pair, refused
from .case_run import difference, expected, flat, judge, outcome, script, shrunk
from .generator import DRAW
from .harness import tools

EVERY_PAIR = every_pair()
INTERPRETED = 10
"""Cases of the interpreter of GPU kernels, which is slow, in a default run."""
ON_DEVICES = [
    Case(
        program=program,
        family=family,
        tile=1,
        boundary=boundary,
        result=result,
        coefficient="per step",
        target="opencl",
    )
    for program, family, boundary, result in [
        ("line", "hexagonal", "nearest", "newest"),
        ("places", "none", "fixed", "looks"),
        ("places", "hybrid", "wrap", "newest"),
        ("places", "diamond", "nearest", "newest"),
        ("places", "streaming", "nearest", "newest"),
        ("cube", "hybrid", "fixed", "newest"),
        ("cube", "skewed", "nearest", "newest"),
        ("wave", "none", "mirror", "parts"),
        ("wave", "hybrid", "fixed", "parts"),
        ("wave", "streaming", "wrap", "parts"),
        ("wave", "skewed", "mirror", "parts"),
        ("wave", "auto", "wrap", "levels"),
    ]
]
ON_DEVICES.append(replace(ON_DEVICES[0], program="cube", family="streaming", tile=0))
"""Every family in the interpreter, in a default run."""
COMPILED = ("family", "dtype", "boundary")
"""What decides most of a kernel's text: every two values of these are compiled as users compile."""
MANY = 60
"""Random cases per chunk of the stress run."""
CHUNKS = 10
SEED = 56_000 + DRAW

pytestmark = [
    pytest.mark.skipif(tools() is None, reason="no C compiler"),
    pytest.mark.usefixtures("threaded_mpi", "private_folders"),
    pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning"),
]


@pytest.fixture(autouse=True)
def _other_libraries() -> None:
    for name in ("dask", "zarr", "ml_dtypes", "xarray"):
        pytest.importorskip(name)
    opencl.prepare_oclgrind()


@pytest.fixture(autouse=True)
def _computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps on small grids would not pay for what is computed of coefficients before the first one."""
    monkeypatch.setattr(choice, "_seconds_once", lambda *_: 0.0)


def every_pair_marked() -> list[object]:
    """The cases as parameters: the first with two values that decide most are optimised, slow ones are for stress."""
    seen: set[tuple[object, ...]] = set()
    interpreted, found = 0, []
    for case in EVERY_PAIR:
        pairs = {(*pair, *(getattr(case, name) for name in pair)) for pair in itertools.combinations(COMPILED, 2)}
        marks = [pytest.mark.optimised] if case.target == "c" and pairs - seen else []
        seen |= pairs if case.target == "c" else set()
        interpreted += case.target == "opencl"
        marks += [pytest.mark.stress] if case.target == "opencl" and interpreted > INTERPRETED else []
        found.append(pytest.param(case, id=case.name, marks=marks))
    return found


@pytest.mark.parametrize("case", every_pair_marked())
def test_every_two_values_together_give_what_numpy_computes(case: Case, tmp_path: Path) -> None:
    judge(case, tmp_path)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ON_DEVICES])
def test_every_family_on_a_device_gives_what_numpy_computes(case: Case, tmp_path: Path) -> None:
    judge(case, tmp_path)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in refused()])
def test_what_cannot_be_together_is_refused_in_its_sentence(case: Case, tmp_path: Path) -> None:
    assert not outcome(case, tmp_path)


def test_every_two_values_that_a_run_can_have_are_in_a_case() -> None:
    def pairs(case: Case) -> set[tuple[object, ...]]:
        return {(*pair, *(getattr(case, name) for name in pair)) for pair in itertools.combinations(DIMENSIONS, 2)}

    there = set().union(*map(pairs, EVERY_PAIR))
    assert not set().union(*map(pairs, drawn(SEED, 300))) - there
    assert tuple(DIMENSIONS) == tuple(each.name for each in fields(Case))


def test_a_case_that_fails_is_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(case: Case, _: Path) -> str:
        return "wrong" if case.boundary == "wrap" and case.points != "none" else ""

    monkeypatch.setattr(case_run, "outcome", failing)
    found, text = shrunk(
        Case(program="wave", boundary="wrap", points="cells", threads=3, result="levels", strict=True), tmp_path
    )
    assert (found, text) == (Case(boundary="wrap", points="cells"), "wrong")


@pytest.mark.parametrize("engine", ["memory", "disk", "dask"])
def test_a_reproduction_is_a_script_of_its_own(engine: str) -> None:
    case = Case(program="pair", engine=engine, result="parts", boundary="mirror", family="skewed")
    names: dict[str, object] = {"__name__": "pasted"}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(script(case), names)  # noqa: S102
    assert said.getvalue()
    assert not difference(case, [*flat(names["found"])], expected(case, names))


def test_a_wrong_cell_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = case_run.expected

    def wrong(case: Case, names: dict[str, object]) -> list[np.ndarray]:
        first, *others = right(case, names)
        first[3, 4] = np.nextafter(first[3, 4], 0) if case.strict else first[3, 4] + 1e-12
        return [first, *others]

    monkeypatch.setattr(case_run, "expected", wrong)
    for strict in (False, True):
        with pytest.raises(AssertionError, match=r"first at \(3, 4\)(.|\n)*def plane\(u, a, b\)"):
            judge(Case(boundary="nearest", strict=strict), tmp_path)


@pytest.mark.stress
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_random_cases(chunk: int, tmp_path: Path, tally: Callable[[str], None]) -> None:
    for case in drawn(SEED + chunk, MANY):
        judge(case, tmp_path)
    tally(f"cases, chunk {chunk}: {MANY} random ones, 0 wrong")


@pytest.mark.stress
@pytest.mark.parametrize(("family", "dtype"), [*itertools.product(DIMENSIONS["family"], DIMENSIONS["dtype"])])
def test_every_family_element_type_and_boundary(family: str, dtype: str, tmp_path: Path) -> None:
    program = "line" if family == "hexagonal" else "plane"
    for boundary, strict in itertools.product(DIMENSIONS["boundary"], (False, True)):
        judge(replace(Case(), program=program, family=family, dtype=dtype, boundary=boundary, strict=strict), tmp_path)

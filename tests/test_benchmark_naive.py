"""The benchmarks' naive C: right for every boundary, judged rightly, and a record of sizes that is gone on with."""

import argparse
import itertools
import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.programs.stencil import catalogue, reference
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.toolchains.cpu import toolchain

FOLDER = Path(__file__).parents[1] / "benchmarks"
SHAPES = {1: (37,), 2: (9, 21), 3: (7, 6, 19)}
KINDS = ("fixed", "constant:0.5", "nearest", "reflect", "mirror", "wrap")
MIXED = {
    1: (("mirror", "constant:0.25"),),
    2: (("reflect", "constant:0.25"), "wrap"),
    3: ("wrap", ("constant:0.25", "mirror"), ("nearest", "fixed")),
}


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("CC", toolchain().command[0])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def ran(problem, threads=2):
    """What naive C and the reference make of a problem on random data, by field."""
    from case import Case, initial
    from rivals.naive_c import StrictC

    case = Case(
        program=problem.program.name, shape=problem.shape, steps=problem.steps, dtype="float64", threads=threads
    )
    data = initial(case)
    code = StrictC(case, problem, data)
    code.prepare()
    code.run()
    code.run()  # the buffers are filled again
    return {field: array.copy() for field, array in code.result().items()}, reference.run(problem, data, {})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *covering(("star1d2r", "star2d2r", "j3d7pt"), KINDS),
        *covering(("fdtd2d", "wave2d"), ("wrap", "mirror")),
        *itertools.product(("star1d4r", "box2d1r", "fdtd2d", "heat2d_var", "box3d1r"), ("mixed",)),
    ],
)
def test_naive_c_computes_what_the_reference_computes(name, kind):
    known = catalogue.program(name)
    boundary = MIXED[known.rank] if kind == "mixed" else kind
    problem = make_problem(known, SHAPES[known.rank], 7, "float64", boundary)
    found, exact = ran(problem)
    assert set(found) == set(exact)
    for field, values in exact.items():
        np.testing.assert_allclose(found[field], values, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("name", "shape"), [("star2d4r", (3, 2)), ("star3d2r", (2, 3, 1)), ("star1d4r", (1,))])
@pytest.mark.parametrize("kind", ["reflect", "wrap"])
def test_grids_smaller_than_the_reach_repeat_themselves(name, shape, kind):
    problem = make_problem(catalogue.program(name), shape, 4, "float64", kind)
    found, exact = ran(problem, threads=3)
    np.testing.assert_allclose(found["u"], exact["u"], rtol=1e-13, atol=1e-14)


def test_boundaries_may_differ_between_fields():
    boundary = {"ex": "wrap", "ey": ("nearest", "constant:0.5"), "hz": "mirror"}
    problem = make_problem(catalogue.program("fdtd2d"), (8, 11), 6, "float64", boundary)
    found, exact = ran(problem)
    for field, values in exact.items():
        np.testing.assert_allclose(found[field], values, rtol=1e-13, atol=1e-14)


def test_the_faster_of_both_forms_runs_the_case():
    from case import Case, initial
    from rivals.naive_c import FLAGS, NaiveFaster

    case = Case(program="j2d5pt", shape=(33, 40), steps=9, boundary="reflect", threads=2)
    code = NaiveFaster(case)
    code.prepare()
    code.choose()
    assert code.flags[: len(FLAGS)] == FLAGS
    code.run()
    exact = reference.run(case.problem(), initial(case), {})
    np.testing.assert_allclose(code.result()["u"], exact["u"], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [
        ("fdtd2d", (120, 90), "wrap"),
        ("gradient2d", (120, 90), "fixed"),
        ("j3d7pt", (40, 30, 36), "reflect"),
        ("wave2d", (120, 90), "constant:0.5"),
    ],
)
def test_blocks_agree_with_the_whole_reference(name, shape, kind, monkeypatch):
    import verify
    from case import Case

    monkeypatch.setattr(verify, "_BLOCK", {2: 20, 3: 8})
    case = Case(program=name, shape=shape, steps=3, boundary=kind, threads=2)
    judge, words = verify.judge(case, seconds=0.0)
    assert "3 blocks" in words
    exact, allowed = verify.reference(case)
    for block, (values, most) in zip(judge.blocks, judge._known, strict=True):
        for field in exact:
            np.testing.assert_array_equal(values[field][block.centre], exact[field][block.inside])
            np.testing.assert_allclose(most[field][block.centre], allowed[field][block.inside], rtol=0.9)
    rounded = {field: values.astype(np.float32) for field, values in exact.items()}
    assert judge(rounded)[1]
    assert judge({field: values.copy() for field, values in rounded.items()})[1]
    first = next(iter(rounded))
    for cell in ((0,) * len(shape), tuple(extent // 3 for extent in shape)):  # in a block, and in none
        wrong = {field: values.copy() for field, values in rounded.items()}
        wrong[first][cell] += 0.05
        assert not judge(wrong)[1]
        wrong[first][cell] = np.nan
        assert not judge(wrong)[1]


def test_large_blocks_are_not_sampled():
    import verify
    from case import Case

    judge, words = verify.judge(Case(program="j2d5pt", shape=(60, 60), steps=50, threads=2), seconds=0.0)
    assert words == "every cell by float64 C"
    assert not isinstance(judge, verify.Sampled)


@pytest.fixture
def sizes(monkeypatch):
    """The benchmark, with cases that take a second of its clock each and measure nothing."""
    import sizes

    clock = itertools.count()
    ratio = {"median": 2.0, "low": 1.9, "high": 2.1}
    slow = {"median": 0.8, "low": 0.7, "high": 0.9}

    def measured(case, _):
        next(clock)
        won = case.program != "heat2d"
        return {
            **case.to_dict(), "tiling": "none", "gcells_per_second": 2.0, "naive_gcells_per_second": 1.0,
            "against_naive": ratio if won else slow, "not_slower": won, "case_seconds": 1.0,
        }  # fmt: skip

    monkeypatch.setattr(sizes, "time", types.SimpleNamespace(monotonic=lambda: float(next(clock))))
    monkeypatch.setattr(sizes, "measured", measured)
    return sizes


def test_a_record_of_sizes_is_gone_on_with(sizes, tmp_path, capsys):
    output = ["--output", str(tmp_path / "record.json"), "--boundary", "wrap", "fixed"]
    some = ["--programs", "j2d5pt", "j3d7pt", *output, "--sizes", "16", "8"]
    assert sizes.main([*some, "--seconds", "3"]) == 1
    assert "goes on from here" in capsys.readouterr().err
    assert sizes.main([*some, "--list"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert sizes.main(some) == 0
    capsys.readouterr()
    assert sizes.main([*some, "--list"]) == 0
    document = json.loads((tmp_path / "record.json").read_text())
    cases = {(one["program"], one["shape"][0], one["boundary"]) for one in document["cases"]}
    assert cases == set(itertools.product(("j2d5pt", "j3d7pt"), (8, 16), ("wrap", "fixed")))
    assert str(tmp_path) not in document["command"]
    assert sizes.main([*output, "--programs", "heat2d", "--sizes", "8"]) == 1
    assert "slower than naive C: heat2d" in capsys.readouterr().out
    assert sizes.main([*output, "--programs", "heat2d", "--sizes", "8", "--again", "--list"]) == 1
    assert "heat2d (8, 8) wrap" in capsys.readouterr().out
    assert sizes.main([*output, "--table"]) == 0
    assert "| j2d5pt | 2.0 (2.0) | 2.0 (2.0) |" in capsys.readouterr().out


def test_cases_that_memory_does_not_hold_wait(sizes, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sizes, "available_bytes", lambda: 10**6)
    output = ["--output", str(tmp_path / "record.json")]
    assert sizes.main([*output, "--programs", "j2d5pt", "--sizes", "64", "1024"]) == 1
    shown = capsys.readouterr()
    assert "1 cases" in shown.out
    assert "j2d5pt (1024, 1024): needs" in shown.err


def test_every_program_is_asked_or_has_a_note(sizes):
    cases = sizes.wanted(sizes.arguments([]))
    assert {case.program for case in cases} | set(sizes.NOT_ASKED) == set(catalogue.names())
    assert all(sizes.LEAST_STEPS <= case.steps <= sizes.MOST_STEPS for case in cases)
    assert isinstance(sizes.arguments([]), argparse.Namespace)
    assert replace(cases[0], boundary="wrap").problem().boundaries != cases[0].problem().boundaries

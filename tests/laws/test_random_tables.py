"""The law for recurrences: tiled = untiled = the NumPy reference, whatever reads, semiring, type and sizes.

On GPUs the same recurrences run under Oclgrind, which reports races and accesses out of bounds.

``TILEWRIGHT_LAWS_SEED`` replaces the seed; a failure prints the seed and the case.
"""

import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.programs.stencil.expression import Scalar, Value, apply
from tilewright.programs.stencil.program import FieldBuilder
from tilewright.runtime.devices import opencl
from tilewright.workloads.tables.fill import fill, filling
from tilewright.workloads.tables.lower import cpu as codegen
from tilewright.workloads.tables.lower import gpu as gpu_table
from tilewright.workloads.tables.problem import COLUMN, ROW, lookup, recurrence
from tilewright.workloads.tables.schedule import TableShape

from .harness import tools

SEED = int(os.environ.get("TILEWRIGHT_LAWS_SEED", "20260"))
CASES, GPU_CASES, GUARDED_CASES = 24, 10, 12

compiled = pytest.mark.skipif(tools() is None, reason="no C compiler")


def _offset(draw, reach):
    while True:
        offset = (-draw.randint(0, reach[0]), -draw.randint(0, reach[1]))
        if any(offset):
            return offset


def _times(draw, semiring, value, extra):
    return value & extra if semiring == "or_and" else value + extra


def _outside(draw, semiring):
    """A number, an expression of the place, or the semiring's zero."""
    row, column, weight = Value(Scalar(ROW)), Value(Scalar(COLUMN)), Value(Scalar("weight"))
    if semiring == "or_and":
        return draw.choice((None, (row == -1) & (column == -1), row + column > 1, False))
    return draw.choice((None, 0, apply("maximum", row, column) + 1, weight * (row - column), weight))


def make_recurrence(draw):
    """Up to three tables with reads up to three rows and columns back, and every kind of input."""
    semiring = draw.choice(("max_plus", "min_plus", "or_and"))
    plus = {"max_plus": "maximum", "min_plus": "minimum", "or_and": "or"}[semiring]
    names = ["h", "e", "f"][: draw.choice((1, 1, 2, 3))]
    reach = draw.choice(((1, 1), (1, 1), (2, 3), (3, 0), (0, 2)))
    a, b, c = FieldBuilder("a"), FieldBuilder("b"), FieldBuilder("c")
    kinds = {"a": "row", "b": "column", "c": "cell", "score": "matrix"}
    scored = lookup("score", a[0], b[0])
    extras = [scored, c[0, 0], apply("where", a[0] == b[0], 1, 0), Value(Scalar("weight"))]
    if semiring == "or_and":
        extras = [scored != 0, c[0, 0] > 0, a[0] == b[0], a[0] < b[0]]
    values = {}
    for place, name in enumerate(names):
        total = None
        for _ in range(draw.randint(1, 4)):
            source = FieldBuilder(draw.choice(names))
            term = _times(draw, semiring, source[_offset(draw, reach)], draw.choice(extras))
            total = term if total is None else apply(plus, total, term)
        if place and draw.random() < 0.5:
            total = apply(plus, total, FieldBuilder(names[draw.randrange(place)])[0, 0])
        values[name] = total
    values[names[0]] = apply(plus, values[names[0]], scored != 0 if semiring == "or_and" else scored)
    outside = {name: _outside(draw, semiring) for name in names}
    used = {node.field for value in values.values() for node in _leaves(value)} | {"a", "b", "score"}
    return recurrence(
        "random",
        values,
        inputs={name: kind for name, kind in kinds.items() if name in used},
        outside={name: value for name, value in outside.items() if value is not None},
        semiring=semiring,
    )


def _leaves(value):
    from tilewright.programs.stencil.expression import as_value, flatten, reads

    return reads(flatten(as_value(value)))


def make_inputs(draw, program, dtype):
    rng = np.random.default_rng(draw.getrandbits(32))
    shape = (draw.randint(1, 40), draw.randint(1, 40))
    arrays = {
        "a": rng.integers(0, 4, shape[0]),
        "b": rng.integers(0, 4, shape[1]),
        "c": rng.integers(-2, 3, shape),
        "score": rng.integers(0, 2, (4, 4)) if dtype == "bool" else rng.integers(-3, 4, (4, 4)),
    }
    scalars = {"weight": draw.randint(-2, 2)} if program.scalars else {}
    return tuple(arrays[each.name] for each in program.inputs), scalars, shape


def make_tile(draw, program, shape):
    """Sizes from the reach to more than the table."""
    up, left = program.reach
    s = max(left, 1) + draw.choice((0, 1, 3, 8, 50))
    sub = draw.choice([size for size in range(1, s + 1) if s % size == 0])
    return f"orthogonal:t={max(up, 1) + draw.choice((0, 1, 5, 60))},s={s},sub={sub}"


def agree(seed, index):
    """Return what is wrong with one case, or an empty string."""
    draw = random.Random(f"tables/{seed}/{index}")  # noqa: S311
    program = make_recurrence(draw)
    types = (
        ("bool", "int32") if program.semiring.name == "or_and" else ("int16", "int32", "int64", "float32", "float64")
    )
    dtype = draw.choice(types)
    for _ in range(3):
        inputs, scalars, shape = make_inputs(draw, program, dtype)
        expected = filling(program, inputs, scalars, dtype=dtype, backend="numpy").values
        whole = f"orthogonal:t={max(shape[0], program.reach[0], 1)},s={max(shape[1], program.reach[1], 1)}"
        for tile in (make_tile(draw, program, shape), whole):
            options = {"dtype": dtype, "tiling": tile, "backend": "c", "threads": draw.choice((1, 2, 3))}
            found = filling(program, inputs, scalars, **options).values
            if not np.array_equal(np.array(found), np.array(expected), equal_nan=dtype.startswith("float")):
                return f"{tile} of {shape} in {dtype}: {program}"
            first = expected[0] if len(program.tables) > 1 else expected
            last = filling(program, inputs, scalars, result="last", **options).values
            if not np.array_equal(last, first[-1, -1], equal_nan=True):
                return f"the last cell of {tile} of {shape} in {dtype}: {program}"
            total = filling(program, inputs, scalars, result="sum", **options).values
            join = {"max_plus": np.max, "min_plus": np.min, "or_and": np.any}[program.semiring.name]
            zero = program.semiring.zero(dtype)
            if not np.array_equal(total, join([join(first), np.array(zero, dtype=dtype)]), equal_nan=True):
                return f"the sum of {tile} of {shape} in {dtype}: {program}"
    return ""


@compiled
@pytest.mark.parametrize("index", range(CASES))
def test_tiles_compute_what_the_reference_computes(index):
    assert agree(SEED, index) == "", f"seed {SEED}, case {index}"


@compiled
def test_kernels_touch_nothing_beside_their_arrays():
    """Nor beside the memory of their threads; see ``guarded.py``."""
    command = [sys.executable, "-m", "tests.laws.guarded", str(SEED), "0", str(GUARDED_CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-2000:]
    assert done.stdout.endswith("done\n")


@compiled
@pytest.mark.stress
@pytest.mark.parametrize("index", range(CASES, 300))
def test_many_tiles_compute_what_the_reference_computes(index):
    assert agree(SEED, index) == "", f"seed {SEED}, case {index}"


def agree_on_a_gpu(seed, index):
    """Return what is wrong with one small case on a GPU, or an empty string."""
    draw = random.Random(f"gpu tables/{seed}/{index}")  # noqa: S311
    program = make_recurrence(draw)
    dtype = "bool" if program.semiring.name == "or_and" else draw.choice(("int16", "int32", "int64", "float32"))
    inputs, scalars, _ = make_inputs(draw, program, dtype)
    sub = max(1, program.reach[1]) + draw.randint(0, 3)
    tile = f"orthogonal:t={max(1, program.reach[0]) + draw.choice((0, 3, 9))},s={sub * draw.randint(1, 5)},sub={sub}"
    for result in ("table", "last", "sum"):
        options = {"dtype": dtype, "result": result}
        found = filling(program, inputs, scalars, tiling=tile, backend="opencl:oclgrind", **options).values
        expected = filling(program, inputs, scalars, backend="numpy", **options).values
        if result == "sum":
            zero = np.array(program.semiring.zero(dtype), dtype=dtype)
            join = {"max_plus": np.maximum, "min_plus": np.minimum, "or_and": np.logical_or}[program.semiring.name]
            expected = join(expected, zero)
        if not np.array_equal(np.array(found), np.array(expected), equal_nan=dtype.startswith("float")):
            return f"{result} of {tile} in {dtype}: {program}"
    return ""


def _watched(capfd, index):
    pytest.importorskip("pyopencl")
    opencl.prepare_oclgrind()
    capfd.readouterr()
    wrong = agree_on_a_gpu(SEED, index)
    said = capfd.readouterr()
    assert wrong == "", f"seed {SEED}, case {index}"
    assert not re.search("race|invalid|uninitialized", (said.err + said.out).lower()), said.err[:2000]


@pytest.mark.parametrize("index", range(GPU_CASES))
def test_a_gpu_computes_what_the_reference_computes(capfd, index):
    _watched(capfd, index)


@pytest.mark.stress
@pytest.mark.parametrize("index", range(GPU_CASES, 150))
def test_a_gpu_computes_many_tables(capfd, index):
    _watched(capfd, index)


@compiled
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("corner[(((k + r) + 1) + c) + 1]", "((int32_t *)array[k * 3])[((((r + 1) * (n + 1)) + 1) + j0) + c]"),
        ("low = tw_max(((d - columns) + 1), 0)", "low = tw_max(((d - columns) + 2), 0)"),
        ("(n + 1)) + 1) + j0) + d) - r] = row[r]", "(n + 1)) + 1) + j0) + d) - r] = row[low]"),
    ],
)
def test_a_fault_in_the_kernel_is_found(monkeypatch, old, new):
    def faulty(*args):
        source = codegen.emit_table(*args)
        assert old in source.text
        return replace(source, text=source.text.replace(old, new))

    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, 30), rng.integers(0, 3, 41)
    from tilewright.workloads.tables import call as kernels

    monkeypatch.setattr(kernels, "emit_table", faulty)
    found = fill("edit_distance", a, b, tiling="orthogonal:t=7,s=5", backend="c")
    monkeypatch.undo()
    assert not np.array_equal(found, fill("edit_distance", a, b, backend="numpy"))


def test_a_read_up_and_to_the_right_has_no_orthogonal_tiles():
    d = FieldBuilder("d")
    program = recurrence("skewed", {"d": apply("maximum", d[-1, 2], d[0, -1]) + 1}, outside={"d": 0})
    found = filling(program, (), {}, shape=(6, 7), backend="numpy")
    assert found.backend == "numpy"
    table = np.zeros((7, 10), dtype=int)
    for i in range(1, 7):
        for j in range(1, 8):
            above = table[i - 1, j + 2] if i > 1 and j + 2 < 8 else 0
            table[i, j] = max(above, table[i, j - 1]) + 1
    assert np.array_equal(found.values, table[1:, 1:8])
    with pytest.raises(IllegalTilingError, match="up and to the right"):
        filling(program, (), {}, shape=(6, 7), tiling="orthogonal:t=3,s=3")


def test_kernels_are_refused_for_what_they_cannot_compute():
    d = FieldBuilder("d")
    ahead = recurrence("ahead", {"d": apply("maximum", d[-1, 2], d[0, -1]) + 1}, outside={"d": 0})
    known = recurrence("known", {"d": apply("maximum", d[-1, 0], d[0, -1]) + 40_000}, outside={"d": 0})
    for program, dtype in ((ahead, "int32"), (known, "complex64")):
        with pytest.raises(UsageError, match="no kernel of orthogonal tiles"):
            codegen.emit_table(program, dtype, (), 16)
    shape = TableShape(threads=4, sub=2, chip=False)
    for make in (
        lambda *what: codegen.emit_table(*what, (), 16),
        lambda *what: gpu_table.emit_gpu_table(*what, (), shape, "opencl"),
    ):
        assert make(known, "int32").text
        assert make(known, "float32").text
        with pytest.raises(UsageError, match="does not fit int16"):
            make(known, "int16")

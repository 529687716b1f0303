"""Weighted sums column by column: nothing is lost or loaded twice, and nothing waits on the stack."""

import itertools
import re
import shutil
import subprocess

import pytest
from tests.sampling import covering

from tilewright.base.errors import ToolchainError
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.weights import linear_sum
from tilewright.runtime.toolchains.cpu import compile_shared, toolchain
from tilewright.schedules import catalogue
from tilewright.schedules.sums import parts
from tilewright.schedules.tiling import parse


def tools():
    """The C compiler, if there is one."""
    try:
        return toolchain()
    except ToolchainError:
        return None


def test_parts_hold_every_read_once_and_no_more_weights_than_asked_for():
    for name, most, axis in itertools.product(["box2d4r", "star2d4r", "star3d3r", "j2d9pt-gol"], [2, 6, 9], [0, 1]):
        terms = linear_sum(program(name).statements[0].tape)
        found = list(parts(terms, most, axis))
        assert sorted((read for part in found for read in part.reads), key=str) == sorted(terms, key=str)
        for part in found:
            assert len(part.weights) <= most, (name, most, axis)
            assert len(part.weights) in {1, len(part.reads)}, (name, most, axis)
            weights = part.weights if len(part.weights) > 1 else part.weights * len(part.reads)
            assert all(terms[read] == weight for read, weight in zip(part.reads, weights, strict=True))
            if len(part.weights) > 1:
                assert len({read.offset[:axis] + read.offset[axis + 1 :] for read in part.reads}) == 1
                assert [read.offset[axis] for read in part.reads] == sorted(read.offset[axis] for read in part.reads)


def test_reads_of_one_weight_are_added_up_first():
    terms = {Read("u", 0, (0, x)): 0.5 if x else 1.0 for x in (-2, -1, 0, 1, 2)}
    found = {part.weights: len(part.reads) for part in parts(terms, 6)}
    assert found == {(0.5,): 4, (1.0,): 1}


def test_one_row_of_a_plane_at_a_time_where_any_field_is_a_sum():
    u, v = FieldBuilder("u"), FieldBuilder("v")
    reads = [u[0, y, x] for y in (-1, 0, 1) for x in range(-2, 3)]
    wide = sum((0.01 * k + 0.02) * read for k, read in enumerate(reads))
    problem = make_problem(stencil("two", 3, {"u": wide, "v": 0.5 * v[0, 0, 0] + 0.1 * v[1, 0, 0]}), (20, 20, 64), 2)
    text = emit_tiling(problem, catalogue.complete(problem, parse("streaming:t=1,s=20x20x64"))).text
    many, few = (
        re.search(rf"#if TW_REGISTERS == {count}\n(.*?)#endif", text, flags=re.DOTALL)[1] for count in (32, 16)
    )
    assert "line += 2" in many
    assert "line += 2" not in few


@pytest.mark.skipif(tools() is None or shutil.which("objdump") is None, reason="no C compiler or no objdump")
@pytest.mark.parametrize(
    ("case", "march"),
    covering(
        [
            ("box2d2r", "streaming:t=2,s=64x64"),
            ("box2d3r", "streaming:t=2,s=64x64"),
            ("j3d27pt", "streaming:t=2,s=16x16x64"),
            ("box3d3r", "streaming:t=1,s=16x16x64"),
            ("star3d3r", "streaming:t=1,s=16x16x64"),
        ],
        ["x86-64", "haswell"],
    ),
)
def test_no_vector_of_a_stage_waits_on_the_stack(case, march, tmp_path, monkeypatch):
    from tilewright.runtime.host import cpu_features

    if cpu_features()[0] not in {"x86_64", "AMD64"} or "clang" in toolchain().identity.lower():
        pytest.skip("registers are counted as gcc on x86 uses them")
    name, text = case
    monkeypatch.setenv("TILEWRIGHT_CC", f"{toolchain().command[0]} -march={march}")
    problem = make_problem(program(name), (64,) * program(name).rank, 8, "float32")
    source = emit_tiling(problem, catalogue.complete(problem, parse(text)))
    library = tmp_path / "kernel.so"
    library.write_bytes(compile_shared(toolchain(), source.text, strict=False))
    listing = subprocess.run(["objdump", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    functions = dict(re.findall(r"<\w+?_((?:stage|rows)_[\w.]+)>:\n(.*?)\n\n", listing, re.DOTALL))
    assert functions
    assert any(("ymm" if march == "haswell" else "mulps") in body for body in functions.values())
    for body in functions.values():
        stored = re.findall(r"mov[au]ps\s+%[xy]mm\d+,[^,\n]*\(%rsp", body)
        assert not stored, f"{len(stored)} vectors are stored on the stack"

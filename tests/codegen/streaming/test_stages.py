"""What streaming kernels are made of: which functions stay apart, how many rows they compute at a time, copies."""

import ctypes
import itertools
import platform
import re
import subprocess

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.codegen import ir
from tilewright.codegen.sites import Site
from tilewright.codegen.streaming.kernel import StreamKernel
from tilewright.codegen.streaming.names import LINE
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.weights import apart
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.cpu_schedule import choose_body

IN_3D = sorted(name for name in names() if program(name).rank == 3)


def problem_of(name, dtype="float32"):
    known = program(name)
    return make_problem(known, (64,) * known.rank, 20, dtype)


def planned(name):
    problem = problem_of(name)
    size = "t=2,s=32x64" if problem.program.rank == 2 else "t=2,s=16x16x64"
    tiling = catalogue.complete(problem, parse(f"streaming:{size}"))
    site = Site(problem=problem, prefix="tw", strict=False, body=choose_body(problem, tiling))
    return problem, tiling, StreamKernel(site, tiling)


def together(statements):
    """The most rows of a plane that loops over them go on by."""
    found = [1]
    for node in statements:
        if isinstance(node, ir.For):
            step = node.step if node.var == LINE else ir.Int(1)
            found += [step.value if isinstance(step, ir.Int) else 1, together(node.body)]
    return max(found)


@pytest.mark.parametrize("name", IN_3D)
def test_rows_that_share_reads_are_computed_together_while_registers_last(name):
    """Rows that share nine reads load them once together; the sums of two rows do not fit into 16 registers."""
    _, _, kernel = planned(name)
    for stage, code in zip(kernel.stages, kernel.site.body.stages, strict=True):
        if code.many.planes:
            continue
        statements = stage.stage.statements
        reads = {(read.field, read.level, read.offset) for each in statements for read in each.reads}
        shared = sum((f, level, (z, y + 1, x)) in reads for f, level, (z, y, x) in reads)
        summed = any(apart(each).sums for each in statements)
        made = {each.registers: together(each.body) for each in stage.functions}
        rows, carried = 2 if shared >= 9 else 1, code.many.blocks[0].carried
        assert made == ({32: rows, 16: 1} if summed or carried else {0: rows}), made


@pytest.fixture
def compiled(tmp_path):
    """A tile's functions with vectors of a width and another word for stores past the caches; compile text behind."""

    def build(dtype, width, store, after):
        _, tiling, _ = planned("j2d5pt")
        text, forced = re.subn(
            r"#if defined\(__AVX512F__\)\n#define TW_BYTES.*?#endif",
            f"#define TW_BYTES {width}",
            emit_tiling(problem_of("j2d5pt", dtype), tiling).text,
            count=1,
            flags=re.DOTALL,
        )
        text, kinds = re.subn(r"__builtin_ia32_movntps\d*\(", "stored(", text)
        assert (forced, kinds) == (1, 3)
        suffix, element = {"float32": ("f32", "float"), "float64": ("f64", "double")}[dtype]
        before = f"static int count;\n#define stored(to, value) ({store}(void)(*(__typeof__(value) *)(to) = (value)))\n"
        source, library = tmp_path / "tile.c", tmp_path / "tile.so"
        source.write_text(before + text + after.format(element=element, suffix=suffix), encoding="utf-8")
        flags = ["-O2", "-w", "-shared", "-fPIC", "-std=gnu17", "-Wno-psabi"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))

    return build


@pytest.mark.skipif(platform.machine() != "x86_64", reason="stores past the caches are x86's")
@pytest.mark.parametrize(("dtype", "width"), covering(["float32", "float64"], [16, 32, 64]))
def test_what_starts_at_a_line_is_stored_past_the_caches_and_nothing_else(compiled, dtype, width):
    """All its whole vectors are, so that results do not push out what other tiles read; the rest is copied."""
    after = (
        "\nint run({element} *to, const {element} *from, int64_t n)"
        " {{ count = 0; tw_stream_{suffix}(to, from, n); return count; }}\n"
    )
    function = compiled(dtype, width, "++count, ", after).run
    size = np.dtype(dtype).itemsize
    room = np.empty(1024 + 64, dtype)
    start = -room.ctypes.data % 64 // size
    for shift, count in itertools.product((0, 1, 5, 64 // size, 128 // size), (0, 1, 15, 16, 17, 64, 333)):
        room[:] = -1
        target = room[start + shift : start + shift + count]
        values = np.arange(1.0, count + 4, dtype=dtype)[3:]  # read from any address
        streamed = function(*(ctypes.c_void_p(each.ctypes.data) for each in (target, values)), ctypes.c_int64(count))
        assert streamed == (0 if shift % (64 // size) else count * size // width)
        assert np.array_equal(target, values)
        assert np.count_nonzero(room != -1) == count


@pytest.mark.parametrize(("dtype", "width"), covering(["float32", "float64"], [16, 32, 64]))
def test_a_row_of_any_number_of_vectors_is_lifted_and_lowered(compiled, dtype, width):
    """Lane l of vector j holds cell l * n + j; of fewer vectors than lanes no more than a vector behind is touched."""
    after = "".join(
        "\nvoid NAME({element} *to, const {element} *from, int64_t n) {{ tw_NAME_{suffix}(to, from, n); }}\n".replace(
            "NAME", name
        )
        for name in ("lift", "lower")
    )
    code = compiled(dtype, width, "", after)
    lanes = width // np.dtype(dtype).itemsize
    for vectors in {1, 2, 3, lanes - 1, lanes, lanes + 1, 2 * lanes - 1, 2 * lanes, 3 * lanes + 5}:
        cells, count = vectors * lanes, ctypes.c_int64(vectors)
        line = np.arange(1.0, cells + lanes + 1, dtype=dtype)
        row, back = (np.full(cells + lanes, -1, dtype) for _ in range(2))
        code.lift(*(ctypes.c_void_p(each.ctypes.data) for each in (row, line)), count)
        assert np.array_equal(row[:cells].reshape(vectors, lanes), line[:cells].reshape(lanes, vectors).T)
        assert np.all(row[cells:] == -1)
        code.lower(*(ctypes.c_void_p(each.ctypes.data) for each in (back, row)), count)
        assert np.array_equal(back[:cells], line[:cells])
        assert vectors < lanes or np.all(back[cells:] == -1)

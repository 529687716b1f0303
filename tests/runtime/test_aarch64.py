"""Kernels for AArch64, cross compiled and run by QEMU: NEON, and code for SVE of several widths.

They run on one thread. What QEMU emulates is arithmetic, not weakly ordered memory: of that these tests say nothing.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.interpreted import inputs, judge

from tilewright.driver import emit_tiling
from tilewright.plan import Target
from tilewright.planner import plans
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.memory import Workspace
from tilewright.runtime.session import Session

COMPILER = shutil.which("aarch64-linux-gnu-gcc")
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")  # Debian installs either
PROCESSORS = {
    "neon": (["-march=armv8-a"], "cortex-a57"),
    "sve128": (["-march=armv8.2-a+sve", "-O3"], "max,sve128=on,sve256=off,sve512=off"),
    "sve512": (["-march=armv8.2-a+sve", "-O3"], "max,sve512=on"),
}
TILINGS = {
    1: ("none", "hexagonal", "streaming"),
    2: ("none", "hybrid", "streaming", "diamond", "skewed"),
    3: ("none", "hybrid", "streaming", "diamond", "skewed"),
}
SHAPES = {1: (611,), 2: (67, 93), 3: (14, 19, 37)}
PROGRAMS = [name for name in catalogue.names() if name != "smith_waterman"]
CASES = [
    (name, tiling, processor)
    for number, name in enumerate(PROGRAMS)
    for place, tiling in enumerate(TILINGS[catalogue.program(name).rank])
    for processor in [list(PROCESSORS)[(number + place) % len(PROCESSORS)]]
]

pytestmark = pytest.mark.skipif(not (COMPILER and EMULATOR), reason="no cross compiler and emulator of AArch64")


class Known(Workspace):
    """Hands out memory whose size is remembered."""

    def take(self, size):
        self.taken = super().take(size)[:size]
        self.taken[...] = 0
        return self.taken


def emulated(problem, tiling, processor, folder: Path, *, strict=False):
    """Compile a kernel and return what a session calls in its place, with its memory."""
    source = emit_tiling(problem, tiling, strict=strict)
    layout, memory = source.layout[0], Known()
    flags, cpu = PROCESSORS[processor]
    (folder / "kernel.c").write_text(source.text)
    contract = "-ffp-contract=off" if strict else "-ffp-contract=fast"
    command = [COMPILER, "-std=gnu11", "-O2", "-static", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", contract]
    command += [*flags, "-w", f"-DKERNEL={source.entry}", "kernel.c", Path(__file__).with_name("aarch64.c")]
    subprocess.run([*command, "-lm", "-o", "kernel"], cwd=folder, check=True)

    def call(fields, sizes, scalars, constants):
        rank, count, base = problem.program.rank, len(problem.program.fields), memory.taken.ctypes.data
        starts = ctypes.cast(fields, ctypes.POINTER(ctypes.c_int64))[:count]
        numbers = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))[: 2 + rank + (rank - 1) + 1 + 2 + rank]
        values = ctypes.string_at(scalars, len(problem.program.scalars) * problem.itemsize)
        rows = ctypes.cast(constants, ctypes.POINTER(ctypes.c_int64))[: len(layout.constants)]
        scratch = ctypes.cast(constants, ctypes.POINTER(ctypes.c_int64))[len(rows)]
        size = memory.taken.nbytes
        with (folder / "in").open("wb") as file:
            head = [size, count, len(numbers), len(values), len(rows) + 1]
            file.write(np.array([*head, *(start - base for start in starts), *numbers], np.int64).tobytes() + values)
            for row in rows:
                text = ctypes.string_at(row, problem.shape[-1] * problem.itemsize)
                file.write(np.int64(len(text)).tobytes() + text)
            file.write(np.int64(base - scratch).tobytes())
            file.write(memory.taken.tobytes())
        subprocess.run([EMULATOR, "-cpu", cpu, "./kernel", "in", "out"], cwd=folder, check=True)
        memory.taken[...] = np.fromfile(folder / "out", np.uint8)

    return CompiledKernel(layout=layout, function=call, parallel=False), memory


@pytest.mark.parametrize(
    ("name", "family", "processor"),
    [pytest.param(*case, marks=() if place % 24 == 0 else pytest.mark.stress) for place, case in enumerate(CASES)],
)
def test_the_catalogue_on_aarch64(name, family, processor, tmp_path):
    program = catalogue.program(name)
    dtype = "float64" if len(name) % 2 else "float32"
    problem = make_problem(program, SHAPES[program.rank], 9, dtype, "fixed" if len(family) % 2 else "reflect")
    tiling = plans(problem, Target(backend="c", threads=1), family)[0].tiling
    kernel, memory = emulated(problem, tiling, processor, tmp_path)
    given = inputs(problem)
    session = Session(kernel, problem, given, 1, workspace=memory)
    session.advance(problem.steps)
    judge(problem, given, session.results())
    session.close()

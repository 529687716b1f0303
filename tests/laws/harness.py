"""Many kernels in one translation unit, run on guarded buffers."""

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.dtypes import arithmetic, is_rounded, limits
from tilewright.base.errors import ToolchainError
from tilewright.codegen.emit import emit_all
from tilewright.codegen.gpu.emit import emit_device
from tilewright.driver import emit_tilings
from tilewright.programs.stencil import reference, rounding
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.reference import Array
from tilewright.runtime import cpu
from tilewright.runtime.devices import gpu, opencl
from tilewright.runtime.kernels import execute
from tilewright.runtime.memory import Workspace
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchains.cpu import Toolchain, compile_shared, toolchain
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

from .generator import LawCase

if TYPE_CHECKING:
    import pytest

BATCH = 25
"""Kernels per translation unit."""
_GUARD = 64
"""Poisoned elements before, between and behind everything a kernel may touch."""
_FENCE = 4096
"""Poisoned bytes before and behind what a workspace hands out."""
_POISON = 0x7F


def tools() -> Toolchain | None:
    """The C compiler that the package itself uses, if there is one."""
    try:
        return toolchain()
    except ToolchainError:
        return None


def legal(case: LawCase) -> LawCase:
    """The same case, whose tiling must be legal: kernels of others compute anything."""
    answer = catalogue.check(case.problem, case.tiling)
    assert isinstance(answer, Legal), f"{answer}\n{case.reproduction()}"
    return case


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A kernel in a compiled unit: plain data, so that another process can load it."""

    library: str
    entry: str
    copies: tuple[int, ...]
    constants: tuple[float, ...]


def compile_cases(
    cases: Sequence[LawCase],
    directory: Path,
    *,
    problems: Mapping[int, Problem] | None = None,
    compiler: Toolchain | None = None,
) -> list[Built]:
    """Compile the kernels of all cases, :data:`BATCH` to a unit, two compilers at a time; in the order of the cases.

    Args:
        cases: The cases.
        directory: Where units go.
        problems: What kernels are made of in place of a case's own problem, by index.
        compiler: The compiler in place of the package's own.
    """
    ours, how = problems or {}, compiler or tools()
    assert how is not None
    groups = [[case for case in cases if case.strict is strict] for strict in (False, True)]
    batches = [group[i : i + BATCH] for group in groups for i in range(0, len(group), BATCH)]
    with ThreadPoolExecutor(2) as pool:
        places = [directory / f"unit{number}" for number in range(len(batches))]
        units = list(pool.map(lambda batch, place: _unit(batch, place, ours, how), batches, places))
    built = {
        case.index: kernel
        for batch, unit in zip(batches, units, strict=True)
        for case, kernel in zip(batch, unit, strict=True)
    }
    return [built[case.index] for case in cases]


def _unit(cases: Sequence[LawCase], stem: Path, problems: Mapping[int, Problem], compiler: Toolchain) -> list[Built]:
    pairs = [(problems.get(case.index, case.problem), case.tiling) for case in cases]
    source = emit_tilings(pairs, strict=cases[0].strict)
    library = stem.with_suffix(".so")
    library.write_bytes(compile_shared(compiler, source.text, strict=source.strict))
    return [
        Built(library=str(library), entry=kernel.entry, copies=layout.copies, constants=layout.constants)
        for kernel, layout in zip(source.kernels, source.layout, strict=True)
    ]


def judge(
    cases: Sequence[LawCase],
    built: Sequence[Built],
    directory: Path,
    processes: int = 1,
    shares: list[float] | None = None,
) -> dict[int, str]:
    """Run all cases in other processes and compare them with the reference.

    A kernel that kills its process is a failing case like any other, and the cases behind it still run.

    Args:
        cases: The cases.
        built: Their kernels.
        directory: Where the work of the processes is described.
        processes: How many run at a time.
        shares: Takes how far the cases use their rounding bounds up; see :func:`verdict`.

    Returns:
        What is wrong, by index of the case; nothing for a case that agrees.
    """
    work, used = list(zip(cases, built, strict=True)), [] if shares is None else shares
    with ThreadPoolExecutor(processes) as pool:
        parts = pool.map(lambda n: _judge_part(work[n::processes], directory / f"work{n}.json", used), range(processes))
        return {index: text for part in parts for index, text in part.items()}


def _judge_part(work: list[tuple[LawCase, Built]], path: Path, shares: list[float]) -> dict[int, str]:
    wrong: dict[int, str] = {}
    while work:
        path.write_text(json.dumps([[case.seed, case.index, asdict(kernel)] for case, kernel in work]))
        done = subprocess.run(
            [sys.executable, "-m", "tests.laws.worker", str(path)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        wrong |= {index: text for index, text, _ in answers if text}
        shares += [share for _, _, some in answers for share in some]
        work = work[len(answers) :]
        if work and done.returncode >= 0:
            raise AssertionError(f"the worker failed: {done.stderr[-4000:]}")
        if work:
            wrong[work[0][0].index] = f"the kernel killed its process (signal {-done.returncode})"
            work = work[1:]
    return wrong


class Guarded:
    """The versions of one field inside poisoned memory: rows are padded, slots are apart.

    Slots that hold no initial version are poisoned too, apart from the cells that no step updates.
    """

    def __init__(self, problem: Problem, versions: Sequence[Array], copies: int, box: Sequence[slice] | None) -> None:
        shape = problem.shape
        self.poison = np.nan if is_rounded(problem.dtype) else 1_000_000_007 & int(np.iinfo(problem.dtype).max)
        padded = (*shape[:-1], shape[-1] + 3)
        self.strides = tuple(int(np.prod(padded[axis + 1 :])) for axis in range(len(shape) - 1))
        self.distance = int(np.prod(padded)) + _GUARD
        self.raw = np.full(_GUARD + copies * self.distance + _GUARD, self.poison, problem.dtype)
        self.slots: list[Array] = []
        for slot in range(copies):
            flat = self.raw[_GUARD + slot * self.distance :][: int(np.prod(padded))]
            self.slots.append(flat.reshape(padded)[..., : shape[-1]])
        for values in self.slots:
            np.copyto(values, versions[0])
            if box is not None:
                values[tuple(box)] = self.poison
        for age, version in enumerate(versions):
            np.copyto(self.slots[-age % copies], version)
        self.inside = np.zeros(self.raw.shape, bool)
        for slot in range(copies):
            mask = self.inside[_GUARD + slot * self.distance :][: int(np.prod(padded))].reshape(padded)
            mask[..., : shape[-1]] = True

    @property
    def pointer(self) -> int:
        """Address of cell zero of slot zero."""
        return int(self.slots[0].ctypes.data)

    def intact(self) -> bool:
        """Whether no guard was written."""
        guard = self.raw[~self.inside]
        return bool(np.all(np.isnan(guard) if is_rounded(guard.dtype) else guard == self.poison))


def run_kernel(case: LawCase, built: Built, threads: int = 2) -> dict[str, Array]:
    """Run a case's kernel and return the newest version of every updated field.

    Raises:
        AssertionError: If the kernel wrote outside its arrays.
    """
    problem, program = case.problem, case.problem.program
    state = reference.start(problem, case.arrays())
    written = {statement.field: statement for statement in program.statements}
    fields: dict[str, Guarded] = {}
    for field, copies in zip(program.fields, built.copies, strict=True):
        box = [slice(*span) for span in problem.update_box(written[field])] if field in written else None
        fields[field] = Guarded(problem, state[field], copies, box)
    first = fields[program.fields[0]]
    numbers = (problem.steps, threads, *problem.shape, *first.strides, first.distance)
    scalars = np.array([value for _, value in case.scalars] or [0], arithmetic(problem.dtype))
    rows = [np.full(problem.shape[-1], value).astype(problem.dtype) for value in built.constants]
    getattr(ctypes.CDLL(built.library), built.entry)(
        (ctypes.c_void_p * len(fields))(*(guarded.pointer for guarded in fields.values())),
        (ctypes.c_int64 * len(numbers))(*numbers),
        ctypes.c_void_p(scalars.ctypes.data),
        (ctypes.c_void_p * max(1, len(rows)))(*(row.ctypes.data for row in rows)),
    )
    torn = [field for field, guarded in fields.items() if not guarded.intact()]
    assert not torn, f"it wrote outside the array of {torn}"
    return {
        field: fields[field].slots[problem.steps % len(fields[field].slots)]
        for field in program.fields
        if field in written
    }


class Poisoned(Workspace):
    """Memory in which nothing may be taken for a value, between fences that nothing may be written to.

    It may be asked for several times; what is handed back is not handed out again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._fenced: list[Array] = []

    def take(self, size: int) -> Array:
        """Return so many bytes of poison."""
        whole = super().take(size + 2 * _FENCE)[: size + 2 * _FENCE]
        whole[:] = _POISON
        self._fenced.append(whole)
        return whole[_FENCE:-_FENCE]

    def give(self, buffer: Array) -> None:
        """Keep what was written for :meth:`torn`."""

    def torn(self) -> str:
        """Say whether anything was written outside of what was handed out, and forget it."""
        fences = [fence for whole in self._fenced for fence in (whole[:_FENCE], whole[-_FENCE:])]
        self._fenced = []
        return "it wrote outside its memory; " if any((fence != _POISON).any() for fence in fences) else ""


def computed(kernel: cpu.CompiledKernel, case: LawCase, shares: list[float] | None = None) -> str:
    """Run a kernel through the package's own run time on poisoned memory; what is wrong, or an empty text.

    Fields that live in subdomains have memory there alone.
    """
    memory, shape = Poisoned(), case.problem.shape
    parts = dict(case.storage.subdomains)
    packed = {
        field: [parts[field].cut(each) for each in versions] if field in parts else versions
        for field, versions in case.arrays().items()
    }
    inputs = Inputs(arrays=packed, scalars=case.values)
    found = execute(replace(kernel, storage=case.storage), case.problem, inputs, threads=2, workspace=memory)
    assert all(found[field].shape == part.shape(shape) for field, part in parts.items())
    result = {field: parts[field].spread(each, shape) if field in parts else each for field, each in found.items()}
    return verdict(case, result, shares) + memory.torn()


def run_all(
    cases: Sequence[LawCase], compiler: Toolchain | None = None, shares: list[float] | None = None
) -> list[str]:
    """What is wrong with each case, in order, run in this process; an empty text where it agrees."""
    wrong = [""] * len(cases)
    for strict in (False, True):
        chosen = [i for i, case in enumerate(cases) if case.strict is strict]
        for start in range(0, len(chosen), BATCH):
            part = chosen[start : start + BATCH]
            units = [
                (case.problem, cpu_schedule(case.problem, case.tiling, case.storage, strict=strict))
                for case in (cases[i] for i in part)
            ]
            kernels = cpu.stencil_kernels(emit_all(units, strict=strict), compiler or tools())
            for i, kernel in zip(part, kernels, strict=True):
                wrong[i] = computed(kernel, cases[i], shares)
    return wrong


def failures(cases: Sequence[LawCase], *arguments: Any) -> list[str]:
    """What is wrong and how it is had again, one text per case that fails; see :func:`run_all`."""
    texts = zip(cases, run_all(cases, *arguments), strict=True)
    return [f"{text}\n{case.reproduction()}" for case, text in texts if text]


def interpreted(case: LawCase, capture: "pytest.CaptureFixture[str]") -> str:
    """Run a case's kernels of a GPU in the interpreter; what is wrong, and which races and accesses outside it saw.

    Raises:
        TilewrightError: If there is no such kernel.
    """
    opencl.prepare_oclgrind()
    schedule = gpu_schedule(case.problem, case.tiling)
    source = emit_device(case.problem, schedule, "opencl", strict=case.strict)
    loaded = gpu.program_of(opencl.select("oclgrind"), source, schedule)
    session = gpu.GpuSession(loaded, case.problem, Inputs(arrays=case.arrays(), scalars=dict(case.scalars)))
    capture.readouterr()
    try:
        session.advance(case.problem.steps)
        text = verdict(case, session.results())
    finally:
        session.close()
    said = "".join(capture.readouterr())
    return text + (said[:2000] if re.search("race|invalid|uninitialized", said.lower()) else "")


def verdict(case: LawCase, result: Mapping[str, Array], shares: list[float] | None = None) -> str:
    """Compare a result with the reference; an empty text if they agree.

    Args:
        case: The case.
        result: The newest version of every updated field.
        shares: Takes, per field of a case that is not strict, the largest error as a share of the rounding bound.
    """
    arrays, scalars = case.arrays(), case.values
    if case.strict:
        exact = reference.run(case.problem, arrays, scalars)
        wrong = [field for field in exact if exact[field].tobytes() != np.ascontiguousarray(result[field]).tobytes()]
        return "".join(f"{field}: {_first(result[field] != exact[field])} is not bit-equal; " for field in wrong)
    exact, allowed = rounding.bound(case.problem, arrays, scalars)
    text = ""
    for field, value in result.items():
        error, good = rounding.worst_excess(value, exact[field], allowed[field])
        if shares is not None and is_rounded(value.dtype):
            shares.append(_share(value, exact[field], allowed[field]))
        if not good:
            far = ~(np.abs(value - exact[field]) <= allowed[field])
            text += f"{field}: off by up to {error:g} in {int(far.sum())} of {far.size} cells, first at {_first(far)}; "
    return text


def _share(value: Array, exact: Array, allowed: Array) -> float:
    """The largest error as a share of the bound, over the cells that the dtype can hold."""
    with np.errstate(all="ignore"):
        share = np.where(
            np.abs(exact) <= 0.5 * float(limits(value.dtype.name).max), np.abs(value - exact) / allowed, 0.0
        )
    return float(share[np.isfinite(share)].max(initial=0.0))


def _first(where: Array) -> tuple[int, ...] | None:
    found = np.argwhere(where)
    return tuple(int(i) for i in found[0]) if len(found) else None

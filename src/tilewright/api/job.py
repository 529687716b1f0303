"""One run as the command line asks for it: data in, compute, check, data out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.api import data
from tilewright.api.arrays import Array, Given, gather
from tilewright.api.compile import prepare
from tilewright.api.load import load_program
from tilewright.api.run import compute
from tilewright.base.errors import UsageError, WrongResultError
from tilewright.base.units import format_seconds, format_shape
from tilewright.programs.problem import Problem, make_problem, parse_boundary
from tilewright.programs.stencil import Program
from tilewright.runtime.files import check_output, write_planes
from tilewright.runtime.host import thread_count
from tilewright.runtime.memory import check_memory
from tilewright.tilings.tiling import Tiling

Note = Callable[[str], None]
_LONG_CHECK = 2e8
"""Cell updates from which a check is announced."""
_REFERENCE_COPIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the command line asks for, as it is written there.

    Attributes:
        program: A built-in program, or ``file.py:function``.
        steps: Time steps.
        shape: Extents as text; those of the inputs by default.
        backend: ``auto``, ``c`` or ``numpy``.
        dtype: Element type; that of the inputs by default, else float32.
        boundary: Boundaries as text.
        tile: The tiling as text; the model's choice by default.
        threads: Threads; all by default.
        strict: Whether the order of operations is kept exactly.
        inputs: One file per field, or none for random data.
        outputs: Files for the updated fields.
        scalars: ``name=value`` each.
        seed: Seed of random data.
        check: Whether to compare with the reference.
    """

    program: str
    steps: int
    shape: str | None = None
    backend: str = "auto"
    dtype: str | None = None
    boundary: str = "fixed"
    tile: str | None = None
    threads: int | None = None
    strict: bool = False
    inputs: tuple[Path, ...] = ()
    outputs: tuple[Path, ...] = ()
    scalars: tuple[str, ...] = ()
    seed: int = 0
    check: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A result against the float64 reference.

    Attributes:
        max_error: Largest absolute difference over all cells.
        within: Whether every cell is within its bound.
    """

    max_error: float
    within: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run did.

    Attributes:
        problem: The problem.
        planes: How often it was computed: 3 for a colour picture, else 1.
        backend: What computed it, ``c`` or ``numpy``.
        tiling: The tiling that was used.
        threads: Threads that were used.
        seconds: Time of computing, without compiling and without reading or writing files.
        comparison: The comparison with the reference, where it was asked for.
    """

    problem: Problem
    planes: int
    backend: str
    tiling: Tiling
    threads: int
    seconds: float
    comparison: Comparison | None = None

    @property
    def gcells_per_second(self) -> float:
        """Cell updates per nanosecond."""
        return self.planes * self.problem.cells * self.problem.steps / self.seconds / 1e9

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain data."""
        document: dict[str, object] = {
            "program": self.problem.program.name,
            "shape": list(self.problem.shape),
            "steps": self.problem.steps,
            "dtype": self.problem.dtype,
            "backend": self.backend,
            "tiling": str(self.tiling),
            "threads": self.threads,
            "planes": self.planes,
            "seconds": self.seconds,
            "gcells_per_second": self.gcells_per_second,
        }
        if self.comparison is not None:
            checked = {"checked": True, "within_bound": self.comparison.within}
            document |= {"max_error": self.comparison.max_error, **checked}
        return document

    def __str__(self) -> str:
        what = f"{self.problem.program.name} {format_shape(self.problem.shape)}, {self.problem.steps} steps"
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        lines = [
            f"{what}, {self.problem.dtype}: {self.backend}, {self.tiling}, {threads}",
            f"{format_seconds(self.seconds)}, {self.gcells_per_second:.3g} GCells/s",
        ]
        if self.comparison is not None:
            verdict = "within" if self.comparison.within else "BEYOND"
            lines.append(f"every cell checked: largest error {self.comparison.max_error:.3g}, {verdict} the bound")
        return "\n".join(lines)

    def raise_if_wrong(self) -> None:
        """Raise if the comparison failed.

        Raises:
            WrongResultError: If a cell lies beyond its bound.
        """
        if self.comparison is not None and not self.comparison.within:
            raise WrongResultError(
                f"the result differs from the float64 reference by up to {self.comparison.max_error:.3g}, "
                "more than rounding explains",
                "report it with the command line and the output of `tilewright doctor`",
            )


def perform(job: Job, note: Note) -> Report:
    """Do one run.

    Args:
        job: What is asked for.
        note: Called with lines for the user while it goes on.

    Returns:
        What was done; the outputs are written.

    Raises:
        TilewrightError: If anything does not fit.
    """
    program = load_program(job.program)
    _check_outputs(program, job.outputs)
    scalars = data.scalar_values(program, job.scalars)
    planes = data.planes(program, job.inputs, job.shape, job.dtype, job.seed)
    given = [gather(program, arrays, scalars, job.dtype) for arrays in planes]
    problem = make_problem(program, given[0].shape, job.steps, given[0].dtype, parse_boundary(job.boundary))
    threads = thread_count(job.threads)
    executable = prepare(problem, job.tile, job.backend, strict=job.strict, threads=threads)
    begin = time.perf_counter()
    results = [compute(executable, problem, each, threads) for each in given]
    seconds = time.perf_counter() - begin
    _write(problem, results, job.outputs, note)
    return Report(
        problem=problem,
        planes=len(planes),
        backend=executable.backend,
        tiling=executable.tiling,
        threads=threads if executable.compiled is not None and executable.compiled.parallel else 1,
        seconds=seconds,
        comparison=_compare(problem, given, results, note) if job.check else None,
    )


def _check_outputs(program: Program, outputs: Sequence[Path]) -> None:
    """Find out before any computation whether the results can be written."""
    if len(outputs) > len(program.updated):
        updated = ", ".join(program.updated)
        raise UsageError(f"{program.name!r} updates {updated}: --output is given {len(outputs)} times")
    for path in outputs:
        check_output(path)


def _write(problem: Problem, results: Sequence[Mapping[str, Array]], outputs: Sequence[Path], note: Note) -> None:
    for field in problem.program.updated:
        wild = sum(int(np.count_nonzero(~np.isfinite(result[field]))) for result in results)
        if wild:
            note(f"warning: {wild} values of {field!r} are not finite after {problem.steps} steps")
    for field, path in zip(problem.program.updated, outputs, strict=False):
        clipped = write_planes(path, tuple(result[field] for result in results))
        if clipped:
            note(f"warning: {clipped} values of {field!r} outside 0 to 1 are clipped in {str(path)!r}")


def _compare(
    problem: Problem, given: Sequence[Given], results: Sequence[Mapping[str, Array]], note: Note
) -> Comparison:
    """Compare every cell with the float64 reference; see :func:`tilewright.programs.rounding.bound`."""
    from tilewright.programs import rounding

    check_memory(_REFERENCE_COPIES * problem.cells * np.dtype(np.float64).itemsize * len(problem.program.fields))
    if problem.cells * problem.steps * len(given) >= _LONG_CHECK:
        note("comparing with the NumPy reference, which takes a while")
    errors, within = [], True
    for each, result in zip(given, results, strict=True):
        exact, allowed = rounding.bound(problem, each.versions, each.scalars)
        for field in problem.program.updated:
            error, good = rounding.worst_excess(result[field], exact[field], allowed[field])
            errors.append(error)
            within = within and good
    return Comparison(max_error=max(errors), within=within)

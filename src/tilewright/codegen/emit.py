"""``emit(problem, schedule, dialect)``: the one way from a problem and its schedule to the text of a kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir, lower, points
from tilewright.codegen.batches import batch_function, batch_name
from tilewright.codegen.boxes.kernel import STEP, BoxKernel, box_name
from tilewright.codegen.passes.flush_subnormals import flush_subnormals
from tilewright.codegen.print import c
from tilewright.codegen.sites import PLACES, Site
from tilewright.codegen.source import EntryPoint, KernelSource, unit_prefix
from tilewright.codegen.streaming.kernel import StreamKernel
from tilewright.programs.stencil.dependences import chained_reads
from tilewright.programs.stencil.expression import Placed
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.code import CpuSchedule
from tilewright.schedules.family import BEGIN, END
from tilewright.schedules.tiling import NONE

DIALECTS = ("c",)


@dataclass(frozen=True, slots=True, kw_only=True)
class StencilLayout:
    """What the arguments of a stencil's kernel hold, the function ``entry(field, size, scalar, constant)``.

    ``field`` holds a pointer per field to cell zero of its version slot 0; version ``v`` is in slot ``v mod copies``.
    ``size`` holds steps, threads, the extents, the strides of the outer axes and the distance between slots, in
    elements. ``scalar`` holds the scalars, a row of them for every step where some vary. ``constant`` holds a pointer
    per value of ``constants`` to a row of it. Where the problem has points there is a fifth pointer, and ``constant``
    goes on: see :mod:`tilewright.codegen.points`.
    """

    dtype: str  # element type
    # versions kept per field, in field order; 0: a version per step, ``field`` points to that of step 0, and that of
    # step ``s`` lies ``s`` slots before it, as states lie in a run that kept them, seen from its end; with ``states``,
    # version ``v`` of an updated field lies in slot ``first + v``, ``first`` being the others
    copies: tuple[int, ...]
    constants: tuple[complex, ...]  # values for which a row is passed
    states: int = 0  # versions of updated fields that are kept one after the other, behind those that steps read
    # what depends on the cell's place alone: ``constant`` goes on with a pointer each to the number of the first cell
    # of its axis (truth values 0 or 1), then, if there are truth values, with one to whole numbers: per axis the first
    # and the end of the cells along which none of them changes, and each is what it is in the middle
    placed: tuple[Placed, ...] = ()
    margin: int = 0  # numbers that can be read before the first and after the last of these
    scratch: int = 0  # bytes of memory that every thread needs; ``constant`` points to it after all these
    # whether the first steps may read, and the last ones write, arrays of the caller: then ``size`` goes on with two
    # truth values, whether they do (the first is 2 where the slots have room for rows of ``width`` cells, and hold them
    # in the kernel's own order), and the strides of the outer axes of those arrays (without them, the same as before);
    # ``field`` goes on with a pointer per field and time level, newest first, and one per updated field to its result
    direct: bool = False
    width: int = 0  # cells of a tile's rows, where tiles may be as wide as the grid
    # whether fields that live in subdomains have cells around these in memory, as far as reads reach
    packed: bool = False


StencilSource = KernelSource[tuple[StencilLayout, ...]]  # a unit of stencils' kernels, with a layout for each


def emit(problem: Problem, schedule: CpuSchedule, dialect: str = "c", *, strict: bool = False) -> StencilSource:
    """Write the kernel of a problem under a schedule."""
    return emit_all([(problem, schedule)], dialect, strict=strict)


def emit_all(
    units: Sequence[tuple[Problem, CpuSchedule]], dialect: str = "c", *, strict: bool = False
) -> StencilSource:
    """Write several kernels into one translation unit; equal ones are written once."""
    if dialect not in DIALECTS:
        raise UsageError(f"the dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    functions: dict[str, tuple[ir.Function, ...]] = {}
    kernels, layouts = [], []
    for problem, schedule in units:
        site, layout = _describe(problem, schedule, dialect, strict=strict)
        entry = batch_name(site.prefix) if schedule.batch else site.prefix
        kernels.append(EntryPoint(entry=entry, tables=bool(problem.points)))
        layouts.append(layout)
        if site.prefix not in functions:
            functions[site.prefix] = _functions(site, schedule)
    text = c.print_unit([function for group in functions.values() for function in group], strict=strict)
    return KernelSource(text=text, dialect=dialect, kernels=tuple(kernels), layout=tuple(layouts), strict=strict)


def _describe(problem: Problem, schedule: CpuSchedule, dialect: str, *, strict: bool) -> tuple[Site, StencilLayout]:
    tiling, storage, point_fields = schedule.tiling, schedule.storage, problem.points
    about = (point_fields.sources, point_fields.receivers, point_fields.faces, problem.varying, problem.regions)
    key = fingerprint(problem.fingerprint, about, schedule, dialect, strict)
    streams = tiling.family.streams
    packed = bool(storage.subdomains) and not streams
    site = Site(
        problem=problem,
        prefix=unit_prefix(problem.program.name, key),
        strict=strict,
        body=schedule.body,
        packed=packed,
        storage=storage,
    )
    stream = StreamKernel(site, tiling) if streams else None
    layout = StencilLayout(
        dtype=problem.dtype,
        copies=stream.copies if stream else site.versions,
        states=storage.kept if site.streams_states else 0,
        scratch=stream.layout.scratch_bytes if stream else 0,
        constants=site.constants,
        placed=problem.program.placed,
        margin=stream.layout.margin if stream else PLACES,
        direct=streams,
        width=stream.layout.width if stream else 0,
        packed=packed,
    )
    return site, layout


def _functions(site: Site, schedule: CpuSchedule) -> tuple[ir.Function, ...]:
    """The functions of a kernel: what is written of its schedule, and what is done to that, in this order."""
    if schedule.tiling.family.streams:
        written = StreamKernel(site, schedule.tiling).functions(site.prefix)
    else:
        written = (*_cells(site), *_statements(site), _entry(site, schedule))
    for rewrite in _passes(site):
        written = tuple(map(rewrite, written))
    return (*written, batch_function(site.prefix, written[-1].params)) if schedule.batch else written


def _passes(site: Site) -> tuple[ir.Pass, ...]:
    """What is done to every function, in this order."""
    return (flush_subnormals,) if site.flushes else ()


def _cells(site: Site) -> tuple[ir.Function, ...]:
    """What reads a cell that may lie outside the grid, of every field, where any does."""
    program, inner = site.problem.program, () if site.problem.program.analysis.sweep else site.inner
    sites = [site, *(each for _, each in (inner if site.packed else inner[:1]))]
    functions = [each.cell_function(field) for each in sites for field in program.fields]
    return tuple(each for each in functions if each is not None)


def _statements(site: Site) -> tuple[ir.Function, ...]:
    """What computes statements over rows and, where no cell of a row waits for another, over boxes."""
    functions: list[ir.Function] = []
    for number, statement in enumerate(site.problem.program.statements):
        kernel = BoxKernel(site, number)
        functions.append(kernel.cells_function())
        if kernel.code.chains > 1:
            functions.append(kernel.chains_function())
        if not site.problem.program.analysis.sweep:
            functions += kernel.functions()
        elif points.touches(site.problem, statement.field):
            functions.append(points.points_function(site, statement.field, STEP))
        elif not chained_reads(statement):
            functions += kernel.values(box_name(site, number))
    return tuple(functions)


def _entry(site: Site, schedule: CpuSchedule) -> ir.Function:
    """The order of execution; a program with a recurrence is swept, whatever the tiling."""
    problem = site.problem
    parts = catalogue.sweep(problem, schedule.tiling) if schedule.swept else None
    if parts is not None:
        return lower.entry_function(site, parts.tree, site.prefix, further=(BEGIN.name, END.name))
    tiling = NONE if problem.program.analysis.sweep else schedule.tiling
    return lower.entry_function(site, catalogue.tree(problem, tiling), site.prefix)

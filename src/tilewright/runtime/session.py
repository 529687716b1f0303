"""The state of a run in memory: filled once from the caller's arrays, advanced by a kernel as often as one likes.

A *halo* makes a periodic grid tileable: the grid lies inside a larger one, surrounded by periodic copies of itself. The
kernel runs on the larger grid with ``fixed`` edges, so what is wrong creeps inwards by the reach per step; before it
arrives at the grid proper, the copies are refreshed.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.facts import fact
from tilewright.base.intmath import round_up
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.dependences import overwrites_its_input
from tilewright.programs.stencil.expression import reads
from tilewright.programs.stencil.forms import Extended
from tilewright.programs.stencil.points import Index
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import Storage
from tilewright.runtime import memory
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.index_tables import IndexTables, scalar_table
from tilewright.runtime.memory import Array, Layout, Workspace
from tilewright.runtime.points import Look, PointData, PointTables

Ranges = tuple[tuple[int, int], ...]
_SMALL = 2**20  # bytes up to which a run copies with one thread
_SLAB = 2**18  # bytes of a field of which NumPy computes at a time
_SPREAD_BYTES = 2**23  # bytes of halos from which on several threads fill them
SHARED = Workspace(keep=2**29, offer=True)
"""Memory of earlier runs: taking it anew costs a page fault and a clearing per page, a tenth of a run of 100 steps, or
more than the run itself where the machine is a virtual one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a run starts from."""

    # by field, newest first, of the problem's shape and any layout; none where ``settle`` follows before the first step
    arrays: Mapping[str, Sequence[Array]]
    scalars: Mapping[str, Any]  # by name
    out: Mapping[str, Array] | None = None  # for the updated fields; None for new arrays
    points: PointData | None = None
    traces: Mapping[str, Array] | None = None  # by field, for what receivers record; None where nothing wants it
    first: int = 0  # steps that lie behind the arrays; sources go on from there
    traced_from: int = 0  # steps before those of the traces' first rows


class Session:
    """A problem in memory, advanced by a kernel.

    Not for several threads at a time. :meth:`close` hands the memory back.
    """

    def __init__(
        self,
        compiled: CompiledKernel,
        problem: Problem,  # of any shape and steps
        inputs: Inputs,  # only read
        threads: int,
        *,
        halo: Extended | None = None,
        workspace: Workspace | None = None,  # that of earlier runs by default
    ) -> None:
        self.problem = problem
        self._program = (problem if halo is None else halo.problem).program  # that of the kernel
        self._fields, self._once = self._program.fields, self._program.once
        self.steps = 0  # steps done so far
        self._compiled, self._halo, storage = compiled, halo, compiled.storage
        self._threads = threads
        whole = problem if halo is None else halo.problem
        self._tables = IndexTables(compiled.layout, problem, inputs.scalars, halo, storage.subdomains)
        layouts = tuple((field, each.layout) for field, each in self._tables.parts.items())
        self._static = static = _static(problem, whole, storage, compiled.layout.copies, layouts)
        self._layout, self._offsets = static.layout, static.offsets
        self._flips = max(compiled.layout.copies) <= 2
        self._version = 0
        self._exact = 0 if halo is None else halo.block
        total = static.own + compiled.layout.scratch * threads
        results = sum(math.prod(storage.shape(field, problem.shape)) for field in static.updated)
        self._check(total + (0 if inputs.out else problem.itemsize * results))
        small = total <= _SMALL
        self._copiers = 1 if small else threads
        self._workspace = SHARED if workspace is None else workspace
        self._buffer = self._workspace.take(max(total, _SMALL))
        self._address = self._buffer.ctypes.data
        self._arguments = self._fixed_arguments(whole, inputs)
        self._first, self._points = inputs.first, point_tables(problem, inputs, halo, workspace)
        self._series: dict[str, int] = {}
        self._fill(inputs)

    def advance(self, steps: int, *, last: bool = False) -> None:
        """Compute further steps, the interpreter's lock being free; ``last``: older versions need not be kept."""
        while steps > 0:
            now = steps if self._points is None else min(steps, self._points.most)
            if self._halo is not None:
                if self._exact == 0:
                    self._compute_once()
                    self._refresh(itertools.chain(self._history(), ((name, 0) for name, _ in self._once)))
                    self._exact = self._halo.block
                now = min(now, self._exact)
                self._exact -= now
            steps -= now
            for part in self._parts(now, last=last and steps == 0):
                self._call(part)
                self.steps += part

    def _parts(self, steps: int, *, last: bool) -> Iterator[int]:
        # Kernels that go back and forth between two sets of versions write all older ones into the set of the newest.
        # These are their own places after a multiple of the history, and where a single step leaves them alone.
        history = max(self._static.histories)
        single = 0 if self._flips or last else steps % history
        if steps > single:
            yield steps - single
        yield from [1] * single

    def newest(self, field: str, age: int = 0) -> Array:
        """Return a view of a field's newest version, or of the one ``age`` steps before it while that is kept."""
        whole = self._grid(self._slot(field, age))
        part = self._tables.parts.get(field)
        return whole if part is None else part.cut(whole, self.problem.shape)

    def replace(self, field: str, values: Array) -> None:
        """Set every cell of a field that no statement updates, its periodic copies included."""
        self._copy([(self.newest(field), values)])
        self._compute_once()
        self._refresh(iter([(field, 0), *((name, 0) for name, _ in self._once)]))

    def begin(self, arrays: Mapping[str, Sequence[Array]], first: int = 0) -> None:
        """Start again from the same run's states after ``first`` steps: what no step changes stays as it is."""
        self._version = self.steps = 0
        self._first = first
        moving = [each for each in self._static.copies_in if each[0] in self._static.updated]
        self._put_in(arrays, [each for each in moving if each[1] < self.problem.program.history(each[0])])

    def settle(self, first: int) -> None:
        """Take as the state what was put into every version that :meth:`newest` shows, of a session without arrays."""
        self._compute_once()
        self._first, pairs = first, []
        for field, age, part, source in self._static.copies_in:
            if age > source or age >= self.problem.program.history(field):
                target, values = self.newest(field, age), self.newest(field, source)
                pairs.append((target, values) if part is None else (target[part], values[part]))
        self._copy(pairs)

    def address(self, field: str, age: int = 0) -> int:
        """Return where a field's newest version lies, or that ``age`` steps before it while it is kept."""
        return self._slot(field, age).ctypes.data

    def read_from(self, field: str, address: int) -> None:
        """Say where a field with a version per step has the next one; those of later steps lie before it."""
        self._series[field] = address

    def results(self, out: Mapping[str, Array] | None = None, age: int = 0) -> dict[str, Array]:
        """Copy the version ``age`` steps before the newest, of every updated field that keeps it."""
        lend, dtype = self._workspace.lend_grid, self.problem.dtype
        fields = [field for field in self._static.updated if age < self.problem.program.history(field)]
        shapes = {field: self._compiled.storage.shape(field, self.problem.shape) for field in fields}
        targets = {field: lend(shapes[field], dtype) if out is None else out[field] for field in fields}
        self._copy([(target, self.newest(field, age)) for field, target in targets.items()])
        return targets

    def close(self) -> None:
        """Hand the memory back; views of it must not be used any more."""
        self._workspace.give(self._buffer)

    def _check(self, size: int) -> None:
        memory.check_memory(size)

    def _copies(self, field: str) -> int:
        return self._compiled.layout.copies[self.problem.program.fields.index(field)]

    def _slot(self, field: str, age: int) -> Array:
        """One version with its halo."""
        number = self._fields.index(field)
        copies = self._compiled.layout.copies[number]
        slot = (self._version - age - self._compiled.layout.states) % copies
        layout = self._static.layouts[number]
        offset = self._offsets[number] + slot * layout.slot * layout.itemsize
        return memory.view(self._buffer, offset, layout, self.problem.dtype)

    def _grid(self, whole: Array) -> Array:
        if self._halo is None:
            return whole
        spans = zip(self._halo.around, whole.shape, strict=True)
        inner: Array = whole[tuple(slice(low, extent - high) for (low, high), extent in spans)]
        return inner

    def _fixed_arguments(self, whole: Problem, inputs: Inputs) -> tuple[list[int], list[object]]:
        """Addresses of the constants, which no call changes, and the arrays they lie in."""
        needs = self._compiled.layout
        self._scalars = inputs.scalars
        self._table, self._scalar_bytes = scalar_table(self.problem, inputs.scalars, inputs.first + self.problem.steps)
        rows = [np.full(whole.shape[-1], value).astype(self.problem.dtype) for value in needs.constants]
        constants = [*(row.ctypes.data for row in rows), *self._tables.addresses, self._address + self._static.own]
        return constants, [*rows]

    def _call(self, steps: int, further_sizes: tuple[int, ...] = (0, 0)) -> None:
        """Advance the state; the kernel itself touches the caller's arrays only where the further sizes say so."""
        if self._version and not self._flips:
            self._restart()
        needs, layout = self._compiled.layout, self._layout
        odd = self._flips and self._version % 2
        turned = [copies == 2 and odd for copies in needs.copies]
        shifts = [each.slot * each.itemsize * turn for each, turn in zip(self._static.layouts, turned, strict=True)]
        starts = [
            self._address + offset + shift if copies else self._series[field]
            for field, offset, copies, shift in zip(self._fields, self._offsets, needs.copies, shifts, strict=True)
        ]
        threads = self._compiled.team(self._threads)
        distance = -layout.slot if odd else layout.slot
        strides = layout.strides[:-1]
        constants, _ = self._arguments
        scalars = self._scalars_from(self._first + self.steps, steps)
        sizes = (steps, threads, *layout.shape, *strides, distance, *further_sizes, *strides)
        further: tuple[int, ...] = ()
        if self._points is not None:
            numbers, further = self._points.before(self._first + self.steps, steps)
            constants = [*constants, *numbers]
        self._invoke(starts, sizes, scalars, constants, further)
        if self._points is not None:
            self._points.after(self._first + self.steps, steps)
        for field in self._series:
            self._series[field] -= steps * layout.slot * layout.itemsize
        self._version += steps
        if self._flips:
            self._version %= 2

    def _scalars_from(self, first: int, steps: int) -> int:
        """Return where the scalars of a step lie, those of so many steps behind one another."""
        if self._scalar_bytes and first + steps > len(self._table):  # it goes on beyond the steps of its problem
            self._table = scalar_table(self.problem, self._scalars, 2 * (first + steps))[0]
        return self._table.ctypes.data + self._scalar_bytes * first

    def _invoke(
        self,
        starts: Sequence[int],
        sizes: Sequence[int],
        scalars: int,
        constants: Sequence[int],
        further: Sequence[int],
    ) -> None:
        self._compiled.invoke(starts, sizes, scalars, constants, further)

    def _restart(self) -> None:
        """Move the versions to where the next call looks for them, where turning pointers around does not do it."""
        for field in self.problem.program.updated:
            ages = range(self.problem.program.history(field))
            versions = [self._aside(self._slot(field, age)) for age in ages]
            number = self._version
            self._version = 0
            for age, values in zip(ages, versions, strict=True):
                self._move(self._slot(field, age), values)
            self._version = number
        self._version = 0

    def _fill(self, inputs: Inputs) -> None:
        if not inputs.arrays:
            return
        self._put_in(inputs.arrays, self._static.copies_in)
        self._compute_once()
        if self._halo is not None:
            constant = ((field, 0) for field in self._fields if field not in self._halo.problem.program.updated)
            self._refresh(itertools.chain(constant, self._history()))
            self._copy_halo()

    def _compute_once(self) -> None:
        """Fill the fields that are made of coefficients, a slab of cells after the other, on several threads."""
        if not self._once:
            return
        scalars = reference.typed_scalars(self.problem.dtype, self._scalars)
        needed = {read.field for _, tape in self._once for read in reads(tape)} | {name for name, _ in self._once}
        views = {field: self.newest(field) for field in needed}

        def fill(rows: slice) -> None:
            for name, values in reference.once(self._program, lambda field: views[field][rows], scalars):
                views[name][rows] = values

        bounds = [*range(0, self.problem.shape[0], _once_rows(self.problem)), self.problem.shape[0]]
        jobs = [functools.partial(fill, slice(*pair)) for pair in itertools.pairwise(bounds)]
        memory.spread(jobs, self._copiers)

    def _put_in(
        self,
        arrays: Mapping[str, Sequence[Array]],
        copies: Sequence[tuple[str, int, tuple[slice, ...] | None, int]],
    ) -> None:
        """Copy versions in; what a fixed boundary keeps is the same in every version."""
        pairs = []
        for field, age, part, source in copies:
            levels = arrays[field]
            values = levels[min(source, len(levels) - 1)]
            subdomain = self._tables.parts.get(field)
            if subdomain is not None:
                subdomain.fill(self._grid(self._slot(field, age)), values, self.problem.shape)
                continue
            target = self.newest(field, age)
            if part is not None:
                target, values = target[part], values[part]
            pairs.append((target, values))
        self._copy(pairs)

    def _copy(self, pairs: Sequence[tuple[Array, Array]]) -> None:
        """Copy arrays to targets, none of which overlap."""
        if self._copiers == 1:
            for target, values in pairs:
                self._move(target, values)
            return
        pairs = self._compiled.copied(pairs, self._copiers)
        memory.spread([job for pair in pairs for job in memory.copy_jobs(*pair, self._copiers)], self._copiers)

    def _move(self, target: Array, values: Array) -> None:
        np.copyto(target, values, casting="unsafe")

    def _aside(self, values: Array) -> Array:
        return values.copy()

    def _history(self) -> Iterator[tuple[str, int]]:
        """Every version of an updated field that the next step reads."""
        for field, history in zip(self.problem.program.fields, self._static.histories, strict=True):
            if field in self._static.updated:
                yield from ((field, age) for age in range(history))

    def _refresh(self, versions: Iterator[tuple[str, int]]) -> None:
        if self._halo is None:
            return
        slots = [self._slot(field, age) for field, age in versions]
        jobs = [_Periodic(each, self._halo.around, self._grid(each).shape) for each in slots]
        # The team of a step that has just ended waits for the next one in a loop: new threads get no core for a while.
        halo = sum(job.whole.size - math.prod(job.shape) for job in jobs) * self._layout.itemsize
        fills = [functools.partial(job.fill, self._move) for job in jobs]
        memory.spread(fills, self._copiers if halo >= _SPREAD_BYTES else 1)

    def _copy_halo(self) -> None:
        """Give every older version outside the history some values in its halo: what is there is never used."""
        if self._halo is None:
            return
        for field in self.problem.program.updated:
            first = self._slot(field, 0)
            for age in range(self.problem.program.history(field), self._copies(field)):
                older = self._slot(field, age)
                span = [
                    (low, extent - high) for (low, high), extent in zip(self._halo.around, older.shape, strict=True)
                ]
                self._copy([(older[slab], first[slab]) for slab in memory.frame(older.shape, tuple(span))])


def _once_rows(problem: Problem) -> int:
    """Rows of a slab in which values in between stay in a cache."""
    return max(1, _SLAB * problem.shape[0] // max(1, problem.cells * problem.itemsize))


def point_tables(
    problem: Problem,  # the problem proper
    inputs: Inputs,
    halo: Extended | None = None,
    workspace: Workspace | None = None,  # where what is recorded lies
    look: Look | None = None,  # what fields are at some cells when the run begins; the arrays by default
) -> PointTables | None:
    """Return the tables of a run's sources and receivers for a kernel; None where there are none."""
    if inputs.points is None:
        return None

    def values(field: str, cells: Index) -> Array:
        return np.asarray(inputs.arrays[field][0])[np.unravel_index(cells, problem.shape)]

    return PointTables(
        inputs.points, problem, look or values, inputs.traces, workspace or SHARED, halo, begin=inputs.traced_from
    )


@dataclass(frozen=True, slots=True)
class _Periodic:
    whole: Array
    around: Ranges
    shape: tuple[int, ...]

    def fill(self, move: Callable[[Array, Array], None]) -> None:
        """Fill axis after axis: the inner axes over what the outer ones have filled already."""
        for axis, ((low, high), extent) in enumerate(zip(self.around, self.shape, strict=True)):
            turned = np.moveaxis(self.whole, axis, 0)
            for first, last, source in periodic_pieces(low, high, extent):
                move(turned[first:last], turned[source : source + last - first])


def periodic_pieces(low: int, high: int, extent: int) -> Iterator[tuple[int, int, int]]:
    """Cut an axis's halo into copies of pieces of the grid: first cell, end, and source's first, from the halo's start.

    >>> list(periodic_pieces(3, 1, 2))
    [(0, 1, 4), (1, 3, 3), (5, 6, 3)]
    """
    for first, last in ((0, low), (low + extent, low + extent + high)):
        cuts = [first, *(c for c in range(low % extent, low + extent + high, extent) if first < c < last), last]
        for a, b in itertools.pairwise(cuts):
            if a < b:
                yield a, b, low + (a - low) % extent


@dataclass(frozen=True, slots=True)
class _Static:
    """What a session needs to know of a problem and its kernel, whatever the data."""

    layout: Layout  # of a field with its halo
    layouts: tuple[Layout, ...]  # of each field: those in subdomains have their own
    offsets: tuple[int, ...]  # where every field starts in the buffer, in bytes
    own: int  # where the threads' own memory starts
    histories: tuple[int, ...]  # versions that the next step reads, per field
    updated: tuple[str, ...]  # names of the updated fields
    # what is copied in: field, age of the version, which cells (None for all), and age of the source
    copies_in: tuple[tuple[str, int, tuple[slice, ...] | None, int], ...]


@fact
def _static(
    problem: Problem, whole: Problem, storage: Storage, copies: tuple[int, ...], parts: tuple[tuple[str, Layout], ...]
) -> _Static:
    layout, program = memory.layout(whole.shape, problem.itemsize), problem.program
    layouts = tuple(dict(parts).get(field, layout) for field in whole.program.fields)
    offsets, total = [], _lead(whole, storage)
    for count, each in zip(copies, layouts, strict=True):
        offsets.append(total)
        total += count * each.slot * each.itemsize
    histories = tuple(program.history(field) for field in program.fields)
    return _Static(
        layout=layout,
        layouts=layouts,
        offsets=tuple(offsets),
        own=round_up(total, PAGE),
        histories=histories,
        updated=program.updated,
        copies_in=tuple(_copies_in(problem, storage, copies[: len(histories)], histories)),
    )


def _lead(problem: Problem, storage: Storage) -> int:
    """Bytes before the first cell: so many that the first one that steps update starts a cache line."""
    # Where all statements update in place the vectors of a row begin there (codegen.boxes.rows.split_row), and one that
    # crosses a line takes as long as two. Others begin at multiples of a vector's length.
    program = problem.program
    firsts = {problem.spans(each)[-1][0] for each in program.statements}
    in_place = all(overwrites_its_input(program, each) for each in program.statements)
    aligned = in_place and len(firsts) == 1 and not problem.regions and not storage.states
    return -firsts.pop() * problem.itemsize % CACHE_LINE if aligned else 0


def _needed_cells(problem: Problem, field: str) -> tuple[slice, ...] | None:
    """Return the cells of a field that matter, None if all may: a sum over a region is no other cell's business."""
    if field not in dict(problem.regions) or problem.program.history(field) > 1:
        return None
    for statement in problem.program.statements:
        for read in statement.reads:
            if read.field == field and (statement.field != field or any(read.offset)):
                return None
    box = next(problem.update_box(each) for each in problem.program.statements if each.field == field)
    return tuple(slice(*span) for span in box)


def _copies_in(
    problem: Problem, storage: Storage, copies: tuple[int, ...], histories: tuple[int, ...]
) -> Iterator[tuple[str, int, tuple[slice, ...] | None, int]]:
    small = problem.cells * problem.itemsize < _SMALL // 8  # one copy of all cells is cheaper than several of few
    boxes = {statement.field: problem.update_box(statement) for statement in problem.program.statements}
    for field, count, history in zip(problem.program.fields, copies, histories, strict=True):
        if count:
            yield field, 0, _needed_cells(problem, field), 0
        if field in dict(storage.subdomains):
            yield from ((field, age, None, min(age, history - 1)) for age in range(1, count))
            continue
        if field not in boxes:
            continue
        for age in range(1, count):
            # The pieces of a version must not overlap: threads may copy them in any order.
            older = age < history and all(low < high for low, high in boxes[field])
            if small and not older:
                yield field, age, None, 0
                continue
            if older:
                yield field, age, tuple(slice(*span) for span in boxes[field]), age
            for slab in memory.frame(problem.shape, boxes[field]):
                yield field, age, slab, 0

"""Whole runs on the caller's own arrays: the first band reads them, the last one writes the results.

Only between bands does a kernel need memory of its own for the fields; nothing is copied in or out. A single step needs
no other memory at all, whatever its order: the caller's array is the version that it reads, the result the one that it
writes. What it overwrites in place is copied to the result before.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.intmath import round_up
from tilewright.codegen.emit import StencilLayout
from tilewright.programs.stencil.dependences import chained_reads, needs_no_versions, overwritten_fields
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN
from tilewright.runtime.call import address, overlap
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.index_tables import IndexTables, scalar_table
from tilewright.runtime.memory import Array, Workspace, check_memory, copy_jobs, frame, layout, spread
from tilewright.runtime.points import MOST_BYTES, PointTables, bytes_of
from tilewright.runtime.session import SHARED, Inputs, point_tables

_MOST_WASTE = 1.5
"""Cells of a tile's row per cell of the grid's up to which the state between bands is kept as the kernel orders it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Where a kernel keeps its own versions of the fields."""

    strides: tuple[int, ...]  # distances of neighbours per axis, elements; the last is 1
    distance: int  # distance between versions, elements
    lifted: bool  # whether rows are kept as the kernel orders them


def slots_of(needs: StencilLayout, problem: Problem) -> Slots:
    """Lay out a kernel's own versions for a problem."""
    plan = layout(problem.shape, problem.itemsize)
    lines, cells = problem.cells // problem.shape[-1], problem.shape[-1]
    lifted = problem.program.rank > 1 and cells <= needs.width <= _MOST_WASTE * cells
    distance = max(plan.slot, round_up(lines * needs.width, CACHE_LINE)) if lifted else plan.slot
    return Slots(strides=plan.strides, distance=distance, lifted=lifted)


def applies(compiled: CompiledKernel, problem: Problem, inputs: Inputs) -> bool:
    """Whether a kernel can work on the caller's arrays: rows one after the other, and results apart from inputs."""
    if problem.steps == 0 or not (compiled.layout.direct or _is_one_step(compiled, problem)):
        return False
    if inputs.points is not None and bytes_of(problem) * problem.steps > MOST_BYTES:
        return False
    arrays = [version for versions in inputs.arrays.values() for version in versions]
    if any(not _is_plain(array, problem) for array in arrays):
        return False
    targets = list((inputs.out or {}).values())
    if any(not _is_plain(target, problem) for target in targets):
        return False
    return not overlap(targets, arrays)


def _is_one_step(compiled: CompiledKernel, problem: Problem) -> bool:
    if not needs_no_versions(problem) or compiled.storage != PLAIN:
        return False
    # Rows of a recurrence that are computed in turn lie in the same sets of L1 where they are halves of a page apart,
    # and do not fit there together; rows of a session's own memory are spread.
    spread_out = problem.shape[-1] * problem.itemsize % (PAGE // 2) > 0
    return spread_out or not any(map(chained_reads, problem.program.statements))


def _is_plain(array: Array, problem: Problem) -> bool:
    return array.dtype == np.dtype(problem.dtype) and array.flags.c_contiguous and array.flags.aligned


def execute(
    compiled: CompiledKernel, problem: Problem, inputs: Inputs, threads: int, workspace: Workspace | None = None
) -> dict[str, Array]:
    """Run a kernel to which :func:`applies` applies on the caller's arrays; returns the newest updated fields."""
    run = _in_bands if compiled.layout.direct else _in_one_step
    return run(compiled, problem, inputs, threads, workspace or SHARED)


def _in_bands(
    compiled: CompiledKernel, problem: Problem, inputs: Inputs, threads: int, memory: Workspace
) -> dict[str, Array]:
    program, needs, storage = problem.program, compiled.layout, compiled.storage
    plan = slots_of(needs, problem)
    slots = [0 if copies == 1 else copies for copies in needs.copies]  # fields that do not change stay where they are
    index_tables = IndexTables(needs, problem, inputs.scalars, subdomains=storage.subdomains, padded=False)
    part_slots = {field: each.layout.slot for field, each in index_tables.parts.items()}
    distances = [part_slots.get(field, plan.distance) for field in program.fields]
    own = round_up(sum(a * b for a, b in zip(slots, distances, strict=True)) * problem.itemsize, PAGE)
    total = own + needs.scratch * threads
    shapes = {field: storage.shape(field, problem.shape) for field in program.updated}
    cells = sum(map(math.prod, shapes.values()))
    check_memory(total + (0 if inputs.out else cells * problem.itemsize))
    points = point_tables(problem, inputs, workspace=memory)
    results = _results(problem, inputs, shapes, memory)
    buffer = memory.take(max(total, PAGE))
    try:
        start = address(buffer)
        versions = {
            field: _versions(problem, field, inputs.arrays[field], threads, memory, apart=field in part_slots)
            for field in program.fields
        }
        starts = []
        for field, count, distance in zip(program.fields, slots, distances, strict=True):
            starts.append(start if count else address(versions[field][0]))
            start += count * distance * problem.itemsize
        callers = [address(version) for field in program.fields for version in versions[field]]
        pointers = [*starts, *callers, *(address(results[field]) for field in program.updated)]
        memories = [*plan.strides[:-1], plan.distance, 1 + plan.lifted, 1]
        tables = [*index_tables.addresses, address(buffer) + own]
        _invoke(compiled, problem, inputs, threads, pointers, memories, tables, points)
    finally:
        memory.give(buffer)
    return results


def _in_one_step(
    compiled: CompiledKernel, problem: Problem, inputs: Inputs, threads: int, memory: Workspace
) -> dict[str, Array]:
    program, needs = problem.program, compiled.layout
    boxes = {statement.field: problem.update_box(statement) for statement in program.statements}
    check_memory(0 if inputs.out else len(boxes) * problem.cells * problem.itemsize)
    results = _results(problem, inputs, dict.fromkeys(boxes, problem.shape), memory)
    overwritten, distance = overwritten_fields(program), 0
    starts = []
    for field, copies in zip(program.fields, needs.copies, strict=True):
        levels, target = inputs.arrays[field], results.get(field)
        if target is not None:
            if field in overwritten:
                spread(copy_jobs(target, levels[min(copies, len(levels)) - 1], threads), threads)
            for slab in frame(problem.shape, boxes[field]):
                np.copyto(target[slab], levels[0][slab])
            if copies == 2:
                distance = (address(target) - address(levels[0])) // problem.itemsize
        starts.append(address(levels[0] if target is None or copies == 2 else target))
    index_tables = IndexTables(needs, problem, inputs.scalars, padded=False)
    buffer = memory.take(max(needs.scratch * threads, PAGE))
    try:
        memories = [*_packed(problem), distance, 0, 0]
        _invoke(compiled, problem, inputs, threads, starts, memories, [*index_tables.addresses, address(buffer)], None)
    finally:
        memory.give(buffer)
    return results


def _results(
    problem: Problem, inputs: Inputs, shapes: Mapping[str, tuple[int, ...]], memory: Workspace
) -> dict[str, Array]:
    return {
        field: memory.lend_grid(shape, problem.dtype) if inputs.out is None else inputs.out[field]
        for field, shape in shapes.items()
    }


def _packed(problem: Problem) -> list[int]:
    """Distances of neighbours along the outer axes where rows lie one after the other."""
    return [math.prod(problem.shape[axis + 1 :]) for axis in range(problem.program.rank - 1)]


def _invoke(  # noqa: PLR0913, PLR0917  (what a call of a kernel is made of)
    compiled: CompiledKernel,
    problem: Problem,
    inputs: Inputs,
    threads: int,
    pointers: Sequence[int],
    memories: Sequence[int],  # of a call's sizes, those between the extents and the strides of the caller's arrays
    tables: Sequence[int],  # addresses behind the rows of constants
    points: PointTables | None,
) -> None:
    """Run all steps."""
    sizes = [problem.steps, compiled.team(threads), *problem.shape, *memories, *_packed(problem)]
    scalars, each = scalar_table(problem, inputs.scalars, inputs.first + problem.steps)
    rows = [np.full(problem.shape[-1], value).astype(problem.dtype) for value in compiled.layout.constants]
    constants = [*map(address, rows), *tables]
    further: tuple[int, ...] = ()
    if points is not None:
        numbers, further = points.before(inputs.first, problem.steps)
        constants += numbers
    compiled.invoke(pointers, sizes, address(scalars) + each * inputs.first, constants, further)
    if points is not None:
        points.after(inputs.first, problem.steps)


def _versions(
    problem: Problem,
    field: str,
    levels: Sequence[Array],
    threads: int,
    memory: Workspace,
    *,
    apart: bool,  # it lives in a subdomain: its cells at the edges are those of its own array's, if of any
) -> list[Array]:
    # The oldest that was given stands for all that are older still. Cells that no step updates have the newest
    # version's value in all of them; where the caller's differ there, the run needs a copy.
    history = problem.program.history(field)
    boxes = [problem.update_box(statement) for statement in problem.program.statements if statement.field == field]
    slabs = frame(problem.shape, boxes[0]) if boxes and history > 1 and not apart else []
    newest, result = levels[0], [levels[0]]
    for age in range(1, history):
        array = levels[min(age, len(levels) - 1)]
        if any(not np.array_equal(array[slab], newest[slab]) for slab in slabs):
            copied = memory.copied(array, threads, problem.dtype)
            for slab in slabs:
                np.copyto(copied[slab], newest[slab])
            array = copied
        result.append(array)
    return result

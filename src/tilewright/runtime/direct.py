"""Whole runs on the caller's own arrays: the first band reads them, the last one writes the results.

Only between bands does a kernel need memory of its own for the fields; nothing is copied in or out. A single step needs
no other memory at all, whatever its order: the caller's array is the version that it reads, the result the one that it
writes. What it overwrites in place is copied to the result before.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.intmath import round_up
from tilewright.codegen.emit import StencilLayout
from tilewright.programs.stencil.dependences import needs_no_versions, overwrites_given
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN
from tilewright.runtime.call import address, overlap
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.index_tables import IndexTables, scalar_table
from tilewright.runtime.memory import Array, Workspace, check_memory, copy_jobs, frame, layout, spread
from tilewright.runtime.points import MOST_BYTES, bytes_of
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
    if problem.steps == 0 or not (compiled.layout.direct or needs_no_versions(problem)):
        return False
    if not compiled.layout.direct and compiled.storage != PLAIN:
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


def _is_plain(array: Array, problem: Problem) -> bool:
    return array.dtype == np.dtype(problem.dtype) and array.flags.c_contiguous and array.flags.aligned


def execute(
    compiled: CompiledKernel, problem: Problem, inputs: Inputs, threads: int, workspace: Workspace | None = None
) -> dict[str, Array]:
    """Run a kernel to which :func:`applies` applies on the caller's arrays; returns the newest updated fields."""
    if not compiled.layout.direct:
        return _in_one_step(compiled, problem, inputs, threads, workspace or SHARED)
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
    memory = workspace or SHARED
    tables = point_tables(problem, inputs, workspace=memory)
    results = {
        field: memory.lend_grid(shape, problem.dtype) if inputs.out is None else inputs.out[field]
        for field, shape in shapes.items()
    }
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
        packed = [math.prod(problem.shape[axis + 1 :]) for axis in range(program.rank - 1)]
        pointers = [*starts, *callers, *(address(results[field]) for field in program.updated)]
        team = compiled.team(threads)
        sizes = [problem.steps, team, *problem.shape, *plan.strides[:-1], plan.distance, 1 + plan.lifted, 1, *packed]
        scalars, each = scalar_table(problem, inputs.scalars, inputs.first + problem.steps)
        rows = [np.full(problem.shape[-1], value).astype(problem.dtype) for value in needs.constants]
        constants = [*map(address, rows), *index_tables.addresses, address(buffer) + own]
        further: tuple[int, ...] = ()
        if tables is not None:
            numbers, further = tables.before(inputs.first, problem.steps)
            constants += numbers
        compiled.invoke(pointers, sizes, address(scalars) + each * inputs.first, constants, further)
        if tables is not None:
            tables.after(inputs.first, problem.steps)
    finally:
        memory.give(buffer)
    return results


def _in_one_step(
    compiled: CompiledKernel, problem: Problem, inputs: Inputs, threads: int, memory: Workspace
) -> dict[str, Array]:
    program, needs, itemsize = problem.program, compiled.layout, problem.itemsize
    boxes = {statement.field: problem.update_box(statement) for statement in program.statements}
    check_memory(0 if inputs.out else len(boxes) * problem.cells * itemsize)
    results, starts, distance = dict[str, Array](), list[int](), 0
    for field, copies in zip(program.fields, needs.copies, strict=True):
        levels, box = inputs.arrays[field], boxes.get(field)
        if box is None:
            starts.append(address(levels[0]))
            continue
        target = memory.lend_grid(problem.shape, problem.dtype) if inputs.out is None else inputs.out[field]
        results[field] = target
        if overwrites_given(program, field):
            spread(copy_jobs(target, levels[min(copies, len(levels)) - 1], threads), threads)
        if copies > 1:
            for slab in frame(problem.shape, box):
                np.copyto(target[slab], levels[0][slab])
            distance = (address(target) - address(levels[0])) // itemsize
        starts.append(address(target if copies == 1 else levels[0]))
    tables = IndexTables(needs, problem, inputs.scalars, padded=False)
    packed = [math.prod(problem.shape[axis + 1 :]) for axis in range(program.rank - 1)]
    sizes = [1, compiled.team(threads), *problem.shape, *packed, distance, 0, 0, *packed]
    scalars, each = scalar_table(problem, inputs.scalars, inputs.first + 1)
    rows = [np.full(problem.shape[-1], value).astype(problem.dtype) for value in needs.constants]
    buffer = memory.take(max(needs.scratch * threads, PAGE))
    try:
        constants = [*map(address, rows), *tables.addresses, address(buffer)]
        compiled.invoke(starts, sizes, address(scalars) + each * inputs.first, constants, ())
    finally:
        memory.give(buffer)
    return results


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

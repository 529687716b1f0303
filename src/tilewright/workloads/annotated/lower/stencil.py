"""A call of the stencil compiler's kernel in the place of annotated loops, as C text."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tilewright.codegen.emit import StencilLayout
from tilewright.codegen.print.base import Block, blocks
from tilewright.codegen.print.elements import C_ELEMENTS
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import Tiling
from tilewright.workloads.annotated.lower.harness import region_text
from tilewright.workloads.annotated.lower.lowering import text
from tilewright.workloads.annotated.nests.nest import Expr, Stmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """A region that the stencil compiler computes."""

    problem: Problem  # its steps are those of the tuning, the call's own are ``steps``
    entry: str  # the kernel's function
    layout: StencilLayout  # what its arguments hold
    tiling: Tiling
    steps: Expr  # number of steps, as an expression of C
    strides: tuple[int, ...]  # distances along the outer axes in the kernel's memory, elements
    slot: int  # distance between versions of a field there, elements
    lifted: bool  # whether rows are kept there in the kernel's own order
    # per updated field its cells, first and last per axis
    boxes: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    mirrors: tuple[tuple[str, str], ...] = ()  # arrays that receive a field's box too, with the field
    sizes: tuple[tuple[str, int], ...] = ()  # names and what they must be for the grid to have the problem's shape
    old: Stmt  # the loops, for other shapes and for want of memory

    @property
    def ctype(self) -> str:
        """C's name of the element type."""
        return C_ELEMENTS[self.problem.dtype]


def call_head() -> str:
    """Return what calls need at the top of a file."""
    return _texts()["head"].text


def call_text(call: Handover) -> str:
    """Print the code that takes memory, runs the kernel and leaves the newest values in the arrays."""
    problem, layout, fields = call.problem, call.layout, call.problem.program.fields
    updated, extent = problem.program.updated, problem.shape[-1]
    # What no step changes stays where it is.
    slots = [count if name in updated else 0 for name, count in zip(fields, layout.copies, strict=True)]
    results = len(updated) if layout.direct else 0
    put = partial(_put, {"type": call.ctype, "slot": call.slot, "time": call.tiling.time, "entry": call.entry})
    rows = (put("row", place=place, value=repr(x), extent=extent) for place, x in enumerate(layout.constants))
    return put(
        "whole",
        steps=text(call.steps),
        cells=problem.cells,
        places=len(fields) * 2 + len(updated),
        fits=_fits(call),
        room=f"{sum(slots) * call.slot + len(layout.constants) * extent} + {results} * (size_t)tw_cells",
        scratch=max(layout.scratch, 64),
        constants=len(layout.constants),
        pointers=len(layout.constants) + 1,
        rows="".join(rows),
        scalars=", ".join(problem.program.scalars) or "0",
        call="".join((_direct_calls if layout.direct else _copy_calls)(call, slots, put)),
        mirrors="".join(_mirrors(call, put)),
        old=region_text(call.old, 3),
    )


def _texts() -> Mapping[str, Block]:
    return blocks("stencil.h", Path(__file__).parent)


def _put(words: Mapping[str, object], name: str, **more: object) -> str:
    return _texts()[name].filled({key: str(value) for key, value in {**words, **more}.items()})


def _fits(call: Handover) -> str:
    """Arrays of the grid's shape that lie apart, which the kernel is for; no step at all is left to the loops."""
    arrays = sorted({*call.problem.program.fields, *(target for target, _ in call.mirrors)})
    ends = {name: f"(const char *)(({call.ctype} *){name} + tw_cells)" for name in arrays}
    apart = [
        f"({ends[a]} <= (const char *){b} || {ends[b]} <= (const char *){a})"
        for a, b in itertools.combinations(arrays, 2)
    ]
    return " && ".join(["tw_steps > 0", *(f"{name} == {value}" for name, value in call.sizes), *apart])


def _numbers(call: Handover, *more: int) -> str:
    return ", ".join(map(str, (*call.problem.shape, *call.strides, call.slot, *more)))


def _packed_strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape) - 1)]


def _direct_calls(call: Handover, slots: Sequence[int], put: Callable[..., str]) -> Iterator[str]:
    """The first steps read the arrays themselves; the last ones write them, unless they are the first as well."""
    program, shape = call.problem.program, call.problem.shape
    own = {name: f"({call.ctype} *){name}" for name in program.fields}
    for place, (name, count) in enumerate(zip(program.fields, slots, strict=True)):
        yield put("field", place=place, start="tw_next" if count else own[name])
        if count:
            yield put("next", count=count * call.slot)
    before = [name for name in program.fields for _ in range(program.history(name))]
    for place, name in enumerate(before, len(slots)):
        yield put("field", place=place, start=own[name])
    written = list(enumerate(program.updated, len(slots) + len(before)))
    for number, (place, name) in enumerate(written):
        apart = f"tw_next + {number} * tw_cells"
        yield put("field", place=place, start=f"tw_steps > {call.tiling.time} ? {own[name]} : {apart}")
    yield put("run", numbers=_numbers(call, 1 + call.lifted, 1, *_packed_strides(shape)))
    for place, name in written:
        yield put("written", place=place, array=name)


def _copy_calls(call: Handover, slots: Sequence[int], put: Callable[..., str]) -> Iterator[str]:
    """Every version is a copy of the array at first; the newest one is copied back."""
    fields = list(zip(call.problem.program.fields, slots, strict=True))
    for place, (name, count) in enumerate(fields):
        yield put("field", place=place, start="tw_next" if count else f"({call.ctype} *){name}")
        yield put("versions", count=count, array=name)
        yield put("next", count=count * call.slot)
    yield put("run", numbers=_numbers(call, 0, 0, *call.strides))
    for place, (name, count) in enumerate(fields):
        if name in call.problem.program.updated:
            yield put("newest", place=place, array=name, count=count)


def _mirrors(call: Handover, put: Callable[..., str]) -> Iterator[str]:
    """Copy the newest values of a box to the arrays that the loops leave them in as well."""
    shape = call.problem.shape
    for target, source in call.mirrors:
        counters = [f"tw_i{axis}" for axis in range(len(shape))]
        ends = zip(counters, call.boxes[source], strict=True)
        loops = [f"for (int64_t {c} = {low}; {c} <= {high}; {c}++)" for c, (low, high) in ends]
        at = " + ".join([*(f"{c} * {s}" for c, s in zip(counters, _packed_strides(shape), strict=False)), counters[-1]])
        pragma = "#pragma omp parallel for\n" if len(loops) > 1 else ""
        yield pragma + put("mirror", loops=" ".join(loops), target=target, source=source, at=at)

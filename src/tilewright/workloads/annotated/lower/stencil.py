"""A call of the stencil compiler's kernel in the place of annotated loops, as C text."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.codegen.emit import StencilLayout
from tilewright.codegen.print.elements import C_ELEMENTS
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import Tiling
from tilewright.workloads.annotated.lower.harness import region_text
from tilewright.workloads.annotated.lower.lowering import text
from tilewright.workloads.annotated.nests.nest import Expr, Stmt

HEAD = """#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef _OPENMP
#include <omp.h>
#endif
static void *tw_memory(size_t bytes) {
  const size_t unit = bytes < 2097152 ? 4096 : 2097152;
  void *start = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
#ifdef MADV_HUGEPAGE
  if (start && unit > 4096) madvise(start, (bytes + unit - 1) / unit * unit, MADV_HUGEPAGE);
#endif
  return start;
}
"""
"""What calls need at the top of a file."""


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


def call_text(what: Handover) -> str:
    """Print the code that takes memory, runs the kernel and leaves the newest values in the arrays."""
    problem, layout, kind = what.problem, what.layout, what.ctype
    updated, fields = problem.program.updated, problem.program.fields
    # What no step changes stays where it is.
    slots = [count if name in updated else 0 for name, count in zip(fields, layout.copies, strict=True)]
    results = len(updated) if layout.direct else 0
    steps = text(what.steps)
    constants = len(layout.constants) * problem.shape[-1]
    room = f"{sum(slots) * what.slot + constants} + {results} * (size_t)tw_cells"
    out = [
        "  {",
        f"    const int64_t tw_steps = {steps} > 0 ? {steps} : 0, tw_cells = {problem.cells};",
        "    int64_t tw_threads = 1;",
        "#ifdef _OPENMP",
        "    tw_threads = omp_get_max_threads();",
        "#endif",
        f"    {kind} *tw_field[{len(fields) * 2 + len(updated)}], *tw_state = 0, *tw_next;",
        "    char *tw_scratch = 0;",
        f"    if ({_fits(what)}) {{",
        f"      tw_state = ({kind} *)tw_memory(({room}) * sizeof({kind}));",
        f"      tw_scratch = (char *)tw_memory({max(layout.scratch, 64)} * (size_t)tw_threads);",
        "    }",
        "    if (tw_state && tw_scratch) {",
        "      tw_next = tw_state;",
        *_constants(what),
        f"      const {kind} tw_scalar[] = {{{', '.join(problem.program.scalars) or '0'}}};",
        *(_direct(what, slots) if layout.direct else _copied(what, slots)),
        *_mirrors(what),
        "    } else {",
        region_text(what.old, 3).rstrip("\n"),
        "    }",
        "    free(tw_scratch);",
        "    free(tw_state);",
        "  }",
        "",
    ]
    return "\n".join(out)


def _fits(what: Handover) -> str:
    """Arrays of the grid's shape that lie apart, which the kernel is for; no step at all is left to the loops."""
    arrays = sorted({*what.problem.program.fields, *(target for target, _ in what.mirrors)})
    ends = {name: f"(const char *)(({what.ctype} *){name} + tw_cells)" for name in arrays}
    apart = [
        f"({ends[a]} <= (const char *){b} || {ends[b]} <= (const char *){a})"
        for a, b in itertools.combinations(arrays, 2)
    ]
    return " && ".join(["tw_steps > 0", *(f"{name} == {value}" for name, value in what.sizes), *apart])


def _constants(what: Handover) -> list[str]:
    """Rows of the kernel's constants, then each thread's own memory."""
    layout, kind, extent = what.layout, what.ctype, what.problem.shape[-1]
    out = [f"      const {kind} *tw_constant[{len(layout.constants) + 1}];"]
    for number, value in enumerate(layout.constants):
        out += [
            f"      for (int tw_c = 0; tw_c < {extent}; tw_c++) tw_next[tw_c] = {value!r};",
            f"      tw_constant[{number}] = tw_next;",
            f"      tw_next += {extent};",
        ]
    return [*out, f"      tw_constant[{len(layout.constants)}] = ({kind} *)tw_scratch;"]


def _size(what: Handover, *more: str) -> str:
    numbers = [*what.problem.shape, *what.strides, what.slot, *more]
    return f"      const int64_t tw_size[] = {{tw_steps, tw_threads, {', '.join(str(each) for each in numbers)}}};"


def _call(what: Handover) -> str:
    kind = what.ctype
    return f"      {what.entry}(({kind} *const *)tw_field, tw_size, tw_scalar, ({kind} *const *)tw_constant);"


def _packed(shape: Sequence[int]) -> list[str]:
    return [str(math.prod(shape[axis + 1 :])) for axis in range(len(shape) - 1)]


def _direct(what: Handover, slots: Sequence[int]) -> list[str]:
    """The first steps read the arrays themselves; the last ones write them, unless they are the first as well."""
    problem, kind = what.problem, what.ctype
    fields, updated = problem.program.fields, problem.program.updated
    out: list[str] = []
    place = 0
    for name, count in zip(fields, slots, strict=True):
        out.append(f"      tw_field[{place}] = {'tw_next' if count else f'({kind} *){name}'};")
        out += [f"      tw_next += {count * what.slot};"] if count else []
        place += 1
    for name in fields:
        for _ in range(problem.program.history(name)):
            out.append(f"      tw_field[{place}] = ({kind} *){name};")
            place += 1
    for number, name in enumerate(updated):
        apart = f"tw_next + {number} * tw_cells"
        out.append(f"      tw_field[{place + number}] = tw_steps > {what.tiling.time} ? ({kind} *){name} : {apart};")
    out += [_size(what, str(1 + what.lifted), "1", *_packed(problem.shape)), _call(what)]
    for number, name in enumerate(updated):
        bytes_ = f"(size_t)tw_cells * sizeof({kind})"
        out.append(f"      if (tw_steps <= {what.tiling.time}) memcpy({name}, tw_field[{place + number}], {bytes_});")
    return out


def _copied(what: Handover, slots: Sequence[int]) -> list[str]:
    """Every version is a copy of the array at first; the newest one is copied back."""
    kind = what.ctype
    bytes_ = f"(size_t)tw_cells * sizeof({kind})"
    out: list[str] = []
    fields = what.problem.program.fields
    for number, (name, count) in enumerate(zip(fields, slots, strict=True)):
        out.append(f"      tw_field[{number}] = {'tw_next' if count else f'({kind} *){name}'};")
        out += [
            f"      for (int tw_v = 0; tw_v < {count}; tw_v++) memcpy(tw_next + tw_v * {what.slot}, {name}, {bytes_});",
            f"      tw_next += {count * what.slot};",
        ]
    strides = [str(each) for each in what.strides]
    out += [_size(what, "0", "0", *strides), _call(what)]
    for number, (name, count) in enumerate(zip(fields, slots, strict=True)):
        if name in what.problem.program.updated:
            newest = f"tw_field[{number}] + tw_steps % {count} * {what.slot}"
            out.append(f"      memcpy({name}, {newest}, {bytes_});")
    return out


def _mirrors(what: Handover) -> list[str]:
    """Copy the newest values of a box to the arrays that the loops leave them in as well."""
    shape, kind = what.problem.shape, what.ctype
    out: list[str] = []
    for target, source in what.mirrors:
        box = what.boxes[source]
        counters = [f"tw_i{axis}" for axis in range(len(shape))]
        *outer, inner = [f"for (int64_t {c} = {a}; {c} <= {b}; {c}++)" for c, (a, b) in zip(counters, box, strict=True)]
        at = " + ".join([*(f"{c} * {s}" for c, s in zip(counters, _packed(shape), strict=False)), counters[-1]])
        out += ["#pragma omp parallel for"] if outer else []
        out.append(f"      {' '.join([*outer, inner])} (({kind} *){target})[{at}] = (({kind} *){source})[{at}];")
    return out

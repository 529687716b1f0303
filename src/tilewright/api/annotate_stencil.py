"""Handing an iterated stencil that was found in a region to the stencil compiler, time tiling included."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.api.annotate_case import Case
from tilewright.base.errors import TilewrightError, UsageError
from tilewright.codegen.emit import C_DTYPES, Kernel, emit
from tilewright.codegen.loops_c import text
from tilewright.frontends.annotated_file import LoopRegion
from tilewright.frontends.annotated_stencil import Recognised, read_stencil, recognise
from tilewright.programs.loopnest import evaluate
from tilewright.programs.problem import Problem, make_problem
from tilewright.tilings.tiling import Tiling

FLAGS = ("-O2", "-march=native", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-fopenmp")
"""How the stencil compiler's kernels are built."""
_CTYPES = {"float32": "float", "float64": "double", "int32": "int32_t", "int64": "int64_t"}
_PAGE = 4096


def stencil_code(case: Case, loop: LoopRegion) -> tuple[str, str, str] | None:
    """Return a region as a call of the stencil compiler's kernel.

    Args:
        case: The site at one size of its input.
        loop: The region.

    Returns:
        The kernel, the call, and the tiling; None if the region is no iterated stencil.

    Raises:
        UsageError: If it is written as a stencil and is none.
    """
    found = _found(case, loop)
    if found is None:
        return None
    try:
        problem = _problem(case, found)
    except TilewrightError:
        if loop.stencil:
            raise
        return None
    if problem is None:
        return None
    from tilewright.api.compile import default_tiling

    tiling = default_tiling(problem)
    source = emit(problem, tiling)
    return source.text, _call(case, found, problem, source.kernels[0], tiling), str(tiling)


def _found(case: Case, loop: LoopRegion) -> Recognised | None:
    if not loop.stencil:
        return recognise(loop.old, case.known)
    spec = case.site.spec
    lets: dict[str, Any] = {**(spec.lets if spec is not None else {}), **case.numbers, **case.known}
    written = read_stencil(loop.stencil, lets, loop.region.line)
    # The old body may leave the newest values in a second array, too.
    old = recognise(loop.old, case.known)
    return written if old is None else replace(written, box=old.box, mirror=old.mirror)


def _problem(case: Case, found: Recognised) -> Problem | None:
    """Return the problem, if the region's cells are those that the stencil updates."""
    program = found.program
    dtypes = {each.name: each.dtype for each in case.inputs}
    shapes = {name: case.shapes.get(name) for name in program.fields}
    shape = shapes[program.fields[0]]
    kinds = {dtypes.get(name, "") for name in program.fields}
    if shape is None or len(set(shapes.values())) != 1 or len(kinds) != 1 or not kinds <= set(C_DTYPES):
        if found.box:
            return None
        raise UsageError(
            f"the fields {', '.join(program.fields)} are not arrays of one shape and type", "see input_vars"
        )
    if any(name in case.shapes for name in program.scalars):
        return None
    steps = evaluate(found.steps, case.known)
    problem = make_problem(program, shape, max(0, int(steps)) if steps is not None else 2, kinds.pop(), "fixed")
    if found.box:
        updated = tuple((low, high - 1) for low, high in problem.update_box(program.statements[0]))
        if updated != found.box or (found.mirror and case.shapes.get(found.mirror) != shape):
            return None
    return problem


def _call(case: Case, found: Recognised, problem: Problem, kernel: Kernel, tiling: Tiling) -> str:
    """Print the code that lays the fields out, runs the kernel and copies the newest values back."""
    del case, tiling
    program, kind = problem.program, _CTYPES[problem.dtype]
    cells = " * ".join(str(extent) for extent in problem.shape)
    extents = ", ".join(str(extent) for extent in problem.shape)
    strides = []
    for axis in range(1, len(problem.shape)):
        product = 1
        for extent in problem.shape[axis:]:
            product *= extent
        strides.append(str(product))
    size = ", ".join(["tw_steps", "tw_threads", extents, *strides, "tw_cells"])
    first = program.fields[0]
    out = [
        "  {",
        f"    const int64_t tw_steps = {text(found.steps)} > 0 ? {text(found.steps)} : 0;",
        f"    const int64_t tw_cells = (int64_t){cells};",
        "    int64_t tw_threads = 1;",
        "#ifdef _OPENMP",
        "    tw_threads = omp_get_max_threads();",
        "#endif",
        f"    {kind} *tw_field[{len(program.fields)}];",
    ]
    for number, (name, copies) in enumerate(zip(program.fields, kernel.copies, strict=True)):
        pages = f"({copies} * (size_t)tw_cells * sizeof({kind}) + {_PAGE - 1}) / {_PAGE}"
        out += [
            f"    tw_field[{number}] = ({kind} *)aligned_alloc({_PAGE}, {pages} * {_PAGE});",
            f"    for (int tw_v = 0; tw_v < {copies}; tw_v++)",
            f"      memcpy(tw_field[{number}] + tw_v * tw_cells, {name}, (size_t)tw_cells * sizeof({kind}));",
        ]
    scalars = ", ".join(program.scalars) or "0"
    out += [f"    const {kind} tw_scalar[] = {{{scalars}}};", *_constants(kernel, problem, kind)]
    newest = f"tw_field[0] + tw_steps % {kernel.copies[0]} * tw_cells"
    out += [
        f"    const int64_t tw_size[] = {{{size}}};",
        f"    {kernel.entry}(tw_field, tw_size, tw_scalar, (const {kind} *const *)tw_constant);",
        f"    memcpy({first}, {newest}, (size_t)tw_cells * sizeof({kind}));",
    ]
    if found.mirror:
        counters = [f"tw_i{axis}" for axis in range(len(problem.shape))]
        index = "".join(f"[{each}]" for each in counters)
        loops = [
            f"for (int {c} = {low}; {c} <= {high}; {c}++)" for c, (low, high) in zip(counters, found.box, strict=True)
        ]
        out.append(f"    if (tw_steps > 0) {' '.join(loops)} {found.mirror}{index} = {first}{index};")
    out += [f"    free(tw_field[{number}]);" for number in range(len(program.fields))]
    if kernel.scratch:
        out.append("    free(tw_scratch);")
    return "\n".join([*out, "  }", ""])


def _constants(kernel: Kernel, problem: Problem, kind: str) -> list[str]:
    rows = [f"tw_row{number}" for number in range(len(kernel.constants))]
    out = []
    for row, value in zip(rows, kernel.constants, strict=True):
        extent = problem.shape[-1]
        out.append(f"    static {kind} {row}[{extent}];")
        out.append(f"    for (int tw_c = 0; tw_c < {extent}; tw_c++) {row}[tw_c] = {value!r};")
    names = list(rows)
    if kernel.scratch:
        out.append(f"    void *tw_scratch = aligned_alloc({_PAGE}, (size_t){kernel.scratch} * tw_threads);")
        names.append(f"({kind} *)tw_scratch")
    return [*out, f"    {kind} *tw_constant[] = {{{', '.join(names) or '0'}}};"]


HEAD = "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#ifdef _OPENMP\n#include <omp.h>\n#endif\n"
"""What the call needs before the kernel."""


def facts(tiling: str) -> Mapping[str, object]:
    """Return what a report says about a region that was handed over."""
    return {"stencil_tiling": tiling}

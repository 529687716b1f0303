"""The C header of an exported kernel: how a program of one's own calls it."""

from tilewright.base.units import format_shape
from tilewright.codegen.emit import StencilSource
from tilewright.codegen.print.base import MARK, in_comment
from tilewright.codegen.print.elements import C_ELEMENTS, C_VALUES
from tilewright.programs.stencil.expression import Index, Inside, Profile
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import Tiling


def banner(problem: Problem, tiling: Tiling, bound: str) -> str:
    """Write the comment that a kernel's text starts with: program, tiling, and what is expected to limit it.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> from tilewright.programs.stencil.problem import make_problem
    >>> problem = make_problem(program("j2d5pt"), (64, 96), 10)
    >>> print(banner(problem, Tiling(family="none"), "12 us, bound by memory"), end="")
    /* j2d5pt, float32, tiling none
       predicted for 64x96 and 10 steps: 12 us, bound by memory; written by tilewright */
    """
    grid = f"{format_shape(problem.shape)} and {problem.steps} steps"
    about = f"{problem.program.name}, {problem.dtype}, tiling {tiling}\n   predicted for {grid}: {bound}; {MARK}"
    return f"/* {in_comment(about)} */\n"


def header(source: StencilSource, problem: Problem, tiling: Tiling) -> str:
    """Write the header of an exported kernel."""
    entry, layout, program = source.entry, source.layout[0], problem.program
    kind = C_ELEMENTS[layout.dtype]
    guard = f"{entry.upper()}_H"
    rank = program.rank
    extents = ", ".join(f"extent {axis}" for axis in range(rank))
    strides = ", ".join(f"stride {axis}" for axis in range(rank - 1))
    fields = [
        f"     field[{i}]  {name}, {count} version{'s' * (count != 1)}"
        for i, (name, count) in enumerate(zip(program.fields, layout.copies, strict=True))
    ]
    scalars = [f"     scalar[{i}]  {name}" for i, name in enumerate(program.scalars)]
    if problem.varying:
        scalars.append(f"     and so on, {len(program.scalars)} numbers for every step of the call")
    rows = [
        f"     constant[{i}]  a row of extent {rank - 1} values {value!r}" for i, value in enumerate(layout.constants)
    ]
    for node in layout.placed:
        match node:
            case Index():
                what = "itself"
            case Profile():
                what = f"its number of {node.name}"
            case Inside():
                what = f"whether it is in {node.low}:{'' if node.high is None else node.high}"
        number = len(layout.constants) + layout.placed.index(node)
        rows.append(f"     constant[{number}]  of every index along axis {node.axis} {what}, as a value of the type;")
        rows.append(f"       {layout.margin} values before and after these may be read")
    number = len(layout.constants) + len(layout.placed)
    if any(isinstance(node, Inside) for node in layout.placed):
        rows.append(
            f"     constant[{number}]  int64_t numbers: per axis the first cell and the end of a range in which"
        )
        rows.append("       none of these truth values changes, each as it is in the middle; 0 and 0 for none")
        number += 1
    if layout.scratch:
        rows.append(f"     constant[{number}]  {layout.scratch} bytes of memory per thread, on a page boundary")
    direct = ("0, 0", strides) if layout.direct else ()
    about = [
        f"{program.name}, {tiling}, tuned for {format_shape(problem.shape)} and {problem.steps} steps; {MARK}.",
        "",
        f"   {entry} advances the fields by size[0] steps.",
        f"   size: steps, threads, {', '.join(part for part in (extents, strides, 'slot', *direct) if part)};",
        "   strides and slot, the distance between the versions of a field, are in elements; rows are contiguous.",
        "   Version v of a field lies in slot v modulo its number of versions; the first state is version 0, older",
        "   time levels are the versions before it. Cells that no step updates hold the same value in every version.",
        *fields,
        *scalars,
        *rows,
        "   Compile the source with: cc -O2 -march=native -fwrapv -fno-math-errno -fno-trapping-math -fopenmp -lm",
    ]
    lines = [
        f"/* {in_comment(chr(10).join(about))} */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"void {entry}({kind} *const *field, const int64_t *size, const {C_VALUES[layout.dtype]} *scalar,",
        f"  const {kind} *const *constant);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)

"""What is written beside an exported kernel: the C header that a program of one's own calls it by, or a host program.

A host program around kernels for GPUs has memory, arguments and launches in CUDA's or OpenCL's run-time calls. It
computes a run of the problem that the kernels were exported for, on numbers that it makes itself, so that a program of
one's own begins from one that is known to work.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.units import format_shape
from tilewright.codegen.emit import StencilSource
from tilewright.codegen.gpu.site import DeviceLayout, Launch, dated
from tilewright.codegen.print.base import MARK, blocks, in_comment
from tilewright.codegen.print.dialects import host_head
from tilewright.codegen.print.elements import C_ELEMENTS, C_VALUES
from tilewright.codegen.source import KernelSource
from tilewright.programs.stencil import printing
from tilewright.programs.stencil.expression import Index, Inside, Profile
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
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
        f"     field[{i}]  {name}, {count} version{'s' * (count != 1)}{_origin(name, program)}"
        for i, (name, count) in enumerate(zip(program.fields, layout.copies, strict=True))
    ]
    fields += [f"       {line}" for line in printing.lines(program.before)] if program.once else []
    scalars = [f"     scalar[{i}]  {name}" for i, name in enumerate(program.scalars)]
    if problem.varying:
        scalars.append(f"     and so on, {len(program.scalars)} numbers for every step of the call")
    rows = [
        f"     constant[{i}]  a row of extent {rank - 1} values {value!r}" for i, value in enumerate(layout.constants)
    ]
    for node in layout.placed:
        match node:
            case Index():
                content = "itself"
            case Profile():
                content = f"its number of {node.name}"
            case Inside():
                content = f"whether it is in {node.low}:{'' if node.high is None else node.high}"
        number = len(layout.constants) + layout.placed.index(node)
        rows.append(
            f"     constant[{number}]  of every index along axis {node.axis} {content}, as a value of the type;"
        )
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRun:
    """What a host program runs."""

    problem: Problem  # what the kernels compute: the problem on the grid with its periodic copies, if it has some
    shape: tuple[int, ...]  # extents of the grid proper
    below: tuple[int, ...]  # periodic copies below it, per axis
    room: tuple[int, ...]  # extents in memory of the grid with its copies
    slot: int  # elements from one version of a field to the next one
    steps: int
    newest: int  # slot of the version that they end with, modulo the versions kept
    turns: int  # how often the repeated launches are made
    repeated: Sequence[Launch]  # launches that are made so often
    rest: Sequence[Launch]  # launches after those
    scalars: Sequence[Any]  # values of the scalars that do not vary
    table: np.ndarray[Any, np.dtype[Any]] | None  # what kernels look up, or None


def host_program(source: KernelSource[DeviceLayout], run: HostRun, file: str) -> str:
    """Write the host program: CUDA C++ that includes the kernels' file beside it, or C that has OpenCL compile it."""
    cuda, program = source.dialect == "cuda", run.problem.program
    build = f"nvcc -O3 -std=c++17 -arch=native{' -fmad=false' * source.strict}" if cuda else "cc -O2"
    own = f"{file.rpartition('.')[0]}_main.{'cu' if cuda else 'c'}"
    about = [
        f"Runs the kernels of {file} on {format_shape(run.shape)} cells for {run.steps} steps, from made-up values.",
        f"Build: {build} {own} -o {file.rpartition('.')[0]}{'' if cuda else ' -lOpenCL'}",
        f"An argument names a file for the results, the fields one after the other; {MARK}.",
    ]
    kind = C_ELEMENTS[run.problem.dtype]
    launches = [*run.repeated, *run.rest]
    width = 2 + max((len(each.numbers) for each in launches), default=0)
    rows = [(each.kernel, each.groups, *each.numbers) for each in launches]
    listed = [f"  {{{', '.join(map(str, row))}}}," for row in rows or [(0,)]]
    constants = {
        "RANK": len(run.shape),
        "FIELDS": len(program.fields),
        "KERNELS": len(source.kernels),
        "STEPS": run.steps,
        "NEWEST": run.newest,
        "TURNS": run.turns,
        "REPEATED": len(run.repeated),
        "REST": len(run.rest),
        "TEXT": len(source.text.encode()),
    }
    text = [
        f"/* {in_comment(chr(10).join(about))} */",
        host_head(source.dialect).rstrip("\n"),
        "#include <stdint.h>",
        *([f'#include "{file}"'] if cuda else []),
        "",
        f"typedef {kind} real;",
        f"enum {{ {', '.join(f'{name} = {value}' for name, value in constants.items())} }};",
        f"static const real SCALE = {11 if run.problem.dtype.startswith('float') else 1};",
        f"static const int64_t SLOT = {run.slot}, CELLS = {math.prod(run.room)}, GRID = {math.prod(run.shape)};",
        _array("int64_t", "WHOLE", run.room),
        _array("int64_t", "SHAPE", run.shape),
        _array("int64_t", "BELOW", run.below),
        _array("int", "COPIES", source.layout.copies),
        _array("int", "UPDATED", [int(name in program.updated) for name in program.fields]),
        _array("char *const", "NAMES", [f'"{name}"' for name in program.fields]),
        *([] if run.table is None else [_array("real", "TABLE", [_literal(each) for each in run.table.tolist()])]),
        *([] if cuda else _opencl_kernels(source)),
        f"/* Kernel, groups and numbers of every launch; the first {len(run.repeated)} are made {run.turns} times. */",
        f"static const int LAUNCHES[][{width}] = {{",
        *listed,
        "};",
    ]
    return "\n".join(text) + (_cuda(source, run) if cuda else _opencl(source, run, file)) + _text("main")


def _text(name: str, **words: str) -> str:
    """A constant part, behind an empty line."""
    return "\n" + blocks("host.h", Path(__file__).parent)[name].filled(words)


def _array(kind: str, name: str, values: Sequence[object]) -> str:
    return f"static const {kind} {name}[] = {{{', '.join(map(str, values))}}};"


def _origin(name: str, program: Program) -> str:
    """Say what a field of a program's own starts from."""
    if name not in program.inner:
        return ""
    return ", any values at the start" if name in program.updated else ", computed before the first step:"


def _literal(value: float) -> str:
    return str(value).replace("inf", "INFINITY").replace("nan", "NAN")


def _opencl_kernels(source: KernelSource[DeviceLayout]) -> list[str]:
    return [
        _array("char *const", "ENTRIES", [f'"{each.entry}"' for each in source.kernels]),
        _array("int", "THREADS", [each.threads for each in source.kernels]),
        _array("int", "NUMBERS", [len(each.numbers) for each in source.kernels]),
        _array("size_t", "ROOM", [each.room_bytes for each in source.kernels]),
    ]


def _fixed(run: HostRun) -> tuple[list[str], list[str]]:
    """Whole numbers that every launch takes: of 32 bits, then of 64."""
    strides = [math.prod(run.room[axis + 1 :]) for axis in range(len(run.room) - 1)]
    return [str(extent) for extent in run.problem.shape], [*map(str, strides), str(run.slot)]


def _cuda(source: KernelSource[DeviceLayout], run: HostRun) -> str:
    narrow, wide = _fixed(run)
    fields = [f"fields[{i}]" for i in range(len(run.problem.program.fields))]
    looked_up = [*(["table"] if run.table is not None else []), *(["0"] if dated(run.problem) else [])]
    cases, more = [], []
    for number, kernel in enumerate(source.kernels):
        numbers = [f"each[{2 + i}]" for i in range(len(kernel.numbers))]
        arguments = ", ".join(
            [*fields, *narrow, *wide, *numbers, *looked_up, *(f"(real){_literal(each)}" for each in run.scalars)]
        )
        start = f"{kernel.entry}<<<each[1], {kernel.threads}, {kernel.room_bytes}>>>"
        cases.append(f"    case {number}: {start}({arguments}); break;")
        wanted = [("PreferredSharedMemoryCarveout", source.carveout)]
        if kernel.room_bytes:
            wanted.append(("MaxDynamicSharedMemorySize", kernel.room_bytes))
        for name, value in wanted:
            more.append(f"  TW_CUDA(cudaFuncSetAttribute({kernel.entry}, cudaFuncAttribute{name}, {value}));\n")
    if run.table is not None:
        more.append("  TW_CUDA(cudaMalloc((void **)&table, sizeof TABLE));\n")
        more.append("  TW_CUDA(cudaMemcpy(table, TABLE, sizeof TABLE, cudaMemcpyHostToDevice));\n")
    table = "" if run.table is None else ", *table"
    return _text("cuda", cases="\n".join(cases), more="".join(more), table=table)


def _opencl(source: KernelSource[DeviceLayout], run: HostRun, file: str) -> str:
    narrow, wide = _fixed(run)
    arguments = ["  for (int i = 0; i < FIELDS; ++i) argument(kernel, &place, sizeof fields[i], &fields[i]);"]
    for kind, values in (("cl_int", narrow), ("int64_t", wide)):
        arguments.append(f"  static const {kind} {kind}_given[] = {{{', '.join(values)}}};")
        statement = f"argument(kernel, &place, sizeof({kind}), &{kind}_given[i]);"
        arguments.append(f"  for (int i = 0; i < {len(values)}; ++i) {statement}")
    arguments.append(
        "  for (int i = 0; i < NUMBERS[each[0]]; ++i) argument(kernel, &place, sizeof(cl_int), &each[2 + i]);"
    )
    if run.table is not None:
        arguments.append("  argument(kernel, &place, sizeof table, &table);")
    if dated(run.problem):
        arguments += [
            "  static const cl_int first_step = 0;",
            "  argument(kernel, &place, sizeof(cl_int), &first_step);",
        ]
    if run.scalars:
        arguments.append(f"  static const real scalars[] = {{{', '.join(map(_literal, run.scalars))}}};")
        statement = "argument(kernel, &place, sizeof(real), &scalars[i]);"
        arguments.append(f"  for (int i = 0; i < {len(run.scalars)}; ++i) {statement}")
    more = ""
    if run.table is not None:
        whole = "CL_TRUE, 0, sizeof TABLE, (void *)TABLE, 0, NULL, NULL"
        more = "  table = room_for(device, sizeof TABLE / sizeof(real));\n"
        more += f"  TW_OPENCL(clEnqueueWriteBuffer(queue, table, {whole}));\n"
    options = '"-cl-fp32-correctly-rounded-divide-sqrt"' if source.strict else '""'
    table = "" if run.table is None else ", table"
    return _text("opencl", table=table, file=f'"{file}"', options=options, more=more, arguments="\n".join(arguments))

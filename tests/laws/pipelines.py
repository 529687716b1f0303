"""Random image pipelines: written as Python functions of stencils and grids, fused at random, run between guards.

Their reference is NumPy, one stencil after the other. Strict ones must be equal bit for bit, the others within a few
roundings per stencil: coefficients sum to at most one in size, and what is not linear enlarges no error by much.
"""

import ctypes
import inspect
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import IllegalTilingError
from tilewright.codegen.source import KernelSource
from tilewright.programs.stencil.expression import Value, apply
from tilewright.runtime.call import CompiledFunction
from tilewright.runtime.toolchains.cpu import Toolchain
from tilewright.tracing import trace
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.builder import trace_pipeline
from tilewright.workloads.pipelines.call import Step, execute
from tilewright.workloads.pipelines.fusions import Fusion
from tilewright.workloads.pipelines.lower.group import GroupLayout, emit_group
from tilewright.workloads.pipelines.problem import BORDERS, PipelineProblem, compute, make_pipeline_problem
from tilewright.workloads.pipelines.rows import RowTile

from .harness import Poisoned

_GUARD = 64
_MARK = 113
_ROUNDINGS = 24.0
"""Rounding units per stencil that a result may be off by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCase:
    """One case.

    Attributes:
        seed: Seed of the batch.
        index: Its place in the batch.
        problem: What is computed.
        fusion: How its stencils are grouped.
        tiles: One per group.
        scalars: Values of its scalars, in order.
        strict: Whether it must equal the reference bit for bit.
    """

    seed: int
    index: int
    problem: PipelineProblem
    fusion: Fusion
    tiles: tuple[RowTile, ...]
    scalars: tuple[float, ...]
    strict: bool

    def __str__(self) -> str:
        problem = self.problem
        return (
            f"pipeline {self.index} of seed {self.seed}: {fusions.text(self.fusion)} with {self.tiles} of "
            f"{problem.shape} in {problem.dtypes}, strict={self.strict}, {problem.pipeline}, {problem.borders}"
        )

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """One per input."""
        generator = np.random.default_rng([self.seed, self.index, 9])
        result = []
        for grid in self.problem.pipeline.inputs:
            kind = np.dtype(self.problem.dtype(grid))
            whole = kind.kind in "iu"
            values = (
                generator.integers(0, 120, self.problem.shape)
                if whole
                else generator.uniform(-1, 1, self.problem.shape)
            )
            result.append(values.astype(kind))
        return result


def pipeline_case(seed: int, index: int) -> PipelineCase:
    """Draw a case."""
    draw = random.Random(f"pipelines/{seed}/{index}")  # noqa: S311
    rank = draw.choices((2, 3), (80, 20))[0]
    strict = draw.random() < 0.4
    pipeline = trace_pipeline(_pipe(draw, rank, whole=strict and draw.random() < 0.5), "law")
    limit = {2: (40, 70), 3: (12, 14, 40)}[rank]
    shape = [draw.randint(1, most) for most in limit]
    kinds = {p: draw.choice(("float32", "float64")) for p in pipeline.inputs}
    one = draw.choice(("float32", "float64"))
    dtypes = [
        draw.choice(("uint8", "uint16", "int16")) if "to_float32" in _first(pipeline, grid) else one for grid in kinds
    ]
    try:
        problem = make_pipeline_problem(pipeline, shape, dtypes, _border(draw, pipeline, rank))
    except Exception as error:
        raise AssertionError(f"pipeline {index} of seed {seed}: {error}: {pipeline}") from error
    fusion, tiles = _fusion(draw, problem)
    scalars = tuple(round(draw.uniform(-0.9, 0.9), 3) for _ in pipeline.scalars)
    return PipelineCase(
        seed=seed, index=index, problem=problem, fusion=fusion, tiles=tiles, scalars=scalars, strict=strict
    )


def _first(pipeline: Any, grid: str) -> set[str]:
    """Titles of the stencils that read a grid."""
    return {stencil.title for stencil in pipeline.stencils if grid in stencil.inputs}


def _pipe(draw: random.Random, rank: int, *, whole: bool) -> Callable[..., Any]:
    """A function of one or two pictures and perhaps a number; whole numbers are converted first."""
    count = draw.randint(1, 6)
    names = ["first", "second"][: draw.choice((1, 1, 2))]
    shares = draw.random() < 0.3
    seed = draw.getrandbits(30)

    def pipe(*arguments: Any) -> Any:
        own = random.Random(seed)  # noqa: S311  (tracing calls this more than once)
        grids = list(arguments[: len(names)])
        grids = [grid.astype("float32") if whole else _apply(own, rank, [grid]) for grid in grids]
        made = list(grids)
        for place in range(count):
            chosen = [own.choice(made[-3:]), *([own.choice(made)] if own.random() < 0.5 else [])]
            number = arguments[-1] if shares and place == 0 else None
            made.append(_apply(own, rank, chosen, number))
        outputs = [made[-1], *([own.choice(made[len(grids) :])] if own.random() < 0.3 else [])]
        if whole and own.random() < 0.6:
            scaled = _apply(own, rank, [outputs[0]])
            outputs[0] = scaled.astype(
                own.choice(("uint8", "uint16", "int16", "int32")), own.choice(("nearest", "floor", "truncate"))
            )
        return tuple(outputs)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    words = [*names, *(["share"] if shares else [])]
    pipe.__signature__ = inspect.Signature([inspect.Parameter(word, kind) for word in words])  # type: ignore[attr-defined]
    return pipe


def _apply(draw: random.Random, rank: int, grids: Sequence[Any], number: Any = None) -> Any:
    """Apply a random stencil to grids."""
    names = ["u", "v"][: len(grids)]
    reach = draw.choice((0, 1, 1, 2, 3)) if rank == 2 else draw.choice((0, 1))
    places = [
        (draw.randrange(len(grids)), tuple(draw.randint(-reach, reach) for _ in range(rank)))
        for _ in range(draw.randint(1, 6))
    ] + [(k, (0,) * rank) for k in range(len(grids))]
    weights = [draw.uniform(0.2, 1.0) * draw.choice((1, 1, -1)) for _ in places]
    total = sum(map(abs, weights)) / 0.97
    form = draw.choice(("linear", "linear", "linear", "curved", "chosen"))

    def body(*arguments: Any) -> Any:
        reads = [arguments[k][offset] for k, offset in places]
        value: Value = sum(
            (round(w / total, 4) * read for w, read in zip(weights[1:], reads[1:], strict=True)),
            round(weights[0] / total, 4) * reads[0],
        )
        if len(arguments) > len(grids):
            value = value * arguments[-1]
        if form == "curved":
            return apply("sqrt", abs(value) + 0.25) - 0.5 * reads[0]
        return apply("maximum", apply("minimum", value, reads[-1]), -0.7) if form == "chosen" else value

    words = [*names, *(["share"] if number is not None else [])]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    body.__signature__ = inspect.Signature([inspect.Parameter(word, kind) for word in words])  # type: ignore[attr-defined]
    program = trace(body, "piece")
    return grids[0].apply_stencil(program, body, (*grids, *([number] if number is not None else [])))


def _border(draw: random.Random, pipeline: Any, rank: int) -> Any:
    def side() -> str:
        kind = draw.choice(BORDERS[:-1])
        return f"constant:{draw.uniform(-1, 1):.2f}" if kind == "constant" else kind

    def axis() -> Any:
        if draw.random() < 0.15:
            return "wrap"
        return side() if draw.random() < 0.6 else (side(), side())

    if draw.random() < 0.6:
        return side() if draw.random() < 0.8 else "wrap"
    return {grid: tuple(axis() for _ in range(rank)) for grid in pipeline.grids}


def _fusion(draw: random.Random, problem: PipelineProblem) -> tuple[Fusion, tuple[RowTile, ...]]:
    """A random fusion that can be streamed, with random tiles."""
    pipeline = problem.pipeline
    every = list(fusions.fusions(pipeline))
    options = [draw.choice((fusions.full(pipeline), draw.choice(every))) for _ in range(3)]
    for fusion in (*options, fusions.unfused(pipeline)):
        tiles = tuple(
            RowTile(
                width=draw.choice((16, 32, 48, 64)),
                band=draw.choice((0, 0, 1, 5, 16)),
                rows=draw.choice((1, 2, 3, 4)),
                lines=draw.choice((1, 4, 8, 32)),
            )
            for _ in fusion
        )
        try:
            for group, tile in zip(fusion, tiles, strict=True):
                emit_group(problem, group, tile)
        except IllegalTilingError:
            continue
        return fusion, tiles
    raise AssertionError(f"no fusion of {pipeline} can be streamed")


def sources(case: PipelineCase) -> list[KernelSource[GroupLayout]]:
    """The groups' texts."""
    return [emit_group(case.problem, group, tile) for group, tile in zip(case.fusion, case.tiles, strict=True)]


def compile_groups(
    groups: Sequence[KernelSource[GroupLayout]], tools: Toolchain, folder: Path, *, strict: bool
) -> dict[str, Any]:
    """Compile groups in one call of the compiler, each a unit of its own; the functions by name."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {group.entry: group.text for group in groups}
    for entry, text in texts.items():
        (folder / f"{entry}.c").write_text(text, encoding="utf-8")
    library = folder / f"groups-{strict}.so"
    files = [str(folder / f"{entry}.c") for entry in texts]
    command = [*tools.command, *tools.flags(strict=strict), "-o", str(library), *files, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = ctypes.CDLL(str(library))
    functions = {}
    for entry in texts:
        function = getattr(loaded, entry)
        function.restype, function.argtypes = None, [ctypes.c_void_p] * 4
        functions[entry] = function
    return functions


def wrong(
    case: PipelineCase, groups: Sequence[KernelSource[GroupLayout]], functions: dict[str, Any], workspace: Poisoned
) -> str:
    """Run a case; what is wrong with it, or an empty text."""
    problem = case.problem
    steps = []
    for group, tile in zip(groups, case.tiles, strict=True):
        compiled = CompiledFunction(function=functions[group.entry], parallel=True)
        steps.append(Step(layout=group.layout, compiled=compiled, tile=tile))
    grids = dict(zip(problem.pipeline.inputs, case.arrays(), strict=True))
    before = {grid: array.copy() for grid, array in grids.items()}
    guarded = []
    for step in steps:
        for grid in step.layout.outputs:
            raw = np.full(problem.cells * problem.itemsize(grid) + 2 * _GUARD, _MARK, np.uint8)
            guarded.append((grid, raw))
            grids[grid] = raw[_GUARD:-_GUARD].view(problem.dtype(grid)).reshape(problem.shape)
    execute(problem, steps, grids, case.scalars, 2, workspace)
    torn = workspace.torn()
    if torn:
        return torn
    for grid, raw in guarded:
        if (raw[:_GUARD] != _MARK).any() or (raw[-_GUARD:] != _MARK).any():
            return f"it wrote outside of {grid}"
    changed = [grid for grid, array in before.items() if array.tobytes() != grids[grid].tobytes()]
    if changed:
        return f"it wrote into its input {changed[0]}"
    named = dict(zip(problem.pipeline.scalars, case.scalars, strict=True))
    exact = compute(problem, list(before.values()), named)
    for grid in problem.pipeline.outputs:
        if case.strict and exact[grid].tobytes() != grids[grid].tobytes():
            return f"{grid} is not bit-equal, first at {np.argwhere(exact[grid] != grids[grid])[:1].tolist()}"
        unit = np.finfo(exact[grid].dtype).eps if exact[grid].dtype.kind == "f" else 0.0
        allowed = _ROUNDINGS * unit * len(problem.pipeline.stencils)
        error = np.abs(exact[grid].astype(float) - grids[grid].astype(float))
        if not (error <= allowed).all():
            return f"{grid} is off by up to {np.nanmax(error):g}, allowed is {allowed:g}"
    return ""


def run_all(cases: Sequence[PipelineCase], tools: Toolchain, folder: Path, workspace: Poisoned) -> dict[int, str]:
    """Compile and run cases; what is wrong, by place."""
    found: dict[int, str] = {}
    for strict in (False, True):
        chosen = [(place, case, sources(case)) for place, case in enumerate(cases) if case.strict is strict]
        groups = [group for _, _, some in chosen for group in some]
        functions = compile_groups(groups, tools, folder / f"{strict}", strict=strict) if groups else {}
        for place, case, some in chosen:
            text = wrong(case, some, functions, workspace)
            if text:
                found[place] = text
    return found


def with_level(tools: Toolchain, level: str) -> Toolchain:
    """The compiler with another level of optimisation."""
    return replace(tools, native=(*tools.native, level)) if level else tools

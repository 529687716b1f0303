"""Workloads of codesign: the thesis' by name, one stencil, or a TOML file.

A file is::

    [[stencil]]
    program = "heat2d"          # a built-in program: reading a workload runs nobody's code
    weight = 2.0                # optional, 1 by default
    flops_per_cell = 9          # optional, the program's own by default
    sizes = [{ shape = "4096x4096", steps = 1024, weight = 0.5 }]    # optional, the thesis' 16 pairs by default
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.base import documents
from tilewright.base.documents import Shape
from tilewright.base.errors import UsageError
from tilewright.base.names import meant
from tilewright.base.paths import read_bounded
from tilewright.programs.stencil import catalogue
from tilewright.verbs.load import load_program
from tilewright.workloads.codesign.design import WeightedProblem, make_cases

IN_2D = ("jacobi2d", "heat2d", "laplacian2d", "gradient2d")
IN_3D = ("heat3d", "laplacian3d")
NAMED: Mapping[str, tuple[str, ...]] = {"2d": IN_2D, "3d": IN_3D, "all": (*IN_2D, *IN_3D)}
"""The thesis' workloads, every stencil equally likely."""
_LARGEST = 2**20


def load_workload(name: str, strategies: Sequence[str] = ("tiled",)) -> tuple[WeightedProblem, ...]:
    """Return the cases of a workload: ``2d``, ``3d``, ``all``, a program, or a ``.toml`` file.

    >>> len(load_workload("all"))
    96
    """
    if name.endswith(".toml"):
        return _read(Path(name), strategies)
    if name not in NAMED and ":" not in name and name not in catalogue.names():
        hint = f"give {', '.join(NAMED)}, a program of `tilewright programs` or FILE.toml"
        raise UsageError(f"there is no workload {name!r}", meant(name, [*NAMED, *catalogue.names()], hint))
    cases = (make_cases(load_program(one), strategies=strategies) for one in NAMED.get(name, (name,)))
    return tuple(case for some in cases for case in some)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SizeEntry:
    """A size of a stencil in a file."""

    shape: Shape
    steps: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _StencilEntry:
    """A stencil of a workload in a file."""

    program: str
    weight: float = 1.0
    flops_per_cell: float | None = None
    sizes: tuple[_SizeEntry, ...] | None = None
    strategy: str | None = None


def _read(path: Path, strategies: Sequence[str]) -> tuple[WeightedProblem, ...]:
    table = documents.decode_toml(read_bounded(path, _LARGEST, "workload"), f"the workload {str(path)!r}")
    stencils = table.get("stencil")
    if set(table) != {"stencil"} or not isinstance(stencils, list) or not stencils:
        raise UsageError(
            f"the workload {path.name!r} is a list of [[stencil]] tables, got {', '.join(table) or 'nothing'}"
        )
    cases: list[WeightedProblem] = []
    for number, stencil in enumerate(stencils, 1):
        where = f"stencil {number} of {path.name}"
        entry = documents.parse(_StencilEntry, stencil, where)
        program = catalogue.program(entry.program)
        if any(case.problem.program == program for case in cases):
            raise UsageError(f"{where}: {program.name!r} is there twice", "give it more sizes instead")
        given = entry.sizes
        sizes = None if given is None else [(size.shape, size.steps, size.weight) for size in given]
        own = () if entry.strategy is None else tuple(entry.strategy.split(","))
        flops, weight = entry.flops_per_cell, entry.weight
        cases += make_cases(program, weight=weight, sizes=sizes, flops_per_cell=flops, strategies=strategies, own=own)
    if not any(case.weight for case in cases):
        raise UsageError(f"the workload {path.name!r} must have a weight above 0")
    return tuple(cases)

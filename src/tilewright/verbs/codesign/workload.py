"""Workloads of codesign: the thesis' by name, one stencil, or a TOML file.

A file is::

    [[stencil]]
    program = "heat2d"          # a built-in program: reading a workload runs nobody's code
    weight = 2.0                # optional, 1 by default
    flops_per_cell = 9          # optional, the program's own by default
    sizes = [{ shape = "4096x4096", steps = 1024, weight = 0.5 }]    # optional, the thesis' 16 pairs by default
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tilewright.base.errors import UsageError
from tilewright.base.names import meant
from tilewright.base.paths import read_bounded
from tilewright.base.units import parse_shape
from tilewright.programs.stencil import catalogue
from tilewright.tuning.codesign.design import Size, WeightedProblem, make_cases
from tilewright.verbs.load import load_program

IN_2D = ("jacobi2d", "heat2d", "laplacian2d", "gradient2d")
IN_3D = ("heat3d", "laplacian3d")
NAMED: Mapping[str, tuple[str, ...]] = {"2d": IN_2D, "3d": IN_3D, "all": (*IN_2D, *IN_3D)}
"""The thesis' workloads, every stencil equally likely."""
_LARGEST = 2**20
_KEYS = ("program", "weight", "flops_per_cell", "sizes", "strategy")
_SIZE_KEYS = ("shape", "steps", "weight")
_T = TypeVar("_T")


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


def _read(path: Path, strategies: Sequence[str]) -> tuple[WeightedProblem, ...]:
    data = read_bounded(path, _LARGEST, "workload")
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or numbers of thousands of digits
        raise UsageError(f"the workload {str(path)!r} is not TOML: {error}") from None
    stencils = table.get("stencil")
    if set(table) != {"stencil"} or not isinstance(stencils, list) or not stencils:
        raise UsageError(
            f"the workload {path.name!r} is a list of [[stencil]] tables, got {', '.join(table) or 'nothing'}"
        )
    cases: list[WeightedProblem] = []
    for number, stencil in enumerate(stencils, 1):
        where = f"stencil {number} of {path.name}"
        _known(stencil, _KEYS, where)
        program = catalogue.program(_typed(stencil, "program", str, where))
        if any(case.problem.program == program for case in cases):
            raise UsageError(f"{where}: {program.name!r} is there twice", "give it more sizes instead")
        sizes = None if "sizes" not in stencil else [_size(one, where) for one in _typed(stencil, "sizes", list, where)]
        flops = None if "flops_per_cell" not in stencil else _number(stencil, "flops_per_cell", where)
        weight = 1.0 if "weight" not in stencil else _number(stencil, "weight", where)
        own = () if "strategy" not in stencil else tuple(_typed(stencil, "strategy", str, where).split(","))
        cases += make_cases(program, weight=weight, sizes=sizes, flops_per_cell=flops, strategies=strategies, own=own)
    if not any(case.weight for case in cases):
        raise UsageError(f"the workload {path.name!r} must have a weight above 0")
    return tuple(cases)


def _size(table: object, where: str) -> Size:
    if not isinstance(table, dict):
        raise UsageError(f"a size in {where} is a table of shape and steps, got {table!r}")
    _known(table, _SIZE_KEYS, f"a size of {where}")
    weight = 1.0 if "weight" not in table else _number(table, "weight", where)
    return parse_shape(_typed(table, "shape", str, where)), _typed(table, "steps", int, where), weight


def _known(table: object, keys: Sequence[str], where: str) -> None:
    unknown = sorted(set(table) - set(keys)) if isinstance(table, dict) else [repr(table)]
    if unknown:
        raise UsageError(f"{where} has an unknown key {unknown[0]!r}", f"the keys are {', '.join(keys)}")


def _typed(table: dict[str, object], key: str, kind: type[_T], where: str) -> _T:
    value = table.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"{key} in {where} is of type {kind.__name__}, got {value!r}")
    return value


def _number(table: dict[str, object], key: str, where: str) -> float:
    value = table[key]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UsageError(f"{key} in {where} is a number, got {value!r}")
    return float(value)

"""Files of a codesign: the two figures, the table, all designs; and its solved tables, to be weighed again later."""

import dataclasses
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.paths import make_folder, read_bounded, write_rows, written
from tilewright.costs.arrays import Floats
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.verbs.predict import as_machine
from tilewright.workloads.codesign import area as area_model
from tilewright.workloads.codesign.codesign import Codesign, solve_stock
from tilewright.workloads.codesign.design import IN_2D, IN_3D, Axes, DesignOptions, WeightedProblem, expand
from tilewright.workloads.codesign.designs import DesignTable, Exploration
from tilewright.workloads.codesign.plots import DesignPanel, draw_designs, draw_shares
from tilewright.workloads.codesign.separable import SeparableForm
from tilewright.workloads.codesign.solve import NOTHING, Choices, DesignSolution, every_configuration

_VERSION = 2
_LARGEST, _LARGEST_FILE = 2**31, 2**28
"""Bytes of tables, and of the file that holds them."""
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, EOFError, MemoryError, RuntimeError)
"""What reading a damaged archive can raise; its checksums find the damage, in one way or another."""


def panels(result: Codesign) -> tuple[DesignPanel, ...]:
    """Return one panel per number of dimensions in the workload, as figures C.3 and C.4 have them."""
    names = list(dict.fromkeys(case.program for case in result.exploration.cases))
    ranks = {case.program: case.problem.program.rank for case in result.exploration.cases}
    weights = dict.fromkeys(names, 1.0) if result.weights is None else dict(result.weights)
    found = []
    for rank in sorted(set(ranks.values())):
        some = {name: weights[name] for name in names if ranks[name] == rank and weights.get(name, 0) > 0}
        if some:
            found.append(_panel(result, some, _title(rank, tuple(some))))
    return tuple(found)


def _title(rank: int, names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{rank}D stencils" if names in {IN_2D, IN_3D} else ", ".join(names)


def _panel(result: Codesign, weights: Mapping[str, float], title: str) -> DesignPanel:
    table = result.reweighted(weights).table
    chosen, parts = np.flatnonzero(table.inside), table.parts
    stock = []
    for chip in result.stock:
        alone = DesignTable(exploration=chip.exploration, weights=weights).design(0)
        stock.append((chip.name, chip.area, alone.area, alone.gflops))
    return DesignPanel(
        title=title,
        area=table.areas[chosen],
        gflops=table.gflops[chosen],
        shared=(parts.shared / table.areas)[chosen],
        # Registers belong to the vector units here, as in the thesis' term per vector unit.
        vector=((parts.vector_units + parts.registers) / table.areas)[chosen],
        pareto=np.searchsorted(chosen, table.front),
        stock=tuple(stock),
    )


def write(result: Codesign, folder: Path, suffix: str = ".png") -> tuple[Path, ...]:
    """Write figures C.3 and C.4, table C.2 and all designs of the range into a folder, which is made."""
    make_folder(folder)
    drawn = panels(result)
    figures = (draw_designs(drawn, folder / f"designs{suffix}"), draw_shares(drawn, folder / f"shares{suffix}"))
    table, every = folder / "sensitivity.csv", folder / "designs.csv"
    rows = [_row(row) for row in result.insight("sensitivity")]
    write_rows(table, tuple(rows[0]), (tuple(row.values()) for row in rows))
    write_rows(every, ("panel", "area_mm2", "gflops", "shared_share", "vector_share", "pareto"), _points(drawn))
    return (*figures, table, every)


def _row(row: Mapping[str, object]) -> dict[str, object]:
    best = row["best"]
    if not isinstance(best, dict):
        raise TypeError("the best design is a dictionary")
    return {
        "stencil": row["program"],
        **{name: best[name] for name in ("sm_count", "vector_width", "shared_kb")},
        "area_mm2": round(best["area"], 2),
        "gflops": round(best["gflops"], 1),
        "tiling_of_largest_size": row["shared_tiling"],
        "gflops_on_common_best": round(float(str(row["common_gflops"])), 1),
    }


def _points(drawn: tuple[DesignPanel, ...]) -> "list[tuple[object, ...]]":
    rows: list[tuple[object, ...]] = []
    for panel in drawn:
        optimal = np.isin(np.arange(len(panel.area)), panel.pareto)
        columns = (panel.area, panel.gflops, panel.shared, panel.vector)
        rows += [
            (panel.title, *(f"{value:.6g}" for value in values), int(front))
            for *values, front in zip(*columns, optimal, strict=True)
        ]
    return rows


def save(result: Codesign, path: Path) -> None:
    """Save the solved tables, so that :func:`load` can weigh them again without solving."""
    one = result.exploration
    for case in one.cases:
        if case.program not in catalogue.names() or catalogue.program(case.program) != case.problem.program:
            raise UsageError(f"tables are kept for built-in programs, {case.program!r} is not one")
    meta = {
        "version": _VERSION,
        "workload": result.workload,
        "machine": result.machine,
        "stock": [chip.name for chip in result.stock],
        "area": list(result.area),
        "axes": dataclasses.asdict(one.axes),
        "options": dataclasses.asdict(one.options),
        "area_model": one.area_model,
        "width_cost": one.width_cost,
        "cases": [
            [
                case.program,
                list(case.problem.shape),
                case.problem.steps,
                case.weight,
                case.flops_per_cell,
                list(case.strategies),
            ]
            for case in one.cases
        ],
    }
    arrays = {"meta": np.array(json.dumps(meta)), "seconds": np.stack([s.seconds for s in one.solutions])}
    arrays["choice"] = np.stack([s.choice for s in one.solutions])
    if any(s.joules is not None for s in one.solutions):
        raise UsageError("tables are kept for the metrics time and per_area", "solve the others again")
    with written(path) as target, target.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def load(path: Path) -> Codesign:
    """Load tables that :func:`save` wrote; a file that holds none is refused."""
    try:
        held = io.BytesIO(read_bounded(path, _LARGEST_FILE, "file of tables"))
        _inspect(held, path)
        held.seek(0)
        with np.load(held, allow_pickle=False) as data:
            meta = json.loads(str(data["meta"]))
            seconds, choice = data["seconds"], data["choice"]
        return _restored(meta, seconds, choice)
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"the tables {str(path)!r} cannot be read: {error.strerror or 'no such format'}") from None
    except (*_DAMAGE, zipfile.BadZipFile, zlib.error):
        raise UsageError(f"{str(path)!r} holds no tables of codesign", "write them with --save") from None


def _inspect(held: io.BytesIO, path: Path) -> None:
    """Refuse an archive that is too large or whose checksums do not hold, before anything in it is parsed."""
    with zipfile.ZipFile(held) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
            raise UsageError(f"tables of codesign have at most {_LARGEST} bytes, {str(path)!r} has more")
        if archive.testzip() is not None:
            raise zipfile.BadZipFile


def _restored(meta: Any, seconds: Floats, choice: Choices) -> Codesign:  # noqa: ANN401  (JSON that is checked here)
    if meta["version"] != _VERSION:
        raise UsageError(f"the tables are of version {meta['version']!r}, this one reads {_VERSION}", "solve again")
    axes = Axes(**{name: tuple(values) for name, values in dict(meta["axes"]).items()})
    held = dict(meta["options"])
    options = DesignOptions(**{**held, "form": SeparableForm(**held["form"]), "strategies": tuple(held["strategies"])})
    base = as_machine(str(meta["machine"]))
    cases = tuple(
        WeightedProblem(
            problem=make_problem(catalogue.program(name), tuple(shape), steps),
            weight=weight,
            flops_per_cell=flops,
            strategies=expand(own) if own else (),
        )
        for name, shape, steps, weight, flops, own in meta["cases"]
    )
    if seconds.shape != (len(cases), *axes.shape) or choice.shape != seconds.shape:
        raise ValueError("the arrays do not fit")
    if seconds.dtype.kind != "f" or choice.dtype != np.int32 or not (seconds > 0).all():
        raise ValueError("these are no times and choices")
    solutions = tuple(
        DesignSolution(seconds=s, joules=None, choice=c, configurations=held)
        for s, c, held in zip(seconds, choice, every_configuration(cases, axes, base, options), strict=True)
    )
    if any(one.choice.min() < NOTHING or one.choice.max() >= one.count for one in solutions):
        raise ValueError("a choice is out of range")
    draft = Exploration(
        cases=cases,
        axes=axes,
        options=options,
        coefficients=area_model.coefficients(base),
        area_model=str(meta["area_model"]),
        width_cost=bool(meta["width_cost"]),
        solutions=solutions,
    )
    low, high = meta["area"]
    stock = tuple(solve_stock(str(name), draft, base, None) for name in meta["stock"])
    return Codesign(
        workload=str(meta["workload"]),
        machine=base.name,
        exploration=draft,
        area=(low, high),
        weights=None,
        stock=stock,
    )

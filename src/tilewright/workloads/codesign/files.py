"""Files of a codesign: the two figures, the table, all designs; and its solved tables, to be weighed again later."""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.paths import make_folder, read_bounded, write_rows, written
from tilewright.costs.arrays import Floats, Ints
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.report import figures
from tilewright.verbs.predict import as_machine
from tilewright.workloads.codesign import area as area_model
from tilewright.workloads.codesign.codesign import Codesign, solve_stock
from tilewright.workloads.codesign.design import IN_2D, IN_3D, Axes, DesignOptions, WeightedProblem, expand
from tilewright.workloads.codesign.designs import Exploration
from tilewright.workloads.codesign.separable import SeparableForm
from tilewright.workloads.codesign.solve import NOTHING, Choices, DesignSolution, every_configuration

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure

_VERSION = 2
_LARGEST, _LARGEST_FILE = 2**31, 2**28  # bytes of tables, and of the file that holds them
_DOMINATED, _PARETO, _STOCK = "#e8b27a", figures.BLUE, figures.RED
_MARKERS = ("*", "D", "s", "^", "v")
_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, EOFError, MemoryError, RuntimeError)
"""What reading a damaged archive can raise; its checksums find the damage, in one way or another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPanel:
    """One panel: the designs of one workload in a range of areas; arrays of shape (n,) unless said otherwise."""

    title: str  # what is computed
    area: Floats  # mm^2
    gflops: Floats
    shared: Floats  # share of the area
    vector: Floats  # share of the area
    pareto: Ints  # indices of the optimal designs; shape (m,)
    # chips that exist: name, area with caches and without (mm^2), GFLOP/s
    stock: tuple[tuple[str, float, float, float], ...]


def panels(result: Codesign) -> tuple[DesignPanel, ...]:
    """Return one panel per number of dimensions in the workload, as figures C.3 and C.4 have them."""
    names = list(dict.fromkeys(case.program for case in result.exploration.cases))
    ranks = {case.program: case.problem.program.rank for case in result.exploration.cases}
    weights = dict.fromkeys(names, 1.0) if result.weights is None else dict(result.weights)
    panels = []
    for rank in sorted(set(ranks.values())):
        shares = {name: weights[name] for name in names if ranks[name] == rank and weights.get(name, 0) > 0}
        if shares:
            panels.append(_panel(result, shares, _title(rank, tuple(shares))))
    return tuple(panels)


def _title(rank: int, names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{rank}D stencils" if names in {IN_2D, IN_3D} else ", ".join(names)


def _panel(result: Codesign, weights: Mapping[str, float], title: str) -> DesignPanel:
    table = result.reweighted(weights).table
    chosen, parts = np.flatnonzero(table.inside), table.parts
    stock = []
    for chip in result.stock:
        alone = chip.design(weights)
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
    pictures = (draw_designs(drawn, folder / f"designs{suffix}"), draw_shares(drawn, folder / f"shares{suffix}"))
    table, every = folder / "sensitivity.csv", folder / "designs.csv"
    rows = [_row(row) for row in result.insight("sensitivity")]
    write_rows(table, tuple(rows[0]), (tuple(row.values()) for row in rows))
    write_rows(every, ("panel", "area_mm2", "gflops", "shared_share", "vector_share", "pareto"), _points(drawn))
    return (*pictures, table, every)


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


def draw_designs(panels: Sequence[DesignPanel], path: Path) -> Path:
    """Draw performance against area, the Pareto set and the stock chips marked (figure C.3)."""
    figure, axes = _panels(len(panels))
    for panel, axis in zip(panels, axes, strict=True):
        _scatter(axis, panel, panel.area, panel.gflops)
        for marker, (name, area, without, gflops) in zip(_MARKERS, panel.stock, strict=False):
            axis.plot([without, area], [gflops, gflops], color=_STOCK, linewidth=1, zorder=4)
            axis.plot(area, gflops, marker, color=_STOCK, markersize=8, linestyle="none", zorder=5, label=name)
            axis.plot(without, gflops, marker, color="white", markeredgecolor=_STOCK, markersize=8, zorder=5)
        axis.set(title=panel.title, xlabel="chip area, mm²", ylabel="GFlops/s")
        axis.set_ylim(bottom=0)
        axis.legend(loc="upper left", fontsize="small", framealpha=0.9)
    figure.suptitle("Best performance of every design; stock chips filled with, hollow without their caches")
    return _save(figure, path)


def draw_shares(panels: Sequence[DesignPanel], path: Path) -> Path:
    """Draw the shares of the area for shared memory and for vector units (figure C.4); as :func:`draw_designs`."""
    figure, axes = _panels(len(panels))
    for panel, axis in zip(panels, axes, strict=True):
        _scatter(axis, panel, 100 * panel.shared, 100 * panel.vector)
        axis.set(title=panel.title, xlabel="area for shared memory, %", ylabel="area for vector units and registers, %")
        axis.set_xlim(left=0)
        axis.legend(loc="upper right", fontsize="small", framealpha=0.9)
    figure.suptitle("What the area of a design goes to")
    return _save(figure, path)


def draw_needs(curves: Sequence[tuple[str, Sequence[float], Sequence[float]]], path: Path) -> Path:
    """Draw, per workload, the share of the best performance over the shared memory per SM in kB (thesis, C.4.3)."""
    figure, (axis,) = _panels(1)
    for colour, marker, (name, sizes, values) in zip(
        (_PARETO, figures.ORANGE, figures.GREEN, figures.VIOLET, "#555555", figures.RED), "os^vDP", curves, strict=False
    ):
        axis.plot(sizes, [100 * value for value in values], marker + "-", color=colour, label=name)
    axis.set(xlabel="shared memory per SM, kB", ylabel="best design, % of the best of all", ylim=(0, 103))
    axis.grid(**figures.GRID)
    axis.legend(loc="lower right", fontsize="small")
    return _save(figure, path)


def _scatter(axis: "PlotAxes", panel: DesignPanel, x: Floats, y: Floats) -> None:
    axis.plot(x, y, ".", color=_DOMINATED, markersize=2.5, linestyle="none", label=f"{len(x)} designs", rasterized=True)
    front = panel.pareto
    label = f"{len(front)} Pareto-optimal"
    axis.plot(x[front], y[front], "o", color=_PARETO, markersize=3, linestyle="none", label=label)
    axis.grid(**figures.GRID)
    axis.set_axisbelow(True)


def _panels(count: int) -> "tuple[Figure, list[PlotAxes]]":
    return figures.panels(count, (5.6 * count + 0.4, 4.4), kind="drawing")


def _save(figure: "Figure", path: Path) -> Path:
    figures.check_format(path, "drawing")
    return figures.save(figure, path, dpi=150)


def save(result: Codesign, path: Path) -> None:
    """Save the solved tables, so that :func:`load` can weigh them again without solving."""
    exploration = result.exploration
    for case in exploration.cases:
        if case.program not in catalogue.names() or catalogue.program(case.program) != case.problem.program:
            raise UsageError(f"tables are kept for built-in programs, {case.program!r} is not one")
    meta = {
        "version": _VERSION,
        "workload": result.workload,
        "machine": result.machine,
        "stock": [chip.name for chip in result.stock],
        "area": list(result.area),
        "axes": asdict(exploration.axes),
        "options": asdict(exploration.options),
        "area_model": exploration.area_model,
        "width_cost": exploration.width_cost,
        "cases": [
            [
                case.program,
                list(case.problem.shape),
                case.problem.steps,
                case.weight,
                case.flops_per_cell,
                list(case.strategies),
            ]
            for case in exploration.cases
        ],
    }
    arrays = {"meta": np.array(json.dumps(meta)), "seconds": np.stack([s.seconds for s in exploration.solutions])}
    arrays["choice"] = np.stack([s.choice for s in exploration.solutions])
    if any(s.joules is not None for s in exploration.solutions):
        raise UsageError("tables are kept for the metrics time and per_area", "solve the others again")
    with written(path) as target, target.open("wb") as stream:
        np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


def load(path: Path) -> Codesign:
    """Load tables that :func:`save` wrote; a file that holds none is refused."""
    try:
        buffer = io.BytesIO(read_bounded(path, _LARGEST_FILE, "file of tables"))
        _inspect(buffer, path)
        buffer.seek(0)
        with np.load(buffer, allow_pickle=False) as data:
            meta = json.loads(str(data["meta"]))
            seconds, choice = data["seconds"], data["choice"]
        return _codesign_of(meta, seconds, choice)
    except UsageError:
        raise
    except OSError as error:
        raise UsageError(f"the tables {str(path)!r} cannot be read: {error.strerror or 'no such format'}") from None
    except (*_DAMAGE, zipfile.BadZipFile, zlib.error):
        raise UsageError(f"{str(path)!r} holds no tables of codesign", "write them with --save") from None


def _inspect(buffer: io.BytesIO, path: Path) -> None:
    """Refuse an archive that is too large or whose checksums do not hold, before anything in it is parsed."""
    with zipfile.ZipFile(buffer) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
            raise UsageError(f"tables of codesign have at most {_LARGEST} bytes, {str(path)!r} has more")
        if archive.testzip() is not None:
            raise zipfile.BadZipFile


def _codesign_of(meta: Any, seconds: Floats, choice: Choices) -> Codesign:  # noqa: ANN401  (JSON that is checked here)
    if meta["version"] != _VERSION:
        raise UsageError(f"the tables are of version {meta['version']!r}, this one reads {_VERSION}", "solve again")
    axes = Axes(**{name: tuple(values) for name, values in dict(meta["axes"]).items()})
    spec = dict(meta["options"])
    options = DesignOptions(**{**spec, "form": SeparableForm(**spec["form"]), "strategies": tuple(spec["strategies"])})
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
        DesignSolution(seconds=s, joules=None, choice=c, configurations=groups)
        for s, c, groups in zip(seconds, choice, every_configuration(cases, axes, base, options), strict=True)
    )
    if any(solution.choice.min() < NOTHING or solution.choice.max() >= solution.count for solution in solutions):
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

"""``tilewright area`` and ``tilewright codesign``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.base.errors import UsageError
from tilewright.base.options import Options, option
from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import AreaOptions, refuse

if TYPE_CHECKING:
    from tilewright.workloads.codesign.codesign import Codesign
    from tilewright.workloads.codesign.design import Axes, DesignOptions


_AXES = {
    "sm": "sm_count",
    "width": "vector_width",
    "shared": "shared_kb",
    "registers": "register_kb",
    "l1": "l1_pair_kb",
    "l2": "l2_sm_kb",
    "bandwidth": "bandwidth",
}
"""Hardware axes by the names of the command."""
_MOST = 4096


def area(
    asked: AreaOptions,
    machine: Annotated[str | None, typer.Argument(help="A GPU of the catalogue.", show_default=False)] = None,
    check: Annotated[bool, typer.Option("--check", help="Compare the model with every published die.")] = False,
    as_json: Json = False,
) -> None:
    """Model the silicon area of a GPU's die, part by part; needs no compiler and no device.

    Example: tilewright area gtx980
    """
    from tilewright.workloads.codesign import area as api
    from tilewright.workloads.codesign import report as tables

    if check:
        every = [[result.to_dict() for result in many] for many in api.check()]
        output.show({"areas": [result for many in every for result in many]}, lambda: tables.check(every), as_json)
        return
    if machine is None:
        raise typer.BadParameter("give a machine, such as: tilewright area gtx980, or --check")
    points = api.read_points(asked.points) if isinstance(asked.points, Path) else None
    result = api.area(machine, **replace(asked, points=points).keywords())
    output.show(result.to_dict(), result.shown, as_json)


def area_range(text: str) -> tuple[float, float]:
    """Parse a range of areas in mm^2; one number is a budget.

    >>> area_range("200:650"), area_range("450")
    ((200.0, 650.0), (0.0, 450.0))
    """
    parts = text.split(":")
    if len(parts) > 2:
        raise UsageError(f"a range of areas is LO:HI in mm^2, got {text!r}", "write it like 200:650")
    values = [_number(part, "an area", "write one, or two and a colon between: 400:420") for part in parts]
    low, high = values if len(values) == 2 else (0.0, values[0])
    if low > high:
        raise UsageError(f"the area goes from a lower to an upper bound, got {low:g}:{high:g} mm^2")
    return low, high


def weights_of(texts: Sequence[str]) -> dict[str, float]:
    """Parse weights such as ``heat2d=2``."""
    result = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise UsageError(f"a weight is NAME=NUMBER, got {text!r}", "write it like heat2d=2")
        result[name] = _number(value, f"the weight of {name!r}")
    return result


class Asked(Options):
    """What a codesign chooses from, and by what."""

    workload: str = option("all", "2d, 3d, all, a program, or FILE.toml.", metavar="W")
    area: tuple[float, float] = option(
        ..., "Range of areas in mm^2; HI alone is a budget.", offered="200:650", metavar="LO:HI", reader=area_range
    )
    weights: dict[str, float] | None = option(
        None,
        "Weight of a stencil; those not named get 0.",
        "--weight",
        kind=list[str],
        metavar="NAME=X",
        reader=weights_of,
    )
    metric: str = option("time", "time, energy, edp or per_area.")
    caches: bool = option(False, "Give every design the Maxwell caches.", "--caches/--no-caches")
    insight: tuple[str, ...] = option(
        (), "sensitivity, shared, cacheless, robustness, marginal, power or all; repeatable."
    )
    machine: str = option("gtx980", "The technology: C_iter, bandwidth, area coefficients.", metavar="M")
    energy: str | None = option(None, "The machine whose energies are taken, such as k20c.", "--energy-of", metavar="M")
    model: str = option("exact", "Time model: exact or published.")
    pitch: str | None = option(None, "exact or published; the model's own by default.", rare=True)
    single: str = option("serial", "One tile per SM: serial or overlapped.", rare=True)
    scope: str = option("device", "Who shares the bandwidth: device or per_sm.", rare=True)
    strategies: str = option("tiled", "tiled, none, skewed, diamond, several by commas, or best: all.")
    blocks_per_sm: int = option(2, "A tile uses at most M_SM over this.", "--blocks", least=1, rare=True)
    thread_registers: int = option(0, "Registers per thread that bound k; 0 for no bound.", least=0, rare=True)
    block_threads: int = option(256, "Threads per block, for that bound.", least=1, rare=True)
    width_cost: bool | None = option(
        None,
        "Charge what grows with the width of an SM, our extension; not with --model published.",
        "--width-cost/--no-width-cost",
        shown="charged",
        rare=True,
    )
    axis: tuple[str, ...] = option(
        (),
        "Hardware axis: sm, width, shared, registers, l1, l2 (kB) or bandwidth; 12,24,48:480:48.",
        metavar="NAME=VALUES",
        rare=True,
    )
    grid: str = option("fine", "Grid of tile sizes: fine or coarse.", rare=True)
    top: int = option(12, "Rows of the Pareto set to show.", metavar="N", least=1)
    folder: Path | None = option(None, "Write both figures and the tables there.", "--output", metavar="DIR")
    save: Path | None = option(None, "Keep the solved tables.", metavar="FILE")
    tables: Path | None = option(None, "Weigh kept tables again instead of solving.", metavar="FILE")

    def design(self) -> "DesignOptions":
        """Return what the thesis leaves open."""
        from tilewright.workloads.codesign.design import DesignOptions
        from tilewright.workloads.codesign.separable import SeparableForm

        same = ("scope", "blocks_per_sm", "metric", "grid", "block_threads", "thread_registers")
        return DesignOptions(
            form=SeparableForm(model=self.model, pitch=self.pitch, single=self.single),
            strategies=tuple(self.strategies.split(",")),
            **{name: getattr(self, name) for name in same},
        )


def codesign(asked: Asked, as_json: Json = False) -> None:
    """Choose a GPU's hardware and the tile sizes together, for a workload within an area.

    Example: tilewright codesign --workload 2d --area 200:650 --insight sensitivity
    """
    from tilewright.report.progress import bar
    from tilewright.workloads.codesign import codesign as api
    from tilewright.workloads.codesign import files

    insights = _insights(asked.insight)
    if asked.tables is not None:
        refuse("--tables", asked)
        result = files.load(asked.tables).between(*asked.area)
        result = result if asked.weights is None else result.reweighted(asked.weights)
        result = result if asked.width_cost is None else result.charged(asked.width_cost)
    else:
        options, axes = asked.design(), axes_of(asked.axis, caches=asked.caches)
        shared = {name: getattr(asked, name) for name in ("area", "machine", "weights", "width_cost", "energy")}
        with bar("solving") as update:
            result = api.codesign(
                asked.workload,
                axes=axes,
                options=options,
                progress=lambda count, total: update(count, total, ""),
                **shared,
            )
    if asked.folder is not None:
        output.note("wrote " + ", ".join(str(path) for path in files.write(result, asked.folder)))
    if asked.save is not None:
        files.save(result, asked.save)
    _show(result, insights, asked.top, as_json)


def _insights(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of insights; ``all`` is all of them."""
    from tilewright.workloads.codesign.designs import INSIGHTS

    if "all" in names:
        return tuple(INSIGHTS)
    for name in names:
        if name not in INSIGHTS:
            raise UsageError(f"the insight is one of {', '.join(INSIGHTS)} or all, got {name!r}")
    return tuple(dict.fromkeys(names))


def values_of(text: str) -> tuple[float, ...]:
    """Parse the values of an axis: numbers and FIRST:LAST:STEP ranges, joined by commas.

    >>> values_of("12,24,48:144:48")
    (12.0, 24.0, 48.0, 96.0, 144.0)
    """
    values: list[float] = []
    for part in text.split(","):
        numbers = [_number(number, "a value of an axis") for number in part.split(":")]
        if len(numbers) == 1:
            values += numbers
            continue
        if len(numbers) != 3 or numbers[2] <= 0 or numbers[0] > numbers[1]:
            raise UsageError(f"a range of an axis is FIRST:LAST:STEP with FIRST up to LAST, got {part!r}")
        count = int((numbers[1] - numbers[0]) / numbers[2] * (1 + 1e-12)) + 1
        if count > _MOST:
            raise UsageError(f"an axis has at most {_MOST} values, {part!r} has {count}")
        values += [numbers[0] + i * numbers[2] for i in range(count)]
    return tuple(sorted(set(values)))


def axes_of(texts: Sequence[str], *, caches: bool) -> "Axes":
    """Return the thesis' axes with some replaced, and the Maxwell caches if wanted."""
    from tilewright.workloads.codesign.codesign import WITH_CACHES
    from tilewright.workloads.codesign.design import Axes

    changes: dict[str, Any] = dict(WITH_CACHES) if caches else {}
    for text in texts:
        name, separator, values = text.partition("=")
        if not separator or name not in _AXES:
            raise UsageError(f"an axis is NAME=VALUES with a name of {', '.join(_AXES)}, got {text!r}")
        numbers: tuple[float, ...] = values_of(values)
        if name in {"sm", "width"}:
            if any(value != int(value) for value in numbers):
                raise UsageError(f"the axis {name} has whole numbers, got {values!r}")
            numbers = tuple(int(value) for value in numbers)
        changes[_AXES[name]] = numbers
    return replace(Axes(), **changes)


def _number(text: str, subject: str, hint: str = "") -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise UsageError(f"{subject} is a number of at least 0, got {text!r}", hint)
    return value


def _show(result: "Codesign", names: tuple[str, ...], top: int, as_json: bool) -> None:
    from tilewright.workloads.codesign import report as tables

    document = result.to_dict()
    insights = {name: result.insight(name) for name in names}
    if as_json:
        output.emit({**document, "insights": insights})
        return
    front, best = document["pareto"], document["best"]
    shown = front[:: max(1, -(-len(front) // top))]
    title = f"{len(front)} Pareto-optimal of {result.feasible} designs, {len(shown)} of them and the best"
    parts: list[Shown] = [
        "\n".join([str(result), *(f"note: {note}" for note in result.notes)]),
        tables.designs([*shown, best], title),
        tables.stock(document["stock"]),
        tables.tilings(best["tilings"]),
        *(tables.insight(name, rows) for name, rows in insights.items()),
    ]
    if insights:
        parts.append("note: docs/codesign.md (Insights) says which of the thesis' answers do not reproduce, and why")
    output.show(None, lambda: parts, as_json=False)

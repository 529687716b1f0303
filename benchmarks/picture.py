"""Draws the README's picture of speeds from records of ``cpu.py``.

    R=benchmarks/results
    P="--products j2d5pt=4 star2d2r=7.5 j3d7pt=7 j3d27pt=18"
    F="$R/cpu_2d_zen3.json $R/cpu_zen3.json"
    python benchmarks/picture.py $F docs/images/speed.png --limits $R/limits_zen3.json $P

Two lines are the limits of the machine, from a record of ``limits.py``: what its memory allows a program that goes
through the grid once per step, and what its arithmetic allows any, with so many products per cell (``docs/cpu.md``).

Several records may be given, newest first: a program that an earlier one has is not taken from a later one. A record of
another CPU than the first is refused, since one picture names one machine.
"""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Read

_OURS = "tilewright"
_COLOURS = {_OURS: "#b3261e"}
_NAMES = {"naive-c": "C, compiler alone", "numpy": "NumPy"}
_COLUMNS = 2


def speeds(case: dict[str, Any]) -> dict[str, tuple[float, float, float]]:
    """GCells/s by contender: of the median, of the slowest and of the fastest sample.

    The fastest of the sets of flags stands for C. Our other schedules belong to the full record, not to the picture.
    """
    work = case["case"]["steps"]
    for extent in case["case"]["shape"]:
        work *= extent
    found = {name: one["seconds"] for name, one in case["contenders"].items() if not name.startswith(f"{_OURS}-")}
    plain = [found.pop(name) for name in list(found) if name.startswith("naive-c")]
    if plain:
        found["naive-c"] = min(plain, key=lambda seconds: float(seconds["median"]))
    keys = ("median", "max", "min")
    return {name: tuple(work / seconds[key] / 1e9 for key in keys) for name, seconds in found.items()}  # type: ignore[misc]


def select(records: list[dict[str, Any]], programs: list[str] | None) -> list[dict[str, Any]]:
    """The cases to show: of every program, shape and element type the first one, in the order of ``programs``."""
    if len({record["environment"]["cpu"] for record in records}) > 1:
        sys.exit("the records are of different CPUs")
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for record in records:
        for case in record["cases"]:
            one = case["case"]
            found.setdefault((one["program"], str(one["shape"]), one["dtype"]), case)
    cases = list(found.values())
    if programs is None:
        return cases
    named = {one: [case for case in cases if one in {case["case"]["program"], label(case)}] for one in programs}
    if missing := [one for one, several in named.items() if not several]:
        sys.exit(f"no record has {', '.join(missing)}; there are {', '.join(map(label, cases))}")
    return [several[0] for several in named.values()]


def label(case: dict[str, Any]) -> str:
    """How a case is named on the command line: ``j2d5pt:float64``."""
    return f"{case['case']['program']}:{case['case']['dtype']}"


def swept_bytes(case: dict[str, Any]) -> int:
    """Bytes of a cell that a sweep moves at least: every level that the program reads, and what it updates."""
    found = program(case["program"])
    reads = {(each.field, each.level) for one in found.statements for each in one.tape if isinstance(each, Read)}
    return np.dtype(case["dtype"]).itemsize * (len(reads) + len(found.statements))


def limits_of(case: dict[str, Any], limits: Mapping[str, Any], products: Mapping[str, float]) -> dict[str, float]:
    """GCells/s that the machine allows a case, by what limits it."""
    return {
        "arithmetic": limits[case["dtype"]]["multiply_adds_per_second"] / products[case["program"]] / 1e9,
        "memory, a sweep per step": limits["copies"]["bytes_per_second"] / swept_bytes(case) / 1e9,
    }


def draw(
    cases: list[dict[str, Any]],
    environment: dict[str, Any],
    path: Path,
    limits: Mapping[str, Any],  # a record of limits.py, or nothing
    products: Mapping[str, float],  # multiply-adds of a cell, by program
) -> None:
    """Draw one panel per case: bars are medians, whiskers reach from the slowest sample to the fastest."""
    rows, columns = -(-len(cases) // _COLUMNS), min(len(cases), _COLUMNS)
    figure = Figure(figsize=(4.2 * columns, 0.7 + 2.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for axes, case in zip(panels, cases, strict=False):
        found = sorted(speeds(case).items(), key=lambda item: item[1])
        names = [_NAMES.get(name, name) for name, _ in found]
        medians, low, high = zip(*(values for _, values in found), strict=True)
        whiskers = [
            [m - a for m, a in zip(medians, low, strict=True)],
            [b - m for m, b in zip(medians, high, strict=True)],
        ]
        axes.barh(
            names, medians, xerr=whiskers, color=[_COLOURS.get(name, "#9aa7b4") for name, _ in found],
            error_kw={"elinewidth": 1, "capsize": 2, "ecolor": "#26323f"},
        )  # fmt: skip
        for place, (median, most) in enumerate(zip(medians, high, strict=True)):
            text = f"{median:.2f}" if median < 1 else f"{median:.1f}"
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.annotate(text, (most, place), (6, 0), textcoords="offset points", va="center", fontsize=9, bbox=box)
        lines = limits_of(case["case"], limits, products) if limits else {}
        for style, (label_of_line, limit) in zip(("-", "--"), lines.items(), strict=False):
            axes.axvline(limit, color="#26323f", linestyle=style, linewidth=1, label=label_of_line)
        axes.set_xlim(0, 1.18 * max(*high, *lines.values()))
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        one = case["case"]
        size = " x ".join(str(extent) for extent in one["shape"])
        axes.set_title(f"{one['program']}, {one['dtype']}\n{size} cells, {one['steps']} steps", fontsize=10)
        axes.tick_params(labelsize=9)
        axes.set_xlabel("GCells/s", fontsize=9)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    for axes in panels:
        axes.set_axis_off()
    threads, version = cases[0]["case"]["threads"], environment["libraries"][_OURS]
    figure.suptitle(
        f"{threads} threads of {machine(environment)}\n"
        f"{environment['date'][:10]}, {_OURS} {version}; bars: medians; whiskers: all samples",
        fontsize=10,
    )
    if limits:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, [f"limit of {text}" for text in labels], loc="outside lower center", ncols=2, fontsize=9)
    figure.savefig(path, dpi=130)


def machine(environment: dict[str, Any]) -> str:
    """Name a computer as far as its record does: virtual machines call many CPUs ``AMD EPYC``."""
    features, caches = environment.get("features", ()), environment.get("caches", {})
    vectors = "AVX-512" if "avx512f" in features else "AVX2" if "avx2" in features else ""
    parts = [environment["cpu_identity"]] if environment.get("cpu_identity") else []
    parts += [f"{environment['cores']} cores"] if "cores" in environment else []
    parts += [vectors] if vectors else []
    parts += [f"{name.split()[0]} {size}" for name, size in caches.items() if "Instruction" not in name]
    compiler = re.search(r"^(\w+).* (\d+\.\d+)", environment.get("compiler", ""))
    told = f", {compiler[1]} {compiler[2]}" if compiler else ""
    return f"{environment['cpu']} ({', '.join(parts)}){told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path, nargs="+", help="records of cpu.py, newest first")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--programs", nargs="+", metavar="NAME[:DTYPE]", help="what to show, in this order; all else")
    parser.add_argument("--limits", type=Path, help="a record of limits.py; needs --products")
    parser.add_argument("--products", nargs="+", default=[], metavar="NAME=COUNT", help="multiply-adds of a cell")
    arguments = parser.parse_args()
    limits = json.loads(arguments.limits.read_text(encoding="utf-8")) if arguments.limits else {}
    products = {name: float(count) for name, _, count in (each.partition("=") for each in arguments.products)}
    records = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.records]
    cases = select(records, arguments.programs)
    draw(cases, records[0]["environment"], arguments.picture, limits, products)


if __name__ == "__main__":
    main()

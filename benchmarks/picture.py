"""Draws the README's table of speeds from records of ``cpu.py``.

    F=benchmarks/results/cpu_float32.json
    python benchmarks/picture.py $F docs/images/speed.png --programs j2d5pt gradient2d j3d7pt wave2d

Several records may be given, newest first: a program that an earlier one has is not taken from a later one. A record of
another CPU than the first is refused, since one picture names one machine.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

_OURS = "tilewright"
_COLOURS = {_OURS: "#b3261e"}
_NAMES = {"naive-c": "C, compiler alone", "numpy": "NumPy"}
_COLUMNS = 4


def speeds(case: dict[str, Any]) -> dict[str, float]:
    """GCells/s by contender, from the medians; the fastest of the sets of flags stands for C.

    Our other schedules belong to the full record, not to the picture.
    """
    work = case["case"]["steps"]
    for extent in case["case"]["shape"]:
        work *= extent
    medians = {name: one["seconds"]["median"] for name, one in case["contenders"].items()}
    plain = [medians.pop(name) for name in list(medians) if name.startswith("naive-c")]
    if plain:
        medians["naive-c"] = min(plain)
    return {name: work / seconds / 1e9 for name, seconds in medians.items() if not name.startswith(f"{_OURS}-")}


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


def draw(cases: list[dict[str, Any]], environment: dict[str, Any], path: Path) -> None:
    """Draw one panel per case."""
    rows, columns = -(-len(cases) // _COLUMNS), min(len(cases), _COLUMNS)
    figure = Figure(figsize=(3.1 * columns, 0.4 + 2.1 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for axes, case in zip(panels, cases, strict=False):
        found = sorted(speeds(case).items(), key=lambda item: item[1])
        names = [_NAMES.get(name, name) for name, _ in found]
        axes.barh(names, [value for _, value in found], color=[_COLOURS.get(name, "#9aa7b4") for name, _ in found])
        for place, (_, value) in enumerate(found):
            axes.text(value, place, f" {value:.1f}", va="center", fontsize=8)
        axes.set_xlim(0, 1.2 * max(value for _, value in found))
        one = case["case"]
        size = " x ".join(str(extent) for extent in one["shape"])
        axes.set_title(f"{one['program']}, {one['dtype']}, {size}", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.set_xlabel("GCells/s", fontsize=8)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    for axes in panels:
        axes.set_axis_off()
    steps = sorted({case["case"]["steps"] for case in cases})
    threads = cases[0]["case"]["threads"]
    figure.suptitle(f"{' or '.join(map(str, steps))} steps, {threads} threads of {environment['cpu']}", fontsize=9)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path, nargs="+", help="records of cpu.py, newest first")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--programs", nargs="+", metavar="NAME[:DTYPE]", help="what to show, in this order; all else")
    arguments = parser.parse_args()
    records = [json.loads(path.read_text(encoding="utf-8")) for path in arguments.records]
    draw(select(records, arguments.programs), records[0]["environment"], arguments.picture)


if __name__ == "__main__":
    main()

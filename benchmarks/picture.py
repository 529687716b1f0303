"""Draws the README's table of speeds from a record of ``cpu.py``.

python benchmarks/picture.py benchmarks/results/cpu_2d_float32.json docs/images/speed.png
"""

import argparse
import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

_HIDDEN = ("tilewright-hexagons", "tilewright-none", "naive-c-512")
"""Contenders that belong to the full record: our other schedules, and the slower set of flags."""
_COLOURS = {"tilewright": "#b3261e"}
_NAMES = {"naive-c": "C, compiler alone", "tilewright": "tilewright", "numpy": "NumPy"}


def speeds(case: dict[str, Any]) -> dict[str, float]:
    """GCells/s by contender, from the medians; the faster of the sets of flags stands for C."""
    work = case["case"]["steps"]
    for extent in case["case"]["shape"]:
        work *= extent
    medians = {name: one["seconds"]["median"] for name, one in case["contenders"].items()}
    plain = [seconds for name, seconds in medians.items() if name.startswith("naive-c")]
    if plain:
        medians["naive-c"] = min(plain)
    return {name: work / seconds / 1e9 for name, seconds in medians.items() if name not in _HIDDEN}


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw one panel per program."""
    cases = record["cases"]
    figure = Figure(figsize=(3.4 * len(cases), 2.7), layout="constrained")
    for axes, case in zip(figure.subplots(1, len(cases), squeeze=False)[0], cases, strict=True):
        found = sorted(speeds(case).items(), key=lambda item: item[1])
        names = [_NAMES.get(name, name) for name, _ in found]
        axes.barh(names, [value for _, value in found], color=[_COLOURS.get(name, "#9aa7b4") for name, _ in found])
        for place, (_, value) in enumerate(found):
            axes.text(value, place, f" {value:.1f}", va="center", fontsize=8)
        axes.set_xlim(0, 1.18 * max(value for _, value in found))
        axes.set_title(case["case"]["program"], fontsize=10)
        axes.tick_params(labelsize=8)
        axes.set_xlabel("GCells/s", fontsize=8)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    first, environment = cases[0]["case"], record["environment"]
    size = " x ".join(str(extent) for extent in first["shape"])
    title = f"{size}, {first['steps']} steps, {first['dtype']}, {first['threads']} threads of {environment['cpu']}"
    figure.suptitle(title, fontsize=9)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    draw(json.loads(arguments.record.read_text(encoding="utf-8")), arguments.picture)


if __name__ == "__main__":
    main()

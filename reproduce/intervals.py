"""The intervals of predictions: what share of measured times lies inside those that the other programs give.

python reproduce/intervals.py [--data DIR] [--sweeps DIR] [--output DIR]

Per family the 10th and 90th percentile of measured over predicted time over all programs; and, program by program, the
share of its points inside the percentiles of the other programs. It should be 75 to 85 %.
"""

import argparse
import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import measured
from first_choice import fits, predicted, whole
from tilewright.costs.arrays import Floats
from tilewright.runtime.formats.logs import read_stencilbench
from tilewright.schedules.tiling import parse
from tilewright.verbs.validate import ordered

_TAILS = (0.1, 0.9)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TILEWRIGHT_DATA", "../shared/data")))
    parser.add_argument("--sweeps", type=Path, default=Path(__file__).parents[1] / "benchmarks" / "results" / "sweeps")
    parser.add_argument("--output", type=Path, default=Path("results/intervals"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    groups = of_sweeps(sorted(chosen.sweeps.glob("*.csv")))
    logs = sorted((chosen.data / "stencilbench_v100").glob("*.log"))
    if logs:
        groups["thread blocks on the V100"] = of_logs(logs)
    lines = [
        "| what | points | 10th | 90th percentile | inside those of the others | worst program |",
        "| --- " * 6 + "|",
    ]
    for name, programs in groups.items():
        low, high = np.quantile(np.concatenate(list(programs.values())), _TAILS)
        inside = held_out(programs)
        points = [len(ratios) for ratios in programs.values()]
        share = float(np.average(list(inside.values()), weights=points))
        worst = min(inside, key=lambda each: inside[each])
        lines.append(
            f"| {name} | {sum(points)} | {low:.2f} | {high:.2f} | {share:.0%} | {worst}, {inside[worst]:.0%} |"
        )
    measured.write_verdict(chosen.output, "\n".join(lines))


def held_out(programs: Mapping[str, Floats]) -> dict[str, float]:
    """Return the share of every program's points inside the percentiles of the others."""
    found = {}
    for name, ratios in programs.items():
        others = np.concatenate([each for other, each in programs.items() if other != name])
        low, high = np.quantile(others, _TAILS)
        found[name] = float(((ratios >= low) & (ratios <= high)).mean())
    return found


def of_logs(paths: Sequence[Path]) -> dict[str, Floats]:
    """Return measured over predicted times of every stencil, constants fitted to the other stencils."""
    stencils = [whole(ordered(read_stencilbench(path))) for path in paths]
    return {
        one.case.program.name: one.seconds / predicted(one, constants)
        for one, constants in zip(stencils, fits(stencils)[1], strict=True)
    }


def of_sweeps(paths: Sequence[Path]) -> dict[str, dict[str, Floats]]:
    """Return measured over predicted times by family and program."""
    found: dict[str, dict[str, list[float]]] = {}
    for path in paths:
        with path.open(newline="") as stream:
            for row in csv.DictReader(stream):
                if row["outcome"] == "ok":
                    family = found.setdefault(parse(row["tiling"]).family, {})
                    ratio = float(row["median_seconds"]) / float(row["predicted_seconds"])
                    family.setdefault(path.stem, []).append(ratio)
    return {name: {program: np.array(each) for program, each in many.items()} for name, many in found.items()}


if __name__ == "__main__":
    main()

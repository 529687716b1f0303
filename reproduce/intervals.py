"""The intervals of predictions: what share of measured times lies inside those that the other programs give.

python reproduce/intervals.py [--data DIR] [--sweeps DIR] [--output DIR]

Per family a range of measured over predicted time, so wide that four of five points of a program lie inside the range
that the other programs give: the sweeps of all hosts below the folder, and the V100 logs. It should be 75 to 85 %.
"""

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import measured
from first_choice import fits, predicted, whole
from tilewright.costs.arrays import Floats
from tilewright.runtime.formats.logs import read_stencilbench
from tilewright.schedules.tiling import is_gone, parse
from tilewright.verbs.validate import ordered

_SHARE = 0.8
_LEAST_TAIL = 0.005


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    measured.add_data(parser)
    parser.add_argument("--sweeps", type=Path, default=Path(__file__).parents[1] / "benchmarks" / "results" / "hosts")
    parser.add_argument("--output", type=Path, default=Path("results/intervals"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    groups = of_sweeps(sorted(chosen.sweeps.glob("**/*.csv")))
    logs = measured.log_paths(chosen.data, needed=False)
    if logs:
        groups["thread blocks on the V100"] = of_logs(logs)
    lines = [
        "| what | points | low | high | inside the range of the others | worst program |",
        "| --- " * 6 + "|",
    ]
    for name, programs in groups.items():
        tail, inside = fitting_tail(programs)
        low, high = np.quantile(np.concatenate(list(programs.values())), (tail, 1.0 - tail))
        points = [len(ratios) for ratios in programs.values()]
        share = float(np.average(list(inside.values()), weights=points))
        worst = min(inside, key=lambda each: inside[each])
        lines.append(
            f"| {name} | {sum(points)} | {low:.2f} | {high:.2f} | {share:.0%} | {worst}, {inside[worst]:.0%} |"
        )
    measured.write_verdict(chosen.output, "\n".join(lines))


def fitting_tail(programs: Mapping[str, Floats]) -> tuple[float, dict[str, float]]:
    """Return the widest tails for which four of five points lie inside the range of the other programs, and shares.

    Points of one program are alike, so that the 10th and 90th percentile of some programs hold less of another one:
    what the range of all others misses is made up for (Barber et al., Predictive inference with the jackknife+, 2021).
    """
    weights = [len(ratios) for ratios in programs.values()]
    for tail in np.linspace(0.5 * (1.0 - _SHARE), _LEAST_TAIL, 20).tolist():
        inside = held_out(programs, tail)
        if float(np.average(list(inside.values()), weights=weights)) >= _SHARE:
            break
    return tail, inside


def held_out(programs: Mapping[str, Floats], tail: float) -> dict[str, float]:
    """Return the share of every program's points inside the percentiles of the others."""
    found = {}
    for name, ratios in programs.items():
        others = np.concatenate([each for other, each in programs.items() if other != name])
        low, high = np.quantile(others, (tail, 1.0 - tail))
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
                if row["outcome"] == "ok" and not is_gone(row["tiling"]):
                    family = found.setdefault(parse(row["tiling"]).family, {})
                    ratio = float(row["median_seconds"]) / float(row["predicted_seconds"])
                    family.setdefault(path.stem, []).append(ratio)
    return {name: {program: np.array(each) for program, each in many.items()} for name, many in found.items()}


if __name__ == "__main__":
    main()

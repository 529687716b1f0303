"""Energy constants by regression against micro-benchmarks: table B.2, 10 % of the runs to fit, 90 % held out.

python reproduce/energy_fit.py [--quick] [--runs FILE.csv] [--output DIR]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from energy_runs import COUNTS, METERED, runs
from tilewright.base.paths import write_rows
from tilewright.costs.accuracy import Comparison
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.fit import FITTED, columns
from tilewright.machines.files import load
from tilewright.report.figures import scatter
from tilewright.verbs.energy.runs import EnergyFit, FitRun, fit_energy, run_usage, write_runs

PUBLISHED = {"smith_waterman": (12.77, 2.59), "jacobi1d": (17.14, 2.35), "jacobi2d": (8.30, 3.95)}
"""RMSE in percent: micro-benchmarks, regression."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one random split in place of ten")
    parser.add_argument("--runs", type=Path, help="metered runs in place of the synthetic trace")
    parser.add_argument("--machine", default=METERED, help="the machine they ran on")
    parser.add_argument("--output", type=Path, default=Path("results/energy_fit"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    known, label = runs(chosen.runs)
    if chosen.runs is None:
        write_runs(known, chosen.output / "synthetic_runs.csv")
    fits = splits(known, chosen.machine, 1 if chosen.quick else 10)
    rows = []
    for seed, fit in enumerate(fits):
        for name, score in fit.held_out:
            rows.append((seed, name, score.runs, 100 * score.fitted, 100 * score.machine))
    heads = ("split", "program", "held_out", "rmse_regression_percent", "rmse_micro_percent")
    write_rows(chosen.output / "energy_fit.csv", heads, rows)
    table = columns([run_usage(run, load(chosen.machine)) for run in known])
    compared = Comparison(
        predicted=table @ fits[0].regression.vector(),
        measured=np.array([run.joules for run in known]),
        configurations=[run.program for run in known],
    )
    scatter(compared, chosen.output / "energy_fit.png", "joules, fitted to 10 % of the runs")
    text = _verdict(fits, label, chosen.machine)
    (chosen.output / "verdict.md").write_text(text, encoding="utf-8")
    print(text)


def splits(known: Sequence[FitRun], machine: str = METERED, count: int = 10) -> list[EnergyFit]:
    """Fit a tenth of the runs, chosen at random so many times."""
    return [fit_energy(known, machine, train=0.1, seed=seed) for seed in range(count)]


def held_out(fits: Sequence[EnergyFit]) -> list[tuple[str, ...]]:
    """Return the stencils with the runs held out and the mean errors: micro-benchmarks, regression, published."""
    rows = []
    for name in ("all", *COUNTS):
        scores = [dict(fit.held_out)[name] for fit in fits if name in dict(fit.held_out)]
        if scores:
            both = (100 * np.mean([getattr(each, kind) for each in scores]) for kind in ("machine", "fitted"))
            claim = "{:g} %, {:g} %".format(*PUBLISHED[name]) if name in PUBLISHED else "-"
            rows.append((name, str(scores[0].runs), *(f"{error:.2f} %" for error in both), claim))
    return rows


def better(fits: Sequence[EnergyFit]) -> str:
    """Say how often the regression predicts better than the micro-benchmarks."""
    count = sum(dict(fit.held_out)["all"].fitted < dict(fit.held_out)["all"].machine for fit in fits)
    return f"The regression beats the micro-benchmarks in {count} of {len(fits)} random splits."


def _verdict(fits: Sequence[EnergyFit], label: str, machine: str) -> str:
    own = constants(load(machine)).vector()
    lines = [f"Runs: {label}.", "", "| constant | micro-benchmarks | regression | as good a fit |", "| --- " * 4 + "|"]
    first = fits[0].regression
    for name, value, low, high in zip(first.names, first.values, first.low, first.high, strict=True):
        lines.append(f"| {name} | {own[FITTED.index(name)]:.3g} | {value:.3g} | {low:.3g} to {high:.3g} |")
    lines += ["", f"Not told apart: {'; '.join(', '.join(group) for group in first.alike) or 'nothing'}.", ""]
    lines += ["| held out | runs | micro-benchmarks | regression | published |", "| --- " * 5 + "|"]
    lines += [f"| {' | '.join(row)} |" for row in held_out(fits)]
    lines += ["", better(fits)]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()

"""Choosing tiles by energy: table B.3, and whether the fastest tile also takes the least energy.

python reproduce/energy_choice.py [--quick] [--runs FILE.csv] [--output DIR]
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from energy_runs import METERED, runs
from tilewright.base.paths import write_rows
from tilewright.costs.accuracy import Comparison
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.fit import FITTED, columns
from tilewright.machines.files import load
from tilewright.report import figures
from tilewright.verbs.energy.energy import MetricComparison, compare
from tilewright.verbs.energy.runs import FitRun, run_usage

PUBLISHED = {"smith_waterman": (2, 0.05, 0.75), "jacobi1d": (1, 0.02, 0.4), "jacobi2d": (0, 0.0, 0.0)}
"""Table B.3: wrong choices, RMSE and largest error in percent."""
CASES = {
    "jacobi1d": ((2**22,), 4096),
    "jacobi2d": ((8192, 8192), 1024),
    "heat2d": ((8192, 8192), 1024),
    "gradient2d": ((8192, 8192), 1024),
    "heat3d": ((512, 512, 512), 256),
    "laplacian3d": ((512, 512, 512), 256),
}


MACHINES = ("k20c", "k20c-regression", "gtx980", "h200")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one machine in place of four")
    parser.add_argument("--runs", type=Path, help="metered runs in place of the synthetic trace")
    parser.add_argument("--machine", default=METERED, help="the machine they ran on")
    parser.add_argument("--output", type=Path, default=Path("results/energy_choice"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    known, label = runs(chosen.runs)
    rows = [HEAD, ("---",) * len(HEAD), *metered(known, chosen.machine)]
    text = [f"Runs: {label}.", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    found = comparisons(MACHINES[:1] if chosen.quick else MACHINES)
    text += _answers(found)
    heads = ("machine", "scope", "program", "fastest", "least_energy", "extra_joules", "extra_seconds")
    tilings = {key: [dict(one.best)[metric].tiling for metric in ("time", "energy")] for key, one in found.items()}
    every = ((*key, *tilings[key], one.extra_joules, one.extra_seconds) for key, one in found.items())
    write_rows(chosen.output / "energy_choice.csv", heads, every)
    _draw(found, chosen.output / "energy_choice.png")
    (chosen.output / "verdict.md").write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


HEAD = ("stencil", "runs", "instances", "wrong", "RMSE", "largest", "thesis: wrong, RMSE, largest", "fastest is least")
"""What the columns of :func:`metered` are."""


def metered(known: Sequence[FitRun], machine: str) -> list[tuple[str, ...]]:
    """Choose among the tiles of every instance by the predicted energy, and look up what that one measured."""
    predicted = (
        columns([run_usage(run, load(machine)) for run in known]) @ constants(load(machine)).vector()[: len(FITTED)]
    )
    rows = []
    for name in dict.fromkeys(run.program for run in known):
        groups: dict[object, list[int]] = {}
        for index, run in enumerate(known):
            if run.program == name:
                groups.setdefault(run.instance, []).append(index)
        chosen, least, same = [], [], 0
        for members in groups.values():
            best = min(members, key=lambda i: known[i].joules)
            picked = min(members, key=lambda i: predicted[i])
            chosen.append(known[picked].joules)
            least.append(known[best].joules)
            same += min(members, key=lambda i: known[i].seconds) == best
        table = Comparison(predicted=np.array(chosen), measured=np.array(least))
        losses = table.errors
        claim = "{}, {:g} %, {:g} %".format(*PUBLISHED.get(name, (0, 0.0, 0.0)))
        count = sum(run.program == name for run in known)
        found = (f"{100 * table.rmse:.2f} %", f"{100 * max(losses):.2f} %", claim, f"{same} of {len(groups)}")
        rows.append((name, str(count), str(len(groups)), str((losses > 0).sum()), *found))
    return rows


def comparisons(machines: Sequence[str] = MACHINES) -> dict[tuple[str, str, str], MetricComparison]:
    """Compare all feasible tiles of every case, by machine, scope of the bandwidth and program."""
    return {
        (machine, scope, name): compare(name, shape=shape, steps=steps, machine=machine, scope=scope)
        for machine in machines
        for scope in ("device", "per_sm")
        for name, (shape, steps) in CASES.items()
    }


def excess(one: MetricComparison) -> float:
    """Return what the least energy within 1 % of the fastest tile is more than the least of all, as a share."""
    return one.near.joules / dict(one.best)["energy"].joules - 1.0


def agreement(found: Mapping[tuple[str, str, str], MetricComparison]) -> str:
    """Say in how many cases the fastest tile takes hardly more than the least energy."""
    same = sum(one.extra_joules < 0.01 for one in found.values())
    return f"The fastest tile is within 1 % of the least energy in {same} of {len(found)} cases."


def _answers(found: dict[tuple[str, str, str], MetricComparison]) -> list[str]:
    lines = [
        "Does the fastest tile take the least energy? Over every feasible tile, by the model:",
        "",
        "| machine | bandwidth | stencil | fastest | least energy | more energy | more time | within 1 % of it |",
        "| --- " * 8 + "|",
    ]
    for (machine, scope, name), one in found.items():
        best = dict(one.best)
        lines.append(
            f"| {machine} | {scope} | {name} | {best['time'].tiling} | {best['energy'].tiling} "
            f"| {100 * one.extra_joules:.1f} % | {100 * one.extra_seconds:.1f} % | {100 * excess(one):.1f} % |"
        )
    return [*lines, "", agreement(found), ""]


def _draw(found: dict[tuple[str, str, str], MetricComparison], path: Path) -> None:
    figure, (axes,) = figures.panels(1, (5.6, 4.4))
    for (machine, scope, name), one in found.items():
        if machine == "k20c" and scope == "per_sm":
            first = one.front[0]
            times = [point.seconds / first.seconds for point in one.front]
            axes.plot(times, [point.joules / first.joules for point in one.front], "o-", label=name, markersize=4)
    axes.set(xlabel="time over the fastest tile's", ylabel="energy over the fastest tile's")
    axes.set_title("time-energy Pareto sets on k20c, bandwidth per SM")
    axes.legend()
    figures.save(figure, path)


if __name__ == "__main__":
    main()

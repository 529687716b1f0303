"""Measuring in turn what promises most, replayed: 25,370 measurements on a V100, and sweeps of our own on a CPU.

python reproduce/active.py [--data DIR] [--sweeps DIR] [--output DIR]

Every line measures one candidate after the other, and says which share of the best measured speed the best of 1, 4, 10
and so many candidates has reached. `model, in turn` takes the model's ranking as it stands, `tune` is the search of
`tilewright tune --effort full` (tilewright.tuning.search) with recorded measurements in place of new ones; on the
V100 the model's constants are fitted to the other six stencils. The others are the searches of
tilewright.workloads.annotated.search without a model, on the indices of the same sizes: the mean of as
many seeds.
"""

import argparse
import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import measured
from first_choice import FREE, fits, predicted, whole
from tilewright.base.records import Measurement
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.gpu.fit import LogPoints
from tilewright.costs.gpu.terms import GpuConstants
from tilewright.costs.setting import make_setting
from tilewright.costs.time import run_seconds
from tilewright.machines.files import load
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.formats.logs import read_stencilbench
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import Tiling, is_gone, parse
from tilewright.tuning.search import search
from tilewright.tuning.sensitivity import STEP, slopes
from tilewright.tuning.shortlist import FamilySpace, effort_level
from tilewright.verbs.tuning.family_spaces import slopes_of
from tilewright.verbs.validate import ordered
from tilewright.workloads.annotated.search import ALGORITHMS

COUNTS = (1, 4, 10, 20, 50)
SEARCHES = ("Randomsearch", "Randomlocal", "Annealing", "Firefly", "Simplex", "Direct")
SHARES = (0.95, 0.99)
_SEARCHED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Measured candidates of one program.

    Attributes:
        name: The program.
        tilings: The candidates; n of them.
        seconds: Measured seconds; shape (n,).
        expected: What the model expects; shape (n,).
        values: Their sizes; shape (n, d).
        family_spaces: The same candidates as a tuning takes them.
    """

    name: str
    tilings: tuple[Tiling, ...]
    seconds: Floats
    expected: Floats
    values: Ints
    family_spaces: tuple[FamilySpace, ...]


class Replay:
    """A meter that knows the measurements."""

    def __init__(self, space: Space) -> None:
        self._known = dict(zip(space.tilings, space.seconds.tolist(), strict=True))

    def build(self, tilings: Sequence[Tiling]) -> Mapping[Tiling, Measurement]:  # noqa: ARG002
        """Compile nothing."""
        return {}

    def sample(self, tiling: Tiling) -> Measurement:
        """Return what was measured."""
        return Measurement(seconds=(self._known[tiling],))

    def confirm(self, tiling: Tiling, second: Tiling) -> Measurement:  # noqa: ARG002
        """Take it for right."""
        return Measurement()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="seeds of the searches without a model")
    measured.add_data(parser)
    parser.add_argument("--sweeps", type=Path, default=Path(__file__).parents[1] / "benchmarks" / "results" / "sweeps")
    parser.add_argument("--output", type=Path, default=Path("results/active"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    lines = ["Sweeps on a CPU:", "", *table([of_sweep(path) for path in sorted(chosen.sweeps.glob("*.csv"))])]
    logs = measured.log_paths(chosen.data, needed=False)
    if logs:
        spaces = of_logs(logs)
        lines += ["", "V100:", "", *table(spaces), *searches(spaces, chosen.seeds)]
    measured.write_verdict(chosen.output, "\n".join(lines))


def of_logs(paths: Sequence[Path]) -> list[Space]:
    """Return the logs' points, predicted with constants fitted to the other logs."""
    stencils = [whole(ordered(read_stencilbench(path))) for path in paths]
    return [of_points(one, constants) for one, constants in zip(stencils, fits(stencils)[1], strict=True)]


def of_points(one: LogPoints, constants: GpuConstants) -> Space:
    """Return a log's points, thread blocks included, with the slopes along the constants."""
    sizes = replace(one.case.sizes, threads=one.case.threads)
    values = np.stack([sizes.time, *sizes.space, *sizes.threads], axis=1)
    rank = len(sizes.space)
    tilings = tuple(
        Tiling(family="hybrid", time=row[0], space=tuple(row[1 : 1 + rank]), threads=tuple(row[1 + rank :]))
        for row in values.tolist()
    )
    cost = predicted(one, constants)

    def along(index: Ints) -> Floats:
        some = LogPoints(case=one.case.take(index), seconds=one.seconds[index])
        steps = {name: replace(constants, **{name: (1.0 + STEP) * getattr(constants, name)}) for name in FREE}
        return slopes({name: predicted(some, each) for name, each in steps.items()}, cost[index])

    space = FamilySpace(
        family=family_named("hybrid"), sizes=sizes, cost=cost, make=tilings.__getitem__, expected=cost, slopes=along
    )
    return Space(
        name=one.case.program.name,
        tilings=tilings,
        seconds=one.seconds,
        expected=cost,
        values=values,
        family_spaces=(space,),
    )


def of_sweep(path: Path) -> Space:
    """Return a sweep's tilings that ran, on the machine that it was made on."""
    with path.open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["outcome"] == "ok" and not is_gone(row["tiling"])]
    about = json.loads(path.with_suffix(".json").read_text())
    machine = load(str(path.with_suffix(".host.toml")))
    problem = make_problem(catalogue.program(path.stem), about["shape"], about["steps"], about["dtype"])
    setting = make_setting(problem, machine)
    tilings = tuple(parse(row["tiling"]) for row in rows)
    cost = np.array([float(row["predicted_seconds"]) for row in rows])
    rank = problem.program.rank
    found = []
    for family in sorted({tiling.family for tiling in tilings}):
        mine = [place for place, tiling in enumerate(tilings) if tiling.family == family]
        sizes = sizes_of([tilings[place] for place in mine], rank)
        found.append(
            FamilySpace(
                family=family,
                sizes=sizes,
                cost=cost[mine],
                make=tuple(tilings[place] for place in mine).__getitem__,
                expected=run_seconds(family, cost[mine], setting),
                slopes=slopes_of(problem, machine, "exact", family, sizes),
            )
        )
    every = sizes_of(tilings, rank)
    return Space(
        name=path.stem,
        tilings=tilings,
        seconds=np.array([float(row["median_seconds"]) for row in rows]),
        expected=cost,
        values=np.stack([every.time, *every.space], axis=1),
        family_spaces=tuple(found),
    )


def sizes_of(tilings: Sequence[Tiling], rank: int) -> TileSizes:
    """Return the sizes of tilings, 1 where there are none."""
    rows = [(max(1, t.time), *t.space, *(1,) * (rank - len(t.space))) for t in tilings]
    height, *sizes = np.array(rows, dtype=np.int64).T
    sub = np.array([t.sub for t in tilings], dtype=np.int64).T if tilings[0].sub else ()
    return TileSizes(time=height, space=tuple(sizes), k=np.zeros_like(height), sub=tuple(sub))


def table(spaces: Sequence[Space]) -> list[str]:
    """Compare the model's ranking as it stands with a tuning that learns."""
    lines = ["| program | order | " + " | ".join(f"best of {n}" for n in COUNTS) + " |", "| --- " * 7 + "|"]
    for name, order in (("model, in turn", in_turn), ("tune", tuned)):
        rows = [reached(space, order(space)) for space in spaces]
        lines += [line(space.name, name, row) for space, row in zip(spaces, rows, strict=True)]
        lines.append(line("**mean**", name, np.mean(rows, axis=0)))
    return lines


def line(program: str, name: str, row: Floats) -> str:
    """Return a line of shares."""
    return f"| {program} | {name} | " + " | ".join(f"{share:.1%}" for share in row) + " |"


def reached(space: Space, order: Sequence[int]) -> Floats:
    """Return the share of the best speed after each of COUNTS measurements; 0 where nothing measured was met."""
    best = space.seconds.min()
    return np.array([best / space.seconds[list(order[:count])].min(initial=np.inf) for count in COUNTS])


def in_turn(space: Space) -> list[int]:
    """Return the model's first choices."""
    return [int(i) for i in np.argsort(space.expected, kind="stable")[: COUNTS[-1]]]


def tuned(space: Space) -> list[int]:
    """Return what a tuning measures, one after the other; no tiling in time, which it must beat, is not counted."""
    effort = effort_level("full", seconds=math.inf)
    trials = search(space.family_spaces, effort, Replay(space)).trials
    where = {tiling: place for place, tiling in enumerate(space.tilings)}
    order = [where[trial.candidate.tiling] for trial in trials]
    return order[:1] + [place for place in order[1:] if not space.tilings[place].family.untiled]


def searches(spaces: Sequence[Space], seeds: int) -> list[str]:
    """Run the searches without a model, and count what they and a tuning need to come near the best."""
    lines = []
    for name in SEARCHES:
        orders = [[walked(space, name, seed) for seed in range(seeds)] for space in spaces]
        pairs = [(space, order) for space, many in zip(spaces, orders, strict=True) for order in many]
        needed = [int(np.median([needs(space, order, share) for space, order in pairs])) for share in SHARES]
        rows = [reached(space, order) for space, order in pairs]
        lines.append(
            line("**mean**", f"{name}, {needed[0]} to be within 5 %, {needed[1]} within 1 %", np.mean(rows, axis=0))
        )
    for share in SHARES:
        own = [needs(space, tuned(space), share) for space in spaces]
        lines.append(f"\nTune: {', '.join(map(str, own))} measurements to reach {share:.0%}.")
    return lines


def needs(space: Space, order: Sequence[int], share: float) -> int:
    """Return after how many measurements an order has a share of the best speed; its length where it never has."""
    good = np.flatnonzero(space.seconds[list(order)] <= space.seconds.min() / share)
    return int(good[0]) + 1 if len(good) else len(order)


def walked(space: Space, name: str, seed: int) -> list[int]:
    """Return what a search measures: distinct points only, points that the log lacks cost nothing and are infinite."""
    axes = [np.unique(column) for column in space.values.T]
    places = [np.searchsorted(axis, column) for axis, column in zip(axes, space.values.T, strict=True)]
    where = {point: index for index, point in enumerate(zip(*(place.tolist() for place in places), strict=True))}
    walk = ALGORITHMS[name]([len(axis) for axis in axes], np.random.default_rng(seed), None)
    found: dict[int, None] = {}
    batch, asked = next(walk), 0
    while len(found) < min(_SEARCHED, len(where)) and asked < 100 * _SEARCHED:
        asked += len(batch)
        index = [where.get(point) for point in batch]
        found |= dict.fromkeys(i for i in index if i is not None)
        try:
            batch = walk.send([float("inf") if i is None else float(space.seconds[i]) for i in index])
        except StopIteration:
            break
    return list(found)[:_SEARCHED]


if __name__ == "__main__":
    main()

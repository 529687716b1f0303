"""Measuring in turn what promises most, replayed: 25,370 measurements on a V100, and sweeps of our own on a CPU.

python reproduce/active.py [--data DIR] [--sweeps DIR] [--output DIR]

Every line measures one candidate after the other, and says which share of the best measured speed the best of 1, 4, 10
and so many candidates has reached. `model, in turn` takes the model's ranking as it stands, `model, learning` asks
tilewright.tuning.surrogate after every measurement; on the V100 its constants are fitted to the other six stencils.
The others are the searches of tilewright.tuning.loops.algorithms without a model, on the indices of the same sizes: the
mean of as many seeds.
"""

import argparse
import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import measured
from first_choice import fits, predicted, whole
from tilewright.costs.arrays import Floats, Ints
from tilewright.runtime.formats.logs import read_stencilbench
from tilewright.schedules.tiling import parse
from tilewright.tuning.loops.algorithms import ALGORITHMS
from tilewright.tuning.surrogate import Surrogate
from tilewright.verbs.validate import ordered

COUNTS = (1, 4, 10, 20, 50)
SEARCHES = ("Randomsearch", "Randomlocal", "Annealing", "Firefly", "Simplex", "Direct")
_NEAR = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Measured candidates of one program.

    Attributes:
        name: The program.
        predicted: Predicted seconds; shape (n,).
        measured: Measured seconds; shape (n,).
        values: Their sizes; shape (n, d).
        families: Number of every candidate's family; shape (n,).
    """

    name: str
    predicted: Floats
    measured: Floats
    values: Ints
    families: Ints


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="seeds of the searches without a model")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TILEWRIGHT_DATA", "../shared/data")))
    parser.add_argument("--sweeps", type=Path, default=Path(__file__).parents[1] / "benchmarks" / "results" / "sweeps")
    parser.add_argument("--output", type=Path, default=Path("results/active"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    lines = ["Sweeps on a CPU:", "", *table([of_sweep(path) for path in sorted(chosen.sweeps.glob("*.csv"))])]
    logs = sorted((chosen.data / "stencilbench_v100").glob("*.log"))
    if logs:
        spaces = of_logs(logs)
        lines += ["", "V100:", "", *table(spaces), *searches(spaces, chosen.seeds)]
    measured.write_verdict(chosen.output, "\n".join(lines))


def of_logs(paths: Sequence[Path]) -> list[Space]:
    """Return the logs' points, predicted with constants fitted to the other logs."""
    stencils = [whole(ordered(read_stencilbench(path))) for path in paths]
    found = []
    for one, constants in zip(stencils, fits(stencils)[1], strict=True):
        values = np.stack([one.case.sizes.time, *one.case.sizes.space, *one.case.threads], axis=1)
        found.append(
            Space(
                name=one.case.program.name,
                predicted=predicted(one, constants),
                measured=one.seconds,
                values=values,
                families=np.zeros(len(values), dtype=np.int64),
            )
        )
    return found


def of_sweep(path: Path) -> Space:
    """Return a sweep's tilings that ran."""
    with path.open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["outcome"] == "ok"]
    tilings = [parse(row["tiling"]) for row in rows]
    rank = max(len(tiling.space) for tiling in tilings)
    names = sorted({tiling.family for tiling in tilings})
    values = [[max(1, t.time), *t.space, *(1,) * (rank - len(t.space))] for t in tilings]
    return Space(
        name=path.stem,
        predicted=np.array([float(row["predicted_seconds"]) for row in rows]),
        measured=np.array([float(row["median_seconds"]) for row in rows]),
        values=np.array(values, dtype=np.int64),
        families=np.array([names.index(tiling.family) for tiling in tilings]),
    )


def table(spaces: Sequence[Space]) -> list[str]:
    """Compare the model's ranking as it stands with one that learns."""
    lines = ["| program | order | " + " | ".join(f"best of {n}" for n in COUNTS) + " |", "| --- " * 7 + "|"]
    for name, order in (("model, in turn", in_turn), ("model, learning", learning)):
        rows = [reached(space, order(space, COUNTS[-1])) for space in spaces]
        lines += [line(space.name, name, row) for space, row in zip(spaces, rows, strict=True)]
        lines.append(line("**mean**", name, np.mean(rows, axis=0)))
    return lines


def line(program: str, name: str, row: Floats) -> str:
    """Return a line of shares."""
    return f"| {program} | {name} | " + " | ".join(f"{share:.1%}" for share in row) + " |"


def reached(space: Space, order: Sequence[int]) -> Floats:
    """Return the share of the best speed after each of COUNTS measurements."""
    best = space.measured.min()
    return np.array([best / space.measured[list(order[:count])].min() for count in COUNTS])


def in_turn(space: Space, count: int) -> list[int]:
    """Return the model's first choices."""
    return [int(i) for i in np.argsort(space.predicted, kind="stable")[:count]]


def learning(space: Space, count: int) -> list[int]:
    """Return what the surrogate asks for, one after the other, the model's choice first."""
    pool = np.array(in_turn(space, 2000))
    places = np.log2(space.values[pool].astype(float))
    surrogate = Surrogate(predicted=space.predicted[pool], places=places, families=space.families[pool])
    found = []
    for number in range(min(count, len(pool))):
        (index,) = surrogate.ask() if number else (0,)
        surrogate.tell(index, float(space.measured[pool[index]]))
        found.append(int(pool[index]))
    return found


def searches(spaces: Sequence[Space], seeds: int) -> list[str]:
    """Run the searches without a model, and count what they need to come within five percent."""
    lines = []
    for name in SEARCHES:
        orders = [[walked(space, name, seed) for seed in range(seeds)] for space in spaces]
        rows = [reached(space, order) for space, many in zip(spaces, orders, strict=True) for order in many]
        needed = [needs(space, order) for space, many in zip(spaces, orders, strict=True) for order in many]
        lines.append(line("**mean**", f"{name}, {np.median(needed):.0f} to be within 5 %", np.mean(rows, axis=0)))
    own = [needs(space, learning(space, 200)) for space in spaces]
    lines.append(f"\nModel, learning: {', '.join(map(str, own))} measurements to be within 5 %.")
    return lines


def needs(space: Space, order: Sequence[int]) -> int:
    """Return after how many measurements an order is within five percent of the best; its length where it is not."""
    good = np.flatnonzero(space.measured[list(order)] <= space.measured.min() / _NEAR)
    return int(good[0]) + 1 if len(good) else len(order)


def walked(space: Space, name: str, seed: int, most: int = 500) -> list[int]:
    """Return what a search measures: distinct points only, points that the log lacks cost nothing and are infinite."""
    axes = [np.unique(column) for column in space.values.T]
    places = [np.searchsorted(axis, column) for axis, column in zip(axes, space.values.T, strict=True)]
    where = {point: index for index, point in enumerate(zip(*(place.tolist() for place in places), strict=True))}
    walk = ALGORITHMS[name]([len(axis) for axis in axes], np.random.default_rng(seed), None)
    found: dict[int, None] = {}
    batch, asked = next(walk), 0
    while len(found) < min(most, len(where)) and asked < 100 * most:
        asked += len(batch)
        index = [where.get(point) for point in batch]
        found |= dict.fromkeys(i for i in index if i is not None)
        try:
            batch = walk.send([float("inf") if i is None else float(space.measured[i]) for i in index])
        except StopIteration:
            break
    return list(found)[:most]


if __name__ == "__main__":
    main()

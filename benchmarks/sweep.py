"""Exhaustive sweeps: hundreds of tilings of one program measured, and how good the model's choices are among them.

    python benchmarks/sweep.py j2d5pt --folder benchmarks/results/sweeps
    python benchmarks/sweep.py heat3d --stage build; python benchmarks/sweep.py heat3d --stage measure --seconds 170

The candidates are no tiling, the model's first choices, the best of every height of every family, and points of every
family's ranking from its best to its worst. Each is compiled, checked against the NumPy reference and measured in a
worker process, in whole runs with whatever they copy, in rounds, each in an order of its own, so that slow moments of
the machine meet all of them. Everything goes to a log at once: a sweep that is cut, or told to stop by ``--seconds``,
goes on where it was. Calibrate the host first (``tilewright calibrate``), else the model runs on what the CPU says
about itself.
"""

import argparse
import csv
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import environment
import user_programs
from tilewright.base.records import Measurement
from tilewright.base.units import format_shape, parse_shape
from tilewright.costs import time as time_model
from tilewright.costs.accuracy import Comparison
from tilewright.costs.setting import make_setting
from tilewright.costs.time import run_seconds, whole_seconds
from tilewright.machines.files import to_toml
from tilewright.machines.machine import Machine
from tilewright.plan import Plan, Target
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime.store import folder as store
from tilewright.runtime.workers.pool import pool
from tilewright.schedules.tiling import NONE, Tiling, is_gone, parse
from tilewright.tuning.search import spread
from tilewright.tuning.select import rank
from tilewright.tuning.shortlist import FamilySpace, ranked, shortlist
from tilewright.verbs.predict import as_machine
from tilewright.verbs.tuning.family_spaces import family_spaces
from tilewright.verbs.tuning.meter import Errand, Limits, WorkerMeter, read_history

_FLAT = ("j2d5pt", "j2d9pt-gol", "gradient2d", "star2d2r", "wave2d", "heat2d_var", "fdtd2d")
_SOLID = ("j3d7pt", "laplacian3d", "heat3d", "j3d27pt")
CASES = {
    "j1d3pt": (2**24,),
    **dict.fromkeys(_FLAT, (4096, 4096)),
    **dict.fromkeys(_SOLID, (256, 256, 256)),
}
"""Grids that no cache holds, those of ``cpu.py``."""
FIRST = 10
"""Candidates that begin every tuning's shortlist, whose best is scored beside the model's choice: those of
``tilewright tune --effort exhaustive --candidates 10``; other efforts keep a part of ten for neighbours of the best."""
_SLOW = 1.6
"""What is slower than this times the best is sampled once: its rank is beyond doubt."""
_CHUNK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is swept: every legal family."""

    problem: Problem
    machine: Machine
    family_spaces: tuple[FamilySpace, ...]
    threads: int
    folder: Path

    @property
    def name(self) -> str:
        """The program's name, and the element type if it is not the usual one."""
        name, dtype = self.problem.program.name, self.problem.dtype
        return name if dtype == "float32" else f"{name}_{dtype}"

    @property
    def log(self) -> Path:
        """The log, to which every record is appended at once."""
        return self.folder / f"{self.name}.jsonl"

    def predicted(self, tiling: Tiling) -> float:
        """The model's seconds for a whole run, the caller's arrays copied where a family needs that."""
        return whole_seconds(tiling.family, self._kernel(tiling), make_setting(self.problem, self.machine))

    def expected(self, tiling: Tiling) -> float:
        """The seconds by which a run compares families."""
        return run_seconds(tiling.family, self._kernel(tiling), make_setting(self.problem, self.machine))

    def _kernel(self, tiling: Tiling) -> float:
        return time_model.predict(self.problem, tiling, self.machine).seconds

    def first(self, count: int) -> list[Tiling]:
        """The model's first choices among all families, the one that a run takes first."""
        many = [each.tiling for family_space in self.family_spaces for each in ranked((family_space,), count)]
        return sorted(many, key=self.expected)[:count]

    def ten(self) -> list[Tiling]:
        """What tuning measures first."""
        return [each.tiling for each in shortlist(self.family_spaces, FIRST)]


def candidates(sweep: Sweep, count: int) -> list[Tiling]:
    """Choose what is measured.

    No tiling, the model's first choices, the best of every height of every family; the rest is divided among the
    families, half of it evenly over the ranking, half ever denser towards its beginning.
    """
    chosen: dict[Tiling, None] = {NONE: None}
    chosen |= dict.fromkeys(sweep.first(count // 6))
    tiled = [(each, rank(each.cost, each.sizes)) for each in sweep.family_spaces if each.family != "none"]
    for family_space, order in tiled:
        heights = family_space.sizes.time[order]
        chosen |= dict.fromkeys(family_space.make(int(order[np.argmax(heights == h)])) for h in np.unique(heights))
    part = max(2, (count - len(chosen)) // max(1, len(tiled)))
    for family_space, order in tiled:
        places = sorted(_places(len(order), part), key=lambda place: (place % 7, place))
        many = [family_space.make(int(order[place])) for place in places]
        fresh = [tiling for tiling in dict.fromkeys(many) if tiling not in chosen]
        chosen |= dict.fromkeys(fresh[:part])
    return list(chosen)


def _places(size: int, count: int) -> set[int]:
    even = np.linspace(0, size - 1, count).astype(int)
    dense = np.geomspace(1, size, count).astype(int) - 1
    return {int(place) for place in (*even, *dense)}


def build(sweep: Sweep, tilings: Sequence[Tiling]) -> None:
    """Compile and check every candidate that the log does not know to fail; nothing is timed here."""
    with _meter(sweep) as meter:
        known = read_history(sweep.log).measurements
        fresh = [tiling for tiling in tilings if tiling not in known]
        for start in range(0, len(fresh), _CHUNK):
            meter.build(fresh[start : start + _CHUNK])
            _say(f"{sweep.name}: {min(len(fresh), start + _CHUNK)} of {len(fresh)} compiled and checked")


def measure(sweep: Sweep, tilings: Sequence[Tiling], rounds: tuple[int, int], seconds: float) -> bool:
    """Sample every candidate, one after the other, round after round; then the model's first and the best again.

    Args:
        sweep: The sweep.
        tilings: The candidates.
        rounds: Samples of every candidate, and of those that tuning tries first and the ten best.
        seconds: Time after which no sample is begun.

    Returns:
        Whether all is measured.
    """
    end = time.monotonic() + seconds
    with _meter(sweep) as meter:
        known = dict(read_history(sweep.log).measurements)
        for number in range(1, max(rounds) + 1):
            order = _of_round(sweep, tilings, known, number, rounds[0])
            random.Random(number).shuffle(order)  # noqa: S311  (no secret; else what is first meets a cold machine)
            for tiling in order:
                before = known.get(tiling, Measurement())
                if before.outcome != "ok" or len(before.seconds) >= number:
                    continue
                if time.monotonic() >= end:
                    _say(f"{sweep.name}: stopped in round {number}; the same command goes on from here")
                    return False
                taken = meter.sample(tiling)
                joined = (*before.seconds, *taken.seconds)
                known[tiling] = Measurement(seconds=joined, outcome=taken.outcome, detail=taken.detail)
            _say(f"{sweep.name}: round {number} of {max(rounds)} is done")
    return True


def _of_round(
    sweep: Sweep, tilings: Sequence[Tiling], known: dict[Tiling, Measurement], number: int, common: int
) -> list[Tiling]:
    if number == 1:
        return list(tilings)
    good = sorted((t for t in tilings if t in known and known[t].seconds), key=lambda t: known[t].median)
    if number <= common:
        return [
            t for t in tilings if t in known and known[t].seconds and known[t].median <= _SLOW * known[good[0]].median
        ]
    first = [min(good, key=sweep.expected), *(tiling for tiling in sweep.ten() if tiling in good)]
    return list(dict.fromkeys((*first, *good[:FIRST])))


def report(sweep: Sweep, tilings: Sequence[Tiling]) -> dict[str, Any]:
    """Write the table and the scores of what is measured."""
    known = read_history(sweep.log).measurements
    rows = [(tiling, sweep.predicted(tiling), known[tiling]) for tiling in tilings if tiling in known]
    rows.sort(key=lambda row: row[2].median if row[2].seconds else float("inf"))
    with (sweep.folder / f"{sweep.name}.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("tiling", "predicted_seconds", "median_seconds", "outcome", "samples"))
        for tiling, predicted, found in rows:
            middle = f"{found.median:.6f}" if found.seconds else ""
            samples = " ".join(f"{s:.6f}" for s in found.seconds)
            writer.writerow((tiling, f"{predicted:.6f}", middle, found.outcome, samples))
    document = {**_scored(sweep, rows), "environment": environment.describe(sweep.threads)}
    (sweep.folder / f"{sweep.name}.json").write_text(json.dumps(document, indent=1) + "\n")
    (sweep.folder / f"{sweep.name}.host.toml").write_text(to_toml(sweep.machine))
    return document


def _scored(sweep: Sweep, rows: Sequence[tuple[Tiling, float, Measurement]]) -> dict[str, Any]:
    good = [(tiling, predicted, found) for tiling, predicted, found in rows if found.seconds]
    predicted, measured = (np.array(column) for column in zip(*((p, f.median) for _, p, f in good), strict=True))
    found = Comparison(predicted=predicted, measured=measured).score()
    every = [f.median for _, _, f in good]
    choice = min(good, key=lambda row: sweep.expected(row[0]))
    listed = set(sweep.ten())
    ten = min(f.median for tiling, _, f in good if tiling in listed)
    families = {tiling.family: sum(t.family == tiling.family for t, _, _ in good) for tiling, _, _ in good}
    best_of = {
        family: next(({"tiling": str(t), "seconds": f.median} for t, _, f in good if t.family == family), None)
        for family in families
    }
    spreads = [spread(f.seconds) for _, _, f in good if len(f.seconds) > 1]
    return {
        "program": sweep.problem.program.name,
        "shape": list(sweep.problem.shape),
        "steps": sweep.problem.steps,
        "dtype": sweep.problem.dtype,
        "tilings": len(good),
        "failed": [{"tiling": str(t), "outcome": str(f.outcome)} for t, _, f in rows if not f.seconds],
        "families": families,
        "best_of_family": best_of,
        "slowest_over_best": max(every) / min(every),
        "median_spread": float(np.median(spreads)) if spreads else None,
        "choice": str(choice[0]),
        "choice_is_first_of_space": str(sweep.first(1)[0]) == str(choice[0]),
        "first_choice_share_of_best": min(every) / choice[2].median,
        "best_of_ten_share_of_best": min(every) / ten,
        "rmse_all": found.rmse_all,
        "rmse_top20": found.rmse_top20,
        "spearman": found.spearman,
    }


def _meter(sweep: Sweep) -> "_Workers":
    return _Workers(sweep)


class _Workers:
    """Worker processes for a block."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._pool = pool(sweep.threads)

    def __enter__(self) -> WorkerMeter:
        problem = self._sweep.problem
        request = Plan(problem=problem, target=Target(backend="c", threads=self._sweep.threads))
        history = read_history(self._sweep.log)
        limits = Limits(compile=600.0, check=600.0, run=120.0, least=20.0)
        errand = Errand(plan=request, scalars=(), steps=problem.steps, limits=limits)
        return WorkerMeter(self._pool.__enter__(), errand, self._sweep.log, history)

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(*error)


def _planned(sweep: Sweep, count: int) -> list[Tiling]:
    """The candidates: those that the log names, and the model's first choices if it has changed since."""
    logged = [
        parse(str(tile))
        for record in store.read(sweep.log)
        if record.get("kind") == "plan"
        for tile in record["tilings"]
        if not is_gone(tile)
    ]
    chosen = logged or candidates(sweep, count)
    first = [*sweep.first(1), *sweep.ten()]
    fresh = [tiling for tiling in dict.fromkeys((*chosen, *first)) if tiling not in set(logged)]
    for start in range(0, len(fresh), 200):
        store.append(sweep.log, {"kind": "plan", "tilings": [str(t) for t in fresh[start : start + 200]]})
    return [*logged, *fresh]


def _problems(chosen: argparse.Namespace) -> Iterator[Problem]:
    for name in chosen.programs:
        asked = parse_shape(chosen.shape) if chosen.shape else CASES.get(name)
        if asked is None:
            sys.exit(f"{name} needs --shape")
        yield make_problem(user_programs.program(name), asked, chosen.steps, dtype=chosen.dtype)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=list(CASES), metavar="PROGRAM")
    parser.add_argument("--shape", metavar="AxB", help="grid; by default one that no cache holds")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--count", type=int, default=240, help="candidates")
    parser.add_argument("--rounds", type=int, nargs=2, default=(3, 7), metavar="N", help="samples of all, of the best")
    parser.add_argument("--stage", choices=("build", "measure", "report", "all"), default="all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no sample after this time")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--folder", type=Path, default=Path("results/sweeps"), help="of the logs and results")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Sweep; exit status 1 if a sweep is not finished."""
    chosen = arguments(argv)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    finished, begin = True, time.monotonic()
    for problem in _problems(chosen):
        where = as_machine("host")
        sweep = Sweep(
            problem=problem,
            machine=where,
            family_spaces=family_spaces(problem, where),
            threads=chosen.threads,
            folder=chosen.folder,
        )
        tilings = _planned(sweep, chosen.count)
        if chosen.stage in {"build", "all"}:
            build(sweep, tilings)
        if chosen.stage in {"measure", "all"}:
            left = chosen.seconds - (time.monotonic() - begin)
            finished = measure(sweep, tilings, tuple(chosen.rounds), left) and finished
        measured = any(found.seconds for found in read_history(sweep.log).measurements.values())
        if chosen.stage != "build" and measured:
            found = report(sweep, tilings)
            print(
                f"{found['program']} {format_shape(problem.shape)}: {found['tilings']} tilings, slowest "
                f"{found['slowest_over_best']:.1f}x; choice {found['choice']} "
                f"{found['first_choice_share_of_best']:.1%}, best of ten {found['best_of_ten_share_of_best']:.1%}"
            )
    return 0 if finished else 1


if __name__ == "__main__":
    sys.exit(main())

"""Wavefront-diamond tiles against the other families in three dimensions, in whole runs.

    python benchmarks/wavefront_diamond.py --output benchmarks/results/wavefront_diamond.json

Of every family the model's first tilings are tried once each, of heights that differ; the fastest is its best. The best
of all families then run in turn, several times: whole runs of :func:`tilewright.run`, the copies of the caller's arrays
included. Wavefront diamonds take part twice: a tile per thread, and one that all threads share. Results of all families
are compared with those of no tiling.

Beside the seconds of a run its processor time is kept, which says more where others compute on the machine. Threads
that wait are asked to sleep, but those that share a tile try for a while first.
"""

import argparse
import dataclasses
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import environment
import tilewright as tw
from case import Case, initial
from tilewright.costs.setting import make_setting
from tilewright.costs.time import predict
from tilewright.runtime.store.hosts import host
from tilewright.schedules import catalogue
from tilewright.schedules.families import wavefront_diamond
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.ranking import evaluated
from tilewright.tuning.select import rank
from tilewright.tuning.spaces import space

PROGRAMS = ("j3d7pt", "heat3d", "j3d27pt", "star3d4r", "acoustic3d")
SIZES = (128, 256, 320)
FAMILIES = ("none", "hybrid", "streaming", "diamond", wavefront_diamond.NAME)
_STEPS = 2**31
"""Cell updates of a run, about; at least 50 steps, at most 100."""
_TOLERANCE = 1e-4
"""How far results may differ, relative to the largest value: rounding alone takes less."""


@dataclasses.dataclass(kw_only=True)
class Entry:
    """A way to run a case: a tiling, what the model says of it, and how long runs took."""

    name: str
    tiling: Tiling
    predicted_seconds: float
    seconds: list[float] = dataclasses.field(default_factory=list)
    processor_seconds: list[float] = dataclasses.field(default_factory=list)


def entries_of(case: Case, tries: int) -> dict[str, list[Entry]]:
    """Return the model's first tilings of every family, of heights that differ; those of teams are the same tiles."""
    problem = case.problem()
    setting = make_setting(problem, host())
    found: dict[str, list[Entry]] = {}
    for family in FAMILIES:
        sizes, result = evaluated(setting, family, "exact")
        for index in rank(result.seconds, sizes).tolist():
            tiling = catalogue.complete(problem, space.tiling_at(family, sizes, index))
            known = found.setdefault(family, [])
            if len(known) < tries and all(each.tiling.time != tiling.time for each in known):
                known.append(Entry(name=family, tiling=tiling, predicted_seconds=float(result.seconds[index])))
    if case.threads > 1:
        teams = [dataclasses.replace(each.tiling, team=case.threads) for each in found[wavefront_diamond.NAME]]
        seconds = [predict(problem, tiling, host()).seconds for tiling in teams]
        found["shared"] = [
            Entry(name="the same, shared", tiling=tiling, predicted_seconds=each)
            for tiling, each in zip(teams, seconds, strict=True)
        ]
    return found


def runner(case: Case) -> Callable[[Tiling], tuple[float, float, Any]]:
    """Return what runs a case, and returns the seconds of the call, those of all processors, and the newest field."""
    problem = case.problem()
    arrays = [versions[0] if len(versions) == 1 else tuple(versions) for versions in initial(case).values()]

    def run(tiling: Tiling) -> tuple[float, float, Any]:
        begin, spent = time.perf_counter(), time.process_time()
        result = tw.run(problem.program, *arrays, steps=case.steps, tiling=tiling, threads=case.threads)
        took = time.perf_counter() - begin, time.process_time() - spent
        return *took, result[0] if isinstance(result, tuple) else result

    return run


def measured(case: Case, tries: int, repeats: int) -> dict[str, Any]:
    """Measure a case: the first runs choose, the others are in turn."""
    run = runner(case)
    plain = run(NONE)[2]
    scale = float(np.abs(plain).max())
    best: list[Entry] = []
    for candidates in entries_of(case, tries).values():
        first = []
        for entry in candidates:
            error = float(np.abs(run(entry.tiling)[2] - plain).max())
            if not error <= _TOLERANCE * scale:
                raise AssertionError(f"{entry.tiling} computed something else, by {error} of {scale}")
            first.append((min(run(entry.tiling)[1] for _ in range(2)), entry))
        best.append(min(first, key=lambda item: item[0])[1])
    for _ in range(repeats):
        for entry in best:
            seconds, spent, _ = run(entry.tiling)
            entry.seconds.append(seconds)
            entry.processor_seconds.append(spent)
    return {"case": case.to_dict(), "entries": [{**dataclasses.asdict(e), "tiling": str(e.tiling)} for e in best]}


def table(record: dict[str, Any]) -> str:
    """Write a case as one line per family: its tile, its median speed, its range, and what the model says."""
    case = Case.from_dict(record["case"])
    lines = [f"{case.program} {case.dtype} {case.shape[0]}^3, {case.steps} steps, {case.threads} threads"]
    for entry in record["entries"]:
        seconds, updates = entry["seconds"], case.updates / 1e9
        lines.append(
            f"  {entry['name']:26}{updates / statistics.median(seconds):7.2f} GCells/s "
            f"({updates / max(seconds):.2f} - {updates / min(seconds):.2f}), by processor time "
            f"{case.threads * updates / statistics.median(entry['processor_seconds']):.2f}, predicted "
            f"{updates / entry['predicted_seconds']:.2f}  {entry['tiling']}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N", help="extents of cubes")
    parser.add_argument("--tries", type=int, default=4, help="tilings per family that the fastest is chosen of")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--steps", type=int, help="steps, in place of 50 to 100 by the size")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    chosen = parser.parse_args(argv)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    command = " ".join(["python", "benchmarks/wavefront_diamond.py", *(sys.argv[1:] if argv is None else argv)])
    document: dict[str, Any] = {"environment": environment.describe(chosen.threads), "command": command, "cases": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in chosen.programs:
            for size in chosen.sizes:
                steps = chosen.steps or min(100, max(50, _STEPS // size**3))
                case = Case(program=name, shape=(size,) * 3, steps=steps, dtype=chosen.dtype, threads=chosen.threads)
                record = measured(case, chosen.tries, chosen.repeats)
                print(table(record), flush=True)
                document["cases"].append(record)
                if chosen.output:
                    chosen.output.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

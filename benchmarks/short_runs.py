"""Runs of a few steps: what a run takes by default beside no time tiling, whole calls of ``tw.run``, interleaved.

By default with an empty store, as on a host that nobody has calibrated:

    taskset -c 0 python benchmarks/short_runs.py --threads 1 --output results/short_runs.json
    python benchmarks/short_runs.py --store ~/tilewright-store    # with a calibration that is kept there

Every case runs the default and ``none`` in turn; a ratio is the time of ``none`` over that of the default, so that 1
and more is good. Where the default is ``none`` itself nothing is measured. The table gives, per program and size, the
lowest ratio of all numbers of steps, in medians of the pairs, with the lowest case and its interval.
"""

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import environment

STEPS = (1, 2, 3, 5, 8, 10, 15, 20)
SIDES = {1: (2**16, 2**20, 2**24), 2: (256, 1024, 4096), 3: (64, 128, 256)}
PROGRAMS = (
    "j1d3pt", "star1d4r", "j2d5pt", "heat2d", "gradient2d", "star2d4r", "box2d2r", "wave2d", "heat2d_var", "fdtd2d",
    "j3d7pt", "j3d27pt", "star3d2r", "heat3d", "wave3d",
)  # fmt: skip
_LEAST_SECONDS = 2e-3
"""A sample repeats a call until it takes so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A short run that was measured.

    Attributes:
        program: Its name.
        shape: Extents of the grid.
        steps: Time steps.
        tiling: What the run takes by default.
        seconds: Samples of the default, seconds per call.
        plain_seconds: Samples of ``none``, each taken next to the default's of the same place.
    """

    program: str
    shape: tuple[int, ...]
    steps: int
    tiling: str
    seconds: tuple[float, ...] = ()
    plain_seconds: tuple[float, ...] = ()

    @property
    def ratios(self) -> list[float]:
        """Time of ``none`` over the default's, pair by pair, in ascending order."""
        return sorted(b / a for a, b in zip(self.seconds, self.plain_seconds, strict=True))

    @property
    def ratio(self) -> float:
        """Their median; 1 where the default is ``none``."""
        return statistics.median(self.ratios) if self.seconds else 1.0

    @property
    def best(self) -> float:
        """The least time of ``none`` over the least one of the default."""
        return min(self.plain_seconds) / min(self.seconds) if self.seconds else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """An interval of the median that holds it with 95 % at least, by order statistics; the range of few samples."""
        ratios, count = self.ratios, len(self.seconds)
        if not count:
            return 1.0, 1.0
        low = 0
        while low + 1 < count // 2 and sum(math.comb(count, i) for i in range(low + 2)) <= 0.025 * 2**count:
            low += 1
        return ratios[low], ratios[count - 1 - low]

    @property
    def slower(self) -> bool:
        """Whether the default is slower than ``none`` beyond noise."""
        return self.ratio < 0.95 and self.interval[1] < 1.0


def measured(name: str, shape: tuple[int, ...], steps: int, repeats: int, threads: int) -> Case:
    """Measure one short run."""
    import tilewright as tw
    from tilewright.driver import prepare
    from tilewright.plan import read_target
    from tilewright.programs.stencil.catalogue import program
    from tilewright.programs.stencil.problem import make_problem

    known = program(name)
    problem = make_problem(known, shape, steps)
    tiling = str(prepare(problem, read_target("auto", threads)).plan.tiling)
    case = Case(program=name, shape=shape, steps=steps, tiling=tiling)
    if tiling == "none":
        return case
    generator = np.random.default_rng(0)
    values = [1.0 + 0.1 * generator.random(shape, dtype=np.float32) for _ in known.fields]
    arrays = [(each,) * known.history(field) for field, each in zip(known.fields, values, strict=True)]  # at rest
    scalars = dict.fromkeys(known.scalars, 0.1)

    def call(asked: str) -> None:
        tw.run(name, *arrays, steps=steps, tiling=asked, threads=threads, **scalars)

    for asked in (tiling, "none"):
        call(asked)
    begin = time.perf_counter()
    call("none")
    times = max(1, math.ceil(_LEAST_SECONDS / (time.perf_counter() - begin)))

    def sample(asked: str) -> float:
        begin = time.perf_counter()
        for _ in range(times):
            call(asked)
        return (time.perf_counter() - begin) / times

    pairs: list[tuple[float, float]] = []
    for turn in range(repeats):
        # Whichever runs first may find the caches as the other one left them, so they take turns.
        if turn % 2:
            plain, tiled = sample("none"), sample(tiling)
        else:
            tiled, plain = sample(tiling), sample("none")
        pairs.append((tiled, plain))
    mine, plains = zip(*pairs, strict=True)
    return Case(program=name, shape=shape, steps=steps, tiling=tiling, seconds=mine, plain_seconds=plains)


def table(cases: Sequence[Case]) -> str:
    """Return the lowest ratios as a table."""
    lines = ["program          grid            tiled  geometric mean  lowest  interval      its steps and tiling"]
    groups: dict[tuple[str, tuple[int, ...]], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.program, case.shape), []).append(case)
    for (name, shape), found in groups.items():
        tiled = [case for case in found if case.seconds]
        grid = "x".join(map(str, shape))
        if not tiled:
            lines.append(f"{name:16} {grid:15} {0:5}")
            continue
        mean = statistics.geometric_mean(case.ratio for case in tiled)
        worst = min(tiled, key=lambda case: case.ratio)
        low, high = worst.interval
        said = f"{worst.ratio:6.2f}  {low:.2f} to {high:.2f}  {worst.steps:3} {worst.tiling}"
        lines.append(f"{name:16} {grid:15} {len(tiled):5}  {mean:14.2f}  {said}")
    slower = [case for case in cases if case.slower]
    ratios = [case.ratio for case in cases]
    lines.append(
        f"{len(cases)} cases, geometric mean {statistics.geometric_mean(ratios):.3f}, lowest {min(ratios):.2f}"
    )
    lines.append(f"slower than none beyond noise: {len(slower)}")
    return "\n".join(lines)


def document(cases: Sequence[Case], threads: int, machine: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a measurement."""
    kept = [{**asdict(case), "ratio": case.ratio, "interval": case.interval} for case in cases]
    return {"environment": environment.describe(threads), "machine": machine, "cases": kept}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=PROGRAMS)
    parser.add_argument("--steps", nargs="+", type=int, default=STEPS)
    parser.add_argument("--sides", nargs="+", type=int, help="extents of an axis, for programs of all ranks")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--store", type=Path, help="folder of a calibration; an empty one by default")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--quick", action="store_true", help="few small grids; the figures mean nothing")
    chosen = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as empty:
        os.environ["TILEWRIGHT_STORE"] = str(chosen.store or empty)
        from tilewright.programs.stencil.catalogue import program
        from tilewright.runtime.store.hosts import host

        cases = []
        for name in chosen.programs:
            rank = program(name).rank
            sides = chosen.sides or (SIDES[rank][:1] if chosen.quick else SIDES[rank])
            for side in sides:
                for steps in chosen.steps[1:4] if chosen.quick else chosen.steps:
                    repeats = 3 if chosen.quick else chosen.repeats
                    case = measured(name, (side,) * rank, steps, repeats, chosen.threads)
                    cases.append(case)
                    print(
                        f"{name:12} {side:9} {steps:3} {case.tiling:32} {case.ratio:6.3f} {case.best:6.3f}", flush=True
                    )
        bandwidth = host().dram_bandwidth
        machine = {"calibrated": bandwidth.source == "measured", "dram_bandwidth": bandwidth.value}
    print(table(cases))
    if chosen.output:
        chosen.output.write_text(json.dumps(document(cases, chosen.threads, machine), indent=1) + "\n")
    return int(any(case.slower for case in cases))


if __name__ == "__main__":
    raise SystemExit(main())

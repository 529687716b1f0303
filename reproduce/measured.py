"""What the experiments on ``host`` share: measuring tilings, scores of a prediction, and writing results."""

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.errors import TilewrightError
from tilewright.costs import time as time_model
from tilewright.costs.accuracy import Comparison
from tilewright.costs.setting import make_setting
from tilewright.driver import prepare
from tilewright.inputs.arrays import gather
from tilewright.plan import Target
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.report import figures
from tilewright.runtime.host import thread_count
from tilewright.schedules.tiling import is_gone, parse
from tilewright.tuning.spaces import space
from tilewright.verbs.predict import as_machine
from tilewright.verbs.prediction import Prediction

NEAR = 1 / 1.2
"""Share of the best speed from which on a tiling is near the best: within 20 % of its time."""
_WIDE = 5.0
"""Ranges wider than this are drawn on logarithmic axes."""


def add_data(parser: argparse.ArgumentParser) -> None:
    """Let a command say where the public logs are."""
    folder = Path(os.environ.get("TILEWRIGHT_DATA", "data"))
    text = "folder of stencilbench_v100, as benchmarks/fetch_stencilbench.py writes it (TILEWRIGHT_DATA, else data)"
    parser.add_argument("--data", type=Path, default=folder, help=text)


def log_paths(data: Path, *, needed: bool = True) -> list[Path]:
    """Return the paths of the public logs below a folder; where there are none and they are needed, end the command."""
    paths = sorted((data / "stencilbench_v100").glob("*.log"))
    if needed and not paths:
        sys.exit(f"no logs in {data / 'stencilbench_v100'}: fetch them by python benchmarks/fetch_stencilbench.py")
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A tiling with its predicted and its measured time in seconds."""

    tiling: str
    footprint: int
    predicted: float
    measured: float


def measure(
    name: str, shape: tuple[int, ...], steps: int, candidates: Sequence[Prediction], repeats: int
) -> list[Point]:
    """Measure candidates in interleaved repetitions, the least time of each counts; what does not compile is left out.

    Only the kernel is timed, on random data in float32.
    """
    generator = np.random.default_rng(1)
    chosen, problem = program(name), make_problem(program(name), shape, steps)
    given = gather(chosen, [generator.random(shape, dtype=np.float32) for _ in chosen.fields], {})
    threads = thread_count()
    ready = []
    for candidate in candidates:
        try:
            ready.append((candidate, prepare(problem, Target(backend="c"), candidate.tiling)))
        except TilewrightError as error:
            print(f"{candidate.tiling}: {error.message}")
    best = [float("inf")] * len(ready)
    for _ in range(repeats):
        for number, (_, kernel) in enumerate(ready):
            state = kernel.start(problem, given.inputs(), threads)
            begin = time.perf_counter()
            state.advance(steps)
            best[number] = min(best[number], time.perf_counter() - begin)
            state.close()
    return [
        Point(tiling=str(c.tiling), footprint=c.costs.tile_shared_bytes, predicted=c.costs.seconds, measured=seconds)
        for (c, _), seconds in zip(ready, best, strict=True)
    ]


def of_sweep(folder: Path, name: str) -> list[Point]:
    """Read the tilings of a sweep (``benchmarks/sweep.py``) that ran, the model's own families, in the order predicted.

    The predictions are those of today's model for the host that the sweep was ranked by.
    """
    about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    machine = as_machine(folder / f"{name}.host.toml")
    problem = make_problem(program(name), tuple(about["shape"]), about["steps"])
    setting = make_setting(problem, machine)
    known = space.families(problem, cpu=setting.cpu, every=False)
    points = []
    with (folder / f"{name}.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if is_gone(row["tiling"]):
                continue
            tiling = parse(row["tiling"])
            if row["median_seconds"] and tiling.family in known:
                costs = time_model.predict(problem, tiling, machine)
                points.append(
                    Point(
                        tiling=row["tiling"],
                        footprint=costs.tile_shared_bytes,
                        predicted=costs.seconds,
                        measured=float(row["median_seconds"]),
                    )
                )
    return sorted(points, key=lambda point: point.predicted)


def spread_out(many: Sequence[Prediction], count: int) -> list[Prediction]:
    """Pick predictions evenly over their ranking, the first and the last included."""
    picked = np.unique(np.linspace(0, len(many) - 1, min(count, len(many))).astype(int))
    return [many[i] for i in picked]


def comparison(points: Sequence[Point]) -> Comparison:
    """Return the predicted beside the measured times."""
    return Comparison(
        predicted=np.array([p.predicted for p in points]), measured=np.array([p.measured for p in points])
    )


def write_verdict(folder: Path, text: str) -> None:
    """Write and print the verdict."""
    (folder / "verdict.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def draw(points: dict[str, list[Point]], path: Path) -> None:
    """Draw measured against predicted times, one panel per stencil."""
    figure, panels = figures.panels(len(points), (4.2 * len(points), 4))
    for panel, (name, many) in zip(panels, points.items(), strict=True):
        measured, predicted = [p.measured for p in many], [p.predicted for p in many]
        ends = (min(*measured, *predicted), max(*measured, *predicted))
        draw_to = panel.loglog if ends[1] > _WIDE * ends[0] else panel.plot  # a narrow range has no room for powers
        draw_to(ends, ends, color="0.6", linewidth=1)
        draw_to(measured, predicted, ".", color="#2c6fad")
        panel.set(title=name, xlabel="measured, s", ylabel="predicted, s")
        if draw_to == panel.loglog:
            figures.decades(panel)
    figures.save(figure, path, dpi=150)

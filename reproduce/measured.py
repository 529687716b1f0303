"""What the experiments on ``host`` share: measuring tilings, scores of a prediction, and writing results."""

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.errors import TilewrightError
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.driver import prepare
from tilewright.inputs.arrays import gather
from tilewright.plan import Target
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.host import thread_count
from tilewright.schedules.tiling import is_gone, parse
from tilewright.tuning.spaces import space
from tilewright.verbs.predict import as_machine
from tilewright.verbs.prediction import Prediction

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


def rmse(points: Sequence[Point]) -> float:
    """Root of the mean squared relative error of the predictions."""
    errors = [(p.predicted - p.measured) / p.measured for p in points]
    return float(np.sqrt(np.mean(np.square(errors))))


def top(points: Sequence[Point], share: float) -> list[Point]:
    """The points whose measured time is within a share of the best."""
    best = min(p.measured for p in points)
    return [p for p in points if p.measured <= (1 + share) * best]


def rank_correlation(points: Sequence[Point]) -> float:
    """Spearman's rank correlation of predicted and measured times."""
    ranks = [np.argsort(np.argsort([getattr(p, key) for p in points])) for key in ("predicted", "measured")]
    return float(np.corrcoef(*ranks)[0, 1])


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def write_verdict(folder: Path, text: str) -> None:
    """Write and print the verdict."""
    (folder / "verdict.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def draw(points: dict[str, list[Point]], path: Path) -> None:
    """Draw measured against predicted times, one panel per stencil."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, panels = plt.subplots(1, len(points), figsize=(4.2 * len(points), 4), squeeze=False, layout="constrained")
    for panel, (name, many) in zip(panels[0], points.items(), strict=True):
        measured, predicted = [p.measured for p in many], [p.predicted for p in many]
        ends = (min(*measured, *predicted), max(*measured, *predicted))
        draw_to = panel.loglog if ends[1] > _WIDE * ends[0] else panel.plot  # a narrow range has no room for powers
        draw_to(ends, ends, color="0.6", linewidth=1)
        draw_to(measured, predicted, ".", color="#2c6fad")
        panel.set(title=name, xlabel="measured, s", ylabel="predicted, s")
        if draw_to == panel.loglog:
            for axis in (panel.xaxis, panel.yaxis):  # 0.1, 0.2, 0.5, 1: few enough to stand side by side
                axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter(NullFormatter())
    figure.savefig(path, dpi=150)
    plt.close(figure)

"""Batches of small grids beside one large grid of as many cells: whole calls of ``tw.run``, interleaved.

    python benchmarks/batches.py --threads 2 --output benchmarks/results/batches.json

The large grid is as close to a square as its cells allow, 2048x2000 for 1,000 grids of 64^2. The batch's first and last
grids are compared with runs of their own. A pair is the batch and the large grid, one after the other; a ratio is the
batch's speed over the large grid's within a pair.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

import environment
import tilewright as tw


def extents(cells: int) -> tuple[int, int]:
    """Return the extents closest to a square that hold exactly so many cells, the rows first."""
    columns = next(each for each in range(int(cells**0.5), 0, -1) if cells % each == 0)
    return cells // columns, columns


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one program both ways; samples in seconds, the first pair warms up and is left out."""
    values = np.random.default_rng(0).random((options.grids, options.side, options.side), np.float32)
    whole = values.reshape(extents(values.size))
    given: dict[str, Any] = {"steps": options.steps, "boundary": options.boundary, "threads": options.threads}
    batch: list[float] = []
    large: list[float] = []
    for number in range(options.repeats + 1):
        begin = time.perf_counter()
        found = tw.run(name, values, axes=(1, 2), **given)
        between = time.perf_counter()
        tw.run(name, whole, **given)
        end = time.perf_counter()
        if number:
            batch.append(between - begin)
            large.append(end - between)
    for place in (0, -1):
        if not np.allclose(found[place], tw.run(name, values[place], **given), rtol=1e-5, atol=1e-6):
            raise SystemExit(f"{name}: grid {place} of the batch is not what a run of its own computes")
    ratios = [b / a for a, b in zip(batch, large, strict=True)]
    speeds = {key: values.size * options.steps / statistics.median(each) / 1e9 for key, each in
              (("batch", batch), ("large", large))}  # fmt: skip
    return {
        "program": name, "grids": values.shape, "large": whole.shape, "gcells_per_second": speeds,
        "ratio": statistics.median(ratios), "ratios": ratios, "seconds": {"batch": batch, "large": large},
    }  # fmt: skip


def main() -> None:
    """Measure, print, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=["heat2d", "j2d5pt", "gradient2d"])
    parser.add_argument("--grids", type=int, default=1000)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--boundary", default="fixed")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="a few grids; the figures mean nothing")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.grids, options.steps, options.repeats = 20, 5, 1
    cases = [measure(name, options) for name in options.programs]
    for case in cases:
        speeds, least, most = case["gcells_per_second"], min(case["ratios"]), max(case["ratios"])
        print(
            f"{case['program']}: batch {speeds['batch']:.2f} GCells/s, one grid {speeds['large']:.2f} GCells/s, "
            f"{100 * case['ratio']:.0f} % of its speed ({100 * least:.0f} to {100 * most:.0f})"
        )
    if options.output:
        record = {
            "environment": environment.describe(options.threads), "steps": options.steps,
            "boundary": options.boundary, "dtype": "float32", "cases": cases,
        }  # fmt: skip
        options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

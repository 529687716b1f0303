"""Runs on Dask arrays beside Dask's own ``map_overlap`` of a step in NumPy.

    python benchmarks/dask_arrays.py --output benchmarks/results/dask_arrays.json

The rival is given two ways, and the faster one counts: an overlap of one cell for every step, as Dask's documentation
has it, and an overlap of several cells for as many steps per task, the best of some numbers. Both use the same chunks
and threads, results are compared, repeats are interleaved, and medians compared. xarray's array over Dask is run, too.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
import xarray as xr

import environment
import tilewright as tw

# ruff: noqa: ANN401
Grid = npt.NDArray[Any]


def heat(u: Grid, steps: int) -> Grid:
    """Make steps of heat2d in NumPy on a block and what surrounds it; the outermost cells keep their values.

    The sum of nine cells is one along columns and one along rows: four additions in place of eight.
    """
    u, new = u.copy(), u.copy()
    columns = np.empty((u.shape[0] - 2, u.shape[1]), u.dtype)
    for _ in range(steps):
        inner = new[1:-1, 1:-1]
        np.add(u[:-2], u[1:-1], out=columns)
        columns += u[2:]
        np.add(columns[:, :-2], columns[:, 1:-1], out=inner)
        inner += columns[:, 2:]
        inner *= np.float32(1 / 9)
        u, new = new, u
    return u


def overlapped(source: Any, steps: int, each: int) -> Any:
    """Run by ``map_overlap``, so many steps per task, on a grid that wraps."""
    found = source
    for done in range(0, steps, each):
        now = min(each, steps - done)
        found = found.map_overlap(heat, depth=now, boundary="periodic", dtype=source.dtype, steps=now)
    return found


def main() -> None:
    """Measure, print, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--chunk", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    values = np.random.default_rng(0).random((options.size, options.size), np.float32)
    source = da.from_array(values, chunks=options.chunk)
    threads = environment.cores()
    ours = tw.run("heat2d", source, steps=options.steps, boundary="wrap")
    labelled = tw.run("heat2d", xr.DataArray(source, dims=("y", "x")), steps=options.steps, boundary="wrap")
    if not isinstance(labelled.data, da.Array):
        raise SystemExit("xarray's array did not stay lazy")
    contenders = {
        "tilewright": ours,
        "xarray": labelled.data,
        **{f"map_overlap, {t} per task": overlapped(source, options.steps, t) for t in (1, 4, 8, 16)},
    }
    right = tw.run("heat2d", values, steps=options.steps, boundary="wrap")
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(options.repeats + 1):
        for name, lazy in contenders.items():
            begin = time.perf_counter()
            found = lazy.compute(scheduler="threads", num_workers=threads)
            seconds = time.perf_counter() - begin
            if not np.allclose(found, right, rtol=1e-4, atol=1e-5):
                raise SystemExit(f"{name} computes something else")
            if number:
                samples[name].append(seconds)
    medians = {name: statistics.median(each) for name, each in samples.items()}
    rival = min((name for name in medians if name.startswith("map_overlap")), key=medians.__getitem__)
    for name, seconds in medians.items():
        print(f"{name}: {seconds:.3f} s, {medians[rival] / seconds:.1f} times as fast as {rival!r}")
    if options.output:
        record = {
            "environment": {**environment.describe(threads), "dask": dask.__version__, "xarray": xr.__version__},
            "shape": values.shape, "chunks": options.chunk, "steps": options.steps, "samples": samples,
            "medians": medians, "rival": rival, "speed": medians[rival] / medians["tilewright"],
        }  # fmt: skip
        options.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()

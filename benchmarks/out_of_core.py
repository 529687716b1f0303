"""Runs out of core beside runs in memory and beside what the disk allows, cell by cell the same.

    python benchmarks/out_of_core.py --folder /scratch --gigabytes 1 --memory 256MiB --output results/out_of_core.json
    python benchmarks/out_of_core.py --folder /scratch --gigabytes 16 --memory 4GiB --programs heat2d

A field is several times the memory promised, and the memory that the run takes is compared with it. The page cache is
kept out: what was read or written is dropped from it (``posix_fadvise``), and the input is dropped before every run.
The bound is the greater of the time in memory, at the speed of a grid that fits, and of what the disk needs at the
bandwidths that are measured. Runs out of core, runs in memory and measurements of the disk take turns, since disks that
others use as well are not the same a minute later; medians are compared. A first run is not counted. What is swept is
run slab by slab as well, unless ``--no-slabs``.
"""

import argparse
import json
import math
import os
import statistics
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import environment
import tilewright as tw
from tilewright.distributed import disk, out_of_core, sweeps
from tilewright.distributed.compute import Computer
from tilewright.inputs import memo
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.host import thread_count
from tilewright.verbs.calibrate import calibrate_disk, disk_bandwidths

PROGRAMS = ("heat2d", "wave3d")


def shape_of(rank: int, size: int) -> tuple[int, ...]:
    """Return a grid of about so many bytes of float32 whose first axis is the longest."""
    side = {2: 8192, 3: 512}[rank]
    return (max(64, size // 4 // side ** (rank - 1)), *(side,) * (rank - 1))


def make_input(path: Path, shape: tuple[int, ...], seed: int) -> None:
    """Write random values, row by row, and drop them from the page cache."""
    array = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    generator = np.random.default_rng(seed)
    for row in range(shape[0]):
        array[row] = generator.random(shape[1:], np.float32)
    array.flush()
    del array
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one program out of core and in memory."""
    program, folder = tw.program(name), Path(options.folder)
    shape = shape_of(program.rank, int(options.gigabytes * 1e9))
    ages = program.history(program.updated[0])
    paths = tuple(folder / f"in-{age}.npy" for age in range(ages))
    for age, path in enumerate(paths):
        make_input(path, shape, age)
    problem = make_problem(program, shape, options.steps, "float32", "nearest")
    threads = thread_count(options.threads)
    target = read_target("auto", threads)
    computer = Computer(target=target, threads=threads, tiling=None, strict=False, scalars={}, make=memo.prepared)
    chosen, swept = out_of_core.choose(problem, int(0.95 * options.memory), memo.host(), computer)
    part = (max(8, min(shape[0], options.memory // 16 // math.prod(shape[1:]))), *shape[1:])
    fields = tuple(np.random.default_rng(age).random(part, np.float32) for age in range(ages))

    def outside() -> float:
        begin = time.perf_counter()
        tw.run(
            name, paths if ages > 1 else paths[0], out=folder / "out.npy", steps=options.steps, boundary="nearest",
            memory=options.memory, threads=threads,
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        (folder / "out.npy").unlink()
        return seconds

    def slab_by_slab() -> float:
        begin = time.perf_counter()
        rows = [disk.open_rows(path, "an input") for path in paths]
        job = out_of_core.OutOfCoreRun(
            problem=problem, given={program.updated[0]: rows}, targets={program.updated[0]: [folder / "out.npy"]},
            memory=options.memory,
        )  # fmt: skip
        with mock.patch.object(sweeps, "applies", return_value=False):
            out_of_core.run(job, memo.host(), computer)
        seconds = time.perf_counter() - begin
        for each in rows:
            each.close()
        (folder / "out.npy").unlink()
        return seconds

    def inside() -> float:
        begin = time.perf_counter()
        tw.run(name, fields if ages > 1 else fields[0], steps=options.steps, boundary="nearest", threads=threads)
        return (time.perf_counter() - begin) * problem.cells / math.prod(part)

    before = highest_since()
    outside()
    taken = highest() - before
    if taken > options.memory:
        raise SystemExit(f"{name} took {taken} bytes of the {options.memory} promised")
    inside()
    samples, cut = [], []
    slabs = swept is not None and options.slabs
    if slabs:
        slab_by_slab()
    for _ in range(options.repeats):
        samples.append((outside(), inside(), *bandwidths(folder)))
        if slabs:
            cut.append(slab_by_slab())
    seconds, memory_seconds, read, write = (statistics.median(each) for each in zip(*samples, strict=True))
    disk_seconds = chosen.read_bytes / read + chosen.write_bytes / write
    bound = max(memory_seconds, disk_seconds)
    for path in paths:
        path.unlink()
    return {
        "program": name, "shape": shape, "steps": options.steps, "memory": options.memory, "threads": threads,
        "steps_per_pass": chosen.steps, "passes": chosen.count, "slabs": chosen.slabs,
        "swept": None if swept is None else str(swept.tiling),
        "seconds": seconds,
        "expected_seconds": chosen.seconds, "in_memory_seconds": memory_seconds, "disk_seconds": disk_seconds,
        "read_bandwidth": read, "write_bandwidth": write, "samples": samples,
        "share_of_bound": bound / seconds, "field_bytes": problem.cells * problem.itemsize * ages,
        "taken_bytes": taken, "slab_by_slab_seconds": cut,
    }  # fmt: skip


def bandwidths(folder: Path) -> tuple[float, float]:
    """Measure the disk, and return the bytes per second that it reads and writes."""
    found = disk_bandwidths(folder)
    return found["disk_read_bandwidth"].value, found["disk_write_bandwidth"].value


def highest_since() -> int:
    """Let the most memory that this process has had be what it has now, and return it, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return highest()


def highest() -> int:
    """Return the most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Measure the disk, then every program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--memory", type=tw_bytes, default=2**28)
    parser.add_argument("--steps", type=int, default=256)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--programs", nargs="*", default=PROGRAMS)
    parser.add_argument(
        "--slabs", action=argparse.BooleanOptionalAction, default=True, help="what is swept, slab by slab too"
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    print(calibrate_disk(options.folder))
    rows = [measure(name, options) for name in options.programs]
    for row in rows:
        print(
            f"{row['program']}: {row['seconds']:.1f} s, in memory {row['in_memory_seconds']:.1f} s, "
            f"disk {row['disk_seconds']:.1f} s, {row['share_of_bound']:.0%} of the bound; "
            f"{row['taken_bytes'] / 2**20:.0f} MiB taken of {row['memory'] / 2**20:.0f}"
            + (
                f"; slab by slab {statistics.median(row['slab_by_slab_seconds']):.1f} s"
                if row["slab_by_slab_seconds"]
                else ""
            )
        )
    if options.output:
        record = {"environment": environment.describe(thread_count(options.threads)), "rows": rows}
        options.output.write_text(json.dumps(record, indent=1) + "\n")


def tw_bytes(text: str) -> int:
    """Read a size."""
    from tilewright.base.units import parse_bytes

    return parse_bytes(text)


if __name__ == "__main__":
    main()

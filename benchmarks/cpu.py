"""CPU speed: tilewright against naive C, pystencils, Numba, Halide, Devito, JAX and NumPy in one interleaved run.

    python benchmarks/cpu.py --programs j2d5pt j2d9pt-gol gradient2d --size 4096 --steps 100 --output cpu.json

Every contender runs in its own process, on the same random data and with the same number of threads; its result is
checked cell by cell at the full size before anything is timed. One repetition runs every contender once, in an order
drawn anew. A run is whole: for tilewright the call that a user makes, for the others refilling their (already allocated
and warm) buffers and all time steps.
"""

import argparse
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import environment
import user_programs
import verify
from case import Case
from process import Worker, WorkerError
from rivals import CONTENDERS
from summary import paired_ratio, spread

SIZES = {1: 2**24, 2: 4096, 3: 256}
QUICK = {1: 2**20, 2: 512, 3: 64}
NAIVE = ("naive-c", "naive-c-512", "naive-c-faster")
PEERS = ("pystencils", "numba", "halide", "devito", "jax", "numpy")
TABLES = ("edit_distance", "lcs")
"""Recurrences, whose whole tables are filled once; they have orthogonal tiles."""
PAUSE = 0.05
"""Seconds between runs, so that one contender's idle threads have gone to sleep when the next one starts."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """One contender in one case."""

    name: str
    worker: Worker
    setup: dict[str, Any] = field(default_factory=dict)
    error: float = float("nan")
    seconds: list[float] = field(default_factory=list)
    kernel: list[float] = field(default_factory=list)


@contextmanager
def running(case: Case, names: Sequence[str]) -> Iterator[tuple[list[Entry], dict[str, str]]]:
    """Start and check the contenders of a case; those that cannot take part are named with the reason."""
    entries: list[Entry] = []
    out: dict[str, str] = {}
    judge, _ = verify.judge(case)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as directory:
        for name in names:
            entry = Entry(name=name, worker=Worker(name, case.threads, Path(directory, name)))
            try:
                entry.setup = entry.worker.setup(case)
                reason = str(entry.setup.get("skip", "")) or check(entry, Path(directory), judge)
            except WorkerError as error:
                reason = str(error)
            if reason:
                out[name] = reason
                entry.worker.close()
                print(f"  {name}: left out: {reason}", file=sys.stderr)
            else:
                entries.append(entry)
        del judge
        gc.collect()
        try:
            yield entries, out
        finally:
            for entry in entries:
                entry.worker.close()


def check(entry: Entry, directory: Path, judge: verify.Judge) -> str:
    """Judge the result of a contender's last run; return what is wrong with it, or nothing."""
    folder = Path(tempfile.mkdtemp(prefix="result-", dir=directory))
    entry.worker.ask(do="save", path=str(folder))
    # A judge may look at a result again later: its pages stay as long as the map does, the names go now.
    found = {file.stem: np.load(file, mmap_mode="r") for file in folder.iterdir()}
    shutil.rmtree(folder)
    entry.error, good = judge(found)
    return "" if good else f"wrong result, off by up to {entry.error:g}"


def measure(entries: Sequence[Entry], repeats: int) -> None:
    """Run every contender once per repetition, in an order drawn anew; the first repetition warms up, uncounted."""
    for repetition in range(repeats + 1):
        # No secret. In a fixed order the first contender always follows the last, which may have run for 20 s.
        for entry in random.Random(repetition).sample(entries, len(entries)):  # noqa: S311
            time.sleep(PAUSE)
            answer = entry.worker.ask(do="run")
            if repetition:
                entry.seconds.append(answer["seconds"])
                if answer["kernel_seconds"] is not None:
                    entry.kernel.append(answer["kernel_seconds"])


def report(case: Case, entries: Sequence[Entry], left_out: dict[str, str]) -> dict[str, Any]:
    """Turn the samples of a case into its record."""
    by_name = {entry.name: entry for entry in entries}
    naive = min((by_name[name] for name in NAIVE if name in by_name), key=_median, default=None)
    peer = min((by_name[name] for name in PEERS if name in by_name), key=_median, default=None)
    record: dict[str, Any] = {"case": case.to_dict(), "left_out": left_out, "contenders": {}}
    record["naive"] = naive and naive.name
    record["best_peer"] = peer and peer.name
    for entry in entries:
        item: dict[str, Any] = {
            "seconds": spread(entry.seconds),
            "samples": entry.seconds,
            "gcells_per_second": case.updates / _median(entry) / 1e9,
            "max_error": entry.error,
            **entry.setup,
        }
        if entry.kernel:
            item["kernel_seconds"] = spread(entry.kernel)
            item["kernel_gcells_per_second"] = case.updates / item["kernel_seconds"]["median"] / 1e9
        if naive:
            item["against_naive"] = paired_ratio(entry.seconds, naive.seconds)
        if peer:
            item["against_best_peer"] = paired_ratio(entry.seconds, peer.seconds)
        record["contenders"][entry.name] = item
    return record


def _median(entry: Entry) -> float:
    return spread(entry.seconds)["median"]


def table(record: dict[str, Any]) -> str:
    """Write a case as a table for people."""
    case = record["case"]
    shape = "x".join(str(extent) for extent in case["shape"])
    lines = [f"{case['program']} {case['dtype']} {shape}, {case['steps']} steps, {case['threads']} threads"]
    lines.append(
        f"  {'':16}{'GCells/s':>9}{'kernel':>9}{'median':>10}{'min':>10}{'max':>10}{'IQR':>9}"
        f"{'x naive':>9} {'95 % interval':>14}{'x peer':>8}{'compile':>9}"
    )
    for name, item in record["contenders"].items():
        time_of, naive = item["seconds"], item.get("against_naive")
        line = f"  {name:16}{item['gcells_per_second']:9.2f}"
        inside = item.get("kernel_gcells_per_second")
        line += f"{inside:9.2f}" if inside else f"{'-':>9}"
        line += (
            "".join(f"{time_of[key] * 1e3:8.1f}ms" for key in ("median", "min", "max"))
            + f"{time_of['iqr'] * 1e3:7.1f}ms"
        )
        if naive:
            line += f"{naive['median']:9.2f} {naive['low']:6.2f} - {naive['high']:5.2f}"
        if "against_best_peer" in item:
            line += f"{item['against_best_peer']['median']:8.2f}"
        lines.append(line + f"{item['compile_seconds']:8.2f}s")
    lines += [f"  {name:16}left out: {reason}" for name, reason in record["left_out"].items()]
    choice = record["contenders"].get("tilewright", {}).get("describe", {}).get("tiling")
    return "\n".join([*lines, f"  tilewright's choice: {choice}"] if choice else lines)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=["j2d5pt", "j2d9pt-gol", "gradient2d"], metavar="PROGRAM")
    everyone = [name for name in CONTENDERS if name != "naive-c-faster"]
    parser.add_argument("--contenders", nargs="+", default=everyone, choices=list(CONTENDERS))
    parser.add_argument("--size", type=int, help="extent along every axis; by default 2^24, 4096 or 256 by rank")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a small grid and three repetitions: does it all work?")
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; exit status 1 if a contender computed a wrong result or failed."""
    chosen = arguments(argv)
    document: dict[str, Any] = {"environment": environment.describe(chosen.threads), "cases": []}
    document["command"] = " ".join(["python", "benchmarks/cpu.py", *(sys.argv[1:] if argv is None else argv)])
    for name in chosen.programs:
        table_of_two = name in TABLES
        rank = 2 if table_of_two else user_programs.program(name).rank
        extent = chosen.size or (QUICK if chosen.quick else SIZES)[rank]
        steps = 1 if table_of_two else min(chosen.steps, 20) if chosen.quick else chosen.steps
        case = Case(
            program=name,
            shape=(extent,) * rank,
            steps=steps,
            dtype="int32" if table_of_two else chosen.dtype,
            seed=chosen.seed,
            threads=chosen.threads,
        )
        with running(case, chosen.contenders) as (entries, left_out):
            measure(entries, 3 if chosen.quick else chosen.repeats)
            record = report(case, entries, left_out)
        print(table(record), flush=True)
        document["cases"].append(record)
        if chosen.output:
            write(chosen.output, document)
    return int(any("wrong" in reason for case in document["cases"] for reason in case["left_out"].values()))


def write(path: Path, document: dict[str, Any]) -> None:
    """Write the record, replacing an older one in one move."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(document, indent=1) + "\n")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())

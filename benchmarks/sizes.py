"""Speed over grid sizes: the model's choice against naive C at small and large grids, paired and checked.

    python benchmarks/sizes.py --programs j2d5pt j3d7pt --output results/cpu_sizes.json --seconds 170

A 2D program runs at 64, 256, 1024, 4096 and 16384 squared, one in 3D at 32, 64, 128, 320 and 640 cubed, or at
``--sizes``. Small grids run more steps, so that a run takes long enough to time. Cases that the record has already are
left out, so that a run that ``--seconds`` stopped goes on where it was. Judged as in ``every_program.py``.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cpu
import environment
from case import Case
from every_program import not_slower
from tilewright.programs import catalogue

SIZES = {1: (2**12, 2**18, 2**24), 2: (64, 256, 1024, 4096, 16384), 3: (32, 64, 128, 320, 640)}
CONTENDERS = ("tilewright", "naive-c", "naive-c-512")
LEAST_CELLS = 2**24
"""Cells per step up to which more steps are run."""
MOST_FACTOR = 100


def steps_of(cells: int, steps: int) -> int:
    """Steps of a run: as asked for, or up to a hundred times as many where the grid is small.

    >>> steps_of(2**24, 100), steps_of(64 * 64, 100)
    (100, 10000)
    """
    return steps * max(1, min(MOST_FACTOR, LEAST_CELLS // max(1, cells)))


def measured(name: str, extent: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure one program at one size."""
    rank = catalogue.program(name).rank
    shape = (extent,) * rank
    case = Case(
        program=name,
        shape=shape,
        steps=steps_of(extent**rank, chosen.steps),
        dtype=chosen.dtype,
        threads=chosen.threads,
    )
    with cpu.running(case, CONTENDERS) as (entries, left_out):
        cpu.measure(entries, chosen.repeats)
        record = cpu.report(case, entries, left_out)
    ours, naive = record["contenders"].get("tilewright", {}), record["contenders"].get(record["naive"] or "", {})
    ratio = ours.get("against_naive")
    return {
        "program": name,
        "shape": list(shape),
        "steps": case.steps,
        "dtype": case.dtype,
        "tiling": ours.get("describe", {}).get("tiling"),
        "gcells_per_second": ours.get("gcells_per_second"),
        "naive_gcells_per_second": naive.get("gcells_per_second"),
        "against_naive": ratio,
        "samples": {key: item["samples"] for key, item in record["contenders"].items()},
        "left_out": left_out,
        "not_slower": ratio is not None and not_slower(ratio),
    }


def line(one: dict[str, Any]) -> str:
    """Write a case for people."""
    shape = "x".join(map(str, one["shape"]))
    head = f"{one['program']:12} {shape:14} {one['steps']:6} steps"
    if one["against_naive"] is None:
        return f"{head} left out: {one['left_out']}"
    ratio = one["against_naive"]
    speed = f"{one['gcells_per_second']:8.2f} against {one['naive_gcells_per_second']:7.2f} GCells/s"
    interval = f"{ratio['median']:6.2f} ({ratio['low']:.2f} - {ratio['high']:.2f})"
    return f"{head} {speed} {interval}{'' if one['not_slower'] else '  SLOWER'}  {one['tiling']}"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=["j2d5pt", "j3d7pt"], metavar="PROGRAM")
    parser.add_argument("--sizes", nargs="+", type=int, help="extents along every axis, instead of those of the rank")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after this time")
    parser.add_argument("--output", type=Path, default=Path("results/cpu_sizes.json"))
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; exit status 1 if a case is slower than naive C or not all are done."""
    chosen, begin = arguments(argv), time.monotonic()
    document: dict[str, Any] = {"environment": environment.describe(chosen.threads), "cases": []}
    if chosen.output.exists():
        document = json.loads(chosen.output.read_text())
    done = {(one["program"], tuple(one["shape"]), one["dtype"]) for one in document["cases"]}
    wanted = [
        (name, extent) for name in chosen.programs for extent in chosen.sizes or SIZES[catalogue.program(name).rank]
    ]
    for name, extent in wanted:
        if (name, (extent,) * catalogue.program(name).rank, chosen.dtype) in done:
            continue
        if time.monotonic() - begin >= chosen.seconds:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 1
        one = measured(name, extent, chosen)
        print(line(one), flush=True)
        document["cases"].append(one)
        cpu.write(chosen.output, document)
    slower = [f"{one['program']} {one['shape']}" for one in document["cases"] if not one["not_slower"]]
    print(f"{len(document['cases'])} cases, slower than naive C: {', '.join(slower) or 'none'}")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())

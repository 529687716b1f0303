"""Every tiling family against naive C in one interleaved run, for programs of one to three dimensions.

    python benchmarks/strategies.py --output benchmarks/results/cpu_strategies.json

Every family that can cut a program runs with its model's best tile, beside naive C with two sets of compiler flags;
how it is measured is ``cpu.py``'s: own processes, results checked cell by cell, one run of everybody in turn. Grids are
larger than the second-level caches and small enough for the whole record to take minutes. A record can be continued
program by program: ``--append`` keeps the cases that it has.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cpu
import environment
from case import Case
from tilewright.programs.stencil import catalogue

CONTENDERS = (
    *cpu.NAIVE,
    *(f"tilewright-{name}" for name in ("none", "hexagons", "skewed", "diamond", "streaming")),
)
"""Naive C, no tiling, and every family."""
PROGRAMS = ("jacobi1d", "star1d2r", "heat2d", "gradient2d", "wave2d", "fdtd2d", "heat3d", "j3d7pt")
SIZES = {1: (2**22,), 2: (2048, 2048), 3: (192, 192, 192)}
STEPS = {1: 256, 2: 64, 3: 32}
QUICK = {1: (2**16,), 2: (256, 256), 3: (48, 48, 48)}


def table(record: dict[str, Any]) -> str:
    """Write a case as one line per contender: its tile, its speed and its ratio to naive C with a 95 % interval."""
    case = record["case"]
    shape = "x".join(str(extent) for extent in case["shape"])
    lines = [f"{case['program']} {case['dtype']} {shape}, {case['steps']} steps, {case['threads']} threads"]
    for name, item in record["contenders"].items():
        ratio = item.get("against_naive", {"median": float("nan"), "low": float("nan"), "high": float("nan")})
        lines.append(
            f"  {name:24}{item['gcells_per_second']:8.2f} GCells/s{ratio['median']:8.2f} x naive"
            f" ({ratio['low']:.2f} - {ratio['high']:.2f})  {item.get('describe', {}).get('tiling', '')}"
        )
    return "\n".join([*lines, *(f"  {name:24}left out: {why}" for name, why in record["left_out"].items())])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; exit status 1 if a contender computed a wrong result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), metavar="PROGRAM")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--quick", action="store_true", help="small grids: does it all work?")
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    parser.add_argument("--append", action="store_true", help="keep the cases of other programs in that record")
    chosen = parser.parse_args(argv)
    document: dict[str, Any] = {"environment": environment.describe(chosen.threads), "cases": []}
    document["command"] = " ".join(["python", "benchmarks/strategies.py", *(sys.argv[1:] if argv is None else argv)])
    if chosen.append and chosen.output and chosen.output.exists():
        kept = json.loads(chosen.output.read_text())["cases"]
        document["cases"] = [case for case in kept if case["case"]["program"] not in chosen.programs]
    for name in chosen.programs:
        rank = catalogue.program(name).rank
        shape, steps = (QUICK if chosen.quick else SIZES)[rank], 8 if chosen.quick else STEPS[rank]
        case = Case(program=name, shape=shape, steps=steps, dtype=chosen.dtype, threads=chosen.threads)
        with cpu.running(case, CONTENDERS) as (entries, left_out):
            cpu.measure(entries, chosen.repeats)
            record = cpu.report(case, entries, left_out)
        print(table(record), flush=True)
        document["cases"].append({**record, "command": document["command"]})
        if chosen.output:
            cpu.write(chosen.output, document)
    return int(any("wrong" in reason for case in document["cases"] for reason in case["left_out"].values()))


if __name__ == "__main__":
    sys.exit(main())

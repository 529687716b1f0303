"""Is any catalogue program slower than naive C? Every built-in program, the model's choice against naive C, paired.

    python benchmarks/every_program.py --output results/every_program.json --seconds 170

Judged as "not slower": the paired median ratio is at least 0.95, or its 95 % interval covers 1. Programs that the
record has already are left out, so that a run that was cut, or told to stop by ``--seconds``, goes on where it was.

``--march x86-64-v3`` (AVX2) or ``x86-64`` (baseline) has both compiled for another processor than this one. The model
then ranks by a calibration made for that, if there is one: ``CC="gcc -march=x86-64" tilewright calibrate``.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cpu
import environment
import user_programs
from case import Case
from tilewright.programs.stencil import catalogue

SIZES = {1: 2**23, 2: 2048, 3: 160}
STEPS = 48
CONTENDERS = ("tilewright", "naive-c", "naive-c-512")
LEAST = 0.95


def not_slower(ratio: dict[str, float]) -> bool:
    """Judge a paired ratio, naive C's time over ours.

    >>> not_slower({"median": 0.9, "low": 0.8, "high": 1.1}), not_slower({"median": 0.9, "low": 0.85, "high": 0.94})
    (True, False)
    """
    return ratio["median"] >= LEAST or ratio["low"] <= 1.0 <= ratio["high"]


def measured(name: str, chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure one program."""
    rank = user_programs.program(name).rank
    case = Case(
        program=name,
        shape=(SIZES[rank],) * rank,
        steps=chosen.steps,
        dtype=chosen.dtype,
        threads=chosen.threads,
    )
    with cpu.running(case, CONTENDERS) as (entries, left_out):
        cpu.measure(entries, chosen.repeats)
        record = cpu.report(case, entries, left_out)
    ours = record["contenders"].get("tilewright", {})
    ratio = ours.get("against_naive")
    return {
        "program": name,
        "shape": list(case.shape),
        "steps": case.steps,
        "tiling": ours.get("describe", {}).get("tiling"),
        "gcells_per_second": ours.get("gcells_per_second"),
        "naive": record["naive"],
        "against_naive": ratio,
        "samples": {key: item["samples"] for key, item in record["contenders"].items()},
        "left_out": left_out,
        "not_slower": ratio is not None and not_slower(ratio),
    }


def line(one: dict[str, Any]) -> str:
    """Write a program's result for people."""
    ratio = one["against_naive"]
    if ratio is None:
        return f"{one['program']:16} left out: {one['left_out']}"
    verdict = "" if one["not_slower"] else "  SLOWER"
    interval = f"{ratio['low']:.2f} - {ratio['high']:.2f}"
    speed = f"{one['gcells_per_second']:8.2f} GCells/s {ratio['median']:6.2f} x naive ({interval})"
    return f"{one['program']:16}{speed}{verdict}  {one['tiling']}"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=list(catalogue.names()), metavar="PROGRAM")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--march", help="processor to compile for, such as x86-64-v3; this one by default")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after this time")
    parser.add_argument("--output", type=Path, default=Path("results/every_program.json"))
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; exit status 1 if a program is slower than naive C or not all are done."""
    chosen, begin = arguments(argv), time.monotonic()
    if chosen.march:
        # tilewright and naive C both ask this variable, in processes of their own that start later.
        os.environ.pop("TILEWRIGHT_CC", None)
        os.environ["CC"] = f"{os.environ.get('CC', 'gcc')} -march={chosen.march}"
    document: dict[str, Any] = {"environment": environment.describe(chosen.threads), "programs": []}
    if chosen.output.exists():
        document = json.loads(chosen.output.read_text())
    done = {one["program"] for one in document["programs"]}
    for name in chosen.programs:
        if name in done:
            continue
        if time.monotonic() - begin >= chosen.seconds:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 1
        one = measured(name, chosen)
        print(line(one), flush=True)
        document["programs"].append(one)
        cpu.write(chosen.output, document)
    slower = [one["program"] for one in document["programs"] if not one["not_slower"]]
    print(f"{len(document['programs'])} programs, slower than naive C: {', '.join(slower) or 'none'}")
    return int(bool(slower))


if __name__ == "__main__":
    sys.exit(main())

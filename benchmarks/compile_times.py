"""How long the C compiler takes over the default kernel of every catalogue program, cold, as the package calls it.

    python benchmarks/compile_times.py --output results/compile_times.json
    python benchmarks/compile_times.py --extent 64 --boundary constant --output results/compile_times_small.json

The tiling is the model's choice for 4096 x 4096, 256^3 or 2^24 cells, or for so many along every axis as ``--extent``
says: small grids have other tilings, and boundaries more text. Every sample writes the text and compiles it
without any cache; samples of one kernel are taken with a pause for the others in between, so that slow moments of the
machine meet all of them. ``--seconds`` stops in time; the same command then goes on from the record.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import environment
import tilewright as tw
import user_programs
from summary import spread
from tilewright.driver import emit_tiling, prepare
from tilewright.plan import Target
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime.toolchains.cpu import Toolchain, compile_shared, toolchain
from tilewright.schedules.tiling import Tiling

SIZES = {1: 2**24, 2: 4096, 3: 256}
LIMIT = 1.0
"""Seconds that a kernel should take at most."""


def cases(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Every kernel to compile, with the model's tiling."""
    found = []
    for name in chosen.programs:
        program = user_programs.program(name)
        for dtype in chosen.dtypes:
            shape = (chosen.extent or SIZES[program.rank],) * program.rank
            problem = make_problem(program, shape, chosen.steps, dtype, chosen.boundary)
            for strict in (False, True) if chosen.strict else (False,):
                case = {"program": name, "dtype": dtype, "strict": strict, "problem": problem}
                found.append(
                    {**case, "tiling": tiling_of(problem, chosen.boundary, strict=strict), "samples": [], "cpu": []}
                )
    return found


def tiling_of(problem: Problem, boundary: str, *, strict: bool) -> Tiling:
    """Return what a run takes by default; a recurrence is chosen for by compiling it."""
    if problem.program.analysis.sweep:
        return prepare(problem, Target(backend="c"), strict=strict).plan.tiling
    return tw.tune(
        problem.program,
        shape=problem.shape,
        steps=problem.steps,
        dtype=problem.dtype,
        boundary=boundary,
        strict=strict,
        effort="none",
    ).tiling


def sample(case: dict[str, Any], tools: Toolchain) -> None:
    """Write and compile a kernel once more."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    begin = time.perf_counter()
    source = emit_tiling(case["problem"], case["tiling"], strict=case["strict"])
    written = time.perf_counter()
    compile_shared(tools, source.text, strict=case["strict"])
    case["samples"].append(time.perf_counter() - written)
    case["cpu"].append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used)
    case["text"] = {"seconds": written - begin, "lines": source.text.count("\n")}


def entry(case: dict[str, Any]) -> dict[str, Any]:
    """Turn a kernel's samples into its record."""
    return {
        **{key: case[key] for key in ("program", "dtype", "strict", "text", "samples", "cpu")},
        "tiling": str(case["tiling"]),
        "seconds": spread(case["samples"]),
    }


def line(one: dict[str, Any]) -> str:
    """Write a kernel's result for people."""
    seconds = one["seconds"]
    slow = "  SLOW" if seconds["median"] >= LIMIT else ""
    kind = f"{one['dtype']}{' strict' if one['strict'] else ''}"
    spans = f"{seconds['median']:6.2f} s ({seconds['min']:.2f} - {seconds['max']:.2f}), cpu {min(one['cpu']):.2f} s"
    return f"{one['program']:16}{kind:16}{spans} {one['text']['lines']:6} lines  {one['tiling']}{slow}"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=list(catalogue.names()), metavar="PROGRAM")
    parser.add_argument("--dtypes", nargs="+", choices=("float32", "float64"), default=["float32", "float64"])
    parser.add_argument("--strict", action="store_true", help="also the kernels that keep the order of operations")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--extent", type=int, help="cells along every axis")
    parser.add_argument("--boundary", default="fixed", help="such as wrap or constant:0.5")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program after this time")
    parser.add_argument("--output", type=Path, default=Path("results/compile_times.json"))
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; exit status 1 if a kernel takes too long or not all are done."""
    chosen, begin = arguments(argv), time.monotonic()
    document: dict[str, Any] = {"environment": environment.describe(1), "limit": LIMIT, "kernels": []}
    if chosen.output.exists():
        document = json.loads(chosen.output.read_text())
    done = {(one["program"], one["dtype"], one["strict"]) for one in document["kernels"]}
    tools = toolchain()
    document["extent"], document["boundary"] = chosen.extent, chosen.boundary
    document["flags"] = list(tools.flags(strict=False))
    left = [case for case in cases(chosen) if (case["program"], case["dtype"], case["strict"]) not in done]
    for _ in range(chosen.repeats):
        for case in left:
            if time.monotonic() - begin < chosen.seconds:
                sample(case, tools)
    for case in left:
        if len(case["samples"]) == chosen.repeats:
            document["kernels"].append(entry(case))
            print(line(document["kernels"][-1]))
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(document, indent=1) + "\n")
    slow = [one["program"] for one in document["kernels"] if one["seconds"]["median"] >= LIMIT]
    missing = sum(len(case["samples"]) < chosen.repeats for case in left)
    print(f"{len(document['kernels'])} kernels, {LIMIT:g} s and more: {', '.join(slow) or 'none'}")
    if missing:
        print(f"stopped before {missing}; the same command goes on from here", file=sys.stderr)
    return int(bool(slow or missing))


if __name__ == "__main__":
    sys.exit(main())

"""What one call costs besides computing: repeated calls of ``tw.run`` on a 64x64 grid.

    python benchmarks/overhead.py [--calls 2000] [--output FILE.json]

Prints the least and the median time of a call, for one and for all threads, beside the time of the kernel alone.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import environment
import tilewright as tw
from tilewright.inputs.arrays import gather
from tilewright.inputs.memo import prepared
from tilewright.plan import read_target
from tilewright.programs.stencil.problem import make_problem


def timed(call: Callable[[], object], calls: int) -> dict[str, float]:
    """Return the least and the median time of a call, after a warm-up, in seconds."""
    for _ in range(10):
        call()
    samples = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        samples.append(time.perf_counter() - begin)
    return {"min": min(samples), "median": statistics.median(samples)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="j2d5pt")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    chosen = parser.parse_args(arguments)
    program = tw.program(chosen.program)
    shape = (chosen.size,) * program.rank
    arrays = [(np.random.default_rng(1).random(shape, dtype=np.float32),) * program.history(f) for f in program.fields]
    given = gather(program, arrays, {})
    record: dict[str, object] = {"environment": environment.describe(environment.cores()), "shape": list(shape)}
    for threads in sorted({1, environment.cores()}):
        for steps in (1, 16):
            problem = make_problem(program, shape, steps)
            kernel = prepared(problem, read_target("auto", threads), None, strict=False)
            state = kernel.start(problem, given.inputs(), threads)
            alone = timed(lambda s=state, n=steps: s.advance(n), chosen.calls)
            state.close()
            whole = timed(lambda n=steps, t=threads: tw.run(program, *arrays, steps=n, threads=t), chosen.calls)
            record[f"threads={threads} steps={steps}"] = {"call": whole, "kernel": alone}
            least, median = (
                {name: f"{times[key] * 1e6:.0f} us" for name, times in (("call", whole), ("kernel", alone))}
                for key in ("min", "median")
            )
            print(f"{threads} threads, {steps} steps: a call {least['call']} at least, {median['call']} in the median")
            print(f"    of these the kernel {least['kernel']} and {median['kernel']}")
    if chosen.output:
        chosen.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

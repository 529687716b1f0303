"""What gradients through a run cost, beside the run itself and beside ``jax.grad`` of the same steps.

    python benchmarks/gradients.py --threads 2 --output results/gradients.json
    python benchmarks/gradients.py --quick

A gradient is a whole call of ``tw.vjp`` and of its pullback, the forward run included. ``states`` bounds how many
forward states are in memory; a program whose derivative depends on no state has none. JAX scans segments of about the
square root of the steps, each under ``jax.checkpoint``, in the form (slices or rolls) whose forward step is faster. One
round runs the forward run, the gradient and JAX's in turn, after one that compiles; ratios are medians of those within
the rounds. JAX's gradient by the first field is compared with ours first: a case whose gradients differ is not timed
and the exit status is 1.
"""

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import environment
import tilewright as tw
from case import Case, initial
from rivals import with_jax

GRIDS = {2: ((2048, 2048), 500), 3: ((256, 256, 256), 200)}
QUICK = {2: ((96, 96), 12), 3: ((24, 24, 24), 6)}
LINEAR = ("jacobi2d", "wave2d", "fdtd2d", "j3d7pt", "wave3d")
"""Programs whose derivative depends on no state."""
CHANGING = ("heat2d_var", "gradient2d")
"""Programs with a coefficient field whose gradient is wanted, and such as are not linear."""
STATES = (20, 64)
_TOLERANCE = {"float32": 2e-3, "float64": 1e-9}
"""Largest difference of two gradients that were summed in different orders, over the largest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradient:
    """A gradient that was measured.

    Attributes:
        program: Its name.
        shape: Extents of the grid.
        steps: Time steps.
        dtype: Element type.
        states: Forward states in memory at a time; None where none are needed.
        forward: Samples of the run alone, seconds.
        seconds: Samples of the gradient, each taken next to the forward run's of the same place.
        jax: Samples of JAX's, likewise; empty where it was not asked.
        error: Largest difference to JAX's gradient, over its largest value; None where it was not asked.
    """

    program: str
    shape: tuple[int, ...]
    steps: int
    dtype: str
    states: int | None
    forward: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    jax: tuple[float, ...] = ()
    error: float | None = None

    @property
    def wrong(self) -> bool:
        """Whether it is another gradient than JAX's."""
        return self.error is not None and not self.error <= _TOLERANCE[self.dtype]

    @property
    def cost(self) -> float:
        """Times the forward run; median of the rounds."""
        return statistics.median(b / a for a, b in zip(self.forward, self.seconds, strict=True))

    @property
    def speedup(self) -> float | None:
        """Time of JAX's over ours; median of the rounds."""
        if not self.jax:
            return None
        return statistics.median(b / a for a, b in zip(self.seconds, self.jax, strict=True))


def jax_gradient(case: Case) -> Callable[[], Any]:
    """Return a call of ``jax.grad`` of half the squared result, by every version of every field."""
    import jax

    rival = with_jax.Jax(case)
    rival.prepare()
    length = max(1, math.isqrt(case.steps))
    count, rest = divmod(case.steps, length)

    def some(state: Any, steps: int) -> Any:  # noqa: ANN401
        return jax.lax.scan(lambda each, _: (rival.step(each, rival.form), None), state, None, length=steps)[0]

    segment = jax.checkpoint(lambda state: some(state, length))

    def half_square(state: Any) -> Any:  # noqa: ANN401
        state = jax.lax.scan(lambda each, _: (segment(each), None), state, None, length=count)[0]
        last = some(state, rest)
        return 0.5 * sum((last[field][0] ** 2).sum() for field in rival.problem.program.updated)

    derivative = jax.jit(jax.grad(half_square))
    return lambda: jax.block_until_ready(derivative(rival.start))


def measured(case: Case, states: int | None, repeats: int, *, beside_jax: bool) -> Gradient:
    """Measure one gradient, by every field."""
    program = case.problem().program
    data = initial(case)
    given = [tuple(data[field]) if len(data[field]) > 1 else data[field][0] for field in program.fields]
    options: dict[str, Any] = {"steps": case.steps, "threads": case.threads, "boundary": case.boundary}

    def forward() -> None:
        tw.run(program, *given, **options)

    def gradient() -> Any:  # noqa: ANN401
        result, pullback = tw.vjp(program, *given, **options, checkpoints=states)
        return pullback(result)[0]

    found = Gradient(program=case.program, shape=case.shape, steps=case.steps, dtype=case.dtype, states=states)
    calls: list[Callable[[], Any]] = [forward, gradient]
    error = None
    forward()
    ours = gradient()
    if beside_jax:
        rival = jax_gradient(case)
        error = _difference(ours[0], rival()[program.fields[0]])
        calls.append(rival)
        if not error <= _TOLERANCE[case.dtype]:
            return Gradient(**{**asdict(found), "error": error})
    samples: list[list[float]] = [[] for _ in calls]
    for turn in range(repeats):
        # Whichever runs next finds the caches as the last one left them, so they take turns.
        for place in range(len(calls)):
            number = (place + turn) % len(calls)
            begin = time.perf_counter()
            calls[number]()
            samples[number].append(time.perf_counter() - begin)
    kept = dict(zip(("forward", "seconds", "jax"), map(tuple, samples), strict=False))
    return Gradient(**{**asdict(found), **kept, "error": error})


def _difference(ours: Any, others: Any) -> float:  # noqa: ANN401
    """Largest difference of two gradients of a field, over the largest value of the second."""
    versions = ours if isinstance(ours, tuple) else (ours,)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(versions, others, strict=True)]
    largest = max(float(np.abs(b).max()) for _, b in pairs)
    return max(float(np.abs(a - b).max()) for a, b in pairs) / (largest or 1.0)


def line(found: Gradient) -> str:
    """Return one row of the table."""
    grid = "x".join(map(str, found.shape))
    head = f"{found.program:12} {grid:12} {found.steps:5} {found.states or '-':>6}"
    if found.wrong:
        return f"{head}  differs from JAX's by {found.error:.1e}"
    forward, seconds = statistics.median(found.forward), statistics.median(found.seconds)
    beside = "" if found.speedup is None else f"{found.speedup:8.1f}"
    return f"{head} {forward:9.3f} {seconds:9.3f} {found.cost:8.2f} {beside}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=(*LINEAR, *CHANGING), choices=(*LINEAR, *CHANGING))
    parser.add_argument("--states", nargs="+", type=int, default=STATES)
    parser.add_argument("--dtype", default="float32", choices=tuple(_TOLERANCE))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--no-jax", action="store_true", help="leave jax.grad out")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--quick", action="store_true", help="small grids; the figures mean nothing")
    chosen = parser.parse_args(argv)
    if not chosen.no_jax and chosen.threads < environment.cores():
        # JAX takes every processor that it may use.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.threads])
    print("program      grid         steps states   forward  gradient  x forward  x faster than JAX")
    rows = []
    for name in chosen.programs:
        shape, steps = (QUICK if chosen.quick else GRIDS)[tw.program(name).rank]
        case = Case(program=name, shape=shape, steps=steps, dtype=chosen.dtype, threads=chosen.threads)
        for states in (None,) if name in LINEAR else chosen.states:
            rows.append(measured(case, states, 2 if chosen.quick else chosen.repeats, beside_jax=not chosen.no_jax))
            print(line(rows[-1]), flush=True)
    if chosen.output:
        kept = [{**asdict(row), "cost": None if row.wrong else row.cost, "speedup": row.speedup} for row in rows]
        if chosen.output.exists():  # rows of other programs stay
            made = {(row["program"], row["states"]) for row in kept}
            before = json.loads(chosen.output.read_text())["rows"]
            kept = [row for row in before if (row["program"], row["states"]) not in made] + kept
        record = {"environment": environment.describe(chosen.threads), "rows": kept}
        chosen.output.write_text(json.dumps(record, indent=1) + "\n")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())

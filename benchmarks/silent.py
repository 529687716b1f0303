"""Where a run could be slow without a word: nested differences, sweeps, colours and pictures, beside what users have.

    python benchmarks/silent.py [--repetitions 9] [--names tti sweeps …] [--quick] [--output FILE.json]

Contenders take turns, ours on one thread and on all; results are compared, and a wrong one ends the run with status 1.

- ``tti``: waves in a tilted medium, whose differences of eighth order are nested, beside the same with the inner ones
  in a field of their own, as one would write it by hand.
- ``steps``: one step of Jacobi's method, and one sweep along an axis that reads new values (``.new``), beside loops in
  Numba, which has one thread for what is in order.
- ``sweeps``: 1, 10 and 100 lexicographic sweeps of Gauss and Seidel, and those of two colours, beside loops in Numba.
- ``pictures``: blur of pictures of 8 bits, grey and RGB, beside OpenCV.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import environment
import summary
import tilewright as tw
from functions import in_turns

TYPES = ("float32", "float64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """One case: ours with a number of threads, and another's."""

    name: str
    ours: Callable[[int], Any]
    rival: str
    theirs: Callable[[int], Any]
    tolerance: float = 1e-5  # of the largest difference
    inner: int = 0  # cells at the edges that are not compared


def along(w: Any, cos: Any, sin: Any) -> Any:  # noqa: ANN401
    """A difference along an axis that is tilted."""
    return cos[0, 0] * tw.diff(w, 0, accuracy=8) + sin[0, 0] * tw.diff(w, 1, accuracy=8)


def tti(side: int) -> Iterator[Duel]:
    """Nested differences."""
    nested = tw.stencil(
        lambda u, cos, sin, k: 2 * u[0, 0] - u.prev[0, 0] + k[0, 0] * along(along(u, cos, sin), cos, sin)
    )
    staged = tw.stencil(
        lambda u, g, cos, sin, k: (
            2 * u[0, 0] - u.prev[0, 0] + k[0, 0] * along(g.new, cos, sin),
            along(u, cos, sin),
        )
    )
    rng = np.random.default_rng(1)
    for dtype in TYPES:
        u, angle = (rng.random((side, side)).astype(dtype) for _ in range(2))
        medium = np.cos(angle), np.sin(angle), np.full_like(u, 0.02)
        yield Duel(
            name=f"tti {dtype}",
            ours=lambda n, u=u, m=medium: tw.run(nested, (u, u), *m, steps=20, threads=n),
            rival="staged by hand",
            theirs=lambda n, u=u, m=medium: tw.run(staged, (u, u), np.zeros_like(u), *m, steps=20, threads=n)[0],
            tolerance=1e-3,
            inner=200,  # the inner field is 0 where nothing updates it, which runs in from the edges
        )


def loops() -> Any:  # noqa: ANN401, C901  (loops of users, written out)
    """The loops as users of Numba write them."""
    import numba

    @numba.njit(fastmath=True)
    def jacobi(u, steps):  # noqa: ANN001, ANN202
        v, w, quarter = u.copy(), u.copy(), u.dtype.type(0.25)
        for _ in range(steps):
            for i in range(1, v.shape[0] - 1):
                for j in range(1, v.shape[1] - 1):
                    w[i, j] = quarter * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])
            v, w = w, v
        return v

    @numba.njit(fastmath=True)
    def down(u, a):  # noqa: ANN001, ANN202
        v = u.copy()
        for i in range(1, v.shape[0]):
            for j in range(v.shape[1]):
                v[i, j] = v[i, j] - a * v[i - 1, j]
        return v

    @numba.njit(fastmath=True)
    def across(u, a):  # noqa: ANN001, ANN202
        v = u.copy()
        for i in range(v.shape[0]):
            for j in range(1, v.shape[1]):
                v[i, j] = v[i, j] - a * v[i, j - 1]
        return v

    @numba.njit(fastmath=True)
    def seidel(u, steps):  # noqa: ANN001, ANN202
        v, quarter = u.copy(), u.dtype.type(0.25)
        for _ in range(steps):
            for i in range(1, v.shape[0] - 1):
                for j in range(1, v.shape[1] - 1):
                    v[i, j] = quarter * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])
        return v

    @numba.njit(fastmath=True)
    def coloured(u, steps):  # noqa: ANN001, ANN202
        v, quarter = u.copy(), u.dtype.type(0.25)
        for _ in range(steps):
            for colour in range(2):
                for i in range(1, v.shape[0] - 1):
                    for j in range(1 + (i + 1 + colour) % 2, v.shape[1] - 1, 2):
                        v[i, j] = quarter * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])
        return v

    return jacobi, down, across, seidel, coloured


def around(w: Any) -> Any:  # noqa: ANN401
    """The mean of four neighbours."""
    return 0.25 * (w[-1, 0] + w[1, 0] + w[0, -1] + w[0, 1])


def steps(side: int) -> Iterator[Duel]:
    """Single steps."""
    jacobi, down, across, *_ = loops()
    plain = tw.stencil(around)
    over = tw.stencil(lambda u, a: u[0, 0] - a * u.new[-1, 0])
    along_row = tw.stencil(lambda u, a: u[0, 0] - a * u.new[0, -1])
    for dtype in TYPES:
        u = np.random.default_rng(2).random((side, side)).astype(dtype)
        a = u.dtype.type(0.3)
        yield Duel(
            name=f"jacobi {dtype}",
            ours=lambda n, u=u: tw.run(plain, u, steps=1, threads=n),
            rival="numba",
            theirs=lambda _, u=u: jacobi(u, 1),
        )
        for name, program, loop in (("down", over, down), ("across", along_row, across)):
            yield Duel(
                name=f"{name} {dtype}",
                ours=lambda n, u=u, p=program: tw.run(p, u, a=0.3, steps=1, threads=n),
                rival="numba",
                theirs=lambda _, u=u, a=a, f=loop: f(u, a),
            )


def sweeps(side: int) -> Iterator[Duel]:
    """Sweeps of solvers."""
    *_, seidel, coloured = loops()
    ordered = tw.stencil(lambda u: 0.25 * (u.new[-1, 0] + u[1, 0] + u.new[0, -1] + u[0, 1]))
    even = (tw.index(0) + tw.index(1)) % 2 == 0
    colours = tw.stencil(lambda u, v: (tw.where(even, v.new[0, 0], around(v.new)), tw.where(even, around(u), u[0, 0])))
    for dtype in TYPES:
        u = np.random.default_rng(3).random((side, side)).astype(dtype)
        for count in (1, 10, 100):
            yield Duel(
                name=f"gauss-seidel {count} {dtype}",
                ours=lambda n, u=u, c=count: tw.run(ordered, u, steps=c, threads=n),
                rival="numba",
                theirs=lambda _, u=u, c=count: seidel(u, c),
            )
            yield Duel(
                name=f"two colours {count} {dtype}",
                ours=lambda n, u=u, c=count: tw.run(colours, u, u, steps=c, threads=n)[0],
                rival="numba",
                theirs=lambda _, u=u, c=count: coloured(u, c),
            )


def pictures(side: int) -> Iterator[Duel]:
    """Pictures of 8 bits, of 16 by 9."""
    import cv2

    def with_threads(count: int, call: Callable[[], Any]) -> Any:  # noqa: ANN401
        cv2.setNumThreads(count)
        return call()

    rng = np.random.default_rng(4)
    shape = (side * 9 // 16, side)
    grey, colours = (rng.integers(0, 256, some, dtype=np.uint8) for some in (shape, (*shape, 3)))
    for name, picture in (("grey", grey), ("rgb", colours)):
        yield Duel(
            name=f"blur {name}",
            ours=lambda n, p=picture: tw.image.blur(p, sigma=1.4, threads=n),
            rival="opencv",
            theirs=lambda n, p=picture: with_threads(
                n, lambda: cv2.GaussianBlur(p, (0, 0), 1.4, borderType=cv2.BORDER_REFLECT)
            ),
            tolerance=3.0,  # OpenCV rounds its weights and between the axes
            inner=16,
        )


CASES = {"tti": (tti, 1024), "steps": (steps, 2000), "sweeps": (sweeps, 2000), "pictures": (pictures, 3840)}


def fight(duel: Duel, counts: Sequence[int], repetitions: int) -> tuple[dict[str, Any], bool]:
    """Compare results, then times, on so many threads each."""
    record: dict[str, Any] = {"rival": duel.rival}
    good = True
    for count in counts:
        ours, theirs = (np.asarray(call(count), np.float64) for call in (duel.ours, duel.theirs))
        cells = tuple(slice(duel.inner, extent - duel.inner) for extent in ours.shape[:2])
        difference = float(np.abs(ours - theirs)[cells].max(initial=0.0))
        if difference > duel.tolerance:
            print(f"WRONG: {duel.name} differs by {difference}", file=sys.stderr)
            good = False
        samples = in_turns(
            {"ours": lambda n=count: duel.ours(n), "theirs": lambda n=count: duel.theirs(n)}, repetitions
        )
        ratio = summary.paired_ratio(samples["ours"], samples["theirs"])
        record[str(count)] = {"seconds": samples, "rival_over_ours": ratio, "difference": difference}
        median = float(np.median(samples["ours"]))
        print(
            f"{duel.name:24} {count} thread{'s' * (count > 1)}  ours {median * 1e3:9.2f} ms  "
            f"{duel.rival} / ours {ratio['median']:.2f}",
            flush=True,
        )
    return record, good


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--names", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--quick", action="store_true", help="small grids, 2 repetitions: figures mean nothing")
    parser.add_argument("--output", type=Path, help="write the record as JSON")
    chosen = parser.parse_args(arguments)
    counts = sorted({1, environment.cores()})
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    record: dict[str, Any] = {"environment": environment.describe(counts[-1])}
    whole = True
    for name in chosen.names:
        make, side = CASES[name]
        try:
            duels = list(make(480 if chosen.quick else side))
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        for duel in duels:
            record[duel.name], good = fight(duel, counts, 2 if chosen.quick else chosen.repetitions)
            whole = whole and good
    if chosen.output:
        chosen.output.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())

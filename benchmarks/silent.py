"""Where a run could be slow without a word: nested differences, sweeps, colours and pictures, beside what users have.

    python benchmarks/silent.py [--repetitions 9] [--names tti sweeps …] [--quick] [--output FILE.json]

Contenders take turns, ours on one thread and on all; results are compared, and a wrong one ends the run with status 1.

- ``tti``: waves in a tilted medium, whose differences of eighth order are nested, beside the same with the inner ones
  in a field of their own, as one would write it by hand.
- ``steps``: one step of Jacobi's method, and one sweep along an axis that reads new values (``.new``), beside loops in
  Numba, which has one thread for what is in order.
- ``sweeps``: 1, 10 and 100 lexicographic sweeps of Gauss and Seidel, and those of two colours, beside loops in Numba.
- ``pictures``: blur, gradient and edges of pictures, grey and RGB, of 8 and 16 bits and of float32, beside OpenCV.
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


def scene(shape: tuple[int, int]) -> Any:  # noqa: ANN401
    """A picture of 0 to 1 with soft shades, discs and a little noise."""
    import cv2

    rng = np.random.default_rng(4)
    height, width = shape
    image = np.zeros(shape, np.float32)
    for share, size in ((0.6, 40), (0.3, 8)):
        coarse = rng.random((max(2, height // size), max(2, width // size)), dtype=np.float32)
        image += share * cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    for _ in range(150):
        centre = int(rng.integers(width)), int(rng.integers(height))
        cv2.circle(image, centre, int(rng.integers(width // 400 + 2, width // 25)), float(rng.random()), -1)
    return np.clip(image + rng.normal(0, 0.01, shape).astype(np.float32), 0, 1)


def pictures(side: int) -> Iterator[Duel]:
    """Pictures of 16 by 9, grey and RGB: blur, gradient and edges, for OpenCV of the luminance."""
    import cv2

    def with_threads(count: int, call: Callable[[], Any]) -> Any:  # noqa: ANN401
        cv2.setNumThreads(count)
        return call()

    def grey_of(picture: Any) -> Any:  # noqa: ANN401
        return picture if picture.ndim == 2 else cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)

    def gradient(picture: Any, largest: float) -> Any:  # noqa: ANN401
        grey = grey_of(picture)
        parts = (cv2.Sobel(grey, cv2.CV_32F, x, 1 - x, scale=1 / (32**0.5 * largest)) for x in range(2))
        return cv2.magnitude(*parts)

    def edges(picture: Any) -> Any:  # noqa: ANN401
        soft = cv2.GaussianBlur(grey_of(picture), (9, 9), 1.0, borderType=cv2.BORDER_REFLECT)
        return cv2.Canny(soft, 26, 51, L2gradient=True)

    grey = scene((side * 9 // 16, side))
    colours = np.stack([grey, np.roll(grey, 30, 1), grey[::-1]], axis=-1)
    for dtype in ("uint8", "uint16", "float32"):
        whole = dtype.startswith("u")
        largest = float(np.iinfo(dtype).max) if whole else 1.0
        for name, values in (("grey", grey), ("rgb", colours)):
            picture = np.rint(values * largest).astype(dtype) if whole else values
            yield Duel(
                name=f"blur {name} {dtype}",
                ours=lambda n, p=picture: tw.image.blur(p, threads=n),
                rival="opencv",
                theirs=lambda n, p=picture: with_threads(
                    n, lambda: cv2.GaussianBlur(p, (9, 9), 1.0, borderType=cv2.BORDER_REFLECT)
                ),
                tolerance=3.0 if whole else 1e-5,  # OpenCV rounds its weights and between the axes
            )
            yield Duel(
                name=f"sobel {name} {dtype}",
                ours=lambda n, p=picture: tw.image.sobel(p, threads=n),
                rival="opencv",
                theirs=lambda n, p=picture, m=largest: with_threads(n, lambda: gradient(p, m)),
                tolerance=1e-5 if name == "grey" else 0.2,  # the luminance of OpenCV has other weights
                inner=1,
            )
            if dtype == "uint8":
                yield Duel(
                    name=f"canny {name} {dtype}",
                    ours=lambda n, p=picture: tw.image.canny(p, threads=n),
                    rival="opencv",
                    theirs=lambda n, p=picture: with_threads(n, lambda: edges(p)),
                    tolerance=255.0,  # of another definition: ours are scikit-image's
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

"""One case of everything that a run can be: what it computes, on what, and how it is asked for.

Which values a dimension has, which are refused together, and cases that hold every two that are not. A new dimension,
or value, is a line here and what it means in :mod:`tests.laws.case_run`.
"""

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.sampling import pairwise

from tilewright.programs.stencil.problem import DTYPES

PROGRAMS = {
    "plane": "def plane(u, a, b):\n    return a * (u[-1, 0] + u[0, 1]) + b * u[1, -1]",
    "line": (
        "def line(u, a, b):\n    return a * u[-1] + b * u[2] + tw.where(tw.inside[3:-5], a * u[0], b * tw.index(0))"
    ),
    "cube": (
        "def cube(u, a, b):\n"
        "    inner = a * (u[-1, 0, 0] + u[0, 1, 0]) + b * tw.index(2)\n"
        "    return tw.where(tw.inside[2:-1, :3], inner, b * (u[0, 0, -1] + u[1, 0, 1] - u[0, -1, 0])) + a * tw.t"
    ),
    "four": "def four(u, a, b):\n    return a * (u[-1, 0, 0, 1] + u[0, 1, -1, 0]) + b * u[1, 0, 0, 0]",
    "wave": "def wave(u, a, b):\n    return a * (u[-1, 0] + u[0, 2]) + b * u.prev[0, -1]",
    "solid": "def solid(u, a, b):\n    return a * (u[-1, 0, 0] + u[0, 0, 2]) + b * u.prev[0, -1, 0]",
    "third": "def third(u, a, b):\n    return a * u[0] + b * (u.prev[1] - u.prev2[0])",
    "pair": (
        "def pair(u, v, a, b):\n"
        "    ahead = a * u[0, 1] + b * v.prev[-1, 0]\n"
        "    return ahead, a * v[0, 0] + b * (u.new[0, -1] - u.new[1, 0])"
    ),
    "material": (
        "def material(u, k, a, b):\n    return a * u[0, 0] * k[0, 1] + b * (u[-1, 0] + u[1, 0] - k[1, 0] * u[0, 1])"
    ),
    "sweep": "def sweep(u, a, b):\n    return a * u.new[-1, 0] + b * (u.new[0, -1] + u[1, 0])",
    "places": (
        "def places(u, a, b):\n"
        "    inner = a * u[-1, 0] + b * tw.index(1)\n"
        "    return tw.where(tw.inside[2:-1, :7], inner, b * (u[0, 1] + u[1, 0])) + a * tw.t"
    ),
    "curved": (
        "def curved(u, a, b):\n"
        "    high = np.maximum(u[-1, 0], a * u[0, 1])\n"
        "    return 0.5 * high + b * np.sqrt(abs(u[1, 0])) / (1.5 + u[0, -1] * u[0, -1])"
    ),
    "nested": (
        "def nested(u, a, b):\n"
        "    def slope(i, j):\n"
        "        rise = u[i, j + 1] - u[i, j - 1]\n"
        "        return np.sqrt(1 + rise * rise) / (1.5 + u[i, j] * u[i, j])\n"
        "    return a * u[0, 0] + b * (slope(-1, 0) + slope(1, 0) + slope(0, -2) - slope(0, 1))"
    ),
    "layered": (
        "def layered(u, k, a, b):\n"
        "    around = u[-1, 0] + u[0, 1]\n"
        "    return a * u[0, 0] / (1.5 + k[0, 0] * k[0, 0]) + b * around / (1.25 + np.sqrt(abs(k[1, -1])))"
    ),
    "star": (
        "def star(u, a, b):\n"
        "    around = 0.125 * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1]) + 0.0625 * (u[-2, 0] + u[2, 0])\n"
        "    return around + 0.25 * u[0, 0] + 0.03125 * (u[0, -2] + u[0, 2]) + 0.125 * a * b"
    ),
    "bits": "def bits(u, a, b):\n    return (a * u[0, 1] >> 1) & u[1, 0] | ~(b * u[-1, 0] // 3)",
}
RANKS = {"line": 1, "third": 1, "cube": 3, "solid": 3, "four": 4}
"""Axes of the programs that have not two."""
HISTORY = {
    "wave": {"u": 2},
    "solid": {"u": 2},
    "third": {"u": 3},
    "pair": {"u": 1, "v": 2},
    "material": {"u": 1, "k": 1},
    "layered": {"u": 1, "k": 1},
}
"""Levels of the fields, of programs with more than one array."""
CONSTANT = {"material": ("k",), "layered": ("k",)}
SIZES = {
    "uneven": {1: (151,), 2: (23, 37), 3: (9, 11, 29), 4: (4, 5, 6, 9)},
    "wide": {1: (409,), 2: (9, 133), 3: (6, 7, 67), 4: (3, 4, 5, 19)},
    "tall": {1: (64,), 2: (71, 13), 3: (31, 9, 10), 4: (11, 4, 3, 5)},
    "tiny": {1: (3,), 2: (3, 4), 3: (2, 3, 4), 4: (2, 2, 3, 3)},
    "flat": {1: (5,), 2: (1, 29), 3: (5, 1, 17), 4: (3, 1, 4, 6)},
}
TILINGS = {
    "none": {1: "", 2: "", 3: "", 4: ""},
    "hexagonal": {1: "t=4,s=20;t=6,s=33"},
    "hybrid": {2: "t=4,s=5x16;t=2,s=3x9", 3: "t=2,s=4x5x16;t=4,s=5x3x8"},
    "streaming": {1: "t=3,s=32;t=5,s=512", 2: "t=3,s=8x16;t=2,s=16x256", 3: "t=2,s=5x6x16;t=3,s=16x16x64"},
    "skewed": {1: "t=4,s=32;t=3,s=17", 2: "t=4,s=8x16;t=3,s=5x9", 3: "t=3,s=4x4x16;t=2,s=3x5x8"},
    "diamond": {1: "t=4,s=32;t=2,s=4", 2: "t=4,s=16x16;t=2,s=4x9", 3: "t=4,s=16x4x16;t=2,s=2x3x8"},
}
"""Sizes of every family, of which the second diamonds are as steep as the furthest reads allow."""
WHOLE = tuple(each for each in DTYPES if "int" in each)
COMPLEX = tuple(each for each in DTYPES if "complex" in each)
NARROW = ("float16", "bfloat16")
ON_DEVICES = ("float32", "float64", "int32", "int64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One value of every dimension; the first of each is its plain one."""

    program: str = "plane"
    size: str = "uneven"
    steps: int = 7
    dtype: str = "float64"
    boundary: str = "fixed"
    family: str = "none"  # or "auto"
    tile: int = 0  # which sizes of the family
    threads: int = 1
    points: str = "none"  # sources and receivers
    mask: str = "none"  # cells that are kept
    coefficient: str = "number"  # what a is
    layout: str = "plain"  # how the arrays lie in memory
    result: str = "newest"  # what the run is asked for
    batch: str = "none"  # axes
    engine: str = "memory"
    target: str = "c"
    strict: bool = False

    @property
    def rank(self) -> int:
        """Axes of the program."""
        return RANKS.get(self.program, 2)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the grid."""
        return SIZES[self.size][self.rank]

    @property
    def name(self) -> str:
        """What is not plain, for the name of a test."""
        plain = Case()
        parts = [
            str(value) if isinstance(value, str) else f"{name}{value}"
            for name, value in dataclasses.asdict(self).items()
            if value != getattr(plain, name)
        ]
        return "-".join(parts) or "plain"


FACES = ("dirichlet", "neumann", "robin")
"""Boundaries that are conditions on the faces of a grid."""
DIMENSIONS: dict[str, tuple[Any, ...]] = {
    "program": tuple(PROGRAMS),
    "size": tuple(SIZES),
    "steps": (7, 12, 1, 0),
    "dtype": ("float64", *(each for each in DTYPES if each != "float64")),
    "boundary": (
        "fixed",
        "constant",
        "nearest",
        "reflect",
        "mirror",
        "wrap",
        "sides",
        "per step",
        *FACES,
        "along",
    ),
    "family": (*TILINGS, "auto"),
    "tile": (0, 1),
    "threads": (1, 2, 3),
    "points": ("none", "cells", "between"),
    "mask": ("none", "cells"),
    "coefficient": ("number", "per step", "per cell", "row"),
    "layout": ("plain", "by columns", "backwards", "strided", "swapped", "labelled"),
    "result": ("newest", "levels", "parts", "looks", "ended", "series", "out", "record", "gradient"),
    "batch": ("none", "front", "back", "middle", "turned"),
    "engine": ("memory", "disk", "ranks", "dask"),
    "target": ("c", "numpy", "opencl"),
    "strict": (False, True),
}
assert all(values[0] == getattr(Case(), name) for name, values in DIMENSIONS.items())

Refusal = tuple[dict[str, Any], str]


def _but(dimension: str, *values: object) -> tuple[Any, ...]:
    return tuple(each for each in DIMENSIONS[dimension] if each not in values)


def _with_rank(*ranks: int) -> tuple[str, ...]:
    return tuple(each for each in PROGRAMS if RANKS.get(each, 2) in ranks)


LARGE = ("disk", "ranks", "dask")
REAL = tuple(each for each in DTYPES if each not in {*WHOLE, *COMPLEX})
REFUSALS: tuple[Refusal, ...] = (
    ({"engine": LARGE, "batch": _but("batch", "none")}, "takes no axes"),
    ({"engine": ("disk", "dask"), "result": ("looks", "ended", "series", "record")}, "takes no every, callback"),
    ({"engine": ("disk", "dask"), "mask": "cells"}, "takes no every, callback, until, where"),
    ({"engine": "ranks", "result": ("looks", "ended", "record")}, "takes no callback, until, where"),
    ({"engine": "ranks", "mask": "cells"}, "takes no callback, until, where"),
    ({"engine": "ranks", "result": ("series", "out")}, "takes no out and memory"),
    ({"engine": "dask", "result": "out"}, "is lazy and takes no out"),
    ({"engine": "dask", "points": _but("points", "none")}, "takes no receivers"),
    ({"batch": _but("batch", "none"), "points": _but("points", "none")}, "takes no sources and receivers"),
    ({"batch": _but("batch", "none"), "result": ("looks", "ended", "record")}, "takes no every"),
    ({"batch": _but("batch", "none"), "mask": "cells"}, "takes no every, callback, until, where"),
    ({"batch": _but("batch", "none"), "result": "series"}, "writes no series of states"),
    ({"points": "between", "dtype": WHOLE}, "no whole numbers as weights"),
    ({"program": ("curved", "nested", "layered", "star"), "dtype": WHOLE}, "cannot hold"),
    ({"program": "bits", "dtype": (*REAL, *COMPLEX)}, "works on the bits of whole numbers"),
    ({"program": "star", "size": "flat", "boundary": FACES}, "at least as many cells along an axis"),
    ({"boundary": FACES, "dtype": WHOLE}, "computes fractions|the factor .* does not fit"),
    ({"program": "sweep", "boundary": _but("boundary", "fixed", "constant", "per step")}, "must be fixed or constant"),
    ({"program": _with_rank(2, 3, 4), "family": "hexagonal"}, "tiles cut"),
    ({"program": _with_rank(1, 4), "family": "hybrid"}, "tiles cut"),
    ({"program": "four", "family": _but("family", "none", "auto")}, "tiles cut"),
    (
        {"target": "opencl", "dtype": tuple(each for each in DTYPES if each not in ON_DEVICES)},
        "GPU backends compute in",
    ),
    ({"target": "opencl", "program": "four"}, "GPU backends compute in 1 to 3 dimensions"),
    ({"target": "opencl", "engine": LARGE, "points": _but("points", "none")}, "need backend='c' or 'numpy'"),
    ({"engine": "disk", "dtype": "bfloat16"}, "holds no numbers"),
    ({"result": "series", "dtype": "bfloat16"}, "holds bfloat16, which .* cannot"),
    ({"program": "sweep", "family": _but("family", "none", "auto")}, "cannot be tiled in time"),
    ({"program": "sweep", "engine": LARGE}, "its grid cannot be cut"),
    ({"engine": "ranks", "size": "flat", "program": _with_rank(2)}, "fewer than the 2 ranks"),
    ({"family": "streaming", "size": "flat", "program": _with_rank(2, 3)}, "a streaming tiling needs at least"),
    (
        {
            "family": "streaming",
            "size": "tiny",
            "program": "solid",
            "boundary": _but("boundary", "fixed", "wrap", "sides"),
        },
        "a streaming tiling needs at least",
    ),
    (
        {
            "family": "streaming",
            "size": "tiny",
            "program": ("cube", "nested", "star"),
            "boundary": _but("boundary", "fixed", "wrap"),
        },
        "a streaming tiling needs at least",
    ),
    (
        {"family": "streaming", "target": "opencl", "program": _with_rank(1)},
        "streaming tiles of GPUs are for 2D and 3D",
    ),
    ({"boundary": "wrap", "family": _but("family", "none", "auto"), "steps": 1}, "cannot be tiled in time here"),
    ({"result": "gradient", "dtype": _but("dtype", "float64", "float32")}, "gradients are of float32 and float64"),
    ({"result": "gradient", "program": "sweep"}, "recurrence, which has no adjoint"),
    (
        {
            "result": "gradient",
            "size": "flat",
            "program": _with_rank(2, 3, 4),
            "boundary": ("reflect", "mirror", *FACES),
        },
        "needs more than . cells along axis",
    ),
    (
        {"result": "gradient", "size": "flat", "program": _with_rank(3, 4), "boundary": "sides"},
        "needs more than 1 cells",
    ),
    ({"result": "gradient", "mask": "cells"}, "gradients take no option 'where'"),
    ({"result": "gradient", "batch": _but("batch", "none")}, "gradients take no option 'axes'"),
    ({"result": "gradient", "target": "opencl", "points": _but("points", "none")}, "computed on the processor"),
)
"""Values of dimensions that together are refused, and in which words."""
IDLE: tuple[dict[str, Any], ...] = (
    {"target": "numpy", "family": _but("family", "none")},
    {"target": ("numpy", "opencl"), "threads": _but("threads", 1)},
    {"family": ("none", "auto"), "tile": _but("tile", 0)},
    {"steps": 0, "family": _but("family", "none")},
    {"boundary": "wrap", "family": _but("family", "none", "auto"), "engine": LARGE},  # where it is cut decides
    {"family": "streaming", "size": ("tiny", "flat"), "engine": LARGE},  # the same
    {"target": "opencl", "steps": 12, "engine": LARGE},  # the interpreter is slow
    {"target": "opencl", "program": _with_rank(3), "engine": LARGE},  # the same
    {"layout": _but("layout", "plain"), "engine": LARGE},  # whose arrays are made anew
    {"layout": "swapped", "dtype": "bfloat16"},  # NumPy swaps no bytes of it
    {"boundary": "along", "program": _with_rank(1)},  # values of one axis are values per step
    {"result": "gradient", "family": _but("family", "none")},  # nobody chooses how gradients are tiled
    {"result": "gradient", "engine": LARGE},
    {"engine": "ranks", "target": "opencl"},  # ranks are threads here, and Oclgrind is for one
)
"""Values of dimensions that are not put together, mostly as one has no say beside the other."""


def _sets(values: Mapping[str, Any]) -> dict[str, frozenset[Any]]:
    return {name: frozenset(some if isinstance(some, tuple) else (some,)) for name, some in values.items()}


_REFUSED = tuple((_sets(values), sentence) for values, sentence in REFUSALS)
_APART = (*(values for values, _ in _REFUSED), *map(_sets, IDLE))


def matches(row: Mapping[str, Any], values: Mapping[str, frozenset[Any]]) -> bool:
    """Whether a row of values, maybe not of all dimensions, holds one of some in each of their dimensions."""
    for name, some in values.items():  # noqa: SIM110  (asked a million times, and three times slower with a generator)
        if row.get(name) not in some:
            return False
    return True


def refusals(case: Case) -> list[str]:
    """The sentences, as patterns, of which a case gets one; none where it runs."""
    return [sentence for values, sentence in _REFUSED if matches(dataclasses.asdict(case), values)]


def runs(row: Mapping[str, Any]) -> bool:
    """Whether a case of these values runs, and every one of them has a say."""
    return not any(matches(row, values) for values in _APART)


def every_pair(seed: int = 0) -> list[Case]:
    """Cases that hold every two values of two dimensions that may be together."""
    return [Case(**row) for row in pairwise(DIMENSIONS, runs, seed)]


def refused() -> list[Case]:
    """Cases that are refused: per row of the table every value of each of its dimensions."""
    found: dict[Case, None] = {}
    for values, _ in REFUSALS:
        lists = {name: some if isinstance(some, tuple) else (some,) for name, some in values.items()}
        for number in range(max(map(len, lists.values()))):
            found[replace(Case(), **{name: some[number % len(some)] for name, some in lists.items()})] = None
    return list(found)


def drawn(seed: int, count: int) -> list[Case]:
    """Random cases that run."""
    draw = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    found: list[Case] = []
    while len(found) < count:
        row = {name: draw.choice(values) for name, values in DIMENSIONS.items()}
        if runs(row):
            found.append(Case(**row))
    return found

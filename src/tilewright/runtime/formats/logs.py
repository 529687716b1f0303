"""Measured configurations from files: StencilBench logs, Kernel Tuner caches and T4 results.

A StencilBench log (https://github.com/khaki3/StencilBench) has one line per configuration of hybrid
hexagonal/classic code made by PPCG::

    8_6_256_1_256 2814.0697 GFLOPS

The numbers are PPCG's tile sizes b_T, b_S1, … and the threads per axis. PPCG's b_T is *half* the hexagon's height:
``t_T = 2 b_T`` (the page on validation says why), and its b_Si are the papers' t_Si.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.documents import decode_text
from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded
from tilewright.base.records import Outcome
from tilewright.programs.stencil import catalogue
from tilewright.schedules.tiling import Tiling

MAX_BYTES = 2**28
FLOPS = {
    "j2d5pt": 10,
    "j2d9pt": 18,
    "j2d9pt-gol": 18,
    "gradient2d": 19,
    "star3d1r": 13,
    "star3d2r": 25,
    "j3d27pt": 54,
}
"""Operations per cell and step by which a StencilBench log turns seconds into GFLOP/s (its BENCH_FPP)."""
SHAPES = {2: (16384, 16384), 3: (512, 512, 512)}
STEPS = 120
_LINE = re.compile(r"([0-9]+(?:_[0-9]+)*) ([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?) GFLOPS")
_CUT = re.compile(r"[0-9]+(?:_[0-9]+)*_?(?: [0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?(?: G(?:F(?:L(?:O(?:P)?)?)?)?)?)?")
"""What a line that ended too early looks like: the writer was stopped, or the code did not run."""
_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPoint:
    """One configuration and what it took."""

    tiling: Tiling
    seconds: float  # NaN where it did not run
    outcome: Outcome = Outcome.OK  # of the attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningLog:
    """The configurations of one stencil that somebody measured."""

    program: str  # name in the catalogue
    shape: tuple[int, ...]  # of the grid
    steps: int
    device: str = ""  # what the file calls the device, or empty
    points: tuple[LogPoint, ...]  # in the order of the file
    skipped: tuple[str, ...] = ()  # lines that were cut short and left out, each with its number and the file

    @property
    def measured(self) -> tuple[LogPoint, ...]:
        """The points that ran."""
        return tuple(point for point in self.points if point.outcome is Outcome.OK)


def read_text(path: Path) -> str:
    """Read a log's text."""
    return decode_text(read_bounded(path, MAX_BYTES, "file of results"), repr(str(path)))


def read_stencilbench(path: Path, program: str | None = None) -> TuningLog:
    """Read a StencilBench log; lines that are cut short are left out, and named."""
    name = program or path.stem
    if name not in FLOPS and not path.exists():
        raise UsageError(f"there is no file {str(path)!r}")
    if name not in FLOPS:
        raise UsageError(
            f"a StencilBench log is of one of {', '.join(FLOPS)}, got {name!r}",
            "give --program, or name the file like the stencil",
        )
    rank = catalogue.program(name).rank
    shape = SHAPES[rank]
    work = float(np.prod(shape)) * STEPS * FLOPS[name]
    points: list[LogPoint] = []
    skipped: list[str] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        where = f"line {number} of {str(path)!r}"
        if _is_cut(line.strip(), rank):
            skipped.append(where)
        elif line.strip():
            points.append(_point(line.strip(), rank, work, where))
    return TuningLog(program=name, shape=shape, steps=STEPS, points=tuple(points), skipped=tuple(skipped))


def _is_cut(line: str, rank: int) -> bool:
    """Whether a line is the beginning of a configuration with its speed, and not the whole."""
    return (
        _CUT.fullmatch(line) is not None and len(line.split(" ", maxsplit=1)[0].rstrip("_").split("_")) <= 1 + 2 * rank
    )


def _point(line: str, rank: int, work: float, where: str) -> LogPoint:
    match = _LINE.fullmatch(line)
    digits = match[1].split("_") if match else []
    short = all(len(number) <= _MOST_DIGITS for number in digits)
    numbers = [int(number) for number in digits] if short else []
    speed = float(match[2]) if match else 0.0
    if match is None or len(numbers) != 1 + 2 * rank or not 0 < speed < float("inf") or min(numbers) < 1:
        raise UsageError(
            f"{where} is {line[:60]!r}, where a configuration of {1 + 2 * rank} numbers and its GFLOP/s must be",
            f"like {'_'.join(['8', *['16'] * (2 * rank)])} 1234.5 GFLOPS",
        )
    tiling = Tiling(
        family="hybrid", time=2 * numbers[0], space=tuple(numbers[1 : 1 + rank]), threads=tuple(numbers[1 + rank :])
    )
    return LogPoint(tiling=tiling, seconds=work / (speed * 1e9))

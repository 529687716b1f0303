"""Measured configurations from files: StencilBench logs, Kernel Tuner caches and T4 results.

A StencilBench log (https://github.com/khaki3/StencilBench) has one line per configuration of hybrid
hexagonal/classic code made by PPCG::

    8_6_256_1_256 2814.0697 GFLOPS

The numbers are PPCG's tile sizes b_T, b_S1, … and the threads per axis. PPCG's b_T is *half* the hexagon's height:
``t_T = 2 b_T`` (the page on validation says why), and its b_Si are the papers' t_Si.

T1 and T4 are the formats that autotuners exchange (https://github.com/odgaard/TuningSchema): T1 says what is tuned, T4
what came out. A tiling is the configuration ``{"tile_t": t_T, "tile_1": t_S1, …, "threads_1": …}``; a value of 0
means "not given". Nothing in a file is ever evaluated.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.deprecations import GONE
from tilewright.base.documents import decode_text
from tilewright.base.errors import UsageError
from tilewright.base.paths import check_there, read_bounded
from tilewright.base.records import Outcome
from tilewright.base.units import parse_shape
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
_MILLI = 1e-3
_LARGEST = 2**31
_OUTCOMES = {
    "correct": Outcome.OK,
    "constraints": Outcome.ILLEGAL,
    "compile": Outcome.COMPILE,
    "runtime": Outcome.CRASH,
    "timeout": Outcome.TIMEOUT,
    "correctness": Outcome.WRONG,
}
_ERRORS = {
    "InvalidConfig": Outcome.ILLEGAL,
    "CompilationFailedConfig": Outcome.COMPILE,
    "RuntimeFailedConfig": Outcome.CRASH,
    "ErrorConfig": Outcome.CRASH,
}
"""Kernel Tuner writes one of these names where a time would stand."""


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
    if name not in FLOPS:
        check_there(path, "a log")
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


def tiling_of(values: Mapping[str, object], where: str) -> Tiling:
    """Return the tiling of a configuration."""
    sizes = _numbered_values(values, "tile_", where)
    threads = _numbered_values(values, "threads_", where)
    if "tile_t" not in values or not sizes or (threads and len(threads) != len(sizes)):
        raise UsageError(
            f"a configuration names tile_t, tile_1, … and threads_1, … for every axis, got {sorted(values)} in {where}",
            "rename the tunable parameters",
        )
    k = _whole(values.get("k", 0), "k", where)
    family = "hexagonal" if len(sizes) == 1 else "hybrid"
    height = _whole(values["tile_t"], "tile_t", where)
    return Tiling(family=family, time=height, space=sizes, threads=threads, k=k or None)


def read_tuner_file(
    path: Path, program: str | None = None, shape: tuple[int, ...] | None = None, steps: int | None = None
) -> TuningLog:
    """Read a Kernel Tuner cache, closed or not, or T4 results; the file or its T1 file gives the defaults."""
    data = _object(_load(path), str(path))
    beside = t1_path(path)
    specification = read_t1(beside) if beside.is_file() else None
    if isinstance(data.get("cache"), Mapping):
        points = _cache_points(_object(data["cache"], f"cache of {str(path)!r}"))
        program = program or (specification[0] if specification else _text_or_none(data.get("kernel_name")))
        shape = shape or (specification[1] if specification else _shape_or_none(data.get("problem_size")))
    elif isinstance(data.get("results"), list):
        points = _t4_points(_list(data["results"], str(path)))
    else:
        raise UsageError(f"{str(path)!r} is neither a Kernel Tuner cache nor T4 results")
    program, shape, steps = (
        program or (specification and specification[0]),
        shape or (specification and specification[1]),
        steps or (specification and specification[2]),
    )
    if not program or not shape or not steps:
        missing = [n for n, v in (("--program", program), ("--shape", shape), ("--steps", steps)) if not v]
        raise UsageError(f"{str(path)!r} does not say what was computed", f"give {', '.join(missing)}")
    device = _text_or_none(data.get("device_name")) or ""
    return TuningLog(program=program, shape=shape, steps=steps, device=device, points=tuple(points))


def t1_path(path: Path) -> Path:
    """Return where the T1 file of T4 results lies: ``x.json`` has ``x.T1.json``."""
    return path.with_name(f"{path.stem}.T1.json")


def read_t1(path: Path) -> tuple[str, tuple[int, ...], int | None]:
    """Read the program, the grid and the steps, if given, of a T1 file."""
    where = f"the T1 file {str(path)!r}"
    kernel = _object(_object(_load(path), where).get("KernelSpecification"), where)
    name = _text_or_none(kernel.get("KernelName"))
    axes = _object(kernel.get("GlobalSize"), where)
    shape = _shape_or_none([axes[axis] for axis in "ZYX" if axis in axes])
    if name is None or shape is None:
        raise UsageError(f"{where} must name a kernel and a global size of plain numbers")
    steps = None
    arguments = kernel.get("Arguments", [])
    for argument in arguments if isinstance(arguments, list) else []:
        if isinstance(argument, Mapping) and argument.get("Name") == "steps":
            steps = _whole(argument.get("FillValue"), "steps", where)
    return name, shape, steps


def _t4_points(results: Sequence[object]) -> list[LogPoint]:
    points = []
    for number, item in enumerate(results, 1):
        where = f"result {number}"
        result = _object(item, where)
        outcome = _OUTCOMES.get(str(result.get("invalidity")))
        if outcome is None:
            raise UsageError(f"{where} must have an invalidity of {', '.join(_OUTCOMES)}")
        seconds = _t4_seconds(result, where) if outcome is Outcome.OK else math.nan
        tiling = tiling_of(_object(result.get("configuration"), where), where)
        points.append(LogPoint(tiling=tiling, seconds=seconds, outcome=outcome))
    return points


def _t4_seconds(result: Mapping[str, object], where: str) -> float:
    for item in _list(result.get("measurements", []), where):
        measurement = _object(item, where)
        if measurement.get("name") == "time":
            return _seconds(measurement.get("value"), where)
    runs = _list(_object(result.get("times"), where).get("runtimes", []), where)
    if not runs:
        raise UsageError(f"{where} has no time")
    return sorted(_seconds(run, where) for run in runs)[len(runs) // 2]


def _cache_points(cache: Mapping[str, object]) -> list[LogPoint]:
    points = []
    for key, item in cache.items():
        where = f"entry {key[:60]!r} of the cache"
        entry = _object(item, where)
        time = entry.get("time")
        outcome = Outcome.OK
        if isinstance(time, str):
            outcome = _ERRORS.get(time, Outcome.CRASH)
        seconds = _seconds(time, where) if outcome is Outcome.OK else math.nan
        points.append(LogPoint(tiling=tiling_of(entry, where), seconds=seconds, outcome=outcome))
    return points


def _load(path: Path) -> object:
    text = read_text(path).rstrip()
    for ending in ("", "}\n}"):
        try:
            return json.loads(text.rstrip(",") + ending if ending else text)
        except (ValueError, RecursionError) as error:  # no JSON, or a number of thousands of digits
            problem = str(error)
    raise UsageError(f"{str(path)!r} is not JSON: {problem}")


def _numbered_values(values: Mapping[str, object], prefix: str, where: str) -> tuple[int, ...]:
    numbers: list[int] = []
    while f"{prefix}{len(numbers) + 1}" in values:
        name = f"{prefix}{len(numbers) + 1}"
        numbers.append(_whole(values[name], name, where))
    if not any(numbers):
        return ()
    if not all(numbers):
        raise UsageError(f"{prefix}{numbers.index(0) + 1} in {where} is at least 1, got 0")
    return tuple(numbers)


def _whole(value: object, name: str, where: str) -> int:
    number = not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < _LARGEST
    if not number or value != int(value):  # type: ignore[call-overload]
        raise UsageError(f"{name} in {where} is a whole number, got {value!r}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def _seconds(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UsageError(f"the time in {where} is a positive number of milliseconds, got {value!r}")
    return float(value) * _MILLI


def _object(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} must hold an object, got a {type(value).__name__}")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise UsageError(f"{where} must hold a list, got a {type(value).__name__}")
    return value


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _shape_or_none(value: object) -> tuple[int, ...] | None:
    """Read extents from ``"512x512"``, ``[512, 512]`` or ``["512", "512"]``."""
    parts = value if isinstance(value, list | tuple) else [value]
    text = "x".join(str(part) for part in parts)
    try:
        return parse_shape(text)
    except UsageError:
        return None


def __getattr__(name: str) -> object:
    if name in GONE:
        raise ImportError(str(GONE[name]))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Kernel Tuner's files: caches, T1 inputs and T4 results, which are read.

T1 and T4 are the formats that autotuners exchange (https://github.com/odgaard/TuningSchema): T1 says what is tuned, T4
what came out. A tiling is the configuration ``{"tile_t": t_T, "tile_1": t_S1, …, "threads_1": …}``; a value of 0
means "not given". Nothing in a file is ever evaluated.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.base.deprecations import GONE
from tilewright.base.errors import UsageError
from tilewright.base.records import Outcome
from tilewright.base.units import parse_shape
from tilewright.runtime.formats.logs import LogPoint, TuningLog, read_text
from tilewright.schedules.tiling import Tiling

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


def tiling_of(values: Mapping[str, object], where: str) -> Tiling:
    """Return the tiling of a configuration."""
    sizes = _numbered(values, "tile_", where)
    threads = _numbered(values, "threads_", where)
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
    known = read_t1(beside) if beside.is_file() else None
    if isinstance(data.get("cache"), Mapping):
        points = _cache_points(_object(data["cache"], f"cache of {str(path)!r}"))
        program = program or (known[0] if known else _text_or_none(data.get("kernel_name")))
        shape = shape or (known[1] if known else _shape_or_none(data.get("problem_size")))
    elif isinstance(data.get("results"), list):
        points = _t4_points(_list(data["results"], str(path)))
    else:
        raise UsageError(f"{str(path)!r} is neither a Kernel Tuner cache nor T4 results")
    program, shape, steps = (
        program or (known and known[0]),
        shape or (known and known[1]),
        steps or (known and known[2]),
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


def _numbered(values: Mapping[str, object], prefix: str, where: str) -> tuple[int, ...]:
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

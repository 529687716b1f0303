"""Tables of the documentation, made from the records: ``python benchmarks/tables.py [NAME …]`` prints them.

A page asks for one by a comment of its own line, ``<!-- table: NAME -->``; building the documentation puts it there.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
BOUNDARIES = ("wrap", "reflect", "constant", "nearest", "mirror")
FAMILIES = ("none", "hexagons", "skewed", "diamond", "overlapped", "streaming")
OURS = "tilewright"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in Markdown.

    >>> print(table(["a", "b"], [[1, ""]]))
    | a | b |
    | --- | --- |
    | 1 |  |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def record(name: str) -> dict[str, Any]:
    """Read a record of ``benchmarks/results``."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def extents(shape: Sequence[int]) -> str:
    """Write a shape.

    >>> extents([64, 64]), extents([32, 32, 32]), extents([32, 64]), extents([2**22])
    ('64^2', '32^3', '32 x 64', '2^22')
    """
    alike = len(set(shape)) == 1
    return f"{shape[0]}^{len(shape)}" if alike and len(shape) > 1 else " x ".join(map(_extent, shape))


def _extent(number: int) -> str:
    power = number.bit_length() - 1
    return f"2^{power}" if number == 2**power and power > 16 else str(number)


def origin(*names: str) -> str:
    """Say where and when records were made."""
    lines = []
    for name in names:
        found = record(name)["environment"]
        compiler = found["compiler"].partition(" (")[0] + " " + found["compiler"].rpartition(" ")[2]
        threads = f"{found['threads']} thread{'s' * (found['threads'] > 1)}"
        where = f"{found['cpu']}, {threads}, {compiler}, load {found['load_average']:.1f} at the start"
        lines.append(f"`{name}.json`: {found['date'][:10]}, {where}")
    return "\n\n*" + "; ".join(lines) + ".*"


def interval(ratio: dict[str, float]) -> str:
    """Write a ratio with its interval.

    >>> interval({"median": 2.0, "low": 1.904, "high": 2.1})
    '2.00 (1.90 - 2.10)'
    """
    return f"{ratio['median']:.2f} ({ratio['low']:.2f} - {ratio['high']:.2f})"


def whole_runs() -> str:
    """Whole runs beside naive C and the fastest of the other libraries."""
    rows = []
    for case in record("cpu_float32")["cases"] + record("cpu_float64")["cases"]:
        speeds = {name: each["gcells_per_second"] for name, each in case["contenders"].items()}
        ours, naive = case["contenders"][OURS], max(v for k, v in speeds.items() if k.startswith("naive-c"))
        peer = max((name for name in speeds if name != OURS and not name.startswith("naive-c")), key=speeds.__getitem__)
        ratios = [interval(ours[f"against_{other}"]) for other in ("naive", "best_peer")]
        problem = case["case"]
        name = f"{problem['program']} {extents(problem['shape'])} {problem['dtype']}"
        tiling = f"`{ours['describe']['tiling']}`"
        rows.append([name, f"{speeds[OURS]:.1f}", f"{naive:.2f}", f"{speeds[peer]:.2f} {peer}", *ratios, tiling])
    head = ["program", "GCells/s", "naive C", "fastest other library", "x naive (95 %)", "x other (95 %)", "tiling"]
    return table(head, rows) + origin("cpu_float32", "cpu_float64")


def sizes() -> str:
    """Speeds from small grids to large ones, and how many times as fast as naive C."""
    found = [case for case in record("cpu_sizes")["cases"] if case["dtype"] == "float32"]
    parts = []
    for rank in (1, 2, 3):
        cases = [case for case in found if len(case["shape"]) == rank]
        columns = sorted({case["shape"][0] for case in cases})
        rows = []
        for program in sorted({case["program"] for case in cases}):
            of = {case["shape"][0]: case for case in cases if case["program"] == program}
            cells = [
                f"{of[n]['gcells_per_second']:.3g} ({of[n]['against_naive']['median']:.1f})" if n in of else ""
                for n in columns
            ]
            rows.append([program, *cells])
        parts.append(table([f"{rank}D", *map(_extent, columns)], rows))
    return "\n\n".join(parts) + origin("cpu_sizes")


def boundaries() -> str:
    """How many times as fast as naive C with every boundary: least and most of the programs of a size."""
    cases = record("cpu_boundaries")["cases"]
    rows = []
    for shape in sorted({tuple(case["shape"]) for case in cases}, key=lambda shape: (len(shape), shape)):
        of = [case for case in cases if tuple(case["shape"]) == shape]
        cells = []
        for boundary in BOUNDARIES:
            ratios = [case["against_naive"]["median"] for case in of if case["boundary"] == boundary]
            cells.append(f"{min(ratios):.2f} - {max(ratios):.2f}" if ratios else "")
        rows.append([extents(shape), len({case["program"] for case in of}), *cells])
    return table(["grid", "programs", *BOUNDARIES], rows) + origin("cpu_boundaries")


def least() -> str:
    """The ten cases, over all sizes and boundaries, that gain least over naive C."""
    cases = record("cpu_sizes")["cases"] + record("cpu_boundaries")["cases"]
    cases.sort(key=lambda case: case["against_naive"]["median"])
    rows = [
        [
            case["program"],
            extents(case["shape"]),
            case["boundary"],
            interval(case["against_naive"]),
            f"`{case['tiling']}`",
        ]
        for case in cases[:10]
    ]
    return table(["program", "grid", "boundary", "x naive (95 %)", "tiling"], rows) + origin(
        "cpu_sizes", "cpu_boundaries"
    )


def compile_times() -> str:
    """Seconds of gcc for the default kernels: of large grids and of small ones."""
    rows = []
    for name, grids in (("compile_times", "4096^2, 256^3 or 2^24"), ("compile_times_small", "64 along every axis")):
        found = record(name)
        times = sorted((each["seconds"]["median"], each["program"], each["dtype"]) for each in found["kernels"])
        seconds, program, dtype = times[-1]
        middle = statistics.median(each[0] for each in times)
        boundary = found.get("boundary", "fixed")
        rows.append(
            [grids, boundary, len(times), f"{times[0][0]:.2f}", f"{middle:.2f}", f"{seconds:.2f} ({program} {dtype})"]
        )
    return table(["grids", "boundary", "kernels", "least s", "median s", "most s"], rows) + origin(
        "compile_times", "compile_times_small"
    )


def processors() -> str:
    """How many times as fast as naive C when both are compiled for other processors."""
    found = [{each["program"]: each for each in record(name)["programs"]} for name in _PROCESSORS.values()]
    names = sorted({name for each in found for name in each})
    rows = [
        [name, *(interval(each[name]["against_naive"]) if name in each else "" for each in found)] for name in names
    ]
    return table(["program", *_PROCESSORS], rows) + origin(*_PROCESSORS.values())


def families() -> str:
    """How many times as fast as naive C every family is, with its model's best tile."""
    rows = []
    for case in record("cpu_strategies")["cases"]:
        found, problem = case["contenders"], case["case"]
        naive = max(each["gcells_per_second"] for name, each in found.items() if name.startswith("naive-c"))
        cells = [f"{found[f'{OURS}-{name}']['against_naive']['median']:.2f}" for name in FAMILIES]
        rows.append(
            [f"{problem['program']} {extents(problem['shape'])}, {problem['steps']} steps", f"{naive:.1f}", *cells]
        )
    return table(["", "naive C, GCells/s", *FAMILIES], rows) + origin("cpu_strategies")


_PROCESSORS = {"AVX2 (`x86-64-v3`)": "every_program_x86-64-v3", "baseline (`x86-64`)": "every_program_x86-64"}
TABLES: dict[str, Callable[[], str]] = {
    each.__name__: each for each in (whole_runs, sizes, boundaries, least, compile_times, processors, families)
}


def fill(text: str) -> str:
    """Put its tables into a page.

    >>> fill("no table")
    'no table'
    """
    for name, make in TABLES.items():
        mark = f"<!-- table: {name} -->"
        if mark in text:
            text = text.replace(mark, make())
    return text


if __name__ == "__main__":
    for wanted in sys.argv[1:] or TABLES:
        print(TABLES[wanted](), end="\n\n")

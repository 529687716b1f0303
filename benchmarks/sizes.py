"""Speed over grid sizes and boundaries: the model's choice against naive C, paired and checked, for every program.

    python benchmarks/sizes.py --seconds 280 --output results/cpu_sizes.json
    python benchmarks/sizes.py --boundary constant nearest reflect mirror wrap --output results/cpu_boundaries.json
    python benchmarks/sizes.py --table --output results/cpu_sizes.json

With ``fixed`` boundaries a 2D program runs at 64, 256, 1024, 4096 and 16384 squared, one in 3D at 32, 64, 128, 320 and
640 cubed; with others at two sizes (256 and 2048, 48 and 192); or at ``--sizes``. Cases that the record has already
are left out, so that a run that ``--seconds`` stopped goes on where it was; ``--again`` measures those once more that
were slower, and those whose tiling is no longer the model's choice.

A run is whole and has as many steps as naive C does in about 0.6 s, or in 4 s where the grid has more than 2^25 cells,
by a rough estimate; from 20 to 5000. Where that takes less than 0.1 s, a sample is the mean of several runs one after
the other. Naive C is the faster of its two sets of flags, which it finds out before. Every
result is checked: all cells by strict float64 C, or, where that would take more than three seconds, three blocks of
cells by strict C, and all cells of ours by naive C's. Three repetitions, and up to ``--repeats`` unless the first three
are all more than 1.2 times as fast. Judged as in ``every_program.py``.
"""

import argparse
import functools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cpu
import environment
import verify
from case import Case, slots
from every_program import not_slower
from process import Worker, WorkerError
from tilewright.base.units import format_bytes
from tilewright.programs.stencil import catalogue
from tilewright.runtime.host import available_bytes
from tilewright.tuning.choice import choose_blocks, choose_tiling
from tilewright.verbs.predict import as_machine

SIZES = {1: (2**12, 2**18, 2**24), 2: (64, 256, 1024, 4096, 16384), 3: (32, 64, 128, 320, 640)}
FEW = {1: (2**12, 2**22), 2: (256, 2048), 3: (48, 192)}
CONTENDERS = ("tilewright", "naive-c-faster")
MUST = (
    "j1d3pt", "j2d5pt", "j2d9pt-gol", "gradient2d", "star2d2r", "wave2d", "heat2d_var", "fdtd2d",
    "j3d7pt", "laplacian3d", "heat3d", "j3d27pt",
)  # fmt: skip
"""The programs of the documentation's table."""
NOT_ASKED = {
    "smith_waterman": "a recurrence over a table: cells wait for each other, and every step fills the same table",
    "box3d4r": "729 reads per cell: compiling naive C takes a minute, with both sets of flags side by side",
}
"""Programs that take part only if they are named, and why."""
RUN_SECONDS, LARGE_RUN_SECONDS, LARGE = 0.6, 4.0, 2**25
LEAST_STEPS, MOST_STEPS = 20, 5000
SAMPLE_SECONDS, MOST_RUNS = 0.1, 100
CELLS_PER_SECOND, FLOPS_PER_SECOND = 3e9, 8e10
"""What naive C on two cores does, roughly."""
CHECK_SECONDS = 3.0
SURE, SURE_REPEATS = 1.2, 3
"""Repetitions after which a case is done, if each was faster than naive C by this factor."""


def steps_of(program: str, cells: int) -> int:
    """Steps of a run, by a rough estimate of naive C's speed.

    >>> steps_of("j2d5pt", 64 * 64), steps_of("j2d5pt", 4096 * 4096), steps_of("j2d5pt", 16384 * 16384)
    (5000, 107, 45)
    """
    rate = min(CELLS_PER_SECOND, FLOPS_PER_SECOND / catalogue.program(program).flops)
    seconds = LARGE_RUN_SECONDS if cells > LARGE else RUN_SECONDS
    return max(LEAST_STEPS, min(MOST_STEPS, round(seconds * rate / cells)))


def memory_of(case: Case) -> int:
    """Bytes that a case needs at least: the initial data and the buffers of both contenders."""
    problem = case.problem()
    program = problem.program
    versions = sum(program.history(name) for name in program.fields)
    arrays = 2 * versions + sum(slots(program).values()) + 2 * len(program.fields) + len(program.updated)
    return arrays * problem.cells * problem.itemsize


@dataclass(slots=True, kw_only=True)
class Measured:
    """A case and what came of it."""

    case: Case
    entries: list[cpu.Entry] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    checked: str = ""
    first: float = 0.0
    runs: int = 1
    faults: list[int] = field(default_factory=list)


@contextmanager
def running(case: Case) -> Iterator[Measured]:
    """Start the contenders and the reference side by side; let naive C choose its flags; check a first run of each."""
    found = Measured(case=case)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as directory, ThreadPoolExecutor() as pool:
        every = [cpu.Entry(name=name, worker=Worker(name, case.threads, Path(directory, name))) for name in CONTENDERS]
        try:
            reference = pool.submit(verify.judge, case, CHECK_SECONDS)
            reasons = list(pool.map(functools.partial(_set_up, case=case), every))
            judge, found.checked = reference.result()
            for entry, skipped in zip(every, reasons, strict=True):
                reason = skipped or _try(entry, Path(directory), judge)
                if reason:
                    found.left_out[entry.name] = reason
                    print(f"  {entry.name}: left out: {reason}", file=sys.stderr)
                else:
                    found.entries.append(entry)
                    found.first = entry.setup["first_seconds"]  # of naive C, the last one
            del reference, judge
            yield found
        finally:
            for entry in every:
                entry.worker.close()


def _set_up(entry: cpu.Entry, case: Case) -> str:
    try:
        entry.setup = entry.worker.setup(case, run=False)
    except WorkerError as error:
        return str(error)
    return str(entry.setup.get("skip", ""))


def _try(entry: cpu.Entry, directory: Path, judge: verify.Judge) -> str:
    try:
        entry.setup |= entry.worker.ask(do="choose")
        entry.setup["first_seconds"] = entry.worker.ask(do="run")["seconds"]
        return cpu.check(entry, directory, judge)
    except WorkerError as error:
        return str(error)


def sample(found: Measured, repeats: int) -> None:
    """Run the contenders in turn, until the case is sure or has its repetitions."""
    found.runs = max(1, min(MOST_RUNS, int(SAMPLE_SECONDS / max(found.first, 1e-6))))
    warm = int(found.first < RUN_SECONDS)
    for repetition in range(-warm, repeats):
        for entry in found.entries:
            time.sleep(cpu.PAUSE)
            answer = entry.worker.ask(do="run", count=found.runs)
            if repetition >= 0:
                entry.seconds.append(answer["seconds"])
                if entry.name == CONTENDERS[0]:
                    found.faults.append(answer["page_faults"])
        if repetition + 1 >= SURE_REPEATS and len(found.entries) == len(CONTENDERS):
            ours, naive = (entry.seconds for entry in found.entries)
            if all(theirs / own > SURE for own, theirs in zip(ours, naive, strict=True)):
                return


def measured(case: Case, repeats: int) -> dict[str, Any]:
    """Measure one case."""
    begin = time.monotonic()
    with running(case) as found:
        sample(found, repeats)
        record = cpu.report(case, found.entries, found.left_out)
    ours, naive = (record["contenders"].get(name, {}) for name in CONTENDERS)
    ratio = ours.get("against_naive")
    return {
        **{key: value for key, value in case.to_dict().items() if key not in {"seed", "threads"}},
        "tiling": ours.get("describe", {}).get("tiling"),
        "gcells_per_second": ours.get("gcells_per_second"),
        "naive_gcells_per_second": naive.get("gcells_per_second"),
        "naive_flags": naive.get("describe", {}).get("flags"),
        "against_naive": ratio,
        "samples": {key: item["samples"] for key, item in record["contenders"].items()},
        "runs_per_sample": found.runs,
        "page_faults": statistics.median(found.faults) if found.faults else None,
        "checked": found.checked,
        "max_error": {key: item["max_error"] for key, item in record["contenders"].items()},
        "left_out": found.left_out,
        "not_slower": ratio is not None and not_slower(ratio),
        "case_seconds": round(time.monotonic() - begin, 1),
    }


def line(one: dict[str, Any]) -> str:
    """Write a case for people."""
    shape = "x".join(map(str, one["shape"]))
    head = f"{one['program']:12}{one['boundary']:9}{shape:14}{one['steps']:6} steps"
    if one["against_naive"] is None:
        return f"{head} left out: {one['left_out']}"
    ratio = one["against_naive"]
    speed = f"{one['gcells_per_second']:7.2f} against {one['naive_gcells_per_second']:6.2f} GCells/s"
    interval = f"{ratio['median']:6.2f} ({ratio['low']:.2f} - {ratio['high']:.2f})"
    verdict = "" if one["not_slower"] else "  SLOWER"
    return f"{head}{speed}{interval}{verdict}  {one['tiling']}  [{one['case_seconds']} s]"


def table(document: dict[str, Any], programs: Sequence[str]) -> str:
    """Write GCells/s over sizes as a table in Markdown, with the ratio to naive C in brackets."""
    texts = []
    for rank in (1, 2, 3):
        chosen = [one for one in document["cases"] if len(one["shape"]) == rank and one["program"] in programs]
        extents = sorted({one["shape"][0] for one in chosen})
        if not chosen:
            continue
        rows = [f"| {rank}D | " + " | ".join(map(str, extents)) + " |", "| --- " * (len(extents) + 1) + "|"]
        for name in programs:
            cells = {one["shape"][0]: one for one in chosen if one["program"] == name and one["against_naive"]}
            if cells:
                words = [
                    f"{cells[n]['gcells_per_second']:.1f} ({cells[n]['against_naive']['median']:.1f})"
                    if n in cells
                    else ""
                    for n in extents
                ]
                rows.append(f"| {name} | " + " | ".join(words) + " |")
        texts.append("\n".join(rows))
    return "\n\n".join(texts)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everyone = [name for name in catalogue.names() if name not in NOT_ASKED]
    parser.add_argument("--programs", nargs="+", default=everyone, metavar="PROGRAM")
    parser.add_argument("--sizes", nargs="+", type=int, help="extents along every axis, instead of those of the rank")
    parser.add_argument("--boundary", nargs="+", default=["fixed"], help="one or more, such as fixed or constant:0.5")
    parser.add_argument("--steps", type=int, help="steps of every run, instead of as many as fit into the time")
    parser.add_argument("--repeats", type=int, default=7, help="most repetitions of a case")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=environment.cores())
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after this time")
    parser.add_argument(
        "--again",
        action="store_true",
        help="measure again what was slower or left out, and cases that the model now chooses another tiling for",
    )
    parser.add_argument("--list", action="store_true", help="say which cases are left, and measure none")
    parser.add_argument("--table", action="store_true", help="print the record's table, and measure none")
    parser.add_argument("--output", type=Path, default=Path("results/cpu_sizes.json"))
    return parser.parse_args(argv)


def wanted(chosen: argparse.Namespace) -> list[Case]:
    """The cases that are asked for, small grids first."""
    cases = []
    for boundary in chosen.boundary:
        for name in chosen.programs:
            rank = catalogue.program(name).rank
            for extent in chosen.sizes or (SIZES if boundary == "fixed" else FEW)[rank]:
                steps = chosen.steps or steps_of(name, extent**rank)
                cases.append(
                    Case(
                        program=name,
                        shape=(extent,) * rank,
                        steps=steps,
                        dtype=chosen.dtype,
                        threads=chosen.threads,
                        boundary=boundary,
                    )
                )
    return sorted(cases, key=lambda case: case.problem().cells)


def key_of(one: dict[str, Any]) -> tuple[Any, ...]:
    """What tells cases of a record apart."""
    return one["program"], tuple(one["shape"]), one["dtype"], one["boundary"]


def choice(one: dict[str, Any]) -> str:
    """The tiling that the model chooses for a case of a record."""
    known = {name: one[name] for name in ("program", "steps", "dtype", "boundary")}
    problem = Case(**known, shape=tuple(one["shape"]), threads=1).problem()
    machine = as_machine("host")
    blocks = choose_blocks(problem, machine)
    return str(blocks.tiling if blocks else choose_tiling(problem, machine))


def opened(chosen: argparse.Namespace) -> dict[str, Any]:
    """The record to go on with, or a new one."""
    if chosen.output.exists():
        known: dict[str, Any] = json.loads(chosen.output.read_text())
        if chosen.again:
            known["cases"] = [one for one in known["cases"] if one["not_slower"] and one["tiling"] == choice(one)]
        return known
    words = ["python", "benchmarks/sizes.py", "--boundary", *chosen.boundary, "--dtype", chosen.dtype]
    return {
        "environment": environment.describe(chosen.threads),
        "command": " ".join([*words, "--output", f"results/{chosen.output.name}"]),
        "not_asked": NOT_ASKED,
        "cases": [],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; exit status 1 if a case is slower than naive C or not all are done."""
    chosen, begin = arguments(argv), time.monotonic()
    document = opened(chosen)
    if chosen.table:
        print(table(document, MUST))
        return 0
    done = {key_of(one) for one in document["cases"]}
    left = [case for case in wanted(chosen) if key_of(case.to_dict()) not in done]
    if chosen.list:
        print("\n".join(f"{case.program} {case.shape} {case.boundary} {case.steps} steps" for case in left))
        return int(bool(left))
    waiting = 0
    for case in left:
        if time.monotonic() - begin >= chosen.seconds:
            print("stopped; the same command goes on from here", file=sys.stderr)
            return 1
        free = available_bytes()
        if free is not None and memory_of(case) > 0.95 * free:
            need = format_bytes(memory_of(case))
            print(f"{case.program} {case.shape}: needs {need}, {format_bytes(free)} are free", file=sys.stderr)
            waiting += 1
            continue
        one = measured(case, chosen.repeats)
        print(line(one), flush=True)
        document["cases"].append(one)
        cpu.write(chosen.output, document)
    slower = [
        f"{one['program']} {one['shape']} {one['boundary']}" for one in document["cases"] if not one["not_slower"]
    ]
    print(f"{len(document['cases'])} cases, slower than naive C: {', '.join(slower) or 'none'}")
    return int(bool(slower or waiting))


if __name__ == "__main__":
    sys.exit(main())

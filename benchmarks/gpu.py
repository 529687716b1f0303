"""GPU speed: the catalogue in tiles of every family against naive and textbook kernels and CuPy, every cell checked.

On a machine with an NVIDIA GPU, one call calibrates it, runs everything and writes both result files:

    pip install 'tilewright[cuda,power]' cupy-cuda12x
    python benchmarks/gpu.py --backend cuda --output benchmarks/results/gpu_h100.json

It takes the programs of the roof table and a wave at 16384x16384 and 512x512x512, 1000 steps, float32 and float64, in
some minutes; ``--catalogue`` takes every program. ``--seconds N`` begins no case that is not expected to end in time,
but one in every call. Calling again goes on where the file ends, with the machine file that lies beside it. Exit
status: 0 all is done, 1 a result was wrong or a case failed, 3 call again:

    while python benchmarks/gpu.py --catalogue --seconds 480 --output gpu.json; [ $? -eq 3 ]; do :; done

``--list`` says what is done and what is not. A rehearsal on a processor's OpenCL, whose figures mean nothing:

    python benchmarks/gpu.py --backend opencl:pthread --small --output rehearsal.json

Per case: the model's candidates of every family are screened where the compiler says what they need, timed once, and
the best of each family takes part, beside what ``tw.run`` takes by default. The record has all candidates, with what
the model and their machine code say of them, and the card's clocks, power and temperature after every sample.

The reference is a naive kernel in float64 on the same device, which is compared with NumPy on a small grid first. Every
contender is compared with it in every cell of every field twice: after two time tiles and three steps, and after all
steps. Late results alone would say little, since diffusion smooths away what a stale cell did; that is also why
``wave2d``, which smooths nothing, is among the programs. What may be off follows from rounding, and is at most some
times what the naive kernel is off by in float32. Then all contenders run in turn, whole runs from the initial data, by
events on the device, after a warm-up; CuPy by its own events. What was slower than three times the best in its warm-up
is sampled once. A contender that is off is reported and not timed.
"""

import argparse
import dataclasses
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import environment
import tilewright as tw
from card import Card
from gpu_contenders import Check, Contender, Entry, alive, check, check_naive, contenders, few_steps, opened, standard
from tilewright.base.errors import DeviceError, TilewrightError
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.plan import read_target
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime.devices.device import Device
from tilewright.runtime.devices.drivers import open_device

ROOFED = ("j2d5pt", "box2d1r", "j3d7pt", "j3d27pt")
PROGRAMS = (*ROOFED, "wave2d")
SIZES = {1: (2**26,), 2: (16384, 16384), 3: (512, 512, 512)}
SMALL = {1: (4096,), 2: (160, 200), 3: (24, 30, 40)}
ARITHMETIC = {
    "j2d5pt": (6690, 3345), "box2d1r": (3717, 1859), "j3d7pt": (4780, 2390), "j3d27pt": (1239, 620),
}  # fmt: skip
"""Roofs by arithmetic on an H200 in GCells/s, float32 and float64; the roof without time tiling is the bandwidth's."""
SLOW = 3.0
"""What takes longer than the best by this factor is sampled once."""
AGAIN = 3
"""Exit status where cases are left."""


def case(device: Device, problem: Problem, machine: Machine, options: argparse.Namespace) -> dict[str, Any]:
    """Check and time the contenders of one case."""
    name = problem.program.name
    small = check_naive(device, problem)
    wanted, out, tried = contenders(device, problem, machine, (options.backend, options.candidates))
    entries = checked(device, problem, wanted, out)
    try:
        for entry in entries:
            for found in entry.checks:
                if not found.passed:
                    off = f"off by {found.max_error:.3g} after {found.steps} steps"
                    note(f"  {name} {problem.dtype} {entry.name} is WRONG: {off}")
        card = Card(device.describe().bus) if options.backend.partition(":")[0] == "cuda" else None
        measure([entry for entry in entries if entry.right], problem.steps, options.repeats, card)
    finally:
        for entry in entries:
            entry.close()
    roofs = {"without_time_tiling": machine.dram_bandwidth.value / (2e9 * problem.itemsize)}
    if name in ARITHMETIC:
        roofs["arithmetic_h200"] = float(ARITHMETIC[name][problem.dtype == "float64"])
    return {
        "program": name,
        "shape": list(problem.shape),
        "steps": problem.steps,
        "dtype": problem.dtype,
        "naive_against_numpy": small,
        "roofs": roofs,
        "contenders": {entry.name: shown(entry, problem) for entry in entries},
        "out": out,
        "candidates": {family: [each.plain() for each in those] for family, those in tried.items()},
    }


def checked(device: Device, problem: Problem, wanted: list[Contender], out: dict[str, str]) -> list[Entry]:
    """Check every contender after few steps, each alone on the device, and all after all steps; they stay open.

    Args:
        device: The device.
        problem: The problem.
        wanted: The contenders.
        out: Why others do not take part; who cannot be opened is added.
    """
    early: dict[str, Check] = {}
    for contender in sorted(wanted, key=lambda each: each.tiling.time):
        expected = standard(device, replace(problem, steps=few_steps(problem, contender.tiling)))
        entry = opened(device, contender)
        if isinstance(entry, str):
            out[contender.name] = entry
            continue
        try:
            early[contender.name] = check(entry, expected)
        finally:
            entry.close()
    expected = standard(device, problem)
    entries: list[Entry] = []
    try:
        for contender in wanted:
            entry = opened(device, contender) if contender.name in early else out[contender.name]
            if isinstance(entry, str):
                out[contender.name] = entry
                continue
            entries.append(entry)
            entry.checks += [early[contender.name], check(entry, expected)]
    except BaseException:
        for entry in entries:
            entry.close()
        raise
    return entries


def measure(entries: list[Entry], steps: int, repeats: int, card: Card | None = None) -> None:
    """Sample contenders in turn, whole runs from the initial data, after a warm-up."""
    warm = {entry.name: sample(entry, steps) for entry in entries}
    for turn in range(repeats):
        for entry in entries:
            if turn == 0 or warm[entry.name] <= SLOW * min(warm.values()):
                entry.seconds.append(sample(entry, steps))
                if card is not None:
                    entry.states.append(card.state())


def sample(entry: Entry, steps: int) -> float:
    """Seconds of one whole run."""
    entry.refill()
    return entry.run(steps)


def shown(entry: Entry, problem: Problem) -> dict[str, Any]:
    """What is kept of a contender; a line about it is printed."""
    updates = problem.cells * problem.steps / 1e9
    rates = sorted(updates / s for s in entry.seconds)
    speed = f"{statistics.median(rates):10.4g} GCells/s" if rates else "     wrong"
    print(f"  {problem.program.name:<12} {problem.dtype} {entry.name:<12}{speed}  {entry.tiling}", file=sys.stderr)
    return {
        "tiling": entry.tiling,
        "checks": [{**dataclasses.asdict(found), "passed": found.passed} for found in entry.checks],
        "gcells_per_second": statistics.median(rates) if rates else None,
        "low": rates[0] if rates else None,
        "high": rates[-1] if rates else None,
        "seconds": entry.seconds,
        "card": entry.states,
    }


def record(device: Device, options: argparse.Namespace) -> dict[str, Any]:
    """The record to go on with: the one in the file if it is of the same device and sizes, or a new one."""
    described = {
        "device": {"name": device.name, "memory_bytes": device.memory_bytes, "compiler": device.compiler},
        "backend": options.backend,
        "gpu": device.describe().gpu,
        "small": options.small,
        "steps": 12 if options.small else options.steps,
    }
    if not options.output.exists():
        about = Card(device.describe().bus).about() if device.dialect == "cuda" else {}
        return {"environment": environment.describe(1), "card": about, **described, "cases": []}
    known: dict[str, Any] = json.loads(options.output.read_text())
    differing = [key for key, value in described.items() if known.get(key) != value]
    if differing:
        raise SystemExit(f"{options.output} is a record with another {' and '.join(differing)}: name another file")
    return known


def write(document: dict[str, Any], target: Path) -> None:
    """Write the record, whole or not at all."""
    new = target.with_name(f".{target.name}.new")
    new.write_text(json.dumps(document, indent=1) + "\n")
    new.replace(target)


def wanted(options: argparse.Namespace) -> list[tuple[str, str]]:
    """The cases: programs with dtypes."""
    names = options.programs
    if options.catalogue:
        names = [name for name in catalogue.names() if not catalogue.program(name).analysis.sweep]
    return [(name, dtype) for name in names for dtype in options.dtypes]


def expected_seconds(document: dict[str, Any], name: str) -> float:
    """How long a case may take: as long as the longest of as many dimensions, or the longest of all."""
    rank = catalogue.program(name).rank
    spent = [(catalogue.program(each["program"]).rank == rank, each["spent"]) for each in document["cases"]]
    return max((seconds for same, seconds in spent if same or not any(s for s, _ in spent)), default=0.0)


def calibrated(options: argparse.Namespace) -> Machine:
    """The machine file that is named or lies beside the record; else the device is calibrated."""
    target = options.output.with_suffix(".toml")
    if options.machine or target.exists():
        return files.load(str(options.machine or target))
    known = options.programs if options.small else None
    return tw.calibrate(known, backend=options.backend, output=target, quick=True, note=note).machine


def run(options: argparse.Namespace) -> int:
    """Run the cases that are left; returns the exit status."""
    begin = time.monotonic()
    device = open_device(read_target(options.backend))
    document = record(device, options)
    done = {(each["program"], each["dtype"]): each for each in document["cases"]}
    todo = [each for each in wanted(options) if each not in done]
    if options.list:
        for name, dtype in wanted(options):
            known = done.get((name, dtype))
            print(f"{name:<12} {dtype}  {'to do' if known is None else known.get('failed') or 'done'}")
        return AGAIN if todo else 0
    if todo:
        machine = calibrated(options)
    for number, (name, dtype) in enumerate(todo):
        if number and time.monotonic() - begin + expected_seconds(document, name) > options.seconds:
            note(f"{len(todo) - number} of {len(wanted(options))} cases are left: the time is up, call again")
            return AGAIN
        try:
            document["cases"].append(one(device, (name, dtype), document["steps"], machine, options))
        except DeviceError as error:
            document["cases"].append({"program": name, "dtype": dtype, "failed": str(error), "spent": 0.0})
            write(document, options.output)
            note(f"{name} {dtype}: {error}; the device has failed and needs a new process: call again")
            return AGAIN
        write(document, options.output)
    return 1 if any("failed" in each or wrong(each) for each in document["cases"]) else 0


def one(
    device: Device, what: tuple[str, str], steps: int, machine: Machine, options: argparse.Namespace
) -> dict[str, Any]:
    """One case, or why there is none.

    Raises:
        DeviceError: If the device has failed and nothing works any more.
    """
    begin = time.monotonic()
    known = catalogue.program(what[0])
    problem = make_problem(known, (SMALL if options.small else SIZES)[known.rank], steps, what[1])
    found: dict[str, Any] = {"program": what[0], "dtype": what[1]}
    try:
        found |= case(device, problem, machine, options)
    except TilewrightError as error:
        alive(device, error)
        found["failed"] = str(error)
        note(f"  {' '.join(what)}: {error}")
    return {**found, "spent": time.monotonic() - begin}


def wrong(found: dict[str, Any]) -> bool:
    """Whether a contender of ours was off."""
    return any(not check["passed"] for each in found["contenders"].values() for check in each["checks"])


def note(line: str) -> None:
    """Say what goes on."""
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=catalogue.names(), metavar="NAME")
    parser.add_argument("--catalogue", action="store_true", help="every program but recurrences")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"], choices=["float32", "float64"])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=6, help="per family")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case that may end later")
    parser.add_argument("--list", action="store_true", help="say which cases are done, and run none")
    parser.add_argument("--small", action="store_true", help="tiny grids and 12 steps: a rehearsal")
    parser.add_argument("--machine", help="a machine file, instead of calibrating")
    parser.add_argument("--output", type=Path, required=True, help="the record, which is gone on with")
    options = parser.parse_args()
    if not options.output.resolve().parent.is_dir():
        parser.error(f"there is no folder {str(options.output.parent)!r} for the record")
    try:
        status = run(options)
    except TilewrightError as error:
        raise SystemExit(f"error: {error}") from None
    sys.exit(status)


if __name__ == "__main__":
    main()

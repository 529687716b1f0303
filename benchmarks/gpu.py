"""GPU speed: the catalogue in hybrid and streaming tiles against naive kernels and CuPy, every cell checked.

On a machine with an NVIDIA GPU, one call calibrates it, runs everything and writes both result files:

    pip install 'tilewright[cuda]' cupy-cuda12x
    python benchmarks/gpu.py --backend cuda --output benchmarks/results/gpu_h100.json

It takes the programs of the roof table at 16384x16384 and 512x512x512, 1000 steps, float32 and float64, in some
minutes; ``--catalogue`` takes every program. A rehearsal on a processor's OpenCL, whose figures mean nothing:

    python benchmarks/gpu.py --backend opencl:pthread --small --output rehearsal.json

Per case: the model's candidates of every family are screened where the compiler says what they need, timed once, and
the best of each family takes part. The reference is a naive kernel in float64 on the same device, which is compared
with NumPy on a small grid first. Then all contenders run in turn, whole runs on the device by events, after a warm-up;
CuPy by its own events. A contender whose result is off in any cell is reported and not timed.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import environment
import tilewright as tw
from tilewright.api.gpu import device_machine, open_device
from tilewright.api.screen import screen
from tilewright.api.strata import strata
from tilewright.base.errors import TilewrightError
from tilewright.codegen.gpu_emit import emit_device
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.programs import catalogue, reference
from tilewright.programs.dependences import analyse
from tilewright.programs.expression import Apply, Const, Read
from tilewright.programs.problem import Problem, make_problem
from tilewright.runtime import gpu
from tilewright.runtime.session import Inputs
from tilewright.tilings.tiling import NONE, Tiling
from tilewright.tuning.shortlist import ranked

ROOFED = ("j2d5pt", "box2d1r", "j3d7pt", "j3d27pt")
SIZES = {1: (2**26,), 2: (16384, 16384), 3: (512, 512, 512)}
SMALL = {1: (4096,), 2: (160, 200), 3: (24, 30, 40)}
ARITHMETIC = {
    "j2d5pt": (6690, 3345), "box2d1r": (3717, 1859), "j3d7pt": (4780, 2390), "j3d27pt": (1239, 620),
}  # fmt: skip
"""Roofs by arithmetic on an H200 in GCells/s, float32 and float64; the roof without time tiling is the bandwidth's."""
_CHECKED = {1: (300,), 2: (40, 50), 3: (14, 16, 20)}
_FACTOR = 4.0


@dataclass(slots=True, kw_only=True)
class Entry:
    """One contender in one case: ``once`` runs all steps and returns the device's seconds."""

    name: str
    tiling: str
    once: Callable[[], float]
    result: Callable[[], np.ndarray[Any, Any]]
    close: Callable[[], None]
    error: float = float("nan")
    seconds: list[float] = field(default_factory=list)


def inputs(problem: Problem) -> Inputs:
    """The same random data for every contender."""
    generator = np.random.default_rng(1)
    known = problem.program
    first = {f: generator.random(problem.shape, dtype=np.float32).astype(problem.dtype) for f in known.fields}
    scale = {f: 0.2 if f not in known.updated else 1.0 for f in known.fields}
    arrays = {f: [(scale[f] * first[f]).astype(problem.dtype)] * known.history(f) for f in known.fields}
    return Inputs(arrays=arrays, scalars=dict.fromkeys(known.scalars, 0.1))


def ours(device: gpu.Device, problem: Problem, tiling: Tiling, name: str) -> Entry:
    """A kernel of this package; a run starts from where the last one ended, the check from the first data."""
    loaded = gpu.load(device, emit_device(problem, tiling, device.dialect), tiling)
    session = gpu.GpuSession(loaded, problem, inputs(problem))
    updated = problem.program.updated[0]
    return Entry(
        name=name,
        tiling=str(tiling),
        once=lambda: session.timed(problem.steps),
        result=lambda: np.array(session.newest(updated)),
        close=session.close,
    )


def cupy_entry(problem: Problem) -> Entry | None:
    """The program in CuPy's array expressions, where CuPy is installed and the program is of one statement."""
    known = problem.program
    if len(known.statements) > 1 or known.history(known.updated[0]) > 1 or analyse(known).sweep:
        return None
    try:
        import cupy
    except ImportError:
        return None
    given = inputs(problem)
    state = {f: cupy.asarray(values[0]) for f, values in given.arrays.items()}
    name, statement = known.updated[0], known.statements[0]
    margins = problem.update_box(statement)
    other = state[name].copy()

    def step() -> None:
        nonlocal other
        other[tuple(slice(*span) for span in margins)] = evaluate(statement.tape, state, margins, cupy, given.scalars)
        state[name], other = other, state[name]

    def once() -> float:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(problem.steps):
            step()
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) * 1e-3

    return Entry(name="cupy", tiling="", once=once, result=lambda: cupy.asnumpy(state[name]), close=lambda: None)


def evaluate(tape: Any, state: Any, margins: Any, xp: Any, scalars: Any) -> Any:  # noqa: ANN401
    """Evaluate a statement's tape on arrays."""
    one = {"add": xp.add, "sub": xp.subtract, "mul": xp.multiply, "div": xp.divide, "sqrt": xp.sqrt, "neg": xp.negative}
    values: list[Any] = []
    for node in tape:
        if isinstance(node, Read):
            spans = zip(margins, node.offset, strict=True)
            values.append(state[node.field][tuple(slice(a + o, b + o) for (a, b), o in spans)])
        elif isinstance(node, Const):
            values.append(state[next(iter(state))].dtype.type(node.value))
        elif isinstance(node, Apply):
            values.append(one[node.op](*(values[i] for i in node.args)))
        else:
            values.append(state[next(iter(state))].dtype.type(scalars[node.name]))
    return values[-1]


def check_naive(device: gpu.Device, name: str) -> float:
    """Compare the float64 reference kernel with NumPy on a small grid; return the largest difference."""
    known = catalogue.program(name)
    problem = make_problem(known, _CHECKED[known.rank], 12, "float64")
    given = inputs(problem)
    entry = ours(device, problem, NONE, "reference")
    entry.once()
    exact = reference.run(problem, given.arrays, given.scalars)[known.updated[0]]
    error = float(np.max(np.abs(entry.result() - exact)))
    entry.close()
    if not error <= 1e-12 * max(1.0, float(np.max(np.abs(exact)))):
        raise SystemExit(f"the naive float64 kernel of {name} is off by {error:.3g} on a small grid")
    return error


def candidates(problem: Problem, machine: Machine, backend: str, count: int) -> dict[str, list[Tiling]]:
    """The model's first candidates of every family; with CUDA those whose code neither spills nor asks for too much."""
    found: dict[str, list[Tiling]] = {}
    for stratum in strata(problem, machine, every=False):
        if stratum.family != "none":
            found[stratum.family] = [each.tiling for each in ranked([stratum], count)]
    if backend.partition(":")[0] == "cuda":
        for family, tilings in found.items():
            found[family] = [each.tiling for each in screen(problem, tilings, machine) if each.outcome is None]
    return found


def best_of(device: gpu.Device, problem: Problem, tilings: list[Tiling]) -> Tiling | None:
    """The fastest of some candidates by one short run each."""
    short = replace(problem, steps=min(problem.steps, 3 * max(t.time for t in tilings)))
    times: dict[Tiling, float] = {}
    for tiling in tilings:
        try:
            entry = ours(device, short, tiling, "trial")
            entry.once()
            times[tiling] = entry.once()
            entry.close()
        except TilewrightError as error:
            print(f"  {tiling}: {error}", file=sys.stderr)
    return min(times, key=times.__getitem__) if times else None


def contenders(device: gpu.Device, problem: Problem, machine: Machine, options: argparse.Namespace) -> list[Entry]:
    """Every contender of a case."""
    entries = [ours(device, problem, NONE, "naive")]
    for family, tilings in candidates(problem, machine, options.backend, options.candidates).items():
        chosen = best_of(device, problem, tilings)
        if chosen is not None:
            entries.append(ours(device, problem, chosen, family))
    rival = cupy_entry(problem)
    return entries if rival is None else [*entries, rival]


def case(device: gpu.Device, problem: Problem, machine: Machine, options: argparse.Namespace) -> dict[str, Any]:
    """Check and time the contenders of one case."""
    name, known = problem.program.name, problem.program
    small = check_naive(device, name)
    exact = ours(device, replace(problem, dtype="float64"), NONE, "reference")
    exact.once()
    expected = exact.result()
    exact.close()
    eps = float(np.finfo(problem.dtype).eps)
    allowed = _FACTOR * eps * (known.flops + known.loads) * problem.steps * float(np.max(np.abs(expected)))
    entries = contenders(device, problem, machine, options)
    good = []
    for entry in entries:
        entry.once()
        entry.error = float(np.max(np.abs(entry.result() - expected)))
        if entry.error <= allowed:
            good.append(entry)
        else:
            print(f"  {name} {problem.dtype} {entry.name} is WRONG: off by {entry.error:.3g}", file=sys.stderr)
    for _ in range(options.repeats):
        for entry in good:
            entry.seconds.append(entry.once())
    updates = problem.cells * problem.steps / 1e9
    found = {}
    for entry in entries:
        rates = sorted(updates / s for s in entry.seconds)
        found[entry.name] = {
            "tiling": entry.tiling,
            "max_error": entry.error,
            "gcells_per_second": statistics.median(rates) if rates else None,
            "low": rates[0] if rates else None,
            "high": rates[-1] if rates else None,
            "seconds": entry.seconds,
        }
        speed = f"{statistics.median(rates):10.4g} GCells/s" if rates else "     wrong"
        print(f"  {name:<12} {problem.dtype} {entry.name:<12}{speed}  {entry.tiling}", file=sys.stderr)
        entry.close()
    copy = machine.dram_bandwidth.value / (2e9 * problem.itemsize)
    roofs = {"without_time_tiling": copy}
    if name in ARITHMETIC:
        roofs["arithmetic_h200"] = float(ARITHMETIC[name][problem.dtype == "float64"])
    return {
        "program": name,
        "shape": list(problem.shape),
        "steps": problem.steps,
        "dtype": problem.dtype,
        "bound": allowed,
        "naive_against_numpy": small,
        "roofs": roofs,
        "contenders": found,
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--programs", nargs="+", default=list(ROOFED))
    parser.add_argument("--catalogue", action="store_true", help="every program but recurrences")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=6, help="per family")
    parser.add_argument("--small", action="store_true", help="tiny grids and few steps: a rehearsal")
    parser.add_argument("--machine", help="a machine file, instead of calibrating")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    sizes, steps = (SMALL, 12) if options.small else (SIZES, options.steps)
    device = open_device(options.backend)
    target = options.output.with_suffix(".toml")
    if options.machine:
        machine = files.load(options.machine)
    else:
        known = options.programs if options.small else None
        machine = tw.calibrate(known, backend=options.backend, output=target, quick=True, note=_note).machine
    names = options.programs
    if options.catalogue:
        names = [name for name in catalogue.names() if not analyse(catalogue.program(name)).sweep]
    document: dict[str, Any] = {
        "environment": environment.describe(1),
        "device": {"name": device.name, "memory_bytes": device.memory_bytes, "compiler": device.compiler},
        "described": device_machine(device).name,
        "gpu": device.describe().gpu,
        "small": options.small,
        "cases": [],
    }
    for name in names:
        for dtype in options.dtypes:
            rank = catalogue.program(name).rank
            problem = make_problem(catalogue.program(name), sizes[rank], steps, dtype)
            try:
                document["cases"].append(case(device, problem, machine, options))
            except TilewrightError as error:
                document["cases"].append({"program": name, "dtype": dtype, "failed": str(error)})
                print(f"  {name} {dtype}: {error}", file=sys.stderr)
            options.output.write_text(json.dumps(document, indent=1) + "\n")


def _note(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    main()

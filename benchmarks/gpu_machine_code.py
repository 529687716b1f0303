"""What the machine code of a GPU's default kernels promises at most: instructions per update, pipes, and a bound.

No device takes part; NVRTC and nvdisasm do, and nothing is timed, so that two runs with the same compiler agree:

    python benchmarks/gpu_machine_code.py --output benchmarks/results/gpu_machine_code.json
    python benchmarks/gpu_machine_code.py --programs j2d5pt --dtypes float32 --texts DIR

Per program and element type two lines: what a run takes that nobody has tuned, and ``none``. Figures are per useful
update of a cell: those that a tile computes for its neighbours' sake are counted as work, not as updates. Bounds are
of the loop without tests; of streaming tiles, those at an edge of an axis that threads share test every cell: how many
tiles these are, and the bound of that loop, stand beside it. With ``--ranked`` a third line says how far the analytic
model's first choice is from the best of ten by machine code.
"""

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import environment
import tilewright as tw
from tilewright.codegen.gpu.emit import emit_device
from tilewright.costs.machine_code import listing
from tilewright.costs.machine_code.bound import Bound, Needs, bound, followed, round_of, work
from tilewright.costs.machine_code.listing import read
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime.devices import nvrtc
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.tuning.choice import gpu_defaults
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.verbs.tuning.screen import Built, architecture, compile_candidate

PROGRAMS = ("j2d5pt", "star2d2r", "box2d1r", "j3d7pt", "j3d27pt")
SHAPES: dict[int, tuple[int, ...]] = {1: (2**26,), 2: (16384, 16384), 3: (512, 512, 512)}
STEPS = 1000


def judged(problem: Problem, tiling: Tiling, machine: Machine) -> tuple[Built, Bound | None]:
    """Return what the code of a tiling needs, and the bound of its speed."""
    small = dataclasses.replace(problem, shape=(64,) * problem.program.rank, steps=2)
    built = compile_candidate(small, tiling, machine, strict=False)
    asked = work(problem, gpu_schedule(problem, tiling))
    return built, None if asked is None or built.steady is None else bound(built.steady, asked, machine)


def default(problem: Problem, machine: Machine) -> Tiling:
    """Return what an untuned run takes: the model's first choice that does not spill."""
    for candidate in gpu_defaults(problem, machine):
        needs = judged(problem, candidate.tiling, machine)[0].resources
        if not (needs.spill_bytes or needs.stack_bytes):
            return candidate.tiling
    return NONE


def record(problem: Problem, tiling: Tiling, machine: Machine) -> dict[str, Any]:
    """Return everything that is known of a tiling's kernel."""
    built, limit = judged(problem, tiling, machine)
    needs = built.resources
    found: dict[str, Any] = {
        "program": problem.program.name,
        "dtype": problem.dtype,
        "machine": machine.name,
        "shape": problem.shape,
        "tiling": str(tiling),
        "registers": needs.registers,
        "spill_bytes": needs.spill_bytes,
        "shared_bytes": needs.shared_bytes,
    }
    if limit is None:
        return found
    steady = limit.steady
    pipes = {pipe: round(count / limit.useful, 3) for pipe, count in steady.pipes.items()}
    rates = {
        name: round(rate * machine.sm_count.value * machine.clock.value * limit.useful * limit.waves / 1e9, 1)
        for name, rate in steady.rates.items()
    }
    slow = tested(problem, tiling, machine)
    if slow is not None:
        found |= {
            "edge_tiles": round(edge_tiles(problem, tiling), 3),
            "tested_instructions": round(slow.instructions, 2),
            "tested_gcells": round(slow.updates / 1e9, 1),
        }
    return found | {
        "warps": steady.warps,
        "body_bytes": steady.body_bytes,
        "instructions": round(limit.instructions, 2),
        "branches": round(limit.branches, 3),
        "pipes": pipes,
        "requests": round(limit.requests, 2),
        "useful": round(limit.useful, 4),
        "waves": round(limit.waves, 4),
        "gcells_by": rates | {"dram": round(limit.dram / 1e9, 1), "l2": round(limit.l2 / 1e9, 1)},
        "gcells": round(limit.updates / 1e9, 1),
        "binding": limit.binding,
    }


def edge_tiles(problem: Problem, tiling: Tiling) -> float:
    """Return the share of streaming tiles whose cells do not all lie inside the grid along the axes threads share."""
    inside, axes = 1.0, range(1, problem.program.rank)
    loaded = stream_block.tile_of(problem, tiling).loaded
    for axis in axes:
        size, extent = tiling.space[axis], problem.shape[axis]
        reach, starts = (loaded[axis] - size) / 2, range(0, extent, size)
        inside *= sum(start >= reach and start + size + reach <= extent for start in starts) / len(starts)
    return 1.0 - inside


def tested(problem: Problem, tiling: Tiling, machine: Machine) -> Bound | None:
    """Return the bound of the loop that tests every cell, which streaming tiles at edges take; None for others."""
    each, asked = (of(problem, gpu_schedule(problem, tiling)) for of in (round_of, work))
    if each is None or asked is None or not tiling.family.streams:
        return None
    small = dataclasses.replace(problem, shape=(64,) * problem.program.rank, steps=2)
    source = emit_device(small, gpu_schedule(small, tiling), "cuda")
    code = nvrtc.compile_cuda(source.text, architecture(machine), strict=False)
    kernel, found = source.kernels[0], read(nvrtc.disassemble(code.cubin))
    other = listing.with_tests(found[kernel.entry])
    if other is None or code.resources.registers is None:
        return None
    path, rounds = other
    needs = Needs(threads=kernel.threads, registers=code.resources.registers, shared_bytes=source.shared_bytes)
    return bound(
        followed(path, needs, dataclasses.replace(each, updates=each.updates / rounds), machine), asked, machine
    )


def ranked(problem: Problem, machine: Machine) -> dict[str, Any]:
    """Return how the analytic model's first of ten fares against the best of them by machine code."""
    plan = tw.tune(
        problem.program,
        shape=problem.shape,
        steps=problem.steps,
        dtype=problem.dtype,
        backend="cuda",
        machine=machine,
        effort="none",
        candidates=10,
    )
    bounds = {
        str(each.tiling): each.bound_seconds for each in plan.candidates if each.outcome is None and each.bound_seconds
    }
    first = min((each for each in plan.candidates if each.outcome is None), key=lambda each: each.predicted_seconds)
    best = min(bounds, key=lambda name: bounds[name])
    return {
        "program": problem.program.name,
        "dtype": problem.dtype,
        "first": str(first.tiling),
        "best": best,
        "first_of_best": round(bounds[best] / bounds[str(first.tiling)], 3),
        "candidates": bounds,
    }


def said(found: dict[str, Any]) -> str:
    """Return one line about a record."""
    head = f"{found['program']:10} {found['dtype']} {found['tiling']:40}"
    if "first_of_best" in found:
        return f"{head} first {found['first']} reaches {found['first_of_best']:.2f} of the best by machine code"
    code = f"{found['registers']:4} registers {found['spill_bytes']} spilled {found['shared_bytes']:6} B on chip"
    if "gcells" not in found:
        return f"{head} {code}"
    return (
        f"{head} {code} {found['warps']:3} warps {found['instructions']:6.1f} instructions {found['branches']:5.2f} "
        f"branches {found['gcells']:7.0f} GCells/s by {found['binding']:7} useful {found['useful']:.2f} "
        f"{_edges(found)}waves {found['waves']:.2f} body {found['body_bytes'] / 1024:.0f} KiB"
    )


def _edges(found: dict[str, Any]) -> str:
    if "edge_tiles" not in found:
        return ""
    return f"{found['edge_tiles']:.0%} edge tiles at {found['tested_gcells']:.0f} "


def lines(problem: Problem, machine: Machine, asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the records of a problem."""
    tilings = [default(problem, machine)] if not asked.tiling else [parse(each) for each in asked.tiling]
    for tiling in dict.fromkeys([*tilings, *([] if asked.tiling else [NONE])]):
        if asked.texts:
            source = emit_device(problem, gpu_schedule(problem, tiling), "cuda")
            asked.texts.mkdir(parents=True, exist_ok=True)
            (asked.texts / f"{problem.program.name}_{problem.dtype}_{tiling.family}.cu").write_text(source.text)
        yield record(problem, tiling, machine)
    if asked.ranked:
        yield ranked(problem, machine) | {"tiling": "of ten"}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table and keep the record; return 1 if a default kernel spills."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=catalogue.names(), metavar="NAME")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float64"])
    parser.add_argument("--tiling", nargs="+", default=[], help="these in place of the default")
    parser.add_argument("--ranked", action="store_true", help="compare the first choice with the best of ten")
    parser.add_argument("--texts", type=Path, help="a folder for the texts")
    parser.add_argument("--output", type=Path, help="a file for the record")
    asked = parser.parse_args(argv)
    machine, found = files.load(asked.machine), []
    for program in map(catalogue.program, asked.programs):
        for dtype in asked.dtypes:
            problem = make_problem(program, SHAPES[program.rank], STEPS, dtype)
            for each in lines(problem, machine, asked):
                found.append(each)
                print(said(each), flush=True)
    if asked.output:
        about = environment.describe(1) | {"nvrtc": nvrtc.version()}
        asked.output.write_text(json.dumps({"environment": about, "kernels": found}, indent=1) + "\n")
    return int(any(each.get("spill_bytes") for each in found))


if __name__ == "__main__":
    raise SystemExit(main())

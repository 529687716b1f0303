"""How a problem is to be computed: what was asked for, else what tuning measured, else what the cost models expect."""

import functools
from dataclasses import replace

from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.machines.machine import Machine, with_threads
from tilewright.plan import RunPlan, Target
from tilewright.programs.stencil.dependences import analyse
from tilewright.programs.stencil.periodic import Extended, wrapped_axes
from tilewright.programs.stencil.problem import GPU_COMPILED, MAX_TILED_RANK, Problem
from tilewright.runtime.host import thread_count
from tilewright.runtime.store import wisdom
from tilewright.runtime.store.hosts import host
from tilewright.runtime.warn import warn_once
from tilewright.schedules import catalogue
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import NONE, Tiling, as_tiling, parse
from tilewright.tuning.choice import choose_blocks, choose_tiling, whole_run_seconds
from tilewright.tuning.spaces.bodies import choose_body
from tilewright.tuning.spaces.periodic import plain_block


def plans(
    problem: Problem,
    target: Target,
    tiling: Tiling | str | None = None,  # by default what tuning found, or else the models' choice
    *,
    strict: bool = False,
    copies: bool = True,  # whether a run copies its arrays in and out; False for one portion of a longer run
) -> tuple[RunPlan, ...]:
    """Decide how a problem is computed; on a GPU, further plans are for code that spills or does not fit there."""
    _check_recurrence(problem)
    asked = as_tiling(tiling)
    if target.on_device:
        return _on_device(problem, target, asked, strict=strict)
    if target.backend == "numpy":
        if asked is not None:
            _on_cpu(problem, asked, copies=copies)
        return (RunPlan(problem=problem, target=target, tiling=NONE, strict=strict),)
    learned = (
        None if asked is not None or not problem.plain else remembered(problem, thread_count(target.threads or None))
    )
    chosen, block = _on_cpu(problem, asked or learned, copies=copies)
    evidence = "asked" if asked else "wisdom" if learned else "model"
    plan = RunPlan(problem=problem, target=target, tiling=chosen, strict=strict, block=block, evidence=evidence)
    return (replace(plan, body=choose_body(plan.computed, chosen, strict=strict)),)


def batch_plan(
    problem: Problem, count: int, target: Target, tiling: Tiling | str | None = None, *, strict: bool = False
) -> RunPlan | None:
    """Plan one thread per grid of a batch; None where all threads on one grid at a time are as fast, or must be."""
    if target.backend != "c" or count < 2 or problem.varying:
        return None
    _check_recurrence(problem)
    asked = as_tiling(tiling)
    threads = thread_count(target.threads or None)
    found = _one_each(problem, asked, host(), threads, ceil_div(count, threads) / count)
    if found is None:
        return None
    chosen, block = found
    plan = RunPlan(
        problem=problem,
        target=target,
        tiling=chosen,
        strict=strict,
        block=block,
        batch=True,
        evidence="asked" if asked else "model",
    )
    return replace(plan, body=choose_body(plan.computed, chosen, strict=strict, batch=True))


@functools.lru_cache(maxsize=64)
def _one_each(
    problem: Problem, asked: Tiling | None, machine: Machine, threads: int, rounds: float
) -> tuple[Tiling, Extended | None] | None:
    """Return the tiling of one thread, if a share of its time is less than that of all threads on a grid."""
    alone, team = with_threads(machine, 1), with_threads(machine, threads)
    chosen, block = _on_cpu(problem, asked, copies=True, machine=alone)
    if threads > 1:
        together, _ = _on_cpu(problem, asked, copies=True, machine=team)
        if whole_run_seconds(problem, together, team) <= rounds * whole_run_seconds(problem, chosen, alone):
            return None
    return chosen, block


def _on_cpu(
    problem: Problem, asked: Tiling | None, *, copies: bool, machine: Machine | None = None
) -> tuple[Tiling, Extended | None]:
    """Return the tiling of a run on this processor, and the extended grid where it wraps and is tiled in time."""
    machine = machine or host()
    blocks = choose_blocks(problem, machine, asked)
    if blocks is not None:
        return blocks.tiling, blocks.extended
    return choose_tiling(problem, machine, copies=copies) if asked is None else catalogue.legal(problem, asked), None


def _on_device(problem: Problem, target: Target, asked: Tiling | None, *, strict: bool) -> tuple[RunPlan, ...]:
    # What GPUs alone need is loaded when one is asked for.
    from tilewright.runtime.devices.found import circumstances, device_machine, open_device
    from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

    if problem.program.rank > MAX_TILED_RANK:
        raise UsageError(
            f"GPU backends compute in 1 to {MAX_TILED_RANK} dimensions, {problem.program.name!r} has "
            f"{problem.program.rank}",
            "use backend='c'",
        )
    if asked is not None:
        asked = _asked_of_device(problem, asked)
    if problem.dtype not in GPU_COMPILED:
        raise UsageError(f"GPU backends compute in {', '.join(GPU_COMPILED)}, got {problem.dtype}", "use backend='c'")
    evidence, machine = "asked", None

    def planned(tiling: Tiling, block: Extended | None) -> RunPlan:
        schedule = gpu_schedule(problem if block is None else block.problem, tiling)
        return RunPlan(
            problem=problem,
            target=target,
            tiling=tiling,
            schedule=schedule,
            strict=strict,
            block=block,
            evidence=evidence,
        )

    if asked is None:
        device = open_device(target)
        machine = device_machine(device)
        if not wrapped_axes(problem):
            asked, evidence = remembered(problem, 1, target.backend, circumstances(device)), "wisdom"
        if asked is None:
            evidence = "model"
            return tuple(planned(tiling, block) for tiling, block in _by_model(problem, machine))
    return (planned(asked, plain_block(problem, asked)),)


@functools.lru_cache(maxsize=64)
def _by_model(problem: Problem, machine: Machine) -> tuple[tuple[Tiling, Extended | None], ...]:
    """Return a GPU's tilings, best first by its cost model; ``none``, which fits every device, is last."""
    from tilewright.tuning.gpu_default import gpu_defaults

    blocks = choose_blocks(problem, machine)
    found: list[tuple[Tiling, Extended | None]] = []
    if blocks is not None:
        ranked = gpu_defaults(blocks.extended.problem, machine)
        found = [(each.tiling, blocks.extended) for each in ranked if not each.tiling.family.untiled]
    return (*found, *((each.tiling, None) for each in gpu_defaults(problem, machine)))


def _asked_of_device(problem: Problem, asked: Tiling) -> Tiling:
    """Return a tiling for a GPU, complete and known to be legal, there with the threads of a streaming one."""
    if not asked.family.gpu:
        known = ", ".join(each for each in catalogue.families() if each.gpu)
        raise UsageError(f"GPU backends have no kernels for {str(asked)!r}", f"use {known}")
    if asked.neighbours or asked.sums or asked.piece:
        raise UsageError(f"neighbours, sums and piece say how code for CPUs is written, got {str(asked)!r} for a GPU")
    if asked.family.streams:
        asked = stream_block.threads_for(problem, asked)
    block = plain_block(problem, asked, asked.time)
    return catalogue.legal(problem if block is None else block.problem, asked)


def remembered(
    problem: Problem, threads: int, backend: str = "c", here: wisdom.Circumstances | None = None
) -> Tiling | None:
    """Return the tiling that tuning found for a problem or a nearby one, on this very machine.

    Stale wisdom is not used; one warning says so. On a GPU, ``threads`` is 1 and ``here`` its circumstances.
    """
    entries = wisdom.load()
    here = (here or wisdom.here()) if entries else None
    if here is None:
        return None
    best, stale = wisdom.find(entries, problem, threads, here, backend)
    if best is None:
        if stale:
            warn_once(
                f"what was tuned for {problem.program.name!r} was measured with other hardware, another compiler or "
                "another version, so it is not used (hint: tune again; see `tilewright wisdom list`)"
            )
        return None
    try:
        tiling = parse(best.tiling)
        return _on_cpu(problem, tiling, copies=True)[0] if backend == "c" else catalogue.legal(problem, tiling)
    except UsageError:
        return None


def _check_recurrence(problem: Problem) -> None:
    program = problem.program
    for dependence in analyse(program).sweep:
        for statement in program.statements:
            swept = any(read.field == statement.field and read.level == 1 for read in statement.reads)
            kinds = {side.kind for pair in problem.sides(statement.field) for side in pair}
            if swept and not kinds <= {"fixed", "constant"}:
                raise UsageError(
                    f"{program.name!r} sweeps over {statement.field!r} ({dependence}), whose boundary must be fixed or "
                    f"constant, got {', '.join(sorted(kinds - {'fixed', 'constant'}))}"
                )

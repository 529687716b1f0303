"""How a problem is to be computed: what was asked for, else what tuning measured, else what the cost models expect."""

from contextlib import suppress

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.facts import fact
from tilewright.base.intmath import ceil_div
from tilewright.machines.machine import Machine, with_threads
from tilewright.plan import Plan, Target
from tilewright.programs.stencil.forms import Extended, wrapped_axes
from tilewright.programs.stencil.problem import GPU_COMPILED, MAX_TILED_RANK, Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime.host import thread_count
from tilewright.runtime.store import wisdom
from tilewright.runtime.store.hosts import host
from tilewright.runtime.warn import warn_once
from tilewright.schedules import catalogue
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import Tiling, as_tiling, parse
from tilewright.tuning.choice import choose_blocks, choose_tiling, computed_form, gpu_defaults, whole_run_seconds
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule
from tilewright.tuning.spaces.periodic import plain_block


def plans(
    problem: Problem,
    target: Target,
    tiling: Tiling | str | None = None,  # by default what tuning found, or else the models' choice
    *,
    strict: bool = False,
    copies: bool = True,  # whether a run copies its arrays in and out; False for one portion of a longer run
    storage: Storage = PLAIN,  # where the fields' versions and cells lie; on a processor alone
) -> tuple[Plan, ...]:
    """Decide how a problem is computed; on a GPU, further plans are for code that spills or does not fit there."""
    _check_recurrence(problem)
    request = as_tiling(tiling)
    if target.on_device:
        return _on_device(problem, target, request, strict=strict)
    if target.backend == "numpy":
        if request is not None:
            _on_cpu(problem, request, copies=copies)
        return (Plan(problem=problem, target=target, strict=strict),)
    usual = not storage.states and not problem.regions  # as what was tuned
    learned = remembered(problem, thread_count(target.threads or None)) if request is None and usual else None
    chosen, block = _on_cpu(problem, request or learned, copies=copies, storage=storage)
    evidence = "asked" if request else "wisdom" if learned else "model"
    computed = problem if block is None else block.problem
    schedule = cpu_schedule(computed, chosen, storage, strict=strict)
    return (Plan(problem=problem, target=target, schedule=schedule, strict=strict, block=block, evidence=evidence),)


def batch_plan(
    problem: Problem, count: int, target: Target, tiling: Tiling | str | None = None, *, strict: bool = False
) -> Plan | None:
    """Plan one thread per grid of a batch; None where all threads on one grid at a time are as fast, or must be."""
    if target.backend != "c" or count < 2 or problem.varying:
        return None
    _check_recurrence(problem)
    request = as_tiling(tiling)
    threads = thread_count(target.threads or None)
    own = _one_each(problem, request, host(), threads, ceil_div(count, threads) / count)
    if own is None:
        return None
    chosen, block = own
    schedule = cpu_schedule(problem if block is None else block.problem, chosen, strict=strict, batch=True)
    evidence = "asked" if request else "model"
    return Plan(problem=problem, target=target, schedule=schedule, strict=strict, block=block, evidence=evidence)


@fact
def _one_each(
    problem: Problem, request: Tiling | None, machine: Machine, threads: int, rounds: float
) -> tuple[Tiling, Extended | None] | None:
    """Return the tiling of one thread, if a share of its time is less than that of all threads on a grid."""
    alone, team = with_threads(machine, 1), with_threads(machine, threads)
    chosen, block = _on_cpu(problem, request, copies=True, machine=alone)
    if block is not None and block.problem.program.once:  # threads copy and compute steps, by one list for all grids
        chosen, block = _in_form(problem, request, copies=True, machine=alone, storage=PLAIN)
    if threads > 1:
        together, _ = _on_cpu(problem, request, copies=True, machine=team)
        if whole_run_seconds(problem, together, team) <= rounds * whole_run_seconds(problem, chosen, alone):
            return None
    return chosen, block


def _on_cpu(
    problem: Problem,
    request: Tiling | None,
    *,
    copies: bool,
    machine: Machine | None = None,
    storage: Storage = PLAIN,
) -> tuple[Tiling, Extended | None]:
    """Return the tiling of a run on this processor, and what is computed where that is not the problem itself."""
    machine = machine or host()
    form = computed_form(problem, machine, storage, copies=copies)
    if form is not problem:
        with suppress(IllegalTilingError):  # a tiling that is asked for may be one of the problem as it is alone
            tiling, block = _in_form(form, request, copies=copies, machine=machine, storage=storage)
            return tiling, block or Extended(problem=form, around=((0, 0),) * problem.program.rank)
    return _in_form(problem, request, copies=copies, machine=machine, storage=storage)


def _in_form(
    form: Problem, request: Tiling | None, *, copies: bool, machine: Machine, storage: Storage
) -> tuple[Tiling, Extended | None]:
    blocks = choose_blocks(form, machine, request, storage)
    if blocks is not None:
        return blocks.tiling, blocks.extended
    if request is not None:
        return catalogue.legal(form, request, storage), None
    return choose_tiling(form, machine, storage, copies=copies), None


def _on_device(problem: Problem, target: Target, request: Tiling | None, *, strict: bool) -> tuple[Plan, ...]:
    # What GPUs alone need is loaded when one is asked for.
    from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

    if problem.program.rank > MAX_TILED_RANK:
        raise UsageError(
            f"GPU backends compute in 1 to {MAX_TILED_RANK} dimensions, {problem.program.name!r} has "
            f"{problem.program.rank}",
            "use backend='c'",
        )
    if request is not None:
        request = _tiling_of_device(problem, request)
    if problem.dtype not in GPU_COMPILED:
        raise UsageError(f"GPU backends compute in {', '.join(GPU_COMPILED)}, got {problem.dtype}", "use backend='c'")
    decided, evidence = _tilings(problem, target, request)
    return tuple(
        Plan(
            problem=problem,
            target=target,
            schedule=gpu_schedule(problem if block is None else block.problem, tiling),
            strict=strict,
            block=block,
            evidence=evidence,
        )
        for tiling, block in decided
    )


def _tilings(
    problem: Problem, target: Target, request: Tiling | None
) -> tuple[tuple[tuple[Tiling, Extended | None], ...], str]:
    """Return a GPU's tilings, with periodic grids' copies, and the evidence for them."""
    from tilewright.runtime.devices.drivers import circumstances, device_machine, open_device

    if request is not None:
        return ((request, plain_block(problem, request)),), "asked"
    device = open_device(target)
    if not wrapped_axes(problem):
        learned = remembered(problem, 1, target.backend, circumstances(device))
        if learned is not None:
            return ((learned, None),), "wisdom"
    return _by_model(problem, device_machine(device)), "model"


@fact
def _by_model(problem: Problem, machine: Machine) -> tuple[tuple[Tiling, Extended | None], ...]:
    """Return a GPU's tilings, best first by its cost model; ``none``, which fits every device, is last."""
    blocks = choose_blocks(problem, machine)
    blocked: list[tuple[Tiling, Extended | None]] = []
    if blocks is not None:
        ranked = gpu_defaults(blocks.extended.problem, machine)
        blocked = [(each.tiling, blocks.extended) for each in ranked if not each.tiling.family.untiled]
    return (*blocked, *((each.tiling, None) for each in gpu_defaults(problem, machine)))


def _tiling_of_device(problem: Problem, tiling: Tiling) -> Tiling:
    """Return a tiling for a GPU, complete and known to be legal, there with the threads of a streaming one."""
    if not tiling.family.gpu:
        families = ", ".join(each for each in catalogue.families() if each.gpu)
        raise UsageError(f"GPU backends have no kernels for {str(tiling)!r}", f"use {families}")
    if tiling.neighbours or tiling.sums or tiling.piece:
        raise UsageError(f"neighbours, sums and piece say how code for CPUs is written, got {str(tiling)!r} for a GPU")
    if tiling.family.streams:
        tiling = stream_block.threads_for(problem, tiling)
    block = plain_block(problem, tiling, tiling.time)
    return catalogue.legal(problem if block is None else block.problem, tiling)


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
    for dependence in program.analysis.sweep:
        for statement in program.statements:
            swept = any(read.field == statement.field and read.level == 1 for read in statement.reads)
            kinds = {side.kind for pair in problem.sides(statement.field) for side in pair}
            if swept and not kinds <= {"fixed", "constant"}:
                raise UsageError(
                    f"{program.name!r} sweeps over {statement.field!r} ({dependence}), whose boundary must be fixed or "
                    f"constant, got {', '.join(sorted(kinds - {'fixed', 'constant'}))}"
                )

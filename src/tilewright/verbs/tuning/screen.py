"""GPU candidates screened before they run: compiled for the machine's architecture, judged by their machine code.

The model chooses sizes and threads, the compiler says registers, spills, stack and memory on
chip. What spills or does not fit is dropped. The rest is ranked anew: by the bound of its machine code where there is
one (:mod:`tilewright.costs.machine_code`), else by the model with the registers that the code really has. No GPU takes
part.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.base.constants import SAFE_REGISTERS
from tilewright.base.errors import TilewrightError, ToolchainError, UsageError
from tilewright.base.records import Outcome, Resources
from tilewright.codegen.gpu.emit import emit_device
from tilewright.codegen.source import EntryPoint
from tilewright.costs import time as time_model
from tilewright.costs.machine_code.bound import Bound, Needs, Steady, analyse, bound, in_turn, round_of, work
from tilewright.costs.machine_code.listing import OLDEST, read
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.host import available_cpus
from tilewright.runtime.warn import warn_once
from tilewright.runtime.workers.pool import Reply, pool
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

LIMIT_SECONDS = 60.0  # what compiling one candidate may take
MARGIN = 1.05  # what a candidate must win by whose code leaves a thread next to no registers
_MOST_WORKERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """A candidate and what its code needs."""

    tiling: Tiling  # the candidate, with its threads
    predicted_seconds: float  # its predicted time, with the resources where they are known
    resources: Resources | None = None  # what the compiler says, or None where it could not
    bound: Bound | None = None  # the bound by its machine code, or None where there is none
    # the least time of all steps by that bound, launches included; None where there is none
    bound_seconds: float | None = None
    outcome: Outcome | None = None  # why it is dropped; None if it may be run
    detail: str = ""  # one sentence about the outcome

    @property
    def expected_seconds(self) -> float:
        """What candidates are ranked by: the bound, with a margin where another compiler might spill."""
        if self.bound_seconds is None:
            return self.predicted_seconds
        registers = 0 if self.resources is None else self.resources.registers or 0
        return self.bound_seconds * (MARGIN if registers > SAFE_REGISTERS else 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a worker process finds out about a candidate."""

    resources: Resources  # what the compiler says
    # of its machine code; None where it cannot be listed, or the family's steady loop is unknown
    steady: Steady | None = None
    unlisted: str = ""  # why the code cannot be listed, one sentence with a hint


def architecture(machine: Machine) -> str:
    """Return what the compiler is told for a machine."""
    if not machine.architecture:
        raise UsageError(
            f"the machine {machine.name!r} has no compute_capability, so its code cannot be screened",
            "add it to the machine file, such as 9.0",
        )
    return machine.architecture


def unscreened(machine: Machine) -> str:
    """Return why no compiler here makes code for a machine, one sentence with a hint; nothing where one does."""
    try:
        oldest = nvrtc.oldest_architecture()
    except ToolchainError as error:
        return str(error)
    target = architecture(machine)
    if int(target.removeprefix("sm_")) < oldest:
        return f"NVRTC {nvrtc.version()} makes code for sm_{oldest} and later, the machine is {target}"
    return ""


def screen(
    problem: Problem, tilings: Sequence[Tiling], machine: Machine, *, strict: bool = False
) -> tuple[Screened, ...]:
    """Compile candidates for a GPU in worker processes and rank them by the model; those that are dropped come last."""
    architecture(machine)  # the error that it raises is worth no worker
    compilable = [each for each in dict.fromkeys(tilings) if each.family.gpu]
    like = replace(problem, shape=(64,) * problem.program.rank, steps=2)
    with pool(min(available_cpus(), _MOST_WORKERS)) as processes:
        calls = [(like, tiling, machine, strict) for tiling in compilable]
        replies = processes.map(compile_candidate, calls, LIMIT_SECONDS)
    unlisted = next((reply.value.unlisted for reply in replies if reply.value and reply.value.unlisted), "")
    if unlisted:
        warn_once(f"candidates for {machine.name} are ranked without the bound by machine code: {unlisted}")
    pairs = zip(compilable, replies, strict=True)
    screened = [_verdict(problem, machine, tiling, reply) for tiling, reply in pairs]
    return tuple(sorted(screened, key=lambda each: (each.outcome is not None, each.expected_seconds)))


def compile_candidate(problem: Problem, tiling: Tiling, machine: Machine, strict: bool) -> Built:
    """Compile one candidate for a machine and read its machine code; what a worker process does."""
    schedule = gpu_schedule(problem, tiling)
    source = emit_device(problem, schedule, "cuda", strict=strict)
    code = nvrtc.compile_cuda(source.text, architecture(machine), strict=strict)
    needs = replace(code.resources, shared_bytes=source.shared_bytes)
    each = round_of(problem, schedule)
    capability = 0.0 if machine.compute_capability is None else machine.compute_capability.value
    if each is None or needs.registers is None or capability < OLDEST:
        return Built(resources=needs)
    try:
        listing = nvrtc.disassemble(code.cubin)
    except ToolchainError as error:
        return Built(resources=needs, unlisted=str(error))
    listed, registers = read(listing), needs.registers

    def follow(kernel: EntryPoint) -> Steady:
        block = Needs(threads=kernel.threads, registers=registers, shared_bytes=source.shared_bytes)
        return analyse(listed[kernel.entry], block, each, machine)

    # Without tiles a kernel per stage; of streaming tiles those behind the first compute what makes up no band.
    kernels = source.kernels if tiling.family.untiled else source.kernels[:1]
    return Built(resources=needs, steady=in_turn([follow(kernel) for kernel in kernels]))


def _verdict(problem: Problem, machine: Machine, tiling: Tiling, reply: Reply) -> Screened:
    verdict = Screened(tiling=tiling, predicted_seconds=float("inf"), outcome=reply.outcome, detail=reply.detail)
    if reply.value is None:
        return verdict
    needs = reply.value.resources
    verdict = replace(verdict, resources=needs, outcome=None)
    try:
        seconds = time_model.predict(problem, tiling, machine, resources=needs).seconds
    except TilewrightError as error:
        return replace(verdict, outcome=Outcome.LAUNCH, detail=error.message)
    result = _with_bound(problem, machine, reply.value, replace(verdict, predicted_seconds=seconds))
    limit = int((machine.block_shared_bytes or machine.shared_bytes).value)
    if (needs.shared_bytes or 0) > limit:
        detail = f"a group needs {needs.shared_bytes} bytes on chip, {machine.name} has {limit}"
        return replace(result, outcome=Outcome.LAUNCH, detail=detail)
    if needs.spill_bytes or needs.stack_bytes:
        detail = f"{needs.spill_bytes} bytes of spills and a stack of {needs.stack_bytes} bytes"
        return replace(result, outcome=Outcome.SPILLS, detail=detail)
    return result


def _with_bound(problem: Problem, machine: Machine, built: Built, verdict: Screened) -> Screened:
    demand = work(problem, gpu_schedule(problem, verdict.tiling))
    if built.steady is None or demand is None or not built.steady.blocks:
        return verdict
    limit = bound(built.steady, demand, machine)
    seconds = demand.launches * machine.launch_seconds.value + math.prod(problem.shape) * problem.steps / limit.updates
    return replace(verdict, bound=limit, bound_seconds=seconds)


def said(limit: Bound) -> str:
    """Say what a bound by machine code is made of."""
    return (
        f"{limit.instructions:.3g} instructions per useful update, {limit.branches:.2g} of them branches, "
        f"{limit.steady.warps} resident warps; {limit.updates / 1e9:.4g} GCells/s by {limit.binding}, "
        f"{limit.useful:.0%} of the updates useful, {limit.waves:.0%} of the waves full"
    )

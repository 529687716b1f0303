"""What a machine takes for the code of a program: seconds, bytes and sizes, whatever the tiling."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tilewright.base.constants import WORD
from tilewright.base.dtypes import arithmetic
from tilewright.base.errors import UsageError
from tilewright.base.facts import fact
from tilewright.costs.facts import Facts, Part
from tilewright.costs.operations import Operations, count_operations, hard_cycles, serial_cycles
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers, vector_units
from tilewright.machines.parameters import Quantity, estimated
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.identity import identity
from tilewright.programs.stencil.program import Program

SCOPES = ("device", "per_sm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What the models ask of a machine; of a GPU there is no more, and M_SM is a multiprocessor's shared memory."""

    sm_count: int  # n_SM
    vector_width: int  # values that one SM or core computes at once, n_V, for the problem's dtype
    word_seconds: float  # L, seconds per 4-byte word, as charged to a tile
    byte_seconds: float  # seconds per byte at the device's whole bandwidth
    barrier_seconds: float  # tau_sync; on a CPU the start-up of a box
    launch_seconds: float  # T_sync
    shared_bytes: int  # M_SM
    block_bytes: int  # what one tile may use of it
    max_tiles: int  # MTB_SM
    # C_iter of hexagonal and hybrid tiles; on a CPU, where one generator writes all tiles, of every family's
    c_iter: Quantity
    # C_iter of a GPU's other tiles, which nobody measured: what a paper measured is of its authors' hexagons
    other: Quantity
    swept: Quantity  # C_iter of a sweep without tiles, which blocks rows otherwise than tiles do on a CPU
    blocked: Quantity  # C_iter of rows blocked in registers, in streaming tiles on a CPU
    numbers: Numbers  # the machine's own


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRates(Rates):
    """A CPU: M_SM is a core's L2."""

    blocked_across: Quantity  # ``blocked`` where rows meet an end of the program's middle
    row_seconds: float  # start-up of one innermost row
    swept_row_seconds: float  # the same in a sweep without tiles
    swept_box_seconds: float  # start-up of a core's part of a sweep
    # what the end of a piece of such a row, but for the grid's ends, waits for per value that is updated in place: the
    # cut moves with every step, so that vectors read what two others have just stored, and wait for these to leave
    cut_seconds: float
    short_row_seconds: float  # what a vector of a short piece of a row takes longer per neighbour that it loads
    fetch_seconds: float  # what the first cells of a row wait for where they are not in M_SM
    cache_byte_seconds: float  # seconds per byte and core from M_SM
    outer_byte_seconds: float  # seconds per byte and core from L3, all cores active
    outer_bytes: int  # a core's part of L3; 0 where there is none, or none that is larger than M_SM
    l1_bytes: int  # L1 data cache per core
    serial_seconds: float  # seconds per cell and step of a recurrence, of rows that are computed in turn
    alone_seconds: float  # the same of a row alone
    core_byte_seconds: float  # seconds per byte at the bandwidth of a core alone
    advance_seconds: float  # start-up of one advance of one level of a streaming tile
    line_ratio: float  # time of lines between L1 and L2 in streaming tiles over what ``cache_byte_seconds`` says
    guessed: bool  # whether nobody has measured its speeds


def cpu_rates(facts: Facts, machine: Machine, scope: str = "per_sm") -> CpuRates:
    """Collect what a CPU takes for a problem's code."""
    program, dtype, clock = facts.problem.program, facts.problem.dtype, machine.clock.value
    divided = facts.divisions
    c_iter = _mean(divided.boxes, lambda each: iteration_seconds(each, machine, dtype))
    width = int(machine.vector_width.value) * WORD // arithmetic(dtype).itemsize
    return CpuRates(
        **_common(machine, scope),
        vector_width=max(1, width),
        barrier_seconds=start_seconds(program, machine, "box", dtype),
        c_iter=c_iter,
        other=c_iter,
        swept=_mean(divided.boxes, lambda each: swept_seconds(each, machine, dtype)),
        blocked=_mean(divided.rows, lambda each: blocked_seconds(each, machine, dtype)),
        blocked_across=_mean(divided.across, lambda each: blocked_seconds(each, machine, dtype)),
        row_seconds=start_seconds(program, machine, "row", dtype),
        swept_row_seconds=start_seconds(program, machine, "none row", dtype),
        swept_box_seconds=start_seconds(program, machine, "none box", dtype),
        cut_seconds=machine.inplace_cut_cycles.value / clock,
        short_row_seconds=machine.short_row_cycles.value / clock,
        fetch_seconds=machine.outer_latency.value / clock,
        cache_byte_seconds=1.0 / machine.cache_bandwidth.value if machine.cache_bandwidth else 0.0,
        outer_byte_seconds=1.0 / machine.outer_bandwidth.value if machine.outer_bandwidth else 0.0,
        outer_bytes=_outer_bytes(machine),
        l1_bytes=int(machine.l1_bytes.value) if machine.l1_bytes else 0,
        serial_seconds=serial_cycles(facts.problem, machine) / clock if program.analysis.sweep else 0.0,
        alone_seconds=serial_cycles(facts.problem, machine, alone=True) / clock if program.analysis.sweep else 0.0,
        core_byte_seconds=1.0 / (machine.core_bandwidth or machine.dram_bandwidth).value,
        advance_seconds=machine.advance_seconds.value if machine.advance_seconds else 0.0,
        line_ratio=machine.line_ratio.value if machine.line_ratio else 1.0,
        guessed=machine.dram_bandwidth.source == "estimated",
    )


def gpu_rates(facts: Facts, machine: Machine, scope: str = "device") -> Rates:
    """Collect what a GPU takes for a problem's code."""
    program, dtype = facts.problem.program, facts.problem.dtype
    return Rates(
        **_common(machine, scope),
        vector_width=int(machine.vector_width.value),
        barrier_seconds=start_seconds(program, machine, "box", dtype),
        c_iter=iteration_seconds(program, machine, dtype),
        other=estimated_seconds(program, machine, dtype),
        swept=swept_seconds(program, machine, dtype),
        blocked=blocked_seconds(program, machine, dtype),
    )


def _common(machine: Machine, scope: str) -> dict[str, Any]:
    """What both kinds of machine are asked for and no program changes."""
    if scope not in SCOPES:
        raise UsageError(f"the scope of the bandwidth is one of {', '.join(SCOPES)}, got {scope!r}")
    sm_count, byte_seconds = int(machine.sm_count.value), 1.0 / machine.dram_bandwidth.value
    return {
        "sm_count": sm_count,
        # ``device`` charges every tile the device-wide rate, as the papers print it; ``per_sm`` n_SM times as much,
        # since n_SM tiles share the bus
        "word_seconds": WORD / machine.dram_bandwidth.value * (sm_count if scope == "per_sm" else 1),
        "byte_seconds": byte_seconds,
        "launch_seconds": machine.launch_seconds.value,
        "shared_bytes": int(machine.shared_bytes.value),
        "block_bytes": int((machine.block_shared_bytes or machine.shared_bytes).value),
        "max_tiles": int(machine.max_blocks.value) if machine.max_blocks else 1,
        "numbers": Numbers(machine),
    }


def _mean(parts: tuple[Part, ...], of: Callable[[Program], Quantity]) -> Quantity:
    quantities = [(each.share, of(each.program)) for each in parts]
    if len(quantities) == 1:
        return quantities[0][1]

    def total(end: str) -> float:
        return sum(share * quantity.end(end) for share, quantity in quantities)

    share, last = quantities[-1]
    note = f"{last.note} in {share:.0%} of the cells, the mean with others"
    return replace(last, value=total("value"), note=note, low=total("low"), high=total("high"))


def _outer_bytes(machine: Machine) -> int:
    """A core's part of L3, 0 where it is no larger than M_SM or its bandwidth is unknown."""
    if machine.l3_bytes is None or machine.outer_bandwidth is None:
        return 0
    part = int(machine.l3_bytes.value / machine.sm_count.value)
    return part if part > machine.shared_bytes.value else 0


def entry_name(program: Program, machine: Machine) -> str:
    """Return the name under which a machine's file has what was measured of a program: that of the same expression."""
    names = tuple(dict.fromkeys(key.partition(" ")[0] for key, _ in machine.c_iter))
    return next(iter(_entries(program, names)), program.name)


@fact
def _entries(program: Program, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the names in a file that are of programs of the catalogue which compute the same as this one."""
    listed = catalogue.names()
    return tuple(each for each in names if each in listed and identity(catalogue.program(each)) == identity(program))


def _measured(program: Program, machine: Machine, dtype: str, what: str = "") -> Quantity | None:
    """What a machine's file has of an expression in float32."""
    if dtype != "float32" or not machine.c_iter:
        return None
    return machine.iteration_seconds(entry_name(program, machine), what)


def iteration_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return C_iter: seconds per loop-body iteration of one vector unit, its data being on chip."""
    # Where the machine file gives it for this very expression in float32, that value. Else an estimate, see
    # :func:`estimated_seconds`.
    measured = _measured(program, machine, dtype)
    return estimated_seconds(program, machine, dtype) if measured is None else measured


def estimated_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return an estimate of C_iter: loop overhead, cycles per operation, root, load and store, over the clock."""
    count = _operations(program, dtype)
    accesses = program.loads + len(program.statements)
    if machine.kind == "cpu":
        accesses += max(0, program.loads - _held_weights(machine))
    # A CPU's vectors hold half as many float64; a GPU's lanes take longer over them.
    slower = 1.0 / machine.fp64_ratio.value if dtype == "float64" and machine.kind == "gpu" else 1.0
    loop = machine.of_rank("loop_cycles", program.rank)

    def seconds(end: str) -> float:
        work = count.plain * machine.flop_cycles.end(end) + hard_cycles(count, machine, end)
        return (slower * work + accesses * machine.load_cycles.end(end) + loop.end(end)) / machine.clock.value

    return estimated(seconds, "s", f"from {count.all} operations and {accesses} loads and stores per cell")


def swept_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return C_iter of a sweep without tiles: what the machine file gives for this expression, else from C_iter."""
    # On a GPU that is the estimate: C_iter of a machine's file is of hexagons there.
    measured = _measured(program, machine, dtype, "none")
    if measured is not None:
        return measured
    plain = (iteration_seconds if machine.kind == "cpu" else estimated_seconds)(program, machine, dtype)
    if machine.swept_ratio is None:
        return plain
    value = machine.swept_ratio.value * plain.value
    return Quantity(value=value, unit="s", source="estimated", note=f"C_iter times {machine.swept_ratio.value:.2f}")


def start_seconds(program: Program, machine: Machine, what: str, dtype: str = "float32") -> float:
    """Return the start-up of a row or of a box: what the machine file gives for this expression, else the machine's."""
    # ``row`` or ``box`` of tiles, ``none row`` or ``none box`` of sweeps without tiles
    measured = _measured(program, machine, dtype, what)
    if measured is None:
        measured = machine.row_seconds if what.endswith("row") else machine.barrier_seconds
    return measured.value if measured else 0.0


def blocked_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return C_iter where rows are blocked in registers, as in streaming tiles."""
    # Where the machine file gives it for this very expression in float32, that value. Else an estimate: divisions and
    # roots take as long as ever; of everything else the vectors that several rows share are in registers, so that it
    # goes with the operations. Machine files that do not say how long these take have a ratio to C_iter.
    measured = _measured(program, machine, dtype, "streaming")
    if measured is not None:
        return measured
    count = _operations(program, dtype)
    hard = hard_cycles(count, machine)
    if machine.blocked_cycles is not None:
        note = f"from {count.all} operations in registers"
        seconds = (hard + count.plain * machine.blocked_cycles.value) / machine.clock.value
        return Quantity(value=seconds, unit="s", source="estimated", note=note)
    plain = iteration_seconds(program, machine, dtype)
    ratio = machine.blocked_ratio.value if machine.blocked_ratio else 1.0
    all_cycles = hard + count.plain * machine.flop_cycles.value + machine.of_rank("loop_cycles", program.rank).value
    all_cycles += (program.loads + len(program.statements)) * machine.load_cycles.value
    share = hard / all_cycles + (1.0 - hard / all_cycles) * ratio
    return Quantity(value=share * plain.value, unit="s", source="estimated", note=f"C_iter times {share:.2f}")


def _held_weights(machine: Machine) -> int:
    """Weights of a sum that stay in a CPU's registers, 32 of 64 bytes or 16: others are loaded with every value."""
    # Boxes of 25 to 125 reads take 1.3 to 1.9 times as long as their reads alone say, and 1.05 to 1.2 times as this
    # does.
    return vector_units(machine).registers - 12


def operation_cycles(program: Program, machine: Machine, seconds: float) -> float:
    """Return the cycles per plain operation if a vector of a program takes so long; its divisions and roots aside."""
    count = _operations(program, "float32")
    return max(0.0, seconds * machine.clock.value - hard_cycles(count, machine)) / max(1, count.plain)


@fact
def _operations(program: Program, dtype: str) -> Operations:
    return sum((count_operations(statement.tape, dtype) for statement in program.statements), Operations())

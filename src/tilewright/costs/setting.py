"""The scalars of the time model for one problem on one machine, and C_iter."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.base.constants import WORD
from tilewright.base.dtypes import arithmetic
from tilewright.base.errors import UsageError
from tilewright.base.facts import fact
from tilewright.costs import regions
from tilewright.costs.coefficients import CpuCoefficients, coefficients
from tilewright.costs.energy.price import EnergyRule, make_energy
from tilewright.costs.hardware import Hardware, hardware
from tilewright.costs.history import bulk, further_versions, of_program, state_bytes
from tilewright.costs.operations import Operations, count_operations, hard_cycles, serial_cycles
from tilewright.costs.reuse import Uses, uses
from tilewright.machines.machine import Machine, Quantity
from tilewright.machines.vectors import vector_units
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.identity import identity
from tilewright.programs.stencil.problem import GPU_COMPILED, MAX_TILED_RANK, Problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.families import streaming
from tilewright.schedules.families.streaming import TileGrowth
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.levels import of_problem

SCOPES = ("device", "per_sm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a problem and a machine bring into the time model."""

    problem: Problem
    shape: tuple[int, ...]  # extents S_1, S_2, S_3
    steps: int  # time steps T
    # slope of the tiles per axis and logical step: the dependences' reach to the wider side on the hexagon's axis, to
    # the right on the others
    slopes: tuple[int, ...]
    sides: tuple[tuple[int, int], ...]  # per axis, the dependences' reach to the left and to the right per logical step
    stages: int  # logical steps per time step
    copies: int  # values kept per cell, over all fields and time levels
    levels: int  # updated values that the next step reads per cell: one per updated field and time level
    history: int  # versions that the next step reads of the field of which it reads most
    fields: int  # fields that are updated
    constants: int  # fields that are read but never updated
    reads: int  # values read per cell and step by the sweeps of all statements, each of which goes over its fields anew
    # per axis, how often these are read again at further places along it, where nothing holds them between
    further: tuple[int, ...]
    again: int  # the same along axis 0 for the planes of tiles in 3D, of which two may be computed together
    writes: int  # values written per cell and step, one per statement
    fetches: int  # those of them whose lines are fetched only to be overwritten: what is updated in place has been read
    itemsize: int  # bytes per value
    flops: int  # operations per cell and step
    sm_count: int  # n_SM
    vector_width: int  # values that one SM or core computes at once, n_V, for the problem's dtype
    word_seconds: float  # L, seconds per 4-byte word, as charged to a tile
    byte_seconds: float  # seconds per byte at the device's whole bandwidth
    barrier_seconds: float  # tau_sync
    launch_seconds: float  # T_sync
    row_seconds: float  # start-up of one innermost row on a CPU
    swept_row_seconds: float  # the same in a sweep without tiles
    swept_box_seconds: float  # start-up of a core's part of a sweep on a CPU
    # what the end of a piece of such a row, but for the grid's ends, waits for where it updates in place: the cut moves
    # with every step, so that vectors read what two others have just stored, and wait for the stores to leave the core
    cut_seconds: float
    # what vectors of a short piece of a row take longer on a CPU, all statements together: their neighbours are loaded
    short_row_seconds: float
    fetch_seconds: float  # what the first cells of a row wait for on a CPU where they are not in M_SM
    cache_byte_seconds: float  # seconds per byte and core from M_SM on a CPU
    outer_byte_seconds: float  # seconds per byte and core from L3 on a CPU, all cores active
    outer_bytes: int  # a core's part of L3; 0 where there is none, or none that is larger than M_SM
    l1_bytes: int  # L1 data cache per core of a CPU
    shared_bytes: int  # M_SM
    block_bytes: int  # what one tile may use of it
    max_tiles: int  # MTB_SM
    # C_iter of hexagonal and hybrid tiles; on a CPU, where one generator writes all tiles, of every family's
    c_iter: Quantity
    # C_iter of a GPU's other tiles, which nobody measured: what a paper measured is of its authors' hexagons
    other: Quantity
    swept: Quantity  # C_iter of a sweep without tiles, which blocks rows otherwise than tiles do on a CPU
    serial_seconds: float  # seconds per cell and step of a recurrence on a CPU
    core_byte_seconds: float  # seconds per byte at the bandwidth of a core alone, on a CPU
    blocked: Quantity  # C_iter of rows blocked in registers, in streaming tiles on a CPU
    blocked_across: Quantity  # the same where rows meet an end of the program's middle
    row_ends: int  # at how many places along a row there is one
    advance_seconds: float  # start-up of one advance of one level of a streaming tile
    line_ratio: float  # time of lines between L1 and L2 in streaming tiles over what ``cache_byte_seconds`` says
    cpu: bool  # whether the machine is a CPU with caches
    coefficients: CpuCoefficients
    # the energy model of the problem on the machine; None where no energy is asked for
    energy: EnergyRule | None = None
    stream: TileGrowth | None = None  # how streaming tiles of the problem grow, on a CPU
    reuse: Uses | None = None  # what lies between two uses of a row in them
    block: stream_block.BlockGrowth | None = None  # how streaming tiles of the problem grow in thread blocks, on a GPU
    gpu: Hardware | None = None  # the GPU's own numbers
    guessed: bool = False  # whether the machine is a CPU whose speeds nobody has measured
    points: int = 0  # cells that sources are added to, or receivers record, in a step
    versions: int = 0  # values per cell that are kept or read besides ``copies``: states of a band of a gradient
    storage: Storage = PLAIN  # where the fields' versions and cells lie
    state_bytes: int = 0  # bytes per cell and step in which these travel to or from where they are kept
    state_fills: int = 0  # lines of them among ``reads`` and ``fetches``

    @property
    def updated(self) -> int:
        """Values written per cell and step: at least one per updated field."""
        return max(1, self.copies - self.levels - self.constants)

    @property
    def cells(self) -> int:
        """Cells of the grid."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total


def make_setting(problem: Problem, machine: Machine, scope: str | None = None, *, storage: Storage = PLAIN) -> Setting:
    """Collect the scalars of the time model."""
    cpu = machine.kind == "cpu"
    if not cpu and problem.dtype not in GPU_COMPILED:
        raise UsageError(
            f"GPU backends compute in {', '.join(GPU_COMPILED)}, got {problem.dtype}", "ask for a CPU, such as host"
        )
    if not cpu and problem.program.rank > MAX_TILED_RANK:
        raise UsageError(
            f"GPU backends compute in 1 to {MAX_TILED_RANK} dimensions, got {problem.program.rank}",
            "ask for a CPU, such as host",
        )
    problem = bulk(problem)
    storage = of_program(storage, problem.program)
    # ``device`` charges every tile the device-wide rate, as the papers print it; ``per_sm`` n_SM times as much, since
    # n_SM tiles share the bus.
    scope = scope or ("per_sm" if cpu else "device")
    if scope not in SCOPES:
        raise UsageError(f"the scope of the bandwidth is one of {', '.join(SCOPES)}, got {scope!r}")
    program, analysis = problem.program, problem.program.analysis
    sm_count = int(machine.sm_count.value)
    width = int(machine.vector_width.value)
    reach = slopes(problem)
    word = WORD / machine.dram_bandwidth.value
    parts = storage.subdomains
    some = regions.parts(problem, parts) if cpu else (regions.Part(share=1.0, program=program),)
    rows, across = (regions.parts(problem, parts, across=each) if cpu else some for each in (False, True))
    count = regions.counts(problem, some)
    waits = (count.writes - count.fetches) * machine.inplace_cut_cycles.value / machine.clock.value if cpu else 0.0
    streams = cpu and not storage.states and streaming.FAMILY.applies(problem)
    stream = streaming.block_growth(problem) if streams else None
    c_iter = _mean(some, lambda each: iteration_seconds(each, machine, problem.dtype))
    return Setting(
        problem=problem,
        points=problem.points.cells,
        storage=storage,
        versions=further_versions(problem, storage),
        state_bytes=state_bytes(problem, storage),
        state_fills=len(storage.series),
        shape=problem.shape,
        steps=problem.steps,
        slopes=(reach[0].widest, *(slope.right for slope in reach[1:])),
        sides=tuple((slope.left, slope.right) for slope in reach),
        stages=len(analysis.stages),
        copies=count.copies,
        levels=count.levels,
        history=max(program.history(field) for field in program.updated),
        fields=count.fields,
        constants=count.constants,
        reads=count.reads,
        further=count.further,
        again=count.again,
        writes=count.writes,
        fetches=count.fetches,
        itemsize=problem.itemsize,
        flops=count.flops,
        sm_count=sm_count,
        vector_width=max(1, width * WORD // arithmetic(problem.dtype).itemsize) if cpu else width,
        word_seconds=word * (sm_count if scope == "per_sm" else 1),
        byte_seconds=1.0 / machine.dram_bandwidth.value,
        barrier_seconds=start_seconds(program, machine, "box", problem.dtype),
        launch_seconds=machine.launch_seconds.value,
        row_seconds=start_seconds(program, machine, "row", problem.dtype),
        swept_row_seconds=start_seconds(program, machine, "none row", problem.dtype),
        swept_box_seconds=start_seconds(program, machine, "none box", problem.dtype),
        cut_seconds=waits / len(analysis.stages),
        short_row_seconds=count.further[-1] * machine.short_row_cycles.value / machine.clock.value if cpu else 0.0,
        fetch_seconds=machine.outer_latency.value / machine.clock.value if cpu else 0.0,
        cache_byte_seconds=1.0 / machine.cache_bandwidth.value if machine.cache_bandwidth else 0.0,
        outer_byte_seconds=1.0 / machine.outer_bandwidth.value if machine.outer_bandwidth else 0.0,
        outer_bytes=_outer_bytes(machine) if cpu else 0,
        l1_bytes=int(machine.l1_bytes.value) if machine.l1_bytes else 0,
        shared_bytes=int(machine.shared_bytes.value),
        block_bytes=int((machine.block_shared_bytes or machine.shared_bytes).value),
        max_tiles=int(machine.max_blocks.value) if machine.max_blocks else 1,
        c_iter=c_iter,
        other=c_iter if cpu else estimated_seconds(program, machine, problem.dtype),
        swept=_mean(some, lambda each: swept_seconds(each, machine, problem.dtype)),
        serial_seconds=serial_cycles(program, machine, problem.dtype) / machine.clock.value if analysis.sweep else 0.0,
        core_byte_seconds=1.0 / (machine.core_bandwidth or machine.dram_bandwidth).value,
        blocked=_mean(rows, lambda each: blocked_seconds(each, machine, problem.dtype)),
        blocked_across=_mean(across, lambda each: blocked_seconds(each, machine, problem.dtype)),
        row_ends=regions.row_ends(problem, parts) if cpu else 0,
        advance_seconds=machine.advance_seconds.value if machine.advance_seconds else 0.0,
        line_ratio=machine.line_ratio.value if machine.line_ratio else 1.0,
        cpu=cpu,
        coefficients=coefficients(machine),
        energy=make_energy(problem, machine),
        stream=stream,
        reuse=None if stream is None else uses(program, of_problem(problem), stream.rows),
        gpu=None if cpu else hardware(machine, int((machine.block_shared_bytes or machine.shared_bytes).value)),
        block=stream_block.block_growth(problem) if not cpu and streaming.FAMILY.applies(problem, gpu=True) else None,
        guessed=cpu and machine.dram_bandwidth.source == "estimated",
    )


def _mean(some: tuple[regions.Part, ...], of: Callable[[Program], Quantity]) -> Quantity:
    """Return the mean of what programs take over the cells that each computes."""
    found = [(each.share, of(each.program)) for each in some]
    if len(found) == 1:
        return found[0][1]

    def total(one: Callable[[Quantity], float | None]) -> float:
        return sum(share * (quantity.value if (value := one(quantity)) is None else value) for share, quantity in found)

    return replace(
        found[-1][1],
        value=total(lambda each: each.value),
        note=f"{found[-1][1].note} in {found[-1][0]:.0%} of the cells, the mean with others",
        low=total(lambda each: each.low),
        high=total(lambda each: each.high),
    )


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
    known = set(names) & set(catalogue.names())
    return tuple(name for name in names if name in known and identity(catalogue.program(name)) == identity(program))


def _measured(program: Program, machine: Machine, dtype: str, what: str = "") -> Quantity | None:
    """What a machine's file has of an expression in float32."""
    if dtype != "float32" or not machine.c_iter:
        return None
    return machine.iteration_seconds(entry_name(program, machine), what)


def iteration_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return C_iter: seconds per loop-body iteration of one vector unit, its data being on chip.

    Where the machine file gives it for this very expression in float32, that value. Else an estimate, see
    :func:`estimated_seconds`.
    """
    known = _measured(program, machine, dtype)
    return estimated_seconds(program, machine, dtype) if known is None else known


def estimated_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return an estimate of C_iter: loop overhead, cycles per operation, root, load and store, over the clock."""
    count = _operations(program, dtype)
    accesses = program.loads + len(program.statements)
    if machine.kind == "cpu":
        accesses += max(0, program.loads - _held_weights(machine))
    # A CPU's vectors hold half as many float64; a GPU's lanes take longer over them.
    slower = 1.0 / machine.fp64_ratio.value if dtype == "float64" and machine.kind == "gpu" else 1.0
    loop = machine.of_rank("loop_cycles", program.rank)

    def seconds(of: Callable[[Quantity], float]) -> float:
        work = count.plain * of(machine.flop_cycles) + hard_cycles(count, machine, of)
        return (slower * work + accesses * of(machine.load_cycles) + of(loop)) / machine.clock.value

    return Quantity(
        value=seconds(lambda part: part.value),
        unit="s",
        source="estimated",
        note=f"from {count.all} operations and {accesses} loads and stores per cell",
        low=seconds(lambda part: part.value if part.low is None else part.low),
        high=seconds(lambda part: part.value if part.high is None else part.high),
    )


def swept_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return C_iter of a sweep without tiles: what the machine file gives for this very expression, else from C_iter.

    On a GPU that is the estimate: C_iter of a machine's file is of hexagons there.
    """
    known = _measured(program, machine, dtype, "none")
    if known is not None:
        return known
    plain = (iteration_seconds if machine.kind == "cpu" else estimated_seconds)(program, machine, dtype)
    if machine.swept_ratio is None:
        return plain
    value = machine.swept_ratio.value * plain.value
    return Quantity(value=value, unit="s", source="estimated", note=f"C_iter times {machine.swept_ratio.value:.2f}")


def start_seconds(program: Program, machine: Machine, what: str, dtype: str = "float32") -> float:
    """Return the start-up of a row or of a box: what the machine file gives for this expression, else the machine's."""
    # ``row`` or ``box`` of tiles, ``none row`` or ``none box`` of sweeps without tiles
    known = _measured(program, machine, dtype, what)
    if known is None:
        known = machine.row_seconds if what.endswith("row") else machine.barrier_seconds
    return known.value if known else 0.0


def blocked_seconds(program: Program, machine: Machine, dtype: str = "float32") -> Quantity:
    """Return C_iter where rows are blocked in registers, as in streaming tiles.

    Where the machine file gives it for this very expression in float32, that value. Else an estimate:
    divisions and roots take as long as ever; of everything else the vectors that several rows share are in registers,
    so that it goes with the operations. Machine files that do not say how long these take have a ratio to C_iter.
    """
    known = _measured(program, machine, dtype, "streaming")
    if known is not None:
        return known
    count = _operations(program, dtype)
    hard = hard_cycles(count, machine)
    if machine.blocked_cycles is not None:
        note = f"from {count.all} operations in registers"
        seconds = (hard + count.plain * machine.blocked_cycles.value) / machine.clock.value
        return Quantity(value=seconds, unit="s", source="estimated", note=note)
    plain = iteration_seconds(program, machine, dtype)
    ratio = machine.blocked_ratio.value if machine.blocked_ratio else 1.0
    every = hard + count.plain * machine.flop_cycles.value + machine.of_rank("loop_cycles", program.rank).value
    every += (program.loads + len(program.statements)) * machine.load_cycles.value
    share = hard / every + (1.0 - hard / every) * ratio
    return Quantity(value=share * plain.value, unit="s", source="estimated", note=f"C_iter times {share:.2f}")


def _held_weights(machine: Machine) -> int:
    """Weights of a sum that stay in a CPU's registers, 32 of 64 bytes or 16: others are loaded with every value.

    Boxes of 25 to 125 reads take 1.3 to 1.9 times as long as their reads alone say, and 1.05 to 1.2 times as this does.
    """
    return vector_units(machine).registers - 12


def operation_cycles(program: Program, machine: Machine, seconds: float) -> float:
    """Return the cycles per plain operation if a vector of a program takes so long; its divisions and roots aside."""
    count = _operations(program, "float32")
    return max(0.0, seconds * machine.clock.value - hard_cycles(count, machine)) / max(1, count.plain)


@fact
def _operations(program: Program, dtype: str) -> Operations:
    """Count the operations of one cell and step."""
    return sum((count_operations(statement.tape, dtype) for statement in program.statements), Operations())

"""The exact model with thread blocks: what the time model leaves out, for choosing tiles and thread shapes on a GPU.

The time model (Prajapati et al., PPoPP 2017) charges computation and transfers of a tile and knows no threads. Here the
busiest multiprocessor runs q blocks per wavefront, c of them together. In the time of one tile each, the c blocks

- wait for *latency*: every thread's own chain of instructions, barriers and copies, whatever the others do,
- share the *issue* slots, the supply of instructions and the access ports of their multiprocessor,
- share the *memory*: their part of the device's DRAM and L2 bandwidth.

The second and the third add up, since blocks that start together stay in step, and their sum combines with the first
by :attr:`GpuConstants.overlap`. Little's law in short: few warps are bound by the first, many by the others (Volkov,
Better performance at lower occupancy, 2010). Every term can be switched off (:data:`TERMS`).
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.constants import WARP, WORD
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.facts import Facts
from tilewright.costs.gpu import blocks, terms
from tilewright.costs.rates import Rates
from tilewright.costs.work import hexagonal
from tilewright.costs.work.threads import CodeCounts, Flags, Threads, ThreadWork, body, count
from tilewright.costs.work.tiles import BlockWork
from tilewright.machines.numbers import Numbers
from tilewright.programs.stencil.program import Program

IN_LOOPS = 2.0
"""Cycles of the path to shared memory over those of a tile's accesses at least: the simulation of machine code
(:mod:`tilewright.costs.machine_code.bound`) shows 1.3 to 2.0 for sm_90."""
_LINE_WORDS = 32
_SECTOR_WORDS = 8
_L1_WAYS = 4  # ways of L1, timing: rows further apart than a way lie in sets by chance, since higher bits are hashed
_THREADS, _MOST_THREADS = 128, 256
"""Threads that a block of 2D tiles has about by default, and those that any has at most."""
PARTS = ("latency", "issue", "access", "dram", "l2", "launch")
"""What can bind: a thread's own chain, issue slots, access ports, DRAM, L2, kernel calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingBatch:
    """Tilings of one problem with everything that does not depend on a machine's speed or on constants."""

    program: Program
    facts: Facts
    sizes: TileSizes  # shape (n,)
    threads: Threads  # threads per axis, outermost first; each of shape (n,)
    work: ThreadWork  # what their code does per tile

    def take(self, index: Ints | Flags) -> "TilingBatch":
        """Return the case with some of its tilings."""
        names = ThreadWork.__slots__
        work = ThreadWork(**{name: getattr(self.work, name)[index] for name in names})
        threads = tuple(axis[index] for axis in self.threads)
        return replace(self, sizes=self.sizes.take(index), threads=threads, work=work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The time of n tilings and what it is made of; arrays of shape (n,), times in seconds."""

    seconds: Floats  # predicted time
    latency: Floats  # the part that a single block would take if issue and memory cost nothing
    issue: Floats  # the part that the issue slots alone would take, or the supply of instructions where that is slower
    access: Floats  # the part that the ports of shared memory and L1 alone would take
    dram: Floats  # the part that DRAM alone would take
    l2: Floats  # the part that L2 alone would take
    launch: Floats  # kernel calls
    resident: Ints  # blocks together on a multiprocessor
    registers: Floats  # registers per thread, estimated
    spilled: Floats  # values per thread that do not fit into registers
    shared: Flags  # whether tiles live in shared memory
    waves: Floats  # turns of the busiest multiprocessor over those of an even share: 1 without loss
    boundary: Floats  # share of the time that tiles cut by a boundary add
    shares: Mapping[str, Floats]  # the time by what it is for, in seconds that add up

    def bound_by(self, index: int) -> str:
        """Name the largest part of one tiling."""
        return max(PARTS, key=lambda name: float(getattr(self, name)[index]))

    def to_dict(self, index: int) -> dict[str, object]:
        """Return one tiling's terms as plain data, the binding one named."""
        plain = {name: getattr(self, name)[index].item() for name in self.__slots__ if name != "shares"}
        return {**plain, "bound_by": self.bound_by(index)}


def make_case(program: Program, sizes: TileSizes, threads: Threads, facts: Facts) -> TilingBatch:
    """Count what the tilings' code does."""
    rank = len(facts.shape)
    if rank < 2 or len(sizes.space) != rank or len(threads) != rank:
        raise UsageError(f"thread blocks need a hybrid tile and threads along each of {rank} axes (two or more)")
    work = count(program, sizes, threads, facts)
    return TilingBatch(program=program, facts=facts, sizes=sizes, threads=threads, work=work)


def case_of(sizes: TileSizes, facts: Facts) -> TilingBatch:
    """Count what the code of tilings does; where threads are left open, by those that it takes by itself."""
    return make_case(facts.problem.program, sizes, sizes.threads or default_threads(sizes.space), facts)


def evaluate(
    case: TilingBatch,
    gpu: Numbers,
    constants: terms.GpuConstants | None = None,
    off: Collection[str] = (),
    compiled: terms.CompiledCounts | None = None,
) -> Terms:
    """Predict the time of every tiling."""
    unknown = sorted(set(off) - set(terms.TERMS))
    if unknown:
        raise UsageError(f"the terms are {', '.join(terms.TERMS)}, got {unknown[0]!r}")
    fitted = constants or terms.GpuConstants()
    resident = terms.residency(case.work, gpu, case.facts, fitted, off, compiled)
    k = case.sizes.k
    resident = replace(resident, blocks=np.where(k > 0, np.minimum(resident.blocks, k), resident.blocks))
    fronts = hexagonal.tiles_per_wavefront(case.sizes, case.facts)
    blocks = np.maximum(*fronts)
    queue = ceil_div(blocks, gpu.sm_count)
    together = np.minimum(resident.blocks, queue)
    model = _Model(case=case, gpu=gpu, constants=fitted, resident=resident, off=frozenset(off))
    scale, boundary, launches = _tiles(case, fitted, off)
    total = {name: cycles * scale / gpu.clock for name, cycles in _front(model, blocks, queue, together).items()}
    launch = launches * gpu.launch_seconds
    even = blocks / gpu.sm_count / together
    whole, busy, memory = total.pop("all"), total.pop("busy"), total.pop("memory")
    return Terms(
        seconds=whole + launch,
        shares={
            "arithmetic": total["issue"],
            "on-chip memory": busy - total["issue"],
            "latency": whole - busy - memory,
            "transfers": memory,
            "synchronisation": launch,
        },
        **total,
        launch=launch,
        resident=np.asarray(np.ceil(together), dtype=np.int64),
        registers=resident.registers,
        spilled=resident.spilled,
        shared=resident.shared,
        waves=np.ceil(queue / together) / even,
        boundary=boundary,
    )


def timed(
    work: BlockWork, sizes: TileSizes, facts: Facts, rates: Rates, compiled: terms.CompiledCounts | None
) -> Breakdown:
    """Evaluate whole tiles as blocks of threads, which the equations of tiles alone leave open."""
    timing = evaluate(case_of(sizes, facts), rates.numbers, compiled=compiled)
    queue = ceil_div(work.width, rates.sm_count) * work.fronts.count
    each = np.maximum(1, queue * work.count)
    # The model is of another compiler's code. Ours goes through loops, every cell of which reads all that it needs.
    cell = body(facts.problem.program)
    accesses = (cell.reads + cell.stores) * facts.itemsize / WORD / WARP / rates.numbers.clock
    least = IN_LOOPS * each * work.points / facts.stages * accesses
    waits = np.maximum(0.0, least - (timing.seconds - timing.launch))
    held = blocks.resident(np.zeros_like(sizes.k), blocks.shared_bytes(work, facts), rates)
    fits = (held > 0) & (sizes.k <= np.maximum(held, timing.resident))
    return blocks.whole_tiles(
        work,
        facts,
        tiles_per_sm=np.where(fits, timing.resident, 0),
        io_seconds=np.maximum(timing.dram, timing.l2) / each,
        compute_seconds=np.maximum(timing.issue, timing.access) / each,
        prism_seconds=(timing.seconds - timing.launch + waits) / np.maximum(1, queue),
        terms={
            **timing.shares,
            "arithmetic": np.where(fits, timing.shares["arithmetic"], np.inf),
            "on-chip memory": timing.shares["on-chip memory"] + waits,
        },
        parts={name: np.asarray(getattr(timing, name)) for name in PARTS},
    )


def least_seconds(program: Program, sizes: TileSizes, facts: Facts, gpu: Numbers) -> Floats:
    """Return a time below which no thread shape brings a tile, by the terms of :func:`evaluate`.

    Every wave takes ``(a^p + (b + c)^p)^(1/p)`` of its latency, issue and memory, and the sum of such norms is at least
    the norm of the sums (Minkowski). In the sums threads cancel, or stand with the most that a multiprocessor holds:

    - every tile's bytes go through DRAM and, from shared memory, through L2 once;
    - every point is issued once, with one read per column that it reads, in a warp of which no lane is idle;
    - of so many blocks per multiprocessor as many turns as the smallest blocks take wait for their rows, and as many as
      blocks that fill it take wait for their own instructions.
    """
    fitted = terms.GpuConstants()
    case = make_case(program, sizes, tuple(np.ones_like(sizes.time) for _ in sizes.space), facts)
    resident = terms.residency(case.work, gpu, facts, fitted)
    cycles = _Model(case=case, gpu=gpu, constants=fitted, resident=resident, off=frozenset()).least()
    scale, _, launches = _tiles(case, fitted, ())
    return np.asarray(cycles * scale / gpu.clock + launches * gpu.launch_seconds)


def ideal_seconds(program: Program, facts: Facts, gpu: Numbers) -> float:
    """Return the time of issuing every point's instructions with no lane idle, and of nothing else: a lower bound."""
    fitted = terms.GpuConstants()
    slots = _point_slots(program, facts, gpu, fitted) * fitted.issue / gpu.schedulers / WARP
    return facts.cells * facts.steps * slots / (gpu.sm_count * gpu.clock)


def _point_slots(program: Program, facts: Facts, gpu: Numbers, fitted: terms.GpuConstants) -> float:
    """Instructions of a point at least: its arithmetic, an address, its stores, and a read per column."""
    operations = body(program)
    arithmetic = operations.arithmetic * terms.double_cost(facts, gpu)
    return arithmetic + min(fitted.plain_slots, fitted.guarded_slots) + operations.stores + len(operations.columns)


def default_threads(space: Threads) -> Threads:
    """Return the threads that the code of hybrid tiles takes where none are given.

    They are whole warps along rows, as long as the tile's where they may be, and no more than compute.

    >>> [int(count[0]) for count in default_threads(tuple(np.array([size]) for size in (3, 100)))]
    [1, 96]
    """
    inner = np.clip(space[-1] // WARP * WARP, WARP, _MOST_THREADS)
    if len(space) == 2:
        return (np.maximum(1, _THREADS // inner), inner)
    return (np.ones_like(inner), np.clip(space[1], 1, np.maximum(1, _MOST_THREADS // inner)), inner)


def _front(model: "_Model", blocks: Ints, queue: Ints, together: Ints) -> dict[str, Floats]:
    """Return the cycles of a wavefront in which every block has one tile: whole waves and the last, partial one."""
    # A partial wave shares bandwidths among its own blocks only. Blocks fall out of step, and those of the last wave
    # start as others end: the share :attr:`GpuConstants.drift` of the rounding to whole waves is not felt.
    sms = model.gpu.sm_count
    turns = np.floor(queue / together)
    left = queue - turns * together
    busy = np.clip((blocks - turns * together * sms) / np.maximum(left, 1), 1.0, sms)
    block = model.block()
    whole, last = model.cycles(block, together, np.minimum(1.0 * blocks, sms)), model.cycles(block, left, busy)
    even = np.maximum(1.0, blocks / sms / together)
    drift = 1.0 if "partial_waves" in model.off else model.constants.drift
    return {
        name: np.asarray((1.0 - drift) * (turns * whole[name] + last[name]) + drift * even * whole[name])
        for name in whole
    }


def _tiles(case: TilingBatch, fitted: terms.GpuConstants, off: Collection[str]) -> tuple[Floats, Floats, Floats]:
    """Return the whole tiles per block that all wavefronts are worth, the boundary's share of them, and launches."""
    facts, sizes, rows = case.facts, case.sizes, case.work.rows
    slow = 1.0 if "boundary_tiles" in off else fitted.boundary
    share = terms.whole_tiles(facts.shape, sizes.space, facts.slopes, rows)
    per_block = facts.cells / facts.shape[0] / sizes.inner
    whole, rest, fronts = terms.whole_fronts(facts.steps * facts.stages, rows)
    plain = (whole + rest) * per_block
    scale = per_block * (whole * (share + slow * (1.0 - share)) + slow * rest)
    return scale, 1.0 - plain / np.maximum(scale, 1e-300), 1.0 * fronts


@dataclass(frozen=True, slots=True)
class _Block:
    """What one block takes for one tile, whatever the others do; each of shape (n,)."""

    slots: Floats  # instructions of a thread
    issue: Floats  # cycles of the schedulers, or of the supply of instructions
    access: Floats  # cycles of the ports of shared memory or L1
    dram: Floats  # cycles for its bytes at the whole device's bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """The cycles that c blocks take for one tile each."""

    case: TilingBatch
    gpu: Numbers
    constants: terms.GpuConstants
    resident: terms.Residency
    off: frozenset[str]

    def block(self) -> "_Block":
        slots = self._slots()
        return _Block(
            slots=slots,
            issue=np.maximum(self._issue(slots), self._fetch(slots)),
            access=self.case.work.warps * self._accesses() * self._access_cost(),
            dram=self._dram() * self.gpu.clock / (self.gpu.peak_dram_bandwidth * self.constants.dram_share),
        )

    def cycles(self, block: "_Block", together: Floats | Ints, sharers: Floats) -> dict[str, Floats]:
        """Return the cycles in all and by part, 0 for no block; ``sharers`` multiprocessors share the bandwidths."""
        fitted, miss = self.constants, self._miss(together)
        latency = np.zeros(len(block.slots)) if "latency" in self.off else self._latency(block.slots, miss)
        latency = np.where(np.asarray(together) > 0, latency, 0.0)  # the other parts go with their number
        issue, access = together * block.issue, together * block.access
        sharing = together if "bandwidth" in self.off else together * sharers
        dram = sharing * block.dram
        l2 = sharing * self._l2(miss, together) * (self.gpu.clock / (self.gpu.l2_bandwidth * fitted.l2_share))
        if "l2" in self.off:
            l2 = np.zeros_like(l2)
        p, busy, memory = fitted.overlap, np.maximum(issue, access), np.maximum(dram, l2)
        everything = (latency**p + (busy + memory) ** p) ** (1.0 / p)
        parts = {"all": everything, "latency": latency, "issue": issue, "access": access, "dram": dram, "l2": l2}
        return parts | {"busy": busy, "memory": memory}

    def least(self) -> Floats:
        """Cycles of a wavefront that no thread shape goes below, of tilings with one thread: :func:`least_seconds`."""
        work, fitted, shared = self.case.work, self.constants, self.resident.shared
        gpu, facts = self.gpu, self.case.facts
        blocks = np.maximum(*hexagonal.tiles_per_wavefront(self.case.sizes, facts))
        each = blocks / gpu.sm_count
        slots = work.points * _point_slots(self.case.program, facts, gpu, fitted)
        inside = slots / WARP * np.where(shared, 1.0, fitted.global_access)
        copied = np.where(shared, work.copy_warps * min(fitted.copy_slots, fitted.guarded_copy_slots), 0.0)
        issue = each * (inside + work.rows * fitted.row_slots + copied) * fitted.issue / self.gpu.schedulers
        fitting = (gpu.shared_bytes // np.maximum(work.box_values * facts.itemsize, 1)).astype(np.int64)
        most = min(gpu.max_blocks, gpu.max_threads // WARP)
        together = np.maximum(1, np.where(shared, np.minimum(most, fitting), most))
        chain = fitted.latency * gpu.pipeline_cycles * np.where(shared, 1.0, fitted.global_latency)
        waits = work.rows * fitted.row_cycles + np.where(shared, fitted.tile_cycles, 0.0)
        filled = each * slots * chain / max(gpu.max_threads, gpu.max_block_threads)
        latency = np.maximum(1.0, each / together) * waits + filled
        dram = blocks * self._dram() * gpu.clock / (gpu.peak_dram_bandwidth * fitted.dram_share)
        nothing = np.zeros(len(blocks))
        l2 = np.where(shared, blocks * self._l2(nothing, nothing + 1.0), 0.0)
        memory = np.maximum(dram, l2 * gpu.clock / (gpu.l2_bandwidth * fitted.l2_share))
        p = fitted.overlap
        return np.asarray((latency**p + (issue + memory) ** p) ** (1.0 / p))

    def _slots(self) -> Floats:
        work, fitted = self.case.work, self.constants
        per = self._body.arithmetic * terms.double_cost(self.case.facts, self.gpu)
        middle = 0.5 * (fitted.plain_slots + fitted.guarded_slots)
        overhead = np.where(work.straight, fitted.plain_slots, np.where(work.even, middle, fitted.guarded_slots))
        if "guards" in self.off:
            overhead = np.full_like(overhead, fitted.plain_slots)
        spills = self.resident.spilled * fitted.spill_slots
        return np.asarray(work.statements * (per + overhead) + work.stores + self._reads + spills)

    @property
    def _body(self) -> CodeCounts:
        return body(self.case.program)

    @property
    def _reads(self) -> Floats:
        return self.case.work.reads_plain if "reuse" in self.off else self.case.work.reads

    def _fetch(self, slots: Floats) -> Floats:
        """Cycles per block in which instructions come that a scheduler's own cache does not hold, or no cache."""
        # Every tile runs all of its code once. Warps of one block that share a scheduler share what it fetches; blocks
        # do not, since each is elsewhere in the code.
        if "instruction_cache" in self.off:
            return np.zeros_like(slots)
        work, fitted = self.case.work, self.constants
        code = slots + np.where(self.resident.shared, fitted.copy_slots * work.copies, 0.0)
        schedulers = np.minimum(work.warps, self.gpu.schedulers) / self.gpu.schedulers
        near = fitted.near_fetch_cycles * schedulers * np.maximum(0.0, code - fitted.near_code_slots)
        return np.asarray(near + fitted.fetch_cycles * np.maximum(0.0, code - fitted.code_slots))

    def _latency(self, slots: Floats, miss: Floats) -> Floats:
        """Cycles of a thread's own chain: rows with their barriers, instructions, rounds of copying."""
        work, fitted = self.case.work, self.constants
        copy = np.where(work.straight, fitted.copy_cycles, fitted.guarded_copy_cycles)
        if "guards" in self.off:
            copy = np.full_like(copy, fitted.copy_cycles)
        inside = fitted.tile_cycles + copy * work.copies
        step = fitted.row_cycles + np.where(self.resident.shared, 0.0, fitted.global_row_cycles * (1.0 + 2.0 * miss))
        chain = (
            fitted.latency
            * self.gpu.pipeline_cycles
            * np.where(self.resident.shared, 1.0, fitted.global_latency * (1.0 + miss))
        )
        return np.asarray(work.rows * step + chain * slots + np.where(self.resident.shared, inside, 0.0))

    def _issue(self, slots: Floats) -> Floats:
        """Cycles of a multiprocessor's schedulers per block."""
        work, fitted = self.case.work, self.constants
        copy = np.where(work.straight, fitted.copy_slots, fitted.guarded_copy_slots)
        if "guards" in self.off:
            copy = np.full_like(copy, fitted.copy_slots)
        copied = np.where(self.resident.shared, work.copy_warps * copy, 0.0)
        inside = slots * np.where(self.resident.shared, 1.0, self._global)
        return np.asarray(
            ((inside + work.rows * fitted.row_slots) * work.warps + copied) * fitted.issue / self.gpu.schedulers
        )

    def _accesses(self) -> Floats:
        words = self.case.facts.itemsize / WORD
        return (self._reads + self.case.work.stores + self.resident.spilled * self.constants.spill_slots) * words

    def _access_cost(self) -> Floats:
        conflicts = 1.0 if "bank_conflicts" in self.off else self.case.work.conflicts
        return np.where(self.resident.shared, conflicts, self._global)

    @property
    def _global(self) -> Floats:
        """Slots of an access through L1: every row that a warp spans is an access of its own."""
        rows = 1.0 if "coalescing" in self.off else self.case.work.segments
        return np.asarray(self.constants.global_access * rows)

    def _segments(self, values: Floats, rows: Floats, words: float | Floats) -> Floats:
        """Values moved for contiguous segments, every segment rounded up."""
        return values if "coalescing" in self.off else values + rows * words

    def _dram(self) -> Floats:
        """Bytes between chip and memory per tile: the box without its halo, part of the halo, and the results."""
        work, pad = self.case.work, self._pad
        core = self._segments(work.core_values, work.core_rows, pad)
        halo = np.maximum(0.0, self._box(pad) - core)
        share = 0.0 if "l2" in self.off else self.constants.halo_share
        return np.asarray((core + share * halo + self._results(pad)) * self.case.facts.itemsize)

    @property
    def _pad(self) -> Floats:
        """Words off chip that a segment costs beyond its own: of a copy, or of rows that come through L1."""
        return np.where(self.resident.shared, self.constants.segment_words, _SECTOR_WORDS - 1.0)

    def _box(self, pad: float | Floats) -> Floats:
        return self._segments(self.case.work.box_values, self.case.work.box_rows, pad)

    def _results(self, pad: float | Floats) -> Floats:
        return self._segments(self.case.work.out_values, self.case.work.out_rows, pad)

    def _l2(self, miss: Floats, together: Floats | Ints) -> Floats:
        """Bytes between L2 and the multiprocessors per tile; without shared memory also stores and L1 misses."""
        work, pad = self.case.work, self.constants.segment_words
        item = self.case.facts.itemsize
        copied = (self._box(pad) + self._results(pad)) * item
        stores = self._segments(work.points, work.point_rows, _SECTOR_WORDS - 1) * item
        again = self._segments(work.step_rows * work.last, work.step_rows, _SECTOR_WORDS - 1) * item
        times = miss * self.constants.step_misses
        if "near_rows" not in self.off:
            times = times + self._near_miss(together) * work.again * self.constants.near_misses
        return np.asarray(np.where(self.resident.shared, copied, stores + self._dram() + times * work.rows * again))

    def _miss(self, together: Floats | Ints) -> Floats:
        """Share of what a step reads that L1 does not hold, for tiles that do not live in shared memory."""
        # Either the whole lines of the box exceed the part of L1 that is used, or the rows of one step do.
        work = self.case.work
        if self._by_chance:
            return self._beyond_sets(self._lines(work.held_rows * work.last, work.held_rows), together)
        return self._beyond(self._lines(work.box_values, work.box_rows), work.held_rows, together)

    def _near_miss(self, together: Floats | Ints) -> Floats:
        """Share of the rows between two uses by one step that L1 does not hold."""
        work = self.case.work
        return self._beyond(self._lines(work.near_rows * work.last, work.near_rows), work.near_rows, together)

    def _lines(self, values: Floats, rows: Floats) -> Floats:
        return self._segments(values, rows, _LINE_WORDS - 1)

    @property
    def _pitch(self) -> int:
        return self.case.facts.shape[-1] * self.case.facts.itemsize

    @property
    def _by_chance(self) -> bool:
        """Whether rows are so far apart that their lines lie in sets of L1 by chance."""
        return "l1_sets" not in self.off and self._pitch >= self.gpu.unified_bytes // _L1_WAYS

    def _beyond(self, words: Floats, rows: Floats, together: Floats | Ints) -> Floats:
        """Share of lines that the part of L1 that is used does not hold."""
        # Rows meet in sets: those that lie a pitch apart begin in every g-th set only, g the greatest common divisor of
        # the pitch and a way in lines, so that each takes the room of g lines, however short it is.
        room, way = words * self.case.facts.itemsize, self.gpu.unified_bytes // _L1_WAYS
        if "l1_sets" not in self.off and self._pitch < way:
            room = np.maximum(room, rows * math.gcd(self._pitch, way))
        return np.clip(1.0 - self._used / np.maximum(room * np.maximum(together, 1), 1), 0.0, 1.0)

    def _beyond_sets(self, words: Floats, together: Floats | Ints) -> Floats:
        """Share of lines that are lost where as many others as there are ways fall into their set, by chance."""
        lines = _L1_WAYS * words * self.case.facts.itemsize * np.maximum(together, 1) / self._used
        fewer = sum(lines**others / math.factorial(others) for others in range(_L1_WAYS))
        return np.asarray(1.0 - np.exp(-lines) * fewer)

    @property
    def _used(self) -> float:
        return self.constants.l1_share * self.gpu.unified_bytes

"""The time model's entry: costs of one tiling, or of arrays of them, in the published or in the exact form."""

import functools
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilewright.base.constants import WORD
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.records import Resources
from tilewright.costs import recurrences, strategies
from tilewright.costs.arrays import TileSizes, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.cpu import hexagonal as cached
from tilewright.costs.cpu import streaming, untiled
from tilewright.costs.cpu.states import with_states
from tilewright.costs.energy.price import Joules, Usage, price
from tilewright.costs.hardware import Hardware
from tilewright.costs.hexagonal import exact
from tilewright.costs.published import energy as published_energy
from tilewright.costs.published import time as published
from tilewright.costs.setting import Setting, make_setting
from tilewright.machines.machine import Machine, Quantity
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.catalogue import families
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import Tiling

if TYPE_CHECKING:  # models of GPUs are loaded where one is asked
    from tilewright.costs.gpu import threads as selector
    from tilewright.costs.gpu.terms import CompiledCounts

MODELS = ("exact", "published")
_LARGEST = 2**20
_LARGEST_TILE = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What one tiling of one problem costs on one machine; times in seconds, words of 4 bytes.

    Attributes:
        seconds: Predicted time, T_alg.
        joules: Predicted energy; estimated where nobody measured the machine, see ``energy``.
        dram_bytes: Bytes between chip and memory, in all.
        wavefronts: N_w.
        tiles_per_wavefront: Tiles, prisms or slabs per wavefront.
        tile_points: Cell updates of a whole tile.
        tile_io_words: Words that a tile reads and writes.
        tile_shared_bytes: What a tile keeps on chip, M_tile; on a CPU its footprint.
        tiles_per_sm: k.
        compute_seconds_per_tile: c.
        io_seconds_per_tile: m'.
        flops: Operations in all.
        gcells_per_second: Cell updates per nanosecond.
        gflops_per_second: Operations per nanosecond.
        bound_by: ``compute``, ``memory`` or ``synchronisation``; with threads given on a GPU the binding term, one of
            :data:`tilewright.costs.gpu.threads.PARTS`.
        energy: The energy with its parts, range and provenance.
        usage: The amounts that the energy is of.
    """

    seconds: float
    joules: float | None = None
    dram_bytes: float
    wavefronts: int
    tiles_per_wavefront: int
    tile_points: int
    tile_io_words: float
    tile_shared_bytes: int
    tiles_per_sm: int
    compute_seconds_per_tile: float
    io_seconds_per_tile: float
    flops: int
    gcells_per_second: float
    gflops_per_second: float
    bound_by: str
    energy: Joules | None = None
    usage: Usage | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the costs as plain data, without the parts of the energy and its amounts."""
        plain = asdict(self)
        del plain["energy"], plain["usage"]
        return plain


def predict(  # noqa: PLR0913  (all that a prediction hangs on)
    problem: Problem,
    tiling: Tiling,
    machine: Machine,
    *,
    model: str = "exact",
    scope: str | None = None,
    resources: Resources | None = None,
    arithmetic: float = 1.0,
    storage: Storage = PLAIN,
) -> Costs:
    """Predict what one tiling of a problem costs on a machine.

    Args:
        problem: What is computed.
        tiling: How it is cut. Legality is not checked here.
        machine: Where it runs.
        model: ``exact``, or ``published`` for the equations as printed.
        scope: Who shares the bandwidth, see :func:`tilewright.costs.setting.make_setting`.
        resources: What a compiler says of the code, for a hybrid or streaming tiling with threads on a GPU.
        arithmetic: How long the arithmetic of a cell takes over what the machine's file says: by another form of sums.
        storage: Where the fields' versions and cells lie.

    Returns:
        The costs.

    Raises:
        UsageError: If the family has no model, the sizes do not fit the problem, or a tile does not fit the machine.
    """
    setting = _lengthened(make_setting(problem, machine, scope, storage=storage), tiling.family, arithmetic)
    recurrences.check_order(setting)
    sizes = sizes_of(tiling, setting)
    result = evaluate(tiling.family, sizes, setting, model, _compiled(resources))
    if not np.isfinite(result.seconds[0]):
        count = int(np.prod([float(each) for each in tiling.threads]))
        if setting.gpu is not None and count > setting.gpu.block_threads:
            raise UsageError(
                f"a block of {machine.name} has at most {setting.gpu.block_threads} threads, got {str(tiling)!r}"
            )
        if tiling.family.streams and result.shared_bytes[0] <= setting.block_bytes:
            raise UsageError(
                f"a thread of {str(tiling)!r} needs more registers than {machine.name} gives it, so that values spill",
                "take more threads, or smaller sizes",
            )
        limit = min(setting.block_bytes, setting.shared_bytes // max(1, tiling.k or 1))
        raise UsageError(
            f"a tile of {str(tiling)!r} needs {int(result.shared_bytes[0])} bytes of shared memory, {machine.name} has "
            f"{limit} for each of {tiling.k or 1}, and runs at most {setting.max_tiles} per SM",
            "take smaller sizes or a smaller k",
        )
    return costs_at(result, 0, setting)


def _lengthened(setting: Setting, family: Family, ratio: float) -> Setting:
    """A setting in which the arithmetic of a family's code takes so many times as long."""
    if ratio == 1.0:
        return setting

    def longer(known: Quantity) -> Quantity:
        return replace(known, value=ratio * known.value, source="estimated", low=None, high=None)

    if family.streams:
        return replace(setting, blocked=longer(setting.blocked), blocked_across=longer(setting.blocked_across))
    if family.untiled:
        return replace(setting, swept=longer(setting.swept))
    return replace(setting, c_iter=longer(setting.c_iter))


def models_threads(family: Family, setting: Setting) -> bool:
    """Whether the exact model knows thread blocks of a family's hexagons: on GPUs, with other axes beside them."""
    return family.hexagons and setting.gpu is not None and len(setting.shape) > 1


def thread_terms(sizes: TileSizes, setting: Setting, compiled: "CompiledCounts | None" = None) -> "selector.Terms":
    """Return the terms of the exact model with thread blocks, of hybrid tilings on a GPU."""
    from tilewright.costs.gpu import threads as selector

    if setting.gpu is None:
        raise UsageError("the model of thread blocks is for GPUs")
    # Where threads are left open, those that the code takes by itself.
    threads = sizes.threads or selector.default_threads(sizes.space)
    return selector.evaluate(
        selector.make_case(setting.problem.program, sizes, threads, setting), setting.gpu, compiled=compiled
    )


def _compiled(resources: Resources | None) -> "CompiledCounts | None":
    if resources is None or resources.registers is None:
        return None
    from tilewright.costs.gpu.terms import CompiledCounts

    return CompiledCounts(
        registers=np.array([resources.registers], dtype=np.int64),
        spilled=np.array([(resources.spill_bytes or 0) / WORD]),
        shared_bytes=np.array([resources.shared_bytes or 0], dtype=np.int64),
    )


def evaluate(
    family: Family,
    sizes: TileSizes,
    setting: Setting,
    model: str = "exact",
    compiled: "CompiledCounts | None" = None,
) -> Breakdown:
    """Evaluate the model for arrays of tile sizes: the one cost by which everything here ranks and predicts."""
    if model not in MODELS:
        raise UsageError(f"the model is one of {', '.join(MODELS)}, got {model!r}")
    if family.tables:
        known = ", ".join(each for each in families() if not each.tables)
        raise UsageError(f"the time model covers {known}, got {str(family)!r}")
    if not (setting.cpu or family.gpu):
        known = ", ".join(each for each in families() if each.gpu)
        raise UsageError(f"there is code of the family {family} for CPUs alone, got a GPU", f"take one of {known}")
    result = _timed(family, sizes, setting, model, compiled)
    if setting.state_bytes and setting.cpu and not family.untiled:  # a sweep moves every version anyway
        result = replace(result, seconds=with_states(result.seconds, sizes, setting))
    return _with_energy(result, family, sizes, setting, model)


def _timed(
    family: Family, sizes: TileSizes, setting: Setting, model: str, compiled: "CompiledCounts | None"
) -> Breakdown:
    if family.untiled:
        return untiled.evaluate(setting)  # one result, whatever the sizes
    if family.streams:
        if setting.cpu:
            return streaming.evaluate(sizes, setting)
        if setting.gpu is None:
            raise UsageError("streaming tiles on a GPU need the machine's numbers")
        from tilewright.costs.gpu import streaming as streaming_gpu

        return _of_blocks(streaming_gpu.evaluate(sizes, setting, setting.gpu, compiled), sizes, setting)
    if not family.hexagons:
        return strategies.evaluate(family, sizes, setting)
    if model == "published":
        return published.evaluate(sizes, setting)
    return cached.evaluate(sizes, setting) if setting.cpu else _hexagons(family, sizes, setting, compiled)


def _hexagons(family: Family, sizes: TileSizes, setting: Setting, compiled: "CompiledCounts | None") -> Breakdown:
    """Hexagons on a GPU: what they move by exact geometry, and where thread blocks are modelled the time of these."""
    if not models_threads(family, setting) or not len(sizes.time) or not setting.steps:
        return exact.evaluate(sizes, setting)
    result = exact.evaluate(replace(sizes, k=np.zeros_like(sizes.k)), setting)
    from tilewright.costs.gpu.threads import PARTS

    terms = thread_terms(sizes, setting, compiled)
    parts = {name: np.asarray(getattr(terms, name)) for name in PARTS}
    queue = ceil_div(result.tiles_per_wavefront, setting.sm_count) * result.wavefronts
    each = np.maximum(1, queue * result.tiles_per_prism)
    fits = (result.tiles_per_sm > 0) & (sizes.k <= np.maximum(result.tiles_per_sm, terms.resident))
    result = replace(
        result,
        seconds=np.where(fits, terms.seconds, np.inf),
        sync_seconds=parts["launch"],
        compute_seconds=np.maximum(parts["issue"], parts["access"]) / each,
        io_seconds=np.maximum(parts["dram"], parts["l2"]) / each,
        prism_seconds=(terms.seconds - parts["launch"]) / np.maximum(1, queue),
        tiles_per_sm=np.where(fits, terms.resident, 0),
        parts=parts,
    )
    return _of_blocks(result, sizes, setting)


def _of_blocks(result: Breakdown, sizes: TileSizes, setting: Setting) -> Breakdown:
    """The same, infinite where a block would have more threads than it may."""
    if not sizes.threads or setting.gpu is None:
        return result
    count = functools.reduce(np.multiply, sizes.threads)
    return replace(result, seconds=np.where(count <= setting.gpu.block_threads, result.seconds, np.inf))


def _with_energy(result: Breakdown, family: Family, sizes: TileSizes, setting: Setting, model: str) -> Breakdown:
    """Add the energy: updates of the exact problem, of tiles where they overlap, of all whole tiles as printed."""
    rule = setting.energy
    if rule is None:
        return result
    moved = result.dram_bytes
    updates = np.full(moved.shape, rule.updates)
    if family.hexagons and model == "published" and len(setting.shape) == 2:
        moved, updates = published_energy.printed_amounts(setting.shape, setting.steps, setting.itemsize, sizes)
    elif family.streams or (family.hexagons and model == "published"):
        whole = 1.0 * result.tile_points * result.tiles_per_prism
        updates = np.maximum(updates, whole * result.tiles_per_wavefront * result.wavefronts)
    joules = rule.joules(result.seconds, moved, updates, result.shared_words)
    return replace(result, updates=updates, energy_bytes=moved, joules=joules)


def sizes_of(tiling: Tiling, setting: Setting) -> TileSizes:
    """Return one tiling's sizes as arrays of shape (1,), checked against the problem."""
    rank = len(setting.shape)
    if tiling.family.hexagons:
        if rank not in tiling.family.ranks:
            raise IllegalTilingError(
                f"hexagonal tiles are for 1D and hybrid ones for 2D and 3D, got {str(tiling)!r} in {rank}D"
            )
        if len(tiling.space) != rank:
            raise IllegalTilingError(f"{str(tiling)!r} must have one size per axis: {rank}", "write it like s=8x64")
        if tiling.time % 2:
            raise IllegalTilingError(f"the height of a hexagon is even, got t={tiling.time}")
        if tiling.space[0] < setting.slopes[0]:
            raise IllegalTilingError(
                f"the model's hexagons have a base of at least the reach, {setting.slopes[0]}, got {tiling.space[0]}"
            )
        if tiling.time > _LARGEST or tiling.time * int(np.prod([float(s) for s in tiling.space])) > _LARGEST_TILE:
            raise IllegalTilingError(f"the tile {str(tiling)!r} is larger than any machine could hold")
    elif not (tiling.family.untiled or tiling.family.streams):
        strategies.check(tiling.family, tiling.space, tiling.time, setting)
    space = tiling.space or (1,) * rank
    return TileSizes(
        time=np.array([tiling.time], dtype=np.int64),
        space=tuple(np.array([size], dtype=np.int64) for size in space),
        k=np.array([tiling.k or 0], dtype=np.int64),
        sub=tuple(np.array([size], dtype=np.int64) for size in tiling.sub),
        threads=tuple(np.array([count], dtype=np.int64) for count in tiling.threads),
    )


def costs_at(result: Breakdown, index: int, setting: Setting) -> Costs:
    """Return the costs of one of the tilings of a breakdown."""
    seconds = float(result.seconds[index])
    points = setting.cells * setting.steps
    per_nanosecond = 1e-9 / seconds if seconds > 0 else 0.0
    energy = used = None
    if setting.energy is not None and result.updates is not None and result.energy_bytes is not None:
        words = None if result.shared_words is None else float(result.shared_words[index])
        used = setting.energy.usage(seconds, float(result.energy_bytes[index]), float(result.updates[index]), words)
        energy = price(used, setting.energy.known)
    return Costs(
        seconds=seconds,
        joules=energy.joules if energy else None,
        energy=energy,
        usage=used,
        dram_bytes=float(result.dram_bytes[index]),
        wavefronts=int(result.wavefronts[index]),
        tiles_per_wavefront=int(result.tiles_per_wavefront[index]),
        tile_points=int(result.tile_points[index]),
        tile_io_words=float(result.input_words[index] + result.output_words[index]),
        tile_shared_bytes=int(result.shared_bytes[index]),
        tiles_per_sm=int(result.tiles_per_sm[index]),
        compute_seconds_per_tile=float(result.compute_seconds[index]),
        io_seconds_per_tile=float(result.io_seconds[index]),
        flops=points * setting.flops,
        gcells_per_second=points * per_nanosecond,
        gflops_per_second=points * setting.flops * per_nanosecond,
        bound_by=result.bound_by(index),
    )


def ideal_seconds(setting: Setting, family: Family | None = None, model: str = "exact") -> float:
    """Time of an ideal machine, without transfers and synchronisation (thesis, equation 8.3): a lower bound."""
    iteration = setting.c_iter.value  # of hexagons, and where no family is given
    if family and family.streams:
        known = setting.blocked if setting.gpu is None else streaming_seconds(setting, setting.gpu)
        iteration = known.value
    elif family and not family.hexagons:
        iteration = setting.other.value
    elif family and model == "exact" and setting.gpu is not None and models_threads(family, setting):
        from tilewright.costs.gpu import threads as selector

        return selector.ideal_seconds(setting.problem.program, setting, setting.gpu)
    return setting.cells * setting.steps * iteration / (setting.sm_count * setting.vector_width)


def streaming_seconds(setting: Setting, gpu: Hardware) -> Quantity:
    """Return C_iter of streaming tiles on a GPU, which is counted from the instructions of a cell, with its range."""
    from tilewright.costs.gpu import streaming as streaming_gpu

    if setting.blocked.source == "measured":
        return setting.blocked
    known, value = setting.other, streaming_gpu.iteration_seconds(setting, gpu)
    low, high = (None if end is None else value * end / known.value for end in (known.low, known.high))
    note = "from the instructions of a cell whose row is in registers"
    return replace(known, value=value, source="estimated", low=low, high=high, note=note)

"""The time model's entry: costs of one tiling, or of arrays of them, in the published or in the exact form.

A family says what its tiles move and compute (:mod:`tilewright.costs.work`), a machine's kind what it takes for that.

The models cover the time steps. A user's run on a CPU also copies the fields into memory that a kernel may work in, and
the results out of it; streaming kernels read the caller's arrays in the first band and write the results in the last
one, so that their model has these transfers already. For runs of a few steps the copies decide.
"""

import functools
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tilewright.base.constants import CACHE_LINE, WORD
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.records import Resources
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.breakdown import Breakdown, Times
from tilewright.costs.cpu import boxes
from tilewright.costs.cpu import streaming as cached_streams
from tilewright.costs.cpu import sweep as cached_sweep
from tilewright.costs.cpu.boxes import grid_seconds
from tilewright.costs.energy.price import Joules, Usage, price
from tilewright.costs.facts import Facts
from tilewright.costs.gpu import blocks
from tilewright.costs.published import energy as published_energy
from tilewright.costs.published import time as published
from tilewright.costs.rates import CpuRates, Rates
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.work import streaming, tiles
from tilewright.costs.work.families import tiles_of
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.dependences import needs_no_versions, overwritten_fields
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.catalogue import families
from tilewright.schedules.family import Family, require_sizes
from tilewright.schedules.tiling import Tiling

if TYPE_CHECKING:  # models of thread blocks are loaded where one is asked
    from tilewright.costs.gpu import threads as selector
    from tilewright.costs.gpu.terms import CompiledCounts


Seconds = TypeVar("Seconds", float, Floats)
MODELS = ("exact", "published")
_LARGEST = 2**20
_LARGEST_TILE = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs(Times[float]):
    """What one tiling of one problem costs on one machine; times in seconds, words of 4 bytes.

    Attributes:
        seconds: Predicted time, T_alg.
        terms: What it is the sum of, by name.
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
        """Return the costs as plain data, without the terms of the time, the parts of the energy and its amounts."""
        left_out = {"terms", "energy", "usage"}
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in left_out}


def predict(  # noqa: PLR0913  (all that a prediction hangs on)
    problem: Problem,
    tiling: Tiling,  # its legality is not checked here
    machine: Machine,
    *,
    model: str = "exact",  # or ``published`` for the equations as printed
    scope: str | None = None,  # who shares the bandwidth, see :data:`tilewright.costs.rates.SCOPES`
    resources: Resources | None = None,  # what a compiler says of the code of a tiling with threads on a GPU
    arithmetic: float = 1.0,  # how long a cell's takes over what the machine's file says: by another form of sums
    storage: Storage = PLAIN,  # where the fields' versions and cells lie
) -> Costs:
    """Predict what one tiling of a problem costs on a machine, or say why it cannot run there."""
    setting = _lengthened(make_setting(problem, machine, scope, storage=storage), tiling.family, arithmetic)
    if not setting.cpu:
        tiles.check_order(setting.facts)
    sizes = sizes_of(tiling, setting)
    result = evaluate(tiling.family, sizes, setting, model, _compiled(resources))
    if not np.isfinite(result.seconds[0]):
        rates, count = setting.rates, int(np.prod([float(each) for each in tiling.threads]))
        if setting.gpu is not None and count > setting.gpu.max_block_threads:
            raise UsageError(
                f"a block of {machine.name} has at most {setting.gpu.max_block_threads} threads, got {str(tiling)!r}"
            )
        if tiling.family.streams and result.shared_bytes[0] <= rates.block_bytes:
            raise UsageError(
                f"a thread of {str(tiling)!r} needs more registers than {machine.name} gives it, so that values spill",
                "take more threads, or smaller sizes",
            )
        limit = min(rates.block_bytes, rates.shared_bytes // max(1, tiling.k or 1))
        raise UsageError(
            f"a tile of {str(tiling)!r} needs {int(result.shared_bytes[0])} bytes of shared memory, {machine.name} has "
            f"{limit} for each of {tiling.k or 1}, and runs at most {rates.max_tiles} per SM",
            "take smaller sizes or a smaller k",
        )
    return costs_at(result, 0, setting)


def _lengthened(setting: Setting, family: Family, ratio: float) -> Setting:
    """A setting in which the arithmetic of a family's code takes so many times as long, on a CPU."""
    if ratio == 1.0 or not isinstance(setting.rates, CpuRates):
        return setting

    def longer(quantity: Quantity) -> Quantity:
        return replace(quantity, value=ratio * quantity.value, source="estimated", low=None, high=None)

    rates = setting.rates
    if family.streams:
        return setting.at(blocked=longer(rates.blocked), blocked_across=longer(rates.blocked_across))
    if family.untiled:
        return setting.at(swept=longer(rates.swept))
    return setting.at(c_iter=longer(rates.c_iter))


def models_threads(family: Family, setting: Setting) -> bool:
    """Whether the exact model knows thread blocks of a family's hexagons: on GPUs, with other axes beside them."""
    return family.hexagons and not setting.cpu and len(setting.facts.shape) > 1


def thread_terms(sizes: TileSizes, setting: Setting) -> "selector.Terms":
    """Return the terms of the exact model with thread blocks, of hybrid tilings on a GPU."""
    from tilewright.costs.gpu import threads as selector

    if setting.gpu is None:
        raise UsageError("the model of thread blocks is for GPUs")
    return selector.evaluate(selector.case_of(sizes, setting.facts), setting.gpu)


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
        names = ", ".join(each for each in families() if not each.tables)
        raise UsageError(f"the time model covers {names}, got {str(family)!r}")
    if not (setting.cpu or family.gpu):
        names = ", ".join(each for each in families() if each.gpu)
        raise UsageError(f"there is code of the family {family} for CPUs alone, got a GPU", f"take one of {names}")
    facts, rates = setting.facts, setting.rates
    if family.hexagons and model == "published":
        result = published.evaluate(sizes, setting)
    elif isinstance(rates, CpuRates):
        result = _on_cpu(family, sizes, facts, rates)
    else:
        result = _on_gpu(family, sizes, facts, rates, compiled)
    return _with_energy(result, family, sizes, setting, model)


def _on_cpu(family: Family, sizes: TileSizes, facts: Facts, rates: CpuRates) -> Breakdown:
    if family.untiled:
        return cached_sweep.evaluate(tiles.on_cpu(facts), facts, rates)  # one result, whatever the sizes
    if family.streams:
        result = cached_streams.evaluate(streaming.tiles(sizes, facts), facts, rates)
    else:
        result = boxes.evaluate(tiles_of(family).boxes(sizes, facts), facts, rates)
    if not facts.state_bytes:
        return result
    return replace(result, terms={**result.terms, "states": boxes.added_seconds(result.seconds, sizes, facts, rates)})


def _on_gpu(
    family: Family, sizes: TileSizes, facts: Facts, rates: Rates, compiled: "CompiledCounts | None"
) -> Breakdown:
    if family.untiled:
        return blocks.sweep(tiles.on_gpu(facts), facts, rates)
    if family.streams:
        from tilewright.costs.gpu import streaming as streams
        from tilewright.costs.work import streaming

        result = streams.evaluate(streaming.blocks(sizes, facts), facts, rates, compiled)
    else:
        work = tiles_of(family).blocks(sizes, facts)
        if work.printed and len(facts.shape) == 1:
            rates = blocks.in_lines(facts, rates)
        if not work.printed or len(facts.shape) == 1 or not len(sizes.time) or not facts.steps:
            return blocks.evaluate(work, sizes.k, facts, rates)
        from tilewright.costs.gpu import threads as selector

        result = selector.timed(work, sizes, facts, rates, compiled)
    if not sizes.threads:
        return result
    return result.where(functools.reduce(np.multiply, sizes.threads) <= rates.numbers.max_block_threads)


def _with_energy(result: Breakdown, family: Family, sizes: TileSizes, setting: Setting, model: str) -> Breakdown:
    """Add the energy: updates of the exact problem, of tiles where they overlap, of all whole tiles as printed."""
    rule, facts = setting.energy, setting.facts
    if rule is None:
        return result
    moved = result.dram_bytes
    updates = np.full(moved.shape, rule.updates)
    if family.hexagons and model == "published" and len(facts.shape) == 2:
        moved, updates = published_energy.printed_amounts(facts.shape, facts.steps, facts.itemsize, sizes)
    elif family.streams or (family.hexagons and model == "published"):
        whole = 1.0 * result.tile_points * result.tiles_per_prism
        updates = np.maximum(updates, whole * result.tiles_per_wavefront * result.wavefronts)
    joules = rule.joules(result.seconds, moved, updates, result.shared_words)
    return replace(result, updates=updates, energy_bytes=moved, joules=joules)


def sizes_of(tiling: Tiling, setting: Setting) -> TileSizes:
    """Return one tiling's sizes as arrays of shape (1,), checked against the problem."""
    facts, rank = setting.facts, len(setting.facts.shape)
    if tiling.family.hexagons:
        if rank not in tiling.family.ranks:
            raise IllegalTilingError(
                f"hexagonal tiles are for 1D and hybrid ones for 2D and 3D, got {str(tiling)!r} in {rank}D"
            )
        require_sizes(tiling, rank)
        if tiling.time % 2:
            raise IllegalTilingError(f"the height of a hexagon is even, got t={tiling.time}")
        if tiling.space[0] < facts.slopes[0]:
            raise IllegalTilingError(
                f"the model's hexagons have a base of at least the reach, {facts.slopes[0]}, got {tiling.space[0]}"
            )
        if tiling.time > _LARGEST or tiling.time * int(np.prod([float(s) for s in tiling.space])) > _LARGEST_TILE:
            raise IllegalTilingError(f"the tile {str(tiling)!r} is larger than any machine could hold")
    elif not (tiling.family.untiled or tiling.family.streams):
        _check_strategy(tiling, facts)
    space = tiling.space or (1,) * rank
    return TileSizes(
        time=np.array([tiling.time], dtype=np.int64),
        space=tuple(np.array([size], dtype=np.int64) for size in space),
        k=np.array([tiling.k or 0], dtype=np.int64),
        sub=tuple(np.array([size], dtype=np.int64) for size in tiling.sub),
        threads=tuple(np.array([count], dtype=np.int64) for count in tiling.threads),
    )


def _check_strategy(tiling: Tiling, facts: Facts) -> None:
    """Refuse sizes that no tile besides hexagons can have."""
    require_sizes(tiling, len(facts.shape))
    time, pitch, least = tiling.time, tiling.space[0], facts.slopes[0] * tiling.time * facts.stages
    if tiling.family.diamonds and (time % 2 or pitch % 2 or pitch < least):
        raise UsageError(f"diamonds have an even height and an even pitch of at least {least}, got t={time}, s={pitch}")


def costs_at(result: Breakdown, index: int, setting: Setting) -> Costs:
    """Return the costs of one of the tilings of a breakdown."""
    seconds = float(result.seconds[index])
    points = setting.facts.cells * setting.facts.steps
    per_nanosecond = 1e-9 / seconds if seconds > 0 else 0.0
    energy = used = None
    if setting.energy is not None and result.updates is not None and result.energy_bytes is not None:
        words = None if result.shared_words is None else float(result.shared_words[index])
        used = setting.energy.usage(seconds, float(result.energy_bytes[index]), float(result.updates[index]), words)
        energy = price(used, setting.energy.known)
    return Costs(
        terms={name: float(term[index]) for name, term in result.terms.items()},
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
        flops=points * setting.facts.flops,
        gcells_per_second=points * per_nanosecond,
        gflops_per_second=points * setting.facts.flops * per_nanosecond,
        bound_by=result.bound_by(index),
    )


def ideal_seconds(setting: Setting, family: Family | None = None, model: str = "exact") -> float:
    """Time of an ideal machine, without transfers and synchronisation (thesis, equation 8.3): a lower bound."""
    facts, rates = setting.facts, setting.rates
    iteration = rates.c_iter.value  # of hexagons, and where no family is given
    if family and family.streams:
        iteration = streaming_seconds(setting).value
    elif family and not family.hexagons:
        iteration = rates.other.value
    elif family and model == "exact" and models_threads(family, setting):
        from tilewright.costs.gpu import threads as selector

        return selector.ideal_seconds(facts.problem.program, facts, rates.numbers)
    return facts.cells * facts.steps * iteration / (rates.sm_count * rates.vector_width)


def streaming_seconds(setting: Setting) -> Quantity:
    """Return C_iter of streaming tiles, which on a GPU is counted from the instructions of a cell, with its range."""
    rates = setting.rates
    if setting.cpu or rates.blocked.source == "measured":
        return rates.blocked
    from tilewright.costs.gpu import streaming as streams

    blocked, value = rates.other, streams.iteration_seconds(setting.facts, rates)
    low, high = (None if end is None else value * end / blocked.value for end in (blocked.low, blocked.high))
    note = "from the instructions of a cell whose row is in registers"
    return replace(blocked, value=value, source="estimated", low=low, high=high, note=note)


def run_seconds(family: Family, seconds: Seconds, setting: Setting, *, copies: bool = True) -> Seconds:
    """Return the seconds by which families are compared for a run, with a margin where a model is less certain."""
    margin = 1.0 if family.trusted else setting.rates.numbers.strategy_margin
    if setting.guessed and not family.untiled:
        margin *= setting.rates.numbers.uncalibrated_margin
    return whole_seconds(family, margin * seconds, setting) if copies else margin * seconds


def whole_seconds(family: Family, seconds: Seconds, setting: Setting) -> Seconds:
    """Return the seconds of a whole run: its kernel's, its points', and those of copies where the family needs them."""
    seconds = seconds + point_seconds(setting)
    return seconds + (copy_seconds(setting) if setting.cpu and not family.streams else 0.0)


def point_seconds(setting: Setting) -> float:
    """Seconds for what sources add and receivers record, by all cores: a line of memory per cell and step."""
    return setting.facts.steps * setting.facts.points * CACHE_LINE * _byte_seconds(setting) / setting.rates.sm_count


def _byte_seconds(setting: Setting) -> float:
    """Seconds per byte of the grid where it lies: in a cache, in all of a GPU's memory on chip, or in memory."""
    facts, rates = setting.facts, setting.rates
    if isinstance(rates, CpuRates):
        return grid_seconds(facts, rates)
    on_chip = facts.data_bytes <= rates.numbers.cache_fraction * rates.sm_count * rates.shared_bytes
    return 0.0 if on_chip else rates.word_seconds / WORD


def copy_seconds(setting: Setting) -> float:
    """Seconds of copying all fields in and the results out, by all cores: each value is read, fetched and written.

    Of a single step those that it overwrites in place.
    """
    problem = setting.facts.problem
    if needs_no_versions(problem):
        values = len(overwritten_fields(problem.program))
    else:
        values = setting.facts.levels + setting.facts.constants + setting.facts.fields
    return 3.0 * values * setting.facts.cells * setting.facts.itemsize * _byte_seconds(setting) / setting.rates.sm_count

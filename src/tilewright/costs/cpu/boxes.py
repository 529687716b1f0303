"""The time of tiles on a CPU: boxes of rows in vectors over cores, tiles in the cache of a core, for any family's work.

The papers' structure with n_SM = cores, n_V = SIMD lanes, M_SM = L2 per core and k = 1, and what differs from a GPU:
rows are clipped at the grid, so partial tiles cost what they compute; a row of the innermost axis has a start-up cost
and a last vector that is half empty on average; a footprint above the cache does not fail but comes from further away:
as long as the tiles of all cores fit L3 together it costs L3's bandwidth, which lies between those of the papers' two
levels, and else streams from memory. This is our own extension; nothing of it is printed.
"""

import functools

import numpy as np

from tilewright.base.constants import WORD
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.facts import Facts
from tilewright.costs.rates import CpuRates
from tilewright.costs.reuse import lost_at_random
from tilewright.costs.work.tiles import BoxWork
from tilewright.machines.numbers import Numbers

SHORT_ROW = 7
"""Vectors of a piece of a row below which neighbours are loaded, not put together from vectors in registers."""


def evaluate(work: BoxWork, facts: Facts, rates: CpuRates) -> Breakdown:
    """Evaluate the model; seconds and words of a block are a tile's over its number of blocks."""
    # What another band wrote comes from L3 if little enough was touched in between; the first band's data do not.
    arithmetic, starts, waits = computation(work, facts, rates)
    footprint = footprint_bytes(work, facts)
    near = (1.0 - missed_by_bands(work.between * facts.itemsize, rates)) * (1.0 - 1.0 / work.bands)
    far = grid_seconds(facts, rates)
    moved = (work.read_values + work.written_values) * facts.itemsize
    move = moved * (far + near * np.minimum(0.0, rates.outer_byte_seconds - far))
    spilled = spilled_bytes(work, facts, rates)
    turns, compute = work.turns(rates.sm_count), arithmetic + starts + waits
    words = facts.itemsize / WORD
    read = work.input_values * words + (spilled / WORD / work.count if work.streamed else 0.0)
    off = off_chip(facts, rates)
    return Breakdown(
        wavefronts=work.wavefronts,
        tiles_per_wavefront=work.width,
        tiles_per_prism=work.count,
        tile_points=work.points,
        input_words=read,
        output_words=work.output_values * words,
        shared_bytes=footprint,
        tiles_per_sm=np.ones_like(work.wavefronts),
        io_seconds=move / work.count,
        compute_seconds=compute / work.count,
        prism_seconds=compute + move,
        dram_bytes=(moved * (1.0 - near) + spilled) * work.tiles
        if off
        else np.full(moved.shape, 2.0 * facts.data_bytes),
        terms={
            "arithmetic": turns * arithmetic,
            "starts": turns * starts,
            "transfers": turns * (waits + move),
            "synchronisation": work.wavefronts * rates.launch_seconds,
        },
    )


def computation(work: BoxWork, facts: Facts, rates: CpuRates) -> tuple[Floats, Floats, Floats]:
    """Return the seconds of one tile's arithmetic, of starting its rows and boxes, and of waiting for its lines."""
    arithmetic = rates.c_iter.value + facts.further[-1] * rates.short_row_seconds * short(work, rates)
    vectors = work.vectors(rates.vector_width) / facts.stages
    missed = missed_inside(footprint_bytes(work, facts), rates)
    # In L2 the first line of a cut plane of a box is waited for, and those behind it are fetched ahead.
    first = (missed * work.breaks + (1.0 - missed) * work.planes) * rates.fetch_seconds
    cut = (facts.writes - facts.fetches) * rates.cut_seconds / facts.stages
    start = work.pieces * rates.row_seconds + work.cuts * cut
    wait = vectors * (vector_seconds(work, facts, rates) - arithmetic) + first
    longer = beyond(facts, rates) if work.apart else 1.0
    wait = wait + (longer - 1.0) * (vectors * arithmetic + start + wait)
    starts = work.lines * start + work.boxes * rates.barrier_seconds
    return work.lines * vectors * arithmetic, np.asarray(starts), np.asarray(work.lines * wait)


def beyond(facts: Facts, rates: CpuRates) -> float:
    """Return how many times as long rows take because L2, or no cache, does not hold the grid."""
    # What a tile begins with comes from afar row by row, each on pages of its own, and nothing is fetched ahead beyond
    # the ends of its pieces.
    data, numbers = np.array(facts.data_bytes), rates.numbers
    own, outer = numbers.cache_fraction * rates.shared_bytes, numbers.l3_grid_fraction * rates.outer_bytes
    near, far = rates.sm_count * own, rates.sm_count * max(own, outer)
    return 1.0 + (numbers.far_row_ratio - 1.0) * 0.5 * float(share_missed(data, near) + share_missed(data, far))


def short(work: BoxWork, rates: CpuRates) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Say where pieces of rows are so short that neighbours are loaded."""
    return np.asarray(work.row < SHORT_ROW * rates.vector_width)


def vector_seconds(work: BoxWork, facts: Facts, rates: CpuRates) -> Floats:
    """Return the time per vector and time step of a tile: arithmetic, and the lines that travel to and from L1."""
    # A tile computes box after box. What a box reads was mostly written by the box before it, so it comes from where
    # two boxes fit; a strip as wide as the reach along every classic axis was written by the tile before, and comes
    # from where a whole tile fits. In 3D a line is fetched once per plane that reads it, unless those planes fit L1
    # together. A box that is one run of memory is fetched ahead as much as in streaming tiles.
    numbers = rates.numbers
    exposed = np.where(work.runs > 0, numbers.l3_exposed_fraction, numbers.l3_exposed_fraction_boxes)
    lines = read_again(work, facts, rates) + work.rim
    footprints = work.box_values * facts.itemsize, footprint_bytes(work, facts)
    hidden, stalls = _transfers(footprints[0], lines, exposed, facts, rates)
    if np.any(work.strip):
        far = _transfers(footprints[1], lines, exposed, facts, rates)
        hidden, stalls = ((1.0 - work.strip) * a + work.strip * b for a, b in zip((hidden, stalls), far, strict=True))
    stalls = stalls + again_seconds(work, facts, rates) + beside_seconds(work.around, footprints[1], facts, rates)
    compute = rates.c_iter.value + facts.further[-1] * rates.short_row_seconds * short(work, rates)
    return np.asarray(overlapped(compute, hidden, rates.numbers) + stalls)


def read_again(work: BoxWork, facts: Facts, rates: CpuRates) -> Floats:
    """Return the lines that come from L2 once more per vector: in 3D once per further plane, or two, that read them."""
    # The planes that a result reads are passed one after the other; between them a line stays in L1 only if all of them
    # fit there together.
    window = (sum(facts.sides[0]) + 1.0) * work.plane_values * facts.itemsize
    return np.asarray(facts.again * (window > rates.numbers.cache_fraction * rates.l1_bytes) * 1.0)


def again_seconds(work: BoxWork, facts: Facts, rates: CpuRates) -> Floats:
    """Return what is felt, per vector and time step, of planes that L2 has lost before the next result reads them."""
    # Between two results that read a line lie all planes that one result reads and writes.
    planes = (facts.reads + facts.further[0] + facts.fetches) / facts.stages
    between = planes * work.plane_values * facts.itemsize
    return beside_seconds(read_again(work, facts, rates), between, facts, rates)


def beside_seconds(values: Floats | float, footprint: Ints | Floats, facts: Facts, rates: CpuRates) -> Floats:
    """Return what is felt, per vector, of values read once more while so many bytes are touched; nothing goes back."""
    if not np.any(values):
        return np.zeros(np.shape(footprint))
    lost, far = missed_inside(footprint, rates), missed_outside(footprint, rates)
    outer = rates.numbers.l3_exposed_fraction_boxes * (1.0 - far) * rates.outer_byte_seconds
    vector = rates.vector_width * facts.itemsize
    return np.asarray(vector * values * lost * (outer + far * rates.word_seconds / WORD))


def overlapped(compute: float | Floats, stream: float | Floats, cpu: Numbers) -> Floats:
    """Return the time of arithmetic and transfers that overlap: where the two are alike, both are felt."""
    # Hexagons whose boxes lie in L2 take as long as those whose boxes fit L1: little more than the longer one is felt.
    power = cpu.overlap_exponent
    return np.asarray((np.power(compute, power) + np.power(stream, power)) ** (1.0 / power))


def _transfers(
    footprint: Ints | Floats, again: Floats, exposed: Floats, facts: Facts, rates: CpuRates
) -> tuple[Floats, Floats]:
    """Time of the lines of one vector where data of this size lie: what hides behind arithmetic, and what is felt."""
    # A line is fetched for what is read, and for what is written unless it has been read. All pass from L2 to L1, where
    # the hardware fetches ahead; of those from L3 the share ``exposed`` is felt, of those from memory all, since boxes'
    # rows are too short to fetch them ahead.
    missed, far = missed_inside(footprint, rates), missed_outside(footprint, rates)
    vector = np.where(footprint > rates.l1_bytes, rates.vector_width * facts.itemsize, 0.0)
    fills = facts.reads + facts.fetches
    own = max(0, fills - facts.state_fills)  # what states take is no tile's
    hidden = (fills + again) * rates.cache_byte_seconds
    stalls = exposed * (1.0 - far) * rates.outer_byte_seconds + far * rates.word_seconds / WORD
    return vector * hidden, vector * missed * rates.numbers.bytes_per_fetch * own * stalls


def footprint_bytes(work: BoxWork, facts: Facts) -> Ints:
    """Return the bytes that a tile touches."""
    return np.asarray(work.tile_values * facts.itemsize).astype(np.int64)


def spilled_bytes(work: BoxWork, facts: Facts, rates: CpuRates) -> Floats:
    """Return the further bytes per tile because its footprint exceeds L2."""
    # The share of the footprint that does not fit is streamed again in every row, as without time tiling.
    footprint = footprint_bytes(work, facts)
    missed = missed_inside(footprint, rates) * missed_outside(footprint, rates)
    return np.asarray(missed * work.updates * (facts.swept_bytes / facts.cells / facts.stages))


_PER_FETCH = 1.5
"""Lines that pass in a copy per line that is fetched: one is read, one fetched to be written, and that one written
back, which occupies no buffer. Bandwidths are those of copies."""


def added_seconds(seconds: Floats, sizes: TileSizes, facts: Facts, rates: CpuRates) -> Floats:
    """Return what the states of a band of a gradient add to the seconds of tiles."""
    # A state that is kept is written box by box, each once it is computed, with no arithmetic beside. States that are
    # read pass the bus as they do in a sweep where rows are not cut, fetched ahead and beside the arithmetic. What a
    # core's own buffers of lines are occupied with is not beside it: the arithmetic's lines from L2 wait for the same
    # buffers. How long that is says the bandwidth from beyond L2 of a core. Where rows are cut, each piece of a row
    # begins anew in memory, and is waited for: its first cells, or the lines at its ends of which it writes a part.
    moved, series = state_seconds(facts, rates), facts.storage.series
    extent, size = facts.shape[-1], sizes.space[-1]
    lines = facts.steps * facts.cells / extent * len(series or facts.problem.program.updated)
    waits = lines * (extent / size + 1.0) * rates.fetch_seconds / rates.sm_count
    whole = (size >= extent) & (len(facts.shape) > 1)
    if not series:
        return np.where(whole, moved, moved + waits)
    room = buffer_seconds(facts, rates)
    return np.where(whole, overlapped(moved, seconds + room, rates.numbers) - seconds, max(moved, room) + waits)


def state_seconds(facts: Facts, rates: CpuRates) -> float:
    """Return the seconds in which all cores write or read the states, at the bandwidth of where they lie."""
    return 1.0 * facts.cells * facts.steps * facts.state_bytes * grid_seconds(facts, rates) / rates.sm_count


def buffer_seconds(facts: Facts, rates: CpuRates) -> float:
    """Return the seconds in which the cores' buffers of lines hold states that are read; 0 where L3 is unknown."""
    moved = 1.0 * facts.cells * facts.steps * facts.state_bytes
    return _PER_FETCH * moved * rates.outer_byte_seconds / rates.sm_count


_OCCUPIED = np.linspace(0.0, 8.0, 801)


@functools.lru_cache(maxsize=8)
def _lost(ways: float) -> Floats:
    """Share of lines lost for every one of so much that is occupied, of a cache with so many lines in a set."""
    return np.array([lost_at_random(float(each), int(ways)) for each in _OCCUPIED])


def grid_seconds(facts: Facts, rates: CpuRates) -> float:
    """Seconds per byte and core of the grid itself, from the first level that holds all its data."""
    whole, usable = facts.data_bytes, rates.numbers
    if whole <= usable.cache_fraction * rates.sm_count * rates.shared_bytes:
        return rates.cache_byte_seconds
    if whole <= usable.l3_grid_fraction * rates.sm_count * rates.outer_bytes:
        return rates.outer_byte_seconds
    return rates.word_seconds / WORD


def off_chip(facts: Facts, rates: CpuRates) -> bool:
    """Whether the grid lies in memory, and in no cache."""
    usable = rates.numbers
    room = max(usable.cache_fraction * rates.shared_bytes, usable.l3_grid_fraction * rates.outer_bytes)
    return facts.data_bytes > rates.sm_count * room


def missed_outside(footprint: Ints | Floats, rates: CpuRates) -> Floats:
    """Share of what does not fit L2 that does not fit a core's part of L3 either; 1 without L3."""
    room = rates.numbers.l3_tile_fraction * rates.outer_bytes
    return share_missed(footprint, room) if room else np.ones(np.shape(footprint))


def missed_inside(footprint: Ints | Floats, rates: CpuRates) -> Floats:
    """Share of a tile's footprint that L2 has lost when it is used again."""
    # Pages lie anywhere in memory, so that lines in a set are Poisson distributed, and some sets overflow long before
    # the cache is full.
    occupied = np.asarray(footprint, dtype=np.float64) / rates.shared_bytes
    return np.asarray(np.interp(occupied, _OCCUPIED, _lost(rates.numbers.l2_ways)))


def missed_by_bands(touched: Floats | float, rates: CpuRates) -> Floats:
    """Share of what one band of tiles leaves for the next that L3 has lost when all cores touched so many bytes."""
    room = rates.numbers.l3_grid_fraction * rates.sm_count * rates.outer_bytes
    return share_missed(touched, room) if room else np.ones(np.shape(touched))


def share_missed(footprint: Ints | Floats | float, room: float) -> Floats:
    """Share of so many bytes that so much room does not hold."""
    return np.asarray(np.clip(1.0 - room / np.maximum(footprint, 1), 0.0, 1.0))

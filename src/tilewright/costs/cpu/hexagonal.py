"""The time model on a CPU: hexagons in wavefronts over cores, rows in vectors, tiles in the cache of a core.

The papers' structure with n_SM = cores, n_V = SIMD lanes, M_SM = L2 per core and k = 1, and what differs from a GPU:
rows are clipped at the grid, so partial tiles cost what they compute; a row of the innermost axis has a start-up cost
and a last vector that is half empty on average; a footprint above the cache does not fail but streams from memory.
This is our own extension; nothing of it is printed.
"""

import numpy as np

from tilewright.base.constants import CACHE_LINE, WORD
from tilewright.costs import traffic
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.cpu.levels import data_bytes, grid_seconds, missed_inside, missed_outside, off_chip, share_missed
from tilewright.costs.setting import Setting

SHORT_ROW = 7
"""Vectors of a piece of a row below which neighbours are loaded, not put together from vectors in registers."""


def evaluate(sizes: TileSizes, setting: Setting) -> Breakdown:
    """Evaluate the model of a CPU; seconds and words of a tile are a prism's over its number of tiles."""
    rows, face = traffic.height(sizes, setting), traffic.face_points(sizes, setting)
    count = traffic.prism_tiles(sizes, setting)
    plane = setting.cells // setting.shape[0]
    compute = compute_seconds(sizes, setting)
    footprint = footprint_bytes(sizes, setting)
    shadow = (traffic.width(sizes, setting) + 2 * setting.slopes[0]) * plane * setting.itemsize
    far = spilled_bytes(sizes, setting, footprint) * missed_outside(footprint, setting)
    read = shadow * float(setting.copies)
    written = shadow * float(setting.copies - setting.constants)
    io_seconds = (read + written) * grid_seconds(setting)
    fronts = traffic.wavefronts(sizes, setting)
    sync = (fronts[0] + fronts[1]) * setting.launch_seconds
    # All rows of a colour's tiles together are the grid at every step: 2 T / t_T full wavefronts in all.
    full = 2.0 * setting.steps * setting.stages / rows
    together = compute + io_seconds
    tiles = setting.shape[0] / traffic.pitch(sizes, setting)
    compulsory = 2.0 * data_bytes(setting)
    outside = off_chip(setting)
    return Breakdown(
        wavefronts=fronts[0] + fronts[1],
        tiles_per_wavefront=np.maximum(*traffic.tiles_per_wavefront(sizes, setting)),
        tiles_per_prism=count,
        tile_points=sizes.inner * face // setting.stages,
        input_words=(read + far) / WORD / count,
        output_words=written / WORD / count,
        shared_bytes=footprint,
        tiles_per_sm=np.ones_like(rows),
        io_seconds=io_seconds / count,
        compute_seconds=compute / count,
        prism_seconds=together,
        dram_bytes=(read + far + written) * full * tiles if outside else np.full(rows.shape, compulsory),
        sync_seconds=sync,
        seconds=sync + full * together * rounds(sizes, setting),
    )


def rounds(sizes: TileSizes, setting: Setting) -> Floats:
    """Tiles that the busiest core computes per wavefront, mean of both colours.

    Cores take the tiles in order, each as soon as it is free; the first and the last one are clipped at the grid.
    """
    base, distance, cores = sizes.space[0], traffic.pitch(sizes, setting), setting.sm_count
    overhang = (traffic.width(sizes, setting) - base) // 2
    counts = traffic.tiles_per_wavefront(sizes, setting)
    mean = np.zeros(len(base))
    for origin, count in zip((0 * base, base + overhang), counts, strict=True):
        left = origin + (-(origin + base + overhang) // distance + 1) * distance
        first, last = (_inside(left + k * distance, base, overhang, setting.shape[0]) for k in (0 * count, count - 1))
        each, rest = np.divmod(np.maximum(count - 2, 0), cores)
        # The first tile's core is the last to take a whole one; the last tile goes to whoever is free first.
        some = np.where(rest == cores - 1, np.maximum(each + (cores > 1), each + first + last), each + 1.0)
        ends = np.where(rest == 0, each + np.maximum(first, last), some) if cores > 1 else each + first + last
        mean = mean + 0.5 * np.where(count < 2, np.where(count < 1, 0.0, first), ends)
    return mean


def _inside(left: Ints, base: Ints, overhang: Ints, extent: int) -> Floats:
    """Share of a tile's mean row that lies in the grid."""
    low, high = left - 0.5 * overhang, left + base + 0.5 * overhang
    return np.asarray(np.maximum(0.0, np.minimum(high, extent) - np.maximum(low, 0.0)) / (high - low))


def compute_seconds(sizes: TileSizes, setting: Setting) -> Floats:
    """Computation of one whole prism, c: boxes of rows of vectors, clipped to the grid along the classic axes."""
    rows, face = traffic.height(sizes, setting), traffic.face_points(sizes, setting)
    iteration = tile_vector_seconds(sizes, setting)
    boxes = rows * traffic.prism_tiles(sizes, setting) * setting.barrier_seconds
    if len(sizes.space) == 1:
        vectors = face / setting.vector_width + 0.5 * rows
        return np.asarray(vectors * iteration + rows * setting.row_seconds + boxes)
    vectors, pieces = line_vectors(sizes, setting)
    # A piece begins with cells that the tile before wrote. Lines that are not cut follow each other in memory.
    plane = 1.0 / sizes.space[-2] if len(sizes.space) > 2 else 0.0
    breaks = np.where(pieces > 1, pieces, plane)
    missed = missed_inside(footprint_bytes(sizes, setting), setting)
    # In L2 the first line of a cut plane of a box is waited for, and those behind it are fetched ahead.
    planes = np.where(pieces > 1, pieces * plane, 0.0)
    wait = (missed * breaks + (1.0 - missed) * planes) * setting.fetch_seconds
    cut = np.where(pieces > 1, pieces * setting.cut_seconds, 0.0)
    line = vectors * iteration + pieces * setting.row_seconds + cut + wait
    lines = setting.cells // setting.shape[0] // setting.shape[-1]
    return np.asarray(face * lines * line * beyond(setting) + boxes)


def beyond(setting: Setting) -> float:
    """How many times as long rows take because L2, or no cache, does not hold the grid.

    What a tile begins with comes from afar row by row, each on pages of its own, and nothing is fetched ahead beyond
    the ends of its pieces.
    """
    data, known = np.array(data_bytes(setting)), setting.coefficients
    own, outer = known.cache_fraction * setting.shared_bytes, known.l3_grid_fraction * setting.outer_bytes
    near, far = setting.sm_count * own, setting.sm_count * max(own, outer)
    return 1.0 + (known.far_row_ratio - 1.0) * 0.5 * float(share_missed(data, near) + share_missed(data, far))


def line_vectors(sizes: TileSizes, setting: Setting) -> tuple[Floats, Floats]:
    """Vectors and pieces of one line of the grid along the innermost axis, mean of all rows of a tile.

    The cuts move with the rows. The last vector of a piece overlaps the one before, and a piece that is shorter than a
    vector is computed cell by cell.
    """
    extent, slope, width = setting.shape[-1], setting.slopes[-1], setting.vector_width
    pairs, place = np.unique(np.stack([traffic.height(sizes, setting), sizes.space[-1]]), axis=1, return_inverse=True)
    vectors, pieces = np.empty(pairs.shape[1]), np.empty(pairs.shape[1])
    for number, (rows, size) in enumerate(pairs.T):
        first = np.minimum(extent, size - slope * np.arange(rows) % size)
        whole, last = np.divmod(extent - first, size)
        counts = [np.where(piece < width, piece, ceil_div(piece, width)) for piece in (first, last)]
        vectors[number] = (sum(counts) + whole * (-(-size // width) if size >= width else size)).mean()
        pieces[number] = (1 + whole + (last > 0)).mean()
    return vectors[place.ravel()], pieces[place.ravel()]


def tile_vector_seconds(sizes: TileSizes, setting: Setting) -> Floats:
    """Time per vector and logical step of a tile: arithmetic, and the lines that travel to and from L1.

    A tile computes box after box. What a box reads was mostly written by the box before it, so it comes from where two
    boxes fit; a strip as wide as the reach along every classic axis was written by the tile before, and comes from
    where a whole tile fits. In 3D a line is fetched once per plane that reads it, unless those planes fit L1 together.
    In 2D a box of rows that are not cut is one run of memory, of which as much is fetched ahead as in streaming tiles.
    """
    box, whole = box_bytes(sizes, setting), footprint_bytes(sizes, setting)
    strip = np.zeros(len(sizes.time))
    for size, extent, slope in zip(sizes.space[1:], setting.shape[1:], setting.slopes[1:], strict=True):
        strip = strip + np.where(size >= extent, 0.0, np.minimum(1.0, (slope + 1.0) / size))
    strip = np.minimum(strip, 1.0)
    again, known = read_again(sizes, setting), setting.coefficients
    run = (sizes.space[-1] >= setting.shape[-1]) & (len(setting.shape) == 2)
    exposed = np.where(run, known.l3_exposed_fraction, known.l3_exposed_fraction_boxes)
    lines = again + rim_lines(sizes, setting)
    near, far = (_transfers(each, lines, exposed, setting) for each in (box, whole))
    hidden, felt = ((1.0 - strip) * a + strip * b for a, b in zip(near, far, strict=True))
    felt = felt + again_seconds(sizes, setting)
    short = sizes.space[-1] < min(SHORT_ROW * setting.vector_width, setting.shape[-1])
    compute = setting.c_iter.value + setting.short_row_seconds * short
    return np.asarray(overlapped(compute, hidden, setting) + felt) / setting.stages


def read_again(sizes: TileSizes, setting: Setting) -> Floats:
    """Lines that come from L2 once more per vector: in 3D once per further plane, or two of them, that read them.

    The planes that a result reads are passed one after the other; between them a line stays in L1 only if all of them
    fit there together.
    """
    if len(setting.shape) != 3:
        return np.zeros(len(sizes.time))
    window = (sum(setting.sides[0]) + 1.0) * _plane_bytes(sizes, setting)
    return np.asarray(setting.again * (window > setting.coefficients.cache_fraction * setting.l1_bytes) * 1.0)


def rim_lines(sizes: TileSizes, setting: Setting) -> Floats:
    """Lines that come from L2 per vector besides a box's own: those of the rows around each of its planes.

    A plane that is cut along its middle axis is read with rows that other tiles write, as many whatever its size.
    """
    return traffic.around(sizes, setting, (1,) if len(setting.shape) == 3 else ())


def again_seconds(sizes: TileSizes, setting: Setting) -> Floats:
    """What is felt, per vector and time step, of the planes that L2 has lost before the next result reads them.

    Between two results that read a line lie all planes that one result reads and writes.
    """
    planes = (setting.reads + setting.further[0] + setting.fetches) / setting.stages
    between = planes * _plane_bytes(sizes, setting)
    return beside_seconds(read_again(sizes, setting), between, setting)


def beside_seconds(values: Floats, footprint: Ints | Floats, setting: Setting) -> Floats:
    """What is felt, per vector, of values read once more while so many bytes are touched; nothing goes back."""
    lost, far = missed_inside(footprint, setting), missed_outside(footprint, setting)
    outer = setting.coefficients.l3_exposed_fraction_boxes * (1.0 - far) * setting.outer_byte_seconds
    vector = setting.vector_width * setting.itemsize
    return np.asarray(vector * values * lost * (outer + far * setting.word_seconds / WORD))


def _plane_bytes(sizes: TileSizes, setting: Setting) -> Floats:
    """Bytes of one field's plane of a box, with the cells around it that are read."""
    plane = np.full(len(sizes.time), 1.0 * setting.itemsize)
    for size, side, extent in zip(sizes.space[1:], setting.sides[1:], setting.shape[1:], strict=True):
        plane = plane * np.minimum(size + sum(side), extent)
    return plane


def vector_seconds(footprint: Ints, again: Floats, setting: Setting) -> Floats:
    """Time per vector and logical step of a tile that touches so many bytes all over again at every step."""
    exposed = np.full(len(footprint), setting.coefficients.l3_exposed_fraction_boxes)
    hidden, felt = _transfers(footprint, again, exposed, setting)
    return np.asarray(overlapped(setting.c_iter.value, hidden, setting) + felt) / setting.stages


def overlapped(compute: float | Floats, stream: Floats, setting: Setting) -> Floats:
    """Time of arithmetic and transfers that overlap: the longer of the two; where they are alike, both are felt.

    Hexagons whose boxes lie in L2 take as long as those whose boxes fit L1: little more than the longer one is felt.
    """
    power = setting.coefficients.overlap_exponent
    return np.asarray((compute**power + stream**power) ** (1.0 / power))


def _transfers(footprint: Ints | Floats, again: Floats, exposed: Floats, setting: Setting) -> tuple[Floats, Floats]:
    """Time of the lines of one vector where data of this size lie: what hides behind arithmetic, and what is felt.

    A line is fetched for what is read, and for what is written unless it has been read. All pass from L2 to L1, where
    the hardware fetches ahead; of those from L3 the share ``exposed`` is felt, of those from memory all, since boxes'
    rows are too short to fetch them ahead.
    """
    missed, beyond = missed_inside(footprint, setting), missed_outside(footprint, setting)
    vector = np.where(footprint > setting.l1_bytes, setting.vector_width * setting.itemsize, 0.0)
    fills = setting.reads + setting.fetches
    own = max(0, fills - setting.state_fills)  # what states take is no tile's
    hidden = (setting.reads + again + setting.fetches) * setting.cache_byte_seconds
    known = setting.coefficients
    outer = exposed * (1.0 - beyond) * setting.outer_byte_seconds
    felt = outer + beyond * setting.word_seconds / WORD
    return vector * hidden, vector * missed * known.bytes_per_fetch * own * felt


def box_bytes(sizes: TileSizes, setting: Setting) -> Floats:
    """Bytes of every copy of every field over the cells of a mean box of a tile and those around it that it reads.

    A piece of a row begins and ends anywhere in a cache line.
    """
    hull = 0.5 * traffic.pitch(sizes, setting) + sum(setting.sides[0])
    last = len(setting.shape) - 1
    for axis in range(1, len(setting.shape)):
        ends = CACHE_LINE // setting.itemsize - 1 if axis == last else 0
        hull = hull * np.minimum(sizes.space[axis] + sum(setting.sides[axis]) + ends, setting.shape[axis])
    return np.asarray(hull * (setting.copies * setting.itemsize))


def footprint_bytes(sizes: TileSizes, setting: Setting) -> Ints:
    """Bytes that one tile touches: every copy of every field over the hull of its rows, clipped to the grid."""
    rows = traffic.height(sizes, setting)
    hull = np.minimum(traffic.width(sizes, setting) + 2 * setting.slopes[0], setting.shape[0])
    for size, slope, extent in zip(sizes.space[1:], setting.slopes[1:], setting.shape[1:], strict=True):
        hull = hull * np.minimum(size + slope * (rows + 1), extent)
    return hull * (setting.copies * setting.itemsize)


def spilled_bytes(sizes: TileSizes, setting: Setting, footprint: Ints) -> Floats:
    """Further bytes per prism because the footprint exceeds L2.

    The share of the footprint that does not fit is streamed again in every row, as without time tiling.
    """
    miss = missed_inside(footprint, setting)
    per_point = traffic.swept_bytes(setting) / setting.cells / setting.stages
    plane = setting.cells // setting.shape[0]
    return np.asarray(miss * traffic.face_points(sizes, setting) * plane * per_point)

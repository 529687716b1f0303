"""The time model taken apart by what each factor depends on, for searches that vary the machine.

``T = N_w T_sync + T_prism(tile, k, program; n_V, L) * rounds(tile, k, size; n_SM)``, and M_SM only decides which
tiles and which k are possible. Nothing here is a further model: every formula is that of
:mod:`tilewright.costs.gpu.blocks` or :mod:`tilewright.costs.published.time`, called with arrays (tested to be
bit-equal).
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.gpu import blocks
from tilewright.costs.published import time as published
from tilewright.costs.setting import Setting
from tilewright.costs.work import hexagonal

SINGLE = ("serial", "overlapped")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparableForm:
    """Which form of the time model: what the thesis' codesign leaves open, named."""

    model: str = "exact"  # ``exact`` or ``published``
    # ``exact`` for 2 t_S + r (t_T - 2), ``published`` for (5) and (22); None for the model's own
    pitch: str | None = None
    # what one tile per SM alone (k = 1) costs: ``serial`` does not overlap transfers and computation, (m' + c) N;
    # ``overlapped`` continues the form for k > 1
    single: str = "serial"

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("model", self.model, time_model.MODELS),
            ("pitch", self.pitch or self.model, time_model.MODELS),
            ("form at k = 1", self.single, SINGLE),
        ):
            if value not in choices:
                raise UsageError(f"the {name} is one of {', '.join(choices)}, got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TileTerms:
    """What depends on the tile and the width of an SM, but neither on the size of the problem nor on n_SM and M_SM."""

    io_seconds: Floats  # m', at the device's whole bandwidth; shape (n,)
    compute_seconds: Floats  # c; shape (n,)
    words: Floats  # m_i + m_o; shape (n,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What depends on the tile and the size of the problem, but not on the machine."""

    fronts: tuple[Ints, ...]  # wavefronts per colour, of which the printed model has one; each of shape (n,)
    tiles: tuple[Ints, ...]  # tiles, prisms or slabs per wavefront and colour; each of shape (n,)
    count: Ints  # tiles in sequence per prism or slab; shape (n,)

    @property
    def wavefronts(self) -> Ints:
        """N_w."""
        return np.asarray(sum(self.fronts))

    @property
    def prisms(self) -> Ints:
        """Prisms over all wavefronts."""
        return np.asarray(sum(n * w for n, w in zip(self.fronts, self.tiles, strict=True)))


def tile_terms(sizes: TileSizes, setting: Setting, form: SeparableForm, vector_width: int) -> TileTerms:
    """Evaluate the papers' equations of tiles for one width of an SM; see :class:`TileTerms`."""
    setting = setting.at(vector_width=vector_width)
    if form.model == "exact":
        work = hexagonal.blocks(sizes, setting.facts)
        result = blocks.evaluate(work, sizes.k, setting.facts, setting.rates)
    else:
        result = published.evaluate(sizes, setting)
    return TileTerms(
        io_seconds=result.io_seconds,
        compute_seconds=result.compute_seconds,
        words=result.input_words + result.output_words,
    )


def schedule(sizes: TileSizes, setting: Setting, form: SeparableForm) -> Schedule:
    """Count wavefronts, prisms and tiles per prism; see :class:`Schedule`."""
    extent = setting.facts.shape[0] + 0 * sizes.time
    pitch = form.pitch or form.model
    if form.model == "published":
        distance = published.pitch(sizes) if pitch == "published" else hexagonal.pitch(sizes, setting.facts)
        fronts, tiles = published.wavefronts(sizes, setting), ceil_div(extent, distance)
        return Schedule(fronts=(fronts,), tiles=(tiles,), count=published.prism_tiles(sizes, setting))
    per_colour = hexagonal.tiles_per_wavefront(sizes, setting.facts)
    if pitch == "published":
        per_colour = (ceil_div(extent, published.pitch(sizes)),) * 2
    return Schedule(
        fronts=hexagonal.wavefronts(sizes, setting.facts),
        tiles=per_colour,
        count=hexagonal.prism_tiles(sizes, setting.facts),
    )


def prism_seconds(io_seconds: Floats, compute: Floats, k: Ints, count: Ints, form: SeparableForm, rank: int) -> Floats:
    """Time of k prisms of N tiles each, together on one SM, in the form that is asked for."""
    if form.single == "overlapped":
        longer = np.maximum(io_seconds, compute)
        if form.model == "published":
            return np.asarray(io_seconds + k * longer * count)
        return np.asarray(np.minimum(io_seconds, compute) + k * count * longer)
    if form.model == "published":
        return published.prism_seconds(io_seconds, compute, k, count, rank)
    return blocks.prism_seconds(io_seconds, compute, k, count)

"""Ways to choose a tile, judged side by side on measured points (Prajapati et al., PPoPP 2017, section 6).

The paper's four (compiler default, model minimum, best within 10 % of it, exhaustive), what it compares with (baseline
best, largest footprint), half the capacity, the thesis's choice without C_iter (8.1.2: the largest hexagon face), and
chance.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.accuracy import Comparison
from tilewright.costs.arrays import Ints, TileSizes

BAND = 0.10  # the band around the model's minimum that is searched (section 6.1)
BASELINE_TILES = 85
BASELINE_THREADS = 10
DEFAULT_SIZE = 32  # tile size of every axis where a user gives none (PPCG's default)
RANDOM_SHARE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpace(Comparison):
    """Measured tilings with what the strategies need to know of them; arrays of shape (n,)."""

    sizes: TileSizes
    threads: tuple[Ints, ...]  # threads per axis
    footprint: Ints  # bytes that a tile keeps on chip
    face: Ints  # points of a hexagon over all its rows
    limit: int  # bytes that a block may use

    @property
    def tiles(self) -> Ints:
        """Number of every point's tile: points that differ in their threads only share it."""
        rows = np.stack([self.sizes.time, *self.sizes.space], axis=1)
        return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel())


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What one strategy reaches."""

    name: str
    fraction: float  # best measured speed of what it tries, as a share of the best of all; 0 where it finds nothing
    tries: int  # how many points it measures; the mean number until 90 % for chance
    note: str = ""  # what it chose, or why nothing


def compare(space: MeasuredSpace, seed: int = 0) -> tuple[Strategy, ...]:
    """Judge every strategy on measured points, the paper's four first; the seed is of the baseline's thread shapes."""
    if len(space.measured) == 0:
        raise UsageError("strategies are compared on measured points, got none")
    order = space.order
    band = np.flatnonzero(space.predicted <= (1.0 + BAND) * space.predicted[order[0]])
    every = np.arange(len(space.measured))
    plain = [
        _judge(space, "compiler default", _default(space), "the measured point nearest to 32 x 32 …"),
        _judge(space, "model minimum", order[:1]),
        _judge(space, "within 10 % of the model's minimum", band),
        _judge(space, "exhaustive", every),
        _judge(space, "model, ten first", order[:10]),
        _judge(
            space, "baseline", _baseline(space, seed), f"{BASELINE_TILES} largest tiles, {BASELINE_THREADS} threads"
        ),
        _judge(space, "largest footprint", _largest(space, space.footprint, 1.0), "every thread shape"),
        _judge(space, "half capacity", _largest(space, space.footprint, 0.5), "every thread shape"),
        _judge(space, "largest hexagon face", _largest(space, space.face, 1.0), "every thread shape"),
    ]
    chance = float(np.mean(space.measured.min() / space.measured))
    tries = round(space.random_tries(RANDOM_SHARE))
    plain.append(Strategy(name="random", fraction=chance, tries=1, note=f"{tries} tries for {RANDOM_SHARE:.0%}"))
    return tuple(plain)


def _judge(space: MeasuredSpace, name: str, chosen: Ints, note: str = "") -> Strategy:
    if len(chosen) == 0:
        return Strategy(name=name, fraction=0.0, tries=0, note="no measured point")
    return Strategy(name=name, fraction=space.share(chosen), tries=len(chosen), note=note)


def _default(space: MeasuredSpace) -> Ints:
    sizes = np.stack([space.sizes.time, *space.sizes.space, space.threads[-1]], axis=1)
    distance = np.abs(np.log2(sizes / DEFAULT_SIZE)).sum(axis=1)
    return np.asarray(np.argsort(distance, kind="stable")[:1])


def _baseline(space: MeasuredSpace, seed: int) -> Ints:
    """The paper's baseline: the 85 tiles of largest footprint that fit, ten thread shapes each."""
    tiles = space.tiles
    fits = space.footprint <= space.limit
    ranked = list(dict.fromkeys(tiles[fits][np.argsort(-space.footprint[fits], kind="stable")].tolist()))
    generator = np.random.default_rng(seed)
    chosen = []
    for tile in ranked[:BASELINE_TILES]:
        points = np.flatnonzero(tiles == tile)
        chosen.append(generator.permutation(points)[:BASELINE_THREADS])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _largest(space: MeasuredSpace, size: Ints, share: float) -> Ints:
    fits = np.flatnonzero(space.footprint <= share * space.limit)
    if len(fits) == 0:
        return fits
    tile = space.tiles[fits[np.argmax(size[fits])]]
    return np.flatnonzero(space.tiles == tile)

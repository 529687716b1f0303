"""How far apart a streaming tile uses the same row again: what decides which cache a row comes from.

A tile is walked through once, level by level and advance by advance, with the very rows that its kernel addresses
(:mod:`tilewright.schedules.streaming.levels`). Between two uses of a row lie so many other rows, its stack distance
(Mattson, Gecsei, Slutz and Traiger, IBM Systems Journal 1970); a cache that drops what was used longest ago still has
the row if no more fits in between. Nothing is fitted here.
"""

import functools
import math
from dataclasses import dataclass

from tilewright.base.facts import fact
from tilewright.programs.stencil.program import Program
from tilewright.schedules.streaming.levels import LevelPipeline

Row = tuple[str, int, int, int]  # where a row lies: passing or kept, the field, the slab and the row in it
_ADVANCES = 3
_L1_SETS = 64
_FULL = 4  # cachefuls in between of which nothing is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """Rows that all stages of a level use in one advance, by when they were used before."""

    # pairs of rows that lie between two uses by the same advance, and how many rows are used again so
    near: tuple[tuple[float, float], ...]
    far: float  # rows that were used last by the advance before: the whole tile lies in between
    written: float  # rows that are written
    slabs: int  # slabs that a tile keeps, whatever its levels
    slabs_per_level: int  # further slabs for each level

    @property
    def used(self) -> float:
        """Rows that all stages of a level use in one advance, those of every stage counted for itself."""
        return self.far + sum(count for _, count in self.near)


@fact
def uses(program: Program, pipeline: LevelPipeline, rows: int) -> Uses:
    """Walk through a tile in its steady state, ``rows`` cells of axis 0 per advance; a row is a plane's in 3D."""
    stages = range(len(pipeline.stages))
    levels = max(pipeline.versions) + max(pipeline.history) + 3
    units = [
        _touched(program, pipeline, rows, advance, level, stage)
        for advance in range(_ADVANCES)
        for level in range(levels)
        for stage in stages
    ]
    per = levels * len(stages)
    first = (_ADVANCES - 1) * per + (levels - 2) * len(stages)  # one of the last levels of the last advance
    near: dict[float, float] = {}
    far = 0.0
    for number in range(first, first + len(stages)):
        for row in units[number][0] | units[number][1]:
            before = next(k for k in range(number - 1, -1, -1) if row in units[k][0] or row in units[k][1])
            if before < (_ADVANCES - 1) * per:
                far += 1.0
            else:
                between = _between(units, before, number)
                near[between] = near.get(between, 0.0) + 1.0
    written = sum(len(units[k][1]) for k in range(first, first + len(stages)))
    fields = range(len(program.fields))
    passing = sum(pipeline.versions[field] * (rows - pipeline.keep[field]) for field in fields)
    return Uses(
        near=tuple(sorted(near.items())),
        far=far,
        written=float(written),
        slabs=passing + sum(2 * pipeline.keep[field] * pipeline.history[field] for field in fields),
        slabs_per_level=sum(2 * pipeline.keep[field] for field in fields),
    )


def _touched(
    program: Program, pipeline: LevelPipeline, rows: int, advance: int, level: int, stage: int
) -> tuple[frozenset[Row], frozenset[Row]]:
    """Rows that one stage of one level reads and writes in an advance."""
    turn = advance % 2
    produced = [field for field, made in enumerate(pipeline.stage_of) if made == stage]
    reads = {
        (program.fields.index(read.field), read.level, read.offset[0] if len(read.offset) > 1 else 0)
        for number in pipeline.stages[stage]
        for read in program.statements[number].reads
    }
    reads |= {(field, 0, 0) for field in produced if program.fields[field] not in program.updated}
    read = set()
    for field, age, offset in reads:
        lag = pipeline.lag.at(1 - age, stage) - pipeline.lag.offsets[pipeline.stage_of[field]]
        read |= {_row(pipeline, rows, turn, field, level + age, k + offset - lag) for k in range(rows)}
    written = {_row(pipeline, rows, turn, field, level + 1, k) for field in produced for k in range(rows)}
    return frozenset(read), frozenset(written)


def _row(pipeline: LevelPipeline, rows: int, turn: int, field: int, version: int, position: int) -> Row:
    """Where a row of a version lies: 0 is the first of this advance, negative ones outlived the one before."""
    keep = pipeline.keep[field]
    passing = rows - keep
    if 0 <= position < passing:
        return ("passing", field, version % pipeline.versions[field], position)
    if position < 0:
        return ("kept", field, 2 * version + 1 - turn, position + keep)
    return ("kept", field, 2 * version + turn, position - passing)


def _between(units: list[tuple[frozenset[Row], frozenset[Row]]], first: int, last: int) -> float:
    """Rows' worth of other lines between a use by one unit and one by a later one, mean over a row."""
    # All of what units in between use; of the first unit what lies behind the line, of the last one what lies before
    # it, which is one row for a row that both use.
    inner = frozenset[Row]().union(*(read | written for read, written in units[first + 1 : last]))
    ends = [read | written for read, written in (units[first], units[last])]
    return len(inner) + 0.5 * sum(len(end - inner) for end in ends) - 1.0


@functools.lru_cache(maxsize=4096)
def lost_in_order(between: float, lines: int, ways: int) -> float:
    """Share of a row's lines that a first-level cache has lost once so many other rows have been used.

    Such a cache finds a line's set by the place within a page of 4 KiB, that is 64 sets; a row of n lines puts n // 64
    of them into every set, and one more into n mod 64 of the sets, and rows start anywhere. A line is lost if there are
    as many others in its set as the set has ways (Hill and Smith, IEEE Transactions on Computers 1989).

    >>> lost_in_order(9, 64, 8), lost_in_order(7, 64, 8)
    (1.0, 0.0)
    """
    if between * lines > _FULL * ways * _L1_SETS:
        return 1.0
    whole, rest = divmod(lines, _L1_SETS)
    low = math.floor(between)
    share = between - low
    own = min(whole, 1)  # a row of more than 64 lines meets itself
    lost = [_tail(count + own, rest / _L1_SETS, ways + own - (count + own) * whole) for count in (low, low + 1)]
    return (1.0 - share) * lost[0] + share * lost[1]


def _tail(count: int, chance: float, least: int) -> float:
    """Chance that at least so many of ``count`` rows have a line more in a set."""
    if least <= 0:
        return 1.0
    fewer = range(min(least, count + 1))  # the few terms below: those above outgrow a float for a thousand rows
    return max(0.0, 1.0 - math.fsum(math.comb(count, k) * chance**k * (1.0 - chance) ** (count - k) for k in fewer))


@functools.lru_cache(maxsize=4096)
def lost_at_random(occupied: float, ways: int) -> float:
    """Share of lines that a cache has lost once others have been used that would fill such a share of it."""
    # Pages lie anywhere in memory, and so do their lines in the sets of a cache beyond the first one: the lines in a
    # set are Poisson distributed.
    mean = occupied * ways
    if mean > 40.0 * ways:
        return 1.0
    below = math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(ways)) if mean else 1.0
    return min(1.0, max(0.0, 1.0 - below))

"""Which candidates to try, and in which order: stratified over families, heights and predicted costs."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError, one_of
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.select import rank

EFFORTS = ("none", "quick", "full", "exhaustive")
TOP = 10  # candidates of a shortlist that come before its walk over the whole space
LIKENESS = 0.05
"""By how much dearer a candidate counts for each one of its family that is tried before it, and again for each of its
height too: models err by about so much from family to family and from height to height."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is tried."""

    candidates: int  # most candidates that are tried
    seconds: float  # time after which nothing new is begun; infinite for no limit
    finalists: int  # candidates that are measured in interleaved repeats
    repeats: int  # samples per finalist
    refine: float  # share of the candidates that is kept for what the measurements of the others make promising


LEVELS: dict[str, Effort] = {
    "none": Effort(candidates=10, seconds=0.0, finalists=0, repeats=0, refine=0.0),
    "quick": Effort(candidates=16, seconds=20.0, finalists=3, repeats=3, refine=0.75),
    "full": Effort(candidates=80, seconds=180.0, finalists=6, repeats=5, refine=0.75),
    "exhaustive": Effort(candidates=400, seconds=float("inf"), finalists=10, repeats=7, refine=0.0),
}
"""The effort levels by name; ``none`` lists the model's choices and runs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A tiling that may be tried."""

    tiling: Tiling
    predicted: float  # cost, in the unit of the metric


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilySpace:
    """The space of one family."""

    family: Family
    sizes: TileSizes  # points
    cost: Floats  # predicted cost per point, infinite where one does not fit
    make: Callable[[int], Tiling]  # makes the tiling of a point
    # what families are compared by: the cost, with what a run takes besides and a margin where a model is less certain;
    # orders the points of a family as the cost does
    expected: Floats
    # returns the slopes of the logarithm of the cost of some points, by index, along the numbers of the model, the same
    # in all families (:mod:`tilewright.tuning.sensitivity`); shape (m, p); None if unknown
    slopes: Callable[[Ints], Floats] | None = None

    def at(self, index: int) -> Candidate:
        """Return a point as a candidate."""
        return Candidate(tiling=self.make(index), predicted=float(self.cost[index]))


def effort_level(name: str, seconds: float | None = None, candidates: int | None = None) -> Effort:
    """Return an effort level, with a user's own limits.

    >>> effort_level("quick", candidates=5).candidates
    5
    """
    one_of("the effort", name, EFFORTS)
    level = LEVELS[name]
    if seconds is not None and not seconds > 0:
        raise UsageError(f"the time budget is a positive number of seconds, got {seconds!r}")
    if candidates is not None and (isinstance(candidates, bool) or int(candidates) != candidates or candidates < 1):
        raise UsageError(f"the number of candidates is a whole number of at least 1, got {candidates!r}")
    return replace(
        level,
        candidates=level.candidates if candidates is None else int(candidates),
        seconds=level.seconds if seconds is None else float(seconds),
    )


def ranked(family_spaces: Sequence[FamilySpace], top: int) -> tuple[Candidate, ...]:
    """Return the ``top`` candidates of lowest predicted cost over all families, best first."""
    # Ties go to the family that comes first, then to the smaller sizes.
    heads = [(family_space, _best(family_space, top)) for family_space in family_spaces]
    points = [
        (float(s.cost[i]), number, place, s, i)
        for number, (s, head) in enumerate(heads)
        for place, i in enumerate(head)
    ]
    points.sort(key=lambda item: item[:3])
    return tuple(family_space.at(index) for _, _, _, family_space, index in points[:top])


def shortlist(family_spaces: Sequence[FamilySpace], count: int) -> tuple[Candidate, ...]:
    """Choose what to try, in an order of which every beginning is a sensible shortlist itself."""
    # The model's first choice, then ``none``, which every other must beat, then what the model puts first among
    # families and heights that differ: what is like those tried before tells less. After ten of these the model's first
    # choices alternate with a walk over the whole space: the best of every family, the best of every height, family by
    # family, then points at even steps of predicted cost from the best to the worst. So a model that errs about one
    # family, one height or one cost does not hide a better candidate.
    first = _varied_candidates(family_spaces, TOP)
    untiled = [
        family_space.at(index)
        for family_space in family_spaces
        if family_space.family.untiled
        for index in _best(family_space, 1)
    ]
    heads = [candidate for family_space in family_spaces for candidate in ranked([family_space], 1)]
    chosen = {candidate.tiling: candidate for candidate in [*first[:1], *untiled, *first[1:]][:TOP]}
    by_cost = iter(ranked(family_spaces, max(TOP, count // 2)))
    walk = itertools.chain(heads, _walk(family_spaces, count))
    while len(chosen) < count:
        pair = [candidate for candidate in (next(by_cost, None), next(walk, None)) if candidate is not None]
        if not pair:
            break
        chosen |= {candidate.tiling: candidate for candidate in pair if candidate.tiling not in chosen}
    return tuple(chosen.values())[:count]


def _varied_candidates(family_spaces: Sequence[FamilySpace], count: int) -> list[Candidate]:
    """Return what is expected to be cheapest, each cost raised by LIKENESS for those before it that are like it."""
    groups = [
        (number, _best(family_space, count, np.flatnonzero(family_space.sizes.time == height)))
        for number, family_space in enumerate(family_spaces)
        for height in np.unique(family_space.sizes.time)
    ]
    candidates: list[Candidate] = []
    counts, of_family = [0] * len(groups), [0] * len(family_spaces)

    def price(place: int) -> float:
        number, order = groups[place]
        likeness = (1.0 + LIKENESS * of_family[number]) * (1.0 + LIKENESS * counts[place])
        return float(family_spaces[number].expected[order[counts[place]]]) * likeness

    while len(candidates) < count:
        place = min((i for i, (_, order) in enumerate(groups) if counts[i] < len(order)), key=price, default=None)
        if place is None:
            break
        number, order = groups[place]
        candidates.append(family_spaces[number].at(order[counts[place]]))
        counts[place] += 1
        of_family[number] += 1
    return candidates


def _best(family_space: FamilySpace, top: int, among: Ints | None = None) -> list[int]:
    """Return the indices of the ``top`` cheapest points of all or some; sorting only those that can be among them."""
    cost = family_space.cost
    index: Ints = np.flatnonzero(np.isfinite(cost)) if among is None else among[np.isfinite(cost[among])]
    if len(index) > top:
        limit = np.partition(cost[index], top - 1)[top - 1]
        index = index[cost[index] <= limit]
    order = rank(cost[index], family_space.sizes.take(index))
    return [int(i) for i in index[order[:top]]]


def _walk(family_spaces: Sequence[FamilySpace], count: int) -> Iterator[Candidate]:
    """Yield the best of every height, family by family in turn, then even steps of cost through each family."""
    tiled = [
        family_space
        for family_space in family_spaces
        if not family_space.family.untiled and np.isfinite(family_space.cost).any()
    ]
    for heads in itertools.zip_longest(*(_best_of_heights(family_space) for family_space in tiled)):
        for family_space, head in zip(tiled, heads, strict=True):
            if head is not None:
                yield family_space.at(head)
    orders = [rank(family_space.cost, family_space.sizes) for family_space in tiled]
    for step in range(count):
        for family_space, order in zip(tiled, orders, strict=True):
            # The middle first, then the quarters, and so on: every beginning spans the whole range.
            yield family_space.at(int(order[int(_van_der_corput(step + 1) * len(order))]))
    for family_space, order in zip(tiled, orders, strict=True):
        for place in order.tolist():
            yield family_space.at(place)


def _best_of_heights(family_space: FamilySpace) -> list[int]:
    best = []
    for height in np.unique(family_space.sizes.time):
        index = np.flatnonzero(family_space.sizes.time == height)
        best.append(int(index[np.argmin(family_space.cost[index])]))
    return sorted(
        (i for i in best if np.isfinite(family_space.cost[i])), key=lambda i: (float(family_space.cost[i]), i)
    )


def _van_der_corput(number: int) -> float:
    """Return the number's binary digits mirrored at the point: 1/2, 1/4, 3/4, 1/8 and so on."""
    value, place = 0.0, 0.5
    while number:
        value += place * (number & 1)
        number >>= 1
        place /= 2
    return value

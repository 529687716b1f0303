"""Ranking and selecting points of a space by a predicted cost. Deterministic: ties go to the smaller sizes."""

from collections.abc import Callable, Iterable

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes

_MERGE_POINTS = 2**20
"""Points that gather before those that cannot be selected any more are dropped."""


def rank(cost: Floats, sizes: TileSizes) -> Ints:
    """Return the indices of the points, cheapest first, ties by size; infinite and undefined costs are left out.

    >>> one = np.array([1, 1, 1])
    >>> rank(np.array([2.0, 1.0, np.inf]), TileSizes(time=one, space=(one,), k=one)).tolist()
    [1, 0]
    """
    order = np.lexsort((sizes.k, *reversed(sizes.threads), *reversed(sizes.space), sizes.time, cost))
    return np.asarray(order[np.isfinite(cost[order])])


def best(cost: Floats, sizes: TileSizes) -> int | None:
    """Return the index of the cheapest point, the first that :func:`rank` would return, or None without any."""
    if not np.isfinite(cost).any():
        return None
    ties = np.flatnonzero(cost == np.nanmin(cost))
    return int(ties[rank(cost[ties], sizes.take(ties))[0]])


def select(cost: Floats, sizes: TileSizes, *, within: float = 0.10, top: int | None = None) -> Ints:
    """Return indices of the points within a share of the cheapest one, cheapest first (time model, section 6.1).

    ``within`` is that share, ``top`` the most that are kept; ``sizes`` decide ties.
    """
    if not within >= 0:
        raise UsageError(f"within is a share of the best cost, at least 0, got {within!r}")
    if top is not None and top < 1:
        raise UsageError(f"top is at least 1, got {top!r}")
    if not np.isfinite(cost).any():
        return np.zeros(0, dtype=np.int64)
    kept = np.flatnonzero(cost <= (1.0 + within) * np.nanmin(cost))
    return np.asarray(kept[rank(cost[kept], sizes.take(kept))][:top])


def select_pieces(
    pieces: Iterable[TileSizes],
    evaluate: Callable[[TileSizes], Floats],
    *,
    within: float = 0.10,
    top: int | None = None,
) -> tuple[TileSizes, Floats, int]:
    """Select as :func:`select` does from a space in pieces; return the points, their costs and the space's size."""
    kept: list[tuple[TileSizes, Floats]] = []
    seen = 0
    for piece in pieces:
        seen += len(piece.time)
        kept.append((piece, evaluate(piece) if len(piece.time) else np.zeros(0)))
        if len(kept) > 1 and sum(len(cost) for _, cost in kept) > 2 * max(len(kept[0][1]), _MERGE_POINTS):
            kept = [_selected(kept, within, top)]
    if not kept:
        raise UsageError("a space has at least one piece, got none")
    return (*_selected(kept, within, top), seen)


def _selected(parts: list[tuple[TileSizes, Floats]], within: float, top: int | None) -> tuple[TileSizes, Floats]:
    every = TileSizes.join([part for part, _ in parts])
    cost = np.concatenate([part for _, part in parts])
    index = select(cost, every, within=within, top=top)
    return every.take(index), cost[index]

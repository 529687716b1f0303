"""A cache simulator: what a trace of single words moves through a fully associative, least-recently-used cache."""

from collections import OrderedDict
from collections.abc import Iterable
from collections.abc import Set as AbstractSet


def simulate(trace: Iterable[int], capacity: int, scratch: AbstractSet[int] = frozenset()) -> int:
    """Return the words that a cache of single-word lines moves.

    A read that misses fetches its word. A write that misses takes a line without fetching. A changed word is written
    back when it is evicted, or at the end.

    Args:
        trace: Words as numbers; ``-word - 1`` stands for a write.
        capacity: Words that the cache holds, at least 1.
        scratch: Matrices (``word >> 40``) whose words are dead when they leave, so that writing them back does not
            count; reading them again afterwards does.

    Returns:
        Words fetched and written back.

    >>> simulate([0, 1, 0, 2, 1], 2), simulate([-1, 0, 0], 1)
    (4, 1)
    """
    lines: OrderedDict[int, bool] = OrderedDict()
    moved = 0
    for entry in trace:
        write = entry < 0
        word = -entry - 1 if write else entry
        if word in lines:
            lines.move_to_end(word)
            lines[word] |= write
            continue
        moved += not write
        lines[word] = write
        if len(lines) > capacity:
            old, changed = lines.popitem(last=False)
            moved += changed and old >> 40 not in scratch
    return moved + sum(changed for word, changed in lines.items() if word >> 40 not in scratch)

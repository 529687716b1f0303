"""Words that matrix products move between memory and chip (thesis of Prajapati, appendix D).

A product R = A1 A2 of sizes P0, P1, P2 is cut into blocks of which one stays on chip: a block x by y of R, x by z of A1
or z by y of A2, of at most M words; the other two matrices stream past it. Two fused products keep a block x by y of
their intermediate. With u and v the words that one pass over the first and the second direction costs, every one of
these five schedules moves

    u ceil(a/x) + v ceil(b/y) + c        words, x y <= M,

and so one minimiser serves all. Models:

- ``published``: the closed forms as printed where it matters: R is always kept (D.3), and a right fusion has the
  printed beta = P0/P1 (D.12 to D.14). A left fusion (D.10) is right as printed, as is (D.3).
- ``exact``: the closed forms with beta = P0/P2 (which (D.11) itself gives; counting confirms it), the least of the
  three schedules of a product ("keeping R is always best" is false), and where a closed form's block does not fit into
  the matrices (sizes below about sqrt(M)), the counts.
- ``counts``: the integer formulas everywhere, minimised over whole blocks: what plain loops of the schedules move, word
  for word.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError, one_of
from tilewright.base.intmath import ceil_div
from tilewright.costs.arrays import Floats, Ints
from tilewright.workloads.chains.problem import Size

MODELS = ("exact", "published", "counts")
SCHEDULES = ("R", "A1", "A2", "left", "right")
"""What is kept: a product's result or operand, or the intermediate of a left or right fusion."""
_FIRST = {"none": 0, "left": 3, "right": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """The cheapest schedule per entry; all arrays have the entries' shape."""

    words: Floats  # words moved
    schedule: Ints  # index into :data:`SCHEDULES`


def check_model(model: str, memory: int) -> None:
    """Refuse an unknown model or on-chip size."""
    one_of("the model of a chain", model, MODELS)
    if isinstance(memory, bool) or not isinstance(memory, int) or not 1 <= memory <= 2**40:
        raise UsageError(f"the on-chip memory is a number of words from 1 to 2^40, got {memory!r}")


def terms(schedule: str, p: Sequence[Size]) -> tuple[Size, Size, Size, Size, Size]:
    """Return (a, u, b, v, c) of a schedule: u ceil(a/x) + v ceil(b/y) + c words.

    >>> terms("R", (4, 5, 6))
    (4, 30, 6, 20, 24)
    """
    if schedule == "R":  # (D.2): x of R's rows, y of its columns
        return p[0], p[1] * p[2], p[2], p[0] * p[1], p[0] * p[2]
    if schedule == "A1":  # (D.4): R is read and written per z, except that it is not read at first
        return p[0], p[1] * p[2], p[1], 2 * p[0] * p[2], p[0] * p[1] - p[0] * p[2]
    if schedule == "A2":  # (D.6)
        return p[1], 2 * p[0] * p[2], p[2], p[0] * p[1], p[1] * p[2] - p[0] * p[2]
    if schedule == "left":  # (D.7)
        return p[0], p[1] * p[2] + p[2] * p[3], p[2], p[0] * p[1] + 2 * p[0] * p[3], -p[0] * p[3]
    return p[1], p[2] * p[3] + 2 * p[0] * p[3], p[3], p[1] * p[2] + p[0] * p[1], -p[0] * p[3]  # (D.11)


def count(schedule: str, p: Sequence[int], tile: tuple[int, int]) -> int:
    """Return the words that a schedule moves with a tile, exactly.

    >>> count("left", (1000, 64, 24, 64), (256, 24))
    140288
    """
    a, u, b, v, c = terms(schedule, p)
    return u * ceil_div(a, tile[0]) + v * ceil_div(b, tile[1]) + c


def closed_form(schedule: str, p: Sequence[Floats], memory: int) -> tuple[Floats, Floats]:
    """Return the words of a schedule with its best real-valued block, and the block's rows.

    Dividing by whole numbers of blocks without rounding, the words are u a/x + v b/y + c, least at
    x = sqrt(M u a / (v b)) with 2 sqrt(u a v b / M) + c words: (D.3), (D.5), (D.6), (D.10) and (D.14).
    """
    a, u, b, v, c = terms(schedule, p)
    return 2 * np.sqrt(u * a) * np.sqrt(v * b / memory) + c, np.sqrt(memory * (u * a) / (v * b))


def printed_form(schedule: str, p: Sequence[Floats], memory: int) -> tuple[Floats, Floats]:
    """Return :func:`closed_form` as printed: of a right fusion (D.14), whose beta is P0/P1."""
    if schedule != "right":
        return closed_form(schedule, p, memory)
    beta = p[0] / p[1]
    second = (1 + 2 * beta) / (1 + beta)
    words = 2 * p[1] * p[2] * p[3] * (1 + beta) * np.sqrt(second / memory) - p[0] * p[3]
    return words, np.sqrt(memory * second)


def moves(model: str, memory: int, fusion: str, p: Sequence[Floats]) -> Moves:
    """Return the cheapest schedule of many products or fused pairs."""
    first = _FIRST[fusion]
    if model == "published":
        words, _ = printed_form(SCHEDULES[first], p, memory)
        return Moves(words=words, schedule=np.full(words.shape, first, dtype=np.int64))
    kinds = SCHEDULES[:3] if fusion == "none" else (fusion,)
    every = np.stack([_words(kind, p, memory, counted=model == "counts") for kind in kinds])
    # Of equally cheap ones the first.
    return Moves(words=every.min(axis=0), schedule=np.argmin(every, axis=0) + first)


def kept_result(model: str, memory: int, p: Sequence[Floats]) -> Floats:
    """Return the words of products that all keep R: the thesis's unfused recurrence S (D.18)."""
    if model == "published":
        return closed_form("R", p, memory)[0]
    return _words("R", p, memory, counted=model == "counts")


def _words(schedule: str, p: Sequence[Floats], memory: int, *, counted: bool) -> Floats:
    a, u, b, v, c = terms(schedule, p)
    if counted:
        return least(a, u, b, v, memory)[0] + c
    words, rows = closed_form(schedule, p, memory)
    outside = (rows > a) | (memory / rows > b) | (rows < 1) | (rows > memory)
    if outside.any():
        words[outside] = least(a[outside], u[outside], b[outside], v[outside], memory)[0] + c[outside]
    return words


def least(a: Floats, u: Floats, b: Floats, v: Floats, memory: int) -> tuple[Floats, Floats, Floats]:
    """Minimise u ceil(a/x) + v ceil(b/y) over whole x <= a and y <= b with x y <= memory, for many entries at once.

    With p = ceil(a/x) passes, x = ceil(a/p) and the largest y leave u p + v ceil(b/y) >= u p + v a b / (memory p): only
    the few p whose bound is below the best value known are tried. Exact below 2^53; of equal ones the largest x.

    >>> [part.tolist() for part in least(*(np.array([float(n)]) for n in (10, 1, 10, 1)), 50)]
    [[3.0], [10.0], [5.0]]
    """
    shape = np.shape(a)
    a, u, b, v = (np.ravel(each).astype(np.float64) for each in (a, u, b, v))
    words = float(memory)
    fewest = np.ceil(a / np.minimum(a, words))
    most = np.maximum(fewest, np.where(b <= words, np.ceil(a / np.maximum(1.0, np.floor(words / b))), a))
    bound = v * a * b / words
    passes = np.minimum(np.maximum(np.floor(np.sqrt(bound / u)), fewest), most)
    best = _try((a, u, b, v), words, passes)
    for guess in (np.minimum(passes + 1, most), most):
        value = _try((a, u, b, v), words, guess)
        better = value < best
        best, passes = np.where(better, value, best), np.where(better, guess, passes)
    slack = np.sqrt(np.maximum(0.0, best * best - 4 * u * bound))
    low = np.maximum(fewest, np.floor((best - slack) / (2 * u)))
    high = np.minimum(np.minimum(most, np.ceil((best + slack) / (2 * u))), np.floor((best - v) / u))
    _scan((a, u, b, v), words, (low, high), (best, passes))
    x = np.ceil(a / passes)
    y = np.minimum(b, np.floor(words / x))
    return best.reshape(shape), x.reshape(shape), y.reshape(shape)


_Entries = tuple[Floats, ...]  # a, u, b and v


def _try(entries: _Entries, words: float, passes: Floats) -> Floats:
    a, u, b, v = entries
    y = np.minimum(b, np.floor(words / np.ceil(a / passes)))
    return u * passes + v * np.ceil(b / y)


def _scan(entries: _Entries, words: float, limits: tuple[Floats, Floats], results: tuple[Floats, Floats]) -> None:
    """Try every number of passes within the limits, in place; among equal values the fewest passes win."""
    at = np.flatnonzero(limits[0] <= limits[1])
    offset = 0.0
    while at.size:
        work = tuple(each[at] for each in entries)
        low, high = (each[at] for each in limits)
        best, passes = (each[at] for each in results)
        left = at.size
        # Those that are through go on repeating their last try until half of them are: cheaper than sorting them out.
        while 2 * left > at.size:
            chosen = np.minimum(low + offset, high)
            value = _try(work, words, chosen)
            better = (value < best) | ((value == best) & (chosen < passes))
            np.copyto(best, value, where=better)
            np.copyto(passes, chosen, where=better)
            offset += 1.0
            left = int(np.count_nonzero(low + offset <= high))
        results[0][at], results[1][at] = best, passes
        at = at[low + offset <= high]


def best_block(schedule: str, p: Sequence[Floats], memory: int) -> tuple[Floats, Floats]:
    """Return rows and columns of the whole blocks with which a schedule moves the fewest words."""
    _, x, y = least(*terms(schedule, p)[:4], memory)
    return x, y


def tile(model: str, memory: int, schedule: str, p: Sequence[int]) -> tuple[int, int]:
    """Return rows and columns of what a schedule keeps on chip.

    >>> tile("published", 65536, "right", (936, 1008, 552, 368))
    (312, 210)
    >>> tile("published", 65536, "left", (368, 1016, 616, 544))
    (220, 297)
    """
    (shape,) = tiles(model, memory, schedule, [np.array([float(size)]) for size in p])
    return shape


def tiles(model: str, memory: int, schedule: str, p: Sequence[Floats]) -> list[tuple[int, int]]:
    """Return :func:`tile` of many nodes with one schedule; ``p`` holds three or four arrays."""
    if model == "published":
        rows = printed_form(schedule, p, memory)[1]
        return [(round(each), round(memory / each)) for each in rows.tolist()]
    x, y = best_block(schedule, p, memory)
    return [(int(rows), int(columns)) for rows, columns in zip(x.tolist(), y.tolist(), strict=True)]

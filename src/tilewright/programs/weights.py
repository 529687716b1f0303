"""Weighted sums of reads, and the columns of three weights in them that two results at a time can share."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.programs.expression import Apply, Const, Node, Read, Tape

FEWEST = 8
"""Reads from which on a sum is written input by input."""

Terms = dict[Read, float]


def weighted_sum(tape: Tape) -> Terms | None:
    """Return the weights of a tape's reads, or None if it is no weighted sum worth writing input by input.

    Sums of mostly equal weights are not: their partial sums can be shared (:mod:`tilewright.codegen.regroup`).

    >>> from tilewright.programs.catalogue import program
    >>> len(weighted_sum(program("j3d27pt").statements[0].tape) or ())
    27
    >>> weighted_sum(program("heat3d").statements[0].tape), weighted_sum(program("gradient2d").statements[0].tape)
    (None, None)
    """
    values: list[Terms | float | None] = []
    for node in tape:
        values.append(_value(node, values))
    found = values[-1]
    if not isinstance(found, dict) or len(found) < FEWEST or 2 * len(set(found.values())) <= len(found):
        return None
    return found


def _value(node: Node, values: Sequence[Terms | float | None]) -> Terms | float | None:
    """A number, a weighted sum, or None for anything else."""
    if isinstance(node, Apply):
        return _applied(node.op, [values[arg] for arg in node.args])
    if isinstance(node, Const):
        return float(node.value)
    return {node: 1.0} if isinstance(node, Read) else None


def _applied(op: str, args: list[Terms | float | None]) -> Terms | None:
    match op, args:
        case "neg", [dict() as only]:
            return _combine({}, only, -1.0)
        case "add" | "sub", [dict() as left, dict() as right]:
            return _combine(left, right, 1.0 if op == "add" else -1.0)
        case ("mul", [float() as factor, dict() as terms]) | ("mul", [dict() as terms, float() as factor]):
            return _combine({}, terms, factor)
        case "div", [dict() as terms, float() as factor] if factor:
            return _combine({}, terms, 1.0 / factor)
    return None


def _combine(left: Terms, right: Terms, factor: float) -> Terms:
    result = dict(left)
    for read, weight in right.items():
        result[read] = result.get(read, 0.0) + factor * weight
    return result


FEWEST_COLUMNS = 3
"""Columns from which on two results at a time pay."""
MOST_GROWTH = 8.0
"""Most by which the absolute weights of a value may grow."""


@dataclass(frozen=True, slots=True)
class Column:
    """Three weights along axis 0.

    Attributes:
        read: The first of the three reads.
        weights: g0, g1, g2.
    """

    read: Read
    weights: tuple[float, float, float]

    @property
    def factors(self) -> tuple[float, float, float, float]:
        """What the four sums of values are multiplied with, in the order a, b, c, e.

        >>> Column(Read("u", 0, (-1, 0)), (1.0, 2.0, 4.0)).factors
        (1.0, 3.5, 1.5, 4.0)
        """
        low, middle, high = self.weights
        return (low, (low + middle + high) / 2, (low - middle + high) / 2, high)

    @property
    def growth(self) -> float:
        """By how much the absolute weights of a value grow at most."""
        low, middle, high = map(abs, self.weights)
        both = sum(map(abs, self.factors[1:3]))
        if not min(low, middle, high):
            return float("inf")
        return max(both / middle, (both + low) / high, (both + high) / low)


def columns(terms: Terms) -> tuple[tuple[Column, ...], Terms] | None:
    """Cut weighted reads into columns of three and the rest; None where two results at a time do not pay.

    >>> from tilewright.programs.catalogue import program
    >>> found = columns(weighted_sum(program("j2d9pt-gol").statements[0].tape))
    >>> len(found[0]), len(found[1]), columns(weighted_sum(program("star2d2r").statements[0].tape))
    (3, 0, None)
    """
    found: list[Column] = []
    rest = dict(terms)
    for _, group in itertools.groupby(sorted(terms, key=_key), key=lambda read: _key(read)[:-1]):
        reads = list(group)
        for three in zip(reads, reads[1:], reads[2:], strict=False):
            first, last = three[0].offset[0], three[2].offset[0]
            column = Column(three[0], (terms[three[0]], terms[three[1]], terms[three[2]]))
            if last - first == len(three) - 1 and column.growth <= MOST_GROWTH:  # offsets are distinct and sorted
                found.append(column)
                for read in three:
                    del rest[read]
                break
    return (tuple(found), rest) if len(found) >= FEWEST_COLUMNS else None


def _key(read: Read) -> tuple[object, ...]:
    """What the reads of a column share, and last where they are on axis 0."""
    return (read.field, read.level, read.offset[1:], read.offset[0])

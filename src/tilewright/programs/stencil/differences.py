"""Finite differences in a stencil's body: derivatives of any order and accuracy, centred or staggered by half a cell.

Weights are exact rational numbers, by the recurrence of B. Fornberg, "Generation of finite difference formulas on
arbitrarily spaced grids", Mathematics of Computation 51 (1988), 699-706; each is rounded once.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Real

from tilewright.base.errors import TraceError
from tilewright.programs.stencil.expression import Operand, Read, Scalar, Value, as_value, flatten
from tilewright.programs.stencil.program import FieldBuilder

MAX_REACH = 64
Offset = tuple[int, ...]
_LATER = Value(Read("", 0, ()))
"""Stands for a difference while the number of axes is not known: the body is called again when it is."""


def diff(  # noqa: PLR0913  (a public verb)
    u: Operand,
    axis: int = 0,
    derivative: int = 1,
    accuracy: int = 2,
    spacing: Operand = 1.0,
    *,
    at: float = 0,
    offsets: Sequence[int] | None = None,
) -> Value:
    """Approximate a derivative along one axis by a finite difference.

    Mixed derivatives are differences of differences: ``tw.diff(tw.diff(u, 0), 1)``.

    Args:
        u: A field, one of its time levels (``u.prev``, ``u.new``), or an expression of indexed fields.
        axis: The axis; negative ones count from the last.
        derivative: Which derivative, at least 0; 0 interpolates, which makes sense half a cell away.
        accuracy: Order of the error in the spacing, an even number: the fewest points that have it are used.
        spacing: Distance of neighbouring cells along the axis: a number, or a scalar of the stencil.
        at: Where the derivative is taken: 0 at the cell, 0.5 or -0.5 half a cell above or below it (staggered grids).
        offsets: The points to use in place of those that the accuracy asks for, such as ``(0, 1, 2)`` at an edge.

    Returns:
        The derivative, in units of ``u`` over units of ``spacing`` to the power ``derivative``.

    Raises:
        TraceError: If an argument is out of its range, or the number of axes is not known.

    Examples:
        >>> from tilewright.inputs.stencil import stencil
        >>> stencil(lambda u, c: u[0] - c * diff(u, accuracy=4), name="advection").program.reach
        ((2, 2),)
    """
    points = _points(derivative, accuracy, at, offsets)
    near = _shifts(u, "tw.diff")
    if near is None:
        return _LATER
    axis = _axis(axis, near.rank)
    terms = {
        tuple(point if each == axis else 0 for each in range(near.rank)): weight
        for point, weight in zip(points, weights(points, int(derivative), at), strict=True)
    }
    return _scaled(near.at, terms, spacing, int(derivative))


def laplacian(u: Operand, accuracy: int = 2, spacing: Operand | Sequence[Operand] = 1.0) -> Value:
    """Approximate the sum of the second derivatives along all axes at the cell.

    Args:
        u: A field, one of its time levels, or an expression of indexed fields.
        accuracy: Order of the error in the spacing, an even number.
        spacing: Distance of neighbouring cells: one for all axes, or one per axis; numbers or scalars of the stencil.

    Returns:
        The Laplacian, in units of ``u`` over those of ``spacing`` squared.

    Raises:
        TraceError: If an argument is out of its range, or the number of axes is not known.

    Examples:
        >>> from tilewright.inputs.stencil import stencil
        >>> stencil(lambda u: u[0, 0] + 0.1 * laplacian(u), name="heat").program.loads
        5
    """
    near = _shifts(u, "tw.laplacian")
    if near is None:
        return _LATER
    several = isinstance(spacing, Sequence)
    if several and len(spacing) != near.rank:
        raise TraceError(
            f"tw.laplacian takes one spacing or one per axis, {near.rank} here, got {len(spacing)}", "spacing=(dy, dx)"
        )
    if several and not all(isinstance(each, Real) for each in spacing):
        parts = [diff(u, axis, 2, accuracy, each) for axis, each in enumerate(spacing)]
        return _sum(parts)
    points = _points(2, accuracy, 0, None)
    terms: dict[Offset, Fraction] = {}
    for axis in range(near.rank):
        scale = 1 / _exact(spacing[axis]) ** 2 if several else Fraction(1)
        for point, weight in zip(points, weights(points, 2), strict=True):
            offset = tuple(point if each == axis else 0 for each in range(near.rank))
            terms[offset] = terms.get(offset, Fraction(0)) + weight * scale
    return _scaled(near.at, terms, 1.0 if several else spacing, 2)


def weights(offsets: Sequence[int], derivative: int = 1, at: float | Fraction = 0) -> tuple[Fraction, ...]:
    """Return the weights of a finite difference on points of a grid of spacing 1 (Fornberg 1988, section 2).

    They are exact: the difference is right for every polynomial of a degree below their number.

    Examples:
        >>> [str(weight) for weight in weights((-1, 0, 1), 2)]
        ['1', '-2', '1']
    """
    place = Fraction(at)
    table = [[Fraction(0)] * (derivative + 1) for _ in offsets]
    table[0][0] = Fraction(1)
    before = Fraction(1)
    for i in range(1, len(offsets)):
        here, last = offsets[i] - place, offsets[i - 1] - place
        product = Fraction(1)
        orders = range(min(i, derivative), 0, -1)
        previous = list(table[i - 1])
        for j in range(i):
            distance = offsets[i] - offsets[j]
            product *= distance
            for order in orders:
                table[j][order] = (here * table[j][order] - order * table[j][order - 1]) / distance
            table[j][0] = here * table[j][0] / distance
        for order in orders:
            table[i][order] = before / product * (order * previous[order - 1] - last * previous[order])
        table[i][0] = -before / product * last * previous[0]
        before = product
    return tuple(row[derivative] for row in table)


def _points(derivative: int, accuracy: int, at: float, offsets: Sequence[int] | None) -> tuple[int, ...]:
    """Return the points of a difference, ascending: those given, or the fewest with the accuracy."""
    if not _is_whole(derivative) or derivative < 0:
        raise TraceError(f"derivative is a whole number of at least 0, got {derivative!r:.60}")
    if at not in {0, 0.5, -0.5}:
        raise TraceError(f"at is 0, 0.5 or -0.5, in cells from the cell that is computed, got {at!r:.60}")
    if offsets is not None:
        points = tuple(sorted(offsets))
        if not all(_is_whole(each) for each in points) or len(set(points)) < len(points) or len(points) <= derivative:
            raise TraceError(
                f"offsets are different whole numbers, at least {derivative + 1} for derivative {derivative}, "
                f"got {tuple(offsets)!r:.60}"
            )
        return tuple(map(int, points))
    if not _is_whole(accuracy) or accuracy < 2 or accuracy % 2:
        raise TraceError(
            f"accuracy is an even number of at least 2, got {accuracy!r:.60}", "offsets=(0, 1, 2) takes any points"
        )
    half = _half_width(int(derivative), int(accuracy), staggered=at != 0)
    if half > MAX_REACH:
        raise TraceError(f"derivative {derivative} of accuracy {accuracy} reaches {half} cells, {MAX_REACH} at most")
    if at == 0:
        return tuple(range(-half, half + 1))
    return tuple(range(1 - half, half + 1)) if at > 0 else tuple(range(-half, half))


def _half_width(derivative: int, accuracy: int, *, staggered: bool) -> int:
    """Points on either side of the place that a symmetric difference needs.

    Its weights are even or odd about the place, as the derivative is. Each point on a side, and the cell itself where
    there is one and the weights are even, makes one more even or odd power exact.
    """
    first = derivative % 2
    powers = (derivative + accuracy - first) // 2
    return powers if staggered or first else powers - 1


class _Near:
    """What a difference is taken of, at offsets of all axes."""

    __slots__ = ("at", "rank")

    def __init__(self, rank: int, at: Callable[[Offset], Value]) -> None:
        self.rank, self.at = rank, at


def _shifts(u: Operand, name: str) -> _Near | None:
    """Return how an operand is read at offsets; None while the number of axes is not known yet."""
    if isinstance(u, FieldBuilder):
        grid = getattr(u, "grid", None)  # grids of pipelines have none
        if grid is None:
            raise TraceError(f"{name} is for the fields of a stencil, got {u.name!r}", "call it in a stencil's body")
        rank = grid.ask()
        return None if rank is None else _Near(rank, u.__getitem__)
    value = as_value(u)
    tape = flatten(value)
    ranks = {len(node.offset) for node in tape if isinstance(node, Read)}
    if _LATER.op in tape:
        return None
    if len(ranks) != 1:
        raise TraceError(f"{name} takes a field or an expression of fields, got one that reads none", f"{name}(u)")
    (rank,) = ranks
    scalars = [node.name for node in tape if isinstance(node, Scalar)]
    if scalars:
        raise TraceError(
            f"{name} would read {scalars[0]!r} beside the cell, but only indexed fields are read there",
            f"index it, as a field: {scalars[0]}[{', '.join('0' * rank)}], or multiply (and divide) by it afterwards",
        )
    return _Near(rank, lambda offset: _moved(value, offset))


def _moved(value: Value, by: Offset) -> Value:
    """Return an expression with every read moved."""
    done: dict[int, Value] = {}
    stack = [value]
    while stack:
        each = stack[-1]
        missing = [arg for arg in each.args if id(arg) not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if isinstance(each.op, Read):
            offset = tuple(a + b for a, b in zip(each.op.offset, by, strict=True))
            done[id(each)] = Value(Read(each.op.field, each.op.level, offset))
        else:
            done[id(each)] = Value(each.op, tuple(done[id(arg)] for arg in each.args))
    return done[id(value)]


def _scaled(
    at: Callable[[Offset], Value], terms: Mapping[Offset, Fraction], spacing: Operand, derivative: int
) -> Value:
    """Return the weighted sum over a power of the spacing, which numbers are folded into."""
    is_number = isinstance(spacing, Real)
    scale = 1 / _exact(spacing) ** derivative if is_number else Fraction(1)
    total = _sum([_number(weight * scale) * at(offset) for offset, weight in sorted(terms.items()) if weight])
    if is_number or not derivative:
        return total
    step = as_value(spacing)
    return total / step**derivative


def _sum(values: Iterable[Value]) -> Value:
    first, *others = values
    for each in others:
        first = first + each
    return first


def _number(weight: Fraction) -> int | float:
    return weight.numerator if weight.denominator == 1 else weight.numerator / weight.denominator


def _exact(spacing: Operand) -> Fraction:
    if isinstance(spacing, bool) or not math.isfinite(spacing) or spacing <= 0:
        raise TraceError(f"spacing is a positive number, got {spacing!r:.60}")
    return Fraction(float(spacing)) if not isinstance(spacing, int) else Fraction(spacing)


def _axis(axis: int, rank: int) -> int:
    if not _is_whole(axis) or not -rank <= axis < rank:
        raise TraceError(f"axis is one of {', '.join(map(str, range(rank)))} here, got {axis!r:.60}")
    return int(axis) % rank


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)

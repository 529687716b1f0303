"""The functions a stencil's body may apply, besides Python's own operators: ``tw.sqrt``, ``tw.where`` and the like.

Each takes traced values, un-indexed arguments or plain numbers, and returns a traced value. NumPy's functions of the
same names work on traced values too: ``np.sqrt(u[0, 0])``, ``np.where(…)``.
"""

from types import EllipsisType

from tilewright.base.errors import TraceError
from tilewright.programs.stencil.expression import (
    Const,
    Index,
    Inside,
    Operand,
    Scalar,
    Value,
    apply,
    as_value,
    clipped,
    rounded,
)
from tilewright.programs.stencil.program import STEP


def sqrt(x: Operand) -> Value:
    """Square root."""
    return apply("sqrt", x)


def exp(x: Operand) -> Value:
    """Exponential."""
    return apply("exp", x)


def log(x: Operand) -> Value:
    """Natural logarithm."""
    return apply("log", x)


def sin(x: Operand) -> Value:
    """Sine of radians."""
    return apply("sin", x)


def cos(x: Operand) -> Value:
    """Cosine of radians."""
    return apply("cos", x)


def tan(x: Operand) -> Value:
    """Tangent of radians."""
    return apply("tan", x)


def atan2(y: Operand, x: Operand) -> Value:
    """Angle of the point (x, y) in radians, from -pi to pi."""
    return apply("atan2", y, x)


def tanh(x: Operand) -> Value:
    """Hyperbolic tangent."""
    return apply("tanh", x)


def floor(x: Operand) -> Value:
    """Largest whole number not above ``x``."""
    return apply("floor", x)


def ceil(x: Operand) -> Value:
    """Smallest whole number not below ``x``."""
    return apply("ceil", x)


def round(x: Operand) -> Value:  # noqa: A001  (tw.round stands beside tw.floor)
    """Nearest whole number; of two the even one."""
    return rounded(x)


def clip(x: Operand, low: Operand = None, high: Operand = None) -> Value:
    """``x`` kept between two values, either of which may be None; NaN if any is NaN."""
    return clipped(x, low, high)


def sign(x: Operand) -> Value:
    """-1, 0 or 1: whether ``x`` is below, at or above 0; NaN if it is NaN."""
    return apply("sign", x)


def isnan(x: Operand) -> Value:
    """Whether ``x`` is not a number."""
    return apply("ne", x, x)


def mod(x: Operand, y: Operand) -> Value:
    """Remainder of :func:`floor_divide`, of the sign of ``y``: ``x % y``. Of whole numbers by 0 it is 0."""
    return apply("remainder", x, y)


def floor_divide(x: Operand, y: Operand) -> Value:
    """Quotient rounded down: ``x // y``. Of whole numbers by 0 it is 0."""
    return apply("floor_divide", x, y)


def pow(x: Operand, y: Operand) -> Value:  # noqa: A001  (tw.pow stands beside tw.sqrt)
    """``x`` to the power ``y``, which may be a value as well: ``x ** y``."""
    base: Value = as_value(x)
    return base.__pow__(y)


def abs(x: Operand) -> Value:  # noqa: A001  (tw.abs stands beside tw.sqrt)
    """Absolute value."""
    return apply("abs", x)


def conj(x: Operand) -> Value:
    """Complex conjugate; of a real number itself."""
    return apply("conj", x)


def real(x: Operand) -> Value:
    """Real part; of a real number itself."""
    return apply("real", x)


def imag(x: Operand) -> Value:
    """Imaginary part; of a real number 0."""
    return apply("imag", x)


def minimum(x: Operand, y: Operand) -> Value:
    """The smaller of two values; NaN if either is NaN."""
    return apply("minimum", x, y)


def maximum(x: Operand, y: Operand) -> Value:
    """The larger of two values; NaN if either is NaN."""
    return apply("maximum", x, y)


def where(condition: Operand, x: Operand, y: Operand) -> Value:
    """Take ``x`` where the condition holds, else ``y``; both are computed.

    Examples:
        >>> from tilewright.inputs.stencil import stencil
        >>> stencil(lambda u: where(u[0] > 0, u[-1], u[1]), name="upwind").program.loads
        3
    """
    return apply("where", condition, x, y)


def index(axis: int) -> Value:
    """Index of the cell in the grid along an axis, counted from 0.

    It is a whole number that becomes one of the program's element type as NumPy's ``astype`` makes it: from 2^24 on
    float32 rounds it, and int8 wraps around. Its derivative by anything is zero.

    Args:
        axis: An axis of the program; negative ones count from the last.

    Raises:
        TraceError: If the axis is no whole number, or none of the program's.

    Examples:
        >>> import numpy as np
        >>> import tilewright as tw
        >>> tw.run(lambda u: u[0] + tw.index(0), np.zeros(4), steps=2)
        array([0., 2., 4., 6.])
    """
    return Value(Index(_whole(axis, "tw.index takes the number of an axis")))


t = Value(Scalar(STEP))
"""The number of the step that is computed: 0 in the first step of a run, one more in every further one."""


class _Box:
    """What :data:`inside` is: indexed with slices, it says which cells lie in a box."""

    __slots__ = ()

    def __getitem__(self, box: "slice | int | EllipsisType | tuple[slice | int | EllipsisType, ...]") -> Value:
        parts = box if isinstance(box, tuple) else (box,)
        gap = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
        condition: Value | None = None
        for place, part in enumerate(parts):
            axis = place if place < gap else place - len(parts)
            span = None if place == gap else _span(part, axis)
            if span is not None:
                condition = Value(span) if condition is None else condition & Value(span)
        return Value(Const(True)) if condition is None else condition


inside = _Box()
"""Whether the cell lies in a box, written as a slice of an array of the grid's shape: ``tw.inside[:20, 5:-5]``.

Negative numbers count from the end of an axis, axes that are left out are whole, and ``...`` stands for whole axes.
``tw.where(tw.inside[:20], a, b)`` computes ``a`` in the box and ``b`` elsewhere. A cell is updated where all reads of
both are inside a ``fixed`` boundary.
"""


def _span(part: object, axis: int) -> Inside | None:
    """The range of an entry of a box; None for a whole axis."""
    if isinstance(part, slice):
        if part.step is not None and _whole(part.step, _BOX) != 1:
            raise TraceError(f"a box of tw.inside takes every cell of its ranges, got a step of {part.step}")
        low = 0 if part.start is None else _whole(part.start, _BOX)
        high = None if part.stop is None else _whole(part.stop, _BOX)
        return None if low == 0 and high is None else Inside(axis, low, high)
    place = _whole(part, _BOX)
    return Inside(axis, place, place + 1 if place != -1 else None)


_BOX = "a box of tw.inside is made of slices and whole numbers"


def _whole(value: object, rule: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TraceError(f"{rule}, got {value!r:.60}", "such as tw.index(0) and tw.inside[:20, 5:-5]")
    return int(value.__index__())

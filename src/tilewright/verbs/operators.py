"""The functions a stencil's body may apply, besides Python's own operators: ``tw.sqrt``, ``tw.where`` and the like.

Each takes traced values, un-indexed arguments or plain numbers, and returns a traced value. NumPy's functions of the
same names work on traced values too, except ``numpy.where``.
"""

from tilewright.programs.stencil.expression import Operand, Value, apply


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


def tanh(x: Operand) -> Value:
    """Hyperbolic tangent."""
    return apply("tanh", x)


def floor(x: Operand) -> Value:
    """Largest whole number not above ``x``."""
    return apply("floor", x)


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
        >>> from tilewright.verbs.stencil import stencil
        >>> stencil(lambda u: where(u[0] > 0, u[-1], u[1]), name="upwind").program.loads
        3
    """
    return apply("where", condition, x, y)

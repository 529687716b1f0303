"""Numbers of one type as numbers of another: rounded as asked for; whole ones saturate, and NaN becomes 0."""

from tilewright.codegen import ir

_ROUND = {"nearest": ir.Operator.RINT, "floor": ir.Operator.FLOOR, "truncate": ir.Operator.TRUNC}


def converted(b: ir.Builder, value: ir.Expr, target: ir.Element, rounding: str) -> ir.Expr:
    """Convert a number; ``rounding`` (``nearest``, ``floor``, ``truncate``) is for whole numbers of rounded ones."""
    source = ir.type_of(value)
    if not isinstance(source, ir.Element):
        raise TypeError(f"numbers are converted, not values of type {source}")
    if target.is_float or source == target:
        return value.to(target)
    low, high = target.range
    least, most = (ir.Real(bound, target) for bound in (low, high))
    if not source.is_float:
        return _clamped(value, source, target)
    whole = b.let("whole", rounded(value, source, target, rounding))
    # The bounds as numbers that the source's type has: the first ones beyond the target's.
    above = whole >= float(high + 1) if target.bits >= source.bits else whole >= float(high)
    inside = ir.select(whole <= float(low), least, whole.to(target))
    return ir.select(value.differs(value), ir.Real(0, target), ir.select(above, most, inside))


def rounded(value: ir.Expr, source: ir.Element, target: ir.Element, rounding: str) -> ir.Expr:
    """Round a number, or those of a vector, that is to be one of another type: nothing to do but for whole ones."""
    if target.is_float or not source.is_float:
        return value
    return value.apply(_ROUND[rounding], ir.type_of(value))


def _clamped(value: ir.Expr, source: ir.Element, target: ir.Element) -> ir.Expr:
    """A whole number, or the nearest bound of the target's type where the source's goes beyond it."""
    clamped = value
    for bound, beyond in zip(target.range, (value.__lt__, value.__gt__), strict=True):
        if source.range[0] <= bound <= source.range[1]:
            clamped = ir.select(beyond(bound), bound, clamped)
    return clamped.to(target)

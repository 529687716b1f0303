"""Exact integer helpers."""


def ceil_div(numerator: int, denominator: int) -> int:
    """Return the smallest integer not below ``numerator / denominator``; the denominator is positive.

    >>> ceil_div(7, 2), ceil_div(-7, 2), ceil_div(6, 2)
    (4, -3, 3)
    """
    return -(-numerator // denominator)


def round_up(value: int, multiple: int) -> int:
    """Return the smallest multiple of ``multiple`` that is not below ``value``.

    >>> round_up(17, 16)
    32
    """
    return ceil_div(value, multiple) * multiple

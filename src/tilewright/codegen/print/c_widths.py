"""C that differs by the bytes of a vector register."""

from collections.abc import Callable, Iterable

WIDTHS = (64, 32, 16)
"""Bytes of vectors, as ``TW_BYTES`` is one of them."""


def by_width(lines: Callable[[int], Iterable[str]]) -> list[str]:
    """Return the lines for every width, of which a compiler takes those of its own.

    >>> by_width(lambda width: [f"#define HALF {width // 2}"])[:3]
    ['#if TW_BYTES == 64', '#define HALF 32', '#elif TW_BYTES == 32']
    """
    found: list[str] = []
    for width in WIDTHS:
        found += [f"#{'el' if found else ''}if TW_BYTES == {width}", *lines(width)]
    return [*found, "#endif"]

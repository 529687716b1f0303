"""Values of a directive's arguments, checked: names, whole numbers, texts, tiles."""

import re
from typing import Any

from tilewright.base.errors import UsageError

_PRAGMA = re.compile(r"[A-Za-z_][\w ,():.+*=-]{0,300}")


def flagged(value: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """A pair (flag, value) as it is; anything else as one value."""
    return value if isinstance(value, tuple) and value else (value,)


def several(value: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """A list as it is; anything else as one value."""
    return value if isinstance(value, tuple) else (value,)


def tile_of(each: Any) -> tuple[tuple[str, ...], int, str]:  # noqa: ANN401
    """The choices of counter, the size and the tile counter of one tile."""
    if not isinstance(each, tuple) or len(each) != 3:
        raise UsageError(f"a tile is (counter, size, tile counter), got {str(each)[:60]!r}")
    return (
        tuple(name_of(choice, "tile") for choice in several(each[0])),
        whole(each[1], "tile"),
        name_of(each[2], "tile"),
    )


def whole(value: Any, what: str) -> int:  # noqa: ANN401
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{what} is a whole number, got {str(value)[:40]!r}")
    return value


def name_of(value: Any, what: str) -> str:  # noqa: ANN401
    """A C name."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_]\w{0,40}", value):
        raise UsageError(f"{what} is a name, got {str(value)[:40]!r}")
    return value


def text_of(value: Any) -> str:  # noqa: ANN401
    """A directive of plain words, without its leading ``pragma``."""
    if not isinstance(value, str) or not _PRAGMA.fullmatch(value.strip()):
        raise UsageError(f"a directive is plain words, got {str(value)[:40]!r}")
    return value.strip().removeprefix("pragma ").strip()


def tuple_of(value: Any, what: str) -> tuple[Any, ...]:  # noqa: ANN401
    """A list."""
    if not isinstance(value, tuple):
        raise UsageError(f"{what} is a list, got {str(value)[:40]!r}")
    return value

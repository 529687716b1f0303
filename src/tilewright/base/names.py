"""Names that are nearly right."""

import difflib
from collections.abc import Iterable


def meant(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint at known names that are like one that is not, or what is to be said where there are none.

    >>> meant("het2d", ["heat2d", "wave2d"]), meant("x", ["heat2d"], "see the list")
    ('did you mean heat2d?', 'see the list')
    """
    close = difflib.get_close_matches(name, list(known), n=3)
    return f"did you mean {' or '.join(close)}?" if close else otherwise

"""Names that are nearly right."""

import difflib
from collections.abc import Iterable


def meant(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint at known names that are like one that is not, or what is to be said where there are none.

    A name whose consonants are those that a known one begins with is short for it; else what is alike is meant.

    >>> meant("het2d", ["heat2d", "wave2d"]), meant("x", ["heat2d"], "see the list")
    ('did you mean heat2d?', 'see the list')
    >>> meant("bnd", ["backend", "boundary"])
    'did you mean boundary?'
    """
    every = list(known)
    start = _consonants(name)
    short = [each for each in every if len(start) > 1 and _consonants(each).startswith(start)]
    close = difflib.get_close_matches(name, short, n=3, cutoff=0.0) or difflib.get_close_matches(name, every, n=3)
    return f"did you mean {' or '.join(close)}?" if close else otherwise


def _consonants(name: str) -> str:
    """The first letter of a name and everything after it but vowels, in small letters."""
    small = name.lower()
    return small[:1] + "".join(letter for letter in small[1:] if letter not in "aeiou")

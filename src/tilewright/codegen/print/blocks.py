"""C that is constant: the blocks of ``prelude.h`` and ``prelude_gpu.h``, cut by name.

A block stands behind a line ``//: NAME`` or ``//: NAME: what has to stand before it``. A word such as ``@v`` in it
stands for what differs by the type of elements.
"""

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Block(NamedTuple):
    """A piece of a text."""

    text: str
    uses: tuple[str, ...]  # names of functions of the same type that have to stand before it

    def filled(self, words: Mapping[str, str]) -> str:
        """Return the text with its words put in.

        >>> Block("@T tw_@s;", ()).filled({"T": "float", "s": "f32"})
        'float tw_f32;'
        """
        marks = "|".join(sorted(words, key=len, reverse=True))
        return re.sub(f"@({marks})", lambda mark: words[mark[1]], self.text)


@functools.cache
def blocks(file: str) -> Mapping[str, Block]:
    """Return the blocks of a file of this package by name."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    found = {}
    for part in text.split("//: ")[1:]:
        head, _, body = part.partition("\n")
        name, _, uses = head.partition(": ")
        found[name] = Block(body.strip("\n") + "\n", tuple(uses.split()))
    return found

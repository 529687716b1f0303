"""Annotated C: finding the regions of a file.

A region is a structured comment, the code that it annotates, and a closing comment::

    /*@ begin Loop( transform Unroll(ufactor=4) for (i=0; i<=n-1; i++) y[i] = 0; ) @*/
    for (i=0; i<=n-1; i++) y[i] = 0;
    /*@ end @*/

``begin`` and ``end`` may be left out, and ``#pragma Orio Loop(…)`` … ``#pragma Oiro`` is the same. Regions nest: a
``PerfTuning`` region holds the regions that it tunes.
"""

import re
from dataclasses import dataclass, replace

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.parse.macros import COMMENT, LITERAL

MAX_FILE = 2**20
"""Largest annotated file, characters."""
MAX_REGIONS = 256
MAX_NESTING = 8
# Texts and other comments are found, too, so that no mark is found in them.
_MARK = re.compile(
    r"/\*[ \t]?@|^[ \t]*\#[ \t]*pragma[ \t]+(?P<pragma>Orio|Oiro)\b"
    f"|(?P<other>{LITERAL}|{COMMENT})",
    re.MULTILINE | re.DOTALL,
)
_LOGICAL_LINE = re.compile(r"(?:[^\n]|(?<=\\)\n)*")
_CLOSE = re.compile(r"@[ \t]?\*/")
_HEAD = re.compile(r"(?:begin\b\s*)?(?P<module>[A-Za-z_]\w*)\s*\(")
_TAILS = frozenset({"", "end", ";", "end;"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """An annotated region."""

    module: str  # what its annotation asks for, such as ``Loop`` or ``PerfTuning``
    code: str  # what stands in the annotation's parentheses
    line: int  # line of the annotation, from 1
    start: int  # offset of the annotation in the file
    body_start: int  # offset of the old body
    body_end: int = -1  # offset of its end
    end: int = -1  # offset behind the closing annotation
    inner: "tuple[Region, ...]" = ()  # regions inside the old body
    pragma: bool = False  # whether it is written with ``#pragma``

    def body(self, text: str) -> str:
        """Return the old body."""
        return text[self.body_start : self.body_end]


def regions(text: str) -> tuple[Region, ...]:
    """Find the outermost regions of a file, in order; none where it has no annotation."""
    if len(text) > MAX_FILE:
        raise UsageError(f"an annotated file has at most {MAX_FILE} characters, got {len(text)}")
    if "\0" in text:
        raise UsageError("an annotated file is C text, got one with a zero byte")
    opened: list[Region] = []
    found: list[list[Region]] = [[]]  # the regions of the file, and those inside every one that is open
    count = position = 0
    while (match := _MARK.search(text, position)) is not None:
        if match["other"]:
            position = match.end()
            continue
        line = text.count("\n", 0, match.start()) + 1
        said, position = _annotation(text, match, line)
        if match["pragma"] == "Oiro" or (not match["pragma"] and said in _TAILS):
            if not opened:
                raise UsageError(f"line {line} closes a region, but none is open")
            inner = tuple(found.pop())
            found[-1].append(replace(opened.pop(), body_end=match.start(), end=position, inner=inner))
            continue
        head = _HEAD.match(said)
        if head is None or not said.endswith(")"):
            raise UsageError(
                f"an annotation is MODULE(code) or end, got {said[:60]!r} at line {line}",
                "such as /*@ begin Loop( … ) @*/",
            )
        count += 1
        if count > MAX_REGIONS or len(opened) >= MAX_NESTING:
            raise UsageError(f"a file has at most {MAX_REGIONS} regions, {MAX_NESTING} deep, got more at line {line}")
        module, code, pragma = head["module"], said[head.end() : -1], bool(match["pragma"])
        start = match.start()
        opened.append(Region(module=module, code=code, line=line, start=start, body_start=position, pragma=pragma))
        found.append([])
    if opened:
        raise UsageError(
            f"the region {opened[-1].module!r} of line {opened[-1].line} is not closed",
            "write /*@ end @*/ behind its old body" if not opened[-1].pragma else "write #pragma Oiro behind it",
        )
    return tuple(found[0])


def _annotation(text: str, match: "re.Match[str]", line: int) -> tuple[str, int]:
    if match["pragma"]:
        end = _LOGICAL_LINE.match(text, match.end()).end()  # type: ignore[union-attr]
        return text[match.end() : end].replace("\\\n", "\n").strip(), end
    close = _CLOSE.search(text, match.end())
    if close is None:
        raise UsageError(f"the annotation of line {line} has no '@*/'")
    return text[match.end() : close.start()].strip(), close.end()

"""Annotated C: finding the regions of a file.

A region is a structured comment, the code that it annotates, and a closing comment::

    /*@ begin Loop( transform Unroll(ufactor=4) for (i=0; i<=n-1; i++) y[i] = 0; ) @*/
    for (i=0; i<=n-1; i++) y[i] = 0;
    /*@ end @*/

``begin`` and ``end`` may be left out, and ``#pragma Orio Loop(…)`` … ``#pragma Oiro`` is the same. Regions nest: a
``PerfTuning`` region holds the regions that it tunes.
"""

import re
from dataclasses import dataclass

from tilewright.base.errors import UsageError

MAX_FILE = 2**20
"""Largest annotated file, characters."""
MAX_REGIONS = 256
MAX_NESTING = 8
_MARK = re.compile(r"/\*[ \t]?@|^[ \t]*\#[ \t]*pragma[ \t]+(?P<pragma>Orio|Oiro)\b", re.MULTILINE)
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
    body_end: int  # offset of its end
    end: int  # offset behind the closing annotation
    inner: "tuple[Region, ...]" = ()  # regions inside the old body
    pragma: bool = False  # whether it is written with ``#pragma``

    def body(self, text: str) -> str:
        """Return the old body."""
        return text[self.body_start : self.body_end]


@dataclass(slots=True)
class _Open:
    """A region whose end was not found yet."""

    module: str
    code: str
    start: int
    body_start: int
    pragma: bool
    inner: list[Region]


def regions(text: str) -> tuple[Region, ...]:
    """Find the outermost regions of a file, in order; none where it has no annotation."""
    if len(text) > MAX_FILE:
        raise UsageError(f"an annotated file has at most {MAX_FILE} characters, got {len(text)}")
    if "\0" in text:
        raise UsageError("an annotated file is C text, got one with a zero byte")
    stack: list[_Open] = []
    top: list[Region] = []
    count = 0
    position = 0
    while (match := _MARK.search(text, position)) is not None:
        inner, behind = _annotation(text, match)
        begun = _head(text, match, inner, behind)
        if begun is None:
            region, position = _close(text, stack, match, behind)
            (stack[-1].inner if stack else top).append(region)
            continue
        count += 1
        if count > MAX_REGIONS or len(stack) >= MAX_NESTING:
            raise UsageError(
                f"a file has at most {MAX_REGIONS} regions, {MAX_NESTING} deep, got more at line {_line(text, match)}"
            )
        stack.append(begun)
        position = begun.body_start
    if stack:
        where = text.count("\n", 0, stack[-1].start) + 1
        raise UsageError(
            f"the region {stack[-1].module!r} of line {where} is not closed",
            "write /*@ end @*/ behind its old body" if not stack[-1].pragma else "write #pragma Oiro behind it",
        )
    return tuple(top)


def _line(text: str, match: "re.Match[str]") -> int:
    return text.count("\n", 0, match.start()) + 1


def _annotation(text: str, match: "re.Match[str]") -> tuple[str, int]:
    """Return what an annotation says, and where it ends."""
    if match["pragma"]:
        end = _logical_line(text, match.end())
        return text[match.end() : end].replace("\\\n", "\n").strip(), end
    close = _CLOSE.search(text, match.end())
    if close is None:
        raise UsageError(f"the annotation of line {_line(text, match)} has no '@*/'")
    return text[match.end() : close.start()].strip(), close.end()


def _head(text: str, match: "re.Match[str]", inner: str, behind: int) -> _Open | None:
    """Return the region that an annotation begins, or None if it closes one."""
    if match["pragma"] == "Oiro" or (not match["pragma"] and inner in _TAILS):
        return None
    head = _HEAD.match(inner)
    if head is None or not inner.endswith(")"):
        raise UsageError(
            f"an annotation is MODULE(code) or end, got {inner[:60]!r} at line {_line(text, match)}",
            "such as /*@ begin Loop( … ) @*/",
        )
    return _Open(head["module"], inner[head.end() : -1], match.start(), behind, bool(match["pragma"]), [])


def _logical_line(text: str, start: int) -> int:
    """Return the end of a line, continued by backslashes."""
    end = start
    while True:
        end = text.find("\n", end)
        if end < 0:
            return len(text)
        if not text[:end].endswith("\\"):
            return end
        end += 1


def _close(text: str, stack: list[_Open], match: "re.Match[str]", behind: int) -> tuple[Region, int]:
    if not stack:
        raise UsageError(f"line {_line(text, match)} closes a region, but none is open")
    open_one = stack.pop()
    region = Region(
        module=open_one.module,
        code=open_one.code,
        line=text.count("\n", 0, open_one.start) + 1,
        start=open_one.start,
        body_start=open_one.body_start,
        body_end=match.start(),
        end=behind,
        inner=tuple(open_one.inner),
        pragma=open_one.pragma,
    )
    return region, behind

"""What is declared where a region stands: the file's own declarations of numbers and arrays, read from the text before.

Only declarations at places whose braces are still open count: those of the file, of the function around the region, its
parameters, and those of the blocks and loops around it. A name of another type has no type here, and is refused where a
region counts with it, ends a loop at it or keeps a value in it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests.nest import Declare, Expr, Num
from tilewright.workloads.annotated.nests.types import ELEMENTS, INTEGER_TYPES, named
from tilewright.workloads.annotated.parse.c import ALIASES, parse_expression
from tilewright.workloads.annotated.parse.spec import split

_PIECE = re.compile(r"[{}();]|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[^{}();\"']+|.", re.DOTALL)
_QUALIFIERS = frozenset(
    {"const", "volatile", "restrict", "__restrict", "__restrict__", "static", "extern", "register", "inline", "auto"}
)
_BASES = frozenset({"char", "short", "int", "long", "unsigned", "signed", "float", "double"})
NARROW = frozenset({"char", "short", "int8_t", "uint8_t", "int16_t", "uint16_t", "_Bool", "bool"})
"""Words of types that C computes with as ``int``."""
NO_TYPES = frozenset(
    {"return", "goto", "else", "case", "break", "continue", "do", "if", "for", "while", "switch", "default", "sizeof"}
)
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LOOPS = re.compile(r"\s*(?:else\b\s*)*(?P<word>for|while|do)\b\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL)
_LINKAGE = re.compile(r"\s*(?:extern\s*\"|namespace\b)")
_BRACED = re.compile(r"[\w\s]*\b(?:enum|struct|union)\b[\w\s]*")
_FUNCTION = re.compile(r".*?\b[A-Za-z_]\w*\s*\((?P<inside>(?:[^()]|\([^()]*\))*)\)\s*", re.DOTALL)
_DECLARATOR = re.compile(
    r"\s*(?P<stars>(?:\*\s*(?:const\s+|volatile\s+|restrict\s+|__restrict(?:__)?\s+)*)*)"
    r"(?:\(\s*\*\s*(?P<inner>[A-Za-z_]\w*)\s*\)|(?P<name>[A-Za-z_]\w*))\s*"
    r"(?P<dims>(?:\[[^\[\]]*\]\s*)*)(?:=(?P<value>.*))?\s*",
    re.DOTALL,
)


@dataclass(slots=True, kw_only=True)
class VisibleNames:
    """What is visible where a region stands."""

    # scalars and arrays by name; an extent is 0 where the declaration does not say it
    declared: dict[str, Declare] = field(default_factory=dict)
    # texts of the initial values of scalars that nothing assigns before the region
    values: dict[str, str] = field(default_factory=dict)
    lasting: set[str] = field(default_factory=set)  # names whose values outlive the function
    repeated: bool = False  # whether a loop around the region runs it again
    arrays: set[str] = field(default_factory=set)  # names of arrays that are objects of their own, not pointers
    restricted: set[str] = field(default_factory=set)  # names of pointers that are declared with ``restrict``
    typedefs: dict[str, str] = field(default_factory=dict)  # types of numbers by the names that the file gives them
    # names that are declared with a type that is none of our numbers, and that
    strange: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Level:
    """What stands behind an open brace: the text that opened it, and its statements so far."""

    head: str
    start: int
    items: list[tuple[str, int]] = field(default_factory=list)


def visible(text: str) -> VisibleNames:
    """Return what the end of a text sees: a file up to a region, macros expanded, without comments and directives."""
    found = VisibleNames()
    given = ALIASES | {name: name for name in INTEGER_TYPES if name.endswith("_t")}
    typedefs = dict(given)
    for depth, level in enumerate(_levels(text)):
        head: list[str] = []
        if depth and (loop := _LOOPS.fullmatch(level.head)) is not None:
            found.repeated = True
            # A counter that its loop declares has no one value.
            head = [(loop["inside"] or "").partition(";")[0].partition("=")[0]]
        elif depth and (function := _FUNCTION.fullmatch(level.head)) is not None:
            head = split(function["inside"], ",")
        for number, (item, place) in enumerate([*((each, level.start) for each in head), *level.items]):
            static = depth == 0 or re.match(r"\s*(?:\w+\s+)*?(?:static|extern)\b", item) is not None
            for one, value in declarations(item, typedefs):
                found.values.pop(one.name, None)
                found.strange.pop(one.name, None)
                if one.ctype not in ELEMENTS:
                    found.declared.pop(one.name, None)
                    found.strange[one.name] = one.ctype
                    continue
                found.declared[one.name] = one
                own = number >= len(head) and bool(one.dims) and Num("0") not in one.dims
                for names, holds in (
                    (found.lasting, static),
                    (found.arrays, own),
                    (found.restricted, "restrict" in item),
                ):
                    (names.add if holds else names.discard)(one.name)
                fixed = re.search(r"\bconst\b", item) or not assigned(one.name, text[place:])
                if value and not one.dims and fixed:
                    found.values[one.name] = value
    found.typedefs = {name: ctype for name, ctype in typedefs.items() if given.get(name) != ctype}
    return found


def function_around(text: str, place: int) -> tuple[int, int]:
    """Return where the body of the function around a place begins and ends; the whole text where there is none.

    >>> text = 'extern "C" { void f(int n) { n = 0; } }'
    >>> start, end = function_around(text, text.index("n = 0"))
    >>> text[start:end]
    ' n = 0; '
    """
    inside = [level for level in _levels(text[:place])[1:-1] if not _LINKAGE.match(level.head)]
    if not inside:
        return 0, len(text)
    start, depth = inside[0].start, 0
    for match in _PIECE.finditer(text, start):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth < 0:
            return start, match.start()
    return start, len(text)


def _levels(text: str) -> list[_Level]:
    """Return the levels of braces that are open at the end of a text, the file's first.

    A statement that is not finished there, such as a loop without braces, is the last one.
    """
    stack = [_Level("", 0)]
    chunk, depth, place = "", 0, 0
    for match in _PIECE.finditer(text):
        piece, place = match[0], match.end()
        if piece == ";" and depth == 0:
            stack[-1].items.append((chunk, place))
            chunk = ""
        elif piece == "{" and depth == 0:
            stack.append(_Level(chunk, place))
            chunk = ""
        elif piece == "}" and depth == 0:
            head = stack.pop().head if len(stack) > 1 else ""
            # Initial values in braces, and those of a type, belong to their declaration, which goes on behind them.
            chunk = head.rstrip()[:-1] if head.rstrip().endswith("=") else head if _BRACED.fullmatch(head) else ""
        else:
            depth = max(0, depth + (piece == "(") - (piece == ")"))
            chunk += piece
    return [*stack, _Level(chunk, place)]


def assigned(name: str, text: str) -> bool:
    """Whether a text assigns a variable, or takes its address."""
    plain = re.escape(name)
    pattern = rf"(?<![\w.]){plain}\s*(?:[-+*/%&|^]?=(?!=)|<<=|>>=|\+\+|--)|(?:\+\+|--|&)\s*{plain}\b"
    return re.search(pattern, text) is not None


def declarations(text: str, typedefs: dict[str, str]) -> Iterator[tuple[Declare, str]]:
    """Yield the numbers and arrays that a statement or parameter declares, with the texts of initial values.

    What it declares with another type has the words of that.
    """
    # a ``typedef`` adds to ``typedefs``
    words = re.findall(r"\s*([A-Za-z_]\w*)", re.match(r"(?:\s*[A-Za-z_]\w*\b)*", text)[0])  # type: ignore[index]
    if not words or words[0] in NO_TYPES:
        return
    bases: list[str] = []
    rest = text
    for word in words:
        if word in _BASES or (not bases and word in typedefs):
            bases.append(word)
        elif word not in _QUALIFIERS | {"typedef"}:
            break
        rest = rest.lstrip()[len(word) :]
    ctype = typedefs[bases[0]] if len(bases) == 1 and bases[0] in typedefs else named(bases)
    if ctype is None:
        names = [] if words[0] == "typedef" else declared(re.findall(r"[A-Za-z_]\w*|\S", text))
        kind = " ".join(word for word in words if word not in {*names, *_QUALIFIERS})
        yield from ((Declare(ctype=kind, name=name), "") for name in names)
        return
    for part in split(rest, ","):
        match = _DECLARATOR.fullmatch(part)
        if match is None:
            continue
        name = match["name"] or match["inner"]
        unknown = match["stars"].count("*") + (match["inner"] is not None)
        dims = (Num("0"),) * unknown + tuple(_extent(each) for each in re.findall(r"\[([^\[\]]*)\]", match["dims"]))
        if words[0] == "typedef":
            typedefs.pop(name, None)
            if not dims:
                typedefs[name] = ctype
            continue
        heap = match["stars"].count("*") > 1
        yield Declare(ctype=ctype, name=name, dims=dims, heap=heap), (match["value"] or "").strip()


def parts(words: Sequence[str], separator: str) -> list[list[str]]:
    """Split tokens at a separator outside brackets."""
    out: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in OPENING) - (word in CLOSING)
        if word == separator and depth == 0:
            out.append([])
        else:
            out[-1].append(word)
    return out


def declared(words: Sequence[str]) -> list[str]:
    """Return the names that a statement declares: two words in a row begin it, or a word, stars and a word.

    >>> declared("unsigned long k = 0 , * p".split()), declared("a = b * c".split()), declared(["return", "k"])
    (['k', 'p'], [], [])
    """
    if not words or words[0] in NO_TYPES:
        return []
    place = 0
    while place < len(words) and (words[place] == "*" or _WORD.fullmatch(words[place])):
        place += 1
    head = words[:place]
    if len(head) < 2 or head[-1] == "*" or not _WORD.fullmatch(head[0]):
        # An array that a pointer is to: double (*a)[n]
        starred = [*words[:1], *words[place : place + 2]] if len(head) == 1 else []
        if starred[1:] != ["(", "*"] or words[place + 3 : place + 5] != [")", "["]:
            return []
        return [words[place + 2]]
    first, *others = parts(words[place - 1 :], ",")
    return [name for part in (first, *others) for name in list(filter(_WORD.fullmatch, part))[:1]]


def _extent(text: str) -> Expr:
    """Read what a declarator's brackets hold; 0 where that is nothing, or no expression."""
    plain = re.sub(r"\b(?:static|const|restrict)\b", " ", text).strip()
    try:
        return Num("0") if plain in {"", "*"} else parse_expression(plain, "an extent")
    except UsageError:
        return Num("0")

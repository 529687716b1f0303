"""The part of C's preprocessor that annotated files use: ``#define``, conditionals on names, nothing that reads files.

Expansion is bounded: macros that grow without end are refused, not followed.
"""

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests.values import constant
from tilewright.workloads.annotated.parse.c import parse_expression

MAX_TOKENS = 200_000  # most tokens that an expansion may produce
_MAX_DEPTH = 32
LITERAL = r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.){1,8}'"
COMMENT = r"//[^\n]*|/\*.*?(?:\*/|(?P<open>\Z))"
"""Regular expressions; what is not closed goes on to the end of its line or the text, so that a search is linear."""
_TOKEN = re.compile(
    r"[A-Za-z_]\w*|(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*"
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\s+|<<=|>>=|[-+*/%&|^!=<>]=|<<|>>|&&|\|\||\+\+|--|->|.',
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"\s*#\s*(\w*)\s*(.*)")
_DEFINE = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)(?P<args>\([^()]*\))?(?P<body>.*)", re.DOTALL)
_QUOTED = re.compile(f"(?P<literal>{LITERAL})|{COMMENT}", re.DOTALL)
KEPT = frozenset({"min", "max"})  # macros that are not expanded: their names mean what they say
FOLLOWED = "#"
"""Stands for the words of conditionals that are followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Macro:
    """A macro: its parameters (None for one without parentheses) and its body's tokens."""

    parameters: tuple[str, ...] | None
    body: tuple[str, ...]


def without_comments(text: str) -> str:
    """Replace comments by white space; line ends stay."""

    def change(match: "re.Match[str]") -> str:
        if match["open"] is not None:
            raise UsageError("a comment is not closed")
        return match["literal"] or " " + "\n" * match[0].count("\n")

    return _QUOTED.sub(change, text)


def tokens(text: str) -> list[str]:
    """Split C text into tokens, white space among them."""
    words = _TOKEN.findall(text)
    if len(words) > MAX_TOKENS:
        raise UsageError(f"a region has at most {MAX_TOKENS} tokens, got {len(words)}")
    return words


def logical_lines(text: str) -> Iterator[tuple[str | None, str, str]]:
    """Yield lines, with those that a backslash continues, as a directive's word (None for code), its rest, and all."""
    for line in text.replace("\\\n", " ").split("\n"):
        match = _DIRECTIVE.match(line)
        yield (match[1], match[2].strip(), line) if match else (None, "", line)


def preprocess(text: str, macros: Mapping[str, Macro] | None = None) -> tuple[str, dict[str, Macro]]:
    """Take the directives out of C text without comments and expand its macros; return those of its end as well.

    ``#include`` lines are dropped, ``#define``, ``#undef`` and conditionals are followed, ``#pragma`` stays.
    """
    table = dict(macros or {})
    lines: list[str] = []
    opened: Sequence[Branch] = ()
    for word, rest, line, opened in conditionals(text, lambda word, rest: condition(word, rest, table)):
        stays = active(opened) and (word is None or word == "pragma")
        lines.append(line if stays else "")
        if word in {"elif", "else", "endif"}:
            raise UsageError(f"#{word} has no #if before it")
        if word == "define" and active(opened):
            table.update([definition(rest)])
        elif word == "undef" and active(opened):
            table.pop(rest, None)
        elif word not in {None, FOLLOWED, "include", "define", "undef", "pragma", "line"}:
            raise UsageError(f"the directive #{word[:30]} is not known here", "use #define, #undef, #if, #elif, #else")
    if opened:
        raise UsageError("a conditional of the preprocessor is not closed", "add #endif")
    return expand("\n".join(lines), table), table


@dataclass(slots=True)
class Branch:
    """A branch of a conditional that is open."""

    line: int  # where its conditional begins, in logical lines
    number: int = 0  # which branch it is
    taken: bool = False  # whether it is compiled, if what is around it is
    done: bool = False  # whether it or one before it was taken, or none can be
    unknown: bool = False  # whether nothing says which branches are taken


def conditionals(
    text: str, holds: Callable[[str, str], bool | None]
) -> Iterator[tuple[str | None, str, str, list[Branch]]]:
    """Yield logical lines, with :data:`FOLLOWED` as the word of conditionals, and the branches that are open there.

    ``holds`` says whether an ``if``, ``ifdef`` or ``ifndef`` does, or None where it does not know: then all branches
    from there on are taken. What is asked is not looked at where an earlier branch is taken.
    """
    opened: list[Branch] = []
    for number, (word, rest, line) in enumerate(logical_lines(text)):
        if word in {"if", "ifdef", "ifndef"}:
            opened.append(Branch(number, -1, done=not active(opened)))
        elif word not in {"elif", "else", "endif"} or not opened:
            yield word, rest, line, opened
            continue
        if word == "endif":
            opened.pop()
        else:
            branch = opened[-1]
            branch.number += 1
            pending = not (branch.done or branch.unknown)
            truth = pending and (word == "else" or holds("if" if word == "elif" else str(word), rest))
            branch.unknown = branch.unknown or truth is None
            branch.taken = branch.unknown or bool(truth)
            branch.done = branch.done or bool(truth)
        yield FOLLOWED, rest, line, opened


def active(opened: Sequence[Branch]) -> bool:
    """Whether a line is compiled."""
    return all(each.taken for each in opened)


def condition(word: str, rest: str, table: Mapping[str, Macro]) -> bool:
    """Whether an ``if``, ``ifdef`` or ``ifndef`` holds, by the macros that are known.

    >>> condition("if", "defined(A) && A >= 2", {"A": Macro(parameters=None, body=("3",))})
    True
    """
    if word != "if":
        return (rest in table) is (word == "ifdef")
    plain = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))", lambda name: str(int((name[1] or name[2]) in table)), rest)
    plain = expand(plain, table)
    while plain != (plain := re.sub(r"!\s*(\d+[uUlL]*\b|\([^()]*\))", r"(0 == \1)", plain)):
        pass
    value = None
    if re.fullmatch(r"[\dxXa-fA-FuUlL\s()<>=&|+*/%?:!-]+", plain):
        with contextlib.suppress(UsageError):
            value = constant(parse_expression(plain, "a conditional"))
    if value is None:
        raise UsageError(f"what a conditional asks is not known here, got #if {rest[:60]!r}", "use #ifdef NAME")
    return value != 0


def decided(word: str, rest: str, table: Mapping[str, Macro]) -> bool | None:
    """Whether an ``if``, ``ifdef`` or ``ifndef`` holds, or None where that is not known."""
    with contextlib.suppress(UsageError):
        return condition(word, rest, table)
    return None


def undecided(text: str, decided: Collection[str]) -> str:
    r"""Return a name on whose definition some code depends and that nothing decides, or an empty text.

    ``decided`` are names that are defined, or undefined, before it.

    >>> undecided("#ifdef _OPENMP\n#pragma omp simd\n#endif", ()), undecided("#ifdef FAST\ny = 1;\n#endif", ())
    ('', 'FAST')
    """
    waiting: list[str] = []
    for word, rest, line in logical_lines(text):
        if word == "endif":
            waiting = waiting[:-1]
        elif word in {"if", "ifdef", "ifndef", "elif"}:
            name = min(set(re.findall(r"\b[A-Za-z_]\w*", rest)) - {"defined", *decided}, default="")
            waiting.append((waiting.pop() if word == "elif" and waiting else "") or name)
        elif word is None and line.strip() and any(waiting):
            return next(filter(None, waiting))
    return ""


def definition(text: str) -> tuple[str, Macro]:
    """Read what follows ``#define``.

    >>> definition("sq(x) ((x)*(x))")[1].parameters
    ('x',)
    """
    match = _DEFINE.fullmatch(text)
    if match is None:
        raise UsageError(f"#define is followed by a name, got {text.strip()[:60]!r}")
    parameters = None
    if match["args"] is not None:
        parameters = tuple(part.strip() for part in match["args"][1:-1].split(",") if part.strip())
    body = tuple(tokens(match["body"].strip()))
    if any(token in {"#", "##"} for token in body):
        raise UsageError(f"the macro {match['name']!r} pastes tokens, which is not known here")
    return match["name"], Macro(parameters=parameters, body=body)


def expand(text: str, macros: Mapping[str, Macro], budget: list[int] | None = None) -> str:
    """Expand macros in a text; its lines stay lines. ``budget`` holds how many tokens several texts may still have."""
    if not macros:
        return text
    return "".join(_expand(tokens(text), macros, frozenset(), [MAX_TOKENS] if budget is None else budget))


def _expand(items: list[str], macros: Mapping[str, Macro], hidden: frozenset[str], budget: list[int]) -> list[str]:
    if len(hidden) > _MAX_DEPTH:
        raise UsageError(f"macros are at most {_MAX_DEPTH} deep, got more")
    out: list[str] = []
    place = 0
    while place < len(items):
        item = items[place]
        place += 1
        macro = macros.get(item) if item not in hidden and item not in KEPT else None
        if macro is None:
            out.append(item)
            budget[0] -= 1
        elif macro.parameters is None:
            out += _expand(list(macro.body), macros, hidden | {item}, budget)
        else:
            start = place
            args, place = _arguments(items, place)
            if args is None:
                out.append(item)
                continue
            out += _expand(_expansion(item, macro, args), macros, hidden | {item}, budget)
            out.append("\n" * sum(each.count("\n") for each in items[start:place]))
        if budget[0] < 0:
            raise UsageError(f"macros expand to at most {MAX_TOKENS} tokens, got more")
    return out


def _expansion(name: str, macro: Macro, args: list[list[str]]) -> list[str]:
    parameters = macro.parameters or ()
    if parameters[-1:] == ("...",):
        fixed = len(parameters) - 1
        more = [part for each in args[fixed:] for part in (",", *each)][1:]
        parameters, args = (*parameters[:-1], "__VA_ARGS__"), [*args[:fixed], more]
    if len(args) != len(parameters) and not (not parameters and args == [[]]):
        raise UsageError(f"the macro {name!r} takes {len(parameters)} arguments, got {len(args)}")
    values = dict(zip(parameters, args, strict=False))
    out: list[str] = []
    for token in macro.body:
        out += values.get(token, [token])
        if len(out) > MAX_TOKENS:
            raise UsageError(f"macros expand to at most {MAX_TOKENS} tokens, got more")
    return out


def _arguments(items: list[str], place: int) -> tuple[list[list[str]] | None, int]:
    """Return the arguments of a macro's call and the place behind it; None if there is no call."""
    start = place
    while place < len(items) and items[place].isspace():
        place += 1
    if place >= len(items) or items[place] != "(":
        return None, start
    args: list[list[str]] = [[]]
    depth = 0
    for behind in range(place + 1, len(items)):
        token = items[behind]
        if token == ")" and depth == 0:  # noqa: S105
            return args, behind + 1
        depth += (token in {"(", "[", "{"}) - (token in {")", "]", "}"})
        if token == "," and depth == 0:  # noqa: S105
            args.append([])
        else:
            args[-1].append(" " if token.isspace() else token)
    raise UsageError("the call of a macro is not closed by a parenthesis")


def defined(text: str) -> tuple[dict[str, Macro], set[str]]:
    """Return the macros that a text defines, and the names whose meaning depends on a conditional that is not known.

    What cannot be read is left out. Of a conditional that is not known all branches count: compilers define names, too.
    """
    table: dict[str, Macro] = {}
    unsure: set[str] = set()

    def holds(word: str, rest: str) -> bool | None:
        return decided(word, rest, table) if word == "if" or rest in table else None

    for word, rest, _, opened in conditionals(text, holds):
        sure = not any(each.unknown for each in opened)
        if word == "undef" and active(opened) and sure:
            table.pop(rest, None)
        elif word == "define" and active(opened):
            with contextlib.suppress(UsageError):
                name, macro = definition(rest)
                (unsure.discard if sure or table.get(name, macro) == macro else unsure.add)(name)
                table[name] = macro
    return table, unsure

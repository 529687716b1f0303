"""Tuning specifications: what stands in a ``PerfTuning`` annotation.

A specification is a sequence of ``def KIND { statement; … }`` and ``let NAME = expression;``; ``#`` starts a comment.
Nothing in it is run: expressions go through :mod:`tilewright.workloads.annotated.parse.evaluate`.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests.values import ELEMENTS, named
from tilewright.workloads.annotated.parse.evaluate import Formula, Plain, formula

KINDS = frozenset(
    {"build", "performance_params", "performance_counter", "power", "cmdline_params", "input_params", "input_vars"}
    | {"search", "validation", "performance_test_code", "other"}
)
MAX_STATEMENTS = 2000
_MOST_IMPORTS = 16
MAX_SPEC = 2**17  # longest specification, characters
_LONGEST_DECLARATION = 4096
_BETWEEN = " \t\r\n;"
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_PIECE = re.compile(r"""'[^']*'?|"[^"]*"?|.""", re.DOTALL)
_COMMENT = re.compile(r"""('[^'\n]*'?|"[^"\n]*"?)|#[^\n]*""")
_IMPORT = re.compile(r"\s*import\s+spec\s+(?P<name>[\w./-]+)\s*;?\s*")
_NAMED = re.compile(r"\s*spec\s+[A-Za-z_]\w*\s*\{")
_DEF = re.compile(r"(?:(?P<let>let)\b|def\s+(?P<kind>\w+)\s*\{)")
_STATEMENT = re.compile(r"(?P<word>let|arg|param|constraint|option|decl)\b(?P<rest>.*)", re.DOTALL)
_BEGINS = re.compile(r"\s*(?:let|arg|param|constraint|decl)\s+[A-Za-z_]")
_SETTING = re.compile(r"\s*(?P<name>[A-Za-z_]\w{0,63})\s*(?P<range>\[\s*\])?\s*=(?!=)(?P<value>.*)", re.DOTALL)
_OPTION = re.compile(r"\s*(?P<quote>['\"])(?P<name>[^'\"]*)(?P=quote)\s*(?:\[\s*\])?\s*=(?P<value>.*)", re.DOTALL)
_DECL = re.compile(
    r"\s*(?P<storage>(?:(?:in|out|inout|static|dynamic|managed|__device__|const|extern)\s+)*)"
    r"(?P<type>(?:[A-Za-z_]\w*\s+)*?[A-Za-z_]\w*)\s+(?P<name>[A-Za-z_]\w{0,63})\s*(?P<dims>(?:\[[^\[\]]*\]\s*)*)"
    r"(?:=(?P<value>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneParameter:
    """A parameter and the values that it may take."""

    name: str
    values: tuple[Plain, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """An input of the code."""

    ctype: str  # an arithmetic type
    name: str
    dims: tuple[Formula, ...] = ()  # extents, in terms of the input parameters; empty for a scalar
    init: "str | tuple[Formula, ...] | Formula" = "random"  # ``random``, one expression, or one per element
    static: bool = False  # declared as an array of the file's own


@dataclass(slots=True, kw_only=True)
class TuningSpec:
    """A tuning specification."""

    params: list[TuneParameter] = field(default_factory=list)  # what is tuned
    constraints: list[tuple[str, Formula]] = field(default_factory=list)  # what a point must fulfil, by name
    inputs: list[TuneParameter] = field(default_factory=list)  # parameters of the input
    input_constraints: list[tuple[str, Formula]] = field(default_factory=list)  # what an input must fulfil, by name
    variables: list[Variable] = field(default_factory=list)  # the inputs themselves
    args: dict[str, dict[str, Plain]] = field(default_factory=dict)  # the ``arg`` statements, by kind and name
    lets: dict[str, Plain] = field(default_factory=dict)  # named values outside every ``def``
    notes: list[str] = field(default_factory=list)  # what was read but has no effect

    def arg(self, kind: str, name: str) -> Plain | None:
        """Return the value of an ``arg`` statement, or None."""
        return self.args.get(kind, {}).get(name)


@dataclass(slots=True)
class _Reader:
    """Fills a specification from its text."""

    line: int
    spec: TuningSpec = field(default_factory=TuningSpec)
    count: int = 0  # of statements and imports

    def fail(self, message: str, hint: str = "") -> NoReturn:
        raise UsageError(f"{message} (tuning specification of line {self.line})", hint)

    def read(self, text: str) -> TuningSpec:
        while text := text.lstrip(_BETWEEN):
            match = _DEF.match(text)
            if match is None:
                self.fail(f"a specification is made of def KIND {{ … }} and let, got {text.strip()[:60]!r}")
            if match["let"]:
                end = _let_end(text, match.end())
                self.statement("", text[:end], self.spec.lets)
            elif match["kind"] not in KINDS:
                self.fail(f"a definition is of {', '.join(sorted(KINDS))}, got {match['kind'][:60]!r}")
            elif (end := find(text, "}", match.end())) < 0:
                self.fail(f"the definition of {match['kind']} is not closed by a brace")
            else:
                self.definition(match["kind"], text[match.end() : end])
            text = text[end + 1 :]
        return self.spec

    def definition(self, kind: str, text: str) -> None:
        local = dict(self.spec.lets)
        *parts, rest = split(text, ";")
        for number, part in enumerate([*parts, rest]):
            *open_ones, last = _lines(part)
            if open_ones or (number == len(parts) and last.strip()):
                note = f"a statement of {kind} ends without a semicolon; the next line begins another one"
                self.spec.notes.append(note)
            for each in (*open_ones, last):
                if each.strip():
                    self.statement(kind, each, local)
        # A let inside a definition is seen by later ones too: the users' files rely on it.
        self.spec.lets = {**local, **self.spec.lets}

    def statement(self, kind: str, text: str, local: dict[str, Plain]) -> None:
        self.count += 1
        if self.count > MAX_STATEMENTS:
            self.fail(f"a specification has at most {MAX_STATEMENTS} statements, got more")
        match = _STATEMENT.fullmatch(text.strip())
        if match is None:
            self.fail(f"a statement is let, arg, param, constraint, option or decl, got {text.strip()[:60]!r}")
        word, rest = match["word"], match["rest"]
        if word == "decl":
            self.declaration(rest)
        elif word == "option":
            entry = _OPTION.fullmatch(rest)
            if entry is None:
                self.fail(f"an option is option 'text' = list, got {rest.strip()[:60]!r}")
            option = f"option {entry['name'][:40]!r}"
            formula(entry["value"], option).value(local)
            self.spec.notes.append(f"the {option} is for a program of its own, so it has no effect")
        elif (setting := _SETTING.fullmatch(rest)) is not None:
            self.setting(kind, word, setting, local)
        else:
            self.fail(f"{word} is followed by NAME = expression, got {rest.strip()[:60]!r}")

    def setting(self, kind: str, word: str, match: "re.Match[str]", local: dict[str, Plain]) -> None:
        name, spec, of_input = match["name"], self.spec, kind == "input_params"
        value = formula(match["value"], f"{word} {name} of line {self.line}")
        if word == "constraint":
            (spec.input_constraints if of_input else spec.constraints).append((name, value))
            return
        result = value.value(local)
        if word == "let":
            local[name] = result
        elif word == "arg":
            spec.args.setdefault(kind, {})[name] = result
        else:
            if any(each.name == name for each in (*spec.params, *spec.inputs)):
                self.fail(f"the parameter {name!r} is defined twice")
            values = result if isinstance(result, tuple) and match["range"] else (result,)
            if not values:
                self.fail(f"the parameter {name!r} has no value")
            new = TuneParameter(name=name, values=tuple(dict.fromkeys(values)))
            (spec.inputs if of_input else spec.params).append(new)

    def declaration(self, text: str) -> None:
        match = _DECL.fullmatch(text) if len(text) <= _LONGEST_DECLARATION else None
        ctype = named(match["type"].split()) if match is not None else None
        if match is None or ctype is None:
            self.fail(
                "a declaration is decl [static|dynamic] TYPE NAME[extent]… = random or a value, "
                f"got {text.strip()[:60]!r}",
                f"types: {', '.join(sorted(ELEMENTS))}",
            )
        where = f"decl {match['name']} of line {self.line}"
        dims = tuple(formula(each, where) for each in re.findall(r"\[([^\[\]]*)\]", match["dims"]))
        init: str | tuple[Formula, ...] | Formula = "random"
        value = (match["value"] or "0").strip()
        if value.startswith("{"):
            if not value.endswith("}"):
                self.fail(f"the values of {match['name']!r} are not closed by a brace")
            init = tuple(formula(part, where) for part in split(value[1:-1], ",") if part.strip())
        elif value != "random":
            init = formula(value, where)
        static = bool(dims) and "static" in match["storage"].split()
        self.spec.variables.append(Variable(ctype=ctype, name=match["name"], dims=dims, init=init, static=static))

    def imported(self, text: str) -> str:
        plain = uncommented(text)
        match = _NAMED.match(plain)
        if match is None:
            return plain
        end = find(plain, "}", match.end())
        if end < 0 or plain[end + 1 :].strip(_BETWEEN):
            self.fail("an imported specification is one spec NAME { … }, or what stands in it")
        return plain[match.end() : end]


def no_files(name: str) -> str:
    """Stand for a folder where there is none."""
    raise UsageError(f"the file {name[:60]!r} is named, but there is no folder to look in")


def read_spec(code: str, line: int = 1, load: Callable[[str], str] = no_files) -> TuningSpec:
    """Read a tuning specification.

    ``import spec NAME;`` stands for the text of the file ``NAME.spec`` beside the annotated one, which may be wrapped
    in ``spec NAME { … }``.
    """
    reader = _Reader(line)
    if len(code) > MAX_SPEC:
        reader.fail(f"a specification has at most {MAX_SPEC} characters, got {len(code)}")
    text = uncommented(code)
    while (match := _IMPORT.match(text) or re.search(r"(?<=[};])" + _IMPORT.pattern, text)) is not None:
        if reader.count >= _MOST_IMPORTS:
            reader.fail(f"a specification imports at most {_MOST_IMPORTS} others, got more")
        reader.count += 1
        text = text[: match.start()] + reader.imported(load(f"{match['name']}.spec")) + text[match.end() :]
        if len(text) > MAX_SPEC:
            reader.fail(f"a specification has at most {MAX_SPEC} characters with what it imports, got {len(text)}")
    return reader.read(text)


def _let_end(text: str, start: int) -> int:
    """Return where a let outside every definition ends: at its semicolon, or before the next line that begins anew."""
    for place, character in _scan(text, start):
        if character == ";" or (character == "\n" and re.match(r"\s*(?:def|let)\b|\s*$", text[place:])):
            return place
    return len(text)


def _lines(text: str) -> list[str]:
    """Split where a line begins with the word of a statement: users' files leave semicolons out."""
    starts = [place for place, character in _scan(text) if character == "\n" and _BEGINS.match(text, place)]
    bounds = [0, *(place for place in starts if text[:place].strip()), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(bounds)]


def uncommented(text: str) -> str:
    """Drop what follows ``#`` up to the end of its line, outside quotes."""
    return _COMMENT.sub(r"\1", text)


def _scan(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the characters outside quotes and brackets with their places; a closing brace too many is among them."""
    depth = 0
    for match in _PIECE.finditer(text, start):
        piece = match[0]
        if piece in _OPENING:
            depth += 1
        elif piece in _CLOSING and depth:
            depth -= 1
        elif depth == 0 and piece[0] not in "'\"":
            yield match.start(), piece


def find(text: str, sign: str, start: int) -> int:
    """Return the place of a character outside quotes and brackets, or -1."""
    return next((place for place, character in _scan(text, start) if character == sign), -1)


def split(text: str, separator: str) -> list[str]:
    """Split at a separator outside quotes and brackets."""
    positions = [position for position, character in _scan(text) if character == separator]
    bounds = [-1, *positions, len(text)]
    return [text[a + 1 : b] for a, b in itertools.pairwise(bounds)]


def arguments(text: str, where: str, separator: str = ",") -> tuple[tuple[str, str], ...]:
    """Split ``name=EXPR, name=EXPR`` into names and texts; an argument without a name has the empty one.

    >>> arguments("ufactor=4, tile=[('i',T,'ii')]", "line 1")
    (('ufactor', '4'), ('tile', "[('i',T,'ii')]"))
    """
    values: dict[str, str] = {}
    for part in split(text, separator):
        if not part.strip():
            continue
        match = _SETTING.fullmatch(part)
        name, value = (match["name"], match["value"]) if match is not None else ("", part)
        if name in values:
            raise UsageError(f"the argument {name or '(without a name)'!r} stands twice in {where}")
        values[name] = value.strip()
    return tuple(values.items())

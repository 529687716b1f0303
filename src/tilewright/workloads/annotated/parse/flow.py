"""What the rest of a function reads of the values that a region leaves in its scalars.

A function is read as the statements that it runs and the order in which they may follow each other: loops come back,
``goto`` goes anywhere, a name that an inner block declares is another variable. A value lives on where some way from
the region's end meets a read of its variable before it meets an assignment. What cannot be followed (a conditional of
the preprocessor, a macro with several meanings, braces that do not match) is taken to read every name in it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.parse import macros
from tilewright.workloads.annotated.parse.scope import CLOSING, OPENING, declared, function_around, parts

BEGIN, END = "tw_region_begins_", "tw_region_ends_"
"""Words that stand around a region's old body, followed by where the region begins in the file."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_MOST_NESTING = 200
_COPY = re.compile(r"\s*(?:\([\w\s*]*\)\s*)*(\w+)\s*(?:[-+,]|$)")
"""A value that is a pointer, perhaps moved."""


@dataclass(slots=True, eq=False)
class _Step:
    """A statement without others inside, or the head of one."""

    words: Sequence[str]  # its tokens
    scope: Mapping[str, int]  # the declaration that each name of the function's own means
    after: "list[_Step]" = field(default_factory=list)  # what may run next


class Function:
    """The statements of a function, in the order in which they run."""

    # ``text`` stands between its braces, without comments, every region between :data:`BEGIN` and :data:`END`;
    # ``known`` are the file's macros with all their meanings
    def __init__(self, text: str, known: Mapping[str, Sequence[macros.Macro]]) -> None:
        single = {name: found[0] for name, found in known.items() if len(found) == 1}
        plain, self._anywhere = _followed(text, single)
        self._ends: dict[str, _Step] = {}
        self._taken: dict[str, set[int | None]] = {}
        try:
            plain = macros.expand(plain, single)
            reader = _Reader([word for word in macros.tokens(plain) if not word.isspace()])
            reader.whole()
            self._ends = reader.ends
            for step in reader.steps:
                for name in _addresses(step.words):
                    self._taken.setdefault(name, set()).add(step.scope.get(name))
        except UsageError:
            self._ends = {}
        self._text = plain
        self._anywhere |= _meant({word for word in _WORD.findall(plain) if word in known} | self._anywhere, known)
        # A macro that puts names together may read any.
        pasted = any("##" in macro.body for word in self._anywhere for macro in known.get(word, ()))
        self._ends = {} if pasted else self._ends

    def reads(self, region: int, name: str) -> bool:
        """Whether the value that the region at an offset of the file leaves in a scalar may be read later."""
        end = self._ends.get(f"{END}{region}")
        if end is None or name in self._anywhere:
            return True
        variable = end.scope.get(name)
        if variable in self._taken.get(name, ()):
            return True
        seen: set[_Step] = set()
        waiting = list(end.after)
        while waiting:
            step = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            effect = _effect(step.words, name) if step.scope.get(name) == variable else ""
            if effect == "reads":
                return True
            if not effect:
                waiting += step.after
        return False

    @property
    def pointers(self) -> set[tuple[str, str]]:
        """What the function lets point to scalars, itself or through another pointer, and those."""
        given = [match.groups() for match in re.finditer(r"\b(\w+)\s*=(?!=)(?=([^;=]*))", self._text)]
        found = {(to, name) for to, value in given for name in re.findall(r"&[\s(]*(\w+)\b(?!\s*\[)", value)}
        copies: dict[str, set[str]] = {}
        for to, value in given:
            if match := _COPY.match(value):
                copies.setdefault(match[1], set()).add(to)
        waiting = list(found)
        while waiting:
            pointer, name = waiting.pop()
            fresh = {(to, name) for to in copies.get(pointer, ())} - found
            found |= fresh
            waiting += fresh
        return found


def _followed(text: str, known: Mapping[str, macros.Macro]) -> tuple[str, set[str]]:
    """Return a text without directives, of conditionals the branch that the file's macros choose, and their names."""
    lines: list[str] = []
    optional: set[str] = set()
    active: list[bool] = []
    for word, rest, line in macros.logical_lines(text):
        if word is None:
            optional |= set(_WORD.findall(line)) if active else set()
            lines.append(line if all(active) else "")
        elif word in {"if", "ifdef", "ifndef"}:
            active.append(_holds(word, rest, known))
        elif word in {"else", "elif"} and active:
            active[-1] = not active[-1]
        elif word == "endif" and active:
            active.pop()
    return "\n".join(lines), optional


def _holds(word: str, rest: str, known: Mapping[str, macros.Macro]) -> bool:
    try:
        return macros.condition(word, rest, known)
    except UsageError:
        return False


def _meant(words: set[str], known: Mapping[str, Sequence[macros.Macro]]) -> set[str]:
    """Return words, and those of the macros among them, and of theirs."""
    found: set[str] = set()
    waiting = list(words)
    while waiting:
        word = waiting.pop()
        if word not in found:
            found.add(word)
            for macro in known.get(word, ()):
                waiting += set(filter(_WORD.fullmatch, macro.body)) - {*(macro.parameters or ())}
    return found


@dataclass(slots=True)
class _Jumps:
    """Where statements inside a loop or a switch go on."""

    ends: list[_Step] = field(default_factory=list)  # what ``break`` leaves
    turns: list[_Step] = field(default_factory=list)  # what ``continue`` leaves
    switch: _Step | None = None  # the head of the switch, before its cases


class _Reader:
    """Reads tokens as statements; every method takes what runs before, and returns what goes on behind.

    A statement that C would not have, such as a bracket that is not closed, raises a :class:`UsageError`.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.place = 0
        self.scope: Mapping[str, int] = {}
        self.steps: list[_Step] = []
        self.ends: dict[str, _Step] = {}
        self.labels: dict[str, _Step] = {}
        self.leaps: list[tuple[_Step, str]] = []
        self.inner = {
            "{": self.block,
            "if": self.choice,
            "for": self.counted,
            "while": self.tested,
            "do": self.repeated,
            "switch": self.switched,
        }

    def whole(self) -> None:
        before = [self.step((), [])]
        while self.place < len(self.words):
            before = self.statement(before, _Jumps(), 0)
        for step, label in self.leaps:
            step.after += [self.labels[label]] if label in self.labels else self.labels.values()

    def step(self, words: Sequence[str], before: Sequence[_Step]) -> _Step:
        made = _Step(words, self.scope)
        self.steps.append(made)
        for each in before:
            each.after.append(made)
        return made

    @property
    def word(self) -> str:
        if self.place >= len(self.words):
            raise UsageError("the function is not closed")
        return self.words[self.place]

    def take(self) -> str:
        found = self.word
        self.place += 1
        return found

    def until(self, *stops: str) -> Sequence[str]:
        """Return what comes before a token outside brackets, and go behind that; not behind a closing brace."""
        start, depth = self.place, 0
        while depth or self.word not in stops:
            if self.word == "}" and depth == 0:
                return self.words[start : self.place]
            depth += (self.word in OPENING) - (self.word in CLOSING)
            if depth < 0:
                raise UsageError("a bracket is closed that was not opened")
            self.place += 1
        self.place += 1
        return self.words[start : self.place - 1]

    def head(self) -> Sequence[str]:
        if self.take() != "(":
            raise UsageError("a head has parentheses")
        return self.until(")")

    def statement(self, before: list[_Step], jumps: _Jumps, depth: int) -> list[_Step]:  # noqa: PLR0911
        if depth > _MOST_NESTING:
            raise UsageError(f"statements are at most {_MOST_NESTING} deep")
        word = self.word
        if word == "}":
            raise UsageError("a bracket is closed that was not opened")
        if word.startswith(BEGIN):
            end = END + self.take().removeprefix(BEGIN)
            while self.word != end:
                before = self.statement(before, jumps, depth + 1)
            self.ends[self.take()] = made = self.step((), before)
            return [made]
        match word:
            case "{" | "if" | "for" | "while" | "do" | "switch":
                self.place += 1
                outer = self.scope
                left = self.inner[word](before, jumps, depth + 1)
                self.scope = outer
                return left
            case "case" | "default":
                label = self.step(self.until(":"), [*before, *([jumps.switch] if jumps.switch else [])])
                return [label]
            case "return":
                self.step(self.until(";"), before)
                return []
            case "break" | "continue":
                self.until(";")
                (jumps.ends if word == "break" else jumps.turns).extend(before)
                return []
            case "goto":
                words = self.until(";")
                self.leaps.append((self.step((), before), words[-1]))
                return []
        if self.words[self.place + 1 : self.place + 2] == [":"] and _WORD.fullmatch(word):
            self.place += 2
            self.labels[word] = made = self.step((), before)
            return [made]
        return [self.simple(self.until(";"), before)]

    def simple(self, words: Sequence[str], before: Sequence[_Step]) -> _Step:
        names = declared(words)
        self.scope = {**self.scope, **{name: len(self.steps) for name in names}} if names else self.scope
        return self.step(words, before)

    def block(self, before: list[_Step], jumps: _Jumps, depth: int) -> list[_Step]:
        while self.word != "}":
            before = self.statement(before, jumps, depth)
        self.place += 1
        return before

    def choice(self, before: list[_Step], jumps: _Jumps, depth: int) -> list[_Step]:
        test = self.step(self.head(), before)
        left = self.statement([test], jumps, depth)
        if self.place < len(self.words) and self.word == "else":
            self.place += 1
            return left + self.statement([test], jumps, depth)
        return [*left, test]

    def counted(self, before: list[_Step], jumps: _Jumps, depth: int) -> list[_Step]:
        first, *rest = parts(self.head(), ";")
        if len(rest) != 2:
            raise UsageError("the head of a loop has three parts")
        test = self.step(rest[0], [self.simple(first, before)])
        turn = self.step(rest[1], [])
        turn.after.append(test)
        return [*self.body(test, turn, jumps, depth), *([test] if test.words else [])]

    def tested(self, before: list[_Step], jumps: _Jumps, depth: int) -> list[_Step]:
        test = self.step(self.head(), before)
        return [test, *self.body(test, test, jumps, depth)]

    def body(self, test: _Step, turn: _Step, jumps: _Jumps, depth: int) -> list[_Step]:
        """Read what a loop runs between its test and its next turn; return what leaves it by ``break``."""
        inner = _Jumps(switch=jumps.switch)
        for each in [*self.statement([test], inner, depth), *inner.turns]:
            each.after.append(turn)
        return inner.ends

    def repeated(self, before: list[_Step], jumps: _Jumps, depth: int) -> list[_Step]:
        first = self.step((), before)
        inner = _Jumps(switch=jumps.switch)
        left = self.statement([first], inner, depth)
        if self.take() != "while":
            raise UsageError("do has its while")
        test = self.step(self.head(), [*left, *inner.turns])
        self.until(";")
        test.after.append(first)
        return [test, *inner.ends]

    def switched(self, before: list[_Step], jumps: _Jumps, depth: int) -> list[_Step]:
        test = self.step(self.head(), before)
        inner = _Jumps(turns=jumps.turns, switch=test)
        return [*self.statement([], inner, depth), *inner.ends, test]


def _effect(words: Sequence[str], name: str) -> str:
    """Return whether a statement ``reads`` a variable first, ``sets`` it, or neither.

    >>> [_effect(text.split(), "k") for text in ("k = j = 0", "j = 0 , k = k + 1", "p -> k = a [ i ]", "a [ k ] = 0")]
    ['sets', 'reads', '', 'reads']
    """
    for part in parts(words, ","):
        *targets, value = parts(part, "=")
        if name in _mentioned(value) or any(name in _mentioned(each) and each != [name] for each in targets):
            return "reads"
        if [name] in targets:
            return "sets"
    return ""


def _mentioned(words: Sequence[str]) -> Iterator[str]:
    return (word for place, word in enumerate(words) if place == 0 or words[place - 1] not in {".", "->"})


def _addresses(words: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        left = words[place - 1] if place else ""
        # Behind a closing parenthesis it may be a cast.
        if word == "&" and (left == "return" or not re.fullmatch(r"[\w.]+|\]", left)):
            yield next((each for each in words[place + 1 :] if each != "("), "")


def meanings(text: str) -> dict[str, list[macros.Macro]]:
    """Return the macros that a text defines anywhere, every one with all its meanings."""
    found: dict[str, list[macros.Macro]] = {}
    for word, rest, _ in macros.logical_lines(text):
        if word != "define":
            continue
        try:
            name, macro = macros.definition(rest)
        except UsageError:
            # What cannot be expanded is a word that may read all that it is made of.
            name, *body = _WORD.findall(rest) or [""]
            body += ["##"] if "##" in rest else []
            found.setdefault(name, []).append(macros.Macro(parameters=None, body=()))
            macro = macros.Macro(parameters=None, body=tuple(body))
        if macro not in found.setdefault(name, []):
            found[name].append(macro)
    return found


class Functions:
    """The functions of a file, without comments, that have regions: each is between :data:`BEGIN` and :data:`END`."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\\\n", "  ")
        self._plain = re.sub(r"^[ \t]*#.*$", lambda line: " " * len(line[0]), self._text, flags=re.MULTILINE)
        self._known = meanings(text)
        self._made: dict[tuple[int, int], Function] = {}

    def around(self, region: int) -> Function:
        """Return the function around the region at an offset of the file."""
        start, end = function_around(self._plain, self._plain.find(f"{BEGIN}{region}"))
        if (start, end) not in self._made:
            self._made[start, end] = Function(self._text[start:end], self._known)
        return self._made[start, end]

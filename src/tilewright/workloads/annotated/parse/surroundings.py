"""What stands around a file's regions: what is declared there, and what is read of the values that they leave.

A file is read as a tree of pycparser's, whatever else stands in it. Directives are followed, macros are expanded, and
words that can only be types are declared as such. What pycparser still cannot read is left out, statement by statement;
so are the branches of conditionals that are not taken. Names that stand there, or in macros that may have another
meaning, are those that may be read anywhere.

Every region is a block between two marks in the tree of the whole file. A function is a graph of steps, each followed
by those that may run next: loops come back, ``goto`` goes anywhere. A value lives on where some way from the region's
end meets a read of its variable before it meets an assignment; what cannot be followed reads every name in it.
"""

import itertools
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests.nest import Declare, Num
from tilewright.workloads.annotated.nests.values import named
from tilewright.workloads.annotated.parse import macros
from tilewright.workloads.annotated.parse.c import (
    ALIASES,
    NO_TYPES,
    TYPES,
    Misread,
    Node,
    extent,
    kind,
    parsed,
    shape,
    source,
)

_WORD = re.compile(r"[A-Za-z_]\w*")
_TEXT = re.compile(
    r"(?P<linkage>\bextern\s*\"[^\"\n]*\"(?:\s*\{)?|\bnamespace(?:\s+\w+)?\s*\{)|[{}]|"
    rf"(?:{macros.LITERAL})(?P<gap>\s*)(?P<word>[A-Za-z_]\w*)?"
)
_SPELLINGS = "".join(f"#define __{word} {word}\n#define __{word}__ {word}\n" for word in ("restrict", "inline"))
_SPELLINGS += "#define complex _Complex\n#define __attribute__(x)\n#define __extension__\n"
_SPELLINGS += "#define __device__\n#define __host__\n#define __global__\n"
_TYPE = re.compile(
    r"(?:\A|(?<=[;{}]))\s*(?:(?:const|static|extern|register|volatile)\s+)*"
    r"([A-Za-z_]\w*)(?:\s+\**|\s*\*+)\s*(?:const\s+)?[A-Za-z_]\w*\s*(?=[=;,\[])"
    r"|\(\s*(?:const\s+)?([A-Za-z_]\w*)\s*(?:\*\s*)+\)"
)
"""What begins a declaration, and casts to pointers: pycparser would take them for products."""
_HEAD = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)[\s*]+[A-Za-z_]\w*\s*\(([^(){};]*)\)\s*[{;]")
_PARAMETER = re.compile(
    r"\s*(?:(?:const|volatile|register)\s+)*([A-Za-z_]\w*)\b[\s*]+(?:const\s+)?[A-Za-z_]\w*\s*(?:\[.*)?"
)
"""Heads of functions, and their parameters: what they name before the last word is a type."""
_MOST_TRIES = 64
_MOST_PARSED = 2**21  # most characters that are parsed in all tries together


class Unit:
    """A file without comments; ``mark`` begins the words of statements that have to stay."""

    def __init__(self, text: str, mark: str) -> None:
        self.undecided: set[str] = set()  # types that depend on an ``#if`` that is not known
        self.lost: set[str] = set()  # words of what is left out because it cannot be read
        self._words: list[set[str]] = []  # of every line
        self._unread: set[int] = set()  # lines of which something is left out, or with macros that are not expanded
        self._optional: dict[int, tuple[int, int]] = {}  # branches of conditionals, by the lines inside
        self._bodies: dict[str, set[str]] = {}  # words that macros are made of, all their meanings together
        self._unsure: set[str] = set()  # macros that may have another meaning, or have none that is known here
        self._known, _ = macros.defined(_SPELLINGS)
        self._budget = [macros.MAX_TOKENS]
        self._linked: list[bool] = []
        plain = _TEXT.sub(self._emptied, self._followed(text.removeprefix("\ufeff"), mark))
        # Marks outside every function: the whole file is one.
        self.wrapped = any(
            plain.count("{", 0, each.start()) - plain.count("}", 0, each.start()) == 1
            for each in re.finditer(mark, plain)
        )
        # Words taken for types.
        guessed = {each[1] or each[2] for each in _TYPE.finditer(plain)}
        for head in _HEAD.finditer(plain):
            if head[1] not in {"return", "else", "case", "goto", "sizeof", "do"}:
                kinds = filter(None, map(_PARAMETER.fullmatch, head[2].split(",")))
                guessed |= {head[1], *(each[1] for each in kinds)}
        self.guessed = guessed - NO_TYPES - TYPES
        self._tree = self._parsed(plain + "}" * (plain.count("{") - plain.count("}") + self.wrapped))

    def externals(self) -> Iterator[tuple[Node, set[str], bool]]:
        """Yield functions and declarations with the names that any place there may use, and whether all may be read."""
        nodes = [node for node in self._tree.ext if kind(node) != "Typedef" or node.coord.line > 1]
        starts = [max(0, node.coord.line - 2) for node in nodes]
        for node, (start, end) in zip(nodes, itertools.pairwise([*starts, len(self._words) - 1]), strict=True):
            lines = range(start, end + 1)
            words = self._meant(set().union(*(self._words[line] for line in lines)))
            if not self._unread.isdisjoint(lines):
                yield node, words, True
                continue
            # A conditional around the whole function makes none of its lines optional.
            plain = {None, self._optional.get(start)}
            optional = [self._words[line] for line in lines if self._optional.get(line) not in plain]
            anywhere = self._meant((words & self._unsure).union(*optional))
            # A macro that puts names together may read any.
            yield node, anywhere, "##" in anywhere

    def _meant(self, words: set[str]) -> set[str]:
        """Return words, and those of the macros among them, and of theirs."""
        closure: set[str] = set()
        waiting = list(words)
        while waiting:
            word = waiting.pop()
            if word not in closure:
                closure.add(word)
                waiting += self._bodies.get(word, ())
        return closure

    def _followed(self, text: str, mark: str) -> str:
        """Return a text without directives and with its macros expanded; its lines stay where they are."""
        # A branch with a mark is taken, whatever its condition says, and the last one where nothing decides.
        branches: dict[int, set[int]] = {}
        last: dict[int, int] = {}
        for _, _, line, opened in macros.conditionals(text, lambda *_: True):
            last |= {each.line: each.number for each in opened[-1:]}
            for each in opened if mark in line else ():
                branches.setdefault(each.line, set()).add(each.number)
        parts: list[str] = []
        waiting: list[str] = []
        for word, rest, line, opened in macros.conditionals(text, lambda a, b: macros.decided(a, b, self._known)):
            if word in {"define", "undef"}:
                parts += [self._expanded(waiting)] if waiting else []
                waiting = []
                self._define(word, rest, opened)
            elif word is None and opened:
                self._optional[len(self._words)] = opened[-1].line, opened[-1].number
                if any(each.unknown for each in opened):
                    self.undecided |= set(re.findall(r"\btypedef\b[^;]*?(\w+)\s*;", line))
            for each in opened[-1:]:
                if each.unknown or each.line in branches:
                    each.taken = each.number in branches.get(each.line, {last[each.line]})
                    each.done = each.done or each.taken
            self._words.append(set(_WORD.findall(line)) if word is None else set())
            waiting.append(line if word is None and macros.active(opened) else "")
        return "\n".join([*parts, self._expanded(waiting)])

    def _expanded(self, lines: Sequence[str]) -> str:
        try:
            return macros.expand("\n".join(lines), self._known, self._budget)
        except UsageError:
            self._unread |= {*range(len(self._words) - len(lines), len(self._words))}
            return "\n".join(lines)

    def _define(self, word: str, rest: str, opened: Sequence[macros.Branch]) -> None:
        name, *body = _WORD.findall(rest) or [""]
        meaning = {}
        try:
            if word == "define":
                meaning = dict([macros.definition(rest)])
                body = [each for each in meaning[name].body if each not in (meaning[name].parameters or ())]
        except UsageError:
            # What cannot be expanded is a word that may read all that it is made of.
            self._unsure.add(name)
            body += ["##"] if "##" in rest else []
        if macros.active(opened):
            self._known.pop(name, None)
            self._known |= meaning
        self._unsure |= {name} if opened else set()
        self._bodies.setdefault(name, set()).update(body)

    def _emptied(self, match: "re.Match[str]") -> str:
        """Return a text without what it holds, and linkage without its braces."""
        text = match[0]
        if text == "}":
            return " " if self._linked and self._linked.pop() else text
        if text[-1] == "{":
            self._linked.append(text != "{")
        if match["linkage"]:
            return ("" if text[-1] == "{" else "extern ") + "\n" * text.count("\n")
        if text == "{":
            return text
        if text[0] == "'":
            return f"'_'{match['gap']}{match['word'] or ''}"
        # A word behind a text is a macro for another one.
        return f'""{match["gap"]}'

    def _parsed(self, text: str) -> Node:
        for _ in range(min(_MOST_TRIES, 1 + _MOST_PARSED // (len(text) + 1))):
            head = "".join(f"typedef int {name}; " for name in sorted(TYPES | self.guessed))
            head += f"{'void tw_file(void) {' if self.wrapped else ''}\n"
            tree = parsed(head + text)
            if not isinstance(tree, Misread):
                return tree
            if tree.word and tree.word not in self.guessed:
                self.guessed.add(tree.word)
            elif tree.place >= len(head):
                text = self._without(text, tree.place - len(head))
        raise UsageError("a file is C, got text that cannot be read as such")

    def _without(self, text: str, place: int) -> str:
        """Leave out what stands around a place between semicolons and braces, or else the sign there."""
        start = 1 + max(text.rfind(sign, 0, place) for sign in ";{}")
        end = min((position for sign in ";{}" if (position := text.find(sign, place)) >= 0), default=len(text))
        if not text[start:end].strip():
            outside = not self.wrapped and text.count("{", 0, place) == text.count("}", 0, place)
            if outside and text[place : place + 1] == "{":
                return f"{text[:place]}void tw_function(void){text[place:]}"
            end = max(end, place) + 1
        self._unread |= {*range(text.count("\n", 0, start), text.count("\n", 0, end) + 1)}
        # What a function inside the one around the file takes is not visible outside.
        words = re.sub(r"\([^()]*\)", " ", text[start:end]) if self.wrapped else text[start:end]
        self.lost |= set(_WORD.findall(words))
        return text[:start] + re.sub(r"\S", " ", text[start:end]) + text[end:]


_MARK = "tw_region_"
BEGIN, END = f"{_MARK}begins_", f"{_MARK}ends_"
"""Words that stand around a region's old body, followed by where the region begins in the file."""
_LOOPS = frozenset({"For", "While", "DoWhile"})


@dataclass(slots=True, eq=False, kw_only=True)
class Variable:
    """A declaration of the file."""

    # None where it is no number or array; an extent is 0 where the declaration does not say it
    number: Declare | None
    words: Sequence[str]  # of its type
    value: str  # text of its initial value
    time: int  # when it is declared, counted in statements of the file
    lasting: bool  # whether its value outlives the function
    own: bool  # whether it is an array that is an object of its own, not a pointer or parameter
    restricted: bool  # whether it is a pointer that is declared with ``restrict``
    constant: bool
    changes: list[int] = field(default_factory=list)  # when it is assigned, or its address is taken


@dataclass(slots=True, eq=False)
class _Step:
    """A statement without others inside, or the head of one."""

    # whether the variables that it mentions, or the names that nothing declares, are read before they are set
    reads: "Mapping[Variable | str, bool]"
    after: "list[_Step]" = field(default_factory=list)  # what may run next


@dataclass(slots=True, eq=False)
class _Function:
    anywhere: set[str]  # names that may be read or changed at any place
    unread: bool = False  # whether every name may be read
    addressed: "set[Variable | str]" = field(default_factory=set)
    pointers: list[tuple[str, str]] = field(default_factory=list)  # what it lets point to scalars, and those
    leaps: list[tuple[_Step, str]] = field(default_factory=list)  # with the label that each goes to
    labels: dict[str, _Step] = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class Place:
    """Where a region stands."""

    function: _Function
    scope: Mapping[str, Variable]
    typedefs: Mapping[str, str | None]  # types of numbers by the names that the file gives them
    time: int
    again: bool  # whether a loop around the region runs it again
    lost: set[str]  # names that stand in statements that cannot be read
    unsure: set[str]  # names that may be changed at any place of the file
    # what runs behind the region, and what names mean there; None where the region's end is in another block
    end: tuple[_Step, Mapping[str, Variable]] | None = None

    @property
    def declared(self) -> dict[str, Declare]:
        """The scalars and arrays that are visible."""
        return {name: each.number for name, each in self.scope.items() if each.number is not None}

    @property
    def values(self) -> dict[str, str]:
        """Texts of the initial values of scalars that nothing else assigns before the region runs."""
        again = self.again or bool(self.function.leaps)
        return {
            name: each.value
            for name, each in self.scope.items()
            if each.value
            and (each.number is not None and not each.number.dims)
            and (each.constant or not any(each.time < time < self.time for time in each.changes))
            and (each.constant or name not in (self.unsure if each.lasting else self.function.anywhere))
            and not (each.changes and (again or each.lasting))
        }

    def reads(self, name: str) -> bool:
        """Whether the function may read behind the region what that leaves in a variable."""
        if self.end is None or self.function.unread or name in self.function.anywhere:
            return True
        end, scope = self.end
        variable = scope.get(name, name)
        if variable in self.function.addressed:
            return True
        steps: set[_Step] = set()
        waiting = list(end.after)
        while waiting:
            step = waiting.pop()
            if step in steps:
                continue
            steps.add(step)
            if step.reads.get(variable):
                return True
            if variable not in step.reads:
                waiting += step.after
        return False


def surroundings(text: str) -> dict[int, Place]:
    """Return where the regions of a file, blocks between :data:`BEGIN` and :data:`END`, stand, by their offsets."""
    try:
        unit = Unit(text, BEGIN)
        walker = _Walker(unit)
        for node, anywhere, unread in unit.externals():
            walker.unsure |= anywhere
            walker.external(node, _Function(anywhere, unread))
    except (UsageError, RecursionError):
        return {}
    return walker.places


@dataclass(slots=True)
class _Jumps:
    """Where statements inside a loop or a switch go on."""

    ends: list[_Step] = field(default_factory=list)  # what ``break`` leaves
    turns: list[_Step] = field(default_factory=list)  # what ``continue`` leaves
    switch: _Step | None = None  # the head of the switch, before its cases


class _Walker:
    """Walks through a file; methods for statements take the steps before, and return those that go on behind."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.places: dict[int, Place] = {}
        self.unsure: set[str] = set()  # names that may be changed at any place of the file
        self.scope: ChainMap[str, Variable] = ChainMap()
        self.typedefs: ChainMap[str, str | None] = ChainMap()  # None for types of other things than numbers
        self.function = _Function(set())
        self.time = 0
        self.outside = True  # whether what is declared is the file's
        self.loops = 0  # that are open

    def external(self, node: Node, function: _Function) -> None:
        self.function = function
        if kind(node) != "FuncDef":
            self.simple(node, [])
            return
        outer = self.scope, self.typedefs
        self.scope, self.typedefs = self.scope.new_child(), self.typedefs.new_child()
        self.outside = self.unit.wrapped
        head = next((each for each in _walk(node.decl) if kind(each) == "FuncDecl"), None)
        parameters = head.args.params if head is not None and head.args else ()
        for each in [*parameters, *(node.param_decls or ())]:
            if kind(each) == "Decl":
                self.declare(each, parameter=True)
        self.sequence(node.body.block_items or (), [_Step({})], _Jumps())
        for step, label in function.leaps:
            step.after += [function.labels[label]] if label in function.labels else function.labels.values()
        (self.scope, self.typedefs), self.outside = outer, True

    def simple(self, node: Node, before: Sequence[_Step], *, counter: bool = False) -> _Step:
        """Walk through what holds no other statement; ``counter``: what it declares has no one value."""
        self.time += 1
        reads: dict[Variable | str, bool] = {}
        for each in node.decls if kind(node) == "DeclList" else [] if node is None else [node]:
            if kind(each) == "Decl":
                self.declare(each, counter=counter)
            elif kind(each) == "Typedef":
                number = None if each.name in self.unit.undecided else self.number(each)
                self.typedefs[each.name] = number.ctype if number is not None and not number.dims else None
            self.evaluate(each, reads)
        return _step(reads, before)

    def evaluate(self, node: Node, reads: "dict[Variable | str, bool]") -> None:
        """Note what an expression does first with every variable: it reads it, or sets it before."""
        if kind(node) == "ExprList":
            for each in node.exprs:
                self.evaluate(each, reads)
        elif kind(node) == "Assignment" and node.op == "=":
            if kind(node.lvalue) != "ID":
                self.mention(node.lvalue, reads)
            self.evaluate(node.rvalue, reads)
            for name in _names(node.lvalue):
                reads.setdefault(self.scope.get(name, name), False)
            self.change(node)
        else:
            if kind(node) == "Decl":
                # A declaration that a loop comes back to is taken to read what was left there.
                reads.setdefault(self.scope.get(node.name, node.name), True)
            self.mention(node, reads)

    def mention(self, node: Node, reads: "dict[Variable | str, bool]") -> None:
        """Note that all names in an expression are read, and what is changed there."""
        for name in _names(node):
            reads.setdefault(self.scope.get(name, name), True)
        for each in _walk(node):
            self.change(each)

    def change(self, node: Node) -> None:
        """Note what an expression assigns or takes the address of, without those inside."""
        target: Node = None
        match kind(node):
            case "Assignment":
                target = node.lvalue
                self.points(_names(node.lvalue), node.rvalue)
            case "Decl" if node.init is not None:
                self.points([node.name], node.init)
            case "UnaryOp" if node.op in {"&", "++", "--", "p++", "p--"}:
                target = node.expr
                while kind(target) in {"ArrayRef", "StructRef", "Cast"}:
                    target = target.expr if kind(target) == "Cast" else target.name
                self.function.addressed |= {self.scope.get(name, name) for name in _names(target) if node.op == "&"}
        if kind(target) == "ID" and target.name in self.scope:
            self.scope[target.name].changes.append(self.time)

    def points(self, pointers: Sequence[str], value: Node) -> None:
        for each in _walk(value):
            if kind(each) == "UnaryOp" and each.op == "&" and kind(each.expr) != "ArrayRef":
                self.function.pointers += [(pointer, name) for pointer in pointers for name in _names(each.expr)]
        if kind(value) == "ID":
            targets = dict.fromkeys(name for pointer, name in self.function.pointers if pointer == value.name)
            pairs = [(pointer, name) for pointer in pointers for name in targets]
            self.function.pointers += [each for each in pairs if each not in self.function.pointers]

    def declare(self, node: Node, *, parameter: bool = False, counter: bool = False) -> None:
        if node.name is None or kind(node.type) == "FuncDecl":
            return
        number = self.number(node)
        inside = list(_walk(node.type))
        words = [word for each in inside if kind(each) == "IdentifierType" for word in each.names]
        words = words or [kind(each).lower() for each in inside if kind(each) in {"Enum", "Struct", "Union"}]
        if number is None and len(words) == 1 and words[0] in self.unit.guessed - self.typedefs.keys():
            # The word may be a macro that stands for a statement.
            self.function.anywhere.add(node.name)
            if node.name in self.scope:
                self.scope[node.name].changes.append(self.time)
                self.scope[node.name] = replace(self.scope[node.name], number=None, words=words)
                return
        dims = () if number is None else number.dims
        quals = {word for each in inside for key in ("quals", "dim_quals") for word in getattr(each, key, None) or ()}
        self.scope[node.name] = Variable(
            number=number,
            words=words,
            value=source(node.init) if node.init is not None and not counter else "",
            time=self.time,
            lasting=not parameter and (self.outside or bool({"static", "extern"} & set(node.storage or ()))),
            own=not parameter and not counter and bool(dims) and Num("0") not in dims,
            restricted="restrict" in quals,
            constant="const" in quals,
        )

    def number(self, node: Node) -> Declare | None:
        """Return a declaration, or None where it is none of a number or an array."""
        inner, dims, stars = shape(node)
        if kind(inner) != "TypeDecl" or kind(inner.type) != "IdentifierType":
            return None
        # A word that is no type of the file's beside others is a macro.
        words = [word for word in inner.type.names if word not in self.unit.guessed] or inner.type.names
        single = words[0] if len(words) == 1 else ""
        ctype = self.typedefs[single] if single in self.typedefs else ALIASES.get(single) or named(words)
        if ctype is None:
            return None
        return Declare(ctype=ctype, name=node.name, dims=(Num("0"),) * stars + tuple(map(extent, dims)), heap=stars > 1)

    def sequence(self, items: Sequence[Node], before: list[_Step], jumps: _Jumps) -> list[_Step]:
        for each in items:
            before = self.statement(each, before, jumps)
        return before

    def statement(self, node: Node, before: list[_Step], jumps: _Jumps) -> list[_Step]:  # noqa: PLR0911
        match kind(node):
            case "Compound" if (region := _region(node, 0, BEGIN)) is not None:
                return self.region(node, region, before, jumps)
            case "Compound" | "If" | "For" | "While" | "DoWhile" | "Switch" as name:
                outer = self.scope, self.typedefs, self.outside
                self.scope, self.typedefs, self.outside = self.scope.new_child(), self.typedefs.new_child(), False
                self.loops += name in _LOOPS
                left = self.nested(node, before, jumps)
                self.loops -= name in _LOOPS
                self.scope, self.typedefs, self.outside = outer
                return left
            case "Case" | "Default":
                label = _step({}, [*before, *([jumps.switch] if jumps.switch else [])])
                return self.sequence(node.stmts or (), [label], jumps)
            case "Label":
                self.function.labels[node.name] = label = _step({}, before)
                return self.statement(node.stmt, [label], jumps)
            case "Return":
                self.simple(node.expr, before)
                return []
            case "Break":
                jumps.ends += before
                return []
            case "Continue":
                jumps.turns += before
                return []
            case "Goto":
                self.function.leaps.append((_step({}, before), node.name))
                return []
        return [self.simple(node, before)]

    def region(self, node: Node, region: int, before: list[_Step], jumps: _Jumps) -> list[_Step]:
        """Walk through a region; what it declares is visible behind it."""
        self.time += 1
        place = self.places[region] = Place(
            function=self.function,
            scope=dict(self.scope),
            typedefs={name: ctype for name, ctype in self.typedefs.items() if ctype not in {ALIASES.get(name), name}},
            time=self.time,
            again=self.loops > 0,
            lost=self.unit.lost,
            unsure=self.unsure,
        )
        end = _step({}, self.sequence(node.block_items[1:], before, jumps))
        if _region(node, -1, END) == region:
            place.end = end, dict(self.scope)
        return [end]

    def nested(self, node: Node, before: list[_Step], jumps: _Jumps) -> list[_Step]:
        if kind(node) == "Compound":
            return self.sequence(node.block_items or (), before, jumps)
        if kind(node) == "If":
            test = self.simple(node.cond, before)
            ways = [each for each in (node.iftrue, node.iffalse) if each is not None]
            left = [step for each in ways for step in self.statement(each, [test], jumps)]
            return left if len(ways) == 2 else [*left, test]
        if kind(node) == "Switch":
            test = self.simple(node.cond, before)
            inner = _Jumps(turns=jumps.turns, switch=test)
            return [*self.statement(node.stmt, [], inner), *inner.ends, test]
        inner = _Jumps(switch=jumps.switch)
        start = self.simple(getattr(node, "init", None), before, counter=True)
        if kind(node) == "DoWhile":
            left = self.statement(node.stmt, [start], inner)
            test = self.simple(node.cond, [*left, *inner.turns])
            test.after.append(start)
        else:
            test = self.simple(node.cond, [start])
            left = self.statement(node.stmt, [test], inner)
            self.simple(getattr(node, "next", None), [*left, *inner.turns]).after.append(test)
        return inner.ends if node.cond is None else [*inner.ends, test]


def _step(reads: "Mapping[Variable | str, bool]", before: Sequence[_Step]) -> _Step:
    step = _Step(reads)
    for each in before:
        each.after.append(step)
    return step


def _region(block: Node, place: int, mark: str) -> int | None:
    """Return the region whose mark a statement of a block is, or None."""
    node: Node = block.block_items[place] if block.block_items else None
    name = node.name if kind(node) == "ID" else ""
    return int(name.removeprefix(mark)) if name.startswith(mark) else None


def _names(node: Node) -> list[str]:
    return [each.name for each in _walk(node) if kind(each) == "ID"]


def _walk(node: Node) -> Iterator[Node]:
    """Yield a node and those inside, without names of members."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += [child for name, child in each.children() if (kind(each), name) != ("StructRef", "field")]

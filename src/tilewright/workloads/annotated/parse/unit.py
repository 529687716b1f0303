"""A file of C as a tree of pycparser's, whatever else stands in it.

Directives are followed, macros are expanded, and words that can only be types are declared as such. What pycparser
still cannot read is left out, statement by statement; so are the branches of conditionals that are not taken. Names
that stand there, or in macros that may have another meaning, are those that may be read anywhere.
"""

import re
from collections.abc import Iterator, Sequence

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.parse import macros
from tilewright.workloads.annotated.parse.c import NO_TYPES, TYPES, Misread, Node, kind, parsed

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
_MOST_PARSED = 2**21
"""Most characters that are parsed in all tries together."""


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
        for node, start, end in zip(nodes, starts, [*starts[1:], len(self._words) - 1], strict=True):
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
        found: set[str] = set()
        waiting = list(words)
        while waiting:
            word = waiting.pop()
            if word not in found:
                found.add(word)
                waiting += self._bodies.get(word, ())
        return found

    def _followed(self, text: str, mark: str) -> str:
        """Return a text without directives and with its macros expanded; its lines stay where they are."""
        # A branch with a mark is taken, whatever its condition says, and the last one where nothing decides.
        taken: dict[int, set[int]] = {}
        last: dict[int, int] = {}
        for _, _, line, opened in macros.conditionals(text, lambda *_: True):
            last |= {each.line: each.number for each in opened[-1:]}
            for each in opened if mark in line else ():
                taken.setdefault(each.line, set()).add(each.number)
        done: list[str] = []
        waiting: list[str] = []
        for word, rest, line, opened in macros.conditionals(text, lambda a, b: macros.decided(a, b, self._known)):
            if word in {"define", "undef"}:
                done += [self._expanded(waiting)] if waiting else []
                waiting = []
                self._define(word, rest, opened)
            elif word is None and opened:
                self._optional[len(self._words)] = opened[-1].line, opened[-1].number
                if any(each.unknown for each in opened):
                    self.undecided |= set(re.findall(r"\btypedef\b[^;]*?(\w+)\s*;", line))
            for each in opened[-1:]:
                if each.unknown or each.line in taken:
                    each.taken = each.number in taken.get(each.line, {last[each.line]})
                    each.done = each.done or each.taken
            self._words.append(set(_WORD.findall(line)) if word is None else set())
            waiting.append(line if word is None and macros.active(opened) else "")
        return "\n".join([*done, self._expanded(waiting)])

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
        found = match[0]
        if found == "}":
            return " " if self._linked and self._linked.pop() else found
        if found[-1] == "{":
            self._linked.append(found != "{")
        if match["linkage"]:
            return ("" if found[-1] == "{" else "extern ") + "\n" * found.count("\n")
        if found == "{":
            return found
        if found[0] == "'":
            return f"'_'{match['gap']}{match['word'] or ''}"
        # A word behind a text is a macro for another one.
        return f'""{match["gap"]}'

    def _parsed(self, text: str) -> Node:
        for _ in range(min(_MOST_TRIES, 1 + _MOST_PARSED // (len(text) + 1))):
            head = "".join(f"typedef int {name}; " for name in sorted(TYPES | self.guessed))
            head += f"{'void tw_file(void) {' if self.wrapped else ''}\n"
            found = parsed(head + text)
            if not isinstance(found, Misread):
                return found
            if found.word and found.word not in self.guessed:
                self.guessed.add(found.word)
            elif found.place >= len(head):
                text = self._without(text, found.place - len(head))
        raise UsageError("a file is C, got text that cannot be read as such")

    def _without(self, text: str, place: int) -> str:
        """Leave out what stands around a place between semicolons and braces, or else the sign there."""
        start = 1 + max(text.rfind(sign, 0, place) for sign in ";{}")
        end = min((found for sign in ";{}" if (found := text.find(sign, place)) >= 0), default=len(text))
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

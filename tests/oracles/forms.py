"""Affine forms over classes of numbers: what an expression of a schedule tree is for many tiles at once.

A *variable* stands for every number of a range: the tiles of an axis, the wavefronts, the rows of a tile. Expressions
become sums of whole multiples of variables; ``min``, ``max``, divisions and comparisons are decided where one answer
holds for all numbers of the ranges. Where it does not, :class:`Ambiguous` says which variable to cut, and where; so
whoever counts ends up with few classes of numbers that all behave alike, however many numbers there are.

``k v // c`` that is no whole multiple is a *staircase* S with a *residue* R, ``k v = c S + R`` with ``0 <= R < c``;
staircases of one variable with equal ``k`` and ``c`` share both, so that the length of a band,
``steps (band + 1) // bands - steps band // bands``, depends on R alone, and a class may be all numbers with R in a
range. How many there are is a sum of quotients.

Source: Knuth, Graham and Patashnik, "Concrete Mathematics", section 3.5 (sums of floors, by Euclid's algorithm).
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from tilewright.base.intmath import ceil_div
from tilewright.schedules.tree.affine import AffineOperator, Combined, Expr, Whole


class AtomKind(IntEnum):
    """What of a variable a term is a multiple of."""

    ITSELF = 0
    STAIRS = 1
    RESIDUE = 2


class Atom(NamedTuple):
    """A variable, or a staircase of it, or its residue.

    Attributes:
        depth: Which variable, the outermost being 0.
        kind: What of it.
        factor: The staircase's k.
        divisor: The staircase's c.
    """

    depth: int
    kind: AtomKind = AtomKind.ITSELF
    factor: int = 1
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class Class:
    """Numbers of a variable: a range, perhaps only those of it with a residue in another.

    Attributes:
        low: The first number.
        high: The last one.
        stairs: The residue's k and c; (1, 1) for none.
        residues: Its first and last value.
    """

    low: int
    high: int
    stairs: tuple[int, int] = (1, 1)
    residues: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        (k, c), (first, last) = self.stairs, self.residues
        below = _quotients(self, k, c - first, c) - _quotients(self, k, c - 1 - last, c)
        return below if c > 1 else self.high - self.low + 1

    def bounds(self, atom: Atom) -> tuple[int, int]:
        """The least and the largest value of an atom, or less and more."""
        k, c = atom.factor, atom.divisor
        if atom.kind is AtomKind.ITSELF:
            return self.low, self.high
        first, last = k * self.low // c, k * self.high // c
        if atom.kind is AtomKind.STAIRS:
            return first, last
        low, high = self.residues if self.stairs == (k, c) else (0, c - 1)
        if first == last:
            low, high = max(low, k * self.low % c), min(high, k * self.high % c)
        return low, high

    def cut(self, atom: Atom, at: tuple[int, ...]) -> "list[Class]":
        """Cut into classes; in each of them the atom is below, or not below, every one of some values.

        Raises:
            ValueError: If that cuts nothing.
        """
        k, c = atom.factor, atom.divisor
        if atom.kind is AtomKind.RESIDUE and self.stairs in ((1, 1), (k, c)):
            first, last = self.residues if self.stairs == (k, c) else (0, c - 1)
            ends = [first, *at, last + 1]
            parts = [replace(self, stairs=(k, c), residues=(a, b - 1)) for a, b in itertools.pairwise(ends)]
        else:
            if atom.kind is AtomKind.RESIDUE:
                at = ((self.low + self.high + 1) // 2,)
            elif atom.kind is AtomKind.STAIRS:
                at = tuple(ceil_div(c * value, k) for value in at)
            ends = [self.low, *at, self.high + 1]
            parts = [replace(self, low=a, high=b - 1) for a, b in itertools.pairwise(ends) if a < b]
        if self in parts:
            raise ValueError(f"{self} is not cut by {atom} at {at}")
        return [part for part in parts if part.size]


def _quotients(numbers: Class, k: int, more: int, c: int) -> int:
    """The sum of ``(k v + more) // c`` over a range of numbers v."""
    low, count = numbers.low, numbers.high - numbers.low + 1
    return _sum_of_quotients(count, k, k * low + more, c)


def _sum_of_quotients(count: int, k: int, more: int, c: int) -> int:
    """The sum of ``(k i + more) // c`` over i from 0 to ``count - 1``."""
    total = 0
    while True:
        total += count * (count - 1) // 2 * (k // c) + count * (more // c)
        k, more = k % c, more % c
        top = k * count + more
        if top < c:
            return total
        count, more = top // c, top % c
        k, c = c, k


class Ambiguous(Exception):  # noqa: N818  (no error: it is caught where the variable is)
    """No single answer holds for all numbers of a class.

    Attributes:
        atom: What to cut the class by.
        at: Values at which the pieces start, rising.
    """

    def __init__(self, atom: Atom, at: tuple[int, ...]) -> None:
        super().__init__(f"{atom} is to be cut at {at}")
        self.atom, self.at = atom, at


class Form(NamedTuple):
    """A number and multiples of atoms."""

    constant: int
    terms: Mapping[Atom, int]

    def plus(self, other: "Form", times: int = 1) -> "Form":
        """The sum with so many times another form."""
        if not other.terms:
            return Form(self.constant + times * other.constant, self.terms)
        if not self.terms and times == 1:
            return Form(self.constant + other.constant, other.terms)
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            terms[atom] = terms.get(atom, 0) + times * factor
            if not terms[atom]:
                del terms[atom]
        return Form(self.constant + times * other.constant, terms)

    def times(self, factor: int) -> "Form":
        """A multiple."""
        return Form(self.constant * factor, {a: f * factor for a, f in self.terms.items()} if factor else {})


_NONE: Mapping[Atom, int] = {}


def number(value: int) -> Form:
    """A form without variables."""
    return Form(value, _NONE)


@dataclass(slots=True)
class Later:
    """A name's expression, computed when the name is used: what nobody asks for cuts no class."""

    expression: Expr
    names: "Names"
    known: Form | None = None

    def form(self, scope: "FormScope") -> Form:
        """What the name stands for."""
        if self.known is None:
            self.known = scope.value(self.expression, self.names)
        return self.known


Names = Mapping[str, Form | Later]
"""What names stand for."""


class FormScope:
    """The variables that there are, from the outermost to the innermost, and what is known of forms over them."""

    def __init__(self) -> None:
        self.classes: list[Class] = []

    def variable(self) -> Form:
        """The innermost variable as a form."""
        innermost = self.classes[-1]
        if innermost.low == innermost.high:
            return number(innermost.low)
        return Form(0, {Atom(len(self.classes) - 1): 1})

    def bounds(self, form: Form) -> tuple[int, int]:
        """The least and the largest value of a form, or less and more."""
        low = high = form.constant
        for atom, factor in form.terms.items():
            first, last = self.classes[atom.depth].bounds(atom)
            low += factor * (first if factor > 0 else last)
            high += factor * (last if factor > 0 else first)
        return low, high

    def sign(self, form: Form) -> bool | None:
        """Whether a form is never negative (True) or always (False)."""
        low, high = self.bounds(form) if form.terms else (form.constant, form.constant)
        return True if low >= 0 else False if high < 0 else None

    def holds(self, form: Form) -> bool:
        """Whether a form is never negative.

        Raises:
            Ambiguous: If it is for some numbers and not for others.
        """
        known = self.sign(form)
        if known is None:
            raise self.cut(form)
        return known

    def cut(self, form: Form) -> Ambiguous:
        """Where to cut the outermost variable of a form so that its sign is known in more of the pieces."""
        atom = min((a for a in form.terms if self._varies(a)), key=lambda a: (a.depth, a.kind))
        factor = form.terms[atom]
        rest = self.bounds(form.plus(Form(0, {atom: factor}), -1))
        ends = (ceil_div(-x, factor) if factor > 0 else x // -factor + 1 for x in rest)
        low, high = self.classes[atom.depth].bounds(atom)
        at = tuple(sorted({end for end in ends if low < end <= high}))
        return Ambiguous(atom, at or ((low + high + 1) // 2,))

    def constant(self, form: Form) -> int:
        """The value of a form that is the same for all numbers.

        Raises:
            Ambiguous: If it is not.
        """
        low, high = self.bounds(form)
        if low == high:
            return low
        atom = min((a for a in form.terms if self._varies(a)), key=lambda a: (a.depth, a.kind))
        low, high = self.classes[atom.depth].bounds(atom)
        raise Ambiguous(atom, ((low + high + 1) // 2,) if high - low > _FEW else tuple(range(low + 1, high + 1)))

    def _varies(self, atom: Atom) -> bool:
        low, high = self.classes[atom.depth].bounds(atom)
        return low < high

    def divided(self, form: Form, divisor: int) -> tuple[Form, Form]:
        """A form divided by a number, rounded down, and the remainder.

        Raises:
            Ambiguous: If these are no forms.
        """
        whole, rest = Form(form.constant // divisor, {}), Form(form.constant % divisor, {})
        for atom, factor in form.terms.items():
            times = factor // divisor if factor > 0 else -(-factor // divisor)  # what is left has the factor's sign
            left = factor - times * divisor
            whole = whole.plus(Form(0, {atom: times} if times else {}))
            rest = rest.plus(Form(0, {atom: left} if left else {}))
        low, high = (end // divisor for end in self.bounds(rest))
        if low == high:
            return whole.plus(number(low)), rest.plus(number(-low * divisor))
        ((atom, factor), *others) = rest.terms.items()
        if others or atom.kind is not AtomKind.ITSELF or factor < 0:
            raise self.cut(rest.plus(number(-divisor * high)))
        residue = Atom(atom.depth, AtomKind.RESIDUE, factor, divisor)
        first, last = self.classes[atom.depth].bounds(residue)
        low, high = (first + rest.constant) // divisor, (last + rest.constant) // divisor
        if low != high:
            raise Ambiguous(residue, (divisor - rest.constant,))
        stairs = Atom(atom.depth, AtomKind.STAIRS, factor, divisor)
        return whole.plus(Form(low, {stairs: 1})), Form(rest.constant - low * divisor, {residue: 1})

    def value(self, expression: Expr, names: "Names") -> Form:
        """Return what an expression is.

        Args:
            expression: The expression.
            names: What its names stand for.

        Raises:
            Ambiguous: If that is no form, for the classes of numbers that there are.
        """
        if isinstance(expression, Combined):
            first, second = self.value(expression.first, names), self.value(expression.second, names)
            return self._combined(expression.operator, first, second)
        if isinstance(expression, Whole):
            return Form(expression.value, _NONE)
        found = names[expression.name]
        return found if isinstance(found, Form) else found.form(self)

    def _combined(self, operator: AffineOperator, a: Form, b: Form) -> Form:
        if operator is AffineOperator.ADD:
            return a.plus(b)
        if operator is AffineOperator.SUB:
            return a.plus(b, -1)
        if operator is AffineOperator.MUL:
            return b.times(self.constant(a)) if b.terms else a.times(b.constant)
        if operator is AffineOperator.MIN:
            return a if self.holds(b.plus(a, -1)) else b
        if operator is AffineOperator.MAX:
            return a if self.holds(a.plus(b, -1)) else b
        divisor = self.constant(b)
        if operator is AffineOperator.CEIL_DIV:
            a = a.plus(number(divisor - 1))
        floor, remainder = self.divided(a, divisor)
        return remainder if operator is AffineOperator.MOD else floor


_FEW = 64
"""Numbers that become classes of their own at once where every one of them matters."""

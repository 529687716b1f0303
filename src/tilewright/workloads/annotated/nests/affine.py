"""Subscripts, bounds and conditions of a loop nest in isl's words, where they are affine."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add, mul

from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.nest import Binary, Expr, Loop, Name, Num, Unary, integer, names
from tilewright.workloads.annotated.nests.values import evaluate, literal

_OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MOST_TERMS = 32


@dataclass(frozen=True, slots=True)
class IslNames:
    """What the names of a nest are in isl's words; those that nothing here says more of are parameters ``p_name``."""

    changed: Collection[str]  # names that have no one value: they are no parameters
    known: Mapping[str, int] = field(default_factory=dict)  # values of names
    dims: Mapping[str, str] = field(default_factory=dict)  # counters that are dimensions, with their names there

    def counting(self, dims: Mapping[str, str]) -> "IslNames":
        """Return the same names with other dimensions."""
        return replace(self, dims=dims)

    def affine(self, expr: Expr) -> str | None:  # noqa: PLR0911
        """Return an expression as isl text, or None if it is not affine."""
        match expr:
            case Num(text):
                value = literal(text)
                return str(value) if isinstance(value, int) else None
            case Name(name):
                if name in self.dims:
                    return self.dims[name]
                return str(self.known[name]) if name in self.known else None if name in self.changed else f"p_{name}"
            case nest.Convert("int" | "long" | "int64_t" | "int32_t", operand):
                return self.affine(operand)
            case Unary("-" | "+" as op, operand):
                inner = self.affine(operand)
                return None if inner is None else f"({op}({inner}))"
            case Binary("+" | "-" as op, left, right):
                a, b = self.affine(left), self.affine(right)
                return None if a is None or b is None else f"({a} {op} {b})"
            case Binary("*", left, right):
                for side, other in ((left, right), (right, left)):
                    factor, inner = self._number(side), self.affine(other)
                    if isinstance(factor, int) and inner is not None:
                        return f"({factor} * {inner})"
                return None
        value = None if nest.arrays(expr) else self._number(expr)
        return str(value) if isinstance(value, int) else None

    def _number(self, expr: Expr) -> int | float | None:
        return None if names(expr) & self.dims.keys() else evaluate(expr, self.known)

    def rows(self, expr: Expr) -> tuple[tuple[Expr, ...], tuple[str, ...]] | None:
        """Return a subscript of a matrix with one index as those of one with several, and the lengths of its rows.

        ``(i*m + j)*n + k`` is ``[i][j][k]`` with rows of ``m`` and ``n`` elements (Maslov, Delinearization, 1992); that
        holds where every subscript but the first lies in its row, which is the caller's to show. None: it is neither.
        """
        if self.affine(expr) is not None:
            return (expr,), ()
        total = terms(expr)
        if total is None:
            return None
        lengths = {part.name for _, factors in total if len(factors) > 1 for part in factors if isinstance(part, Name)}
        for length in sorted(lengths - set(self.dims) - set(self.changed)):
            column = _polynomial([term for term in total if Name(length) not in term[1]])
            inside = [(number, factors) for number, factors in total if Name(length) in factors]
            outer = _polynomial([(number, _without(factors, Name(length))) for number, factors in inside])
            split = None if self.affine(column) is None else self.rows(outer)
            if split is not None:
                return (*split[0], column), (*split[1], length)
        return None

    def conditions(self, test: Expr, *, holds: bool = True) -> tuple[list[str], bool]:
        """Return affine conditions that follow from a test's result, and whether they say all of it."""
        match test:
            case Unary("!", inner):
                return self.conditions(inner, holds=not holds)
            case Binary("&&" | "||" as op, left, right):
                (a, whole_a), (b, whole_b) = (self.conditions(each, holds=holds) for each in (left, right))
                if (op == "&&") == holds:
                    return a + b, whole_a and whole_b
                if whole_a and whole_b:
                    return [f"(({' and '.join(a)}) or ({' and '.join(b)}))"], True
            case Binary(op, left, right) if op in _OPPOSITES:
                lhs, rhs = self.affine(left), self.affine(right)
                op = op if holds else _OPPOSITES[op]
                if lhs is not None and rhs is not None:
                    return [f"{lhs} {'=' if op == '==' else op} {rhs}"], True
        return [], False

    def domain(self, loops: Sequence[Loop], tests: Sequence[Expr], letter: str) -> tuple[list[str], bool]:
        """Return the conditions on the counters of loops around something as isl text, and whether they are exact."""
        here = self.counting({})
        conditions: list[str] = []
        exact = True
        for depth, loop in enumerate(loops):
            counter = f"{letter}{depth}"
            low, high = (loop.first, loop.last) if loop.step > 0 else (loop.last, loop.first)
            for bound, sign, function in ((low, ">=", "max"), (high, "<=", "min")):
                texts = [here.affine(part) for part in _extremes(bound, function)]
                exact = exact and None not in texts
                conditions += [f"{counter} {sign} {text}" for text in texts if text is not None]
            if abs(loop.step) > 1:
                start = here.affine(loop.first)
                exact = exact and start is not None
                if start is not None:
                    conditions.append(f"exists (e{counter} : {counter} = {start} + {loop.step} e{counter})")
            here = here.counting({**here.dims, loop.index: counter})
        for test in tests:
            more, whole = here.conditions(test)
            conditions += more
            exact = exact and whole
        return conditions, exact


def terms(expr: Expr) -> list[tuple[int, tuple[Expr, ...]]] | None:  # noqa: PLR0911
    """Return a sum of products of names as terms, each a number and names; None if it is something else.

    >>> terms((Name("i") + 2) * Name("n"))
    [(1, (Name(name='i'), Name(name='n'))), (2, (Name(name='n'),))]
    """
    match expr:
        case Num(text):
            value = literal(text)
            return [(value, ())] if isinstance(value, int) else None
        case Name():
            return [(1, (expr,))]
        case Unary("-" | "+" as op, operand):
            inner = terms(operand)
            return None if inner is None else [(-number if op == "-" else number, part) for number, part in inner]
        case Binary("+" | "-" | "*" as op, left, right):
            a, b = terms(left), terms(right)
            if a is None or b is None or len(a) * len(b) > _MOST_TERMS:
                return None
            if op == "*":
                return [(m * n, (*first, *second)) for m, first in a for n, second in b]
            return a + [(-number if op == "-" else number, part) for number, part in b]
    return None


def _without(factors: tuple[Expr, ...], factor: Expr) -> tuple[Expr, ...]:
    place = factors.index(factor)
    return (*factors[:place], *factors[place + 1 :])


def _polynomial(terms: list[tuple[int, tuple[Expr, ...]]]) -> Expr:
    products = (reduce(mul, factors, integer(number)) for number, factors in terms)
    return reduce(add, products, integer(0))


def _extremes(expr: Expr, function: str) -> list[Expr]:
    if isinstance(expr, nest.Call) and expr.function == function:
        return [part for each in expr.args for part in _extremes(each, function)]
    return [expr]

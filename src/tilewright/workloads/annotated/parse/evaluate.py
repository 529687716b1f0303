"""Expressions of tuning specifications: Python's notation, our own evaluator, bounded in time, size and depth.

Python only parses the text. What it parsed is a tree of literals, names, operators and a handful of functions; any
other node is refused by name. No attribute, no call of anything but the functions below, no comprehension, no lambda.
"""

import ast
import itertools
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tilewright.base.errors import UsageError

MAX_TEXT = 16384  # longest expression, characters
MAX_DEPTH = 40  # deepest nesting
MAX_ITEMS = 65536  # most elements of a list, characters of a string
MAX_WORK = 1_000_000  # most elementary steps of one evaluation
MAX_NUMBER = 2**63  # largest magnitude of a whole number
Plain = bool | int | float | str | tuple[Any, ...]  # what an expression yields; lists are tuples
_BINARY: Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Plain]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_LISTS: Mapping[str, Callable[[Any], Plain]] = {"min": min, "max": max, "len": len, "sum": sum, "list": tuple}
_SINGLE: Mapping[str, Callable[[Any], Plain]] = {"int": int, "float": float, "str": str, "abs": abs, "round": round}
FUNCTIONS = frozenset({"range", "map", "join", "product", *_LISTS, *_SINGLE})
"""What an expression may call; ``join`` is also a value, for ``map``."""
_CONSTANTS = {"True": True, "False": False, "true": True, "false": False}


@dataclass(slots=True)
class _Evaluator:
    """One evaluation: its names, and the work that it may still do."""

    names: Mapping[str, Plain]
    where: str
    work: int = field(default=MAX_WORK)

    def fail(self, message: str, hint: str = "") -> NoReturn:
        raise UsageError(f"{message} in {self.where}", hint)

    def spend(self, amount: int = 1) -> None:
        self.work -= amount
        if self.work < 0:
            self.fail(f"an expression takes at most {MAX_WORK} steps, got more")

    def value(self, node: ast.expr, depth: int = 0) -> Plain:  # noqa: PLR0911, RET503
        self.spend()
        if depth > MAX_DEPTH:
            self.fail(f"an expression is at most {MAX_DEPTH} levels deep, got more")
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return self._checked(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return self._checked(tuple(self.value(item, depth + 1) for item in items))
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.value(operand, depth + 1))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.value(left, depth + 1), self.value(right, depth + 1))
            case ast.BoolOp(op=op, values=values):
                return self._logical(op, values, depth)
            case ast.Compare():
                return self._compare(node, depth)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.value(body if self.value(test, depth + 1) else other, depth + 1)
            case ast.Subscript(value=value, slice=index):
                return self._item(self.value(value, depth + 1), self.value(index, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self._argument(name, arg, depth) for arg in args])
        kind = type(node).__name__
        self.fail(f"an expression is made of literals, names, operators and {', '.join(sorted(FUNCTIONS))}, got {kind}")

    def _argument(self, function: str, node: ast.expr, depth: int) -> Plain:
        if function == "map" and isinstance(node, ast.Name) and node.id in {"join", "int", "float", "str", "abs"}:
            return node.id
        return self.value(node, depth + 1)

    def _name(self, name: str) -> Plain:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name not in self.names:
            self.fail(f"the name {name[:60]!r} is not defined", f"known here: {', '.join(list(self.names)[:20])}")
        return self.names[name]

    def _checked(self, value: Plain) -> Plain:
        if isinstance(value, int) and abs(value) > MAX_NUMBER:
            self.fail("a whole number is at most 2^63 in magnitude, got a larger one")
        if isinstance(value, str | tuple):
            if len(value) > MAX_ITEMS:
                self.fail(f"a list or a string has at most {MAX_ITEMS} elements, got {len(value)}")
            self.spend(len(value) // 8)
        return value

    def _unary(self, op: ast.unaryop, value: Plain) -> Plain:
        if isinstance(op, ast.Not):
            return not value
        if not isinstance(value, int | float):
            self.fail(f"a sign is for numbers, got {str(value)[:60]!r}")
        if isinstance(op, ast.Invert):
            self.fail("the operator '~' is not known")
        return -value if isinstance(op, ast.USub) else value

    def _binary(self, op: ast.operator, a: Plain, b: Plain) -> Plain:
        if type(op) not in _BINARY:
            self.fail(f"the operators are + - * / // % **, got {type(op).__name__}")
        sign, compute = _BINARY[type(op)]
        if isinstance(a, str | tuple) or isinstance(b, str | tuple):
            return self._sequences(sign, a, b)
        if sign in {"/", "//", "%"} and b == 0:
            self.fail("there is a division by zero")
        if sign == "**":
            return self._power(a, b)
        return self._checked(compute(a, b))

    def _sequences(self, sign: str, a: Plain, b: Plain) -> Plain:  # noqa: RET503
        joined = (isinstance(a, str) and isinstance(b, str)) or (isinstance(a, tuple) and isinstance(b, tuple))
        if sign == "+" and joined and len(a) + len(b) <= MAX_ITEMS:  # type: ignore[arg-type]
            return self._checked(a + b)  # type: ignore[operator]
        if sign == "*":
            number, sequence = (a, b) if isinstance(a, int) else (b, a)
            if isinstance(number, int) and isinstance(sequence, str | tuple):
                if len(sequence) * max(number, 0) > MAX_ITEMS:
                    self.fail(f"a list or a string has at most {MAX_ITEMS} elements, got more")
                return self._checked(sequence * number)
        self.fail(f"{sign!r} does not apply to {str(a)[:40]!r} and {str(b)[:40]!r}")

    def _power(self, a: float, b: float) -> Plain:
        if isinstance(a, int) and isinstance(b, int) and b >= 0:
            if abs(a) > 1 and b * math.log2(abs(a)) > 63:
                self.fail("a whole number is at most 2^63 in magnitude, got a larger power")
            return self._checked(int(a**b))
        try:
            result: Any = float(a) ** float(b)
        except (OverflowError, ZeroDivisionError):
            result = None
        if not isinstance(result, float):
            self.fail(f"the power {a}**{b} has no value")
        return result

    def _logical(self, op: ast.boolop, values: Sequence[ast.expr], depth: int) -> Plain:
        stop = isinstance(op, ast.Or)
        result: Plain = not stop
        for value in values:
            result = self.value(value, depth + 1)
            if bool(result) is stop:
                break
        return result

    def _compare(self, node: ast.Compare, depth: int) -> bool:
        left = self.value(node.left, depth + 1)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node, depth + 1)
            compare = _COMPARE.get(type(op))
            if compare is None:
                self.fail("values are compared with == != < <= > >= in, got 'is'")
            try:
                if not compare(left, right):
                    return False
            except TypeError:
                self.fail(f"{str(left)[:40]!r} and {str(right)[:40]!r} cannot be compared")
            left = right
        return True

    def _item(self, value: Plain, index: Plain) -> Plain:
        if not isinstance(value, str | tuple) or not isinstance(index, int):
            self.fail("an index is a whole number into a list")
        if not -len(value) <= index < len(value):
            self.fail(f"the index {index} is outside a list of {len(value)}")
        result: Plain = value[index]
        return result

    def _call(self, name: str, args: list[Plain]) -> Plain:
        try:
            return self._checked(self._function(name, args))
        except (TypeError, ValueError, OverflowError) as error:
            self.fail(f"{name[:60]}() was called wrongly: {str(error)[:100]}")

    def _function(self, name: str, args: list[Plain]) -> Plain:  # noqa: PLR0911, RET503
        match name, args:
            case "range", _:
                return self._range(args)
            case "join", [str() as separator, tuple() as items]:
                return _join(separator, items)
            case "join", [tuple() as items]:
                return _join(" ", items)
            case "product", _:
                return self._product(args)
            case "map", [str() as function, tuple() as items]:
                return tuple(self._call(function, [item]) for item in items)
            case (("min" | "max" | "len" | "sum" | "list"), [tuple() as items]):
                self.spend(len(items))
                return _LISTS[name](items)
            case (("min" | "max"), [_, _, *_]):
                return _LISTS[name](args)
            case (("int" | "float" | "str" | "abs" | "round"), [bool() | int() | float() | str() as one]):
                return _SINGLE[name](one)
        if name in FUNCTIONS:
            raise TypeError(f"it does not take these {len(args)} arguments")
        self.fail(f"the functions are {', '.join(sorted(FUNCTIONS))}, got {name[:60]!r}")

    def _range(self, args: list[Plain]) -> Plain:
        whole = [arg for arg in args if isinstance(arg, int) and not isinstance(arg, bool)]
        if len(whole) != len(args) or not 1 <= len(args) <= 3:
            raise TypeError("a range has one to three whole numbers")
        numbers = range(*whole)
        if len(numbers) > MAX_ITEMS:
            raise ValueError(f"a range has at most {MAX_ITEMS} values, got {len(numbers)}")
        self.spend(len(numbers))
        return tuple(numbers)

    def _product(self, args: list[Plain]) -> Plain:
        lists = [arg for arg in args if isinstance(arg, tuple)]
        if len(lists) != len(args):
            raise TypeError("a product is of lists")
        total = math.prod(len(each) for each in lists)
        if total > MAX_ITEMS:
            raise ValueError(f"a product has at most {MAX_ITEMS} elements, got {total}")
        self.spend(total * max(1, len(lists)))
        return tuple(itertools.product(*lists))


def _join(separator: str, items: tuple[Any, ...]) -> str:
    if not all(isinstance(item, str) for item in items):
        raise TypeError("strings are joined")
    return separator.join(items)


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression that was parsed once and may be evaluated often."""

    text: str
    tree: ast.expr
    where: str

    def value(self, names: Mapping[str, Plain]) -> Plain:
        """Evaluate it for values of its names."""
        return _Evaluator(names, self.where).value(self.tree)


def formula(text: str, where: str = "an expression") -> Formula:
    """Parse an expression.

    >>> formula("map(join, product(['', '-g'], ['-O2']))").value({})
    (' -O2', '-g -O2')
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"an expression has at most {MAX_TEXT} characters, got {len(text)} in {where}")
    _check_depth(text, where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(" ".join(text.split("\n")).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise UsageError(f"{text.strip()[:80]!r} is no expression: {str(reason)[:80]} in {where}") from None
    return Formula(text.strip(), tree, where)


def _check_depth(text: str, where: str) -> None:
    depth = operators = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        operators = operators + 1 if character in "-+~! \n\t" else 0
        if depth > MAX_DEPTH or operators > 1000:
            raise UsageError(f"an expression is at most {MAX_DEPTH} levels deep, got more in {where}")

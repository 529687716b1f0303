"""How much of each array a loop nest touches, where nobody says so: exactly, in terms of the names in its bounds.

Guards, steps and loops without an iteration count: ``for (i = 0; i < n; i += 2) if (i + 1 < n) y[i+1] = 0;`` touches
the elements up to the last odd one below ``n``. Whatever isl cannot tell exactly has no extent here.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.affine import IslNames
from tilewright.workloads.annotated.nests.values import constant

MOST_ACCESSES = 400  # most mentions of arrays in a nest; none of a larger one has an extent
_MAX_OPERATIONS = 1_000_000
_ZERO = tree.integer(0)
_OPAQUE = "tw_opaque_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What a nest touches of an array along its first axis."""

    count: tree.Expr  # one more than the largest subscript; not positive where nothing is touched
    # conditions under which that is so and no subscript is negative, beyond what the loops say themselves
    assumes: tuple[tree.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mention:
    """A first subscript with the loops and conditions around it."""

    index: tree.Expr
    loops: tuple[tree.Loop, ...]
    tests: tuple[tree.Expr, ...]


def extents_of(stmt: tree.Stmt) -> dict[str, Extent]:
    """Return what a nest touches of its arrays along their first axes, as far as that can be told."""
    import islpy

    mentions: dict[str, list[_Mention]] = {}
    for array, mention in _mentions(stmt):
        mentions.setdefault(array, []).append(mention)
    if sum(map(len, mentions.values())) > MOST_ACCESSES:
        return {}
    names = IslNames(tree.changed(stmt))
    extents: dict[str, Extent] = {}
    for array, every in mentions.items():
        reached = [_Reach(islpy, each, names).extent() for each in dict.fromkeys(every)]
        bounds = [each for each in reached if each is not None]
        if array in tree.declared(stmt) or len(bounds) < len(reached):
            continue
        count = functools.reduce(lambda a, b: tree.Call("max", (a, b)), dict.fromkeys(each.count for each in bounds))
        extents[array] = Extent(count=count, assumes=tuple(dict.fromkeys(each for p in bounds for each in p.assumes)))
    return extents


def _mentions(
    node: tree.Stmt | tree.Expr, loops: tuple[tree.Loop, ...] = (), tests: tuple[tree.Expr, ...] = ()
) -> Iterator[tuple[str, _Mention]]:
    """Every mention of an array with what has to hold for it to be evaluated."""
    inside: list[tuple[tree.Stmt | tree.Expr | None, tuple[tree.Loop, ...], tuple[tree.Expr, ...]]]
    match node:
        case tree.Loop(first=first, last=last, body=body):
            inside = [(first, loops, tests), (last, loops, tests), (body, (*loops, node), tests)]
        case tree.If(test, then, other) | tree.Choose(test, then, other):
            unless = (*tests, tree.Unary("!", test))
            inside = [(test, loops, tests), (then, loops, (*tests, test)), (other, loops, unless)]
        case tree.Binary("&&" | "||" as op, left, right):
            inside = [(left, loops, tests), (right, loops, (*tests, left if op == "&&" else tree.Unary("!", left)))]
        case tree.Assign(target, _, value):
            inside = [(target, loops, tests), (value, loops, tests)]
        case tree.Declare(value=value):
            inside = [(each, loops, tests) for each in (value if isinstance(value, tuple) else (value,))]
        case tree.Block() | tree.Transform() | tree.Directive() | tree.Verbatim() | tree.Foreign():
            inside = [(each, loops, tests) for each in tree.parts(node)]
        case _:
            if isinstance(node, tree.Item):
                yield node.array, _Mention(node.index[0], loops, tests)
            inside = [(each, loops, tests) for each in tree.children(node)]
    for each, around, conditions in inside:
        if each is not None:
            yield from _mentions(each, around, conditions)


@dataclass(slots=True)
class _Reach:
    """The largest and the smallest value of one subscript."""

    isl: Any
    mention: _Mention
    names: IslNames
    opaque: dict[tree.Expr, str] = field(default_factory=dict)
    context: Any = None
    head: str = ""
    build: Any = None

    def extent(self) -> Extent | None:
        index, close = self._closed(self.mention.index), self._closed
        loops = [replace(each, first=close(each.first), last=close(each.last)) for each in self.mention.loops]
        tests = list(map(close, self.mention.tests))
        where, exact = self.names.domain(loops, tests, "v")
        form = _linear(index, [loop.index for loop in loops], self.names) if exact else None
        if form is None:
            return None
        self.context = self.isl.Context()
        self.context.set_max_operations(_MAX_OPERATIONS)
        try:
            return self._extent(form, where)
        except self.isl.Error:
            return None

    def _extent(self, form: tuple[list[tree.Expr], tree.Expr], where: Sequence[str]) -> Extent | None:
        factors, rest = form
        whole, literal = self.names.affine(rest), list(map(constant, factors))
        texts = [*where, *(text for each in (*factors, rest) if (text := self.names.affine(each)) is not None)]
        self.head = f"[{', '.join(sorted({word for text in texts for word in _words(text)}))}] -> "
        self.build = self.isl.AstBuild.from_context(self._set(": "))
        dims = ", ".join(f"v{axis}" for axis in range(len(factors)))
        space = self._set(f"[{dims}] : {' and '.join(where) or '1 = 1'}")
        if whole is None or None in literal:
            return self._corner(space, factors, rest)
        total = " + ".join([whole, *(f"{each} * v{axis}" for axis, each in enumerate(literal))])
        move = self.isl.Map.read_from_str(self.context, f"{self.head}{{ [{dims}] -> [{total}] }}")
        reached = space.apply(move)
        zero = self.isl.PwAff.read_from_str(self.context, f"{self.head}{{ [(0)] }}")
        top = reached.dim_max(0).add_constant_val(self.isl.Val.one(self.context)).union_max(zero).coalesce()
        least = reached.dim_min(0).union_min(zero).coalesce()
        fits = least.ge_set(zero).is_equal(zero.domain())
        return Extent(count=self._aff(top), assumes=() if fits else (self._aff(least) >= 0,))

    def _corner(self, space: Any, factors: list[tree.Expr], rest: tree.Expr) -> Extent | None:  # noqa: ANN401
        """Where factors are names, such as the width of a row: the largest counters, if they are reached together."""
        values = list(map(constant, factors))
        if any(value is not None and value < 0 for value in values):
            return None
        axes = [axis for axis, value in enumerate(values) if value != 0]
        for axis in reversed(range(len(factors))):
            space = space if axis in axes else space.project_out(self.isl.dim_type.set, axis, 1)
        source, target = (", ".join(f"{letter}{axis}" for axis in range(len(axes))) for letter in "vw")
        larger = " or ".join(f"w{axis} > v{axis}" for axis in range(len(axes)))
        beyond = self.isl.Map.read_from_str(self.context, f"{self.head}{{ [{source}] -> [{target}] : {larger} }}")
        below = beyond.intersect_domain(space).intersect_range(space).domain()
        if not space.params().is_subset(space.subtract(below).params()):
            return None
        top, least = rest, rest
        assumed: list[tree.Expr] = []
        for place, axis in enumerate(axes):
            top = _sum(top, _product(factors[axis], self._aff(space.dim_max(place))))
            least = _sum(least, _product(factors[axis], self._aff(space.dim_min(place))))
            assumed.append(factors[axis])
        top = self._opened(top)
        runs = self._expr(self.build.expr_from_set(space.params()))
        always = constant(runs) == 1
        open_ones = [each for each in (*assumed, least) if not self._holds(space.params(), each)]
        tests = [self._opened(each) >= 0 for each in open_ones]
        count = _sum(top, tree.integer(1))
        return Extent(
            count=count if always else tree.Choose(runs, count, _ZERO),
            assumes=tuple(each if always else tree.Binary("||", tree.Unary("!", runs), each) for each in tests),
        )

    def _holds(self, where: Any, expr: tree.Expr) -> bool:  # noqa: ANN401
        """Whether an expression is not negative wherever the loops run at all."""
        text = self.names.affine(expr)
        if text is None or not set(_words(text)) <= set(_words(self.head)):
            return False
        return bool(where.is_subset(self._set(f": {text} >= 0").params()))

    def _set(self, text: str) -> Any:  # noqa: ANN401
        return self.isl.Set.read_from_str(self.context, f"{self.head}{{ {text} }}")

    def _aff(self, function: Any) -> tree.Expr:  # noqa: ANN401
        return self._expr(self.build.expr_from_pw_aff(function))

    def _closed(self, expr: tree.Expr) -> tree.Expr:
        """Replace quotients of names that nobody changes by names of their own."""

        def change(node: tree.Expr) -> tree.Expr:
            if not isinstance(node, tree.Binary) or node.op not in {"/", "%"} or self.names.affine(node) is not None:
                return node
            word = f"{_OPAQUE}{len(self.opaque)}"
            return tree.Name(self.opaque.setdefault(node, word)) if _steady(node, self.names) else node

        return tree.rebuild(expr, change)

    def _opened(self, expr: tree.Expr) -> tree.Expr:
        back = {word: expr for expr, word in self.opaque.items()}
        while tree.names(expr) & back.keys():
            expr = tree.substitute(expr, back)
        return expr

    def _expr(self, node: Any) -> tree.Expr:  # noqa: ANN401
        kinds = self.isl.ast_expr_type
        kind = node.get_type()
        if kind == kinds.int:
            return tree.integer(node.get_val().to_python())
        if kind == kinds.id:
            return self._opened(tree.Name(node.get_id().get_name().removeprefix("p_")))
        op = str(node.op_get_type()).rpartition(".")[2]
        return _operation(op, [self._expr(node.op_get_arg(place)) for place in range(node.op_get_n_arg())])


_OPERATORS = {
    "sub": "-",
    "and_": "&&",
    "and_then": "&&",
    "or_": "||",
    "or_else": "||",
    "pdiv_r": "%",
    "zdiv_r": "%",
    "pdiv_q": "/",
    "div": "/",
    "eq": "==",
    "le": "<=",
    "lt": "<",
    "ge": ">=",
    "gt": ">",
}


def _operation(op: str, args: Sequence[tree.Expr]) -> tree.Expr:  # noqa: PLR0911
    if op in {"max", "min"}:
        return functools.reduce(lambda a, b: tree.Call(op, (a, b)), args)
    if op in {"cond", "select"}:
        return tree.Choose(args[0], args[1], args[2])
    if op == "minus":
        return _product(tree.integer(-1), args[0]) if isinstance(args[0], tree.Num) else tree.Unary("-", args[0])
    first, second = args
    match op:
        case "add":
            return _sum(first, second)
        case "mul":
            return _product(first, second)
        case "pdiv_r" | "zdiv_r" if second == tree.integer(1):
            return _ZERO
        case "fdiv_q":
            # C rounds towards zero.
            under = tree.Unary("-", (_sum(second, tree.integer(-1)) - first) / second)
            return tree.Choose(first < 0, under, first / second)
    return tree.Binary(_OPERATORS[op], first, second)


def _sum(a: tree.Expr, b: tree.Expr) -> tree.Expr:
    value, other = constant(a), constant(b)
    if value is not None and other is not None:
        return tree.integer(value + other)
    if _ZERO in {a, b}:
        return b if a == _ZERO else a
    if isinstance(a, tree.Binary) and a.op in "+-" and other is not None and (inner := constant(a.right)) is not None:
        return _sum(a.left, tree.integer((inner if a.op == "+" else -inner) + other))
    if isinstance(b, tree.Unary) and b.op == "-":
        return a - b.operand
    return a - -other if other is not None and other < 0 else a + b


def _product(a: tree.Expr, b: tree.Expr) -> tree.Expr:
    value, other = constant(a), constant(b)
    if value is not None and other is not None:
        return tree.integer(value * other)
    if _ZERO in {a, b}:
        return _ZERO
    return b if a == tree.integer(1) else a if b == tree.integer(1) else a * b


def _words(text: str) -> list[str]:
    return re.findall(r"\bp_\w+", text)


def _steady(expr: tree.Expr, names: IslNames) -> bool:
    """Whether an expression is made of names that nobody changes."""
    return tree.names(expr).isdisjoint(names.changed) and not tree.arrays(expr)


def _linear(expr: tree.Expr, indices: Sequence[str], names: IslNames) -> tuple[list[tree.Expr], tree.Expr] | None:  # noqa: PLR0911
    """Return the factors of counters, and the rest, of an expression that is linear in them; None if it is not."""
    inside = set(indices)
    if tree.names(expr).isdisjoint(inside):
        return ([_ZERO] * len(indices), expr) if _steady(expr, names) else None
    match expr:
        case tree.Name(name):
            return [tree.integer(each == name) for each in indices], _ZERO
        case tree.Unary("-", operand):
            return _linear(tree.integer(-1) * operand, indices, names)
        case tree.Binary("+" | "-" as op, left, right):
            a = _linear(left, indices, names)
            b = _linear(right if op == "+" else tree.integer(-1) * right, indices, names)
            if a is None or b is None:
                return None
            return [_sum(x, y) for x, y in zip(a[0], b[0], strict=True)], _sum(a[1], b[1])
        case tree.Binary("*", left, right):
            factor, inner = (left, right) if tree.names(left).isdisjoint(inside) else (right, left)
            form = _linear(inner, indices, names)
            fixed = _linear(factor, (), names)
            if form is None or fixed is None or tree.names(factor) & inside:
                return None
            return [_product(factor, each) for each in form[0]], _product(factor, form[1])
    return None

"""What loops count with, and what they leave in their counters.

A loop of a nest has a counter of its own, which ends with it; in C a counter that was declared before the loop keeps
the first value beyond the bound. Where that is read later, the value is put in.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.nest import Assign, Binary, Convert, Expr, Item, Loop, Name, Stmt, names
from tilewright.workloads.annotated.nests.scalars import converted
from tilewright.workloads.annotated.nests.values import INTEGER_TYPES, REAL_TYPES, evaluate, is_unsigned, type_of

_COUNTS = {"long": "long", "int64_t": "long", "long long": "long", "unsigned": "long", "size_t": "long"}
"""What loops over counters of other types than ``int`` count with."""


def settle(stmt: Stmt, live: Collection[str], types: Mapping[str, str], where: str) -> tuple[Stmt, tuple[Assign, ...]]:
    """Give loops counters with a sign, and put the values that they leave there into the places that read them.

    Before: ``for (j = 0; j <= n; j++) s += a[j]; y[0] = j;`` After: ``…; y[0] = 0 <= n ? n + 1 : 0;``

    Bounds and subscripts of transformed loops hold differences such as ``n - 3``, which must not wrap: they are
    computed with signs. Elsewhere an unsigned counter is what the file declares: ``(size_t)i - 5``.
    """
    walker = _Walker(types=dict(types), where=where)
    new = walker.visit(stmt)
    finals = [Assign(Name(name), "=", walker.value(name)) for name in sorted(live) if name in walker.left]
    targets = names(*(each.target for each in finals))
    # A value that is made of another counter's earlier one comes before that is overwritten.
    finals.sort(key=lambda each: not (names(each.value) - names(each.target)) & targets)
    return new, tuple(finals)


@dataclass(slots=True, kw_only=True)
class _Walker:
    types: dict[str, str]  # by name
    where: str  # what an error calls the region
    # values of counters behind their loops; None where not known
    left: dict[str, Expr | None] = field(default_factory=dict)
    unsigned: dict[str, str] = field(default_factory=dict)  # types of the unsigned counters of the loops around

    def visit(self, stmt: Stmt) -> Stmt:
        match stmt:
            case nest.Block() | nest.Transform():
                parts = nest.parts(stmt)
                new = nest.with_parts(stmt, tuple(map(self.visit, parts)))
                self._changed({each.name for each in parts if isinstance(each, nest.Declare)})
                return new
            case Assign(target, op, value):
                return self._assign(stmt, target, op, value)
            case nest.Declare(name=name, dims=dims, value=value):
                fresh = tuple(map(self._read, value)) if isinstance(value, tuple) else value and self._read(value)
                self.types[name] = stmt.ctype
                self.left.pop(name, None)
                self._changed({name})
                return replace(stmt, dims=tuple(map(self._read, dims)), value=fresh)
            case nest.If(test, then, other):
                return self._if(self._read(test), then, other)
            case Loop():
                return self._loop(stmt)
        return stmt

    def value(self, name: str) -> Expr:
        value = self.left[name]
        if value is None:
            raise UsageError(
                f"the counter {name!r} is read behind its loop in {self.where}, where its value is not known before "
                "the loop runs",
                "count with a variable of the loop's own, and keep the value that is needed in another one",
            )
        return value

    def _read(self, expr: Expr) -> Expr:
        """Return what an expression stands for where it is read."""
        values = {name: self._typed(name) for name in names(expr) & self.left.keys()}
        if not values and not self.unsigned and not any(self._wraps(part) for part in nest.walk(expr)):
            return expr

        def change(node: Expr) -> Expr:
            if isinstance(node, Name) and node.name in self.unsigned:
                return Convert(self.unsigned[node.name], node)
            return Item(node.array, tuple(map(self._signed, node.index))) if isinstance(node, Item) else node

        return nest.rebuild(nest.substitute(expr, values), change)

    def _typed(self, name: str) -> Expr:
        """Return what a counter holds behind its loop, in the counter's own type where that is not ``int``."""
        ctype, value = self.types.get(name, "int"), self.value(name)
        return value if ctype not in _COUNTS else converted(value, ctype, self.types)

    def _wraps(self, part: Expr) -> bool:
        return is_unsigned(type_of(part, self.types))

    def _signed(self, expr: Expr) -> Expr:
        """Return a bound or subscript in which sums and products of unsigned numbers do not wrap."""
        match expr:
            case Binary("+" | "-" | "*") | nest.Unary("-" | "+") | nest.Call("min" | "max"):
                return nest.with_children(expr, self._signed)
            case Convert(ctype, Name(name)) if self.unsigned.get(name) == ctype:
                return Name(name)
        return Convert("long", expr) if any(self._wraps(part) for part in nest.walk(expr)) else expr

    def _changed(self, changed: Collection[str]) -> None:
        """Forget values that are made of what is overwritten."""
        for name, value in self.left.items():
            if value is not None and nest.mentioned(value) & set(changed):
                self.left[name] = None

    def _assign(self, stmt: Assign, target: Name | Item, op: str, value: Expr) -> Assign:
        value = self._read(value)
        if isinstance(target, Item):
            target = Item(target.array, tuple(self._signed(self._read(each)) for each in target.index))
        elif op != "=" and target.name in self.left:
            op, value = "=", Binary(op[0], self._read(target), value)
        self.left.pop(stmt.variable, None)
        self._changed({stmt.variable})
        return Assign(target, op, value)

    def _if(self, test: Expr, then: Stmt, other: Stmt | None) -> nest.If:
        before = dict(self.left)
        new = self.visit(then)
        outcome, self.left = self.left, before
        more = None if other is None else self.visit(other)
        ends = {name: (outcome.get(name), self.left.get(name)) for name in outcome.keys() | self.left.keys()}
        self.left = {name: value if value == counterpart else None for name, (counterpart, value) in ends.items()}
        return nest.If(test, new, more)

    def _loop(self, loop: Loop) -> Loop:
        own, index = bool(loop.ctype), loop.index
        declared = loop.ctype or self.types.get(index, "int")
        first, last = (self._signed(self._whole(self._read(each))) for each in (loop.first, loop.last))
        ctype = _COUNTS.get(declared, "int")
        inner = {each.index for each in nest.loops(loop.body) if not each.ctype}
        self._check(loop, declared, last, inner)
        first = Convert(ctype, first) if self._real(first) else first
        before, outer, signs = dict(self.left), self.types.get(index), dict(self.unsigned)
        changed = nest.written(loop.body)
        # An iteration begins with what the one before has left.
        self._changed(changed)
        self.left |= dict.fromkeys(inner)
        self.left.pop(index, None)
        self.types[index] = ctype
        self.unsigned.pop(index, None)
        if is_unsigned(declared):
            self.unsigned[index] = declared
        body = self.visit(loop.body)
        self.unsigned = signs
        self.types[index] = outer or declared
        steady = not nest.mentioned(first) & changed
        runs = first <= last if loop.step > 0 else first >= last
        for name in inner:
            value = self.left[name] if steady else None
            self.left[name] = _value_after(runs, value, before.get(name, Name(name)), index, _last(loop, first, last))
        if not own:
            end = _end(loop, first, last)
            self.left[index] = _choice(runs, end, first) if steady else None
        elif index in before:
            self.left[index] = before[index]
        return replace(loop, first=first, last=last, body=body, ctype=ctype)

    def _check(self, loop: Loop, declared: str, last: Expr, inner: Collection[str]) -> None:
        """Refuse what is no count of iterations that is known when a loop begins."""
        label, hint = f"the loop over {loop.index!r} in {self.where}", "put it into an int before the loop"
        if loop.first == Name(loop.index) and loop.index not in self.left:
            raise UsageError(
                f"{label} begins where its counter stands, and nothing before it in the region says where that is",
                f"write for ({loop.index} = first; …)",
            )
        if declared in REAL_TYPES:
            raise UsageError(f"{label} counts with a {declared}", "count with an int")
        if self._real(last):
            raise UsageError(f"{label} ends at a floating-point number", hint)
        if loop.index in inner:
            raise UsageError(f"{label} has another one inside that counts with the same variable", "use another one")
        if nest.mentioned(last) & (nest.written(loop.body) | set(inner)):
            raise UsageError(f"{label} changes its own bound", hint)

    def _whole(self, bound: Expr) -> Expr:
        """Return a bound with quotients of whole numbers that are rounded down or up as whole numbers.

        Before, as in Pluto's ``floord(n, 4)``: ``floor((double)n / (double)4)``.
        After: ``n < 0 ? -((3 - n) / 4) : n / 4``
        """

        def change(node: Expr) -> Expr:
            match node:
                case nest.Call("floor" | "ceil" as function, (Binary("/", above, below),)) if self._real(node.args[0]):
                    a, b = (each.operand if isinstance(each, Convert) else each for each in (above, below))
                    count = evaluate(b, {})
                    is_count = count is not None and count >= 1 and float(count).is_integer()
                    if type_of(a, self.types) not in INTEGER_TYPES or count is None or not is_count:
                        return node
                    by = int(count)
                    if function == "ceil":
                        return nest.Choose(a > 0, (a + (by - 1)) / by, a / by)
                    return nest.Choose(a < 0, nest.Unary("-", (nest.integer(by - 1) - a) / by), a / by)
            return node

        return nest.rebuild(bound, change)

    def _real(self, expr: Expr) -> bool:
        return type_of(expr, self.types) in REAL_TYPES


def _value_after(runs: Expr, value: Expr | None, before: Expr | None, index: str, last: Expr) -> Expr | None:
    """Return what a loop leaves in a counter of its body: that of its last iteration, if there is one."""
    if value is None:
        return None
    inside = nest.substitute(value, {index: last})
    if evaluate(runs, {}) == 1:
        return inside
    return None if before is None else nest.Choose(runs, inside, before)


def _choice(runs: Expr, then: Expr, other: Expr) -> Expr:
    value = evaluate(runs, {})
    return nest.Choose(runs, then, other) if value is None else then if value else other


def _last(loop: Loop, first: Expr, last: Expr) -> Expr:
    if abs(loop.step) == 1:
        return last
    step = abs(loop.step)
    return first + (last - first) / step * step if loop.step > 0 else first - (first - last) / step * step


def _end(loop: Loop, first: Expr, last: Expr) -> Expr:
    """Return the first counter beyond the bound of a loop that runs."""
    if loop.step == 1 and isinstance(last, Binary) and last.op == "-" and last.right == nest.ONE:
        return last.left
    final = _last(loop, first, last)
    return final + loop.step if loop.step > 0 else final - -loop.step

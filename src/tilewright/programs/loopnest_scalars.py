"""Scalars of a loop nest: temporaries, private variables, reductions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tilewright.programs.loopnest import (
    Assign,
    Binary,
    Block,
    Call,
    Declare,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Stmt,
    Transform,
    arrays,
    block,
    counters,
    expressions,
    map_statements,
    names,
    parts,
    rename,
    statements,
    used,
    walk,
    written,
)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A scalar that every iteration adds to, multiplies, or takes the extremum with; ``op`` is + * min or max."""

    name: str
    op: str


def exposed(stmt: Stmt, name: str) -> tuple[bool, bool]:  # noqa: PLR0911
    """Return whether a statement may read a scalar before it assigns it, and whether it surely assigns it."""
    match stmt:
        case Assign(target, op, value):
            reads = name in names(value) or (op != "=" and target == Name(name))
            reads = reads or (isinstance(target, Item) and any(name in names(each) for each in target.index))
            return reads, target == Name(name)
        case Block(body):
            for each in body:
                reads, writes = exposed(each, name)
                if reads or writes:
                    return reads, writes and not reads
            return False, False
        case If(test, then, other):
            branches = [exposed(then, name), (False, False) if other is None else exposed(other, name)]
            reads = name in names(test) or any(read for read, _ in branches)
            return reads, all(write for _, write in branches)
        case Loop(first=first, last=last, body=body):
            reads = name in names(first) | names(last)
            # The body may not run at all, so it assigns nothing surely.
            return reads or exposed(body, name)[0], False
        case Declare(name=declared) if declared == name:
            return False, True
        case Transform(body=body):
            return exposed(body, name)
    return any(name in names(expr) for expr in expressions(stmt)), False


def inline_temporaries(stmt: Stmt, kept: Iterable[str] = ()) -> Stmt:
    """Put temporaries that only choose elements or conditions into the places where they are used.

    Before: ``col = i + off[j]; if (col >= 0) y[i] += x[col];`` After: ``if (i + off[j] >= 0) y[i] += x[i + off[j]];``

    Args:
        stmt: The region.
        kept: Names that are needed after it.
    """
    keep = set(kept) | counters(stmt)
    candidates = {name for name in _choosing(stmt) if name in written(stmt)} - keep
    for name in sorted(candidates):
        stmt = _inline(stmt, name)
    return stmt


def _choosing(stmt: Stmt) -> set[str]:
    """Names in subscripts, conditions and bounds."""
    found: set[str] = set()
    for node in statements(stmt):
        if isinstance(node, Loop | If):
            for expr in expressions(node):
                found |= names(expr)
        targets = (node.target,) if isinstance(node, Assign) else ()
        for expr in (*expressions(node), *targets):
            for part in walk(expr):
                if isinstance(part, Item):
                    found |= {name for each in part.index for name in names(each)}
    return found


def _inline(stmt: Stmt, name: str) -> Stmt:
    """Inline one temporary everywhere, or nowhere."""
    done = 0

    def change(node: Stmt) -> Stmt:
        nonlocal done
        if not isinstance(node, Block):
            return node
        body = list(node.body)
        for place, item in enumerate(body):
            if not (isinstance(item, Assign) and item.target == Name(name) and item.op == "="):
                continue
            rest = body[place + 1 :]
            inputs = names(item.value) | arrays(item.value)
            if name in inputs or any(inputs & (written(each) | counters(each)) for each in rest):
                return node
            if any(name in written(each) for each in rest):
                return node
            done += 1
            return block(*body[:place], *(rename(each, {name: item.value}) for each in rest))
        return node

    new = map_statements(stmt, change)
    return new if done and name not in used(new) else stmt


def localise(stmt: Stmt, types: Mapping[str, str], kept: Iterable[str] = ()) -> Stmt:
    """Declare scalars in the innermost loop body that assigns them before it reads them.

    Before: ``for (i…) { s = 0; for (k…) s += a[k]; c[i] = s; }``, s of the function.
    After: ``for (i…) { double s; s = 0; … }``: iterations share no scalar.

    Args:
        stmt: The region.
        types: Types of the scalars.
        kept: Names that are needed after it.
    """
    keep = set(kept) | counters(stmt) | {node.name for node in statements(stmt) if isinstance(node, Declare)}
    scalars = {
        node.target.name for node in statements(stmt) if isinstance(node, Assign) and isinstance(node.target, Name)
    }
    for name in sorted(scalars - keep):
        total = _mentions(stmt, name)
        stmt = _localise(stmt, name, types.get(name, "double"), total)
    return stmt


def _localise(stmt: Stmt, name: str, ctype: str, total: int) -> Stmt:
    for node in _outermost_loops(stmt):
        if _mentions(node.body, name) != total or exposed(node.body, name)[0]:
            continue
        inner = _localise(node.body, name, ctype, total)
        if inner is node.body:
            inner = Block((Declare(ctype=ctype, name=name), *_items(node.body)))
        return _swap(stmt, node, replace(node, body=inner))
    return stmt


def _items(stmt: Stmt) -> tuple[Stmt, ...]:
    return stmt.body if isinstance(stmt, Block) else (stmt,)


def _outermost_loops(stmt: Stmt) -> list[Loop]:
    if isinstance(stmt, Loop):
        return [stmt]
    return [loop for part in parts(stmt) for loop in _outermost_loops(part)]


def _swap(stmt: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """Return a statement with one inner statement (the same object) replaced."""
    if stmt is old:
        return new
    match stmt:
        case Loop(body=body):
            return replace(stmt, body=_swap(body, old, new))
        case Transform(name, arguments, body):
            return Transform(name, arguments, _swap(body, old, new))
        case If(test, then, other):
            return If(test, _swap(then, old, new), None if other is None else _swap(other, old, new))
        case Block(body):
            return Block(tuple(_swap(each, old, new) for each in body))
    return stmt


def _mentions(stmt: Stmt, name: str) -> int:
    count = 0
    for node in statements(stmt):
        count += isinstance(node, Assign) and node.target == Name(name)
        for expr in expressions(node):
            count += sum(part == Name(name) for part in walk(expr))
    return count


def reductions(loop: Loop) -> tuple[Reduction, ...]:
    """Return the scalars that a loop only accumulates."""
    found: dict[str, str] = {}
    bad: set[str] = set()
    local = {node.name for node in statements(loop.body) if isinstance(node, Declare)}
    for node in statements(loop.body):
        if not isinstance(node, Assign) or not isinstance(node.target, Name) or node.target.name in local:
            continue
        op = accumulation(node)
        name = node.target.name
        if op is None or found.get(name, op) != op:
            bad.add(name)
        else:
            found[name] = op
    for name in found:
        own = sum(
            _own_reads(node) for node in statements(loop.body) if isinstance(node, Assign) and node.target == Name(name)
        )
        reads = sum(
            sum(part == Name(name) for part in walk(expr)) for node in statements(loop) for expr in expressions(node)
        )
        if own != reads:
            bad.add(name)
    return tuple(Reduction(name, op) for name, op in found.items() if name not in bad)


def _own_reads(node: Assign) -> int:
    """How often an accumulation mentions its own scalar as an operand."""
    return sum(part == node.target for expr in expressions(node) for part in walk(expr))


def accumulation(node: Assign) -> str | None:
    """Return the operation by which an assignment accumulates into its target, or None.

    >>> accumulation(Assign(Name("s"), "=", Binary("+", Name("s"), Name("x"))))
    '+'
    """
    target, value = node.target, node.value
    if node.op in {"+=", "-=", "*="}:
        return None if _has(value, target) else "*" if node.op == "*=" else "+"
    if node.op != "=":
        return None
    if isinstance(value, Binary) and value.op in {"+", "-"}:
        return "+" if _sum_holds(value, target) else None
    if isinstance(value, Binary) and value.op == "*":
        sides = [value.left, value.right]
        return "*" if target in sides and not _has(sides[1 - sides.index(target)], target) else None
    if isinstance(value, Call) and value.function in {"min", "max", "fmin", "fmax"} and len(value.args) == 2:
        sides = list(value.args)
        if target in sides and not _has(sides[1 - sides.index(target)], target):
            return value.function.removeprefix("f")
    return None


def _sum_holds(value: Expr, target: Expr) -> bool:
    """Whether a sum has the target as one positive term and nowhere else."""
    positive = 0
    stack = [(value, True)]
    while stack:
        node, sign = stack.pop()
        if isinstance(node, Binary) and node.op in {"+", "-"}:
            stack += [(node.left, sign), (node.right, sign if node.op == "+" else not sign)]
        elif node == target:
            if not sign:
                return False
            positive += 1
        elif _has(node, target):
            return False
    return positive == 1


def _has(expr: Expr, part: Expr) -> bool:
    return any(node == part for node in walk(expr))


def neutral(op: str, ctype: str) -> str:
    """Return the value that a reduction starts from, as C text.

    >>> neutral("*", "double"), neutral("+", "int"), neutral("min", "short"), neutral("max", "unsigned")
    ('1.0', '0', '32767', '0')
    """
    real = ctype in {"float", "double"}
    if op in {"min", "max"}:
        low, high = _limits(ctype)
        return high if op == "min" else low
    return {"+": "0", "*": "1"}[op] + (".0" if real else "")


def _limits(ctype: str) -> tuple[str, str]:
    """The least and the greatest number of a type of C, CUDA or OpenCL, as C text."""
    if ctype in {"float", "double"}:
        limit = "FLT_MAX" if ctype == "float" else "DBL_MAX"
        return f"(-{limit})", limit
    words = ctype.removeprefix("u").split()
    sizes = {"char": 8, "short": 16, "long": 64, "int64_t": 64, "size_t": 64}
    bits = next((sizes[word] for word in words if word in sizes), 32)
    if ctype.startswith("u") or ctype == "size_t":
        return "0", f"{2**bits - 1}{'ul' if bits == 64 else 'u'}"
    suffix = "l" if bits == 64 else ""
    return f"(-{2 ** (bits - 1) - 1}{suffix} - 1)", f"{2 ** (bits - 1) - 1}{suffix}"


def scalar_types(stmt: Stmt, declared: Mapping[str, str]) -> dict[str, str]:
    """Guess the types of the scalars of a region that nobody declared: int if they choose elements, else double."""
    found = dict(declared)
    choosing = _choosing(stmt) | counters(stmt)
    for node in statements(stmt):
        if isinstance(node, Declare) and not node.dims:
            found[node.name] = node.ctype
    for name in sorted(
        {each for node in statements(stmt) for expr in expressions(node) for each in names(expr)} | choosing
    ):
        found.setdefault(name, "int" if name in choosing else "double")
    for node in statements(stmt):
        if isinstance(node, Assign) and isinstance(node.target, Name):
            found.setdefault(node.target.name, "int" if node.target.name in choosing else "double")
    return found

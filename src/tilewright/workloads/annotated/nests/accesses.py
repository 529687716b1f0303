"""Which elements the statements of a loop nest touch, and in what order the statements stand."""

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.nest import Assign, Declare, Expr, Item, Loop, Name, Stmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One mention of an array or shared scalar."""

    array: str  # a name, made unique for scalars of a block
    index: tuple[Expr, ...]  # the subscripts
    write: bool  # whether it is assigned
    private: int = 0  # number of outer loops within whose iteration the variable lives


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentSite:
    """An assignment with the loops around it."""

    number: int  # its place in the text, from 0
    loops: tuple[Loop, ...]  # outermost first
    # places in the text of the loops around it and of itself, ascending with the text; one more than loops
    positions: tuple[int, ...]
    tests: tuple[Expr, ...]  # conditions that hold where it runs
    accesses: tuple[Access, ...]  # what it touches, and what the conditions and bounds around it read
    statement: Assign


def shown(access: Access) -> str:
    """An access as C."""
    name = access.array.partition("@")[0]
    return name + "".join(f"[{show(each)}]" for each in access.index)


def show(expr: Expr) -> str:  # noqa: PLR0911
    """Return an expression as short C text, for messages."""
    match expr:
        case nest.Num(text):
            return text
        case Name(name):
            return name
        case Item(array, index):
            return array + "".join(f"[{show(each)}]" for each in index)
        case nest.Binary(op, left, right):
            return f"{show(left)}{op}{show(right)}" if op in "+-" else f"({show(left)}){op}({show(right)})"
        case nest.Unary(op, operand):
            return f"{op}{show(operand)}"
        case nest.Call(function, args):
            return f"{function}({', '.join(show(each) for each in args)})"
        case nest.Convert(ctype, operand):
            return f"({ctype}){show(operand)}"
    return "…"


def collect(stmt: Stmt) -> tuple[AssignmentSite, ...]:
    """Return the assignments of a nest with the loops, conditions and places around them."""
    sites: list[AssignmentSite] = []
    shared = nest.written(stmt)
    serial, places = itertools.count(), itertools.count()

    def visit(
        node: Stmt,
        loops: tuple[Loop, ...],
        place: tuple[int, ...],
        tests: tuple[Expr, ...],
        local: dict[str, tuple[str, int]],
    ) -> None:
        match node:
            case Assign():
                # Whether an assignment runs depends on what the conditions and the bounds around it read.
                around = (*tests, *(bound for loop in loops for bound in (loop.first, loop.last)))
                accesses = _accesses(node, around, shared - nest.counters(stmt), local)
                sites.append(
                    AssignmentSite(
                        number=len(sites),
                        loops=loops,
                        positions=(*place, next(places)),
                        tests=tests,
                        accesses=accesses,
                        statement=node,
                    )
                )
            case nest.Block(body):
                inner = dict(local)
                for item in body:
                    if isinstance(item, Declare) and not item.dims:
                        inner[item.name] = (f"{item.name}@{next(serial)}", len(loops))
                        if item.value is not None and not isinstance(item.value, tuple):
                            visit(Assign(Name(item.name), "=", item.value), loops, place, tests, inner)
                        continue
                    visit(item, loops, place, tests, inner)
            case Loop(body=body):
                visit(body, (*loops, node), (*place, next(places)), tests, local)
            case nest.If(test, then, other):
                visit(then, loops, place, (*tests, test), local)
                if other is not None:
                    visit(other, loops, place, (*tests, nest.Unary("!", test)), local)
            case nest.Transform(body=body):
                visit(body, loops, place, tests, local)

    visit(stmt, (), (), (), {})
    return tuple(sites)


def _accesses(
    node: Assign, around: tuple[Expr, ...], shared: Collection[str], local: Mapping[str, tuple[str, int]]
) -> tuple[Access, ...]:
    found: list[Access] = []

    def add(part: Expr, *, write: bool) -> None:
        if isinstance(part, Item):
            found.append(Access(array=part.array, index=part.index, write=write))
        elif isinstance(part, Name) and part.name in local:
            name, depth = local[part.name]
            found.append(Access(array=name, index=(), write=write, private=depth))
        elif isinstance(part, Name) and part.name in shared:
            found.append(Access(array=part.name, index=(), write=write))

    for expr in (*nest.expressions(node), *around):
        for part in nest.walk(expr):
            add(part, write=False)
    add(node.target, write=True)
    return tuple(dict.fromkeys(found))

"""Recurrences as text and as plain data."""

from collections.abc import Iterable

from tilewright.base.tables import Table, table
from tilewright.programs.stencil.expression import LOOKUP, Apply, Const, Read, Scalar, Tape
from tilewright.workloads.tables.problem import Input, Recurrence

_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    **dict.fromkeys(("and", "bitand"), "&"),
    **dict.fromkeys(("or", "bitor"), "|"),
}
_CALLS = {"maximum": "max", "minimum": "min"}


def expression(tape: Tape) -> str:
    """Write a tape as one expression.

    >>> from tilewright.workloads.tables.catalogue import recurrence_named
    >>> expression(recurrence_named("lcs").statements[0].tape)
    'max(max(c[-1, 0], c[0, -1]), c[-1, -1] + where(a[0] == b[0], 1, 0))'
    """
    texts: list[str] = []
    for node in tape:
        if isinstance(node, Const):
            texts.append(str(node.value))
        elif isinstance(node, Scalar):
            texts.append(node.name)
        elif isinstance(node, Read):
            texts.append(f"{node.field}[{', '.join(map(str, node.offset))}]")
        elif isinstance(node, Apply):
            texts.append(_application(node, [(texts[arg], tape[arg]) for arg in node.args]))
    return texts[-1]


def _application(node: Apply, args: list[tuple[str, object]]) -> str:
    if node.op.startswith(LOOKUP):
        return f"{node.op[len(LOOKUP) :]}[{args[0][0]}, {args[1][0]}]"
    if node.op in _SIGNS:
        parts = [f"({text})" if isinstance(arg, Apply) and arg.op in _SIGNS else text for text, arg in args]
        return f" {_SIGNS[node.op]} ".join(parts)
    if node.op == "neg":
        return f"-({args[0][0]})"
    return f"{_CALLS.get(node.op, node.op)}({', '.join(text for text, _ in args)})"


def lines(program: Recurrence) -> tuple[str, ...]:
    """Write the assignments of one cell, in the order in which they are computed."""
    return tuple(f"{each.table} = {expression(each.tape)}" for each in program.statements)


def facts(program: Recurrence) -> dict[str, str]:
    """Return what there is to know about a recurrence, as names and texts."""
    outside = [
        f"{each.table} = {'zero of the semiring' if each.outside is None else expression(each.outside)}"
        for each in program.statements
    ]
    return {
        "what it computes": program.summary or "(no description)",
        "one cell": "\n".join(lines(program)),
        "outside": "\n".join(outside),
        "tables": ", ".join(program.tables),
        "inputs": ", ".join(_input(each) for each in program.inputs) or "none",
        "scalars": ", ".join(program.scalars) or "none",
        "semiring": program.semiring.name,
        "operations": f"{program.operations} per cell",
        "dependences": "\n".join(str(each) for each in program.dependences),
    }


def _input(each: Input) -> str:
    return f"{each.name} (a matrix, looked up)" if each.kind == "matrix" else f"{each.name} (per {each.kind})"


def to_dict(program: Recurrence) -> dict[str, object]:
    """Return what there is to know about a recurrence as plain data."""
    return {
        "name": program.name,
        "kind": "recurrence",
        "summary": program.summary,
        "tables": list(program.tables),
        "inputs": [{"name": each.name, "kind": each.kind} for each in program.inputs],
        "scalars": list(program.scalars),
        "expression": list(lines(program)),
        "semiring": program.semiring.name,
        "operations": program.operations,
        "reach": list(program.reach),
        "dependences": [
            {"kind": d.kind, "time": d.time, "offset": list(d.offset), "cause": d.cause} for d in program.dependences
        ],
    }


def listing(many: Iterable[Recurrence]) -> Table:
    """List recurrences, one per row."""
    rows = [
        (
            p.name,
            ", ".join(p.tables),
            ", ".join((*(each.name for each in p.inputs), *p.scalars)),
            p.semiring.name,
            str(p.operations),
            p.summary,
        )
        for p in many
    ]
    columns = ("recurrence", "tables", "inputs and scalars", "semiring", ">operations", "what it computes")
    return table(columns, rows)


def describe(program: Recurrence) -> str:
    """Write a recurrence as text."""
    names = ", ".join((*program.tables, *(each.name for each in program.inputs), *program.scalars))
    return "\n".join([f"recurrence {program.name}({names}):", *(f"  {line}" for line in lines(program))])

"""Types and first values of what a region uses, from the file's own declarations; what has none is refused."""

from collections.abc import Mapping

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests.nest import (
    Assign,
    Declare,
    Expr,
    Item,
    Loop,
    Name,
    Stmt,
    expressions,
    statements,
    walk,
)
from tilewright.workloads.annotated.nests.types import INTEGER_TYPES, REAL_TYPES
from tilewright.workloads.annotated.nests.values import evaluate
from tilewright.workloads.annotated.parse.c import parse_expression
from tilewright.workloads.annotated.parse.file import RegionGroup


def region_types(
    site: RegionGroup, variables: Mapping[str, str], numbers: Mapping[str, int | float], *, device: bool = False
) -> dict[str, str]:
    """Return C's types of a site's scalars and arrays' elements; counters that nobody declares are ``int``."""
    code = site.filled([loop.old for loop in site.loops])
    line = site.region.line
    found = {name: each.ctype for name, each in site.parameters.items()}
    for name, ctype in variables.items():
        declared = site.parameters.get(name)
        if declared is not None and declared.ctype != ctype:
            raise UsageError(
                f"the file declares {name!r} as {declared.ctype}, its specification of line {line} as {ctype}",
                "give both one type",
            )
        found[name] = ctype
    found |= {node.name: node.ctype for node in statements(code) if isinstance(node, Declare) and node.ctype != "void"}
    found |= {name: "int" if isinstance(value, int) else "double" for name, value in numbers.items()}
    for node in statements(code):
        if isinstance(node, Loop):
            found.setdefault(node.index, node.ctype or "int")
    held = {part.array for part in parts(code) if isinstance(part, Item)}
    wanted = scalars(code) if site.spec is not None or device else _assigned(code)
    wanted |= held if device else set()
    missing = sorted(wanted - found.keys())
    if missing:
        raise UsageError(
            f"{missing[0]!r} in the region of line {line} is declared as a number neither in the file nor in a "
            "specification",
            f"types are {', '.join(sorted(INTEGER_TYPES | REAL_TYPES))}; declare it before the region or in input_vars",
        )
    arrays = variables.keys() | {node.name for node in statements(code) if isinstance(node, Declare)}
    unbound = sorted(held - arrays) if site.spec is not None else []
    if unbound:
        raise UsageError(
            f"the array {unbound[0]!r} in the region of line {line} has no extents in the specification",
            f"add decl TYPE {unbound[0]}[EXTENT] = random; to input_vars",
        )
    return found


def parts(code: Stmt) -> list[Expr]:
    """Return every part of every expression of a statement, targets among them."""
    found: list[Expr] = []
    for node in statements(code):
        targets = (node.target,) if isinstance(node, Assign) else ()
        for expr in (*expressions(node), *targets):
            found += walk(expr)
    return found


def scalars(code: Stmt) -> set[str]:
    """Return every scalar that a statement mentions beside counters."""
    return {part.name for part in parts(code) if isinstance(part, Name)}


def _assigned(code: Stmt) -> set[str]:
    return {node.target.name for node in statements(code) if isinstance(node, Assign) and isinstance(node.target, Name)}


def file_value(site: RegionGroup, name: str) -> int | None:
    """Return the whole number that the file gives to a scalar before the region, or None."""
    text = site.values.get(name)
    if text is None:
        return None
    try:
        found = parse_expression(text, "a declaration")
    except UsageError:
        return None
    numbers = {other: _literal(site, other) for other in site.values if other != name}
    known = {other: number for other, number in numbers.items() if number is not None}
    value = evaluate(found, known)
    return value if isinstance(value, int) else None


def _literal(site: RegionGroup, name: str) -> int | None:
    text = site.values[name]
    return int(text) if text.isdecimal() and (text == "0" or text[0] != "0") else None

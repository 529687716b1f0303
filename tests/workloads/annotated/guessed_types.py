"""Types for the scalars of loops that a test writes without declarations."""

from collections.abc import Mapping

from tilewright.workloads.annotated.nests.nest import (
    Assign,
    Declare,
    Name,
    Stmt,
    counters,
    expressions,
    names,
    statements,
)
from tilewright.workloads.annotated.nests.scalars import subscripts


def scalar_types(stmt: Stmt, declared: Mapping[str, str]) -> dict[str, str]:
    """Guess the types of the scalars of a region that nobody declared: int if they choose elements, else double."""
    found = dict(declared)
    choosing = subscripts(stmt) | counters(stmt)
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

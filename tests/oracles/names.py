"""Names that IR reads and introduces."""

from collections.abc import Iterable

from tilewright.codegen import ir


def bound(node: ir.Stmt) -> ir.Var | None:
    """Return the name that a statement gives to what follows it; a loop's is known inside it only."""
    return node.var if isinstance(node, ir.Let | ir.Mutable | ir.Array | ir.ConstArray | ir.Declare) else None


def free_names(root: ir.Expr | ir.Stmt | ir.Function | Iterable[ir.Stmt]) -> frozenset[str]:
    """Return the names that are read, or assigned to, and not introduced."""
    if isinstance(root, ir.Function):
        result = () if root.result is None else (ir.Let(ir.Var(""), root.result),)
        return free_names((*root.body, *result)) - {param.name for param in root.params}
    if isinstance(root, Iterable):
        return _free_in_body(root)
    if isinstance(root, ir.Var):
        return frozenset({root.name})
    names: set[str] = {root.var.name} if isinstance(root, ir.Assign) else set()
    for part in ir.operands(root):
        names |= free_names(part)
    inner: set[str] = set()
    for body in ir.bodies(root):
        inner |= _free_in_body(body)
    if isinstance(root, ir.For):
        inner -= {root.var.name}
    return frozenset(names | inner)


def _free_in_body(body: Iterable[ir.Stmt]) -> frozenset[str]:
    names: set[str] = set()
    introduced: set[str] = set()
    for node in body:
        names |= free_names(node) - introduced
        var = bound(node)
        if var is not None:
            introduced.add(var.name)
    return frozenset(names)

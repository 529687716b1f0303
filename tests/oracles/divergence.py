"""Divergence analysis: what differs between the threads of a group, and which barriers they therefore do not all reach.

A value *varies* where it is made of the thread's number, of what was loaded from a place that varies, or of what was
assigned where not every thread came. A barrier is reached by all threads of a group where no condition around it, no
bound of a loop around it and no call on the way varies. (LLVM calls it by the same name; PPCG and Polly do not need it,
as their barriers stand between whole loops.)
"""

from dataclasses import dataclass

from tilewright.codegen.ir.expressions import Call, Expr, Op, Var
from tilewright.codegen.ir.nodes import Assign, Barrier, Declare, For, Function, If, Let, Mutable, Stmt, Update, While
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.rewrite import bodies, operands, walk


@dataclass(frozen=True, slots=True)
class Divergent:
    """A barrier, or a call that leads to one, to which not every thread of a group comes."""

    function: str
    at: Stmt


def divergent_barrier(functions: tuple[Function, ...]) -> Divergent | None:
    """Return the first barrier of a unit that threads may miss, if there is one.

    Args:
        functions: The unit, callees first.
    """
    meeting: set[str] = set()
    for function in functions:
        calls = [node for node in walk(function) if isinstance(node, Barrier | Call)]
        if any(isinstance(node, Barrier) or node.name in meeting for node in calls):
            meeting.add(function.name)
    varying: dict[str, set[int]] = {function.name: set() for function in functions}
    for function in reversed(functions):  # callers say what varies of a callee's parameters
        if function.name in meeting:
            analysis = _Analysis(function, meeting, varying)
            if analysis.found is not None:
                return Divergent(function.name, analysis.found)
    return None


class _Analysis:
    """Analyses one function, and notes which arguments of its calls vary."""

    def __init__(self, function: Function, meeting: set[str], varying: dict[str, set[int]]) -> None:
        self.meeting, self.arguments = meeting, varying
        self.names = {function.params[number].name for number in varying[function.name]}
        self.found: Stmt | None = None
        self.settled = False
        while not self.settled:  # what is assigned late in a loop varies early in its next iteration
            before = len(self.names)
            self.body(function.body, alike=True)
            self.settled = len(self.names) == before
        self.body(function.body, alike=True)

    def varies(self, node: Expr) -> bool:
        if isinstance(node, Var):
            return node.name in self.names
        if isinstance(node, Op) and node.op is Operator.THREAD:
            return True
        return any(map(self.varies, operands(node)))

    def body(self, body: tuple[Stmt, ...], *, alike: bool) -> None:
        for node in body:
            self.statement(node, alike=alike)

    def statement(self, node: Stmt, *, alike: bool) -> None:
        meets = isinstance(node, Barrier) or (isinstance(node, Call) and node.name in self.meeting)
        if meets and not alike and self.settled and self.found is None:
            self.found = node
        if isinstance(node, Call) and node.name in self.arguments:
            self.arguments[node.name] |= {number for number, arg in enumerate(node.args) if self.varies(arg)}
        differs = any(map(self.varies, operands(node)))
        if isinstance(node, Let | For) and differs:
            self.names.add(node.var.name)
        if isinstance(node, Mutable | Assign | Declare) and (differs or not alike):
            self.names.add(node.var.name)
        if isinstance(node, Update) and isinstance(node.place, Var) and (differs or not alike):
            self.names.add(node.place.name)
        inside = alike and not (isinstance(node, If | For | While) and differs)
        for body in bodies(node):
            self.body(body, alike=inside)

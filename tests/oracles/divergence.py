"""Divergence analysis: what differs between the threads of a group, and which barriers they therefore do not all reach.

A value *varies* where it is made of the thread's number, of what was loaded from a place that varies, or of what was
assigned where not every thread came. A barrier is reached by all threads of a group where no condition around it, no
bound of a loop around it and no call on the way varies. (LLVM calls it by the same name; PPCG and Polly do not need it,
as their barriers stand between whole loops.)
"""

from dataclasses import dataclass

from tilewright.codegen.ir.expressions import Call, Expr, Int, Op, Real, Var
from tilewright.codegen.ir.nodes import Assign, Barrier, Declare, For, Function, If, Let, Mutable, Stmt, Update, While
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.rewrite import bodies, operands

_THREAD = ""
"""The thread's number, among names."""


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
        if _meets(function.body, meeting):
            meeting.add(function.name)
    varying: dict[str, set[int]] = {function.name: set() for function in functions}
    for function in reversed(functions):  # callers say what varies of a callee's parameters
        if function.name in meeting:
            analysis = _Analysis(function, meeting, varying)
            if analysis.found is not None:
                return Divergent(function.name, analysis.found)
    return None


def _meets(body: tuple[Stmt, ...], meeting: set[str]) -> bool:
    """Whether there is a barrier among statements, or a call of a function in which there is one."""
    return any(
        isinstance(node, Barrier)
        or (isinstance(node, Call) and node.name in meeting)
        or any(_meets(inside, meeting) for inside in bodies(node))
        for node in body
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """What a statement does to what varies; statements that do nothing to it are none."""

    node: Stmt
    target: str | None  # what it names or assigns
    assigned: bool  # which varies, too, where not every thread comes
    reads: set[str]
    arguments: tuple[set[str], ...]  # of a call
    inside: tuple[list["_Step"], ...]


def _steps(body: tuple[Stmt, ...]) -> list[_Step]:
    found = []
    for node in body:
        target, assigned = _target(node)
        call = isinstance(node, Call)
        inside = tuple(map(_steps, bodies(node)))
        if target is None and not call and not inside and not isinstance(node, Barrier):
            continue
        reads: set[str] = set()
        for operand in operands(node):
            _read(operand, reads)
        if not (reads or assigned or call or inside or isinstance(node, Barrier)):
            continue  # a constant
        arguments = []
        for operand in node.args if call else ():
            _read(operand, into := set())
            arguments.append(into)
        found.append(_Step(node, target, assigned, reads, tuple(arguments), inside))
    return found


def _target(node: Stmt) -> tuple[str | None, bool]:
    match node:
        case Let() | For():
            return node.var.name, False
        case Mutable() | Assign() | Declare():
            return node.var.name, True
        case Update(place=Var(name)):
            return name, True
    return None, False


def _read(node: Expr, into: set[str]) -> None:
    """Add the names in an expression."""
    if isinstance(node, Var):
        into.add(node.name)
    elif isinstance(node, Op):
        if node.op is Operator.THREAD:
            into.add(_THREAD)
        for arg in node.args:
            _read(arg, into)
    elif not isinstance(node, Int | Real):
        for operand in operands(node):
            _read(operand, into)


class _Analysis:
    """Analyses one function, and notes which arguments of its calls vary."""

    def __init__(self, function: Function, meeting: set[str], varying: dict[str, set[int]]) -> None:
        self.meeting, self.arguments = meeting, varying
        self.names = {_THREAD, *(function.params[number].name for number in varying[function.name])}
        self.found: Stmt | None = None
        self.settled = False
        steps = _steps(function.body)
        while not self.settled:  # what is assigned late in a loop varies early in its next iteration
            before = len(self.names)
            self.body(steps, alike=True)
            self.settled = len(self.names) == before
        self.body(steps, alike=True)

    def body(self, steps: list[_Step], *, alike: bool) -> None:
        for step in steps:
            differs = not self.names.isdisjoint(step.reads)
            if step.target is not None and (differs or (step.assigned and not alike)):
                self.names.add(step.target)
            if isinstance(step.node, Barrier | Call):
                self.meet(step, alike=alike)
            for inside in step.inside:
                self.body(inside, alike=alike and not (isinstance(step.node, If | For | While) and differs))

    def meet(self, step: _Step, *, alike: bool) -> None:
        node = step.node
        if isinstance(node, Call) and node.name in self.arguments:
            varied = (number for number, names in enumerate(step.arguments) if not self.names.isdisjoint(names))
            self.arguments[node.name].update(varied)
        meets = isinstance(node, Barrier) or node.name in self.meeting
        if meets and not alike and self.settled and self.found is None:
            self.found = node

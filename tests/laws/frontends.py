"""The front ends of iterated stencils: a program is written as a user would write it, and read back.

What comes back must have the program's fields and scalars; that it computes the same is what the laws say, whose
kernels are made of what came back and whose reference runs the program that was written.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.programs.stencil.expression import Apply, Const, Read, Scalar, Value, apply, as_value
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import MAX_REACH, Program, Statement
from tilewright.tracing import trace
from tilewright.workloads.annotated.parse.c import parse_code
from tilewright.workloads.annotated.parse.sweeps import read_stencil, recognise

NAMES = ("builder", "traced function", "loops in C", "annotation")
_UFUNCS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "minimum": np.minimum, "maximum": np.maximum, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
}  # fmt: skip
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "abs": abs, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}  # fmt: skip
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_C = {"minimum": "fmin", "maximum": "fmax", "abs": "fabs"}
_PLAIN = frozenset({"sqrt", "exp", "log", "sin", "cos", "tanh"})


def written_as(name: str, problem: Problem) -> Problem | None:
    """Return the problem as a front end reads it, or None where the front end has no words for it."""
    make = {"traced function": _traced, "loops in C": _loops, "annotation": _annotation}.get(name)
    program = problem.program if make is None else make(problem)
    if program is None:
        return None
    assert set(program.fields) == set(problem.program.fields), f"{program} is not {problem.program}"
    assert set(program.scalars) == set(problem.program.scalars), f"{program} is not {problem.program}"
    original = problem.program
    same = replace(program, name=original.name, fields=original.fields, scalars=original.scalars)
    return replace(problem, program=same)


def _traced(problem: Problem) -> Program:
    """A function of fields and scalars that computes with Python's operators and NumPy's functions."""
    program = problem.program
    names = [*program.fields, *program.scalars]

    def body(*arguments: Any) -> dict[str, Any]:
        symbols = dict(zip(names, arguments, strict=True))
        return {statement.field: _value(statement, symbols) for statement in program.statements}

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    body.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return trace(body, program.name)


def _value(statement: Statement, symbols: dict[str, Any]) -> Any:
    values: list[Any] = []
    for node in statement.tape:
        match node:
            case Const():
                values.append(node.value)
            case Read():
                symbol = symbols[node.field]
                at = {0: symbol, 1: symbol.new, -1: symbol.prev, -2: symbol.prev2}[node.level]
                values.append(at[node.offset])
            case Scalar():
                values.append(symbols[node.name])
            case Apply():
                values.append(_call(node.op, [values[i] for i in node.args]))
    return values[-1]


def _call(op: str, operands: list[Any]) -> Any:
    if all(isinstance(each, int | float) for each in operands):
        operands = [as_value(each) for each in operands]
    if op in _OPERATORS:
        return _OPERATORS[op](*operands)
    if op in _UFUNCS and any(isinstance(each, Value) for each in operands):
        return _UFUNCS[op](*operands)
    return apply(op, *operands)


def _text(statement: Statement, item: Callable[[Read], str], functions: dict[str, str]) -> str | None:
    """The expression with every operation in parentheses, or None where a language has no word for one."""
    texts: list[str] = []
    for node in statement.tape:
        match node:
            case Const() if not isinstance(node.value, bool):
                texts.append(repr(node.value) if node.value >= 0 else f"({node.value!r})")
            case Read() if node.level == 0:
                texts.append(item(node))
            case Scalar():
                texts.append(node.name)
            case Apply() if node.op in _SIGNS:
                a, b = node.args
                texts.append(f"({texts[a]} {_SIGNS[node.op]} {texts[b]})")
            case Apply(op="neg"):
                texts.append(f"(-{texts[node.args[0]]})")
            case Apply() if node.op in functions or node.op in _PLAIN:
                arguments = ", ".join(texts[i] for i in node.args)
                texts.append(f"{functions.get(node.op, node.op)}({arguments})")
            case _:
                return None
    return texts[-1]


def _index(places: Sequence[str], shape: Sequence[int], *, flat: bool) -> str:
    if not flat:
        return "".join(f"[{place}]" for place in places)
    text = places[0]
    for place, extent in zip(places[1:], shape[1:], strict=True):
        text = f"({text})*{extent} + {place}"
    return f"[{text}]"


def _loops(problem: Problem) -> Program | None:
    """A time loop around one sweep per field into an array of its own, and one that copies it back."""
    program, shape = problem.program, problem.shape
    counters = ["i", "j", "l"][: program.rank]
    flat = program.rank > 1 and problem.steps % 2 == 1 and min(shape[1:]) > 2 * MAX_REACH
    sweeps, copies = [], []
    for statement in program.statements:
        box = problem.update_box(statement)
        if any(last <= first for first, last in box):
            return None

        def item(read: Read) -> str:
            places = [f"{c} + {o}" if o >= 0 else f"{c} - {-o}" for c, o in zip(counters, read.offset, strict=True)]
            return read.field + _index(places, shape, flat=flat)

        value = _text(statement, item, _C)
        if value is None or (statement.tape[-1:] and isinstance(statement.tape[-1], Read)):
            return None
        loops = "".join(f"for ({c} = {a}; {c} < {b}; {c}++) " for c, (a, b) in zip(counters, box, strict=True))
        here = _index(counters, shape, flat=flat)
        sweeps.append(f"{loops}{statement.field}_next{here} = {value};")
        copies.append(f"{loops}{statement.field}{here} = {statement.field}_next{here};")
    text = f"for (time = 0; time < 5; time++) {{ {' '.join(sweeps)} {' '.join(copies)} }}"
    found = recognise(parse_code(text, "a law"), {}, dict.fromkeys(program.scalars, "double"))
    assert found is not None, text
    assert dict(found.mirrors) == {f"{each.field}_next": each.field for each in program.statements}, found.mirrors
    return found.program


def _annotation(problem: Problem) -> Program | None:
    """One field's expression in an annotation."""
    program = problem.program
    if len(program.statements) != 1:
        return None
    (statement,) = program.statements
    value = _text(statement, lambda read: f"{read.field}[{', '.join(map(str, read.offset))}]", _C)
    return None if value is None else read_stencil(f"steps = 3, {statement.field} = {value}", {}, 1).program

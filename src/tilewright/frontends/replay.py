"""The body of a stencil again, from its program: what stands for the function where that is not at hand."""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from tilewright.programs.stencil.expression import Apply, Read, Scalar, Tape, Value, apply, as_value
from tilewright.programs.stencil.program import STEP, Program

_LEVELS = {1: "new", -1: "prev", -2: "prev2"}


def body_of(program: Program, arguments: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of these arguments that builds and returns what a stencil's body did when it was traced."""
    parameters = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=dict(program.defaults).get(name, Parameter.empty))
        for name in arguments
    ]
    signature = Signature(parameters)

    def body(*values: Any, **named: Any) -> Any:  # noqa: ANN401  (what a body is given and returns)
        bound = signature.bind(*values, **named)
        bound.apply_defaults()
        given = bound.arguments
        results = {statement.field: _value(statement.tape, given) for statement in program.statements}
        if tuple(results) != arguments[: len(results)]:
            return results
        return results[arguments[0]] if len(results) == 1 else tuple(results.values())

    body.__signature__ = signature  # type: ignore[attr-defined]
    return body


def _value(tape: Tape, given: Mapping[str, Any]) -> Value:
    """Build a tape's value over other fields and scalars than its own."""
    values: list[Value] = []
    for node in tape:
        if isinstance(node, Apply):
            values.append(apply(node.op, *(values[arg] for arg in node.args)))
        elif isinstance(node, Scalar) and node.name != STEP:
            values.append(as_value(given[node.name]))
        elif isinstance(node, Read):
            field = given[node.field]
            values.append((getattr(field, _LEVELS[node.level]) if node.level else field)[node.offset])
        else:
            values.append(Value(node))
    return values[-1]

"""Derivatives of a stencil's expression with respect to what it reads, cell by cell, in forward mode."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.expression import Apply, Const, Index, Inside, Placed, Profile, Read, Scalar, Tape
from tilewright.programs.stencil.operators import BOOLEAN, FLAT, OPERATORS

Number = Any
"""An array over cells, or one number for all."""
Slopes = dict[Read, Number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dual:
    """A value and its slopes."""

    value: Number  # over the cells
    slopes: Slopes  # derivative by each read of an unknown that it depends on


def differentiate(
    tape: Tape,
    read: Callable[[Read | Placed], Number],  # values over the cells
    scalars: Mapping[str, Number],
    unknown: frozenset[str],  # fields by whose reads to differentiate
    *,
    linear: bool,  # refuse what is not linear in these
) -> Dual:
    """Evaluate a tape and its derivatives."""
    done: list[Dual] = []
    for node in tape:
        if isinstance(node, Const):
            done.append(Dual(value=node.value, slopes={}))
        elif isinstance(node, Scalar):
            done.append(Dual(value=scalars[node.name], slopes={}))
        elif isinstance(node, Read):
            done.append(Dual(value=read(node), slopes={node: 1.0} if node.field in unknown else {}))
        elif isinstance(node, Index | Inside | Profile):
            done.append(Dual(value=read(node), slopes={}))
        else:
            done.append(_apply(node, [done[arg] for arg in node.args], linear=linear))
    return done[-1]


def _apply(node: Apply, args: list[Dual], *, linear: bool) -> Dual:
    value = OPERATORS[node.op].evaluate(*(arg.value for arg in args))
    moving = [i for i, arg in enumerate(args) if arg.slopes]
    if not moving or node.op in BOOLEAN | FLAT:
        if moving and linear:
            raise _nonlinear(node.op)
        return Dual(value=value, slopes={})
    if linear and not _is_linear(node.op, moving):
        raise _nonlinear(node.op)
    if node.op not in _PARTIAL:
        raise UsageError(f"{node.op!r} works on whole numbers and has no derivative, so there is no matrix of it")
    partial = _PARTIAL[node.op](value, *(arg.value for arg in args))
    slopes: Slopes = {}
    for i in moving:
        for key, slope in args[i].slopes.items():
            term = partial[i] * slope
            slopes[key] = slopes[key] + term if key in slopes else term
    return Dual(value=value, slopes=slopes)


def _is_linear(op: str, moving: list[int]) -> bool:
    kind = OPERATORS[op].linear
    if op == "where":
        return 0 not in moving
    return kind == "both" or (kind == "either" and len(moving) == 1) or (kind == "left" and moving == [0])


def _nonlinear(op: str) -> UsageError:
    return UsageError(
        f"the stencil is not linear in its fields: {op!r} is applied to them, so no one matrix stands for it",
        "give at=(…), the fields to linearise at, for its Jacobian there",
    )


def _power(value: Number, base: Number, exponent: Number) -> tuple[Number, Number]:
    with np.errstate(all="ignore"):
        return exponent * np.power(base, exponent - 1.0), value * np.log(base)


_PARTIAL: dict[str, Callable[..., tuple[Number, ...]]] = {
    "add": lambda _v, _a, _b: (1.0, 1.0),
    "sub": lambda _v, _a, _b: (1.0, -1.0),
    "neg": lambda _v, _a: (-1.0,),
    "mul": lambda _v, a, b: (b, a),
    "div": lambda v, _a, b: (1.0 / b, -v / b),
    "pow": _power,
    "sqrt": lambda v, _a: (0.5 / v,),
    "exp": lambda v, _a: (v,),
    "log": lambda _v, a: (1.0 / a,),
    "sin": lambda _v, a: (np.cos(a),),
    "cos": lambda _v, a: (-np.sin(a),),
    "tanh": lambda v, _a: (1.0 - v * v,),
    "tan": lambda v, _a: (1.0 + v * v,),
    "atan2": lambda _v, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "remainder": lambda _v, a, b: (1.0, -np.floor_divide(a, b)),
    "abs": lambda _v, a: (np.sign(a),),
    "conj": lambda _v, _a: (1.0,),
    "real": lambda _v, _a: (1.0,),
    "imag": lambda _v, _a: (0.0,),
    "minimum": lambda _v, a, b: (np.where(a <= b, 1.0, 0.0), np.where(a <= b, 0.0, 1.0)),
    "maximum": lambda _v, a, b: (np.where(a >= b, 1.0, 0.0), np.where(a >= b, 0.0, 1.0)),
    "where": lambda _v, c, _a, _b: (0.0, np.where(c, 1.0, 0.0), np.where(c, 0.0, 1.0)),
}
"""Partial derivatives by operand, from the result and the operands."""

"""The vector operations in NumPy, with the bound within which kernels must agree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import UsageError
from tilewright.sparse.lower.vectors import VectorKernel

Array = npt.NDArray[Any]


def reference(
    what: VectorKernel, vectors: Sequence[Array], scalars: Sequence[float], *, absolute: bool = False
) -> tuple[list[Array], list[float]]:
    """Compute a kernel's vectors and sums in double precision; with ``absolute``, of absolute values, for bounds."""
    values: dict[str, Any] = {
        name: each.astype(np.float64) for name, each in zip(what.vectors, vectors, strict=True)
    } | dict(zip(what.scalars, scalars, strict=True))
    if absolute:
        values = {name: np.abs(value) for name, value in values.items()}
    sums = []
    for each in what.operations:
        result = _formula(each.formula, values, absolute=absolute)
        if each.target:
            values[each.target] = result
        else:
            sums.append(float(np.sum(result)))
    return [values[name] for name in what.vectors], sums


def _formula(text: str, values: dict[str, Any], *, absolute: bool) -> Any:  # noqa: ANN401
    """Evaluate a formula of + - * and parentheses; with ``absolute``, differences as sums."""
    import ast

    def walk(node: ast.expr) -> Any:  # noqa: ANN401
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return walk(node.operand) if absolute else -walk(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = walk(node.left), walk(node.right)
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Add) or (absolute and isinstance(node.op, ast.Sub)):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
        raise UsageError(f"{text!r} is no formula of + - * and parentheses")

    return walk(ast.parse(text, mode="eval").body)

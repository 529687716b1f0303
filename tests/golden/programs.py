"""Small programs, each for one thing that a text may hold and the catalogue's smallest program does not show."""

import itertools

from tilewright.programs.stencil.expression import Scalar, Value, apply, as_value
from tilewright.programs.stencil.program import FieldBuilder, Program, stencil

_U, _V, _K = FieldBuilder("u"), FieldBuilder("v"), FieldBuilder("k")


def _sum(terms: list[Value]) -> Value:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _box(rank: int, weights: tuple[float, ...], reach: int = 1) -> Value:
    """A box whose weights repeat, in the order of its places."""
    places = itertools.product(range(-reach, reach + 1), repeat=rank)
    return _sum([weight * _U[at] for weight, at in zip(itertools.cycle(weights), places, strict=False)])


def _star(reach: int, rank: int) -> Value:
    """A star whose weights differ."""
    distances = range(-reach, reach + 1)
    distinct = dict.fromkeys(
        tuple(k if a == axis else 0 for a in range(rank)) for axis in range(rank) for k in distances
    )
    return _sum([round(0.1 + 0.03 * number, 2) * _U[at] for number, at in enumerate(distinct)])


def _made() -> dict[str, Program]:
    a, b = Value(Scalar("a")), Value(Scalar("b"))
    near = _U[-1] + _U[1]
    hot = (_U[0] > 0.5) & (_U[1] <= _U[-1])
    values: dict[str, tuple[int, dict[str, Value]]] = {
        "wave1d": (1, {"u": 2.0 * _U[0] - _U.prev[0] + 0.25 * (near - 2.0 * _U[0])}),
        "levels": (1, {"u": 0.5 * _U[0] + 0.25 * _U.prev[1] + 0.125 * _U.prev[-1]}),
        "scaled": (1, {"u": a * near + b * _U[0]}),
        "varied": (1, {"u": _U[0] + _K[0] * near}),
        "forced": (2, {"u": 0.25 * (_U[-1, 0] + _U[1, 0] + _U[0, -1] + _U[0, 1]) + a * _V[0, 0]}),
        "pair": (1, {"u": _U[0] - 0.5 * (_V[0] - _V[-1]), "v": _V[0] - 0.5 * (_U.new[1] - _U.new[0])}),
        "together": (1, {"u": 0.5 * (_V[-1] + _V[1]), "v": 0.5 * (_U[-1] + _U[1])}),
        "masked": (1, {"u": apply("where", _K[0] > 0, 0.5 * near, _U[0])}),
        "chosen": (1, {"u": apply("where", hot, near, 0.0) + (_U[0] > 0.25) * 0.5}),
        "limited": (1, {"u": apply("maximum", apply("minimum", _U[-1] + _U[1], 100), abs(_U[0]))}),
        "product": (1, {"u": _U[0] * _U[1] / (1.0 + _U[-1] * _U[-1])}),
        "functions": (1, {"u": apply("exp", -_U[0]) + apply("sin", _U[1]) + apply("pow", _U[-1], 2.5)}),
        "turning": (
            1,
            {"u": _U[0] * abs(_U[1]) / near + 0.1j * apply("where", _U[0] == 0, near, apply("conj", _U[0]))},
        ),
        "switched": (1, {"u": apply("where", a > 0.5, near * apply("sqrt", as_value(2.0)), _U[0])}),
        "running": (1, {"u": 0.5 * _U.new[-1] + _U[0]}),
        "overroot": (1, {"u": _U[0] / apply("sqrt", 0.1 + _U[1] * _U[1])}),
        "asymmetric": (1, {"u": 0.5 * _U[0] + 0.25 * _U[2] + 0.125 * _U[3]}),
        "wide": (1, {"u": _sum([round(0.02 * (k + 10), 2) * _U[k] for k in range(-5, 6)])}),
        "mean": (2, {"u": _box(2, (0.125,))}),
        "distinct": (2, {"u": _box(2, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9))}),
        "inside": (2, {"u": _U[0, 0] * _box(2, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)) + _K[0, 0]}),
        "column": (2, {"u": _star(1, 2)}),
        "star2": (2, {"u": _star(2, 2)}),
        "large": (2, {"u": _box(2, tuple(round(0.001 * (k + 1), 3) for k in range(81)), reach=4)}),
        "cube": (3, {"u": _box(3, tuple(round(0.01 * (k + 1), 2) for k in range(27)))}),
    }
    return {name: stencil(name, rank, statements) for name, (rank, statements) in values.items()}


STENCILS = _made()
"""By name."""

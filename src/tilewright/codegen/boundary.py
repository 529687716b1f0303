"""Which cell inside stands for one outside, where a grid goes on beyond its end.

Kinds are ``scipy.ndimage``'s: ``nearest`` (a a a | a b c), ``reflect`` (c b a | a b c), ``mirror`` (d c b | a b c) and
``wrap``. What is here agrees with the reference, :func:`tilewright.programs.stencil.reference.map_index`.
"""

from collections.abc import Iterable

from tilewright.codegen import ir

_INDEX, _SIZE = ir.Var("i"), ir.Var("n")


def mirrored(kind: str, beyond: int) -> int | None:
    """Return which cell, the last one inside as 0, stands for the one ``beyond`` cells outside; None where none does.

    >>> [mirrored(kind, 2) for kind in ("nearest", "reflect", "mirror", "constant")]
    [0, 1, 2, None]
    """
    return {"nearest": 0, "reflect": beyond - 1, "mirror": beyond}.get(kind)


def mapped(index: ir.Expr, size: ir.Expr, kind: str) -> ir.Expr:
    """Return the index inside that one at any distance outside stands for."""
    last = size - 1
    if kind == "nearest":
        return ir.largest(0, ir.smallest(index, last))
    if kind == "wrap":
        return ir.floormod(index, size)
    period = (size * 2) if kind == "reflect" else ir.largest(1, size * 2 - 2)
    folded = ir.floormod(index, period)
    return ir.smallest(folded, (period - 1 if kind == "reflect" else period) - folded)


def map_name(kind: str) -> str:
    """Return the name of the function that :func:`map_functions` makes for a kind."""
    return f"tw_map_{kind}"


def map_functions(kinds: Iterable[str]) -> tuple[ir.Function, ...]:
    """Return functions ``(index, extent) -> index`` for kernels that map often; none for kinds without a cell."""
    return tuple(
        ir.Function(
            name=map_name(kind),
            params=(_INDEX, _SIZE),
            body=(),
            result=mapped(_INDEX, _SIZE, kind),
            result_type=ir.INDEX,
            kind="inline",
        )
        for kind in sorted(set(kinds) - {"fixed", "constant"})
    )

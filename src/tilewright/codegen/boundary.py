"""Which cell inside stands for one outside, where a grid goes on beyond its end, and where constants lie.

Kinds are ``scipy.ndimage``'s: ``nearest`` (a a a | a b c), ``reflect`` (c b a | a b c), ``mirror`` (d c b | a b c) and
``wrap``. What is here agrees with the reference, :func:`tilewright.programs.stencil.reference.map_index`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from tilewright.base.dtypes import numpy_type
from tilewright.codegen import ir
from tilewright.programs.stencil.boundaries import Boundary

Sides = tuple[Boundary, Boundary]


def mapped(index: ir.Expr, size: ir.Expr, kind: str) -> ir.Expr:
    """Return the index inside that one at any distance outside stands for."""
    last = size - 1
    if kind == "nearest":
        return ir.largest(0, ir.smallest(index, last))
    if kind == "wrap":
        return ir.floormod(index, size)
    period = size * 2 if kind == "reflect" else ir.largest(1, size * 2 - 2)
    folded = ir.floormod(index, period)
    return ir.smallest(folded, (period - 1 if kind == "reflect" else period) - folded)


def map_name(kind: str) -> str:
    """Return the name of the function that :func:`map_functions` makes for a kind."""
    return f"tw_map_{kind}"


def map_functions(kinds: Iterable[str]) -> tuple[ir.Function, ...]:
    """Return functions ``(index, extent) -> index`` for kernels that map often; none for kinds without a cell."""
    functions = []
    for kind in sorted(set(kinds) - {"fixed", "constant"}):
        b = ir.Builder(map_name(kind), kind="inline")
        index, size = b.param("i"), b.param("n")
        functions.append(b.function(mapped(index, size, kind), ir.INDEX))
    return tuple(functions)


def outside(sides: Sides) -> bool:
    """Whether a read may lie outside along an axis with these sides."""
    return any(side.kind != "fixed" for side in sides)


def beyond(place: ir.Expr, size: ir.Expr, *, low: bool) -> ir.Expr:
    """Whether a place lies outside at one end of an axis."""
    return place < 0 if low else place >= size


def inside(place: ir.Expr, size: ir.Expr, sides: Sides) -> ir.Expr:
    """The place itself, or the one that it stands for where the grid is mapped beyond its end."""
    result = place
    for low, side in zip((True, False), sides, strict=True):
        if side.kind not in {"fixed", "constant"}:
            result = ir.select(beyond(place, size, low=low), mapped(place, size, side.kind), result)
    return result


def constants_beyond(place: ir.Expr, size: ir.Expr, sides: Sides) -> Iterator[tuple[ir.Expr, complex]]:
    """Where along an axis constants lie, and which; of several axes the innermost one decides, as in the reference."""
    for low, side in zip((True, False), sides, strict=True):
        if side.kind == "constant":
            yield beyond(place, size, low=low), side.value


def bounded(
    places: Sequence[tuple[ir.Expr, ir.Expr, Sides | None]],
    load: Callable[[tuple[ir.Expr, ...]], ir.Expr],
    dtype: ir.Element,
) -> ir.Expr:
    """The value at a place along every axis, given with the extent and, where it may lie outside, with the sides."""
    value = load(tuple(inside(place, size, sides) if sides else place for place, size, sides in places))
    for place, size, sides in places:
        for test, constant in constants_beyond(place, size, sides) if sides else ():
            value = ir.select(test, literal(constant, dtype), value)
    return value


def literal(value: complex, dtype: ir.Element) -> ir.Real:
    """A boundary's value as the element type has it: where memory rounds it, rounded."""
    if dtype.is_narrow:
        return ir.Real(float(numpy_type(dtype.name).type(value)), dtype)
    return ir.Real(int(value.real) if dtype.is_integer else value, dtype)

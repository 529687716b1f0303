"""Maps of indices beyond the ends of a grid, beside the reference."""

import itertools

import numpy as np
import pytest
from tests.oracles.verify import verify

from tilewright.codegen import ir
from tilewright.codegen.boundary import map_functions, mapped
from tilewright.programs.stencil.boundaries import KINDS, mirrored
from tilewright.programs.stencil.reference import map_index

MAPPED = ("nearest", "reflect", "mirror", "wrap")
_EVALUATE = {
    ir.Operator.ADD: lambda a, b: a + b,
    ir.Operator.SUB: lambda a, b: a - b,
    ir.Operator.MUL: lambda a, b: a * b,
    ir.Operator.MIN: min,
    ir.Operator.MAX: max,
    ir.Operator.FLOORMOD: lambda a, b: a % b,
}


def value(node: ir.Expr, names: dict[str, int]) -> int:
    if isinstance(node, ir.Int):
        return node.value
    return names[node.name] if isinstance(node, ir.Var) else _EVALUATE[node.op](*(value(a, names) for a in node.args))


def test_indices_at_any_distance():
    for kind, extent in itertools.product(MAPPED, [1, 2, 3, 7]):
        index = np.arange(-3 * extent - 2, 4 * extent + 2)
        node = mapped(ir.Var("i"), ir.Var("n"), kind)
        found = [value(node, {"i": int(i), "n": extent}) for i in index]
        assert found == map_index(index, extent, kind).tolist(), (kind, extent)


@pytest.mark.parametrize("kind", ["nearest", "reflect", "mirror"])
def test_cells_close_outside(kind):
    extent, beyond = 9, range(1, 9)
    low = map_index(np.array([-each for each in beyond]), extent, kind)
    high = map_index(np.array([extent - 1 + each for each in beyond]), extent, kind)
    assert [mirrored(kind, each) for each in beyond] == low.tolist() == (extent - 1 - high).tolist()


def test_other_boundaries_map_to_no_cell_near_by():
    assert {kind for kind in KINDS if mirrored(kind, 1) is None} == {"fixed", "constant", "wrap"}
    functions = map_functions([*KINDS, *KINDS])
    assert [each.name for each in functions] == ["tw_map_mirror", "tw_map_nearest", "tw_map_reflect", "tw_map_wrap"]
    verify(functions, gpu=False)
    verify(functions, gpu=True)

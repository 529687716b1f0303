"""The new values of neighbouring rows of a box, vector by vector."""

from collections.abc import Callable

from tilewright.codegen import ir
from tilewright.codegen.passes.block_registers import Place, RegisterBlock
from tilewright.codegen.passes.regroup_sums import in_any_order
from tilewright.codegen.passes.write_sums import write_sums
from tilewright.codegen.sites import RowPointers, Site, place_name
from tilewright.programs.stencil.expression import Placed, Read
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import Apart, apart
from tilewright.schedules.code import RowCode


def row_values(
    site: Site,
    statement: Statement,
    rows: RowPointers,
    block: RowCode,
    place: ir.Var,
    load: Callable[[Read, ir.Var], ir.Expr] | None = None,  # the vector of a read, where not simply at its place
) -> tuple[tuple[ir.Stmt, ...], tuple[ir.Expr, ...]]:
    """Write one vector of the new values of several neighbouring rows: the operations, and the value of each row."""
    (forms,) = block.sums if load is None else block.assembled
    found = apart(statement) if forms else Apart(statement.tape, ())
    places = [(shift, 0) for shift in range(block.rows)]
    reads = _InRows(site, rows, place, load)
    registers = RegisterBlock(reads, places, letter="l", axis=rows.axis, held=True, placed=reads.placed)
    for at in places:
        for read in (read for terms in found.sums for read in terms):
            registers.load(read, at)
    sums = write_sums(registers, found, forms, lambda number: f"s{number}")
    tape = in_any_order(found.tape, site)
    new = registers.values(tape, lambda at: f"t{at[0]}_", sums, in_turn=block.in_turn)
    return registers.kept() if block.kept else tuple(registers.body), tuple(new[at] for at in places)


class _InRows:
    """Where the vectors of neighbouring rows come from."""

    def __init__(
        self, site: Site, rows: RowPointers, place: ir.Var, load: Callable[[Read, ir.Var], ir.Expr] | None
    ) -> None:
        self.site, self.dtype, self.rows, self.place, self.load = site, site.dtype, rows, place, load
        self.order = {row: number for number, row in enumerate(rows.names.values())}

    def key(self, read: Read, at: Place) -> tuple[int, int]:
        return self.order[self.rows.of(read, at[0])], read.offset[-1]

    def placed(self, node: Placed, at: Place) -> ir.Expr:
        site, last = self.site, self.site.rank - 1
        if node.axis == last:
            return ir.Load(place_name(site, node), self.place, ir.vector(self.dtype))
        shift = at[0] if node.axis == self.rows.axis else 0
        return ir.Load(place_name(site, node), ir.Var(f"x{node.axis}") + shift, self.dtype)

    def vector(self, read: Read, at: Place) -> ir.Expr:
        row = self.rows.of(read, at[0])
        if self.load is not None:
            return self.load(read, row)
        return ir.Load(row, self.place + read.offset[-1], ir.vector(self.dtype))

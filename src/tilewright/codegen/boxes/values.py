"""The new values of neighbouring rows of a box, vector by vector.

Written row after row, the vectors that neighbouring rows share would wait in registers for a whole expression, and gcc
loads them again instead: a sum of 27 reads in two rows took 48 loads where 36 are distinct. Here every distinct vector
is loaded once, just before its first use, and the rows advance together, so that neighbouring operations are
independent. Sums are regrouped as in streaming kernels, except where the program's own order is kept.
"""

from collections.abc import Callable, Sequence

from tilewright.codegen import ir
from tilewright.codegen.expression import Leaves, fuse_roots, lower_tape
from tilewright.codegen.passes.regroup_sums import regroup
from tilewright.codegen.passes.write_sums.columns import Columns, Place
from tilewright.codegen.passes.write_sums.inputs import Sums, add_up
from tilewright.codegen.sites import Rows, Site
from tilewright.programs.expression import Read, Tape
from tilewright.programs.stencil import Statement
from tilewright.programs.weights import SUM, Apart, Terms, apart
from tilewright.tilings.body import Block, Sum


def row_values(
    site: Site,
    statement: Statement,
    rows: Rows,
    block: Block,
    place: ir.Var,
    load: Callable[[Read, ir.Var], ir.Expr] | None = None,
) -> tuple[tuple[ir.Stmt, ...], tuple[ir.Expr, ...]]:
    """Write one vector of the new values of several neighbouring rows.

    Args:
        site: The kernel's surroundings.
        statement: The statement.
        rows: The rows that it reads.
        block: The rows of results, and how they are written.
        place: Index of the vector's first cell in its row.
        load: The vector of a read in a row, where it is not simply at its place.

    Returns:
        The operations, and the new value of each row.
    """
    values = _Values(site, rows, place, load)
    forms = block.sums if load is None else block.assembled
    found = apart(statement.tape) if forms else Apart(statement.tape, ())
    sums = [
        values.by_input(f"s{number}_", terms, block.rows, form)
        for number, (terms, form) in enumerate(zip(found.sums, forms, strict=True))
    ]
    new = sums[0] if len(found.tape) == len(sums) == 1 else values.by_output(found.tape, block.rows, sums)
    return tuple(values.held() if block.kept else values.body), new


class _Values:
    def __init__(self, site: Site, rows: Rows, place: ir.Var, fetch: Callable[[Read, ir.Var], ir.Expr] | None) -> None:
        self.site = site
        self.fetch = fetch
        self.rows = rows
        self.place = place
        self.body: list[ir.Stmt] = []
        self.order = {row: number for number, row in enumerate(rows.names.values())}
        self.loaded: dict[tuple[ir.Var, int], ir.Var] = {}
        self.pending: dict[ir.Expr, ir.Let] = {}
        self.readers: dict[ir.Var, set[int]] = {}

    def by_output(self, tape: Tape, block: int, sums: Sequence[Sequence[ir.Expr]]) -> tuple[ir.Expr, ...]:
        """One expression per row, their operations in turn; ``sums`` are written already."""
        if not self.site.keeps_order:
            tape = regroup(fuse_roots(tape) if self.site.dtype.name == "float32" else tape, self.site.body)
        lowered = []
        for shift in range(block):

            def read(node: Read, shift: int = shift) -> ir.Expr:
                if node.field.startswith(SUM):
                    return sums[int(node.field[1:])][shift]
                return self.load(node, shift)

            leaves = Leaves(dtype=self.site.dtype, read=read, vector=True)
            lowered.append(lower_tape(tape, leaves, prefix=f"t{shift}_"))
        for together in zip(*(lets for lets, _ in lowered), strict=True):
            for operation in together:
                if isinstance(operation, ir.Let) and operation.value in self.pending:
                    self.body.append(self.pending.pop(operation.value))
                self.body.append(operation)
        return tuple(value for _, value in lowered)

    def by_input(self, prefix: str, terms: Terms, block: int, form: Sum) -> tuple[ir.Expr, ...]:
        """Every vector is added to all results that read it at once, in the order of memory or column by column."""
        uses: dict[ir.Var, list[tuple[tuple[int, int], float]]] = {}
        for shift in range(block):
            for read, weight in terms.items():
                uses.setdefault(self.load(read, shift), []).append(((shift, 0), weight))
        if form.form == "columns":
            columns = Columns(self.site.dtype, prefix, self._fetch, self.body, axis=self.site.rank - 2)
            results = columns.write([(shift, 0) for shift in range(block)], terms, form)
            return tuple(results[shift, 0] for shift in range(block))
        sums = Sums(self.site.dtype, prefix, form.accumulators)
        places = {var: (self.order[row], offset) for (row, offset), var in self.loaded.items()}
        self.body += add_up(sums, {var: uses[var] for var in sorted(uses, key=lambda var: places[var])}, self.pending)
        self.body += sums.join()
        return tuple(sums.results[shift, 0] for shift in range(block))

    def _fetch(self, read: Read, at: Place) -> ir.Var:
        """Load what a read of a row stands for, now, and keep it in a register."""
        var = self.load(read, at[0])
        load = self.pending.pop(var, None)
        if load is not None:
            self.body.append(ir.Let(var, ir.hold(load.value)))
        return var

    def held(self) -> list[ir.Stmt]:
        """The operations; vectors that several rows read are kept in registers, gcc rather loads them for every use."""
        shared = {var for var in self.loaded.values() if len(self.readers[var]) > 1}
        return [
            ir.Let(each.var, ir.hold(each.value)) if isinstance(each, ir.Let) and each.var in shared else each
            for each in self.body
        ]

    def load(self, node: Read, shift: int) -> ir.Var:
        """Name a vector; it is loaded where it is first used."""
        row = self.rows.of(node, shift)
        key = (row, node.offset[-1])
        if key not in self.loaded:
            kind = ir.vector(self.site.dtype)
            var = ir.Var(f"l{len(self.loaded)}", kind)
            plain = ir.Load(row, ir.add(self.place, node.offset[-1]), kind)
            self.pending[var] = ir.Let(var, plain if self.fetch is None else self.fetch(node, row))
            self.loaded[key] = var
            self.readers[var] = set()
        self.readers[self.loaded[key]].add(shift)
        return self.loaded[key]

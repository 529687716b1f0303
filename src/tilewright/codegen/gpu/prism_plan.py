"""What the parts of a prism's kernel share: its geometry and places on chip."""

from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.gpu.chip import ChipField, SharedLayout
from tilewright.codegen.gpu.site import GpuSite
from tilewright.codegen.lower.cpu import Names
from tilewright.codegen.lower.index import index
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.prism import Prism
from tilewright.schedules.schedule import GpuSchedule
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.tree.affine import Expr, Name
from tilewright.schedules.tree.nodes import Compute, Let, Loop


@dataclass(frozen=True, slots=True, kw_only=True)
class PrismPlan:
    """A kernel's surroundings; names in its text: ``left`` the hexagon's place, ``z1``, ``z2`` the classic tile's."""

    site: GpuSite
    schedule: GpuSchedule  # the tiling, and what it leaves open decided
    cut: Prism[int]  # the tiles, in numbers
    sizes: Prism[Expr]  # the tiles, as expressions
    rows: Loop  # the loop over the rows of a tile, from the schedule's tree
    chip: SharedLayout

    # Geometry.

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.site.rank

    @property
    def tiling(self) -> Tiling:
        """The tiling."""
        return self.schedule.tiling

    @property
    def shape(self) -> tuple[int, ...]:
        """Threads per axis."""
        return self.schedule.threads

    @property
    def height(self) -> ir.Expr:
        """Rows of the hexagon."""
        return index(self.sizes.hexagon.height, {})

    @property
    def base(self) -> ir.Expr:
        """Cells of its first row."""
        return index(self.sizes.hexagon.base, {})

    def size(self, axis: int) -> ir.Expr:
        """Size of a classic tile."""
        return index(self.sizes.skews[axis - 1].size, {})

    def lean(self, axis: int) -> int:
        """Cells by which a classic tile moves per row."""
        return self.cut.skews[axis - 1].slope

    def grown(self, row: ir.Expr) -> ir.Expr:
        """Cells by which a row extends the first one on either side."""
        return index(self.sizes.hexagon.grown(Name("row")), {"row": row})

    def row_start(self, axis: int, row: ir.Expr, classic: ir.Expr | None = None) -> ir.Expr:
        """First cell along a classic axis of a row of a tile; without the classic tile's number, from its ``z`` on."""
        return self._row(row, {} if classic is None else {f"classic{axis}": classic})[axis][0]

    def row_span(self) -> tuple[ir.Expr, ir.Expr]:
        """Cells along axis 0 of the row of the loop, from the tile's left end on."""
        return self._row(ir.Var("row"), {})[0]

    def _row(self, row: ir.Expr, numbers: Names) -> tuple[tuple[ir.Expr, ir.Expr], ...]:
        """Cells of a row as the tree states them, of tiles 0 unless they are numbered and from the left end on."""
        zeros = {name: ir.Int(0) for name in ("left", *(f"classic{axis}" for axis in range(1, self.rank)))}
        names = {**zeros, "row": row, "grow": ir.Var("grow"), **numbers}
        node = self.rows.child
        while isinstance(node, Let):
            names.setdefault(node.name, index(node.value, names))
            node = node.child
        if not isinstance(node, Compute):
            raise TypeError(f"a row of a prism is computed, not a {type(node).__name__}")
        return tuple((index(low, names), index(high, names)) for low, high in node.box)

    # Places on chip.

    def _column(self, place: ir.Expr) -> ir.Expr:
        """Where a cell of the innermost axis, a ring, lies on chip; ``place`` counts from the box's start."""
        moved = place + ir.Var("ring")
        length = self.chip.extent(self.rank - 1)
        return ir.select(moved >= length, moved - length, moved)

    def _index(self, field: ChipField, x: ir.Expr, inner: tuple[ir.Expr, ...]) -> ir.Expr:
        """Index in a slot on chip of a cell: ``x`` relative to the tile, inner places counted from the box's start."""
        result = x - field.low
        for axis, place in enumerate(inner, 1):
            result = result * self.chip.extent(axis) + place
        return result

    def _slot_at(self, field: ChipField, slot: ir.Expr) -> ir.Expr:
        """Pointer to the first value of a slot on chip."""
        result = self.site.shared + field.start
        if len(field.slots) == 1:
            return result
        plane: ir.Expr = ir.Int(field.high - field.low)
        for axis in range(1, self.rank):
            plane = plane * self.chip.extent(axis)
        return result + plane * slot

    def _slots(self, statement: Statement) -> tuple[ir.Stmt, ...]:
        """Point at the slots that a statement reads and writes in a row."""
        used = dict.fromkeys([*((read.field, read.level) for read in statement.reads), (statement.field, 1)])
        return tuple(
            ir.Let(
                self._slot_name(name, level), self._slot_at(self._field(name), self._slot(name, ir.Var("step"), level))
            )
            for name, level in used
        )

    def _slot_name(self, field: str, level: int) -> ir.Var:
        suffix = {1: "_new", 0: "", -1: "_prev", -2: "_prev2"}[level]
        return ir.Var(f"u{self.site.number(field)}{suffix}", ir.shared_pointer(self.site.dtype))

    def _field(self, name: str) -> ChipField:
        return self.chip.fields[self.site.number(name)]

    def _slot(self, field: str, step: ir.Expr, level: int) -> ir.Expr:
        copies = self.site.copies(field)
        return ir.Int(0) if copies == 1 else ((step + level % copies) % copies)

    def _memory_slot(self, field: str, slot: ir.Expr) -> ir.Expr:
        copies = self.site.copies(field)
        if copies == 1:
            return slot
        return (ir.Var(f"turn{copies}") + slot) % copies

    def _strided(
        self, var: ir.Var, span: tuple[ir.Expr, ir.Expr], axis: int, body: tuple[ir.Stmt, ...], unroll: int = 0
    ) -> ir.For:
        """A loop of one thread over its share of a range along an axis."""
        count = self.shape[axis]
        low = (ir.Var(f"i{axis}") + span[0]) if count > 1 else span[0]
        return ir.For(var=var, low=low, high=span[1], step=ir.Int(count), body=body, unroll=unroll)

"""What the parts of a prism's kernel share: its geometry, as numbers or names, and places on chip."""

from dataclasses import dataclass

from tilewright.codegen.faces import face_grown
from tilewright.codegen.gpu_chip import (
    Chip,
    ChipField,
    hexagon_of,
)
from tilewright.codegen.gpu_site import GpuSite
from tilewright.codegen.ir import (
    Expr,
    For,
    Int,
    Let,
    Op,
    Stmt,
    Var,
    add,
    mul,
    select,
    smallest,
    sub,
)
from tilewright.programs.stencil import Statement
from tilewright.tilings.gpu_schedule import GpuSchedule
from tilewright.tilings.prism import Prism
from tilewright.tilings.tiling import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class PrismPlan:
    """A kernel's surroundings; names in its text: ``left`` the hexagon's place, ``z1``, ``z2`` the classic tile's."""

    site: GpuSite
    schedule: GpuSchedule
    cut: Prism
    chip: Chip

    # Geometry, as numbers or names.

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
    def parametric(self) -> bool:
        """Whether sizes are arguments."""
        return self.tiling.variant == "param"

    @property
    def height(self) -> Expr:
        """Rows of the hexagon."""
        return Var("height") if self.parametric else Int(self.cut.hexagon.height)

    @property
    def base(self) -> Expr:
        """Cells of its first row."""
        return Var("base") if self.parametric else Int(self.cut.hexagon.base)

    @property
    def slope(self) -> int:
        """Cells by which it grows per row."""
        return hexagon_of(self.cut).slope

    def size(self, axis: int) -> Expr:
        """Size of a classic tile."""
        return Var(f"size{axis}") if self.parametric else Int(self.cut.skews[axis - 1].size)

    def lean(self, axis: int) -> int:
        """Cells by which a classic tile moves per row."""
        return self.cut.skews[axis - 1].slope

    @property
    def ring(self) -> bool:
        """Whether the innermost axis on chip is a ring."""
        return self.rank > 1 and self.tiling.reuse != "move"

    def grown(self, row: Expr) -> Expr:
        """Cells by which a row extends the first one on either side."""
        if not self.parametric:
            return face_grown(self.cut.hexagon, row)
        return mul(smallest(row, sub(sub(self.height, 1), row)), self.slope)

    # Places on chip.

    def _column(self, place: Expr) -> Expr:
        """Where a cell of the innermost axis lies in a row on chip; ``place`` counts from the box's start."""
        if not self.ring:
            return place
        moved = add(place, Var("ring"))
        length = self.chip.extent(self.rank - 1)
        return select(Op("ge", (moved, length)), sub(moved, length), moved)

    def _index(self, field: ChipField, x: Expr, inner: tuple[Expr, ...]) -> Expr:
        """Index in a slot on chip of a cell: ``x`` relative to the tile, inner places counted from the box's start."""
        result: Expr = sub(x, field.low) if not isinstance(field.low, Int) else add(x, -field.low.value)
        for axis, place in enumerate(inner, 1):
            result = add(mul(result, self.chip.extent(axis)), place)
        return result

    def _slot_at(self, field: ChipField, slot: Expr) -> Expr:
        """Pointer to the first value of a slot on chip."""
        result = add(Var("chip"), field.start)
        if len(field.slots) == 1:
            return result
        plane: Expr = sub(field.high, field.low)
        for axis in range(1, self.rank):
            plane = mul(plane, self.chip.extent(axis))
        return add(result, mul(plane, slot))

    def _slots(self, statement: Statement) -> tuple[Stmt, ...]:
        """Point at the slots that a statement reads and writes in a row."""
        used = dict.fromkeys([*((read.field, read.level) for read in statement.reads), (statement.field, 1)])
        return tuple(
            Let(self._slot_name(name, level), self._slot_at(self._field(name), self._slot(name, Var("step"), level)))
            for name, level in used
        )

    def _slot_name(self, field: str, level: int) -> Var:
        suffix = {1: "_new", 0: "", -1: "_prev", -2: "_prev2"}[level]
        return Var(f"u{self.site.number(field)}{suffix}", f"chip:{self.site.dtype}")

    def _field(self, name: str) -> ChipField:
        return self.chip.fields[self.site.number(name)]

    def _slot(self, field: str, step: Expr, level: int) -> Expr:
        copies = self.site.copies(field)
        return Int(0) if copies == 1 else Op("mod", (add(step, level % copies), Int(copies)))

    def _memory_slot(self, field: str, slot: Expr) -> Expr:
        copies = self.site.copies(field)
        if copies == 1:
            return slot
        return Op("mod", (add(Var(f"turn{copies}"), slot), Int(copies)))

    def _strided(self, var: Var, span: tuple[Expr, Expr], axis: int, body: tuple[Stmt, ...], unroll: int = 0) -> For:
        """A loop of one thread over its share of a range along an axis."""
        count = self.shape[axis]
        low = add(Var(f"i{axis}"), span[0]) if count > 1 else span[0]
        return For(var=var, low=low, high=span[1], step=Int(count), body=body, unroll=unroll)

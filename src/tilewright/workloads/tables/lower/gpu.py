"""GPU kernels of recurrences: orthogonal tiles in wavefronts, a group per tile and a thread per sub-tile.

A launch computes the tiles of one anti-diagonal. In a tile, thread p owns the ``sub`` columns of its sub-tile and
computes row r in turn r + p, so that a tile takes t + s / sub - 1 turns, as the time model counts them. The rows above
that reads need stay in the thread's registers; the last columns of a row are handed to the next thread on chip, two
sets in turn, so that one barrier per turn is enough. Small matrices are copied to the chip.

Between tiles, edges lie in memory: for every table three sets of the rows above (tile (a, b) reads set a mod 3 and
writes the next one, while tile (a + 1, b - 1) reads that and writes the third) and two of the columns on the left.
Memory is linear in the extents unless the tables are wanted.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tilewright.base.constants import MAX_BLOCK_THREADS, STATIC_SHARED
from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.expression import scalar_name
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.stencil.expression import Read
from tilewright.workloads.tables.lower.cells import TypedRecurrence, joined
from tilewright.workloads.tables.orthogonal import passed_bytes
from tilewright.workloads.tables.problem import Recurrence
from tilewright.workloads.tables.schedule import TableShape

ABOVE, BESIDE = 3, 2  # sets of edges that are kept
_VERSION = 2  # raised when texts change for the same recurrence


def emit_gpu_table(
    program: Recurrence, dtype: str, floating: tuple[str, ...], shape: TableShape, dialect: str
) -> KernelSource[None]:
    """Write the kernel of a recurrence; extents, rows of a tile, scalars and matrices are its parameters.

    Its arguments are, for every table, the rows above (3 x ``up`` x ``left + n``), the columns on the left
    (2 x ``m`` x ``left``) and the table (``m`` x ``n``, or anything unless it is wanted); then the inputs in order, the
    last cell of the first table, what its cells join to (one value per row of tiles and thread) and the scalars, all
    of them pointers; then m, n, t, the number of the wavefront, its first row of tiles, whether tables are wanted and
    whether cells are joined; then rows and columns of every matrix; and memory on chip for all matrices, if any.
    Inputs that are not ``floating``, of the tables' type, are whole numbers of 32 bits.
    """
    typed = TypedRecurrence(program, dtype, floating)
    passed = passed_bytes(program, shape.threads, typed.real.bytes)
    _check(program, shape, passed)
    entry = typed.entry("gpu table", shape, dialect, _VERSION)
    kernel = _Kernel(typed, shape).function(entry)
    return KernelSource(
        text=print_gpu((kernel,), dialect, strict=True),
        dialect=dialect,
        kernels=(EntryPoint(entry=entry, threads=shape.threads, shared_bytes=passed),),
        layout=None,
        strict=True,
        double=dtype == "float64",
    )


def _check(program: Recurrence, shape: TableShape, passed: int) -> None:
    left = program.reach[1]
    if not program.tiled:
        raise UsageError(f"{program.name!r} has no kernel of orthogonal tiles: a read goes up and to the right")
    if shape.sub < left:
        raise UsageError(
            f"a thread's sub-tile of {shape.sub} columns is smaller than the {left} that {program.name!r} reaches back",
            f"make sub at least {left}",
        )
    if shape.threads > MAX_BLOCK_THREADS or passed > STATIC_SHARED:
        raise UsageError(
            f"a tile of {shape.threads} sub-tiles is more than one group of threads can run", "make s / sub smaller"
        )


@dataclass(slots=True)
class _Own:
    """What a thread keeps of a table: rows above and the row it computes, and where they come from and go to."""

    above: ir.Expr  # the rows above tiles, in memory
    beside: ir.Expr  # the columns on the left of tiles, in memory
    whole: ir.Expr  # the table
    row: ir.Expr  # ``up + 1`` rows of ``left + sub`` cells of the thread's own: row 0 is the one that it computes


class _Kernel:
    """Makes one kernel."""

    def __init__(self, typed: TypedRecurrence, shape: TableShape) -> None:
        self.typed, self.program, self.real, self.shape = typed, typed.program, typed.real, shape
        self.up, self.left = self.program.reach
        self.chip = self.typed.inputs("matrix") if shape.chip else []  # matrices that are copied to the chip

    def function(self, entry: str) -> ir.Function:
        b = self.b = ir.Builder(entry, kind="kernel", threads=self.shape.threads)
        real = ir.pointer(self.real)
        tables = {
            name: [b.param(f"{role}_{name}", real) for role in ("above", "beside", "whole")]
            for name in self.program.tables
        }
        self.inputs = {
            each.name: b.param(f"in_{each.name}", ir.const_pointer(self.typed.kind(each.name)))
            for each in self.program.inputs
        }
        self.last, self.folded = b.param("last", real), b.param("folded", real)
        scalars = b.param("scalars", ir.const_pointer(self.real))
        names = ("m", "n", "t", "wave", "first", "wanted", "joined")
        self.m, self.n, self.t, wave, first, self.wanted, self.joins = (b.param(each, ir.INDEX) for each in names)
        matrices = self.typed.inputs("matrix")
        self.sizes = {name: (b.param(f"tall_{name}", ir.INDEX), b.param(f"wide_{name}", ir.INDEX)) for name in matrices}
        room = b.param("room", ir.shared_pointer(self.real)) if self.chip else None
        length = 2 * self.shape.threads * len(tables) * max(1, self.left)
        self.passed = b.array("passed", ir.shared_pointer(self.real), length)
        self.a, self.p = b.let("a", first + ir.GROUP), b.let("p", ir.THREAD)
        self.column = b.let("b", wave - self.a)
        self.tall, self.i0 = b.let("tall", (self.m + self.t - 1) / self.t), b.let("i0", self.a * self.t)
        self.rows = b.let("rows", ir.smallest(self.t, self.m - self.i0))
        self.j0 = b.let("j0", (self.column * self.shape.threads + self.p) * self.shape.sub)
        self.own = b.let("own", ir.smallest(self.n - self.j0, self.shape.sub))
        for number, name in enumerate(self.program.scalars):
            b.let(scalar_name(name), scalars[number])
        self.matrices = self.staged(room) if room is not None else {name: self.inputs[name] for name in matrices}
        self.columns = {name: self.held(name) for name in self.typed.inputs("column")}
        self.tables = {name: self.rows_above(name, parts) for name, parts in tables.items()}
        self.corners()
        total = b.mutable("sum", self.folded[self.a * self.shape.threads + self.p])
        b.barrier()
        with b.loop("d", 0, self.rows + self.shape.threads - 1) as d:
            r = b.let("r", d - self.p)
            with b.when((r >= 0) & (r < self.rows)):
                self.turn(d, b.let("i", self.i0 + r), total)
            b.barrier()
        with b.when(self.a + 1 < self.tall):
            for own in self.tables.values():
                with self.each("u", 1, self.up + 1) as u, self.each("c", 0, self.shape.sub) as c, b.when(c < self.own):
                    b.set(
                        own.above[self.line(self.a + 1, u) + self.left + self.j0 + c], self.cell(own, u, c + self.left)
                    )
        b.set(self.folded[self.a * self.shape.threads + self.p], total)
        return b.function()

    def each(self, name: str, low: int, high: int) -> AbstractContextManager[ir.Expr]:
        """A loop that the compiler unrolls whole, so that what it indexes lies in registers."""
        return self.b.loop(name, low, high, unroll=ir.UNROLL_WHOLE)

    def line(self, a: ir.Expr, u: ir.Expr) -> ir.Expr:
        """Where row ``u`` above a row of tiles lies, in the set of the rows above that these tiles read."""
        row = a % ABOVE * self.up + self.up - u
        return ir.wide(row) * (self.n + self.left)

    def edge(self, column: ir.Expr, i: ir.Expr) -> ir.Expr:
        """Where the columns on the left of a tile lie, in a row."""
        part = ir.wide(column % BESIDE)
        return (part * self.m + i) * self.left

    def place(self, d: ir.Expr, p: ir.Expr, number: int) -> ir.Expr:
        """Where a thread puts what the next one reads in the next turn."""
        turn = d % 2 * self.shape.threads + p
        return (turn * len(self.program.tables) + number) * max(1, self.left)

    def cell(self, own: _Own, u: ir.Operand, c: ir.Expr) -> ir.Expr:
        return own.row[c + u * (self.left + self.shape.sub)]

    def inside(self, c: ir.Expr) -> ir.Expr:
        """A column of the thread's, or the table's last one."""
        return ir.smallest(self.j0 + c, self.n - 1)

    def staged(self, room: ir.Expr) -> dict[str, ir.Expr]:
        b, arrays, place = self.b, {}, room
        for name in self.chip:
            tall, wide = self.sizes[name]
            arrays[name] = b.let(f"chip_{name}", place)
            place = arrays[name] + tall * wide
            with b.loop("z", self.p, tall * wide, self.shape.threads) as z:
                b.set(arrays[name][z], self.inputs[name][z])
        return arrays

    def held(self, name: str) -> ir.Expr:
        """What a thread's columns take from an input."""
        own = self.b.array(f"x_{name}", ir.private_pointer(self.typed.kind(name)), self.shape.sub)
        with self.each("c", 0, self.shape.sub) as c:
            self.b.set(own[c], self.inputs[name][self.inside(c)])
        return own

    def rows_above(self, name: str, parts: list[ir.Expr]) -> _Own:
        """Begin with the rows above the tile."""
        b, wide = self.b, self.left + self.shape.sub
        row = b.array(f"w_{name}", ir.private_pointer(self.real), (self.up + 1) * wide)
        above, beside, whole = parts
        own = _Own(above, beside, whole, row)
        with self.each("u", 1, self.up + 1) as u, self.each("c", 0, wide) as c:
            at = self.line(self.a, u) + ir.smallest(self.j0 + c, self.n + self.left - 1)
            b.set(row[u * wide + c], own.above[at])
        return own

    def corners(self) -> None:
        """Hand the left ends of the last rows of a tile on to the tiles below."""
        b = self.b
        with (
            b.when(self.column.equals(0) & self.p.equals(0) & (self.a + 1 < self.tall)),
            b.loop("u", 1, self.up + 1) as u,
            b.loop("q", 0, self.left) as q,
        ):
            z = b.let("z", ir.wide(self.i0 + self.t - u) * self.left + q)
            for own in self.tables.values():
                b.set(own.above[self.line(self.a + 1, u) + q], own.beside[z])

    def turn(self, d: ir.Expr, i: ir.Expr, total: ir.Expr) -> None:
        b, program, left, sub = self.b, self.program, self.left, self.shape.sub
        rows = {name: b.let(f"y_{name}", self.inputs[name][i]) for name in self.typed.inputs("row")}
        for number, own in enumerate(self.tables.values()):
            with self.each("q", 0, left) as q:
                with b.when(self.p.differs(0)):
                    b.set(own.row[q], self.passed[self.place(d + 1, self.p - 1, number) + q])
                with b.otherwise():
                    b.set(own.row[q], own.beside[self.edge(self.column, i) + q])
        cells = self.typed.inputs("cell")
        with self.each("c", 0, sub) as c:

            def read(node: Read) -> ir.Expr:
                if node.field in self.tables:
                    return self.cell(self.tables[node.field], -node.offset[0], c + (left + node.offset[1]))
                if node.field in cells:
                    return self.inputs[node.field][ir.wide(i) * self.n + self.inside(c)]
                return rows[node.field] if node.field in rows else self.columns[node.field][c]

            def lookup(name: str, row: ir.Expr, column: ir.Expr) -> ir.Expr:
                return self.matrices[name][row * self.sizes[name][1] + column]

            values = dict(self.stored(self.typed.cells(b, read, lookup, wrapping=True), c))
            first = values[program.tables[0]]
            with b.when(self.wanted.differs(0) & (c < self.own)):
                at = b.let("at", ir.wide(i) * self.n + self.j0 + c)
                for name, value in values.items():
                    b.set(self.tables[name].whole[at], value)
            with b.when(self.joins.differs(0) & (c < self.own)):
                b.set(total, joined(program, total, first))
            with b.when(i.equals(self.m - 1) & (self.j0 + c).equals(self.n - 1)):
                b.set(self.last[0], first)
        self.hands_on(d, i)

    def stored(self, cells: Iterator[tuple[str, ir.Expr]], c: ir.Expr) -> Iterator[tuple[str, ir.Expr]]:
        """Put every table's cell where the thread's next ones find it."""
        for name, value in cells:
            self.b.set(self.tables[name].row[c + self.left], value)
            yield name, value

    def hands_on(self, d: ir.Expr, i: ir.Expr) -> None:
        """What goes to the right and, a row further, up."""
        b, left, sub = self.b, self.left, self.shape.sub
        for number, own in enumerate(self.tables.values()):
            with self.each("q", 0, left) as q:
                with b.when(self.p.equals(self.shape.threads - 1)):
                    b.set(own.beside[self.edge(self.column + 1, i) + q], own.row[q + sub])
                with b.otherwise():
                    b.set(self.passed[self.place(d, self.p, number) + q], own.row[q + sub])
            for u in range(self.up, 0, -1):
                with self.each("c", 0, left + sub) as c:
                    b.set(own.row[c + u * (left + sub)], own.row[c + (u - 1) * (left + sub)])

"""Results computed together, in registers: every distinct vector is loaded once for all that read it.

Before, row after row:                      After, a block of rows, operation by operation:
    y0 = f(load(r0), load(r1), load(r2))        l0 = load(r0); l1 = load(r1); l2 = load(r2); l3 = load(r3)
    y1 = f(load(r1), load(r2), load(r3))        y0 = f(l0, l1, l2); y1 = f(l1, l2, l3)

Register tiling, or unroll and jam (Callahan, Carr and Kennedy, PLDI 1990); Halide: ``tile`` and ``unroll`` of the outer
loop; AN5D and PPCG: register blocking, unrolling. Written row after row, the vectors that rows share wait for a whole
expression, and gcc loads them again instead unless they are held: a sum of 27 reads in two rows took 48 loads where 36
are distinct.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tilewright.codegen import ir
from tilewright.codegen.expression import Leaves, lower_tape
from tilewright.programs.stencil.expression import Placed, Read, Tape
from tilewright.schedules.code import Place

Results = Mapping[Place, ir.Expr]  # a value for every place of a block


class Reads(Protocol):
    """Where the vectors of a block come from."""

    @property
    def dtype(self) -> ir.Element:
        """Element type."""

    def key(self, read: Read, at: Place) -> tuple[Any, ...]:
        """What reads of one vector have in common; keys sort in the order of memory."""

    def vector(self, read: Read, at: Place) -> ir.Expr:
        """The vector of a read at a place of the block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandTable:
    """Where sums in loops take their weights and their vectors from."""

    start: ir.Expr  # the table
    # the load of a read at a place of the block, from an index along the row that its offset is part of
    load: Callable[[Read, Place, ir.Expr], ir.Load]
    factors: list[float] = field(default_factory=list)  # the weights; sums add theirs


class Names:
    """Statements that name vectors; they go to the end of ``body``."""

    def __init__(self, dtype: ir.Element, prefix: str, body: list[ir.Stmt]) -> None:
        self.dtype, self.kind, self.prefix, self.body = dtype, ir.vector(dtype), prefix, body
        self.count = 0

    def let(self, value: ir.Expr) -> ir.Var:
        """Name a vector."""
        self.count += 1
        var = ir.Var(f"{self.prefix}{self.count}", ir.type_of(value))
        self.body.append(ir.Let(var, value))
        return var


def _at(placed: Callable[[Placed, Place], ir.Expr], at: Place, node: Placed) -> ir.Expr:
    return placed(node, at)


class RegisterBlock:
    """The statements of a block, as they are written."""

    def __init__(  # noqa: PLR0913
        self,
        reads: Reads,
        places: Sequence[Place],  # the results
        *,
        letter: str = "r",  # start of the names of loaded vectors
        axis: int = 0,  # along which the first index of a place counts
        held: bool = False,  # whether an empty instruction keeps vectors that are loaded out of turn in registers
        table: OperandTable | None = None,  # of sums in loops, if there may be any
        # what depends on the cell's place alone: a vector, or a number for all of one
        placed: Callable[[Placed, Place], ir.Expr] | None = None,
    ) -> None:
        self.dtype, self.kind, self.places = reads.dtype, ir.vector(reads.dtype), tuple(places)
        self.reads, self.letter, self.axis, self.held, self.table = reads, letter, axis, held, table
        self.placed = placed
        self.body: list[ir.Stmt] = []
        self.loaded: dict[tuple[Any, ...], ir.Var] = {}
        self.keys: dict[ir.Var, tuple[Any, ...]] = {}
        self.pending: dict[ir.Var, ir.Let] = {}
        self.readers: dict[ir.Var, set[Place]] = {}

    def load(self, read: Read, at: Place) -> ir.Var:
        """Name a vector; it is loaded where it is first used."""
        key = self.reads.key(read, at)
        var = self.loaded.get(key)
        if var is None:
            var = ir.Var(f"{self.letter}{len(self.loaded)}", self.kind)
            self.loaded[key], self.keys[var], self.readers[var] = var, key, set()
            self.pending[var] = ir.Let(var, self.reads.vector(read, at))
        self.readers[var].add(at)
        return var

    def fetch(self, read: Read, at: Place) -> ir.Var:
        """Load a vector now, unless it is at hand."""
        var = self.load(read, at)
        load = self.pending.pop(var, None)
        if load is not None:
            self.body.append(ir.Let(var, ir.hold(load.value)) if self.held else load)
        return var

    def need(self, var: ir.Expr) -> None:
        """Write the load of a vector that waits for its first use."""
        load = self.pending.pop(var, None) if isinstance(var, ir.Var) else None
        if load is not None:
            self.body.append(load)

    def values(
        self, tape: Tape, names: Callable[[Place], str], known: Mapping[str, Results], *, in_turn: bool = True
    ) -> dict[Place, ir.Expr]:
        """Write an expression for every place, one after the other or their operations in turn."""
        # known, by field: what reads stand for that are no vectors of memory, such as sums
        if len(tape) == 1 and isinstance(tape[0], Read) and tape[0].field in known:
            return {at: known[tape[0].field][at] for at in self.places}
        rows: dict[Place, tuple[tuple[ir.Stmt, ...], ir.Expr]] = {}
        for at in self.places:

            def read(node: Read, at: Place = at) -> ir.Expr:
                return known[node.field][at] if node.field in known else self.load(node, at)

            placed = None if self.placed is None else functools.partial(_at, self.placed, at)
            leaves = Leaves(dtype=self.dtype, read=read, vector=True, placed=placed)
            rows[at] = lower_tape(tape, leaves, prefix=names(at))
        written = [lets for lets, _ in rows.values()]
        for statement in itertools.chain.from_iterable(zip(*written, strict=True) if in_turn else written):
            if isinstance(statement, ir.Let):
                self.need(statement.value)
            self.body.append(statement)
        return {at: value for at, (_, value) in rows.items()}

    def finish(self) -> tuple[ir.Stmt, ...]:
        """Return the statements, with loads that no operation uses: values that are only handed on."""
        return (*self.body, *self.pending.values())

    def kept(self) -> tuple[ir.Stmt, ...]:
        """Return the statements; what several places read is kept in a register, gcc rather loads it for every use."""
        shared = {var for var, readers in self.readers.items() if len(readers) > 1}
        return tuple(
            ir.Let(each.var, ir.hold(each.value)) if isinstance(each, ir.Let) and each.var in shared else each
            for each in self.body
        )

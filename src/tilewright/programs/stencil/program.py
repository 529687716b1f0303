"""The stencil program: fields, scalars and ordered statements. It has no shape and no boundary."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from tilewright.base.errors import TraceError, UsageError
from tilewright.base.facts import Facts, fact
from tilewright.programs.stencil import expression
from tilewright.programs.stencil.analysis import Analysis, analyse
from tilewright.programs.stencil.expression import Apply, Node, Operand, Placed, Read, Scalar, Tape, Value, truths
from tilewright.programs.stencil.operators import BITWISE
from tilewright.programs.stencil.storage import Subdomain

MAX_RANK = 4
MAX_REACH = 64
STEP = "tw_t"
"""The scalar that is the step's number, :data:`tilewright.t`: every run gives it the numbers 0, 1, 2 and so on."""
INNER = "tw_inner"
"""Start of the names of fields that hold values of a step's own expressions: no run is given them or returns them."""

LEVELS = "there are u.prev and u.prev2, the steps before, and u.new, the values of this step"


@dataclass(frozen=True, kw_only=True)
class Statement(Facts):
    """One assignment: ``field`` at the next time level becomes ``tape``'s value, at every cell."""

    field: str
    tape: Tape

    @functools.cached_property
    def reads(self) -> tuple[Read, ...]:
        """The distinct reads, in order."""
        return expression.reads(self.tape)


@dataclass(frozen=True, kw_only=True)
class Program(Facts):
    """An iterated stencil.

    Attributes:
        name: Its name, a Python identifier possibly with dashes.
        rank: Number of spatial dimensions, 1 to 4.
        fields: Every field, the updated ones among them, in argument order.
        scalars: Names of the run-time scalars.
        statements: The assignments of one step, one per updated field, in the order of the fields.
        summary: One line on what it computes.
        defaults: Values of scalars where a run gives none, by name. They are no part of what is computed: programs
            that differ in them alone are equal.
        subdomains: Updated fields that are 0 but at the ends of an axis, as their statements say: a run takes and keeps
            their cells there alone. Neither are these part of what is computed.
        once: Fields that no run is given but computes of its coefficients before the first step, and of what, at the
            cell itself (:mod:`tilewright.programs.stencil.forms`); no part of what a step computes either.
    """

    name: str
    rank: int
    fields: tuple[str, ...]
    scalars: tuple[str, ...] = ()
    statements: tuple[Statement, ...]
    summary: str = ""
    defaults: tuple[tuple[str, complex], ...] = field(default=(), compare=False)
    subdomains: tuple[tuple[str, Subdomain], ...] = field(default=(), compare=False)
    once: tuple[tuple[str, Tape], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check the names that become those of variables in generated code.

        Raises:
            TraceError: If one is no name of a variable.
        """
        for name in (*self.fields, *self.scalars):
            if not name.isidentifier():
                raise TraceError(f"a field or a scalar has a name as variables have, got {name!r:.60}")

    def __hash__(self) -> int:
        """Hash what tells most programs apart: the hash of every operation would be a tenth of a small run."""
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.name, self.fields, self.scalars, tuple(len(each.tape) for each in self.statements)))

    @functools.cached_property
    def updated(self) -> tuple[str, ...]:
        """Names of the fields that a step computes, in field order."""
        written = {statement.field for statement in self.statements}
        return tuple(name for name in self.fields if name in written)

    @functools.cached_property
    def inner(self) -> tuple[str, ...]:
        """Fields of its own expressions, behind all others (:mod:`tilewright.programs.stencil.forms`)."""
        return tuple(name for name in self.fields if name.startswith(INNER))

    @functools.cached_property
    def before(self) -> "Program":
        """What computes the fields of :attr:`once`."""
        return replace(self, statements=tuple(Statement(field=name, tape=tape) for name, tape in self.once), once=())

    @functools.cached_property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """Per axis, how far reads extend below and above the cell, as non-negative numbers."""
        offsets = [read.offset for statement in self.statements for read in statement.reads]
        return tuple(
            (max([0, *(-offset[axis] for offset in offsets)]), max([0, *(offset[axis] for offset in offsets)]))
            for axis in range(self.rank)
        )

    @functools.cached_property
    def flops(self) -> int:
        """Floating-point operations per cell and step."""
        return sum(expression.flops(statement.tape) for statement in self.statements)

    @functools.cached_property
    def complex_constant(self) -> complex | None:
        """A constant that is a complex number, so that every field is complex; None where there is none."""
        return expression.complex_constant(*(statement.tape for statement in self.statements))

    @functools.cached_property
    def placed(self) -> tuple[Placed, ...]:
        """What its statements compute with that depends on the cell's place alone."""
        return expression.placed(*(statement.tape for statement in self.statements))

    @functools.cached_property
    def profiles(self) -> Mapping[str, int]:
        """Names of the numbers that are given for every cell along an axis, and the axis of each."""
        return {node.name: node.axis for node in self.placed if isinstance(node, expression.Profile)}

    @functools.cached_property
    def loads(self) -> int:
        """Distinct values read per cell and step, summed over the statements."""
        return sum(len(statement.reads) for statement in self.statements)

    def history(self, field: str) -> int:
        """Number of past time levels of ``field`` that must be given to start: 1, 2 or 3."""
        return self.histories[field]

    @functools.cached_property
    def histories(self) -> Mapping[str, int]:
        """The same of every field."""
        levels = dict.fromkeys(self.fields, 0)
        for read in (read for statement in self.statements for read in statement.reads):
            if read.field in levels:  # a scalar may yet be given as a field of its own
                levels[read.field] = min(levels[read.field], read.level)
        return {name: 1 - level for name, level in levels.items()}

    @functools.cached_property
    def analysis(self) -> Analysis:
        """Its order and its dependences; a TraceError where it has no order."""
        return analyse(self.name, {each.field: each.reads for each in self.statements}, self.histories)

    @property
    def stages(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the statements of each stage of a step."""
        return self.analysis.stages


def stencil(
    name: str,
    rank: int,
    values: Mapping[str, Operand],
    *,
    fields: tuple[str, ...] = (),
    summary: str = "",
    subdomains: Mapping[str, Subdomain] | None = None,
) -> Program:
    """Make a program from one expression per updated field.

    Args:
        name: The program's name.
        rank: Number of spatial dimensions.
        values: The new value of each updated field.
        fields: Further fields in argument order; fields that are read but not named follow in order of reading.
        summary: One line on what it computes.
        subdomains: Where updated fields live that are 0 elsewhere.

    Returns:
        The checked program.

    Raises:
        TraceError: If it has no statement, reads nothing that it can read, or reaches too far.
    """
    parts = subdomains or {}
    held = {
        field: parts[field].held(expression.as_value(value)) if field in parts else expression.as_value(value)
        for field, value in values.items()
    }
    statements = tuple(
        Statement(field=field, tape=_of_rank(expression.flatten(value), name, rank)) for field, value in held.items()
    )
    every_read = [read for statement in statements for read in statement.reads]
    names = dict.fromkeys((*fields, *values, *(read.field for read in every_read)))
    scalars = dict.fromkeys(
        node.name for statement in statements for node in statement.tape if isinstance(node, Scalar)
    )
    program = Program(
        name=name,
        rank=rank,
        fields=tuple(names),
        scalars=tuple(scalars),
        statements=statements,
        summary=summary,
        subdomains=tuple(parts.items()),
    )
    _check(program, every_read)
    return program


def refuse_places(tape: Tape, what: str) -> None:
    """Raise a TraceError if an expression computes with the cell's place or the step's number, which only runs have."""
    if expression.placed(tape) or Scalar(STEP) in tape:
        raise TraceError(f"{what} computes with tw.index, tw.inside or tw.t, which only iterated stencils have")


def refuse_bits(tape: Tape, what: str, dtype: str) -> None:
    """Refuse bitwise operators on numbers of a type that has no bits to speak of."""
    if not any(isinstance(node, Apply) and node.op in BITWISE for node in tape):
        return
    are_truths = truths(tape)
    for place, node in enumerate(tape):
        if isinstance(node, Apply) and node.op in BITWISE and not are_truths[place]:
            raise UsageError(
                f"{what} applies {BITWISE[node.op]}, which works on the bits of whole numbers, to {dtype} values",
                expression.COMPARE_FIRST,
            )


def _of_rank(tape: Tape, name: str, rank: int) -> Tape:
    """Count the axes of what depends on the cell's place from the first one."""

    def known(node: Node) -> Node:
        if not isinstance(node, Placed):
            return node
        if not -rank <= node.axis < rank:
            raise TraceError(f"stencil {name!r} has {rank} dimension{'s' * (rank > 1)} and no axis {node.axis}")
        return replace(node, axis=node.axis % rank)

    return tuple(known(node) for node in tape)


def _check(program: Program, every_read: list[Read]) -> None:
    if not program.statements:
        raise TraceError(f"stencil {program.name!r} updates no field", "return the new value of its first field")
    if not 1 <= program.rank <= MAX_RANK:
        raise TraceError(f"a stencil has 1 to {MAX_RANK} dimensions, {program.name!r} has {program.rank}")
    for read in every_read:
        if len(read.offset) != program.rank:
            raise TraceError(
                f"stencil {program.name!r} is {program.rank}D but reads {read.field}{list(read.offset)}",
                "give every field one index per dimension",
            )
        if max(abs(distance) for distance in read.offset) > MAX_REACH:
            raise TraceError(f"a stencil may reach {MAX_REACH} cells far, got {read.field}{list(read.offset)}")
        if read.level != 0 and read.field not in program.updated:
            raise TraceError(
                f"{read.field!r} is not updated by {program.name!r}, so it has no other time level",
                f"read {read.field}{list(read.offset)} instead",
            )
    if set(program.scalars) & set(program.fields):
        clash = min(set(program.scalars) & set(program.fields))
        raise TraceError(
            f"{clash!r} is used both with and without an index",
            f"index it everywhere: {clash}[{', '.join('0' * program.rank)}]",
        )


@fact
def with_coefficients(program: Program, names: tuple[str, ...]) -> Program:
    """Turn scalars into coefficient arrays that are read at the centre.

    Before: ``alpha`` is one number. After: ``alpha`` is a field that no statement updates, read at offset zero.
    """
    if not names:
        return program
    for name in names:
        if name not in program.scalars:
            raise UsageError(f"{program.name!r} has no scalar {name!r}", f"its scalars are {list(program.scalars)}")
    centre = (0,) * program.rank

    def swap(tape: Tape) -> Tape:
        return tuple(
            Read(node.name, 0, centre) if isinstance(node, Scalar) and node.name in names else node for node in tape
        )

    return replace(
        program,
        fields=(*program.fields, *(name for name in program.scalars if name in names)),
        scalars=tuple(name for name in program.scalars if name not in names),
        defaults=tuple((name, value) for name, value in program.defaults if name not in names),
        statements=tuple(replace(statement, tape=swap(statement.tape)) for statement in program.statements),
    )


@fact
def with_truths(program: Program, fields: frozenset[str]) -> Program:
    """Make bitwise operators on fields of truth values, which are computed as whole numbers, logical ones.

    An updated field counts as long as its new values are truth values.
    """
    logical, dropped = set(fields), {""}
    while dropped:
        dropped = {
            each.field for each in program.statements if each.field in logical and not truths(each.tape, logical)[-1]
        }
        logical -= dropped
    for statement in program.statements:
        pairs = zip(statement.tape, truths(statement.tape, fields), truths(statement.tape, logical), strict=True)
        if any(isinstance(node, Apply) and node.op == "invert" and first and not later for node, first, later in pairs):
            raise UsageError(
                f"{program.name!r} applies ~ to truth values, which its steps make whole numbers",
                "compare first: ~(u[0, 0] != 0), or convert them with .astype('int32')",
            )
    return replace(
        program,
        statements=tuple(replace(each, tape=expression.of_truths(each.tape, logical)) for each in program.statements),
    )


def _index_text(index: object) -> str:
    if isinstance(index, slice):
        parts = (index.start, index.stop) if index.step is None else (index.start, index.stop, index.step)
        return ":".join("" if part is None else repr(part) for part in parts)
    return "a value" if isinstance(index, Value | FieldBuilder) else repr(index)


class StencilGrid:
    """What is known of the grid while a stencil's body is built: the number of its axes, from the first index."""

    __slots__ = ("asked", "rank")

    def __init__(self, rank: int | None = None) -> None:
        self.rank = rank
        self.asked = False

    def ask(self) -> int | None:
        """Return the number of axes, or None; :attr:`asked` then says that it was wanted too early."""
        self.asked = self.asked or self.rank is None
        return self.rank


class FieldBuilder:
    """Reads of one named field: ``u[-1, 0]``, ``u.prev[0, 0]``, ``u.prev2[0, 0]``, ``u.new[0, 0]``."""

    __slots__ = ("grid", "level", "name")

    def __init__(self, name: str, level: int = 0, grid: StencilGrid | None = None) -> None:
        self.name = name
        self.level = level
        self.grid = grid

    def __getitem__(self, offset: int | tuple[int, ...]) -> Value:
        offsets = offset if isinstance(offset, tuple) else (offset,)
        for item in offsets:
            if isinstance(item, bool) or not hasattr(item, "__index__"):
                raise TraceError(
                    f"an index of a field is whole numbers, got {self.name}[{', '.join(map(_index_text, offsets))}]",
                    "offsets are relative to the cell, the same for all: u[-1, 0] is the neighbour above",
                )
        if self.grid is not None and self.grid.rank is None:
            self.grid.rank = len(offsets)
        return Value(Read(self.name, self.level, tuple(int(item) for item in offsets)))

    def __setitem__(self, offset: object, value: object) -> None:
        raise TraceError(
            f"nothing is assigned to {self.name!r}", "return the new value: the function computes one cell"
        )

    def __iter__(self) -> NoReturn:
        # Without it Python would ask for u[0], u[1] and so on, without end.
        raise TraceError(f"{self.name!r} is read at offsets and cannot be looped over", "write u[-1, 0] + u[1, 0]")

    def as_value(self) -> Value:
        """Refuse to be a number: another time level is read at an offset as well."""
        raise TraceError(f"another time level of {self.name!r} is used without an index", "write u.prev[0, 0]")

    @property
    def prev(self) -> "FieldBuilder":
        """The previous time level."""
        return self._at("prev", -1)

    @property
    def prev2(self) -> "FieldBuilder":
        """The time level before the previous one."""
        return self._at("prev2", -2)

    @property
    def new(self) -> "FieldBuilder":
        """The values computed in this step."""
        return self._at("new", 1)

    def _at(self, name: str, level: int) -> "FieldBuilder":
        if self.level:
            raise TraceError(
                f"a time level of {self.name!r} has no levels of its own, "
                f"got {self.name}.{expression.LEVEL_NAMES[self.level]}.{name}",
                LEVELS,
            )
        return FieldBuilder(self.name, level, self.grid)

"""The body of the inner loop of a streaming kernel: several rows blocked in registers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.codegen.expression import Leaves, fuse_roots, lower_tape
from tilewright.codegen.ir import Expr, Let, Load, Stmt, Store, Var, add, mul, sub
from tilewright.codegen.pipeline import PITCH, Plan, Slabs, slab_at, slabs
from tilewright.codegen.regroup import regroup
from tilewright.codegen.row_columns import Columns
from tilewright.codegen.row_linear import Sums, add_up
from tilewright.codegen.row_pairs import Pairs
from tilewright.programs.expression import Read
from tilewright.programs.weights import SUM, Apart, Column, Terms, apart, columns

INDEX = Var("i")
_CARRIED = 16
"""Vectors that may stay in registers from one iteration to the next; compilers keep them if nothing can change them."""

Place = tuple[int, int]
"""A row of a block: along axis 0, and along the middle axis in 3D."""
Slab = Callable[[int, int, int], Expr]
"""Where the slab of a version (field, level) at a position along axis 0 starts."""


def stage_outputs(plan: Plan, stage: int) -> tuple[int, ...]:
    """Fields that a stage produces: updated ones, and in stage 0 those that are only handed on."""
    return tuple(field for field in range(len(plan.fields)) if plan.pipeline.stage_of[field] == stage)


def stage_sources(plan: Plan, stage: int) -> tuple[tuple[int, int], ...]:
    """Versions (field, level) that a stage reads; its own fields' newest ones among them."""
    keys = dict.fromkeys((field, 0) for field in stage_outputs(plan, stage))
    for number in plan.pipeline.stages[stage]:
        for read in plan.site.problem.program.statements[number].reads:
            keys[plan.fields.index(read.field), read.level] = None
    return tuple(sorted(keys))


def source(plan: Plan, key: tuple[int, int]) -> Slabs:
    """Names of a version that a stage reads."""
    return slabs(plan, key[0], version_tag(key[1]))


def version_tag(level: int) -> str:
    """Name of a time level."""
    return {1: "new", 0: "now", -1: "prev", -2: "prev2"}[level]


def target(plan: Plan, field: int) -> Slabs:
    """Names of the version that a stage writes."""
    return slabs(plan, field, "out", write=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One iteration of an inner loop.

    Attributes:
        statements: What it does.
        distinct: Whether the vectors shared with the next iteration fit into registers.
    """

    statements: tuple[Stmt, ...]
    distinct: bool


def field_sums(plan: Plan, field: int, *, few: bool = False) -> Apart | None:
    """A field's new value with its weighted sums apart; without any where the program's order is kept.

    Args:
        plan: The kernel's plan.
        field: The field.
        few: Whether it is for processors with few registers, where short sums stay as they are.

    Returns:
        None for a field that is only handed on.
    """
    site = plan.site
    statement = next((s for s in site.problem.program.statements if s.field == plan.fields[field]), None)
    if statement is None:
        return None
    if site.keeps_order:
        return Apart(statement.tape, ())
    return apart(statement.tape, pairs=plan.rank == 2 and plan.rows > 1 and not few)


def field_columns(plan: Plan, terms: Terms) -> tuple[tuple[Column, ...], Terms] | None:
    """A weighted sum as columns that are computed two results at a time, and what is left of it."""
    return None if plan.site.rank == 1 or plan.rows == 1 else columns(terms)


def paired(plan: Plan, stage: int) -> bool:
    """Whether a stage computes two results at a time."""
    found = (field_sums(plan, field) for field in stage_outputs(plan, stage))
    return any(field_columns(plan, terms) is not None for each in found if each for terms in each.sums)


def block_body(plan: Plan, stage: int, lines: int, *, few: bool = False) -> Body:
    """Write one iteration: the rows of an advance along axis 0, ``lines`` along the middle axis in 3D.

    Args:
        plan: The kernel's plan.
        stage: The stage.
        lines: Rows of a plane that are computed together.
        few: Whether it is for processors with few registers.
    """
    block = Block(plan, stage, few=few)
    stores: list[Stmt] = []
    places = [(shift, line) for shift in range(plan.rows) for line in range(lines)]
    for field in stage_outputs(plan, stage):
        values = block.values(field, places, block.sums(field, places))
        for (shift, line), value in zip(places, values, strict=True):
            at = moved(INDEX, PITCH, line)
            stores.append(Store(slab_at(plan, target(plan, field), shift), at, value, f"vector:{plan.site.dtype}"))
    block.emit_loads()
    return Body(statements=(*block.body, *stores), distinct=block.carried() <= _CARRIED)


def moved(index: Expr, unit: Var, times: int) -> Expr:
    """An index some units further."""
    if times == 0:
        return index
    return add(index, mul(unit, times)) if times > 0 else sub(index, mul(unit, -times))


class Block:
    """The body of the inner loop: every distinct vector is loaded once, for all rows that use it.

    The rows advance together, operation by operation: so neighbouring instructions are independent.
    """

    def __init__(self, plan: Plan, stage: int, slab: Slab | None = None, *, few: bool = False) -> None:
        """Start.

        Args:
            plan: The kernel's plan.
            stage: The stage.
            slab: Where slabs start; by default as the stage's parameters say.
            few: Whether the block is for processors with few registers (:mod:`tilewright.codegen.row_columns`).
        """
        self.plan = plan
        self.stage = stage
        self.few = few
        self.slab = slab or (lambda field, level, position: slab_at(plan, source(plan, (field, level)), position))
        self.body: list[Stmt] = []
        self.loaded: dict[tuple[int, int, tuple[int, ...], int], Var] = {}
        self.pending: dict[Expr, Let] = {}

    def carried(self) -> int:
        """Vectors that the next iteration would find in registers: those with a neighbour to the right."""
        return len(self.loaded) - len({key[:3] for key in self.loaded})

    def sums(self, field: int, places: Sequence[Place]) -> list[dict[Place, Expr]]:
        """Write the weighted sums of a field's new values input by input; return them by place."""
        found, name = field_sums(self.plan, field, few=self.few), self.plan.fields[field]
        sums = found.sums if found else ()
        return [
            self.one_sum(f"{name}_s{number}" if number else name, places, terms) for number, terms in enumerate(sums)
        ]

    def one_sum(self, prefix: str, places: Sequence[Place], terms: Terms) -> dict[Place, Expr]:
        """Write a weighted sum; names start with ``prefix``."""
        if self.few and len(places) > 1:
            return Columns(self.plan.site.dtype, f"{prefix}_", self._fetch, self.body).write(places, terms)
        sums = Sums(self.plan.site.dtype, f"{prefix}_")
        found, shifts = field_columns(self.plan, terms), sorted({shift for shift, _ in places})
        if found is None or len(shifts) == 1:
            self._add_up(sums, places, terms)
            return sums.results
        two = shifts[: len(shifts) // 2 * 2]
        pairs = Pairs(self.plan.site.dtype, f"{prefix}p", self._fetch, self.body)
        for shift in two[::2]:
            sums.results.update(pairs.write(shift, found[0]))
        self._add_up(sums, [at for at in places if at[0] in two], found[1])
        self._add_up(sums, [at for at in places if at[0] not in two], terms)
        return sums.results

    def _fetch(self, read: Read, at: Place) -> Var:
        """Load what a read of a place stands for, now."""
        var = self.load(read, at)
        load = self.pending.pop(var, None)
        if load is not None:
            self.body.append(load)
        return var

    def _add_up(self, sums: Sums, places: Sequence[Place], terms: Terms) -> None:
        """Add weighted inputs to the results of some places, input by input."""
        uses: dict[Var, list[tuple[Place, float]]] = {}
        for at in places:
            for read, weight in terms.items():
                uses.setdefault(self.load(read, at), []).append((at, weight))
        keys = {var: key for key, var in self.loaded.items()}
        self.body += add_up(sums, {var: uses[var] for var in sorted(uses, key=lambda var: keys[var])}, self.pending)

    def values(self, field: int, places: Sequence[Place], sums: Sequence[Mapping[Place, Expr]]) -> list[Expr]:
        """Write what is left of the new values of a field output by output, in turn; return them."""
        rows = [self._value(field, at, [each[at] for each in sums]) for at in places]
        for together in zip(*(lets for lets, _ in rows), strict=True):
            for statement in together:
                if isinstance(statement, Let) and statement.value in self.pending:
                    self.body.append(self.pending.pop(statement.value))
                self.body.append(statement)
        return [value for _, value in rows]

    def emit_loads(self) -> None:
        """Write the loads that no operation uses: values that are only handed on."""
        self.body += self.pending.values()
        self.pending = {}

    def _value(self, field: int, at: Place, sums: Sequence[Expr]) -> tuple[tuple[Stmt, ...], Expr]:
        """The operations and the new value of a field in one row of the block."""
        plan, dtype = self.plan, self.plan.site.dtype
        found = field_sums(plan, field, few=self.few)
        if found is None:
            return (), self.load(Read(plan.fields[field], 0, (0,) * plan.rank), at)
        if len(found.tape) == len(sums) == 1:
            return (), sums[0]
        tape = found.tape
        if not plan.site.strict and dtype.startswith("float"):
            tape = regroup(fuse_roots(tape) if dtype == "float32" else tape)

        def read(node: Read) -> Expr:
            return sums[int(node.field[1:])] if node.field.startswith(SUM) else self.load(node, at)

        names = f"{plan.fields[field]}{at[0]}{at[1]}_"
        return lower_tape(tape, Leaves(dtype=dtype, read=read, vector=True), prefix=names)

    def load(self, read: Read, at: Place) -> Var:
        """Load a vector unless it is at hand."""
        plan = self.plan
        field = plan.fields.index(read.field)
        offset = (0,) * (plan.rank - len(read.offset)) + read.offset
        key = (field, read.level, self.position(field, read.level, offset, at), offset[-1])
        if key not in self.loaded:
            var = Var(f"r{len(self.loaded)}", f"vector:{plan.site.dtype}")
            position, line = key[2]
            at_index = moved(moved(INDEX, Var("V"), offset[-1]), PITCH, line)
            self.pending[var] = Let(var, Load(self.slab(field, read.level, position), at_index, var.type))
            self.loaded[key] = var
        return self.loaded[key]

    def position(self, field: int, level: int, offset: tuple[int, ...], at: Place) -> Place:
        """Where a read of a place lies: the slab's position along axis 0, and its line."""
        plan = self.plan
        behind = plan.lag(plan.pipeline.stage_of[field], self.stage, 1 - level)
        return at[0] + offset[0] - behind, at[1] + (offset[1] if plan.rank == 3 else 0)

"""The body of the inner loop of a streaming kernel: several rows blocked in registers."""

from dataclasses import dataclass

from tilewright.codegen.expression import Leaves, fuse_roots, lower_tape
from tilewright.codegen.ir import Expr, Let, Load, Stmt, Store, Var, add, mul, sub
from tilewright.codegen.pipeline import PITCH, Plan, Slabs, slab_at, slabs
from tilewright.codegen.regroup import regroup
from tilewright.codegen.row_linear import Sums
from tilewright.codegen.row_pairs import Pairs
from tilewright.programs.expression import Read, Tape
from tilewright.programs.weights import Column, Terms, columns, weighted_sum

INDEX = Var("i")
TABLE = "factors"
"""Name of the table of factors that an iteration reads."""
_CARRIED = 16
"""Vectors that may stay in registers from one iteration to the next; compilers keep them if nothing can change them."""


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
        table: Factors that it reads from :data:`TABLE`.
    """

    statements: tuple[Stmt, ...]
    distinct: bool
    table: tuple[float, ...] = ()


def paired(plan: Plan, stage: int) -> bool:
    """Whether a stage computes two results at a time."""
    block = _Block(plan, stage)
    return any(block.pairs(field) is not None for field in stage_outputs(plan, stage))


def shift_groups(plan: Plan, stage: int) -> tuple[range, ...]:
    """Rows along axis 0 that one loop computes: all of them, or two where the factors are too many for all."""
    if plan.rank == 3 and paired(plan, stage):
        return tuple(range(low, min(low + 2, plan.rows)) for low in range(0, plan.rows, 2))
    return (range(plan.rows),)


def block_body(plan: Plan, stage: int, lines: int, shifts: range) -> Body:
    """Write one iteration: some rows along axis 0, ``lines`` along the middle axis in 3D.

    Args:
        plan: The kernel's plan.
        stage: The stage.
        lines: Rows of a plane that are computed together.
        shifts: The rows along axis 0.
    """
    block = _Block(plan, stage)
    stores: list[Stmt] = []
    places = [(shift, line) for shift in shifts for line in range(lines)]
    for field in stage_outputs(plan, stage):
        terms = block.weights(field)
        values = block.outputs(field, places) if terms is None else block.inputs(field, places, terms)
        for (shift, line), value in zip(places, values, strict=True):
            at = moved(INDEX, PITCH, line)
            stores.append(Store(slab_at(plan, target(plan, field), shift), at, value, f"vector:{plan.site.dtype}"))
    block.emit_loads()
    return Body(statements=(*block.body, *stores), distinct=block.carried() <= _CARRIED, table=tuple(block.factors))


def moved(index: Expr, unit: Var, times: int) -> Expr:
    """An index some units further."""
    if times == 0:
        return index
    return add(index, mul(unit, times)) if times > 0 else sub(index, mul(unit, -times))


class _Block:
    """The body of the inner loop: every distinct vector is loaded once, for all rows that use it.

    The rows advance together, operation by operation: so neighbouring instructions are independent.
    """

    def __init__(self, plan: Plan, stage: int) -> None:
        self.plan = plan
        self.stage = stage
        self.body: list[Stmt] = []
        self.loaded: dict[tuple[int, int, tuple[int, ...], int], Var] = {}
        self.pending: dict[Var, Let] = {}
        self.factors: dict[float, int] = {}

    def carried(self) -> int:
        """Vectors that the next iteration would find in registers: those with a neighbour to the right."""
        return len(self.loaded) - len({key[:3] for key in self.loaded})

    def weights(self, field: int) -> Terms | None:
        """The weights of a field's new value where it is written input by input."""
        site = self.plan.site
        if site.strict or not site.dtype.startswith("float"):
            return None
        statement = next((s for s in site.problem.program.statements if s.field == self.plan.fields[field]), None)
        return None if statement is None else weighted_sum(statement.tape)

    def pairs(self, field: int) -> tuple[tuple[Column, ...], Terms] | None:
        """A field's weighted sum as columns that are computed two results at a time, and what is left of it."""
        terms = self.weights(field)
        return None if terms is None or self.plan.site.rank == 1 or self.plan.rows == 1 else columns(terms)

    def outputs(self, field: int, places: list[tuple[int, int]]) -> list[Expr]:
        """Write the new values of a field output by output, in turn; return them."""
        rows = [self.value(field, at) for at in places]
        self.interleave([lets for lets, _ in rows])
        return [value for _, value in rows]

    def inputs(self, field: int, places: list[tuple[int, int]], terms: Terms) -> list[Expr]:
        """Write the new values of a field input by input; return them."""
        sums = Sums(self.plan.site.dtype, f"{self.plan.fields[field]}_")
        found, shifts = self.pairs(field), sorted({shift for shift, _ in places})
        if found is None or len(shifts) == 1:
            self.add_up(sums, places, terms)
        else:
            two = shifts[: len(shifts) // 2 * 2]
            sums.results.update(self.paired(field, two[::2], 1 + max(line for _, line in places), found[0]))
            self.add_up(sums, [at for at in places if at[0] in two], found[1])
            self.add_up(sums, [at for at in places if at[0] not in two], terms)
        return [sums.results[at] for at in places]

    def paired(
        self, field: int, shifts: list[int], lines: int, found: tuple[Column, ...]
    ) -> dict[tuple[int, int], Var]:
        """Write new values of a field two rows at a time; ``shifts`` are the first ones."""
        plan = self.plan
        table = Var(TABLE, f"array:{plan.site.dtype}") if plan.rank == 3 else None
        prefix = f"{plan.fields[field]}p"
        writer = Pairs(plan.site.dtype, prefix, self.fetch, self.body, table)
        writer.factors = self.factors
        results: dict[tuple[int, int], Var] = {}
        for shift in shifts:
            results.update(writer.write(shift, lines, found))
        return results

    def fetch(self, read: Read, at: tuple[int, int]) -> Var:
        """Load what a read of a place stands for, now."""
        var = self.load(self.plan.fields.index(read.field), read.level, read.offset, at)
        load = self.pending.pop(var, None)
        if load is not None:
            self.body.append(load)
        return var

    def add_up(self, sums: Sums, places: list[tuple[int, int]], terms: Terms) -> None:
        """Add weighted inputs to the results of some places, input by input."""
        uses: dict[Var, list[tuple[tuple[int, int], float]]] = {}
        for at in places:
            for read, weight in terms.items():
                offset = (0,) * (self.plan.rank - len(read.offset)) + read.offset
                var = self.load(self.plan.fields.index(read.field), read.level, offset, at)
                uses.setdefault(var, []).append((at, weight))
        keys = {var: key for key, var in self.loaded.items()}
        for var in sorted(uses, key=lambda var: keys[var]):
            load = self.pending.pop(var, None)
            if load is not None:
                sums.body.append(load)
            for at, weight in uses[var]:
                sums.add(at, weight, var)
        self.body += sums.body
        sums.body = []

    def interleave(self, rows: list[tuple[Stmt, ...]]) -> None:
        """Write the operations of several rows in turn, loads just before their first use."""
        for together in zip(*rows, strict=True):
            for statement in together:
                if isinstance(statement, Let) and statement.value in self.pending:
                    self.body.append(self.pending.pop(statement.value))
                self.body.append(statement)

    def emit_loads(self) -> None:
        """Write the loads that no operation uses: values that are only handed on."""
        self.body += self.pending.values()
        self.pending = {}

    def value(self, field: int, at: tuple[int, int]) -> tuple[tuple[Stmt, ...], Expr]:
        """The operations and the new value of a field in one row of the block."""
        plan, dtype = self.plan, self.plan.site.dtype
        program = plan.site.problem.program
        statement = next((s for s in program.statements if s.field == plan.fields[field]), None)
        if statement is None:
            return (), self.load(field, 0, (0,) * plan.rank, at)
        tape: Tape = statement.tape
        if not plan.site.strict and dtype.startswith("float"):
            tape = regroup(fuse_roots(tape) if dtype == "float32" else tape)

        def read(node: Read) -> Expr:
            offset = (0,) * (plan.rank - len(node.offset)) + node.offset
            return self.load(plan.fields.index(node.field), node.level, offset, at)

        names = f"{plan.fields[field]}{at[0]}{at[1]}_"
        return lower_tape(tape, Leaves(dtype=dtype, read=read, vector=True), prefix=names)

    def load(self, field: int, level: int, offset: tuple[int, ...], row: tuple[int, int]) -> Var:
        """Load a vector unless it is at hand."""
        plan = self.plan
        position = row[0] + offset[0] - plan.lag(plan.pipeline.stage_of[field], self.stage, 1 - level)
        line = row[1] + (offset[1] if plan.rank == 3 else 0)
        key = (field, level, (position, line), offset[-1])
        if key not in self.loaded:
            var = Var(f"r{len(self.loaded)}", f"vector:{plan.site.dtype}")
            at = moved(moved(INDEX, Var("V"), offset[-1]), PITCH, line)
            self.pending[var] = Let(var, Load(slab_at(plan, source(plan, (field, level)), position), at, var.type))
            self.loaded[key] = var
        return self.loaded[key]

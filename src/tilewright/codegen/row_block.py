"""The body of the inner loop of a streaming kernel: several rows blocked in registers."""

from collections.abc import Callable, Mapping, Sequence

from tilewright.codegen import ir
from tilewright.codegen.expression import Leaves, fuse_roots, lower_tape
from tilewright.codegen.pipeline import PITCH, Plan, Slabs, slab_at, slabs
from tilewright.codegen.regroup import regroup
from tilewright.codegen.row_columns import Columns
from tilewright.codegen.row_linear import Sums, add_up
from tilewright.codegen.row_pairs import Pairs
from tilewright.programs.expression import Read
from tilewright.programs.weights import SUM, Apart, Terms, apart, columns
from tilewright.tilings.body import StageCode, StreamBlock, Sum

INDEX = ir.Var("i")

Place = tuple[int, int]
"""A row of a block: along axis 0, and along the middle axis in 3D."""
Slab = Callable[[int, int, int], ir.Expr]
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


def block_body(plan: Plan, stage: int, code: StageCode, lines: int) -> tuple[ir.Stmt, ...]:
    """Write one iteration: the rows of an advance along axis 0, ``lines`` along the middle axis in 3D.

    Args:
        plan: The kernel's plan.
        stage: The stage.
        code: How it is written.
        lines: Rows of a plane that are computed together.
    """
    block = Block(plan, stage, code, code.of(plan.rows, lines))
    stores: list[ir.Stmt] = []
    for field in stage_outputs(plan, stage):
        values = block.values(field, block.sums(field))
        for (shift, line), value in zip(block.places, values, strict=True):
            at = moved(INDEX, PITCH, line)
            stores.append(ir.Store(slab_at(plan, target(plan, field), shift), at, value, ir.vector(plan.site.dtype)))
    block.emit_loads()
    return (*block.body, *stores)


def moved(index: ir.Expr, unit: ir.Var, times: int) -> ir.Expr:
    """An index some units further."""
    if times == 0:
        return index
    return ir.add(index, ir.mul(unit, times)) if times > 0 else ir.sub(index, ir.mul(unit, -times))


class Block:
    """The body of the inner loop: every distinct vector is loaded once, for all rows that use it.

    The rows advance together, operation by operation: so neighbouring instructions are independent.
    """

    def __init__(self, plan: Plan, stage: int, code: StageCode, block: StreamBlock, slab: Slab | None = None) -> None:
        """Start.

        Args:
            plan: The kernel's plan.
            stage: The stage.
            code: How the stage is written.
            block: What of it is computed together.
            slab: Where slabs start; by default as the stage's parameters say.
        """
        self.plan, self.stage, self.code = plan, stage, code
        self.places: list[Place] = [(shift, line) for shift in range(block.planes) for line in range(block.lines)]
        self.forms = dict(zip(stage_outputs(plan, stage), block.sums, strict=True))
        self.slab = slab or (lambda field, level, position: slab_at(plan, source(plan, (field, level)), position))
        self.body: list[ir.Stmt] = []
        self.loaded: dict[tuple[int, int, tuple[int, ...], int], ir.Var] = {}
        self.pending: dict[ir.Expr, ir.Let] = {}

    def apart(self, field: int) -> Apart | None:
        """A field's new value with its weighted sums apart; None for a field that is only handed on."""
        statements = self.plan.site.problem.program.statements
        tape = next((each.tape for each in statements if each.field == self.plan.fields[field]), None)
        if tape is None:
            return None
        return apart(tape, pairs=self.code.pairs) if self.forms[field] else Apart(tape, ())

    def sums(self, field: int) -> list[dict[Place, ir.Expr]]:
        """Write the weighted sums of a field's new values; return them by place."""
        found, name = self.apart(field), self.plan.fields[field]
        return [
            self.one_sum(f"{name}_s{number}" if number else name, terms, form)
            for number, (terms, form) in enumerate(zip(found.sums if found else (), self.forms[field], strict=True))
        ]

    def one_sum(self, prefix: str, terms: Terms, form: Sum) -> dict[Place, ir.Expr]:
        """Write a weighted sum; names start with ``prefix``."""
        places = self.places
        if form.form == "columns":
            return Columns(self.plan.site.dtype, f"{prefix}_", self._fetch, self.body).write(places, terms, form)
        sums = Sums(self.plan.site.dtype, f"{prefix}_", form.accumulators)
        found = columns(terms) if form.form == "winograd" else None
        if found is None:
            self._add_up(sums, places, terms)
            self.body += sums.join()
            return sums.results
        shifts = sorted({shift for shift, _ in places})
        two = shifts[: len(shifts) // 2 * 2]
        pairs = Pairs(self.plan.site.dtype, f"{prefix}p", self._fetch, self.body)
        for shift in two[::2]:
            sums.results.update(pairs.write(shift, found[0]))
        self._add_up(sums, [at for at in places if at[0] in two], found[1])
        self._add_up(sums, [at for at in places if at[0] not in two], terms)
        return sums.results

    def _fetch(self, read: Read, at: Place) -> ir.Var:
        """Load what a read of a place stands for, now."""
        var = self.load(read, at)
        load = self.pending.pop(var, None)
        if load is not None:
            self.body.append(load)
        return var

    def _add_up(self, sums: Sums, places: Sequence[Place], terms: Terms) -> None:
        """Add weighted inputs to the results of some places, input by input."""
        uses: dict[ir.Var, list[tuple[Place, float]]] = {}
        for at in places:
            for read, weight in terms.items():
                uses.setdefault(self.load(read, at), []).append((at, weight))
        keys = {var: key for key, var in self.loaded.items()}
        self.body += add_up(sums, {var: uses[var] for var in sorted(uses, key=lambda var: keys[var])}, self.pending)

    def values(self, field: int, sums: Sequence[Mapping[Place, ir.Expr]]) -> list[ir.Expr]:
        """Write what is left of the new values of a field output by output, in turn; return them."""
        rows = [self._value(field, at, [each[at] for each in sums]) for at in self.places]
        for together in zip(*(lets for lets, _ in rows), strict=True):
            for statement in together:
                if isinstance(statement, ir.Let) and statement.value in self.pending:
                    self.body.append(self.pending.pop(statement.value))
                self.body.append(statement)
        return [value for _, value in rows]

    def emit_loads(self) -> None:
        """Write the loads that no operation uses: values that are only handed on."""
        self.body += self.pending.values()
        self.pending = {}

    def _value(self, field: int, at: Place, sums: Sequence[ir.Expr]) -> tuple[tuple[ir.Stmt, ...], ir.Expr]:
        """The operations and the new value of a field in one row of the block."""
        plan, dtype = self.plan, self.plan.site.dtype
        found = self.apart(field)
        if found is None:
            return (), self.load(Read(plan.fields[field], 0, (0,) * plan.rank), at)
        if len(found.tape) == len(sums) == 1:
            return (), sums[0]
        tape = found.tape
        if not plan.site.keeps_order:
            tape = regroup(fuse_roots(tape) if dtype.name == "float32" else tape, plan.site.body)

        def read(node: Read) -> ir.Expr:
            return sums[int(node.field[1:])] if node.field.startswith(SUM) else self.load(node, at)

        names = f"{plan.fields[field]}{at[0]}{at[1]}_"
        return lower_tape(tape, Leaves(dtype=dtype, read=read, vector=True), prefix=names)

    def load(self, read: Read, at: Place) -> ir.Var:
        """Load a vector unless it is at hand."""
        plan = self.plan
        field = plan.fields.index(read.field)
        offset = (0,) * (plan.rank - len(read.offset)) + read.offset
        key = (field, read.level, self.position(field, read.level, offset, at), offset[-1])
        if key not in self.loaded:
            var = ir.Var(f"r{len(self.loaded)}", ir.vector(plan.site.dtype))
            position, line = key[2]
            at_index = moved(moved(INDEX, ir.Var("V"), offset[-1]), PITCH, line)
            self.pending[var] = ir.Let(var, ir.Load(self.slab(field, read.level, position), at_index, var.type))
            self.loaded[key] = var
        return self.loaded[key]

    def position(self, field: int, level: int, offset: tuple[int, ...], at: Place) -> Place:
        """Where a read of a place lies: the slab's position along axis 0, and its line."""
        plan = self.plan
        behind = plan.lag(plan.pipeline.stage_of[field], self.stage, 1 - level)
        return at[0] + offset[0] - behind, at[1] + (offset[1] if plan.rank == 3 else 0)

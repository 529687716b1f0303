"""The body of the inner loop of a streaming kernel: several rows blocked in registers."""

from tilewright.codegen.expression import Leaves, fuse_roots, lower_tape
from tilewright.codegen.ir import Expr, Let, Load, Stmt, Store, Var, add, mul, sub
from tilewright.codegen.pipeline import PITCH, Plan, Slabs, slab_at, slabs
from tilewright.codegen.regroup import regroup
from tilewright.codegen.row_linear import Sums, Terms, weighted_sum
from tilewright.programs.expression import Read, Tape

INDEX = Var("i")
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


def block_body(plan: Plan, stage: int, lines: int) -> tuple[tuple[Stmt, ...], bool]:
    """Write one iteration: ``plan.rows`` rows along axis 0, ``lines`` along the middle axis in 3D.

    Args:
        plan: The kernel's plan.
        stage: The stage.
        lines: Rows of a plane that are computed together.

    Returns:
        The statements, and whether the vectors shared with the next iteration fit into registers.
    """
    block = _Block(plan, stage)
    stores: list[Stmt] = []
    places = [(shift, line) for shift in range(plan.rows) for line in range(lines)]
    for field in stage_outputs(plan, stage):
        terms = block.weights(field)
        values = block.outputs(field, places) if terms is None else block.inputs(field, places, terms)
        for (shift, line), value in zip(places, values, strict=True):
            at = moved(INDEX, PITCH, line)
            stores.append(Store(slab_at(plan, target(plan, field), shift), at, value, f"vector:{plan.site.dtype}"))
    block.emit_loads()
    return (*block.body, *stores), block.carried() <= _CARRIED


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

    def outputs(self, field: int, places: list[tuple[int, int]]) -> list[Expr]:
        """Write the new values of a field output by output, in turn; return them."""
        rows = [self.value(field, at) for at in places]
        self.interleave([lets for lets, _ in rows])
        return [value for _, value in rows]

    def inputs(self, field: int, places: list[tuple[int, int]], terms: Terms) -> list[Expr]:
        """Write the new values of a field input by input; return them."""
        sums = Sums(self.plan.site.dtype, f"{self.plan.fields[field]}_")
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
        return [sums.results[at] for at in places]

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

"""The inner loops of a streaming kernel: one stage over lifted rows, several rows blocked in registers."""

from tilewright.codegen.expression import Leaves, fuse_roots, lower_tape, scalar_name
from tilewright.codegen.ir import Call, Expr, For, Function, If, Int, Let, Load, Op, Stmt, Store, Var, add, mul, sub
from tilewright.codegen.pipeline import (
    EDGE,
    GX,
    N,
    PITCH,
    VECTORS,
    Plan,
    Slabs,
    lanes,
    mul_vector,
    place,
    sizes,
    slab_at,
    slabs,
)
from tilewright.codegen.regroup import regroup
from tilewright.codegen.sites import literal
from tilewright.programs.expression import Read, Scalar, Tape
from tilewright.tilings.pipeline import line_cells

FIRST, LAST = Var("first"), Var("last")
CHUNK = Var("chunk")
_CARRIED = 16
"""Vectors that may stay in registers from one iteration to the next; compilers keep them if nothing can change them."""
_SCALARS = Var("scalar")
_STRIDES = (Var("s0"), Var("s1"))
_INDEX = Var("i")


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
    return slabs(plan, key[0], {1: "new", 0: "now", -1: "prev", -2: "prev2"}[key[1]])


def target(plan: Plan, field: int) -> Slabs:
    """Names of the version that a stage writes."""
    return slabs(plan, field, "out", write=True)


def stage_params(plan: Plan, stage: int) -> tuple[Var, ...]:
    """Parameters of a stage's function."""
    names = [var for key in stage_sources(plan, stage) for var in source(plan, key).params]
    names += [var for field in stage_outputs(plan, stage) for var in target(plan, field).params[:2]]
    lines = (FIRST, LAST, *ahead_params(plan, stage)) if plan.rank == 3 else ()
    return (Var("scalar", f"array:{plan.site.dtype}"), *names, *lines, GX, N, EDGE)


def ahead_params(plan: Plan, stage: int) -> tuple[Var, ...]:
    """Parameters of a stage in 3D for the cells that the next advance loads: where they start, how they go on."""
    return (*(next_name(plan, field, age) for field, age in loaded(plan, stage)), CHUNK, *_STRIDES)


def loaded(plan: Plan, stage: int) -> tuple[tuple[int, int], ...]:
    """Fields of a stage and their versions, by age, that every advance loads."""
    return tuple((field, age) for field in stage_outputs(plan, stage) for age in range(plan.pipeline.history[field]))


def next_name(plan: Plan, field: int, age: int) -> Var:
    """Name of the pointer to what the next advance loads."""
    return Var(f"next_{plan.fields[field]}{age or ''}", f"array:{plan.site.dtype}")


def stage_function(plan: Plan, stage: int) -> Function:
    """A function that computes one stage over the rows of one advance, the ends of the rows included."""
    vector = f"vector:{plan.site.dtype}"
    block = _Block(plan, stage)
    stores: list[Stmt] = []
    for field in stage_outputs(plan, stage):
        rows = [block.value(field, shift) for shift in range(plan.rows)]
        block.interleave([lets for lets, _ in rows])
        for shift, (_, value) in enumerate(rows):
            stores.append(Store(slab_at(plan, target(plan, field), shift), _INDEX, value, vector))
    block.emit_loads()
    base = mul(Var("line"), PITCH)
    low: Expr = base if plan.rank == 3 else Int(0)
    inner = For(var=_INDEX, low=low, high=add(low, mul_vector(VECTORS)), step=lanes(plan), body=(*block.body, *stores))
    ends = tuple(
        Call(
            plan.name(f"ends_{field}"),
            (
                add(slab_at(plan, target(plan, field), shift), low),
                _previous(plan, stage, field, shift, low),
                GX,
                N,
                EDGE,
            ),
        )
        for field in stage_outputs(plan, stage)
        for shift in range(plan.rows)
    )
    nest: tuple[Stmt, ...] = (inner, *ends)
    if plan.rank == 3:
        nest = (For(var=Var("line"), low=FIRST, high=LAST, body=(*nest, *_aheads(plan, stage))),)
    lets = (Let(Var("V"), lanes(plan)), *sizes(plan), *_scalars(plan, stage))
    return Function(
        name=plan.name(f"stage_{stage}"),
        params=stage_params(plan, stage),
        body=(*lets, *nest),
        distinct=block.carried() <= _CARRIED,
    )


def _aheads(plan: Plan, stage: int) -> tuple[Stmt, ...]:
    """After every row, ask for a few cells that the next advance loads: memory works while the levels are computed."""
    unit, x = line_cells(plan.site.problem), Var("x")
    body: list[Stmt] = []
    for field, age in loaded(plan, stage):
        for r in range(plan.rows):
            start = add(next_name(plan, field, age), Op("mul", (Var("line"), _STRIDES[1])))
            at = add(add(start, mul(_STRIDES[0], r)), x)
            ask = Call(f"prefetch:{plan.site.dtype}", (at,))
            body.append(For(var=x, low=Int(0), high=CHUNK, step=Int(unit), body=(ask,)))
    return tuple(body)


def _previous(plan: Plan, stage: int, field: int, shift: int, low: Expr) -> Expr:
    return add(slab_at(plan, source(plan, (field, 0)), shift - plan.lag(stage, stage, 1)), low)


def _scalars(plan: Plan, stage: int) -> tuple[Stmt, ...]:
    program = plan.site.problem.program
    used = {
        node.name
        for i in plan.pipeline.stages[stage]
        for node in program.statements[i].tape
        if isinstance(node, Scalar)
    }
    return tuple(
        Let(Var(scalar_name(name), plan.site.dtype), Load(_SCALARS, Int(i), plan.site.dtype))
        for i, name in enumerate(program.scalars)
        if name in used
    )


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

    def value(self, field: int, shift: int) -> tuple[tuple[Stmt, ...], Expr]:
        """The operations and the new value of a field, ``shift`` rows after the first."""
        plan, dtype = self.plan, self.plan.site.dtype
        program = plan.site.problem.program
        statement = next((s for s in program.statements if s.field == plan.fields[field]), None)
        if statement is None:
            return (), self.load(field, 0, (0,) * plan.rank, shift)
        tape: Tape = statement.tape
        if not plan.site.strict and dtype.startswith("float"):
            tape = regroup(fuse_roots(tape) if dtype == "float32" else tape)

        def read(node: Read) -> Expr:
            offset = (0,) * (plan.rank - len(node.offset)) + node.offset
            return self.load(plan.fields.index(node.field), node.level, offset, shift)

        names = f"{plan.fields[field]}{shift}_"
        return lower_tape(tape, Leaves(dtype=dtype, read=read, vector=True), prefix=names)

    def load(self, field: int, level: int, offset: tuple[int, ...], shift: int) -> Expr:
        """Load a vector unless it is at hand."""
        plan = self.plan
        position = shift + offset[0] - plan.lag(plan.pipeline.stage_of[field], self.stage, 1 - level)
        key = (field, level, (position, *offset[1:-1]), offset[-1])
        if key not in self.loaded:
            var = Var(f"r{len(self.loaded)}", f"vector:{plan.site.dtype}")
            at: Expr = _INDEX
            if offset[-1]:
                at = add(at, mul(Var("V"), offset[-1])) if offset[-1] > 0 else sub(at, mul(Var("V"), -offset[-1]))
            if plan.rank == 3 and offset[1]:
                at = add(at, mul(PITCH, offset[1])) if offset[1] > 0 else sub(at, mul(PITCH, -offset[1]))
            self.pending[var] = Let(var, Load(slab_at(plan, source(plan, (field, level)), position), at, var.type))
            self.loaded[key] = var
        return self.loaded[key]


def ends_function(plan: Plan, field: int) -> Function:
    """A function that finishes a row: cells that keep their values, cells outside the grid, shifted vectors."""
    row, old = Var("row", f"pointer:{plan.site.dtype}"), Var("old", f"array:{plan.site.dtype}")
    edits = (*_kept(plan, field, row, old), *row_ghosts(plan, field, row))
    below, above = plan.reach
    wrap = Call(f"wrap:{plan.site.dtype}", (row, VECTORS, Int(below), Int(above)))
    return Function(
        name=plan.name(f"ends_{field}"),
        params=(row, old, GX, N, EDGE),
        body=(Let(Var("V"), lanes(plan)), sizes(plan)[0], *((If(EDGE, edits),) if edits else ()), wrap),
        kind="inline",
    )


def _kept(plan: Plan, field: int, row: Var, old: Var) -> tuple[Stmt, ...]:
    low, high = plan.frame(field, plan.rank - 1)
    dtype, x = plan.site.dtype, Var("x")
    at = place(sub(x, GX))
    copy = (Store(row, at, Load(old, at, dtype), dtype),)
    stmts: list[Stmt] = []
    if low:
        stmts.append(If(Op("le", (GX, Int(0))), (For(var=x, low=Int(0), high=Int(low), body=copy),)))
    if high:
        end = sub(N, GX)
        loop = For(var=x, low=Op("max", (sub(N, high), GX)), high=N, body=copy)
        stmts.append(If(Op("le", (end, Int(plan.width))), (loop,)))
    return tuple(stmts)


def row_ghosts(plan: Plan, field: int, row: Var) -> tuple[Stmt, ...]:
    """Cells outside the grid along the innermost axis, where the row holds them."""
    axis, dtype = plan.rank - 1, plan.site.dtype
    low, high = plan.pipeline.ghosts[field][axis]
    sides = plan.boundary(field, axis)
    stmts: list[Stmt] = []
    for j in range(1, low + 1):
        inside = {"nearest": 0, "reflect": j - 1, "mirror": j}.get(sides[0].kind)
        value: Expr = (
            literal(sides[0].value, dtype) if inside is None else Load(row, place(sub(Int(inside), GX)), dtype)
        )
        store = Store(row, place(sub(Int(-j), GX)), value, dtype)
        stmts.append(If(Op("le", (GX, Int(-j))), (store,)))
    for j in range(high):
        back = {"nearest": 1, "reflect": j + 1, "mirror": j + 2}.get(sides[1].kind)
        where = Op("max", (sub(sub(N, GX), back or 0), Int(0)))
        value = literal(sides[1].value, dtype) if back is None else Load(row, place(where), dtype)
        store = Store(row, place(sub(add(N, j), GX)), value, dtype)
        stmts.append(If(Op("lt", (sub(add(N, j), GX), Int(plan.width))), (store,)))
    return tuple(stmts)

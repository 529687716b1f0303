"""What the forms of weighted sums take is what their statements hold."""

import itertools

import pytest

from tilewright.codegen import ir
from tilewright.codegen.sums import CANDIDATES as WRITERS
from tilewright.codegen.sums.registers import OperandTable, RegisterBlock
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.weights import columns, linear_sum
from tilewright.schedules import sums
from tilewright.schedules.code import FORMS, Block, Sum
from tilewright.schedules.sums import SumWork, work
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.cpu_schedule import choose_body


def rank_of(terms):
    return len(next(iter(terms)).offset)


FLOAT = ir.element("float32")
SUMS = {name: linear_sum(program(name).statements[0].tape) for name in ("j2d9pt-gol", "box2d2r", "star2d3r", "j3d27pt")}
SUMS |= {name: linear_sum(program(name).statements[0].tape) for name in ("box3d2r", "star3d2r", "box1d4r")}
SUMS["ones"] = {Read("u", 0, (y, x)): 1.0 if y == x else 0.1 * y + x for y in (-1, 0, 1) for x in (-2, 0, 1)}
SUMS["opposite"] = {Read("u", 0, (k - 2, 0)): w for k, w in enumerate((0.2, 0.3, 0.25, 0.4, -0.4))}  # a factor is 0
SUMS["two fields"] = {Read(f, 0, (y, x)): 0.3 + y + 0.1 * x for f in "uv" for y in range(-2, 3) for x in (-1, 0, 1)}
SUMS["uneven"] = {
    Read("u", -(z % 2), (z, y, x)): 0.01 * (5 + 7 * z - 3 * y + x)
    for z, y, x in itertools.product((-2, -1, 0, 1), (-1, 0, 1, 2), range(-2, 3))
    if (z, y, x) != (-2, -1, 0)
}
SHAPES = ((1, 1), (2, 1), (3, 1), (4, 1), (2, 3), (4, 2))


class Grid:
    """Vectors of rows of a grid, by their place in it."""

    dtype = FLOAT

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def key(self, read, at):
        offset = list(read.offset)
        offset[self.axis] += at[0]
        if at[1]:
            offset[1] += at[1]
        return (read.field, read.level, *offset)

    def vector(self, read, at):
        return ir.Load(ir.Var("p", ir.const_pointer(FLOAT)), ir.Int(hash(self.key(read, at))), ir.vector(FLOAT))

    def along(self, read, at, index):
        return ir.Load(ir.Var("p", ir.const_pointer(FLOAT)), index, ir.vector(FLOAT))


def written(terms, results, form):
    """The work that the statements of a form hold."""
    grid = Grid(results.axis)
    table = (
        OperandTable(start=ir.Var("w", ir.const_pointer(FLOAT)), load=grid.along)
        if len(next(iter(terms)).offset) > 2
        else None
    )
    block = RegisterBlock(grid, results.places, axis=results.axis, table=table)
    values = WRITERS[form.form](block, "s", terms, form)
    assert set(values) == set(results.places)
    assert all(isinstance(value, ir.Var) for value in values.values())
    return counted(block.finish(), 1)


def counted(body, times):
    """Vector operations of statements that are done so many times."""
    found = {"products": 0, "additions": 0, "fused": 0, "loads": 0, "weights": 0}
    for stmt in body:
        if isinstance(stmt, ir.For):
            inner = counted(stmt.body, times * stmt.high.value)
        elif isinstance(stmt, ir.Scope):
            inner = counted(stmt.body, times)
        else:
            inner = {key: times * number for key, number in operations(stmt).items()}
        for key, number in inner.items():
            found[key] += number
    return found


def operations(stmt):
    found = {"products": 0, "additions": 0, "fused": 0, "loads": 0, "weights": 0}
    if isinstance(stmt, ir.Mutable):  # zeros
        return found
    for node in ir.walk(stmt.value if isinstance(stmt, ir.Let | ir.Assign) else stmt):
        vector = isinstance(ir.type_of(node), ir.Vector) if not isinstance(node, ir.Let | ir.Assign) else False
        if isinstance(node, ir.Op) and vector:
            found["products"] += node.op is ir.Operator.MUL
            found["additions"] += node.op in {ir.Operator.ADD, ir.Operator.SUB}
            fused = (isinstance(arg, ir.Op) and arg.op is ir.Operator.MUL for arg in node.args)
            found["fused"] += node.op is ir.Operator.ADD and any(fused)
        found["loads"] += isinstance(node, ir.Load) and vector
        found["weights"] += isinstance(node, ir.Load) and not vector
        found["weights"] += isinstance(node, ir.Real) and abs(node.value) != 1.0
    return found


def forms(terms, results):
    rank = rank_of(terms)
    yield from (Sum(form="inputs", accumulators=ways) for ways in (1, 2, 4))
    for ways, held, loaded in itertools.product((1, 2), (2, 6), (False, True)):
        yield Sum(form="columns", accumulators=ways, weights=held, loaded=loaded)
    if rank == 2:
        yield Sum(form="winograd")
    elif rank == 3:
        yield from (Sum(form="winograd", weights=12, alike=alike) for alike in (False, True) if results.rows == 2)
        yield from (Sum(form="loop", weights=12, loaded=loaded) for loaded in (False, True))


def test_the_work_of_a_form_is_what_its_statements_hold():
    for name, planes, lines in [
        (name, *shape) for name, terms in SUMS.items() for shape in SHAPES if rank_of(terms) > 2 or shape[1] == 1
    ]:
        terms = SUMS[name]
        rank = rank_of(terms)
        for axis in sorted({0, max(0, rank - 2)} if lines == 1 else {0}):
            results = Block(axis=axis, rows=planes, lines=lines)
            for form in forms(terms, results):
                if not sums.CANDIDATES[form.form].applies(terms, results):
                    continue
                if form.form in {"winograd", "loop"} and rank == 3 and axis:
                    continue
                expected = SumWork(**written(terms, results, form))
                assert work(terms, results, form) == expected, (form, results)


def test_every_form_but_the_programs_own_has_a_candidate_and_a_writer():
    assert set(sums.CANDIDATES) == set(WRITERS) == set(FORMS) - {"outputs"}


@pytest.mark.parametrize(
    ("name", "pays"),
    [
        *((name, True) for name in ("j2d5pt", "star2d1r", "star2d2r", "star2d3r", "star2d4r")),
        *((name, False) for name in ("jacobi2d", "laplacian2d")),
    ],
)
@pytest.mark.parametrize("planes", [2, 4])
def test_columns_at_few_places_are_taken_where_the_model_says_that_they_pay(name, pays, planes):
    problem = make_problem(program(name), (300, 517), 20)
    (stage,) = choose_body(problem, parse(f"streaming:t=2,rows={planes}")).stages
    forms = [form.form for block in stage.many.blocks for some in block.sums for form in some]
    assert forms == (["winograd"] if pays else [])
    if not pays:  # they have columns all the same, and are written so where that is asked for
        (stage,) = choose_body(problem, parse(f"streaming:t=2,rows={planes},sums=winograd")).stages
        assert [form.form for block in stage.many.blocks for some in block.sums for form in some] == ["winograd"]


def test_pairs_are_for_columns_along_axis_0():
    column = SUMS["j2d9pt-gol"]
    pairs = sums.CANDIDATES["winograd"]
    assert columns(column)
    assert pairs.applies(column, Block(axis=0, rows=2))
    assert not pairs.applies(column, Block(axis=0, rows=1))
    assert not pairs.applies(column, Block(axis=1, rows=2))
    assert not pairs.applies(SUMS["box1d4r"], Block(axis=0, rows=2))

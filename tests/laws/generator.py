"""Random problems for the laws: any rank, reach, number of fields and time levels, boundary, dtype and size.

Everything follows from ``(seed, index)``: the same pair gives the same program, boundaries, data and tiling anywhere.
Expressions are kept from exploding (coefficients sum to at most one in size, non-linear parts are bounded and
continuous), so that a comparison over many steps says something.
"""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.dtypes import numpy_type
from tilewright.base.fingerprint import fingerprint
from tilewright.programs.stencil.boundaries import Boundary, Sides
from tilewright.programs.stencil.dependences import Slope, slopes
from tilewright.programs.stencil.expression import Index, Inside, Read, Scalar, Value, apply, clipped
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import STEP, FieldBuilder, Program, stencil
from tilewright.programs.stencil.reference import Array
from tilewright.programs.stencil.slopes import values_of
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.families import streaming
from tilewright.schedules.tiling import NONE, Tiling

DRAW = 1_000_000 * int(os.environ.get("TILEWRIGHT_LAWS_DRAW", "0"))
"""Added to the seeds of stress runs: ``TILEWRIGHT_LAWS_DRAW=3`` makes programs that no run before has seen."""
FLOATS = ("float32", "float64")
WHOLE = ("int8", "uint8", "int16", "uint16", "uint32", "int64")
WHOLE_SEED = 8
"""The seed whose cases are of whole numbers, one type after the other."""
NARROW = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
OTHER = (*COMPLEX, *NARROW)
OTHER_SEED = 9
"""The seed whose cases are of complex numbers and of those of 16 bits, one type after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LawCase:
    """One case.

    Attributes:
        seed: Seed of the batch.
        index: Position in the batch.
        problem: What is computed.
        tiling: How it is cut.
        scalars: Values of the program's scalars, of some one for every step.
        strict: Whether the kernel keeps the order of operations and must equal the reference bit for bit.
    """

    seed: int
    index: int
    problem: Problem
    tiling: Tiling
    scalars: tuple[tuple[str, complex | tuple[complex, ...]], ...]
    strict: bool

    @property
    def values(self) -> dict[str, complex | Array]:
        """Values of the scalars; arrays of one per step of those that vary."""
        return {name: np.asarray(value) if isinstance(value, tuple) else value for name, value in self.scalars}

    @property
    def storage(self) -> Storage:
        """Where its fields' versions and cells lie."""
        return PLAIN

    @property
    def identity(self) -> str:
        """A fingerprint of the content; two cases with the same one are the same case."""
        return fingerprint(self.problem, str(self.tiling), self.scalars, self.strict)

    def arrays(self) -> dict[str, list[Array]]:
        """The initial data, per field its versions, newest first."""
        generator = np.random.default_rng([self.seed, self.index])
        result: dict[str, list[Array]] = {}
        for field in self.problem.program.fields:
            levels = self.problem.program.history(field)
            if "int" in self.problem.dtype:
                draw: list[Array] = [generator.integers(-50, 51, self.problem.shape) for _ in range(levels)]
            else:
                draw = [generator.uniform(-1.0, 1.0, self.problem.shape) for _ in range(levels)]
                if self.problem.dtype in COMPLEX:
                    draw = [values + 1j * generator.uniform(-1.0, 1.0, values.shape) for values in draw]
            result[field] = [values.astype(numpy_type(self.problem.dtype)) for values in draw]
        return result

    def reproduction(self) -> str:
        """Python text that makes the case again, with nothing but the package."""
        return "\n".join(
            [
                f"# case {self.index} of seed {self.seed}:",
                f"#   TILEWRIGHT_LAWS_SEED={self.seed} TILEWRIGHT_LAWS_CASE={self.index} python -m pytest tests/laws",
                "import numpy as np",
                "from tilewright.programs.stencil.expression import Apply, Const, Read, Scalar",
                "from tilewright.programs.stencil.boundaries import Boundary",
                "from tilewright.programs.stencil.problem import Problem",
                "from tilewright.programs.stencil.program import Program, Statement",
                "from tilewright.schedules.tiling import parse",
                f"problem = {self.problem!r}",
                f"tiling = parse({str(self.tiling)!r})",
                f"scalars = {dict(self.scalars)!r}",
                f"strict = {self.strict!r}",
                f"generator = np.random.default_rng([{self.seed}, {self.index}])",
                "# per field and version, newest first: "
                + (
                    "generator.integers(-50, 51, problem.shape)"
                    if "int" in self.problem.dtype
                    else "generator.uniform(-1.0, 1.0, problem.shape)"
                )
                + ".astype(problem.dtype)"
                + ("; then 1j times as many more is added to each" if self.problem.dtype in COMPLEX else ""),
            ]
        )


def make_case(seed: int, index: int, rank: int | None = None) -> LawCase:
    """Draw a case, in one to three dimensions or in so many; four are not tiled."""
    draw = random.Random(f"{seed}/{index}")  # noqa: S311  (reproducible, not secret)
    rank = rank or draw.choices((1, 2, 3), (35, 50, 15))[0]
    special = {WHOLE_SEED: WHOLE, OTHER_SEED: OTHER}.get(seed)
    dtype = special[index % len(special)] if special else draw.choices((*FLOATS, "int32"), (50, 35, 15))[0]
    strict = dtype in {*FLOATS, *NARROW} and draw.random() < 0.3
    program = _program(draw, rank, dtype, arithmetic_only=strict)
    wraps = draw.random() < 0.06
    boundaries = tuple(_sides(draw, rank, dtype, wraps=wraps) for _ in program.fields)
    blank = Problem(program=program, shape=(1,) * rank, steps=0, dtype=dtype, boundaries=boundaries)
    tiling = NONE if rank > 3 or wraps or draw.random() < 0.06 else _tiling(draw, blank)
    shape, steps = _size(draw, blank, tiling)
    problem = Problem(program=program, shape=shape, steps=steps, dtype=dtype, boundaries=boundaries)
    scalars = tuple((name, _number(draw, dtype)) for name in program.scalars)
    return LawCase(seed=seed, index=index, problem=problem, tiling=tiling, scalars=scalars, strict=strict)


def with_places(case: LawCase) -> LawCase:
    """The same case, of a program that computes with the cell's place, boxes, the step's number and values per step."""
    draw = random.Random(f"places/{case.seed}/{case.index}")  # noqa: S311  (reproducible, not secret)
    problem, program = case.problem, case.problem.program
    chosen = draw.sample(program.updated, draw.randint(1, len(program.updated)))
    whole = "int" in problem.dtype

    def moved(value: Value, reads: Sequence[Value]) -> Value:
        rank = program.rank
        other = draw.choice(reads) if whole else 0.5 * value + 0.4 * draw.choice(reads)
        for _ in range(draw.randint(1, 2)):
            form = draw.choice(("box", "box", "index", "step", "scalar"))
            if form == "box":
                condition = _box(draw, rank, problem.shape)
                value = apply("where", ~condition if draw.random() < 0.2 else condition, other, value)
            elif form == "index":
                place = Value(Index(draw.randrange(rank)))
                value = value + (place if whole else 0.004 * place)
            elif form == "step":
                value = value + (Value(Scalar(STEP)) if whole else 0.01 * Value(Scalar(STEP)))
            else:
                value = value + (_scalar(draw) if whole else 0.1 * _scalar(draw))
        clamped = whole and problem.dtype == "int32"
        return apply("maximum", apply("minimum", value, 1000), -1000) if clamped else value

    values: dict[str, Value] = {}
    for statement in program.statements:
        nodes = values_of(statement.tape, Value)
        reads = [node for node in nodes if isinstance(node.op, Read)]
        values[statement.field] = moved(nodes[-1], reads) if statement.field in chosen else nodes[-1]
    made = stencil(program.name, program.rank, values, fields=program.fields)
    scalars: list[tuple[str, complex | tuple[complex, ...]]] = []
    for name in made.scalars:
        if name == STEP:
            scalars.append((name, tuple(range(problem.steps))))
        elif draw.random() < 0.6:
            scalars.append((name, tuple(_number(draw, problem.dtype) for _ in range(problem.steps))))
        else:
            scalars.append((name, _number(draw, problem.dtype)))
    varying = tuple(name for name, value in scalars if isinstance(value, tuple))
    return replace(case, problem=replace(problem, program=made, varying=varying), scalars=tuple(scalars))


def with_faces(case: LawCase) -> LawCase:
    """The same case with conditions on the faces of its grid, as the program that stands for them.

    That program may read cells further behind than the case's own, which streaming tiles have to keep: their rows are
    then as many as it needs.
    """
    draw = random.Random(f"faces/{case.seed}/{case.index}")  # noqa: S311  (reproducible, not secret)
    problem, program = case.problem, case.problem.program

    def side(given: Boundary) -> Boundary:
        if given.kind == "wrap" or draw.random() < 0.2:
            return given
        kind = draw.choice(("dirichlet", "neumann", "robin"))
        return Boundary(kind, round(draw.uniform(-0.2, 0.2), 3), factor=0.3 if kind == "robin" else 0.0)

    sides = {
        field: tuple((side(low), side(high)) for low, high in axes)
        for field, axes in zip(program.fields, problem.boundaries, strict=True)
    }
    shape = tuple(max(extent, *pair) for extent, pair in zip(problem.shape, program.reach, strict=True))
    made = make_problem(program, shape, problem.steps, problem.dtype, sides)
    tiling = case.tiling
    if tiling.family == streaming.NAME and tiling.rows is not None and program.rank > 1:
        tiling = replace(tiling, rows=max(tiling.rows, streaming.needed_rows(made)))
    return replace(case, problem=made, tiling=tiling)


def with_operators(case: LawCase) -> LawCase:
    """The same case, of a program that also rounds, divides with remainder, clips, and so on.

    Numbers that are rounded take continuous forms of them, strict ones those that are exact.
    """
    draw = random.Random(f"operators/{case.seed}/{case.index}")  # noqa: S311  (reproducible, not secret)
    problem, program = case.problem, case.problem.program
    values: dict[str, Value] = {}
    for statement in program.statements:
        nodes = values_of(statement.tape, Value)
        reads = [node for node in nodes if isinstance(node.op, Read)]
        other, third, value = draw.choice(reads), draw.choice(reads), nodes[-1]
        if "int" in problem.dtype:
            forms = _whole_forms(draw, value, other, third)
            low = 0 if problem.dtype.startswith("u") else -1000
            bounds = (low, 1000) if problem.dtype.endswith("32") else (low // 10, 100)
            value = clipped(draw.choice(forms)(), *bounds)
        else:
            exact, smooth = _number_forms(draw, value, other, third)
            value = 0.5 * value + 0.4 * draw.choice(exact if case.strict else exact + smooth)()
        values[statement.field] = value
    made = stencil(program.name, program.rank, values, fields=program.fields)
    return replace(case, problem=replace(problem, program=made))


Forms = list[Callable[[], Value]]


def _whole_forms(draw: random.Random, value: Value, other: Value, third: Value) -> Forms:
    number = draw.choice((1, 2, 3, 7, 10))
    return [
        lambda: value % number + third,
        lambda: value // number,
        lambda: value % other + third,
        lambda: other + value // third,
        lambda: apply("sign", value) + other,
        lambda: other + apply("rint", value) + apply("floor", third),
        lambda: clipped(value, 0, other),
        lambda: apply("where", apply("ne", other, other), third, value),
        lambda: (value & number) | (~other & third),
    ]


def _number_forms(draw: random.Random, value: Value, other: Value, third: Value) -> tuple[Forms, Forms]:
    """Forms that are exact, and all others; a step comes with what makes up for it."""
    width = draw.choice((0.5, 1.0, 2.0))
    exact: Forms = [
        lambda: abs(value % width - 0.5 * width),
        lambda: abs(value % -width + 0.5 * width),
        lambda: value * apply("sign", value) - other,
        lambda: abs(other - apply("rint", other)),
        lambda: (apply("ceil", other) - other) * (other - apply("floor", other)) - third,
        lambda: abs(value - width * (value // width) - 0.5 * width),
        lambda: clipped(value, -0.75, third * third + 0.25),
        lambda: apply("where", apply("ne", other, other), 0.0, value),
    ]
    smooth: Forms = [
        lambda: apply("atan2", value, 1.5 + abs(other)),
        lambda: apply("tan", 0.5 * clipped(value, -1.0, 1.0)),
        lambda: apply("pow", 0.5 + abs(clipped(value, -1.0, 1.0)), clipped(other, -2.0, 2.0)),
    ]
    return exact, smooth


def _box(draw: random.Random, rank: int, shape: tuple[int, ...]) -> Value:
    """A condition on the cell's place: a box with its sides counted from either end, empty and wide ones among them."""

    def end(extent: int) -> int:
        return draw.choice((draw.randint(0, extent + 2), -draw.randint(1, extent + 2)))

    found: Value | None = None
    for axis in draw.sample(range(rank), draw.randint(1, rank)):
        span = Value(Inside(axis, end(shape[axis]), draw.choice((None, end(shape[axis]), end(shape[axis])))))
        found = span if found is None else found & span
    assert found is not None
    return found


def _number(draw: random.Random, dtype: str) -> complex:
    if "int" in dtype:
        return draw.randint(0 if dtype.startswith("u") else -3, 3)
    number = round(draw.uniform(-1.0, 1.0), 3)
    return complex(number, 0.5 - abs(number) / 2) / 1.2 if dtype in COMPLEX else number


def _sides(draw: random.Random, rank: int, dtype: str, *, wraps: bool) -> Sides:
    def side() -> Boundary:
        kind = draw.choices(("fixed", "constant", "nearest", "reflect", "mirror"), (40, 18, 16, 13, 13))[0]
        return Boundary(kind=kind, value=float(_number(draw, dtype).real) if kind == "constant" else 0.0)

    def axis() -> tuple[Boundary, Boundary]:
        if wraps and draw.random() < 0.7:
            return Boundary(kind="wrap"), Boundary(kind="wrap")
        below = side()
        return (below, below) if draw.random() < 0.5 else (below, side())

    return tuple(axis() for _ in range(rank))


def _reach(draw: random.Random, rank: int) -> list[tuple[int, int]]:
    """Per axis how far reads go below and above; now and then far, often lopsided."""
    far = rank == 1 and draw.random() < 0.12
    spread = (0, 4, 5, 6, 8) if far else (0, 1, 1, 1, 1, 2, 2, 3)
    reach = [(draw.choice(spread), draw.choice(spread)) for _ in range(rank)]
    if draw.random() < 0.5:
        reach = [(max(pair), max(pair)) for pair in reach]
    return [(min(a, 2), min(b, 2)) for a, b in reach] if rank >= 3 else reach


def _program(draw: random.Random, rank: int, dtype: str, *, arithmetic_only: bool) -> Program:
    updated = ("u", "v", "w")[: draw.choices((1, 2, 3), (60, 28, 12))[0]]
    constant = ("k",) if draw.random() < 0.25 else ()
    reach = _reach(draw, rank)
    old = draw.choices((0, -1, -2), (70, 23, 7))[0]
    values: dict[str, Value] = {}
    for position, field in enumerate(updated):
        reads = []
        for _ in range(draw.randint(1, 6)):
            source = field if draw.random() < 0.65 else draw.choice((*updated, *constant))
            level = 0
            if source in updated[:position] and draw.random() < 0.5:
                level = 1
            elif source in updated and draw.random() < 0.3:
                level = old
            reads.append(FieldBuilder(source, level)[tuple(draw.randint(-a, b) for a, b in reach)])
        corner = tuple(draw.choice((-a, b)) for a, b in reach)
        reads.append(FieldBuilder(field)[corner])
        draw.shuffle(reads)
        make = _BY_TYPE.get(dtype) or (_linear if draw.random() < 0.6 else _curved)
        if arithmetic_only and make is _curved:
            make = _algebraic
        values[field] = make(draw, reads, constant, rank)
    return stencil(f"law{rank}d", rank, values, fields=updated)


def _weights(draw: random.Random, count: int) -> list[float]:
    """Distinct coefficients whose sizes sum to 0.97: the field neither explodes nor dies in a few dozen steps."""
    raw = [draw.uniform(0.2, 1.0) * draw.choice((1, 1, 1, -1)) for _ in range(count)]
    total = sum(abs(value) for value in raw)
    return [round(0.97 * value / total, 4) for value in raw]


def weighted_program(draw: random.Random, rank: int) -> Program:
    """Weighted sums of columns along axis 0: whole ones or with holes, of distinct weights or some alike."""
    places = [tuple(draw.randint(-2, 2) for _ in range(rank - 1)) for _ in range(draw.randint(1, 5))]
    offsets = []
    for place in sorted(set(places)):
        low = draw.randint(-2, 1)
        column = range(low, draw.randint(low, 2) + 1)
        offsets += [(y, *place) for y in column if draw.random() < 0.9]
    offsets = offsets or [(0,) * rank]
    weights = _weights(draw, len(offsets))
    if draw.random() < 0.3:
        weights = [draw.choice(weights[:3]) * min(1.0, 3 / len(weights)) for _ in weights]
    total: Value | None = None
    for weight, offset in zip(weights, offsets, strict=True):
        term = weight * FieldBuilder("u")[offset]
        total = term if total is None else total + term
    assert total is not None
    if draw.random() < 0.3:
        total = 0.5 * total + 0.4 * FieldBuilder("k")[(0,) * rank] * FieldBuilder("u", -1)[(0,) * rank]
    return stencil(f"sum{rank}d", rank, {"u": total}, fields=("u",))


def _linear(draw: random.Random, reads: Sequence[Value], constant: Sequence[str], rank: int) -> Value:
    total: Value | None = None
    for weight, value in zip(_weights(draw, len(reads)), reads, strict=True):
        chance = draw.random()
        term = weight * value
        if chance < 0.12:
            term = term * _scalar(draw)
        elif chance < 0.24 and constant:
            term = FieldBuilder(constant[0])[(0,) * rank] * term
        elif chance < 0.3:
            term = value / round(1.03 / weight, 3)
        total = term if total is None else total - (-term) if draw.random() < 0.2 else total + term
    assert total is not None
    return total + 0.01 if draw.random() < 0.2 else total


def _scalar(draw: random.Random) -> Value:
    return Value(Scalar(draw.choice(("a", "b"))))


def _algebraic(draw: random.Random, reads: Sequence[Value], constant: Sequence[str], rank: int) -> Value:
    """Non-linear, of ``+ - * / sqrt`` only."""
    base = _linear(draw, reads, constant, rank)
    other = draw.choice(reads)
    if draw.random() < 0.5:
        return base / apply("sqrt", 1.0 + other * other)
    return base * (1.0 / (1.0 + base * base)) + 0.25 * other / (2.0 + other * other)


def _curved(draw: random.Random, reads: Sequence[Value], constant: Sequence[str], rank: int) -> Value:
    """Non-linear and continuous: a rounding error may not decide a branch that matters."""
    base = _linear(draw, reads, constant, rank)
    other, third = draw.choice(reads), draw.choice(reads)
    forms = (
        lambda: apply("tanh", base + 0.3 * other),
        lambda: 0.6 * apply("sin", base) + 0.4 * apply("cos", other),
        lambda: apply("minimum", base, 0.5 * (other + third)),
        lambda: apply("maximum", base, 0.3 * other - 0.1),
        lambda: apply("where", base > 0.0, base, 0.5 * base) + 0.02 * abs(other),
        lambda: apply("sqrt", abs(other) + 0.1) - 0.5 * base,
        lambda: apply("exp", -(base * base)) - 0.4 * other,
        lambda: apply("log", 1.5 + abs(base)) * 0.9 - 0.2 * third,
        lambda: _algebraic(draw, reads, constant, rank),
        lambda: (
            apply("where", (other < third) | (other > 0.9 + abs(third)), apply("maximum", other, -1.0), third) * 0.9
        ),
    )
    return draw.choice(forms)()


def _integral(draw: random.Random, reads: Sequence[Value], constant: Sequence[str], rank: int) -> Value:
    """Whole numbers, clamped so that nothing overflows; integers are compared exactly."""
    total: Value = draw.choice((-2, -1, 1, 1, 2)) * reads[0]
    for value in reads[1:]:
        term = draw.choice((-2, -1, 1, 1, 2)) * value
        total = draw.choice((lambda a, b: a + b, lambda a, b: a - b, lambda a, b: apply("maximum", a, b)))(total, term)
    if draw.random() < 0.3:
        total = total + _scalar(draw)
    if constant and draw.random() < 0.5:
        total = total - FieldBuilder(constant[0])[(0,) * rank]
    other = draw.choice(reads)
    if draw.random() < 0.4:
        total = apply("where", (other > 3) & ~(total < other), total - other, abs(total))
    return apply("maximum", apply("minimum", total, 1000), -1000)


def _wrapping(draw: random.Random, reads: Sequence[Value], constant: Sequence[str], rank: int) -> Value:
    """Whole numbers that overflow: every operation wraps around, so that a wider intermediate value is found out."""
    total: Value = draw.choice((1, 3, 5)) * reads[0]
    for value in reads[1:]:
        term = draw.choice((1, 2, 7)) * value
        operation = draw.choice(("add", "sub", "mul", "maximum", "minimum"))
        total = apply(operation, total, term)
    if draw.random() < 0.3:
        total = total + _scalar(draw)
    if constant and draw.random() < 0.5:
        total = total - FieldBuilder(constant[0])[(0,) * rank]
    other = draw.choice(reads)
    if draw.random() < 0.4:
        total = apply("where", (other > 3) & ~(total < other), total - other, abs(total))
    if draw.random() < 0.4:
        total = (total + apply("where", total < other, 100, 3)) >> draw.choice((1, 3, 6, 40))
    return -total if draw.random() < 0.2 else total


def _complex(draw: random.Random, reads: Sequence[Value], constant: Sequence[str], rank: int) -> Value:
    """Of complex numbers: sums with real and complex weights, and what is continuous in both parts."""
    base = _linear(draw, reads, constant, rank)
    turned = base * draw.choice((1j, -1j, 0.6 + 0.8j, -0.8 + 0.6j, 1))
    other, third = draw.choice(reads), draw.choice(reads)
    forms = (
        lambda: base,
        lambda: turned,
        lambda: turned + 0.02 * (other.conj() - third.real),
        lambda: 0.5 * turned + 0.4 * abs(other) * (1 - 0.5j),
        lambda: turned / (1.0 + other * other.conj()),
        lambda: 0.3 * turned + 0.2 * third / (3.0 + 0.5 * other),
        lambda: apply("where", other.imag > 0.0, turned, turned - 0.3j * other.imag),
        lambda: apply("minimum", base.real, 0.5 * (other.real + third.imag)) + 0.9j * turned.imag,
    )
    return draw.choice(forms)()


_BY_TYPE = {
    "int32": _integral,
    **dict.fromkeys(WHOLE, _wrapping),
    **dict.fromkeys(COMPLEX, _complex),
}


def _tiling(draw: random.Random, problem: Problem) -> Tiling:
    """A tiling of the family that fits the rank, sized for the reach; its sizes are anything legal, not round."""
    slope = slopes(problem)
    stages = len(problem.program.stages)
    least = max(1, slope[0].widest)
    heights = (2, 4) if problem.program.rank == 3 else (2, 4, 4, 6, 8, 10)
    while True:
        time = draw.choice(heights)
        if time * stages % 2 == 0:
            break
    base = least + draw.choice((0, 0, 1, 2, 5))
    if problem.program.rank == 1:
        return Tiling(family="hexagonal", time=time, space=(base,))
    classic = [draw.choice((1, 3, 5, 8, 16, 24) if axis < problem.program.rank - 1 else (3, 8, 16, 17, 32, 40))
               for axis in range(1, problem.program.rank)]  # fmt: skip
    return Tiling(family="hybrid", time=time, space=(base, *classic))


def _size(draw: random.Random, problem: Problem, tiling: Tiling) -> tuple[tuple[int, ...], int]:
    """Extents and steps: mostly several whole tiles and wavefronts, now and then less than one tile."""
    stages = len(problem.program.stages)
    slope = slopes(problem)
    rank = problem.program.rank
    if tiling == NONE:
        limit = {1: 200, 2: 40, 3: 14, 4: 9}[rank]
        return tuple(draw.randint(1, limit) for _ in range(rank)), draw.randint(0, 9)
    if draw.random() < 0.16:
        limit = {1: 40, 2: 20, 3: 10}[rank]
        return tuple(draw.choice((1, 2, draw.randint(1, limit))) for _ in range(rank)), draw.randint(0, 2 * tiling.time)
    return _large(draw, slope, stages, tiling, problem.program.reach)


def _large(
    draw: random.Random, slope: Sequence[Slope], stages: int, tiling: Tiling, reach: Sequence[tuple[int, int]]
) -> tuple[tuple[int, ...], int]:
    half = tiling.time * stages // 2
    pitch = 2 * tiling.space[0] + 2 * slope[0].widest * (half - 1)
    shape = [3 * pitch + sum(reach[0]) + draw.randint(0, pitch)]
    for size, side, (below, above) in zip(tiling.space[1:], slope[1:], reach[1:], strict=True):
        travel = side.widest * (2 * half - 1)
        shape.append(below + above + travel + 3 * size + draw.randint(0, size + 3))
    return tuple(shape), 2 * tiling.time + draw.randint(-(tiling.time // 2) + 1, tiling.time // 2 + 1)

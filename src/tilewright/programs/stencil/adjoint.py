"""The adjoint of a stencil program: the transposed tangent-linear step, as a program that gathers.

A step maps the state (every time level of the updated fields), the fields that it only reads and the scalars to the
next state. Its adjoint maps the cotangent of the new state (u_bar in the notation of automatic differentiation: the
derivative of a result by it) to that of the old one. Where the step reads ``u`` at distance ``o``, the adjoint reads
the cotangent of the result at distance ``-o`` (J. Hueckelheim et al., "Automatic differentiation for adjoint stencil
loops", ICPP 2019), so that nothing is scattered. What a boundary maps into the grid is added there: ``reflect`` reads
cell 0 as cell -1, so the adjoint adds the cotangent of cell -1 to that of cell 0.
"""

import functools
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.adjoint_parts import Adjoint, Inner, Split, SteadyPart, cotangent_name
from tilewright.programs.stencil.boundaries import Boundary, BoundarySpec, Sides
from tilewright.programs.stencil.expression import Const, Leaf, Placed, Read, Scalar, Value, apply, flatten, level_name
from tilewright.programs.stencil.problem import Problem, Span, make_problem
from tilewright.programs.stencil.program import STEP, Program, Statement, stencil
from tilewright.programs.stencil.slopes import common_node, is_smooth, slopes, slopes_through, values_of

MAPPED = ("nearest", "reflect", "mirror")
_ZERO = Boundary("constant", 0.0)


def adjoint_of(
    program: Program,
    boundary: BoundarySpec = "fixed",
    wanted: Sequence[str] | None = None,  # what no statement updates whose cotangent is summed; by default all of it
    varying: Sequence[str] = (),  # scalars with a value per step, whose cotangent is not summed
) -> Adjoint:
    """Derive the adjoint of a program."""
    if program.complex_constant is not None:
        raise UsageError(f"{program.name!r} computes complex numbers, which have no adjoint here")
    probe = make_problem(program, _smallest(program), 1, "float64", boundary, varying)
    return _made(probe, None if wanted is None else tuple(wanted))


@functools.lru_cache(maxsize=64)
def _made(probe: Problem, wanted: tuple[str, ...] | None) -> Adjoint:
    return _Maker(probe, wanted).make()


class _Maker:
    def __init__(self, probe: Problem, wanted: Sequence[str] | None) -> None:
        program = probe.program
        if program.analysis.sweep:
            raise UsageError(f"{program.name!r} is a recurrence, which has no adjoint here")
        self.program = program
        self.sides = probe.boundaries
        self.problem: Problem = probe
        constant = [
            *(field for field in program.fields if field not in program.updated),
            *(name for name in program.scalars if name not in probe.varying),
        ]
        each = [name for name in wanted or () if name in probe.varying and name != STEP]
        if each:
            raise UsageError(f"gradients are not taken by values per step, got {each[0]!r}", "leave it out of wrt")
        unknown = [name for name in wanted or () if name not in constant]
        if unknown:
            hint = f"wrt may name {', '.join(constant)}" if constant else "it has none: wrt=()"
            raise UsageError(f"{program.name!r} has no coefficient or scalar {unknown[0]!r}", hint)
        self.wanted = constant if wanted is None else list(wanted)
        self.states: dict[str, tuple[str, int]] = {}
        self.positions: dict[int, str] = {}
        self.extents: dict[int, str] = {}
        self.stage: dict[str, str] = {}
        self.age = 0
        self.wrapped = self._wrapped()
        self.even = tuple(self._is_even(axis) for axis in range(program.rank))

    def _is_even(self, axis: int) -> bool:
        """Whether reflecting at an axis is its own transpose: constant weights, the same to both sides."""
        kinds = {side.kind for sides in self.sides for side in sides[axis]}
        near = max(self.program.reach[axis]) <= 1
        if kinds != {"reflect"} and not (near and kinds <= {"reflect", "nearest"}):
            return False
        for statement in self.program.statements:
            values = values_of(statement.tape, Value)
            try:
                derivatives = slopes(statement.tape, values, lambda node: isinstance(node, Read))
            except UsageError:
                return False
            weights = {leaf: flatten(slope) for leaf, slope in derivatives.items() if isinstance(leaf, Read)}
            for read, weight in weights.items():
                turned = tuple(-o if number == axis else o for number, o in enumerate(read.offset))
                other = weights.get(replace(read, offset=turned))
                if other != weight or any(isinstance(node, Read | Placed) for node in weight):
                    return False
        return True

    def _wrapped(self) -> tuple[bool, ...]:
        axes = []
        for axis in range(self.program.rank):
            kinds = {sides[axis][0].kind == "wrap" for sides in self.sides}
            if len(kinds) > 1:
                raise UsageError(
                    f"the fields of {self.program.name!r} wrap along different axes, which has no adjoint here",
                    "let all fields wrap along the same axes",
                )
            axes.append(kinds == {True})
        return tuple(axes)

    def make(self) -> Adjoint:
        """Build the statements: those of the step in reverse, then what is handed on to older levels, then sums."""
        program = self.program
        values = self._of_new_values()
        values |= {**self._of_nodes(), **self._of_levels()}
        sums = {name: f"{name}_bar" for name in self.wanted}
        for name, of in sums.items():
            values[of] = self._read(of) + self._of_constant(name)
        made = stencil(
            f"{program.name}-adjoint",
            program.rank,
            {name: self._as_state(name, value) for name, value in values.items()},
            summary=f"cotangents of a step of {program.name}, from those of the next one",
        )
        rims = {field: f"{field}_rim" for field in program.updated if f"{field}_rim" in values}
        return Adjoint(
            program=made,
            boundary={name: self._side(name) for name in made.fields},
            forward=program,
            sides=self.sides,
            states={name: what for name, what in self.states.items() if name in made.fields},
            positions={axis: name for axis, name in self.positions.items() if name in made.fields},
            extents={axis: name for axis, name in self.extents.items() if name in made.scalars},
            sums=sums,
            kept=rims,
            stages={field: name for field, name in self.stage.items() if field in program.updated},
            split=self._split(values),
            inner=self._inner() if rims and not sums else None,
            steady=self._steady(made) if rims or sums else None,
        )

    def _of_new_values(self) -> dict[str, Value]:
        """The cotangent of a new value: that of the state, and what later statements of the same step make of it."""
        values: dict[str, Value] = {}
        later: list[Statement] = []
        order = [number for stage in self.program.stages for number in stage]
        for statement in (self.program.statements[number] for number in reversed(order)):
            field = statement.field
            readers = [each for each in later if any(r.field == field and r.level == 1 for r in each.reads)]
            later.append(statement)
            if not readers:
                continue
            inside, total = self._inside(statement), self._gathered(field, 1, readers)
            values[f"{field}_bar_now"] = self._read(cotangent_name(field)) + _masked(inside, total)
            self.stage[field] = f"{field}_bar_now"
            if inside is not None:
                values[f"{field}_rim_now"] = self._read(f"{field}_rim") + apply("where", inside, 0.0, total)
                self.stage[f"{field}_rim"] = f"{field}_rim_now"
        return values

    def _node(self, statement: Statement) -> int | None:
        """Place of the node of an expression whose cotangent is a field of its own."""
        if any(read.level == 1 for each in self.program.statements for read in each.reads):
            return None  # there are stages
        return common_node(statement.tape, lambda leaf: isinstance(leaf, Read) and self._is_asked(leaf.field))

    def _is_asked(self, field: str) -> bool:
        return field in self.program.updated or field in self.wanted

    def _of_nodes(self) -> dict[str, Value]:
        """The cotangents of the nodes through which several reads act, where that takes long to compute."""
        values: dict[str, Value] = {}
        for statement in self.program.statements:
            place = self._node(statement)
            if place is None:
                continue
            at = (0,) * self.program.rank
            own = values_of(statement.tape, functools.partial(self._moved, distance=at))
            seed, _, _ = slopes_through(statement.tape, own, lambda node: isinstance(node, Read), place)
            if seed is not None:
                values[f"{statement.field}_bar_node"] = seed * self._read(cotangent_name(statement.field))
        return values

    def _of_levels(self) -> dict[str, Value]:
        """The cotangents of the time levels that a step begins with."""
        values: dict[str, Value] = {}
        for statement in self.program.statements:
            field, inside = statement.field, self._inside(statement)
            for level in range(self.program.history(field)):
                total = self._handed(field, level)
                values[cotangent_name(field, level)] = _masked(inside, total) if level == 0 else total
                if level == 0 and inside is not None:
                    rim = f"{field}_rim"
                    values[rim] = self._now(rim, field=rim) + apply("where", inside, 0.0, total)
        return values

    def _handed(self, field: str, level: int) -> Value:
        """The cotangent of a version for the reads of it, and for being the next older one of the new state."""
        total = self._gathered(field, -level, self.program.statements)
        older = level + 1 < self.program.history(field)
        return _plus(self._read(cotangent_name(field, level + 1)), total) if older else total

    def _remembered(self, field: str) -> Value:
        """The newest of two versions: the cotangent of the older one is that of the last step's reads of it."""
        total = self._gathered(field, 0, self.program.statements)
        self.age = 1
        older = self._gathered(field, -1, self.program.statements)
        self.age = 0
        return _plus(older, total)

    def _inner(self) -> Inner | None:
        """Return the program of the cotangents of updated cells, if steps depend on no state and have no stages."""
        program = self.program
        if self.stage or any(self._node(each) is not None for each in program.statements):
            return None
        two = all(program.history(field) == 2 for field in program.updated)
        bars, totals = {}, {}
        for field in program.updated:
            totals[field] = self._remembered(field) if two else self._handed(field, 0)
            bars[cotangent_name(field)] = totals[field]
            if not two:
                levels = range(1, program.history(field))
                bars |= {cotangent_name(field, level): self._handed(field, level) for level in levels}
        inner = self._stencil("inner", bars)
        if two and any(inner.history(name) != 2 for name in inner.updated):
            return None
        older = self._stencil(
            "older", {cotangent_name(f, 1): self._gathered(f, -1, program.statements) for f in program.updated}
        )
        edges = {f"{field}_rim": totals[field] for field in program.updated if any(map(any, self._margins(field)))}
        summing = self._stencil("edges", {**edges, **{name: self._read(name) for name in bars}})
        if any(
            self.states[name][0] in program.updated for name in self.states if name in (*inner.fields, *summing.fields)
        ):
            return None
        boundary, regions = self._inner_sides(inner)
        return Inner(
            program=inner,
            boundary=boundary,
            regions=regions,
            edges=summing,
            edge_boundary={name: self._side(name) for name in summing.fields},
            older=older if two else None,
            older_boundary={name: self._side(name) for name in older.fields},
        )

    def _stencil(self, what: str, values: Mapping[str, Value]) -> Program:
        return stencil(
            f"{self.program.name}-adjoint-{what}",
            self.program.rank,
            {name: self._as_state(name, value) for name, value in values.items()},
            summary=f"cotangents of a step of {self.program.name}: {what}",
        )

    def _margins(self, field: str) -> tuple[Span, ...]:
        """Cells at both ends of every axis that the program does not update."""
        return self.problem.margins(next(each for each in self.program.statements if each.field == field))

    def _inner_sides(self, found: Program) -> tuple[dict[str, BoundarySpec], dict[str, tuple[Span, ...]]]:
        """Return under which boundaries just the cells are updated that the program updates, and else the regions."""
        boundary = {name: self._side(name) for name in found.fields}
        regions = {
            cotangent_name(field): tuple((low, -high) for low, high in self._margins(field))
            for field in self.program.updated
            if any(map(any, self._margins(field)))
        }
        kept = boundary | {cotangent_name(field): self._kept_sides(field) for field in self.program.updated}
        probe = make_problem(found, _smallest(found), 1, "float64", kept)
        wanted = {cotangent_name(field): self._margins(field) for field in self.program.updated}
        none = ((0, 0),) * found.rank
        if all(probe.margins(each) == wanted.get(each.field, none) for each in found.statements):
            return kept, {}
        return boundary, regions

    def _kept_sides(self, field: str) -> BoundarySpec:
        """The sides of the cotangent of a field, which is zero in cells that are kept."""
        sides = self.sides[self.program.fields.index(field)]
        return tuple(
            tuple(Boundary() if side.kind == "fixed" else this for side, this in zip(pair, own, strict=True))
            for pair, own in zip(sides, self._bar_sides(), strict=True)
        )

    def _split(self, values: Mapping[str, Value]) -> Split | None:
        """Return the program by regions of cells, if cells are told apart and no stage reads them."""
        if self.stage:
            return None
        chosen, regions, rims = dict(values), {}, {}
        for statement in self.program.statements:
            field = statement.field
            margins = self.problem.margins(statement)
            if not any(map(any, margins)):
                continue
            chosen[cotangent_name(field)] = total = self._handed(field, 0)
            regions[cotangent_name(field)] = tuple((low, -high) for low, high in margins)
            del chosen[f"{field}_rim"]
            slabs = {f"{field}_rim{number}": slab for number, slab in enumerate(_slabs(margins))}
            for name, slab in slabs.items():
                chosen[name] = self._read(name) + total
                regions[name] = slab
            rims[f"{field}_rim"] = tuple(slabs)
            if f"{field}_bar_node" in chosen:
                regions[f"{field}_bar_node"] = regions[cotangent_name(field)]
        if not rims:
            return None
        split = self._stencil("split", chosen)
        boundary = {name: self._side(name) for name in split.fields}
        return Split(program=split, boundary=boundary, regions=regions, rims=rims)

    def _steady(self, made: Program) -> SteadyPart | None:
        """Return the program without sums, if steps depend on no state and it has the same cells to update."""
        program = self.program
        past = [read for each in program.statements for read in each.reads if read.level and any(read.offset)]
        if (
            past
            or self.stage
            or any(self._node(each) is not None for each in program.statements)
            or any(self.states[name][0] in program.updated for name in self.states if name in made.fields)
        ):
            return None
        chosen: dict[str, Value] = {}
        for statement in program.statements:
            field = statement.field
            for level in range(program.history(field)):
                chosen[cotangent_name(field, level)] = self._as_state(
                    cotangent_name(field, level), self._handed(field, level)
                )
        sums = {field: f"{field}_sum" for field in program.updated}
        for field, name in sums.items():
            chosen[name] = self._read(name) + self._read(cotangent_name(field))
        steady = stencil(f"{program.name}-adjoint-sums", program.rank, chosen, summary=made.summary)
        boundary = {name: self._side(name) for name in steady.fields}
        boundary |= {cotangent_name(field): self._kept_sides(field) for field in program.updated}
        probe = make_problem(steady, _smallest(steady), 1, "float64", boundary)
        written = {each.field: each for each in steady.statements}
        for statement in program.statements:
            field = statement.field
            if probe.margins(written[cotangent_name(field)]) != self.problem.margins(statement):
                return None
            older = [cotangent_name(field, level) for level in range(1, program.history(field))]
            if any(low or high for name in [*older, sums[field]] for low, high in probe.margins(written[name])):
                return None
        if any(name in self.positions.values() for name in steady.fields):
            return None
        return SteadyPart(program=steady, boundary=boundary, sums=sums)

    def _bar_sides(self) -> Sides:
        return tuple(
            ((Boundary("wrap"),) * 2 if wraps else (Boundary("reflect"),) * 2 if even else (_ZERO, _ZERO))
            for wraps, even in zip(self.wrapped, self.even, strict=True)
        )

    def _as_state(self, name: str, value: Value) -> Value:
        """Return a value that reads something: a cotangent of nothing is set to zero by its own zeroth part."""
        return value if _reads(value) else value + 0.0 * self._read(name)

    def _side(self, name: str) -> BoundarySpec:
        if name in self.states:
            sides = self.sides[self.program.fields.index(self.states[name][0])]
            near = Boundary("nearest")
            return tuple(tuple(near if s.kind == "fixed" else s for s in pair) for pair in sides)
        if name in self.positions.values():
            return "nearest"
        return self._bar_sides()

    def _read(self, name: str, offset: tuple[int, ...] | None = None, level: int = 0) -> Value:
        return Value(Read(name, level, offset or (0,) * self.program.rank))

    def _now(self, name: str, offset: tuple[int, ...] | None = None, *, field: str) -> Value:
        """Read the cotangent of a new value of this step, where later statements of the step count."""
        stage = self.stage.get(field)
        return self._read(name, offset) if stage is None else self._read(stage, offset, 1)

    def _position(self, axis: int) -> Value:
        self.positions.setdefault(axis, f"position{axis}")
        return self._read(self.positions[axis])

    def _extent(self, axis: int) -> Value:
        self.extents.setdefault(axis, f"extent{axis}")
        return Value(Scalar(self.extents[axis]))

    def _inside(self, statement: Statement) -> Value | None:
        """Whether a cell is one that a statement updates; None if all are."""
        tests: list[Value] = []
        for axis, (low, high) in enumerate(self.problem.margins(statement)):
            if low:
                tests.append(self._position(axis) >= low)
            if high:
                tests.append(self._position(axis) < self._extent(axis) - high)
        return _all(tests)

    def _gathered(self, field: str, level: int, readers: Sequence[Statement]) -> Value:
        """The cotangents of reads of a field's version by some statements."""
        terms: list[Value] = []
        for statement in readers:
            for read in statement.reads:
                if read.field == field and read.level == level:
                    terms += self._of_read(statement, read)
        return _summed(terms)

    def _of_constant(self, name: str) -> Value:
        program = self.program
        if name in program.fields:
            return self._gathered(name, 0, program.statements)
        total = Value(Const(0.0))
        for statement in program.statements:
            total = _plus(total, self._term(statement, Scalar(name), (0,) * program.rank))
        return total

    def _of_read(self, statement: Statement, read: Read) -> Iterator[Value]:
        """Yield the cotangent of one read, at the cells that it reads, by where these lie."""
        sides = self.sides[self.program.fields.index(read.field)]
        choices = [list(self._ways(axis, read.offset[axis], sides[axis])) for axis in range(self.program.rank)]
        for ways in itertools.product(*choices):
            term = self._term(statement, read, tuple(distance for distance, _ in ways))
            yield _masked(_all([each for _, each in ways if each is not None]), term)

    def _ways(self, axis: int, offset: int, sides: tuple[Boundary, Boundary]) -> Iterator[tuple[int, Value | None]]:
        """Yield from where along an axis a cell is read at an offset: a distance, and the condition on the cell.

        A read ``offset`` cells away is at the cell itself, or outside where the boundary says that it is this cell.
        """
        yield -offset, None
        if self.even[axis]:
            return
        below, above = sides
        for beyond in range(abs(offset)):
            kind = (below if offset < 0 else above).kind
            if kind not in MAPPED:
                continue
            cell = {"nearest": 0, "reflect": beyond, "mirror": beyond + 1}[kind]
            if offset < 0:
                yield -1 - beyond - offset - cell, apply("eq", self._position(axis), cell)
            else:
                last = self._extent(axis) - (1 + cell)
                yield 1 + beyond + cell - offset, apply("eq", self._position(axis), last)

    def _term(self, statement: Statement, leaf: Leaf, distance: tuple[int, ...]) -> Value:
        """The cotangent of a statement's result at a distance, times its derivative there."""

        def moved(node: Leaf) -> Value:
            return self._moved(node, distance)

        values, field = values_of(statement.tape, moved), statement.field
        now = self._now(cotangent_name(field), distance, field=field)
        cotangent = self._read(cotangent_name(field), distance, -self.age) if self.age else now
        place = self._node(statement)
        if place is None:
            slope = slopes(statement.tape, values, lambda node: node == leaf).get(leaf)
            return self._pulled_back(slope, cotangent, distance)
        _, inner, past = slopes_through(statement.tape, values, lambda node: node == leaf, place)
        through = self._pulled_back(inner.get(leaf), self._read(f"{field}_bar_node", distance, 1), distance)
        return _plus(self._pulled_back(past.get(leaf), cotangent, distance), through)

    def _pulled_back(self, slope: Value | None, cotangent: Value, distance: tuple[int, ...]) -> Value:
        """The cotangent of something at a distance, times a derivative there; zero where there is none."""
        if slope is None:
            return Value(Const(0.0))
        unit = isinstance(slope.op, Const) and slope.op.value == 1
        term = cotangent if unit else slope * cotangent
        if is_smooth(slope):
            return term
        # Beyond the grid there is nothing, and the derivative of nothing may be infinite.
        tests: list[Value] = []
        for axis, step in enumerate(distance):
            if step < 0 and not self.wrapped[axis]:
                tests.append(self._position(axis) >= -step)
            if step > 0 and not self.wrapped[axis]:
                tests.append(self._position(axis) < self._extent(axis) - step)
        condition = _all(tests)
        return _masked(condition, term)

    def _moved(self, node: Leaf, distance: tuple[int, ...]) -> Value:
        if isinstance(node, Placed):
            return Value(replace(node, shift=node.shift + distance[node.axis], wraps=self.wrapped[node.axis]))
        if not isinstance(node, Read):
            return Value(node)
        name = level_name(node.field, node.level)
        offset = tuple(a + b for a, b in zip(node.offset, distance, strict=True))
        self.states.setdefault(name, (node.field, node.level))
        return self._read(name, offset)


def _smallest(program: Program) -> tuple[int, ...]:
    """Return the extents of a grid that may have sides of every kind: those on faces turn reads back."""
    return tuple(max(2, *reach) for reach in program.reach)


def _slabs(margins: tuple[Span, ...]) -> Iterator[tuple[Span, ...]]:
    """Cut what lies outside a box into slabs that do not overlap.

    >>> list(_slabs(((1, 1), (2, 0))))
    [((0, 1), (0, 0)), ((-1, 0), (0, 0)), ((1, -1), (0, 2))]
    """
    for axis, (low, high) in enumerate(margins):
        before = tuple((a, -b) for a, b in margins[:axis])
        behind = ((0, 0),) * (len(margins) - axis - 1)
        if low:
            yield (*before, (0, low), *behind)
        if high:
            yield (*before, (-high, 0), *behind)


def _plus(a: Value, b: Value) -> Value:
    if isinstance(a.op, Const) and a.op.value == 0:
        return b
    return a if isinstance(b.op, Const) and b.op.value == 0 else a + b


def _summed(terms: Sequence[Value]) -> Value:
    """Add terms; a constant that several are multiplied by is taken out."""
    alike: dict[object, list[Value]] = {}
    for number, term in enumerate(terms):
        factor = term.args[0].op if term.op == "mul" else None
        alike.setdefault(factor if isinstance(factor, Const) else number, []).append(term)
    total = Value(Const(0.0))
    for some in alike.values():
        if len(some) > 1:
            inner = functools.reduce(operator.add, (term.args[1] for term in some))
            total = _plus(total, some[0].args[0] * inner)
        else:
            total = _plus(total, some[0])
    return total


def _masked(condition: Value | None, value: Value) -> Value:
    zero = isinstance(value.op, Const) and value.op.value == 0
    return value if zero or condition is None else apply("where", condition, value, 0.0)


def _all(conditions: Sequence[Value]) -> Value | None:
    conjunction: Value | None = None
    for each in conditions:
        conjunction = each if conjunction is None else conjunction & each
    return conjunction


def _reads(value: Value) -> bool:
    stack, seen = [value], set()
    while stack:
        each = stack.pop()
        if isinstance(each.op, Read):
            return True
        if id(each) not in seen:
            seen.add(id(each))
            stack.extend(each.args)
    return False

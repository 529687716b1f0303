"""Random programs under random tilings of every family, changed in one way or another."""

import itertools
import os
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tests.oracles.counting import exact_counts
from tests.sampling import some

from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.expression import Profile, Value
from tilewright.programs.stencil.program import stencil
from tilewright.programs.stencil.regions import is_packable
from tilewright.programs.stencil.slopes import values_of
from tilewright.programs.stencil.storage import Storage, Subdomain
from tilewright.schedules import catalogue
from tilewright.schedules.families import diamond, skewed, streaming
from tilewright.schedules.family import Legal, family_named
from tilewright.schedules.streaming.block import tile_of
from tilewright.schedules.tiling import NONE, Tiling

from .generator import LawCase, make_case, weighted_program
from .harness import legal

FIXED_SEEDS = (20170204, 7)
STRATEGIES = (skewed.FAMILY, diamond.FAMILY)
EVERY = ("none", "prism", streaming.FAMILY, *STRATEGIES)
"""What :func:`drawn` takes: no tiles, the generator's own ones, and those of other families."""
_INNERMOST = (3, 8, 16, 17, 32, 40)
_READS = 30
"""Most reads of a case for thread blocks: every one is written out for every row of a ring."""


def seeds() -> list[Any]:
    """A fixed seed, so that a run can be repeated, another for stress runs, or what is asked for; ``random`` draws."""
    chosen = os.environ.get("TILEWRIGHT_LAWS_SEED")
    if chosen == "random":
        return [secrets.randbelow(2**32)]
    return [int(chosen)] if chosen else some(FIXED_SEEDS, 1)


def large(case: LawCase) -> bool:
    """Whether a case has at least two interior full tiles and two wavefronts."""
    if case.tiling == NONE:
        return False
    counts = exact_counts(case.problem, case.tiling)
    return counts.full >= 2 and counts.wavefronts >= 2


def many_tiles(case: LawCase) -> bool:
    """Whether there are two bands and two streaming tiles, so that halos matter."""
    return case.problem.steps > case.tiling.time and exact_counts(case.problem, case.tiling).tiles_per_wavefront > 1


def strategy_case(family: str, seed: int, index: int) -> LawCase | None:
    """A case of the generator under a random skewed or diamond tiling, or None where none is legal."""
    case = make_case(seed, index)
    draw = random.Random(f"{family}/{seed}/{index}")  # noqa: S311  (reproducible, not secret)
    rank = case.problem.program.rank
    inner = [draw.choice(_INNERMOST if axis == rank - 1 else (1, 3, 5, 8, 12)) for axis in range(rank)]
    sub: tuple[int, ...] = ()
    if rank not in family_named(family).ranks:
        return None
    if family == diamond.FAMILY:
        time = draw.choice((2, 4, 4, 6, 8))
        least = diamond.least_pitch(case.problem, time)
        space = (least + least % 2 + draw.choice((0, 0, 2, 4, 10)), *inner[1:])
    else:
        time = draw.choice((1, 2, 3, 4, 6, 7))
        space = tuple(inner)
        if draw.random() < 0.5:
            sub = space
            space = tuple(size * draw.choice((1, 2, 3)) for size in sub)
    tiling = Tiling(family=family, time=time, space=space, sub=sub)
    if not isinstance(catalogue.check(case.problem, tiling), Legal):
        return None
    stages = len(case.problem.program.stages)
    shape = []
    for size, side, (below, above) in zip(space, slopes(case.problem), case.problem.program.reach, strict=True):
        travel = 2 * side.widest * (time * stages - 1)
        whole = below + above + travel + 3 * size + draw.randint(0, size + 3)
        shape.append(draw.randint(1, 12) if draw.random() < 0.1 else min(whole, {1: 900, 2: 150, 3: 44}[rank]))
    steps = draw.randint(0, time) if draw.random() < 0.15 else draw.randint(time + 1, 3 * time + 1)
    problem = replace(case.problem, shape=tuple(shape), steps=steps)
    return replace(case, problem=problem, tiling=tiling)


def streaming_case(seed: int, index: int) -> LawCase | None:
    """A case of the generator under a random streaming tiling, or None where none is legal."""
    case = make_case(seed, index)
    draw = random.Random(f"streaming/{seed}/{index}")  # noqa: S311  (reproducible, not secret)
    rank = case.problem.program.rank
    if case.problem.rounds and draw.random() < 0.25:
        program = weighted_program(draw, rank)
        sides = case.problem.boundaries[:1] * len(program.fields)
        case = replace(case, problem=replace(case.problem, program=program, boundaries=sides), scalars=())
    limit = {1: 400, 2: 70, 3: 26}[rank]
    shape = tuple(draw.randint(5 if draw.random() < 0.15 else limit // 2, limit) for _ in range(rank))
    levels = draw.choice((1, 2, 3, 4, 6))
    space = tuple(draw.choice((8, 16, 33, 48) if axis == rank - 1 else (5, 9, 16, 40)) for axis in range(rank))
    if rank > 1 and draw.random() < 0.2:  # tiles as wide as the grid: rows stay lifted between bands
        shape, space = (*shape[:-1], draw.randint(172, 260)), (*space[:-1], 264)
    steps = draw.randint(0, levels) if draw.random() < 0.15 else draw.randint(levels + 1, 3 * levels + 1)
    problem = replace(case.problem, shape=shape, steps=steps)
    least = streaming.needed_rows(problem)
    rows = 1 if rank == 1 else min(streaming.MAX_ROWS, least + draw.choice((0, 0, 1, 2)))
    tiling = Tiling(family=streaming.FAMILY, time=levels, space=space, rows=rows)
    if not isinstance(catalogue.check(problem, tiling), Legal):
        return None
    return replace(case, problem=problem, tiling=tiling)


def block_case(seed: int, index: int) -> LawCase | None:
    """A random program under a random streaming tiling of thread blocks, or None where none is legal."""
    case = make_case(seed, index)
    draw = random.Random(f"gpu streaming/{seed}/{index}")  # noqa: S311  (reproducible, not secret)
    known = case.problem.program
    if known.rank == 1 or max(map(max, known.reach)) > 3 or known.loads > _READS:
        return None
    space = (draw.randint(1, 9), *(draw.randint(1, 7) for _ in range(known.rank - 1)))
    threads = (1, *(draw.randint(2, 4) for _ in range(known.rank - 2)), draw.randint(4, 9))
    tiling = Tiling(family=streaming.FAMILY, time=draw.randint(1, 3), space=space, threads=threads)
    shape = tuple(draw.randint(1, {2: 20, 3: 9}[known.rank]) for _ in range(known.rank))
    problem = replace(case.problem, shape=shape, steps=draw.randint(0, 5))
    if case.problem.dtype not in {"float32", "float64", "int32", "int64"}:
        return None
    legal = isinstance(catalogue.check(problem, tiling), Legal)
    if not legal or not tile_of(problem, tiling).written:  # cells of so many reads have no such kernel
        return None
    return replace(case, problem=problem, tiling=tiling)


def tiled_case(family: str, seed: int, index: int) -> LawCase | None:
    """A case under a tiling of one of :data:`EVERY`, or None where none is legal."""
    if family in STRATEGIES:
        return strategy_case(family, seed, index)
    if family == streaming.FAMILY:
        return streaming_case(seed, index)
    case = make_case(seed, index)
    if family == "none":
        return replace(case, tiling=NONE)
    return case if case.tiling != NONE else None


def endless(make: Callable[[int], LawCase | None]) -> Iterator[LawCase]:
    """The cases that exist, each made when it is asked for: finding a legal one of some families is long."""
    return (case for case in map(make, itertools.count()) if case is not None)


def first(count: int, make: Callable[[int], LawCase | None]) -> list[LawCase]:
    """The first cases that exist."""
    return list(itertools.islice(endless(make), count))


def unchanged(case: LawCase) -> LawCase:
    """The case itself."""
    return case


def drawn(
    family: str,
    seed: int,
    count: int,
    change: Callable[[LawCase], LawCase | None] = unchanged,
    dtypes: Sequence[str] = (),
) -> list[LawCase]:
    """Legal cases of a family, each changed; with element types of their own, in turn, where given."""
    turn = itertools.count()

    def made(index: int) -> LawCase | None:
        case = tiled_case(family, seed, index)
        if case is not None and dtypes:
            if case.problem.dtype not in {"float32", "float64"}:
                return None
            dtype = dtypes[next(turn) % len(dtypes)]
            case = replace(case, problem=replace(case.problem, dtype=dtype), strict=False)
        case = case and change(case)
        return case and legal(case)

    return first(count, made)


class PartCase(LawCase):
    """A case whose fields in subdomains start from 0 elsewhere."""

    @property
    def storage(self) -> Storage:
        return Storage(subdomains=self.problem.program.subdomains)

    def arrays(self):
        parts, shape = dict(self.storage.subdomains), self.problem.shape
        given = super().arrays()
        return {
            field: [parts[field].spread(parts[field].cut(each), shape) for each in versions]
            if field in parts
            else versions
            for field, versions in given.items()
        }


def _zero(side: Boundary) -> Boundary:
    """What lies beyond the grid is 0 where a field lives at its ends alone."""
    return replace(side, value=0.0) if side.kind == "constant" else side


def with_subdomains(case: LawCase) -> PartCase | None:
    """The same case, some fields in subdomains, a value scaled by a profile; None where no field can live in one."""
    draw = random.Random(f"subdomains/{case.seed}/{case.index}")  # noqa: S311  (reproducible, not secret)
    problem, program = case.problem, case.problem.program
    able = [field for field in program.updated[1:] if program.history(field) == 1]
    if not able or case.strict:  # under strict, arrays are whole
        return None
    parts: dict[str, Subdomain] = {}
    for field in draw.sample(able, draw.randint(1, len(able))):
        axis = draw.randrange(program.rank)
        low, high = draw.randint(0, 9), draw.randint(0, 9)
        parts[field] = Subdomain(axis, low, max(high, int(not low)))
    values = {each.field: values_of(each.tape, Value)[-1] for each in program.statements}
    profiles: list[tuple[str, tuple[complex, ...]]] = []
    if "int" not in problem.dtype:
        axis = draw.randrange(program.rank)
        profiles.append(("slowly", tuple(draw.uniform(0.5, 1.0) for _ in range(problem.shape[axis]))))
        chosen = draw.choice(program.updated)
        values[chosen] = Value(Profile("slowly", axis)) * values[chosen]
    made = stencil(program.name, program.rank, values, fields=program.fields, subdomains=parts)
    sides = tuple(
        tuple(tuple(_zero(side) if field in parts else side for side in pair) for pair in each)
        for field, each in zip(program.fields, problem.boundaries, strict=True)
    )
    changed = replace(problem, program=made, boundaries=sides)
    if not is_packable(changed):
        return None
    return PartCase(
        seed=case.seed,
        index=case.index,
        problem=changed,
        tiling=case.tiling,
        scalars=(*case.scalars, *profiles),
        strict=case.strict,
    )

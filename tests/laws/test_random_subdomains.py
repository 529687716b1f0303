"""The laws of subdomains: random programs some of whose fields live at the ends of an axis, under every family."""

import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.laws.generator import DRAW, OTHER, LawCase
from tests.laws.harness import Poisoned, legal, tools, verdict
from tests.laws.test_random_places import EVERY, drawn
from tests.laws.test_random_programs import seeds
from tests.laws.test_random_strategies import BATCH
from tests.sampling import some

from tilewright.codegen.emit import emit_all
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.expression import Profile, Value
from tilewright.programs.stencil.program import stencil
from tilewright.programs.stencil.regions import is_packable
from tilewright.programs.stencil.slopes import values_of
from tilewright.programs.stencil.storage import Storage, Subdomain
from tilewright.runtime import cpu
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule

CASES = 8
"""Per family and seed."""
MANY = 45
"""Per family and chunk of the stress run."""
CHUNKS = 6
SEED = 117_000 + DRAW

pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")


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
    if not able:
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
    some = replace(problem, program=made, boundaries=sides)
    if case.strict or not is_packable(some):  # under strict, arrays are whole
        return None
    return PartCase(
        seed=case.seed,
        index=case.index,
        problem=some,
        tiling=case.tiling,
        scalars=(*case.scalars, *profiles),
        strict=case.strict,
    )


def cases_of(family: str, seed: int, count: int, dtypes: tuple[str, ...] = ()) -> list[PartCase]:
    """Cases of a family that have subdomains."""
    found: list[PartCase] = []
    most = 8 * count
    while len(found) < count:
        found = [
            legal(made) for case in drawn(family, seed, most, dtypes) if (made := with_subdomains(case)) is not None
        ]
        most *= 2
    return found[:count]


def failures(cases: list[PartCase]) -> list[str]:
    """What is wrong, one text per case that fails."""
    texts = []
    for strict in (False, True):
        chosen = [case for case in cases if case.strict is strict]
        for start in range(0, len(chosen), BATCH):
            some = chosen[start : start + BATCH]
            units = [(e.problem, cpu_schedule(e.problem, e.tiling, e.storage, strict=strict)) for e in some]
            source = emit_all(units, strict=strict)
            for case, kernel in zip(some, cpu.stencil_kernels(source, tools()), strict=True):
                text = wrong(case, kernel)
                texts += [f"{text}: {case.tiling}, {case.problem}, {case.scalars}"] if text else []
    return texts


def wrong(case: PartCase, kernel: cpu.CompiledKernel) -> str:
    parts, shape, memory = dict(case.storage.subdomains), case.problem.shape, Poisoned()
    kernel = replace(kernel, storage=case.storage)
    packed = {
        field: [parts[field].cut(each) for each in versions] if field in parts else versions
        for field, versions in case.arrays().items()
    }
    result = execute(kernel, case.problem, Inputs(arrays=packed, scalars=case.values), 2, workspace=memory)
    assert all(result[field].shape == part.shape(shape) for field, part in parts.items())
    whole = {field: parts[field].spread(each, shape) if field in parts else each for field, each in result.items()}
    return verdict(case, whole) + memory.torn()


@pytest.mark.parametrize("seed", seeds()[:1])
@pytest.mark.parametrize("family", EVERY)
def test_fields_in_subdomains_agree_with_the_reference(family: str, seed: int) -> None:
    found = failures(cases_of(family, seed, CASES))
    assert not found, "\n".join(found[:3])


@pytest.mark.parametrize("family", some(["streaming", "none"], 1))
def test_fields_in_subdomains_of_other_element_types_agree_with_the_reference(family: str) -> None:
    pytest.importorskip("ml_dtypes")
    found = failures(cases_of(family, seeds()[0], len(OTHER), OTHER))
    assert not found, "\n".join(found[:3])


@pytest.mark.stress
@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_programs_with_subdomains(chunk: int, family: str, tally: Callable[[str], None]) -> None:
    count = int(os.environ.get("TILEWRIGHT_LAWS_SUBDOMAINS", MANY))
    found = failures(cases_of(family, SEED + chunk, count))
    tally(f"subdomains, {family}, chunk {chunk}: {count} random programs, {len(found)} wrong")
    assert not found, "\n".join(found[:3])

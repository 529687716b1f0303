"""Wavefront-diamond tiles: what is refused, what is worth a look, and how the threads of a team share a step."""

import itertools

import pytest

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.families.wavefront_diamond import NAME, candidates
from tilewright.schedules.legality import Legal, Violation
from tilewright.schedules.tiling import Tiling, parse

STAR = make_problem(program("star3d4r"), (40, 60, 50), 12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t=3,s=2x16x32", "even number from 2 to 4096, got t=3"),
        ("t=4,s=2x16", "has 3 sizes"),
        ("t=4,s=2x17x32", "an even number"),
        ("t=4,s=2x16x32,sub=1x1x1", "has no sub"),
        ("t=4,s=2x16x32,threads=1x2x1", "has no threads"),
        ("t=4,s=2x16x32,team=300", "at most 256 threads share"),
    ],
)
def test_what_does_not_apply_is_refused(text, message):
    with pytest.raises(UsageError) as caught:
        catalogue.check(STAR, parse(f"{NAME}:{text}"))
    assert message in str(caught.value)


def test_programs_of_other_ranks_are_refused():
    with pytest.raises(IllegalTilingError, match="cut 3D programs, 'j2d5pt' is 2D"):
        catalogue.check(make_problem(program("j2d5pt"), (20, 20), 4), parse(NAME))


def test_diamonds_that_are_too_steep_are_illegal():
    verdict = catalogue.check(STAR, parse(f"{NAME}:t=4,s=2x14x32"))
    assert isinstance(verdict, Violation)
    assert "their second size is 14, and below 16 dependences lead beyond the neighbouring tile" in verdict.reason
    assert verdict.hint == "make the second tile size at least 16"


def test_diamonds_that_are_too_steep_are_not_swept():
    assert catalogue.sweep(STAR, catalogue.complete(STAR, parse(f"{NAME}:t=4,s=2x16x32"))) is not None
    assert catalogue.sweep(STAR, catalogue.complete(STAR, parse(f"{NAME}:t=4,s=2x14x32"))) is None


@pytest.mark.parametrize("name", ["j3d7pt", "star3d4r", "wave3d", "heat3d"])
def test_every_candidate_is_legal_and_complete(name):
    problem = make_problem(program(name), (40, 60, 400), 12)
    found = list(candidates(problem, 2))
    assert len(set(found)) == len(found) > 15
    assert {each.team for each in found} == {1}
    for tiling in found:
        assert isinstance(catalogue.check(problem, tiling), Legal)
        assert catalogue.complete(problem, tiling) == tiling


@pytest.mark.parametrize("team", [2, 3, 5])
def test_a_team_shares_the_rows_of_every_step(team):
    """Parts differ by a row at most, and the longer ones are not always the same thread's."""
    tiling = Tiling(family=NAME, time=4, space=(40, 20, 80), team=team)
    pieces = [each for each in catalogue.scan(STAR, tiling) if each.wavefront == 3 and each.tile == 1]
    longest = set()
    for _, turn in itertools.groupby(pieces, key=lambda each: each.turn):
        rows = {each.part: each.box[1][1] - each.box[1][0] for each in turn}
        if len(rows) == team:
            assert max(rows.values()) - min(rows.values()) <= 1
            longest |= {part for part, count in rows.items() if count == max(rows.values())}
    assert longest == set(range(team))

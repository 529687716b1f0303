"""The laws of operators: random programs that round, divide with remainder, clip and turn, under every family."""

from collections.abc import Callable

import pytest

from tilewright.programs.stencil.operators import FLAT

from .generator import DRAW, NARROW, WHOLE, make_case, with_operators
from .harness import tools
from .test_random_places import CHUNKS, EVERY, MANY, drawn, failures
from .test_random_programs import seeds

CASES = 8
"""Per family and seed."""
SEED = 92_000 + DRAW
NEW = FLAT | {"remainder", "atan2", "tan", "pow"}

pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")


@pytest.mark.parametrize("seed", seeds()[:1])
@pytest.mark.parametrize("family", EVERY)
def test_operators_agree_with_the_reference(family: str, seed: int) -> None:
    wrong = failures(drawn(family, seed, CASES, change=with_operators))
    assert not wrong, "\n".join(wrong[:3])


@pytest.mark.parametrize("family", ["none", "streaming"])
def test_operators_on_numbers_of_16_bits_agree_with_the_reference(family: str) -> None:
    pytest.importorskip("ml_dtypes")
    wrong = failures(drawn(family, seeds()[0], 8, NARROW, with_operators))
    assert not wrong, "\n".join(wrong[:3])


def test_operators_on_whole_numbers_are_exact() -> None:
    wrong = failures([with_operators(make_case(8, index)) for index in range(5 * len(WHOLE))])
    assert not wrong, "\n".join(wrong[:3])


def test_every_operator_is_drawn() -> None:
    cases = [with_operators(make_case(seed, index)) for seed in (7, 8) for index in range(100)]
    nodes = [node for case in cases for each in case.problem.program.statements for node in each.tape]
    assert {getattr(node, "op", None) for node in nodes} >= NEW


@pytest.mark.stress
@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_programs_with_operators(chunk: int, family: str, tally: Callable[[str], None]) -> None:
    wrong = failures(drawn(family, SEED + chunk, MANY, change=with_operators))
    tally(f"operators, {family}, chunk {chunk}: {MANY} random programs, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:3])

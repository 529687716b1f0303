"""Counts of schedule trees by a walk over every tile, and by classes of tiles, which are the tests' own."""

import random

import pytest
from tests.oracles import forms
from tests.oracles.counting import exact_counts
from tests.oracles.forms import Ambiguous, Atom, AtomKind, Class, FormScope, Later, number

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.family import Legal
from tilewright.schedules.tiling import parse
from tilewright.schedules.tree.affine import STEPS, Name, Whole, ceiling, extent_of, floor_div, least, most, value


def same(problem, tiling):
    tiling = catalogue.complete(problem, tiling)
    counts = catalogue.counts(problem, tiling)
    assert counts == exact_counts(problem, tiling), (str(tiling), problem)
    return counts


@pytest.mark.parametrize(("rank", "seeds"), [(1, 40), (2, 25), (3, 8)])
def test_random_programs_in_streams(random_case, rank, seeds):
    full = 0
    for seed in range(500, 500 + seeds):
        problem, _ = random_case(seed, rank)
        tiling = catalogue.complete(problem, parse(f"streaming:t=3,s={'x'.join(['7'] * rank)}"))
        if isinstance(catalogue.check(problem, tiling), Legal):
            full += same(problem, tiling).full
    assert full > 0 or rank == 3


def test_bands_of_streams_that_differ_in_their_start_alone_are_counted_once(monkeypatch):
    made = []
    monkeypatch.setattr(streaming, "_box", lambda *a, real=streaming._box: made.append(a[2]) or real(*a))
    problem = make_problem(program("j2d5pt"), (60, 200), 97)
    counts = same(problem, parse("streaming:t=4,s=20x40,rows=2"))
    assert counts.wavefronts >= 24
    assert len(made) < 60


def of_atom(atom, v):
    """The value of an atom where its variable is v."""
    if atom.kind is AtomKind.ITSELF:
        return v
    stairs, residue = divmod(atom.factor * v, atom.divisor)
    return stairs if atom.kind is AtomKind.STAIRS else residue


def test_a_class_of_residues_counts_its_numbers():
    rng = random.Random(3)  # noqa: S311
    for _ in range(400):
        k, c = rng.randint(1, 40), rng.randint(2, 40)
        low = rng.randint(0, 30)
        first = rng.randrange(c)
        piece = Class(low, low + rng.randint(0, 60), (k, c), (first, rng.randint(first, c - 1)))
        numbers = [v for v in range(piece.low, piece.high + 1) if piece.residues[0] <= k * v % c <= piece.residues[1]]
        assert piece.size == len(numbers)
        for atom in (Atom(0), Atom(0, AtomKind.STAIRS, k, c), Atom(0, AtomKind.RESIDUE, k, c)):
            least_, most_ = piece.bounds(atom)
            assert all(least_ <= of_atom(atom, v) <= most_ for v in numbers)
            if most_ > least_:
                parts = piece.cut(atom, (rng.randint(least_ + 1, most_),))
                assert sum(part.size for part in parts) == piece.size


def test_an_expression_is_a_form_on_every_class():
    """Cut until there is a form, then compare it with the number itself, at every number of the class."""
    rng = random.Random(5)  # noqa: S311
    v, n = Name("v"), extent_of(0)
    for _ in range(200):
        a, b, c = rng.randint(1, 9), rng.randint(1, 30), rng.randint(2, 9)
        expression = rng.choice(
            [
                least(v * a + b, n) - most(v - c, 0),
                floor_div(n * v, 17) - floor_div(n * (v - 1), 17),
                ceiling(v * a + b, c) * c - v % c,
                floor_div(v * -a + b, c) + least(v // c, b),
            ]
        )
        extent, last = rng.randint(5, 60), rng.randint(1, 40)
        scope, pieces, seen = FormScope(), [Class(0, last)], 0
        while pieces:
            scope.classes = [pieces.pop()]
            try:
                form = scope.value(expression, {"v": scope.variable(), "n0": number(extent)})
            except Ambiguous as why:
                pieces += scope.classes[0].cut(why.atom, why.at)
                continue
            (k, d), (first, end) = scope.classes[0].stairs, scope.classes[0].residues
            for at in range(scope.classes[0].low, scope.classes[0].high + 1):
                if d > 1 and not first <= k * at % d <= end:
                    continue
                found = form.constant + sum(factor * of_atom(atom, at) for atom, factor in form.terms.items())
                assert found == value(expression, {"v": at, "n0": extent})
                seen += 1
        assert seen == last + 1


def test_what_nobody_asks_for_cuts_nothing():
    names = {"v": Later(Name("w") % 2, {"w": forms.Form(0, {Atom(0): 1})})}
    scope = FormScope()
    scope.classes = [Class(0, 9)]
    assert scope.value(STEPS + 1, {**names, "steps": number(3)}) == number(4)
    with pytest.raises(Ambiguous):
        scope.constant(scope.value(Name("v"), names))
    assert scope.value(Whole(7), names) == number(7)

"""Tracing: what a user may write, and one sentence for everything else."""

import math

import numpy as np
import pytest

from tilewright.base.errors import TraceError
from tilewright.programs.stencil.expression import Read, apply
from tilewright.programs.stencil.program import with_coefficients
from tilewright.tracing import trace


def test_fields_are_indexed_and_scalars_are_not():
    def heat(u, alpha):
        """Heat equation.

        More text.
        """
        return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])

    program = trace(heat)
    assert (program.name, program.rank, program.summary) == ("heat", 2, "Heat equation.")
    assert (program.fields, program.scalars) == (("u",), ("alpha",))
    assert program.loads == 5
    assert program.reach == ((1, 1), (1, 1))
    variable = with_coefficients(program, ("alpha",))
    assert (variable.fields, variable.scalars) == (("u", "alpha"), ())
    assert Read("alpha", 0, (0, 0)) in variable.statements[0].reads


def test_lambdas_tuples_and_dicts():
    assert trace(lambda u: u[-1] + u[1]).name == "stencil"
    assert trace(lambda u: u[-1] + u[1], "mine").name == "mine"
    pair = trace(lambda u, v: (u[0] + v[1], v[0] - u[1]))
    assert [s.field for s in pair.statements] == ["u", "v"]
    by_name = trace(lambda u, v, k: {"v": v[0] + u[1] * k[0]})
    assert by_name.updated == ("v",)
    assert by_name.fields == ("u", "v", "k")
    ordered = trace(lambda u, v: (u[0] + v[1], v[0] + u.new[-1]))
    assert Read("u", 1, (-1,)) in ordered.statements[1].reads


def test_time_levels_and_scalars_everywhere():
    program = trace(lambda u, b, a: np.sqrt(a) * u[0] + (2 - b) * u.prev[0] + abs(-a) * u.prev2[1])
    assert program.scalars == ("b", "a")
    assert program.history("u") == 3


def test_a_scalar_in_a_condition():
    program = trace(lambda u, limit: apply("where", limit < u[0], limit, u[0]))
    assert program.scalars == ("limit",)


def _returns_nothing(u):
    u[0]


def _truth(u):
    return u[1] if u[0] > 0 else u[-1]


def _assigns(u):
    u[0] = u[1]
    return u[0]


def _two_ranks(u, v):
    return u[0] + v[0, 1]


def _clash(u, a):
    return u[0] + a + a[1]


def _unused(u, a):
    return u[0] + u[1]


def _reserved(u, steps):
    return u[0] + steps


def _starred(*u):
    return u[0]


def _keywords(u, **more):
    return u[0]


def _divides_by_zero(u):
    return u[0] + 1 / 0


def _unpacks(u):
    a, b = u[0]
    return a + b


def _loops(u):
    return sum(each for each in u)


def _by_name(u, *, a):
    return a * u[0]


def _array(u):
    return u[0] * np.arange(3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_returns_nothing, "returns nothing"),
        (_truth, "has no truth while it is traced"),
        (_assigns, "nothing is assigned to 'u'"),
        (_two_ranks, "is 1D but reads v"),
        (_clash, "'a' is used both with and without an index"),
        (_unused, "'a' of '_unused' is never used"),
        (_reserved, "'steps' of '_reserved' clashes with an option"),
        (_starred, "takes a fixed list of arguments"),
        (_keywords, "takes a fixed list of arguments"),
        (_divides_by_zero, "failed: ZeroDivisionError"),
        (_unpacks, "cannot be unpacked"),
        (lambda u: u[0][1], r"takes no index \(hint: all offsets stand in one bracket: u\[-1, 0\]\)"),
        (_array, "got a ndarray|no operator of a stencil"),
        (lambda: 1, "takes no argument"),
        (lambda u: 1.0, "indexes no field"),
        (lambda u: u + 1, "indexes no field"),
        (lambda u: (u[0], u[1]), "returns 2 values but has 1 argument"),
        (lambda u: {"w": u[0]}, "updates 'w', which is not one of its arguments"),
        (lambda u: u["x"], "whole numbers"),
        (lambda u: u[0.5], "whole numbers"),
        (lambda u: u[0:2], r"whole numbers, got u\[0:2\]"),
        (lambda u, i: u[i * i, 0], r"whole numbers, got u\[a value, 0\]"),
        (lambda u: u[u[0], 0], r"whole numbers, got u\[a value, 0\]"),
        (_loops, "cannot be looped over"),
        (lambda u: u.next[0], "the field 'u' of .* has no 'next'"),
        (lambda u: 2 * u[0] - u.prev, "another time level of 'u' is used without an index"),
        (lambda u: u[0] + u.prev.prev[0], r"a time level of 'u' has no levels of its own, got u.prev.prev .*u.prev2"),
        (lambda u: u[0] ^ 1, r"a stencil has &, |, ~ and >> of whole numbers, got \^ .*of truth values \^ is !="),
        (lambda u: 2 << u[0], r"a stencil has &, |, ~ and >> of whole numbers, got <<"),
        (lambda u: u[0] & 1.5, r"& works on the bits of whole numbers, got 1.5 .*compare first"),
        (lambda u: u[0] >> 1.0, r">> works on the bits of whole numbers, got 1.0"),
        (lambda u: u[0] + u.prev2.prev[0], r"got u.prev2.prev"),
        (lambda u: u[0] + u.new.prev[-1], r"got u.new.prev"),
        (lambda u: u[0] + u.prev.new[-1], r"got u.prev.new"),
        (lambda u: u[0] + u.new.new[-1], r"got u.new.new"),
        (lambda u: math.sqrt(u[0]), "in a way that only numbers can be used"),
        (
            lambda u, a="3": a * u[0],
            r"the default of 'a' of 'stencil' must be a number, got '3' \(hint: write it without",
        ),
        (lambda u, a=None: a * u[0], "the default of 'a' of 'stencil' must be a number, got None"),
        (lambda u, v=2.0: v[0] * u[0], "the field 'v' of 'stencil' has the default 2.0, which only scalars have"),
        (_by_name, "takes arguments by position"),
        (lambda u: u[65], "may reach 64 cells"),
        (lambda u: u[0, 0, 0, 0, 0], "1 to 4 dimensions"),
        (lambda u, k: u[0] + k.prev[0], "has no other time level"),
        (lambda u: u[0] + "x", "got a str"),
        (lambda u: [u[0] + None], "got a NoneType"),
    ],
)
def test_what_a_stencil_cannot_do_is_one_sentence(function, message):
    with pytest.raises(TraceError, match=message) as caught:
        trace(function)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2

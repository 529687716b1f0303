"""Recurrences from Python functions."""

import pytest

import tilewright as tw
from tilewright.base.errors import TraceError, UsageError
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.recurrence import trace_recurrence
from tilewright.workloads.tables.report import describe, lines


def gotoh(h, e, f, a, b, score, gap_open, gap_extend):
    """Scores of local alignments."""
    return {
        "e": tw.maximum(e[0, -1] - gap_extend, h[0, -1] - gap_open),
        "f": tw.maximum(f[-1, 0] - gap_extend, h[-1, 0] - gap_open),
        "h": tw.maximum(tw.maximum(tw.maximum(h[-1, -1] + score[a[0], b[0]], e[0, 0]), f[0, 0]), 0),
    }


def test_several_tables_inputs_and_a_matrix():
    found = trace_recurrence(gotoh, rows=("a",), columns=("b",), outside={"h": 0})
    assert found.summary == "Scores of local alignments."
    assert [(each.name, each.kind) for each in found.inputs] == [("a", "row"), ("b", "column"), ("score", "matrix")]
    assert found.scalars == ("gap_open", "gap_extend")
    assert set(lines(found)) == set(lines(recurrence_named("smith_waterman")))
    assert found.statements[-1].table == "h"  # it needs e and f of the same cell
    assert found.reach == (1, 1)
    assert found.operations == 11


def test_what_is_returned_updates_the_leading_tables():
    found = trace_recurrence(lambda p, q: (p[-1, 0] + q[0, -1], p[0, 0] + 1), outside=0)
    assert found.tables == ("p", "q")
    assert [each.table for each in found.statements] == ["p", "q"]


def test_outside_is_an_expression_of_place_and_scalars():
    found = trace_recurrence(
        lambda d, gap: tw.minimum(d[-1, 0], d[0, -1]) + gap, outside=lambda i, j, gap: gap * (tw.maximum(i, j) + 1)
    )
    assert found.scalars == ("gap",)
    assert "outside" not in describe(found)


def test_a_decorated_function_prints_and_is_filled():
    @tw.recurrence(rows="a", columns="b", outside=0)
    def run(c, a, b):
        return tw.where(a[0] == b[0], c[-1, -1] + 1, 0)

    assert repr(run) == "recurrence run(c, a, b):\n  c = where(a[0] == b[0], c[-1, -1] + 1, 0)"
    assert tw.fill(run, "banana", "anan", result="sum") == 4
    with pytest.raises(UsageError, match=r"tw\.fill"):
        run("banana")


def test_what_cannot_be_traced():
    for function, options, message in [
        (lambda d: d[0, 1], {}, "is not computed yet"),
        (lambda d: d[1, 0], {}, "is not computed yet"),
        (lambda d: d[0, 0], {}, "needs itself"),
        (lambda p, q: (q[0, 0], p[0, 0]), {}, "needs itself"),
        (lambda d: d[-1], {}, "two indices"),
        (lambda d: d.prev[-1, 0], {}, "one sweep"),
        (lambda d: d[-65, 0], {}, "64 cells far"),
        (lambda d, a: d[-1, 0] + a[0], {}, "per row or per column"),
        (lambda d, a: d[-1, 0] + a[-1], {"rows": ("a",)}, "read at the cell"),
        (lambda d, a: d[-1, 0] + a[-1, 0], {}, "read at the cell"),
        (lambda d, a, s: d[-1, 0] + s[a[0], a[0], a[0]], {"rows": ("a",)}, "by two values"),
        (lambda d, a: d[-1, 0] + 1, {}, "never used"),
        (lambda d: d[-1, 0] + 1, {"rows": ("a",)}, "never read"),
        (lambda d: d[-1, 0] ** 0.5, {}, "cannot use 'pow'"),
        (lambda d: None, {}, "returns nothing"),
        (lambda d: d[-1, 0] if d[0, -1] else 0, {}, "no truth"),
        (lambda d: d[-1, 0], {"outside": lambda i: i}, "function of the row and the column"),
        (lambda d: d[-1, 0], {"outside": {"e": 0}}, "is no table"),
        (lambda d: d[-1, 0], {"semiring": "plus_times"}, "max_plus, min_plus, or_and"),
    ]:
        with pytest.raises((TraceError, UsageError), match=message):
            trace_recurrence(function, **options)

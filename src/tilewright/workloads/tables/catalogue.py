"""The built-in recurrences. Sequences are one number per letter; see each one's summary for its inputs."""

import functools
from collections.abc import Callable

from tilewright.base.errors import UsageError, meant
from tilewright.programs.stencil.expression import Scalar, Value, apply
from tilewright.programs.stencil.program import FieldBuilder
from tilewright.workloads.tables.problem import COLUMN, ROW, Recurrence, lookup, recurrence

_A, _B = FieldBuilder("a"), FieldBuilder("b")
_DISTANCE = apply("maximum", Value(Scalar(ROW)), Value(Scalar(COLUMN))) + 1
"""Letters before the cell on the side of the table where it lies; 0 at the corner."""


def _affine(name: str, *, local: bool) -> Recurrence:
    """Return an alignment with affine gaps: a gap of length k costs gap_open + (k - 1) gap_extend."""
    h, e, f = FieldBuilder("h"), FieldBuilder("e"), FieldBuilder("f")
    opening, extending = Value(Scalar("gap_open")), Value(Scalar("gap_extend"))
    pair = h[-1, -1] + lookup("score", _A[0], _B[0])
    best = apply("maximum", apply("maximum", pair, e[0, 0]), f[0, 0])
    values = {
        "h": apply("maximum", best, 0) if local else best,
        "e": apply("maximum", e[0, -1] - extending, h[0, -1] - opening),
        "f": apply("maximum", f[-1, 0] - extending, h[-1, 0] - opening),
    }
    edge = apply("where", _DISTANCE > 0, -(opening + extending * (_DISTANCE - 1)), 0)
    kind = "local" if local else "global"
    return recurrence(
        name,
        values,
        inputs={"a": "row", "b": "column"},
        order=("a", "b", "score", "gap_open", "gap_extend"),
        outside={"h": 0} if local else {"h": edge},
        summary=f"{kind} alignment with affine gaps: scores h of sequences a and b by the matrix score",
    )


def _edit_distance() -> Recurrence:
    d = FieldBuilder("d")
    change = d[-1, -1] + apply("where", _A[0] == _B[0], 0, 1)
    return recurrence(
        "edit_distance",
        {"d": apply("minimum", change, apply("minimum", d[-1, 0], d[0, -1]) + 1)},
        inputs={"a": "row", "b": "column"},
        outside={"d": _DISTANCE},
        semiring="min_plus",
        summary="Levenshtein distance d of the beginnings of a and b: letters changed, left out and put in",
    )


def _lcs() -> Recurrence:
    c = FieldBuilder("c")
    longer = apply("maximum", c[-1, 0], c[0, -1])
    return recurrence(
        "lcs",
        {"c": apply("maximum", longer, c[-1, -1] + apply("where", _A[0] == _B[0], 1, 0))},
        inputs={"a": "row", "b": "column"},
        outside={"c": 0},
        summary="length c of a longest common subsequence of the beginnings of a and b",
    )


def _monotone_paths() -> Recurrence:
    p = FieldBuilder("p")
    start = (Value(Scalar(ROW)) == -1) & (Value(Scalar(COLUMN)) == 0)
    return recurrence(
        "monotone_paths",
        {"p": apply("and", FieldBuilder("free")[0, 0] != 0, apply("or", p[-1, 0], p[0, -1]))},
        outside={"p": start},
        semiring="or_and",
        summary="whether steps right and down over free cells lead from the first cell to each other one",
    )


_NAMED: dict[str, Callable[[], Recurrence]] = {
    "smith_waterman": lambda: _affine("smith_waterman", local=True),
    "needleman_wunsch": lambda: _affine("needleman_wunsch", local=False),
    "edit_distance": _edit_distance,
    "lcs": _lcs,
    "monotone_paths": _monotone_paths,
}


def names() -> tuple[str, ...]:
    """Every built-in recurrence.

    >>> names()
    ('smith_waterman', 'needleman_wunsch', 'edit_distance', 'lcs', 'monotone_paths')
    """
    return tuple(_NAMED)


@functools.lru_cache(maxsize=16)
def recurrence_named(name: str) -> Recurrence:
    """Return a built-in recurrence."""
    if name in _NAMED:
        return _NAMED[name]()
    hint = meant(name, names(), f"the recurrences are {', '.join(names())}")
    raise UsageError(f"there is no built-in recurrence {name!r}", hint)

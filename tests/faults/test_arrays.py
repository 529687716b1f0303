"""Row 11: arrays as nobody should pass them. Each gives the right answer or one clear sentence."""

import itertools
import math

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TilewrightError
from tilewright.inputs.stencil import as_program

pytestmark = [
    pytest.mark.filterwarnings("ignore:values of .* are not finite:UserWarning"),
    pytest.mark.filterwarnings("ignore:running with NumPy, .* no code is generated:UserWarning"),
]
PROGRAMS = ("jacobi1d", "jacobi2d", "laplacian3d", "heat2d_var", "wave2d", "fdtd2d")
SIZES = {1: (41,), 2: (23, 31), 3: (9, 11, 13)}


def few(values, name, default):
    """Run a test with some values by default, and with the others under ``-m stress``."""
    marked = [value if value in default else pytest.param(value, marks=pytest.mark.stress) for value in values]
    return pytest.mark.parametrize(name, marked)


REPEATED = ("a number", "no dimension", "one dimension less")
"""What is no field of cells, but a coefficient: it is repeated over the grid."""
HUGE = {1: (2**42,), 2: (2**21,) * 2, 3: (2**13,) * 3}
STEPS = 5


def _data(rank, dtype=np.float64, seed=1):
    return np.random.default_rng(seed).uniform(0.1, 0.9, SIZES[rank]).astype(dtype)


class _Mine(np.ndarray):
    """A subclass that somebody made."""


class _Promise:
    """An object that lies about being an array."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("I am no array after all")


def _unaligned(a):
    raw = np.zeros(a.nbytes + 1, dtype=np.uint8)
    found = raw[1:].view(a.dtype).reshape(a.shape)
    found[...] = a
    return found


def _strided(a):
    whole = np.zeros(tuple(3 * n for n in a.shape), a.dtype)
    view = whole[tuple(slice(None, None, 3) for _ in a.shape)]
    view[...] = a
    return view


def _inside(a):
    whole = np.full(tuple(n + 4 for n in a.shape), np.nan, a.dtype)
    view = whole[tuple(slice(2, -2) for _ in a.shape)]
    view[...] = a
    return view


def _read_only(a):
    found = a.copy()
    found.flags.writeable = False
    return found


LAYOUTS = {
    "in order": lambda a: a,
    "Fortran order": np.asfortranarray,
    "every third": _strided,
    "inside another": _inside,
    "backwards": lambda a: np.ascontiguousarray(a[(slice(None, None, -1),) * a.ndim])[
        (slice(None, None, -1),) * a.ndim
    ],
    "backwards in one axis": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "transposed twice": lambda a: np.ascontiguousarray(a.T).T,
    "read-only": _read_only,
    "unaligned": _unaligned,
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "a subclass": lambda a: a.view(_Mine),
    "nested lists": lambda a: a.tolist(),
    "float32": lambda a: a.astype(np.float32).astype(np.float64),
    "from a buffer": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
    "memory map": lambda a: a,
}
"""Layouts of good values: the answer is that of plain arrays, and the input stays as it was."""
BAD = {
    "a number": lambda _: 3.0,
    "no dimension": lambda _: np.float64(3.0),
    "nothing": lambda _: None,
    "a text": lambda _: "u.npy",
    "bytes": lambda _: b"\x00" * 64,
    "texts": lambda a: a.astype(str),
    "dates": lambda a: np.zeros(a.shape, "datetime64[s]"),
    "durations": lambda a: np.zeros(a.shape, "timedelta64[s]"),
    "objects": lambda a: a.astype(object),
    "objects that are no numbers": lambda a: np.full(a.shape, None, dtype=object),
    "records": lambda a: np.zeros(a.shape, [("x", "f4"), ("y", "i2")]),
    "raw bytes": lambda a: np.zeros(a.shape, "V8"),
    "one dimension more": lambda a: a[None],
    "one dimension less": lambda a: a[0],
    "five dimensions": lambda _: np.zeros((2,) * 5),
    "an empty axis": lambda a: np.zeros((0, *a.shape[1:])),
    "all axes empty": lambda a: np.zeros((0,) * a.ndim),
    "ragged lists": lambda _: [[1.0, 2.0], [3.0]],
    "an empty list": lambda _: [],
    "a dictionary": lambda _: {"u": 1},
    "a set": lambda _: {1.0, 2.0},
    "a function": lambda _: len,
    "a class": lambda _: float,
    "a liar": lambda _: _Promise(),
    "a generator": lambda a: (x for x in a.flat),
    "too large for memory": lambda a: np.broadcast_to(np.float64(1), HUGE[a.ndim]),
    "more than 2^31 cells of nothing": lambda a: np.broadcast_to(np.int8(1), (2**40,) + (1,) * (a.ndim - 1)),
    "masked": lambda a: np.ma.masked_greater(a, 0.5),
}
"""Arrays that have no answer for any program here."""


def _call(name, arrays, **options):
    """Run a program from arrays that stand for all time levels of their fields."""
    program = tw.program(name)
    histories = itertools.chain(map(program.history, program.fields), itertools.repeat(1))
    starts = [(a,) * history if history > 1 else a for a, history in zip(arrays, histories, strict=False)]
    results = tw.run(name, *starts, steps=STEPS, **options)
    return results if isinstance(results, tuple) else (results,)


def _inputs(name):
    rank = tw.program(name).rank
    fields = tw.program(name).fields
    return [_data(rank, seed=n) * (0.2 if field in {"k", "c", "alpha"} else 1.0) for n, field in enumerate(fields)]


@few(PROGRAMS, "name", ("jacobi2d", "wave2d"))
def test_any_layout_gives_the_answer_of_plain_arrays(name, tally, tmp_path):
    plain = _inputs(name)
    expected, count = _call(name, plain), 0
    for layout, make in LAYOUTS.items():
        given = [make(a) for a in plain]
        if layout == "memory map":
            for number, a in enumerate(plain):
                np.save(tmp_path / f"{number}.npy", a)
            given = [np.load(tmp_path / f"{number}.npy", mmap_mode="r") for number in range(len(plain))]
        right = _call(name, plain if layout != "float32" else [a.astype(np.float32).astype(np.float64) for a in plain])
        before = [np.array(a, copy=True) for a in given]
        for ours, theirs in zip(_call(name, given), right, strict=True):
            np.testing.assert_array_equal(np.asarray(ours), theirs, err_msg=layout)
        assert all(np.array_equal(np.asarray(a), b) for a, b in zip(given, before, strict=True)), layout
        count += 1
    assert all(np.isfinite(each).all() for each in expected)
    tally(f"arrays of {name}: {count} layouts, all right, no input changed")


@few(PROGRAMS, "name", ("jacobi2d", "wave2d"))
@pytest.mark.filterwarnings("ignore:no cell of")
def test_what_has_no_answer_is_one_sentence(name, tally):
    plain, count = _inputs(name), 0
    coefficients = [as_program(name).fields[place] not in as_program(name).updated for place in range(len(plain))]
    for (kind, make), place in itertools.product(BAD.items(), range(len(plain))):
        if coefficients[place] and kind in REPEATED:
            continue
        given = [make(a) if number == place else a for number, a in enumerate(plain)]
        with pytest.raises(TilewrightError) as caught:
            pytest.fail(f"{kind}: {_call(name, given)}")
        message = str(caught.value)
        assert "\n" not in message, kind
        assert 10 < len(message) < 400, (kind, message)
        count += 1
    for given in (plain[:-1], [*plain, plain[0]], []):
        with pytest.raises(TilewrightError, match="takes"):
            _call(name, given)
        count += 1
    if len(plain) > 1:
        for number in range(len(plain)):
            given = [a[1:] if place == number else a for place, a in enumerate(plain)]
            with pytest.raises(TilewrightError, match="shape"):
                _call(name, given)
            count += 1
    tally(f"arrays of {name} that have no answer: {count} of {count} refused in one sentence")


@few(("nan", "inf", "-inf", "huge", "denormal", "zeros", "negative zero"), "kind", ("nan", "huge"))
def test_values_that_numbers_can_have(kind, tally):
    """What IEEE arithmetic makes of them is the answer, as NumPy gives it."""
    known = {"huge": 1e300, "denormal": 5e-324, "zeros": 0.0, "negative zero": -0.0}
    value = known[kind] if kind in known else float(kind)
    count = 0
    for name in ("jacobi1d", "jacobi2d", "laplacian3d", "wave2d"):
        for where in ("one cell", "everywhere"):
            arrays = _inputs(name)
            arrays[0][
                (slice(None),) * arrays[0].ndim if where == "everywhere" else tuple(n // 2 for n in arrays[0].shape)
            ] = value
            with np.errstate(all="ignore"):
                ours, theirs = _call(name, arrays, strict=True), _call(name, arrays, backend="numpy")
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)
            count += 1
    tally(f"arrays with {kind}: {count} of {count} as NumPy computes them")


def _refusal_of(name, values, **options):
    """The error that a call raises, or an empty text."""
    try:
        tw.run(name, values, **{"steps": STEPS, **options})
    except TilewrightError as error:
        return str(error)
    return ""


TYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16")


@few(TYPES, "dtype", ("?", "u1", "i8", "f2", "g", "c8"))
def test_every_element_type_is_computed_or_refused(dtype, tally):
    done = 0
    for name in ("jacobi1d", "jacobi2d", "laplacian3d"):
        values = (10 * _data(tw.program(name).rank)).astype(dtype)
        refusal = _refusal_of(name, values)
        assert "\n" not in refusal
        if not refusal:
            (ours,) = _call(name, [values])
            exact = _call(name, [values], backend="numpy", dtype=str(ours.dtype))[0]
            assert np.allclose(ours, exact, rtol=64 * float(np.finfo(ours.dtype).eps)), name
            if np.dtype(dtype).kind in "fc" and dtype != "g":
                assert ours.dtype == np.dtype(dtype)
        done += 1
    tally(f"element type {np.dtype(dtype).name}: {done} programs, right or refused")


@few((1, 2, 3), "extents", ())
def test_grids_smaller_than_the_reach(extents, tally):
    count = 0
    for name, boundary in itertools.product(
        ("star1d4r", "star2d4r", "box3d2r", "wave2d"), ("fixed", "constant", "nearest", "reflect", "mirror", "wrap")
    ):
        rank = tw.program(name).rank
        shape = tuple((extents, 1, 2)[:rank])
        arrays = [np.random.default_rng(n).random(shape) for n in range(len(tw.program(name).fields))]
        for a, b in zip(
            _call(name, arrays, boundary=boundary), _call(name, arrays, boundary=boundary, backend="numpy"), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-300)
        count += 1
    tally(f"grids of {extents} cells below a larger reach: {count} of {count} right")


def test_outputs_that_overlap_or_cannot_hold_the_result(tally):
    u, count = _data(2), 0
    (expected,) = _call("jacobi2d", [u])
    memory = np.zeros((u.shape[0] + 2, u.shape[1] + 2))
    for rows, columns in itertools.product((0, 1, 2), (0, 1, 2)):
        given = memory[1:-1, 1:-1]
        given[...] = u
        out = memory[rows : rows + u.shape[0], columns : columns + u.shape[1]]
        tw.run("jacobi2d", given, steps=STEPS, out=out)
        np.testing.assert_array_equal(out, expected)
        count += 1
    refused = [
        _read_only(u), np.zeros(u.shape, int), np.zeros(u.shape, "?"), np.zeros(u.shape[::-1]), np.zeros(3), None,
        [], "out.txt", (u.copy(), u.copy()), np.broadcast_to(np.float64(0), u.shape), np.zeros(u.shape, object), 3,
    ]  # fmt: skip
    for out in refused:
        if out is None:
            continue
        with pytest.raises(TilewrightError) as caught:
            tw.run("jacobi2d", u, steps=STEPS, out=out)
        assert "\n" not in str(caught.value)
        count += 1
    tally(f"outputs that overlap the input or cannot hold the result: {count} of {count} right or refused")


_VALUES = {
    "steps": (-1, 1.5, "3", None, math.nan, math.inf, 2**70, [3], True, np.array([1, 2])),
    "boundary": (
        "around", 3, ("wrap",), ("wrap", "wrap", "wrap"), {"w": "wrap"}, "constant:x", ("wrap", None), b"wrap", [],
    ),
    "threads": (0, -1, 1.5, "two", 10**9, None, math.nan),
    "tiling": (
        "", "hybrid", "hybrid:", "hybrid:t=0,s=8x8", "hybrid:t=4,s=8", "hybrid:t=4,s=8x8x8", "hybrid:t=-4,s=8x8",
        f"hybrid:t={10**30},s=8x8", "hybrid:t=4,s=0x8", "bogus:t=4", "hybrid:t=4;s=8x8", "../../x", 7, ["none"],
    ),
    "dtype": ("bogus", "float16", "complex512", 7, object, "datetime64", "U8"),
    "backend": ("", "fortran", "cuda:99", "opencl:nothing-of-that-name", 3, "c;rm -rf x"),
}  # fmt: skip
OPTIONS = [{name: value} for name, values in _VALUES.items() for value in values]


@pytest.mark.filterwarnings("ignore:running with NumPy")
def test_options_that_cannot_be_meant(tally):
    u, refused = _data(2), 0
    for options in OPTIONS:
        message = _refusal_of("jacobi2d", u, **{"steps": STEPS, **options})
        assert "\n" not in message, options
        assert len(message) < 600, options
        refused += bool(message)
    # The ones with a meaning: no number of threads, default sizes of a family, and an element type that NumPy computes.
    assert refused == len(OPTIONS) - 4
    tally(
        f"options that cannot be meant: {refused} of {len(OPTIONS)} refused in one sentence, the others have a meaning"
    )

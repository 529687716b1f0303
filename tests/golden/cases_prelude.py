"""What texts start with, once: definitions that all share, and the helpers of an element type."""

from collections.abc import Callable, Iterable

from tilewright.codegen.print.c_prelude import lift_helpers
from tilewright.codegen.print.c_prelude import prelude as c_prelude
from tilewright.codegen.print.gpu import prelude as gpu_prelude

from .shown import Case

_SCALARS = ("minimum", "maximum", "where", "number", "not", "abs")
_VECTORS = (*_SCALARS, "hold", "fresh", "splat", "keep", "over_sqrt", "sqrt")
_DIVIDING = ("remainder", "floor_divide", "sign")
_COMPLEX = ("mul", "div", "times_i", "complex", "real", "imag", "conj", "modulus")
_BESIDE = ("beside_low_1", "beside_high_2", "outside_low_nearest_1", "outside_low_mirror_2", "outside_high_reflect_1")


START = c_prelude((), ())


def _whole(file: str, about: str, write: Callable[[], str]) -> Case:
    return Case(file=f"prelude/{file}", about=about, write=write, whole=True)


def _helpers(dtype: str, names: Iterable[str], vector: bool = True) -> str:
    """What a C text starts with, behind what all of them do."""
    return c_prelude((), [(name, dtype, vector) for name in names]).removeprefix(START)


CASES = (
    _whole("start.c", "every C text", lambda: c_prelude((), ())),
    _whole("types.c", "vectors", lambda: c_prelude(("float32", "int64"), ()).removeprefix(START)),
    _whole("operators.c", "operators that are calls, on vectors", lambda: _helpers("float32", _VECTORS)),
    _whole("operators_int32.c", "operators that are calls", lambda: _helpers("int32", _SCALARS, vector=False)),
    _whole("divisions.c", "quotients rounded down", lambda: _helpers("float32", _DIVIDING)),
    _whole("divisions_int32.c", "quotients rounded down", lambda: _helpers("int32", _DIVIDING)),
    _whole("neighbours.c", "vectors put together from two", lambda: _helpers("float64", _BESIDE)),
    _whole("addresses.c", "addresses made anew", lambda: _helpers("index", ["opaque"], vector=False)),
    _whole(
        "threads.c",
        "threads that tell each other, and rows that go past the caches",
        lambda: _helpers("index", ["threads", "await", "publish", "fence", "put", "prefetch_near"], vector=False),
    ),
    _whole("interrupts.c", "calls that may end early", lambda: _helpers("index", ["asks"], vector=False)),
    _whole("past.c", "vectors that go past the caches", lambda: _helpers("float64", ["past"])),
    _whole(
        "whole_numbers_int8.c",
        "what processors have one instruction for",
        lambda: _helpers("int8", ["maximum", "adds", "subs", "any_gt"]),
    ),
    _whole("bytes_int8.c", "bytes as entries of a table", lambda: _helpers("int8", ["translate"], vector=False)),
    _whole(
        "lifted_rows.c",
        "rows of streaming tiles: lifted, prefetched, stored past the caches",
        lambda: lift_helpers("float32"),
    ),
    _whole("types_complex.c", "vectors of complex numbers", lambda: c_prelude(("complex64",), ()).removeprefix(START)),
    _whole("operators_complex64.c", "operators that are calls", lambda: _helpers("complex64", (*_COMPLEX, "exp"))),
    _whole(
        "operators_complex128.c", "operators that are calls", lambda: _helpers("complex128", _COMPLEX, vector=False)
    ),
    _whole("types_float16.c", "vectors of 16-bit numbers", lambda: c_prelude(("float16",), ()).removeprefix(START)),
    _whole("types_bfloat16.c", "vectors of 16-bit numbers", lambda: c_prelude(("bfloat16",), ()).removeprefix(START)),
    _whole("start.cu", "every CUDA text", lambda: gpu_prelude("cuda")),
    _whole("start.cl", "every OpenCL text", lambda: gpu_prelude("opencl")),
    _whole(
        "operators.cu",
        "operators that are calls",
        lambda: gpu_prelude("cuda", (), [(name, "float32") for name in (*_SCALARS, "sqrt", "pow", "over_sqrt")]),
    ),
    _whole(
        "operators_float64_strict.cl",
        "operators that are calls",
        lambda: gpu_prelude("opencl", ("float64",), [(name, "float64") for name in _SCALARS], strict=True),
    ),
)

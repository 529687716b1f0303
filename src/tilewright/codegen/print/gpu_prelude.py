"""The thin layer of macros that makes one kernel text OpenCL C and CUDA C++, and the helpers that a text may use.

Every GPU text of this package starts with it and uses nothing of either language but these names:

- ``TW_KERNEL(threads)`` starts a kernel of groups of so many threads, ``TW_FUNCTION`` any other function,
- ``TW_GLOBAL`` and ``TW_LOCAL`` qualify pointers to memory and to the chip, ``TW_SHARED`` declares an array on chip,
- ``TW_ROOM_PARAM`` and ``TW_ROOM`` declare one whose size is given at the launch,
- ``TW_GROUP`` and ``TW_THREAD`` number groups and threads, ``TW_GROUPS`` counts groups,
- ``TW_BARRIER()`` lets the threads of a group meet, ``TW_COUNT`` adds one for all threads that come,
- ``TW_ALIGNED`` says of a pointer that its address is a multiple of some bytes,
- ``TW_OPAQUE`` is an index whose value the compiler cannot see through,
- ``TW_UNROLL`` and ``TW_UNROLL_BY(n)`` ask for unrolling where the compiler is one that gains by it.
"""

from collections.abc import Iterable

from tilewright.base.errors import UsageError
from tilewright.codegen.print.base import Macros
from tilewright.codegen.print.cuda import CUDA
from tilewright.codegen.print.dividing import dividing, is_written
from tilewright.codegen.print.elements import GPU_ELEMENTS, LIBRARY, PAIRS, SUFFIX
from tilewright.codegen.print.opencl import OPENCL

DIALECTS = {"opencl": OPENCL, "cuda": CUDA}

_INDEX = """TW_FUNCTION int tw_min(int a, int b) { return a < b ? a : b; }
TW_FUNCTION int tw_max(int a, int b) { return a > b ? a : b; }
TW_FUNCTION int tw_floordiv(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
TW_FUNCTION int tw_ceildiv(int a, int b) { return tw_floordiv(a + b - 1, b); }
TW_FUNCTION int tw_floormod(int a, int b) { return a - b * tw_floordiv(a, b); }"""

_BODY = {
    "minimum": ("{t}", "{t} a, {t} b", "(a < b || a != a) ? a : b"),
    "maximum": ("{t}", "{t} a, {t} b", "(a > b || a != a) ? a : b"),
    "where": ("{t}", "int a, {t} b, {t} c", "a ? b : c"),
    "number": ("{t}", "int a", "a ? 1 : 0"),
    "not": ("int", "int a", "!a"),
}


def prelude(
    dialect: str,
    dtypes: Iterable[str] = (),
    helpers: Iterable[tuple[str, str]] = (),  # operators that are written as calls, with element types
    *,
    strict: bool = False,  # in CUDA an option of the compiler does it
    index: bool = True,  # with the functions of indices, ``tw_min`` and the like
) -> str:
    """Return the start of a text."""
    if dialect not in DIALECTS:
        raise UsageError(f"the dialect of a GPU is one of {', '.join(DIALECTS)}, got {dialect!r}")
    macros = DIALECTS[dialect]
    needed = (macros.double if "float64" in set(dtypes) else "", macros.strict if strict else "")
    lines = [*filter(None, needed), macros.text, *([_INDEX] if index else [])]
    lines += [_helper(name, dtype, macros) for name, dtype in sorted(set(helpers))]
    return "\n".join(lines) + "\n"


def helper_name(name: str, dtype: str) -> str:
    """Return the name of the function that an operator is written as.

    >>> helper_name("sqrt", "float32")
    'tw_sqrt_f32'
    """
    return f"tw_{name}_{SUFFIX[dtype]}"


def _helper(name: str, dtype: str, macros: Macros) -> str:
    kind = GPU_ELEMENTS[dtype]
    single = macros.single if dtype == "float32" else ""
    if name == "over_sqrt":
        result, params, body = kind, f"{kind} a, {kind} x", f"a * rsqrt{single}(x)"
    elif is_written(name, dtype):
        params = f"{kind} a, {kind} b" if name in PAIRS else f"{kind} a"
        text = dividing(name, dtype, GPU_ELEMENTS, lambda each: each + single)
        return f"TW_FUNCTION {kind} {helper_name(name, dtype)}({params}) {{{text}}}"
    elif name in LIBRARY or (name == "abs" and dtype.startswith("float")):
        called = f"{'fabs' if name == 'abs' else name}{single}"
        params, args = (f"{kind} a, {kind} b", "a, b") if name in PAIRS else (f"{kind} a", "a")
        result, body = kind, f"{called}({args})"
    else:
        signature = ("{t}", "{t} a", macros.magnitude) if name == "abs" else _BODY[name]
        result, params, body = (part.format(t=kind) for part in signature)
    return f"TW_FUNCTION {result} {helper_name(name, dtype)}({params}) {{ return {body}; }}"

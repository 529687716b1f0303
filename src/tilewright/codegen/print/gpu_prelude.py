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
from tilewright.codegen.ir.types import element
from tilewright.codegen.print.base import Macros
from tilewright.codegen.print.blocks import blocks
from tilewright.codegen.print.cuda import CUDA
from tilewright.codegen.print.elements import GPU_ELEMENTS, LIBRARY, PAIRS, SUFFIX, is_written
from tilewright.codegen.print.opencl import OPENCL

DIALECTS = {"opencl": OPENCL, "cuda": CUDA}


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
    macros, parts = DIALECTS[dialect], blocks("prelude_gpu.h")
    words = {name: getattr(macros, name) for name in ("kernel", "shared", "barrier", "thread", "group", "groups")}
    lines = [macros.double if "float64" in set(dtypes) else "", macros.strict if strict else ""]
    lines += [parts[dialect].filled(words).rstrip(), parts["index"].text.rstrip() if index else ""]
    lines += [_helper(name, dtype, macros) for name, dtype in sorted(set(helpers))]
    return "\n".join(filter(None, lines)) + "\n"


def helper_name(name: str, dtype: str) -> str:
    """Return the name of the function that an operator is written as.

    >>> helper_name("sqrt", "float32")
    'tw_sqrt_f32'
    """
    return f"tw_{name}_{SUFFIX[dtype]}"


def _helper(name: str, dtype: str, macros: Macros) -> str:
    own, kind, f = GPU_ELEMENTS[dtype], element(dtype), macros.single if dtype == "float32" else ""
    words = {"T": own, "U": GPU_ELEMENTS.get(f"u{dtype}", ""), "s": SUFFIX[dtype], "f": f, "function": "TW_FUNCTION"}
    words |= {"name": name, "called": "fabs" if name == "abs" else name, "magnitude": macros.magnitude.format(t=own)}
    words |= {each: each + f for each in ("fmod", "copysign", "floor")}
    if is_written(name, dtype):
        group = "float" if kind.is_float else "unsigned" if dtype.startswith("u") else "signed"
        block = blocks("prelude.h")[f"{name} {group} scalar"]
    elif name in LIBRARY or (name == "abs" and kind.is_float):
        block = blocks("prelude_gpu.h")["library pair" if name in PAIRS else "library"]
    else:
        block = blocks("prelude_gpu.h")[name]
    return block.filled(words).rstrip("\n")

"""What every C unit starts with, and the small functions that it uses: only those that it uses.

Their text is ``prelude.h``; written here is what differs by the bytes of a vector register, and which block a function
is. A vector of complex numbers is one of their parts, real and imaginary in turn, as they lie in memory: sums,
differences and everything with real numbers, which then stand twice, are the operations of parts. C's own products and
quotients of complex numbers look for infinities among their results and call a function; these do not, and neither do
NumPy's. Numbers of 16 bits are widened where they are loaded and rounded, to nearest and ties to even, where they are
stored.
"""

import functools
from collections.abc import Callable, Iterable, Mapping

from tilewright.base.constants import CACHE_LINE
from tilewright.codegen import ir
from tilewright.codegen.print.base import blocks
from tilewright.codegen.print.elements import C_ELEMENTS, C_LANES, C_VALUES, LIBRARY, PAIRS, SUFFIX, is_written
from tilewright.codegen.print.vector_math import VECTOR_MATH, common_text, function_text
from tilewright.programs.stencil.boundaries import mirrored
from tilewright.programs.stencil.operators import FUNCTIONS

PLAIN = frozenset({"asks", "put", "prefetch_near", "opaque", "thread", "threads", "await", "publish", "fence", "flush"})
"""Functions that are the same for every element type."""
_WIDTHS = (64, 32, 16)  # bytes of vectors, as ``TW_BYTES`` is one of them
_TAKEN = {"swap": (1, 0), "real": (0, 0), "imag": (1, 1)}
"""Which part of each number a vector function takes in place of the real and of the imaginary one."""
_MIXED = ("beside_", "outside_")  # starts of the names of vectors that are put together from the lanes of two
_CONVERTED = ("from_", "into_")  # starts of the names of loads and stores that convert
_ALIGNED = (4, 8)  # bytes of the elements that instructions move by across two vectors
_INSTRUCTIONS = {"maximum": "pmaxs", "minimum": "pmins", "adds": "padds", "subs": "psubs", "any_gt": "cmp"}
"""What processors have one instruction for, of whole numbers in vectors, and C many."""
_RAW = {8: "char", 16: "short", 32: "int"}
_EVERY = {8: "unsigned long long", 16: "unsigned int", 32: "unsigned short"}
_WHOLE = 32  # bits of the whole numbers that conversions of fewer bits go through
_MOST_SATURATED = 16  # bits of numbers that processors add with saturation


def helper(name: str, dtype: str, *, vector: bool) -> str:
    """Return the C name of an operator that is written as a call.

    >>> helper("sqrt", "float32", vector=False), helper("sqrt", "float32", vector=True)
    ('__builtin_sqrtf', 'tw_sqrt_v_f32')
    """
    kind = ir.element(dtype)
    if not vector and name in LIBRARY | {"abs"} and kind.rounds and not (name == "pow" and kind.is_complex):
        called = "fabs" if name == "abs" else f"c{name}" if kind.is_complex else name
        return f"__builtin_{called}{'f' if C_LANES[dtype] == 'float' else ''}"
    return f"tw_{name}_{'v_' if vector else ''}{SUFFIX[dtype]}"


def prelude(dtypes: Iterable[str], helpers: Iterable[tuple[str, str, bool]], *, strict: bool = False) -> str:
    """Return the start of a unit; ``helpers`` are operators written as calls: name, type, whether on vectors."""
    parts = [_filled("head", {})]
    for dtype in sorted(set(dtypes)):
        parts.append(_filled(f"types{' narrow' if ir.element(dtype).is_narrow else ''}", _words(dtype)))
        parts += [_filled(f"converted {dtype}", {})] if ir.element(dtype).is_narrow else []
    functions = _with_used(helpers)
    if any(ir.element(dtype).is_complex for dtype in dtypes):
        parts.append(_twice_macros())
    if any(name.startswith(_MIXED) or (name in _TAKEN and vector) for name, _, vector in functions):
        parts.append(_filled("mix", {}))
    if any(name.startswith(_CONVERTED) for name, _, _ in functions):
        parts.append(_filled("halves", {}))
    picked = {dtype for name, dtype, vector in functions if vector and name != "past"}
    parts += [_filled("pick", _words(dtype)) for dtype in sorted(picked)]
    polynomial = [] if strict else [each for each in functions if each[2] and _is_polynomial(*each[:2])]
    parts.append(common_text(sorted({dtype for _, dtype, _ in polynomial})))
    for name, dtype, vector in functions:
        text = _define(name, dtype, vector=vector)
        if (name, dtype, vector) in polynomial:
            text = function_text(name, dtype, helper(name, dtype, vector=True), text)
        parts.append(text)
    return "\n".join(part for part in parts if part)


def _is_polynomial(name: str, dtype: str) -> bool:
    return name in VECTOR_MATH and ir.element(dtype).is_float


def _filled(block: str, words: Mapping[str, str]) -> str:
    return blocks("prelude.h")[block].filled(words)


@functools.cache
def _words(dtype: str) -> Mapping[str, str]:
    kind, s, part = ir.element(dtype), SUFFIX[dtype], C_LANES[dtype]
    f = "f" if part == "float" else ""
    return {
        "s": s,
        "u": s.upper(),
        "T": part,
        "own": C_VALUES[dtype],
        "memory": C_ELEMENTS[dtype],
        "U": C_VALUES.get(f"u{dtype}", ""),
        "v": f"tw_v_{s}",
        "m": f"tw_m_{s}",
        # signed whole numbers as wide as the lanes of vectors
        "mask": C_ELEMENTS[f"int{8 * kind.register_bytes // kind.parts}"],
        "size": f"sizeof({C_VALUES[dtype]})" if kind.parts == 1 else str(kind.bytes),
        "lanes": f"{'' if kind.parts == 1 else '2 * '}TW_LANES_{s.upper()}",
        "number": "i" if kind.parts == 1 else "(i / 2)",
        "twice": f"TW_TWICE_{kind.bytes // 2}",
        "f": f,
        "function": "static inline",
        **{name: f"__builtin_{name}{f}" for name in ("fmod", "copysign", "floor")},
        "limit": "0x1p21f" if f else "0x1p50",  # below it quotients are whole where they are rounded towards zero
        # of rows in memory: what a vector of them is, and the bits of a value
        "loaded": f"tw_h_{s}" if kind.is_narrow else f"tw_v_{s}",
        "bits": f"tw_put_{s}(value)" if kind.is_narrow else "value",
        "permuted": _filled("permuted", {}) if dtype == "int8" else "",
    }


def _with_used(helpers: Iterable[tuple[str, str, bool]]) -> list[tuple[str, str, bool]]:
    """Sort the functions of a unit, after those that they use."""
    functions = set(helpers)
    lanes = {(name, dtype, False) for name, dtype, vector in functions if vector and _is_own_pair(name, dtype)}
    callees = {
        (each, dtype, vector)
        for name, dtype, vector in functions | lanes
        if name not in PLAIN and ir.element(dtype).is_complex
        for block in [blocks("prelude.h").get(f"{name} complex {_form(vector=vector)}")]
        for each in (block.uses if block else ())
    }
    return [*sorted(callees), *sorted(lanes - callees), *sorted(functions - callees - lanes)]


def _is_own_pair(name: str, dtype: str) -> bool:
    """Whether an operator is a function of two numbers that is written out, and not one of C's."""
    return name in PAIRS and (is_written(name, dtype) or (name == "pow" and ir.element(dtype).is_complex))


def _form(*, vector: bool) -> str:
    return "vector" if vector else "scalar"


def _define(name: str, dtype: str, *, vector: bool) -> str:
    """The text of a function; nothing where C has it."""
    if name in PLAIN:
        return _filled(name, {})
    kind, called = ir.element(dtype), helper(name, dtype, vector=vector)
    words = {**_words(dtype), "called": called, "scalar": helper(name, dtype, vector=False)}
    for each in ("complex",) if kind.is_complex else ("float",) if kind.is_float else (_sign(kind), "whole"):
        if (own := f"{name} {each} {_form(vector=vector)}") in blocks("prelude.h"):
            return _filled(own, words)
    if vector:
        return _define_vector(name, dtype, words)
    return "" if called.startswith("__builtin") else _filled(f"{name} scalar", words)


def _define_vector(name: str, dtype: str, words: Mapping[str, str]) -> str:
    kind, pair = ir.element(dtype), " pair" if name in PAIRS else ""
    if kind.is_complex and name in _TAKEN:
        return _picked(words["called"], _TAKEN[name], dtype)
    if kind.kind is ir.Kind.INT and kind.bits in _RAW and name in _INSTRUCTIONS:
        return _instruction(name, kind, words)
    if name.startswith(_MIXED):
        return _mixed(name, dtype)
    if name.startswith(_CONVERTED):
        return _converted(name, dtype, words)
    block = f"{name} vector"
    if kind.is_complex and name in FUNCTIONS:
        block = f"by_number{pair}"
    elif kind.is_float and pair and is_written(name, dtype):
        # the remainder of a small quotient rounded towards zero, one too large at worst, is exact: it is a multiple of
        # the last bits of both and smaller than the divisor; what makes it of the divisor's sign mends the one as well
        block, words = "by_quotient", {**words, "result": _filled(f"{name} by_quotient", words).strip()}
    elif name in LIBRARY or (pair and is_written(name, dtype)) or (name == "abs" and kind.is_float):
        block = f"by_lane{pair}"  # compilers turn square roots, absolute values and rounding into one instruction
    return _filled(block, words)


def _sign(kind: ir.Element) -> str:
    return "signed" if kind.kind is ir.Kind.INT else "unsigned"


def _instruction(name: str, kind: ir.Element, words: Mapping[str, str]) -> str:
    saturates = name in {"adds", "subs"}
    words = {
        **words,
        "feature": "__AVX512F__" if kind.bits == 32 else "__AVX512BW__",
        "raw": _RAW[kind.bits],
        "every": _EVERY[kind.bits],
        "builtin": _INSTRUCTIONS[name] + {8: "b", 16: "w", 32: "d"}[kind.bits],
        "sign": {"maximum": ">", "minimum": "<", "adds": "+", "subs": "-", "any_gt": ">"}[name],
        "side": "b" if name == "subs" else "~b",
        "last": str(kind.bits - 1),
        "most": str(kind.range[1]),
    }
    if name == "any_gt":
        return _filled("any_gt", words)
    plain = _filled("plain saturated" if saturates else "plain extremum", words).rstrip("\n")
    block = "no instruction" if saturates and kind.bits > _MOST_SATURATED else "instruction"
    return _filled(block, {**words, "plain": plain})


def _converted(name: str, dtype: str, words: Mapping[str, str]) -> str:
    """A load of a vector from where numbers of another type lie, or a store."""
    way, memory = name.split("_")
    kind, other = ir.element(dtype), ir.element(memory)
    words = {
        **words,
        "from": C_ELEMENTS[memory],
        "a": SUFFIX[memory],
        "bytes": str(kind.bytes),
        "single": "d" if kind.bits == 64 else "s",
    }
    halves = " halves" if kind.is_float and other.is_integer and other.bits < _WHOLE else ""
    if way == "into" and other.is_integer:
        low, high = other.range
        if kind.is_integer:
            low, high = max(low, kind.range[0]), min(high, kind.range[1])
        words |= {"low": f"({low + 1} - 1)", "high": str(high)}
        halves = halves or (" lanes" if kind.is_float else " whole")
    return _filled(f"{way}{halves}", words)


def _by_width(lines: Callable[[int], Iterable[str]]) -> list[str]:
    """Return the lines for every width, of which a compiler takes those of its own.

    >>> _by_width(lambda width: [f"#define HALF {width // 2}"])[:3]
    ['#if TW_BYTES == 64', '#define HALF 32', '#elif TW_BYTES == 32']
    """
    text: list[str] = []
    for width in _WIDTHS:
        text += [f"#{'el' if text else ''}if TW_BYTES == {width}", *lines(width)]
    return [*text, "#endif"]


def _twice_macros() -> str:
    """Macros for vectors of two numbers in turn, by the bytes of each: ``#define TW_TWICE_4(a, b) {a, b, a, b}``."""

    def macros(width: int) -> list[str]:
        return [f"#define TW_TWICE_{n}(a, b) {{{', '.join(['a, b'] * (width // n // 2))}}}" for n in (4, 8)]

    return "\n".join(["/* two numbers in turn */", *_by_width(macros), ""])


def _picked(called: str, parts: tuple[int, int], dtype: str) -> str:
    """One part of each number in place of another."""
    v, m = _words(dtype)["v"], _words(dtype)["m"]

    def mixed(width: int) -> list[str]:
        numbers = range(width // ir.element(dtype).bytes)
        return [f"  return TW_MIX({m}, a, a, {', '.join(str(2 * each + part) for each in numbers for part in parts)});"]

    return "\n".join([f"static inline {v} {called}({v} a) {{", *_by_width(mixed), "}", ""])


def _mixed(name: str, dtype: str) -> str:
    """A vector of a row, read some cells lower or higher: lanes of itself and of another, in their order or not."""
    kind, v, m = ir.element(dtype), _words(dtype)["v"], _words(dtype)["m"]
    size, distance = kind.register_bytes, int(name.rpartition("_")[2])

    def mixed(width: int) -> list[str]:
        return [f"  return TW_MIX({m}, a, b, {_parts(mixed_lanes(name, width // size), kind)});"]

    lines = _by_width(mixed)
    if name.startswith("beside_") and size in _ALIGNED and distance < CACHE_LINE // size:
        # gcc would take an instruction that overwrites an operand and needs an index; the instruction takes its number
        # modulo the lanes, so that a whole vector further on is left to the compiler
        order = f"a, b, {CACHE_LINE // size - distance}" if "_low_" in name else f"b, a, {distance}"
        first = ("#if TW_BYTES == 64 && !defined(__clang__)", f"  return TW_ALIGN_{size}({v}, {order});")
        lines = [*first, f"#el{lines[0][1:]}", *lines[1:]]
    return "\n".join([f"static inline {v} {helper(name, dtype, vector=True)}({v} a, {v} b) {{", *lines, "}", ""])


def _parts(lanes: Iterable[int], kind: ir.Element) -> str:
    """Numbers of lanes as those of their parts."""
    return ", ".join(str(kind.parts * lane + part) for lane in lanes for part in range(kind.parts))


def mixed_lanes(name: str, lanes: int) -> list[int]:
    """Where the lanes of such a vector come from: those of the first operand, and behind them those of the second.

    ``beside_low_1`` is read one cell lower, and what it lacks is the end of the second operand; ``beside_high_1`` goes
    the other way. In ``outside_low_reflect_1`` and so on the first operand is an end of the grid, and what lies outside
    stands for cells of its own.

    >>> mixed_lanes("beside_low_1", 4), mixed_lanes("outside_high_reflect_2", 4)
    ([7, 0, 1, 2], [2, 3, 3, 2])
    """
    *kind, distance = name.split("_")
    low, sources = kind[1] == "low", []
    for lane in range(lanes):
        beyond = int(distance) - lane if low else lane + int(distance) - lanes + 1
        if beyond > 0 and kind[0] == "beside":
            sources.append(2 * lanes - beyond if low else lanes + beyond - 1)
            continue
        inner = -beyond if beyond <= 0 else mirrored(kind[2], beyond) or 0
        sources.append(inner if low else lanes - 1 - inner)
    return [min(max(0, index), 2 * lanes - 1) for index in sources]


def lift_helpers(dtype: str) -> str:
    """Return the helpers of lifted rows of one element type: rows whose vectors hold cells that lie far apart.

    A row of ``nv`` vectors of ``V`` lanes holds cell ``l * nv + j`` in lane ``l`` of vector ``j``. The neighbour of
    vector ``j`` is vector ``j + 1``, aligned and unshuffled; only at the two ends of a row a vector is shifted by one
    lane. Source: Henretty et al., "Data layout transformation for stencil computations on short-vector SIMD
    architectures" (CC 2011).
    """
    kind, s = ir.element(dtype), SUFFIX[dtype]

    def macros(width: int) -> list[str]:
        lanes = width // kind.register_bytes
        low = [i // 2 + lanes * (i % 2) for i in range(lanes)]
        shuffles = {
            "LOW": ("a, b", low),
            "HIGH": ("a, b", [lanes // 2 + i for i in low]),
            "UP": ("a", [0, *range(lanes - 1)]),
            "DOWN": ("a", [*range(1, lanes), lanes - 1]),
        }
        return [
            *(
                f"#define TW_{name}_{s}({args}) __builtin_shufflevector({'a, ' + args[-1]}, {_parts(order, kind)})"
                for name, (args, order) in shuffles.items()
            ),
            f"#define TW_ROUNDS_{s} {lanes.bit_length() - 1}",
            f"#define TW_WIDE_{s} {lanes}",
        ]

    past = "" if kind.is_narrow else _filled("past lifted", _words(dtype))
    return "\n".join([*_by_width(macros), "", _filled("lifted", {**_words(dtype), "past": past})])

"""Functions of whole vectors in C, for kernels that need not be bit-equal to the platform's library.

Before: ``exp(u)``, a call of C's library for every lane. After: a polynomial of the reduced argument, some twenty
vector instructions that the compiler puts among the others. Arguments are reduced as W. J. Cody and W. Waite do
(*Software manual for the elementary functions*, 1980), with fused multiplications and additions in place of split
products; where a rounded value is not enough its error goes along (T. J. Dekker, 1971). The polynomials are minimax
ones (E. Y. Remez, 1934), made by ``reproduce/polynomials.py``.

The largest errors are stated in ``docs/numerics.md``; special values are C's (Annex F). Without fused multiplication
and addition, and for arguments that a short reduction does not serve, the lanes are computed by C's library.
"""

from collections.abc import Sequence

from tilewright.codegen.ir.types import element
from tilewright.codegen.print.base import Block, blocks
from tilewright.codegen.print.elements import C_LANES, PAIRS, SUFFIX

VECTOR_MATH = frozenset({"exp", "log", "sin", "cos", "tan", "tanh", "pow", "atan2"})
"""Operators that have such a function."""

_CONSTANTS = {
    "float": {
        "U": "uint32_t",
        "MANTISSA": "23",
        "BIAS": "127",
        "SIGN": "INT32_MIN",
        "MAGIC": "0x1.8p23f",
        "SMALL": "0x1p-126f",
        "LIFT": "0x1p23f",
        "HALF_ROOT": "0x3f3504f3",
        "ONE_BITS": "0x3f800000",
        "EXP_HIGH": "89.0f",
        "EXP_LOW": "-104.0f",
        "TANH_HIGH": "10.0f",
        "LOG2E": "0x1.715476p+0f",
        "LN2_HIGH": "0x1.62e4p-1f",
        "LN2_LOW": "0x1.7f7d1cp-20f",
        "FAR": "0x1p17f",
        "TWO_OVER_PI": "0x1.45f306p-1f",
        "HALF_PI": "0x1.921fb6p+0f",
        "HALF_PI_2": "-0x1.777a5cp-25f",
        "HALF_PI_3": "-0x1.ee59dap-50f",
        "TAN_EIGHTH": "0x1.a8279ap-2f",
        "HUGE": "0x1p126f",
        "THIRDS": "0x1.555556p-1f",
        "THIRDS_LOW": "-0x1.555556p-26f",
    },
    "double": {
        "U": "uint64_t",
        "MANTISSA": "52",
        "BIAS": "1023",
        "SIGN": "INT64_MIN",
        "MAGIC": "0x1.8p52",
        "SMALL": "0x1p-1022",
        "LIFT": "0x1p52",
        "HALF_ROOT": "0x3fe6a09e667f3bcd",
        "ONE_BITS": "0x3ff0000000000000",
        "EXP_HIGH": "710.0",
        "EXP_LOW": "-746.0",
        "TANH_HIGH": "20.0",
        "LOG2E": "0x1.71547652b82fep+0",
        "LN2_HIGH": "0x1.62e42feep-1",
        "LN2_LOW": "0x1.a39ef35793c76p-33",
        "FAR": "0x1p20",
        "TWO_OVER_PI": "0x1.45f306dc9c883p-1",
        "HALF_PI": "0x1.921fb54442d18p+0",
        "HALF_PI_2": "0x1.1a62633145c07p-54",
        "HALF_PI_3": "-0x1.f1976b7ed8fbcp-110",
        "TAN_EIGHTH": "0x1.a827999fcef32p-2",
        "HUGE": "0x1p1022",
        "FAINT": "0x1p-960",
        "THIRDS": "0x1.5555555555555p-1",
        "THIRDS_LOW": "0x1.5555555555555p-55",
    },
}
_POLYNOMIALS: dict[str, dict[str, tuple[str, ...]]] = {
    # of exp(r), less 1 + r, over r^2
    "exp": {
        "float": ("0x1.fffffcp-2", "0x1.55548ap-3", "0x1.555916p-5", "0x1.123fc6p-7", "0x1.6a1aacp-10"),
        "double": (
            *("0x1.0p-1", "0x1.555555555555cp-3", "0x1.55555555554fap-5", "0x1.111111110e961p-7"),
            *("0x1.6c16c16c326a6p-10", "0x1.a01a01b4aa9abp-13", "0x1.a01a012ff43c4p-16", "0x1.71dded29439dfp-19"),
            *("0x1.27e5bc10f5f7cp-22", "0x1.af7120ec78380p-26", "0x1.1e39233150fdap-29"),
        ),
    },
    # of log(1 + f), less f - f^2 / 2, over f^3
    "log": {
        "float": (
            *("0x1.555548p-2", "-0x1.000008p-2", "0x1.99a4e8p-3", "-0x1.555c2cp-3", "0x1.2332a8p-3"),
            *("-0x1.fc1f84p-4", "0x1.e73ac4p-4", "-0x1.de727ap-4", "0x1.13eceep-4"),
        )
    },
    # (log((1 + s) / (1 - s)) - 2 s) / s^3, of s^2
    "atanh": {
        "double": (
            *("0x1.5555555555555p-1", "0x1.9999999999e82p-2", "0x1.2492492420fe2p-2", "0x1.c71c72650b80ap-3"),
            *("0x1.745cda730347ep-3", "0x1.3b214f9e53484p-3", "0x1.0f4e5e2199241p-3", "0x1.0fe5dd835cfb0p-3"),
        )
    },
    # the same without its first term, 2/3, over s^2
    "atanh_rest": {
        "float": ("0x1.999998p-2", "0x1.249382p-2", "0x1.c652fep-3", "0x1.8f227cp-3"),
        "double": (
            *("0x1.9999999999b60p-2", "0x1.2492492452012p-2", "0x1.c71c7235dcfbfp-3", "0x1.745ce6e4e0df5p-3"),
            *("0x1.3b1f7a228adc3p-3", "0x1.0f72a5d032c5dp-3", "0x1.0ec0a0139f2d5p-3"),
        ),
    },
    # (sin r - r) / r^3, of r^2
    "sin": {
        "float": ("-0x1.555556p-3", "0x1.111108p-7", "-0x1.a00f32p-13", "0x1.6cbed2p-19"),
        "double": (
            *("-0x1.5555555555555p-3", "0x1.111111111110ap-7", "-0x1.a01a01a0188b2p-13", "0x1.71de3a530b5a1p-19"),
            *("-0x1.ae64525b8f9d7p-26", "0x1.61206ba455982p-33", "-0x1.aa91bbffcdc1ep-41"),
        ),
    },
    # (cos r - 1 + r^2 / 2) / r^4, of r^2
    "cos": {
        "float": ("0x1.55554ap-5", "-0x1.6c0c22p-10", "0x1.99e348p-16"),
        "double": (
            *("0x1.555555555554ap-5", "-0x1.6c16c16c14ec3p-10", "0x1.a01a019c6ac46p-16", "-0x1.27e4f7d4e21e3p-22"),
            *("0x1.1ee9c6c166ebdp-29", "-0x1.8f9adc613d6e5p-37"),
        ),
    },
    # (atan t - t) / t^3, of t^2
    "atan": {
        "float": ("-0x1.55554ap-2", "0x1.9991a2p-3", "-0x1.23b5bep-3", "0x1.b1f202p-4", "-0x1.f1fd7ep-5"),
        "double": (
            *("-0x1.5555555555554p-2", "0x1.999999999964ap-3", "-0x1.2492492475565p-3", "0x1.c71c71b73ab9cp-4"),
            *("-0x1.745d14b70a148p-4", "0x1.3b136de80eecfp-4", "-0x1.110c6e5a560e8p-4", "0x1.e171a1920bcacp-5"),
            *("-0x1.ab7af7c57edf1p-5", "0x1.70e269e37a3efp-5", "-0x1.121d479c53cbap-5", "0x1.f178f69a39ac8p-7"),
        ),
    },
}

_REDUCED = frozenset({"sin", "cos", "tan"})  # functions of an argument that is reduced by quarters of a turn


def common_text(dtypes: Sequence[str]) -> str:
    """Return what the functions of vectors of these element types use."""
    own = blocks("vector_math.h")
    return "".join([own["head"].text, *(_filled(own["common"].text, dtype, "") for dtype in dtypes)]) if dtypes else ""


def function_text(name: str, dtype: str, called: str, lanes: str) -> str:
    """Return the C text of a function of vectors; ``lanes`` is that of C's library, lane after lane."""
    own, params = blocks("vector_math.h"), "@v a, @v b" if name in PAIRS else "@v a"
    body = (own["reduced"].text if name in _REDUCED else "") + own[name].text
    head = f"static inline @v {'tw_power_@s' if name == 'pow' else called}({params})"
    text = f"{head} {{\n{body}}}\n".replace("@called", called)
    apart = lanes.replace(called, "tw_lanes_@name_@s").replace(
        "static inline", "static __attribute__((noinline, cold))"
    )
    own_text = _filled((apart if "tw_lanes" in text else "") + text, dtype, name)
    return f"#if defined(TW_VECTOR_MATH)\n{own_text}#else\n{lanes}#endif\n"


def _filled(text: str, dtype: str, name: str) -> str:
    kind, s = C_LANES[dtype], SUFFIX[dtype]
    single = kind == "float"
    text = text.replace("@split\n", blocks("vector_math.h")["split"].text)
    lines = [line for line in text.splitlines() if not line.startswith("D " if single else "F ")]
    text = "\n".join(f"  {line[2:]}" if line[:2] in {"F ", "D "} else line for line in lines) + "\n"
    for each, by_type in _POLYNOMIALS.items():
        for variable in "rfz":
            call = f"@{each}({variable})"
            if call in text:
                text = text.replace(call, _horner(by_type[kind], variable, "f" if single else ""))
    words = {
        **_CONSTANTS[kind],
        "lanes": f"{'' if element(dtype).parts == 1 else '2 * '}TW_LANES_{s.upper()}",
        "name": name,
        "v": f"tw_v_{s}",
        "m": f"tw_m_{s}",
        "n": f"tw_n_{s}",
        "d": "ps" if single else "pd",
        "k": "unsigned short" if single else "unsigned char",
        "T": kind,
        "s": s,
        "f": "f" if single else "",
    }
    return Block(text, ()).filled(words)


def _horner(coefficients: Sequence[str], variable: str, tail: str) -> str:
    """Return a polynomial, the constant term first.

    >>> _horner(("1", "-2", "3"), "z", "f")
    '((3f * z - 2f) * z + 1f)'
    """
    text = f"{coefficients[-1]}{tail}"
    for coefficient in reversed(coefficients[:-1]):
        sign, number = ("-", coefficient[1:]) if coefficient.startswith("-") else ("+", coefficient)
        text = f"({text} * {variable} {sign} {number}{tail})"
    return text

"""How languages name element types: in texts (``double``), and in names that texts make of them (``f64``)."""

from tilewright.codegen.ir.types import element
from tilewright.programs.stencil.operators import FUNCTIONS

LIBRARY = FUNCTIONS | {"trunc"}  # operators that the languages' libraries have by their names
PAIRS = frozenset({"pow", "atan2", "remainder", "floor_divide"})  # functions of two operands

C_ELEMENTS = {
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
    "float32x2": "float",
    "float64x2": "double",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
}
"""Element types in C; a truth value in memory is a byte, a number of 16 bits its bits, which arithmetic widens."""
C_VALUES = {**C_ELEMENTS, "float16": "float", "bfloat16": "float"}
"""What a value of an element type is in C outside of memory."""
C_LANES = {**C_VALUES, "complex64": "float", "complex128": "double"}
"""What the vectors of an element type are made of: of complex numbers the parts."""
GPU_ELEMENTS = {
    "bool": "unsigned char",
    "float32": "float",
    "float64": "double",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "tw_wide",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "tw_unsigned",
}
"""Element types in texts for GPUs, where they are the same in CUDA C++ and OpenCL C, or a macro makes them so."""
REALS = ("float32", "float64")
"""Element types of kernels that only real numbers make sense for: matrices, sparse matrices, edges of pictures."""
SUFFIX = {name: f"{name[0]}{name.lstrip('abcdefghijklmnopqrstuvwxyz')}" for name in C_ELEMENTS if name != "bool"}
SUFFIX["bfloat16"] = "bf16"  # the ends of names that exist once for each element type


def is_written(name: str, dtype: str) -> bool:
    """Whether an operator on numbers is a function that every language writes out, not one of a library."""
    return name in {"remainder", "floor_divide", "sign"} or (name == "pow" and not element(dtype).rounds)


MATH_FUNCTIONS = (
    *(
        "sqrt",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
    ),
    *(
        "sinh",
        "cosh",
        "tanh",
        "pow",
        "atan2",
        "hypot",
        "fmod",
        "fabs",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fmax",
        "fmin",
    ),
    *("fma", "erf", "erfc", "tgamma", "lgamma", "copysign"),
)
"""The functions of C's library that loop nests may call: of doubles, and with an ``f`` behind of floats."""

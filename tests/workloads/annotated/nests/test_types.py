"""The types in which C computes the expressions of loop nests, against what a compiler says of them."""

import itertools
import subprocess

import pytest

from tilewright.workloads.annotated.nests.nest import Assign, Name
from tilewright.workloads.annotated.nests.scalars import converted
from tilewright.workloads.annotated.nests.values import ELEMENTS, limits, named, type_of
from tilewright.workloads.annotated.parse.c import parse_code

TYPES = {f"{ctype.replace(' ', '_')}_": ctype for ctype in ELEMENTS}
"""A variable of each type, by its name."""
WHOLE = {name for name, ctype in TYPES.items() if ctype not in {"float", "double"}}
PAIRS = list(itertools.product(TYPES, repeat=2))
LITERALS = (
    *("0", "7", "2147483647", "2147483648", "9223372036854775807", "7u", "4294967295u", "4294967296u", "7l", "7UL"),
    *("0x7fffffff", "0x80000000", "0xffffffff", "0x100000000", "0xffffffffffffffff", "0xffu", "0xfL", "017777777777"),
    *("037777777777", "040000000000", "7LU", "1.5", "1.5f", "1e3", "2.f"),
)
EXPRESSIONS = (
    *LITERALS,
    *TYPES,
    *(f"-{a}" for a in TYPES),
    *(f"!{a}" for a in TYPES),
    *(f"{a} {op} {b}" for a, b in PAIRS for op in "+*"),
    *(f"{a} < {b}" for a, b in PAIRS),
    *(f"{a} % {b}" for a, b in PAIRS if {a, b} <= WHOLE),
    *(f"{a} ? {a} : {b}" for a, b in PAIRS),
    *(f"(({ctype}){a}) - 1" for a in TYPES for ctype in ELEMENTS),
    *(f"sqrt({a}) + sqrtf({a}) * {b}" for a, b in PAIRS),
    *(f"sqrtf({a}) * {a}" for a in TYPES),
    *(f"abs({a}) + {b}" for a, b in PAIRS if a in WHOLE),
)
NAMES = {
    "char": "int8",
    "signed char": "int8",
    "short": "int16",
    "int": "int32",
    "unsigned": "uint32",
    "long": "int64",
    "long long": "int64",
    "unsigned long": "uint64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
}
HEAD = "#include <stdint.h>\n#include <stddef.h>\n#include <stdlib.h>\n#include <math.h>\n#include <float.h>\n"


def run(tmp_path, lines):
    """Compile statements, and return what they print."""
    source, program = tmp_path / "types.c", tmp_path / "types"
    source.write_text(f"{HEAD}#include <stdio.h>\nint main(void) {{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run(["cc", "-std=c11", "-w", "-o", str(program), str(source), "-lm"], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()


def expression(text):
    """Return an expression as a region has it."""
    stmt = parse_code(f"tw_value = {text};", "a test")
    assert isinstance(stmt, Assign)
    return stmt.value


def test_a_compiler_computes_expressions_in_the_types_that_we_say(tmp_path):
    cases = ", ".join(f'{ctype}: "{element}"' for ctype, element in NAMES.items())
    lines = [
        f"#define TYPE(e) _Generic((e), {cases})",
        *(f"{ctype} {name} = 1;" for name, ctype in TYPES.items()),
        *(f"puts(TYPE({each}));" for each in EXPRESSIONS),
    ]
    said = [ELEMENTS.get(type_of(expression(each), TYPES)) for each in EXPRESSIONS]
    assert dict(zip(EXPRESSIONS, said, strict=True)) == dict(zip(EXPRESSIONS, run(tmp_path, lines), strict=True))


def test_the_limits_of_a_type_are_those_of_a_compiler(tmp_path):
    for ctype in sorted(ELEMENTS):
        low, high = limits(ctype)
        if ctype in {"float", "double"}:
            lines = [f"{ctype} low = {low}, high = {high};", 'printf("%d\\n", low == -high && high * 2 > DBL_MAX);']
            if ctype == "float":
                lines[1] = 'printf("%d\\n", low == -high && (float)(high * 2) > FLT_MAX);'
        else:
            # As many numbers as there are bits for lie between the two ends.
            kind = f"signed {ctype}" if ctype == "char" else ctype
            lines = [
                f"{kind} low = {low}, high = {high};",
                "unsigned long long span = (unsigned long long)high - (unsigned long long)low + 1;",
                f"int bits = 8 * sizeof({kind});",
                'printf("%d\\n", low <= 0 && high > 0 && span == (bits == 64 ? 0 : 1ull << bits));',
            ]
        assert run(tmp_path, lines) == ["1"], ctype


@pytest.mark.parametrize(
    ("text", "ctype", "cast"),
    [
        ("long_ + int_", "int64_t", False),
        ("unsigned_ + int_", "unsigned", False),
        ("unsigned_ + int_", "int", True),
        ("size_t_ - 1", "size_t", False),
        ("char_ + char_", "char", True),
        ("7u", "unsigned", False),
        ("float_ * 2.0", "float", True),
        ("unknown + 1", "int", True),
    ],
)
def test_what_a_variable_would_change_is_converted(text, ctype, cast):
    value = expression(text)
    assert (converted(value, ctype, TYPES) != value) is cast


SPECIFIERS = sorted(
    {
        order
        for words in ("int", "short int", "unsigned int", "long int", "long long int", "unsigned long int",
                      "unsigned long long int", "signed short int", "signed long", "signed int", "unsigned", "signed")
        for each in (words, words.removesuffix(" int"))
        for order in itertools.permutations(each.split())
    }
)  # fmt: skip


def test_specifiers_name_types_in_any_order(tmp_path):
    cases = ", ".join(f'{ctype}: "{element}"' for ctype, element in NAMES.items())
    lines = [f"puts(_Generic(({' '.join(each)})1, {cases}));" for each in SPECIFIERS]
    assert [ELEMENTS[named(each)] for each in SPECIFIERS] == run(tmp_path, lines)


@pytest.mark.parametrize("words", ["long double", "unsigned char", "unsigned short", "bool", "long long long", ""])
def test_other_types_are_not_taken_for_those_that_we_have(words):
    assert named(words.split()) is None


def test_a_name_without_a_type_has_none():
    assert type_of(Name("unknown"), TYPES) is None
    assert type_of(expression("unknown + 1"), TYPES) is None
    assert type_of(expression("unknown * 0.5f"), TYPES) == "float"

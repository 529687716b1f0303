"""The C of annotated regions, as loop nests. pycparser reads it; what is no loop nest is refused by name.

``transform NAME(…) statement`` is not C: it is read here, and stands for its place as a label while pycparser parses.
"""

import re
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.extras import needed
from tilewright.workloads.annotated.nests.nest import Assign, Declare, Expr, Name, Stmt
from tilewright.workloads.annotated.nests.types import ELEMENTS
from tilewright.workloads.annotated.parse.convert import LABEL, Converter
from tilewright.workloads.annotated.parse.spec import arguments

MAX_CODE = 2**17
"""Longest code of a region, characters."""
_MOST_BRACKETS = 60
_TYPEDEFS = "typedef int int32_t; typedef long int64_t; typedef unsigned long size_t; typedef double PetscScalar; "
_TYPEDEFS += "typedef double PetscReal; typedef int PetscInt; typedef int bool; "
_TYPEDEFS += "typedef long ptrdiff_t; typedef unsigned uint32_t; typedef unsigned long uint64_t;\n"
_TRANSFORM = re.compile(r"\btransform\s+(?P<name>[A-Za-z_]\w*)\s*\(")
_KEYWORDS = re.compile(r"\b(?:asm|__asm__|__attribute__|goto|_Pragma|__builtin_\w+|_Generic|typeof|__typeof__)\b")


def parse_code(text: str, where: str) -> Stmt:
    """Read a region's code, without comments and macros: statements, some with ``transform NAME(…)`` before them."""
    converter = Converter(where)
    plain = _labelled(text, converter)
    items = _parse(plain, converter)
    converter.where = where
    try:
        return converter.statement(items)
    except RecursionError:
        converter.fail("the code is nested too deeply")


def parse_expression(text: str, where: str) -> Expr:
    """Read one expression of C."""
    stmt = parse_code(f"tw_value = {text};", where)
    if isinstance(stmt, Assign) and stmt.op == "=" and stmt.target == Name("tw_value"):
        return stmt.value
    raise UsageError(f"{where} is one expression, got {text[:40]!r}")


def _parse(plain: str, converter: Converter) -> Any:  # noqa: ANN401
    """Parse statements into a compound statement of pycparser's."""
    unit = _parsed(f"{_TYPEDEFS}void tw_region(void)\n{{{_checked(plain, converter)}\n}}\n", converter)
    if len(unit.ext) == 0 or type(unit.ext[-1]).__name__ != "FuncDef" or unit.ext[-1].decl.name != "tw_region":
        converter.fail("the code is statements only, got something outside them")
    return unit.ext[-1].body


def _checked(plain: str, converter: Converter) -> str:
    """Return code that is worth parsing: of bounded length and depth, and without what C adds for compilers."""
    if len(plain) > MAX_CODE:
        converter.fail(f"a region has at most {MAX_CODE} characters of code, got {len(plain)}")
    bad = _KEYWORDS.search(plain)
    if bad is not None:
        converter.fail(f"a region is plain C, got {bad[0]!r}")
    depth = 0
    for character in plain:
        depth += (character in "([{") - (character in ")]}")
        if depth > _MOST_BRACKETS:
            converter.fail(f"code is at most {_MOST_BRACKETS} brackets deep, got more")
        if depth < 0:
            converter.fail("a bracket is closed that was not opened")
    return plain


def _parsed(text: str, converter: Converter) -> Any:  # noqa: ANN401
    with needed("pycparser", "the reader of annotated C", extra="annotate"):
        from pycparser import c_parser
    try:
        return c_parser.CParser().parse(text)
    except RecursionError:
        converter.fail("the code is nested too deeply")
    except Exception as error:  # noqa: BLE001  (pycparser has several, some without a common base)
        reason = re.sub(r"^:?\d*:?\d*:?\s*", "", str(error))[:80]
        if unknown := _unknown_type(text):
            hint = f"types are {', '.join(sorted(ELEMENTS))}, and the names that typedef gives them before the region"
            converter.fail(f"the type {unknown!r} is none of numbers that are known here", hint=hint)
        converter.fail(f"the code cannot be read as C: {reason}", hint="a region is for, if, assignments, declarations")


def _unknown_type(text: str) -> str:
    """Return a word that stands before a name or a cast's operand, so that it has to be a type, or an empty text.

    >>> _unknown_type("for (i = 0; i < n; i++) { quad t = x[i]; }"), _unknown_type("y = (quad)x[i];")
    ('quad', 'quad')
    """
    known = {"else", "return", "goto", "case", "sizeof", "do", "int", "long", "short", "char", "float", "double"}
    known |= {"unsigned", "signed", "const", "static", "register", "volatile", "struct", "union", "enum", "typedef"}
    known |= set(re.findall(r"(\w+);", _TYPEDEFS)) | {"void", "bool", "extern", "restrict", "inline", "auto"}
    words = re.finditer(r"\b([A-Za-z_]\w*)\s+(?=\*?\s*[A-Za-z_]\w*\s*[=;,\[])|\(\s*([A-Za-z_]\w*)\s*\)\s*(?=\w)", text)
    return next((word for each in words if (word := each[1] or each[2]) not in known), "")


def parse_unit(text: str, where: str) -> tuple[list[Declare], dict[str, Stmt]]:
    """Read a file of declarations and functions without arguments: variables, and bodies of functions by name."""
    converter = Converter(where)
    variables: list[Declare] = []
    bodies: dict[str, Stmt] = {}
    for item in _parsed(f"{_TYPEDEFS}{_checked(text, converter)}", converter).ext:
        kind = type(item).__name__
        if kind == "FuncDef":
            bodies[item.decl.name] = converter.statement(item.body)
        elif kind == "Decl" and type(item.type).__name__ != "FuncDecl":
            declared = converter.statement(item)
            variables += [declared] if isinstance(declared, Declare) else []
        elif kind not in {"Typedef", "Pragma", "Decl"}:
            converter.fail(f"a file of inputs holds declarations and functions, got {kind}")
    return variables, bodies


def _labelled(text: str, converter: Converter) -> str:
    """Replace ``transform NAME(…)`` by labels; what has no statement behind it gets an empty one."""
    out: list[str] = []
    place = 0
    while (match := _TRANSFORM.search(text, place)) is not None:
        end = _closing(text, match.end())
        if end < 0:
            converter.fail(f"the arguments of transform {match['name'][:40]} are not closed")
        if len(converter.transforms) >= 500:
            converter.fail("a region has at most 500 transforms, got more")
        args = arguments(text[match.end() : end], f"transform {match['name'][:40]} of {converter.where}")
        out += [text[place : match.start()], f" {LABEL}{len(converter.transforms)}: "]
        converter.transforms.append((match["name"], args))
        place = end + 1
    out.append(text[place:])
    plain = "".join(out)
    return plain + (" ;" if re.search(rf"{LABEL}\d+:\s*$", plain) else "")


def _closing(text: str, start: int) -> int:
    depth, quote = 0, ""
    for place in range(start, len(text)):
        character = text[place]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            if depth == 0:
                return place
            depth -= 1
    return -1


def without_transforms(text: str) -> str:
    """Return a region's code with its ``transform NAME(…)`` taken out, as C text."""
    return re.sub(rf"\b{LABEL}\d+:", "", _labelled(text, Converter("a region")))

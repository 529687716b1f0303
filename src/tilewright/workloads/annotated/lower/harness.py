"""A translation unit around a region: its inputs bound from outside, its time taken, its results stored back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tilewright.codegen.print.base import blocks
from tilewright.workloads.annotated.lower.lowering import code, lines
from tilewright.workloads.annotated.nests.nest import Declare, Stmt, every, sequence

ENTRY = "tw_run"
_TAKEN = (
    "abort abs clock ctime daylight div drem exit exp10 gamma getenv j0 j1 jn labs lgamma mktime pow10 rand random "
    "select setenv significand signgam system time timezone y0 y1 yn"
)
"""Names of functions and variables of the headers above, which a region may give to its arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundVariable:
    """A variable that is bound from outside."""

    ctype: str  # its arithmetic type
    name: str
    extents: tuple[int, ...] = ()  # extents of an array; empty for a scalar
    inside: bool = False  # whether the region declares it itself, so that it is only stored back
    # where an array is: ``global`` behind a pointer of the unit's that overlaps no other, ``array`` an object of the
    # unit that it is copied into, ``argument`` behind a pointer like a function's parameter, or ``restrict`` the same,
    # which overlaps no other
    held: str = "global"


def emit_unit(
    body: Stmt | str,  # as text where it is the file's own
    bound: Sequence[BoundVariable],  # in the order of the pointers
    *,
    numbers: Mapping[str, int | float] = MappingProxyType({}),  # parameters of the input that are constants of the unit
    loose: Mapping[str, str] = MappingProxyType({}),  # types of scalars that nobody declares
    varying: Mapping[str, str] = MappingProxyType({}),  # types of parameters that are variables instead
    prelude: str = "",  # what the body needs before it, such as kernels
) -> str:
    """Print a unit with ``double tw_run(void **)``: binds, runs, stores scalars back, returns seconds."""
    texts = blocks("harness.h", Path(__file__).parent)
    owned: list[str] = []
    if isinstance(body, str):
        head, written = texts["aliases"].text, body.splitlines()
        for name, compare in (("min", "<"), ("max", ">")):
            if name not in {each.name for each in bound}:
                head += texts["extremum"].filled({"name": name, "compare": compare})
    else:
        head = prelude
        written = [line for each in sequence(body) for line in lines(each, 2)]
        owned = [node.name for node in every(body, Declare) if node.allocated]
    outside = [(each, place) for place, each in enumerate(bound) if not each.inside]
    top = texts["heads"].text + head + texts["clock"].text
    for name, value in numbers.items():
        # What is read from such a variable, no compiler knows.
        variable = f"static volatile {varying[name]} tw_number_{name} = {value!r};\n" if name in varying else ""
        top += variable or f"#define {name} ({value!r})\n"
    clashes = [each.name for each in bound if each.extents and each.name in _TAKEN.split()]
    top += "".join(f"#define {name} tw_own_{name}\n" for name in clashes)
    top += "".join(_global(each) for each, _ in outside if each.extents and each.held in {"global", "array"})
    inputs = [f"  {ctype} {name} = tw_number_{name};" for name, ctype in varying.items()]
    inputs += [f"  {_bind(each, place)}" for each, place in outside]
    inputs += [f"  {ctype} {name} = 0;" for name, ctype in loose.items()]
    inputs += [f"  (void){name};" for name in loose]
    scalars = [(each, place) for place, each in enumerate(bound) if not each.extents]
    results = [f"    *({each.ctype} *)tw_p[{place}] = {each.name};" for each, place in scalars]
    results += [f"    free({name});" for name in owned]
    copied = [(each, place) for each, place in outside if each.held == "array" and each.extents]
    arrays = [f"  __builtin_memcpy(tw_p[{place}], {each.name}, sizeof({each.name}));" for each, place in copied]
    words = {"inputs": inputs, "body": written, "results": results, "arrays": arrays}
    filled = {word: "".join(f"{line}\n" for line in block) for word, block in words.items()}
    return top + texts["run"].filled({"entry": ENTRY, **filled})


def _global(each: BoundVariable) -> str:
    if each.held == "array":
        return f"static {each.ctype} {each.name}{''.join(f'[{extent}]' for extent in each.extents)};\n"
    inner = "".join(f"[{extent}]" for extent in each.extents[1:])
    return f"static {each.ctype} (*{each.name}){inner};\n" if inner else f"static {each.ctype} *restrict {each.name};\n"


def _bind(each: BoundVariable, place: int) -> str:
    if not each.extents:
        return f"{each.ctype} {each.name} = *({each.ctype} *)tw_p[{place}];"
    if each.held == "array":
        return f"__builtin_memcpy({each.name}, tw_p[{place}], sizeof({each.name}));"
    inner = "".join(f"[{extent}]" for extent in each.extents[1:])
    word = "restrict " if each.held == "restrict" else ""
    kind, declared = (f"(*){inner}", f"(*{word}{each.name}){inner}") if inner else ("*", f"*{word}{each.name}")
    head = each.name if each.held == "global" else f"{each.ctype} {declared}"
    return f"{head} = ({each.ctype} {kind})tw_p[{place}];"


def region_text(stmt: Stmt, indent: int = 1) -> str:
    """Print what replaces a region: a block with its own variables."""
    return "  " * indent + "{\n" + code(stmt, indent + 1) + "  " * indent + "}\n"


def joined(heads: Sequence[str]) -> str:
    r"""Join what several bodies need at the top of a file; definitions stand apart by empty lines, and equal ones once.

    >>> joined(["#include <a.h>\n\nint a;\n", "", "#include <a.h>\n\nint b;\n"])
    '#include <a.h>\n\nint a;\n\nint b;\n\n'
    """
    parts = (part.strip("\n") for head in heads for part in head.split("\n\n"))
    return "".join(f"{part}\n\n" for part in dict.fromkeys(parts) if part)

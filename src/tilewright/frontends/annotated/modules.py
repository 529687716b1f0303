"""The original tool's other modules, said as transforms of loops: PolySyn, CHiLL and SpMV.

``PolySyn(tiles = [8,8]; parallel = True;)`` and a script of CHiLL, ``permute([2,1]) tile(0,1,16)``, stand before the
old body; ``SpMV(in_matrix = aa; …)`` may stand before none, and then says what is computed: a matrix in compressed rows
times a vector. What each command does is :mod:`tilewright.codegen.loops.modules`'s.
"""

import re
from collections.abc import Callable

from tilewright.base.errors import UsageError

MODULES = frozenset({"PolySyn", "CHiLL", "Chill", "SpMV"})
CHILL = ("permute", "tile", "unroll")
"""The commands of CHiLL that are carried out; ``original``, ``known`` and ``print`` have no effect."""
_QUIET = frozenset({"original", "known", "print", "print_code", "remove_dep"})
_HEAD = re.compile(r"\s*(?:source|procedure|format|loop)\s*:.*$", re.MULTILINE)
_COMMAND = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*\(")
_SETTING = re.compile(r"\s*(?P<name>[A-Za-z_]\w{0,63})\s*=(?!=)(?P<value>.*)", re.DOTALL)
_WORDS = {
    "out_vector": ("out_vector",),
    "in_vector": ("in_vector",),
    "in_matrix": ("in_matrix",),
    "row_inds": ("row_inds",),
    "col_inds": ("col_inds",),
    "total_rows": ("total_rows", "num_rows"),
}
"""What says which array or number is which, and its older names."""
_PLAIN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d*)?")

Arguments = tuple[tuple[str, str], ...]


def module_of(module: str, code: str, where: str, load: Callable[[str], str]) -> tuple[str, Arguments, str]:
    """Return a module as a transform: its name, its arguments, and the loops that it stands for, or an empty text."""
    plain = re.sub(r"#[^\n]*", "", code)
    if module == "PolySyn":
        return module, settings(plain, where), ""
    if module == "SpMV":
        return _spmv(settings(plain, where), where)
    file = re.fullmatch(r"\s*(?:transform\s+Recipe\s*\()?\s*['\"]?(?P<name>[\w-]+\.\w+)['\"]?\s*\)?\s*", plain)
    return "CHiLL", commands(load(file["name"]) if file else plain, where), ""


def settings(text: str, where: str) -> Arguments:
    """Read ``NAME = expression;`` statements."""
    found: dict[str, str] = {}
    for part in text.split(";"):
        if not part.strip():
            continue
        match = _SETTING.fullmatch(part)
        if match is None or match["name"] in found:
            raise UsageError(f"{where} holds NAME = expression; once for every name, got {part.strip()[:60]!r}")
        found[match["name"]] = match["value"].strip()
    return tuple(found.items())


def commands(text: str, where: str) -> Arguments:
    """Read a script of CHiLL: ``NAME(arguments)``, one after the other; every one is a list under its place and name.

    >>> commands("permute([2,1])  tile(0,1,TI)", "line 1")
    (('0permute', '[[2,1]]'), ('1tile', '[0,1,TI]'))
    """
    plain = re.sub(r"#[^\n]*", "", _HEAD.sub("", text))
    place = 0
    found: list[tuple[str, str]] = []
    while plain[place:].strip(" \t\r\n;"):
        place += len(plain[place:]) - len(plain[place:].lstrip(" \t\r\n;"))
        match = _COMMAND.match(plain, place)
        end = _closing(plain, match.end()) if match else -1
        if match is None or end < 0:
            raise UsageError(f"a script of CHiLL is commands with arguments, got {plain[place:][:60]!r} in {where}")
        name = match["name"]
        if name not in CHILL and name not in _QUIET:
            raise UsageError(
                f"the commands of CHiLL here are {', '.join(CHILL)}, got {name[:40]!r} in {where}",
                "write the transform with Loop(transform Composite(…)), or leave it to the search",
            )
        if name in CHILL:
            found.append((f"{len(found)}{name}", f"[{plain[match.end() : end].strip()}]"))
        place = end + 1
    return tuple(found)


def _closing(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        if text[place] in ")]" and depth == 0:
            return place
        depth += (text[place] in "([") - (text[place] in ")]")
    return -1


def _spmv(given: Arguments, where: str) -> tuple[str, Arguments, str]:
    values = dict(given)
    names: dict[str, str] = {}
    for key, words in _WORDS.items():
        found = next((values[word] for word in words if word in values), "")
        if not _PLAIN.fullmatch(found):
            raise UsageError(f"{where} says {key} = NAME;, got {found[:40]!r}")
        names[key] = found
    start = values.get("init_val", "0")
    if not re.fullmatch(r"-?\d+(?:\.\d*)?|[A-Za-z_]\w*", start):
        raise UsageError(f"the init_val of {where} is a number or a name, got {start[:40]!r}")
    loops = (
        "for (int tw_row = 0; tw_row <= {total_rows} - 1; tw_row++) {{\n"
        "  {out_vector}[tw_row] = {start};\n"
        "  for (int tw_at = {row_inds}[tw_row]; tw_at <= {row_inds}[tw_row + 1] - 1; tw_at++)\n"
        "    {out_vector}[tw_row] += {in_matrix}[tw_at] * {in_vector}[{col_inds}[tw_at]];\n"
        "}}\n"
    ).format(**names, start=start)
    tuned = ("out_unroll_factor", "in_unroll_factor", "num_threads", "block_structure")
    return "SpMV", tuple((name, values[name]) for name in tuned if name in values), loops

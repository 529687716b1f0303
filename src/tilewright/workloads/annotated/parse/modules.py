"""The original tool's other modules, read as transforms of loops: PolySyn, CHiLL and SpMV.

``PolySyn(tiles = [8,8]; parallel = True;)`` and a script of CHiLL, ``permute([2,1]) tile(0,1,16)``, stand before the
old body; ``SpMV(in_matrix = aa; …)`` may stand before none, and then says what is computed: a matrix in compressed rows
times a vector. What each name stands for is in :mod:`tilewright.workloads.annotated.lower.aliases`.
"""

import re
from collections.abc import Callable

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.lower.aliases import ALIASES
from tilewright.workloads.annotated.parse.spec import arguments, find, uncommented

MODULES = frozenset({*ALIASES, "Chill"})
_CHILL = ("permute", "tile", "unroll")
_QUIET = frozenset({"original", "known", "print", "print_code", "remove_dep"})
"""Commands of CHiLL that have no effect."""
_HEAD = re.compile(r"\s*(?:source|procedure|format|loop)\s*:.*$", re.MULTILINE)
_COMMAND = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*\(")
_FILE = re.compile(r"\s*(?:transform\s+Recipe\s*\()?\s*['\"]?(?P<name>[\w-]+\.\w+)['\"]?\s*\)?\s*")
_PRODUCT = """for (int tw_row = 0; tw_row <= {total_rows} - 1; tw_row++) {{
  {out_vector}[tw_row] = {init_val};
  for (int tw_at = {row_inds}[tw_row]; tw_at <= {row_inds}[tw_row + 1] - 1; tw_at++)
    {out_vector}[tw_row] += {in_matrix}[tw_at] * {in_vector}[{col_inds}[tw_at]];
}}
"""


def as_transform(
    module: str, code: str, where: str, load: Callable[[str], str]
) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """Return a module as a transform: its name, its arguments, and the loops that it stands for, or an empty text."""
    plain = uncommented(code)
    if module in {"CHiLL", "Chill"}:
        file = _FILE.fullmatch(plain)
        return "CHiLL", (("script", script(load(file["name"]) if file else plain, where)),), ""
    given = dict(arguments(plain, where, ";"))
    if "" in given:
        raise UsageError(f"{where} holds NAME = expression; once for every name, got {given[''][:60]!r}")
    if module == "PolySyn":
        return module, tuple(given.items()), ""
    taken = tuple((name, value) for name, value in given.items() if name in ALIASES[module].arguments)
    return module, taken, product(given, where)


def script(text: str, where: str) -> str:
    """Read a script of CHiLL: ``NAME(arguments)``, one after the other; as a list of tuples.

    >>> script("permute([2,1])  tile(0,1,TI)", "line 1")
    "[('permute',[2,1]),('tile',0,1,TI)]"
    """
    rest = uncommented(_HEAD.sub("", text)).strip(" \t\r\n;")
    found: list[str] = []
    while rest:
        match = _COMMAND.match(rest)
        end = find(rest, ")", match.end()) if match else -1
        if match is None or end < 0:
            raise UsageError(f"a script of CHiLL is commands with arguments, got {rest[:60]!r} in {where}")
        if match["name"] in _CHILL:
            found.append(f"('{match['name']}',{rest[match.end() : end].strip()})")
        elif match["name"] not in _QUIET:
            raise UsageError(
                f"the commands of CHiLL here are {', '.join(_CHILL)}, got {match['name'][:40]!r} in {where}",
                "write the transform with Loop(transform Composite(…)), or leave it to the search",
            )
        rest = rest[end + 1 :].lstrip(" \t\r\n;")
    return f"[{','.join(found)}]"


def product(given: dict[str, str], where: str) -> str:
    """Return the loops of a matrix in compressed rows times a vector.

    >>> print(product(dict.fromkeys("out_vector in_vector in_matrix row_inds col_inds total_rows".split(), "a"), ""))
    for (int tw_row = 0; tw_row <= a - 1; tw_row++) {
      a[tw_row] = 0;
      for (int tw_at = a[tw_row]; tw_at <= a[tw_row + 1] - 1; tw_at++)
        a[tw_row] += a[tw_at] * a[a[tw_at]];
    }
    <BLANKLINE>
    """
    values = {"init_val": "0", "total_rows": given.get("num_rows", ""), **given}
    for name in ("out_vector", "in_vector", "in_matrix", "row_inds", "col_inds", "total_rows"):
        if not re.fullmatch(r"[A-Za-z_]\w*|\d+(?:\.\d*)?", values.get(name, "")):
            raise UsageError(f"{where} says {name} = NAME;, got {values.get(name, '')[:40]!r}")
    if not re.fullmatch(r"-?\d+(?:\.\d*)?|[A-Za-z_]\w*", values["init_val"]):
        raise UsageError(f"the init_val of {where} is a number or a name, got {values['init_val'][:40]!r}")
    return _PRODUCT.format(**values)

"""Code generation decides nothing: its modules hold no threshold, of cost or otherwise.

How code is written is said by the tiling and the body that an emitter is given
(:mod:`tilewright.schedules.bodies.body`), or by the values of :mod:`tilewright.schedules.bodies.unrolling`; what fills
these in is :mod:`tilewright.tuning.spaces.bodies` and :mod:`tilewright.tuning.spaces.unrolling`. A number in a
comparison, or a constant of a module, is how decisions came in before, so both fail here unless they are small and
structural or listed below.
"""

import ast
from pathlib import Path

import pytest

from tilewright import codegen

FOLDER = Path(codegen.__file__).parent
APART = ("gpu", "loops", "tables.gpu")
"""Files of GPUs have a test of their own; what loops become is written by hand, in the file that is annotated."""
EVERY = {".".join(path.relative_to(FOLDER).with_suffix("").parts) for path in FOLDER.rglob("*.py")} - {"__init__"}
MODULES = sorted(name.removesuffix(".__init__") for name in EVERY if not name.startswith(APART))
STRUCTURAL = {
    "batches.HEAD": "numbers before the list of what is done to a grid",
    "batches.ENTRY": "numbers of an entry of that list",
    "boxes.vectors._COPIED": "cells of three vectors, of 16 lanes at most: how large an array must be",
    "sites.PLACES": "lanes of the longest vector: how far beyond an end one may read",
    "print.c._TABLE_LINE": "how many numbers stand in a line of text",
    "print.c._WIDTH": "how long a line of text is",
    **{
        f"print.source.{name}": "how strongly C's operators bind"
        for name in ("_EITHER", "_BOTH", "_SHIFTED", "_PRODUCT", "_LEVELS", "_PREFIX", "_ATOM")
    },
    "print.c_widths.WIDTHS": "bytes of the vectors of processors",
    "ir.operands.OPERATORS": "how many operands an operator takes",
    "print.c_prelude._ALIGNED": "bytes of the elements that an instruction moves by",
    "passes.write_sums.winograd.TURNED": "the transform of F(2, 3): which values are added and subtracted",
    "passes.write_sums.winograd._OF_TWO": "the transform of F(2, 2)",
    "hysteresis._EDGE": "the value of a picture's edges",
    "tables.cpu._FLAG": "64-bit numbers between two threads' flags: they lie in cache lines of their own",
    "tables.align._FLAG_WORDS": "64-bit numbers between two threads' flags: they lie in cache lines of their own",
    "tables.align._CALM": "scores of a tile that is computed on 8 bits again, which hold twice as much",
    "tables.align_tile.BITS": "bits of the types of scores",
    "tables.align_tile.READY": "position of an entry of a column's state",
    "tables.align_tile.MOST": "position of an entry of a column's state",
    "tables.align_tile.PROFILED": "position of an entry of a column's state",
    "tables.align_tile._LOWEST": "the least numbers of the types of scores",
    "tables.align_tile._CHECKED": "rows after which saturation is looked for: what was computed since is thrown away",
    "tables.align_tile._CARRIED": "vectors after which a gap that is carried on is looked at: an early end, no size",
    "tables.align_tile._TABLE": "entries of a table of bytes",
    **{
        f"tables.align_trace.{name}": "bits and states of a traced path"
        for name in ("_OPEN_E", "_OPEN_V", "_START", "_PAIR", "_E", "_V", "_STARTED")
    },
    "print.c_whole._MOST_SATURATED": "bits of the numbers that an instruction adds with saturation",
    **{
        f"print.c_whole.{name}": "names of instructions by the bits of an element"
        for name in ("_LETTER", "_RAW", "_MASK", "_FEATURE")
    },
    "matrices.cg._TOGETHER": "independent registers of an iteration: one waits for memory while one is used",
    "matrices.cg._SUMMED": "partial sums that are added at the end: they decide the result, not the speed alone",
    "matrices.registers.UNITS": "elements by which threads' shares differ: whole cache lines of the smallest elements",
    "matrices.vectors.BLOCK": "elements summed before the blocks' sums are added: it decides the result, not the speed",
    "matrices.vectors.MOST_TERMS": "terms of a multiple AXPY, else refused",
}
"""Constants that are no thresholds, by module and name, with what they are."""
VERSION = "_VERSION"
"""Raised when texts change, part of their fingerprints: in any module."""
SMALL = 3
"""Numbers up to the largest rank may be compared with: ranks, axes, whether there is one of something."""
FAMILIES = {"none", "hexagonal", "hybrid", "streaming", "diamond", "skewed", "overlapped"}
DISPATCHES = {"streaming.bands"}
"""Where the loops of a family are chosen: its name may be asked for."""


def _text(module: str) -> str:
    path = FOLDER.joinpath(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def decisions(module: str, text: str) -> list[str]:
    """The thresholds in a module, as ``module._NAME`` or ``module:line``."""
    tree = ast.parse(text)
    found = [f"{module}.{name}" for name in _constants(tree) if f"{module}.{name}" not in STRUCTURAL]
    return found + [f"{module}:{_line(node)}" for node in ast.walk(tree) if _decides(node, module)]


def _line(node: ast.AST) -> int:
    return min(each.lineno for each in ast.walk(node) if hasattr(each, "lineno"))


def _decides(node: ast.AST, module: str) -> bool:
    if isinstance(node, ast.Compare):
        by_family = module not in DISPATCHES and FAMILIES & set(_words(node))
        return bool(by_family) or any(map(_is_threshold, (node.left, *node.comparators)))
    if isinstance(node, ast.IfExp | ast.If):
        return _picks_numbers(node)
    if isinstance(node, ast.arguments):
        return any(_is_number(each) and not _is_small(each.value) for each in (*node.defaults, *node.kw_defaults))
    return isinstance(node, ast.Call) and _is_bound(node)


def _constants(tree: ast.Module) -> list[str]:
    """Names of the module's or a class's constants that hold numbers other than 0 and 1."""
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    names = []
    for node in (each for body in bodies for each in body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and any(_numbers(node.value)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [name.id for each in targets for name in ast.walk(each) if isinstance(name, ast.Name)]
    return [name for name in names if name != VERSION]


def _numbers(node: ast.AST):
    """The numbers in an expression but 0 and 1; calls make values of their own, such as names of variables."""
    if isinstance(node, ast.Call | ast.Subscript):
        return
    if _is_number(node) and node.value not in {0, 1}:
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _numbers(child)


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}


def _is_threshold(node: ast.AST) -> bool:
    """Whether a side of a comparison holds a number that is neither a rank nor a count of a few."""
    return any(_is_number(each) and not _is_small(each.value) for each in ast.walk(node))


def _is_small(number: float) -> bool:
    return number in range(SMALL + 1)


def _picks_numbers(node: ast.IfExp | ast.If) -> bool:
    """Whether ``4 if … else 2`` or ``if …: return 4`` picks a size: 0, 1 and -1 are truth values and signs."""
    branches = (
        [node.body, node.orelse]
        if isinstance(node, ast.IfExp)
        else [each.value for each in node.body if isinstance(each, ast.Return)]
    )
    return any(each is not None and _is_number(each) and each.value not in {0, 1, -1} for each in branches)


def _is_bound(node: ast.Call) -> bool:
    """Whether ``min(…, 4)`` or ``max(…, 4)`` bounds a size."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    return name in {"min", "max"} and any(_is_number(each) and each.value not in {0, 1} for each in node.args)


def _words(node: ast.AST):
    return (each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str))


@pytest.mark.parametrize("module", MODULES)
def test_no_module_holds_a_threshold(module):
    assert decisions(module, _text(module)) == []


def test_every_exception_is_still_there():
    for exception in STRUCTURAL:
        module, _, name = exception.rpartition(".")
        assert name in _constants(ast.parse(_text(module))), exception


PLANTED = {
    "rows by rank and family": """
def rows_together(site, statement, family):
    if site.rank == 2:
        return 4 if family == "none" else 2
    return 1
""",
    "rows by rank": "def rows_together(site):\n    return 4 if site.rank == 2 else 2\n",
    "a branch that returns a size": "def rows(site):\n    if site.rank == 2:\n        return 4\n    return 1\n",
    "a family by name": 'def rows(tiling):\n    return int(tiling.family == "none")\n',
    "a threshold by name": "_MOST_HELD = 12\n\n\ndef many(shared):\n    return shared > _MOST_HELD\n",
    "cycles": "_LOAD, _CROSSING, _STORE = 1.1, 1.7, 2.0\n",
    "a table by rank": "_MANY = {2: 81, 3: 100}\n",
    "a size of a cache": "_PIECE = 2**13\n",
    "a threshold in place": "def many(reads):\n    return len(reads) > 12\n",
    "a part of a threshold": "def many(reads):\n    return 2 * len(reads) <= 4 * 8\n",
    "a bound": "def rows(count):\n    return min(count, 4)\n",
    "a constant of a class": "class Values:\n    most = 12\n",
    "a default": "def emit(threads=256):\n    return threads\n",
}


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_a_decision_that_comes_back_is_found(text):
    assert decisions("boxes.values", text)


@pytest.mark.parametrize(
    "text",
    [
        "def low(site):\n    return site.rank == 3\n",
        "def sign(offset):\n    return -1 if offset < 0 else 1\n",
        "def least(values):\n    return max(0, *values)\n",
        'PLACE = Var("place")\n',
    ],
)
def test_structure_is_no_decision(text):
    assert decisions("boxes.values", text) == []

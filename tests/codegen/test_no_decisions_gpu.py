"""What writes the kernels of GPUs decides nothing: every number is of the schedule, or of the structure of the code.

What is looked for in ``codegen/gpu``:

- a number above three, and a constant of a module that is made of numbers: a size that somebody chose;
- a comparison of an order with a number above one, or with a constant of sizes: a threshold;
- an unroll factor that is a number above one.

Numbers up to three count axes, stages and versions.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilewright.codegen
from tilewright.base import constants

FOLDER = Path(tilewright.codegen.__file__).parent
FILES = {
    path.relative_to(FOLDER).as_posix(): path
    for path in sorted(FOLDER.rglob("*.py"))
    if path.relative_to(FOLDER).as_posix().startswith(("gpu/", "tables/gpu"))
}
"""By path below ``codegen``."""
SIZES = frozenset(name for name in vars(constants) if name.isupper())
OWN_KERNELS = {"gpu/micro.py", "gpu/energy.py"}
"""Micro-benchmarks: what they measure is their size, and no schedule asks for another."""
STRUCTURE = {
    ("gpu/host.py", "11"): "made-up values of a host program",
    ("gpu/host.py", "10"): "what these are divided by",
    ("gpu/emit.py", "_VERSION"): "raised when texts change, part of their fingerprints",
    ("gpu/emit.py", "40"): "characters of a program's name in its kernels' names",
    ("gpu/emit.py", "12"): "digits of a fingerprint in them",
    ("tables/gpu.py", "_VERSION"): "the same",
    ("tables/gpu.py", "40"): "characters of a program's name in its kernels' names",
    ("tables/gpu.py", "12"): "digits of a fingerprint in them",
    ("tables/gpu.py", "ABOVE"): "position of an argument",
    ("tables/gpu.py", "BESIDE"): "position of an argument",
    ("gpu/wrap.py", "_MOST_CELLS"): "what the kernel can count, else refused",
    ("gpu/site.py", "size <= STATIC_SHARED"): "what a text may declare on chip, by the language",
    ("tables/gpu.py", "passed > STATIC_SHARED"): "what a text may declare, else refused",
    ("tables/gpu.py", "shape.threads > MAX_BLOCK_THREADS"): "what a device may start, else refused",
}
"""Per file and finding, why it is no decision."""


def numbers(node: ast.AST) -> Iterator[float]:
    """Numbers below a node."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, int | float) and not isinstance(each.value, bool):
            yield each.value


def decisions(text: str) -> Iterator[str]:
    """What a module decides, as its constants' names, its numbers and its comparisons."""
    module = ast.parse(text)
    named: set[ast.AST] = set()
    for statement in module.body:
        if (
            isinstance(statement, ast.Assign | ast.AnnAssign)
            and statement.value is not None
            and _plain(statement.value)
        ):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
            named |= set(ast.walk(statement))
    for node in ast.walk(module):
        if node in named:
            continue
        if isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in node.ops
        ):
            sides = [node.left, *node.comparators]
            known = {each.id for side in sides for each in ast.walk(side) if isinstance(each, ast.Name)}
            if known & SIZES or any(abs(number) > 1 for side in sides for number in numbers(side)):
                yield from (ast.unparse(each) for each in _apart(node))
        elif isinstance(node, ast.keyword) and (node.arg or "").endswith("unroll"):
            yield from (ast.unparse(node) for number in numbers(node.value) if number > 1)
        elif isinstance(node, ast.Constant):
            yield from (str(number) for number in numbers(node) if abs(number) > 3)


def _plain(value: ast.AST) -> bool:
    """Whether a value is made of numbers alone, perhaps by names, in tuples or tables."""
    kinds = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Name)
    found = list(ast.walk(value))
    nodes = [node for node in found if isinstance(node, ast.expr)]
    return all(isinstance(node, kinds) for node in nodes) and any(True for _ in numbers(value))


def _apart(node: ast.Compare) -> Iterator[ast.Compare]:
    """The comparisons of a chain."""
    sides = [node.left, *node.comparators]
    for op, low, high in zip(node.ops, sides, sides[1:], strict=False):
        yield ast.Compare(left=low, ops=[op], comparators=[high])


@pytest.mark.parametrize("name", sorted(FILES.keys() - OWN_KERNELS))
def test_what_writes_kernels_decides_nothing(name):
    found = dict.fromkeys(decisions(FILES[name].read_text(encoding="utf-8")))
    decided = [each for each in found if (name, each) not in STRUCTURE]
    assert not decided, (
        f"{name} decides by {decided}: make it a field of GpuSchedule, see tuning/spaces/gpu_schedule.py"
    )


def test_every_exception_is_needed():
    found = {(name, each) for name, file in FILES.items() for each in decisions(file.read_text(encoding="utf-8"))}
    assert set(STRUCTURE) <= found
    assert FILES.keys() > OWN_KERNELS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("_THREADS = {1: (256,), 2: (4, 64), 3: (2, 4, 32)}", ["_THREADS"]),
        ("_A, _B = 96, 57", ["_A", "_B"]),
        ("LIMIT: int = 2", ["LIMIT"]),
        ("_ROOM = -(2**16)", ["_ROOM"]),
        ("def f(threads):\n    return threads // 32", ["32"]),
        ("def f(pieces):\n    return len(pieces) > 3", ["len(pieces) > 3"]),
        ("def f(a, b):\n    return 0 < a <= 2 * b", ["0 < a", "a <= 2 * b"]),
        ("def f(size):\n    return size > STATIC_SHARED", ["size > STATIC_SHARED"]),
        ("def f(body):\n    return For(body=body, unroll=2)", ["unroll=2"]),
        ("class Plan:\n    most: int = 40", ["40"]),
        # structure
        ("def f(rank, n):\n    return rank == 3 or n > 1 or max(1, n) >= 0", []),
        ("def f(a):\n    return 2 * a + 1", []),
        ("NAMES = ('a', 'b')", []),
        ("STEP = Var('t')", []),
        ("def f(body):\n    return For(body=body, unroll=1)", []),
    ],
)
def test_a_decision_is_found(text, said):
    assert list(decisions(text)) == said

"""Injects mutations into ``tilings`` and ``codegen`` and says which ones the tests catch.

    python tests/mutations.py --count 100 --seed 1 --output survivors.json

Each mutation changes one place of one file of a copy of the package: a comparison, an arithmetic operator, a small
number, a condition, a minimum. The tests named by ``--tests`` run on the copy until one fails; a mutation that none of
them catches survives. What changes a message alone is not mutated. See ``docs/reliability.md``.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("tilings", "codegen")
TESTS = (
    "tests/tilings", "tests/codegen", "tests/runtime/test_execute.py", "tests/runtime/test_direct.py", "tests/laws",
    "tests/runtime/test_gpu.py", "tests/runtime/test_gpu_strategies.py", "tests/api/test_pipelines.py", "tests/sparse",
    "tests/api/test_align.py", "tests/api/test_table.py", "tests/api/test_annotate.py",
)  # fmt: skip
"""From the cheapest to the dearest."""
_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil_div": "round_up"}


class Site:
    """One place that can be mutated."""

    def __init__(self, path: Path, node: ast.AST, what: str) -> None:
        self.path, self.node, self.what = path, node, what

    def __str__(self) -> str:
        return f"{self.path.name}:{self.node.lineno}: {self.what}"


def _texts(tree: ast.AST) -> set[int]:
    """Nodes inside of messages: what errors and warnings are made of."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr) or (
            isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"Violation", "warn_once", "format_shape"}
        ):
            inside |= {id(each) for each in ast.walk(node)}
    return inside


def sites(path: Path) -> Iterator[Site]:
    """Every place of a file that can be mutated."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = _texts(tree)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
            yield Site(path, node, f"{type(node.ops[0]).__name__} -> {_COMPARISONS[type(node.ops[0])].__name__}")
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            if isinstance(node.left, ast.Constant | ast.JoinedStr) and isinstance(getattr(node.left, "value", 0), str):
                continue
            yield Site(path, node, f"{type(node.op).__name__} -> {_OPERATORS[type(node.op)].__name__}")
        elif isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= 3:
            yield Site(path, node, f"{node.value} -> {node.value + 1}")
        elif isinstance(node, ast.BoolOp):
            yield Site(path, node, "and <-> or")
        elif isinstance(node, ast.IfExp):
            yield Site(path, node, "branches swapped")
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _NAMES:
            yield Site(path, node, f"{node.func.id} -> {_NAMES[node.func.id]}")


def mutate(text: str, site: Site) -> str:
    """Return the text with one place changed; only that expression is printed anew."""
    node, lines = site.node, text.splitlines(keepends=True)
    if isinstance(node, ast.Compare):
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp):
        node.op = _OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Constant):
        node.value += 1
    elif isinstance(node, ast.BoolOp):
        node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
    elif isinstance(node, ast.Call):
        node.func.id = _NAMES[node.func.id]
    start = sum(len(line.encode()) for line in lines[: node.lineno - 1]) + node.col_offset
    end = sum(len(line.encode()) for line in lines[: node.end_lineno - 1]) + node.end_col_offset
    data = text.encode()
    return (data[:start] + f"({ast.unparse(node)})".encode() + data[end:]).decode()


def caught_by(folder: Path, tests: list[str], seconds: float) -> str:
    """Return the test file that fails on a copy of the package, or an empty text."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "TILEWRIGHT_CACHE": str(folder / "cache")}
    for test in tests:
        command = [sys.executable, "-m", "pytest", test, "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{test} (it did not end)"
        if done.returncode not in {0, 5}:
            return test
    return ""


def main() -> None:
    """Inject mutations, one at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", default=list(TESTS))
    parser.add_argument("--seconds", type=float, default=900.0, help="limit of one file of tests")
    parser.add_argument("--stop", type=float, default=float("inf"), help="begin nothing new after so many seconds")
    parser.add_argument("--output", type=Path, default=Path("survivors.json"))
    options = parser.parse_args()
    files = [path for room in ROOMS for path in sorted((ROOT / "src" / "tilewright" / room).glob("*.py"))]
    every = [site for path in files for site in sites(path)]
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))  # noqa: S311
    begin, results = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="mutations-") as place:
        folder = Path(place) / "copy"
        for name in ("src", "tests", "examples", "docs"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, folder / name)
        broken = caught_by(folder, options.tests, options.seconds)
        if broken:
            raise SystemExit(f"{broken} fails without any mutation")
        for site in chosen:
            if time.monotonic() - begin > options.stop:
                break
            target = folder / site.path.relative_to(ROOT)
            text = target.read_text(encoding="utf-8")
            target.write_text(mutate(text, site), encoding="utf-8")
            found = caught_by(folder, options.tests, options.seconds)
            target.write_text(text, encoding="utf-8")
            results.append({"mutation": str(site), "room": site.path.parent.name, "caught_by": found})
            sys.stdout.write(f"{len(results):4d} {site}: {found or 'SURVIVED'}\n")
            sys.stdout.flush()
            caught = sum(bool(each["caught_by"]) for each in results)
            options.output.write_text(
                json.dumps(
                    {"seed": options.seed, "sites": len(every), "caught": caught, "mutations": results}, indent=1
                )
            )
    caught = sum(bool(each["caught_by"]) for each in results)
    sys.stdout.write(f"{caught} of {len(results)} caught; {len(every)} places can be mutated\n")


if __name__ == "__main__":
    main()

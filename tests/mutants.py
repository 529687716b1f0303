"""The places of a file where an error can be put in, and how it is put in.

What only changes a message, a comment of generated code or a docstring is not mutated.
"""

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

CLASSES = ("comparison", "arithmetic", "number", "condition", "branch", "extreme", "statement", "generated code")
_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil_div": "round_up"}
_MESSAGES = frozenset({"Violation", "warn_once", "format_shape"})
_TOKEN = re.compile(r"(?<=[ (])(?:<=|>=|==|!=|&&|\|\||<|>|\+|-|[0-3])(?=[ );])")
_SWAPPED = {
    "<=": "<", "<": "<=", ">=": ">", ">": ">=", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
    "0": "1", "1": "2", "2": "3", "3": "4",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One place of one file.

    Attributes:
        file: Path below the package.
        kind: One of :data:`CLASSES`.
        line: Where, from 1.
        end: Last line of what is changed.
        what: What is put in.
        number: Its position among the sites of the file.
        local: Whether a function holds it; what stands outside of functions is run by an import.
    """

    file: str
    kind: str
    line: int
    end: int
    what: str
    number: int
    local: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    kind: str
    node: ast.AST
    what: str
    new: str
    local: bool = False


def _skipped(tree: ast.AST) -> set[int]:
    """Nodes inside of messages, of annotations and of docstrings."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") in _MESSAGES):
            parts = [node]
        elif isinstance(node, ast.AnnAssign | ast.arg):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts = [node]
        for part in filter(None, parts):
            inside |= {id(each) for each in ast.walk(part)}
    return inside


def _changed(node: ast.AST, **fields: object) -> str:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return f"({ast.unparse(other)})"


def _operators(node: ast.AST) -> Iterator[_Change]:
    """Comparisons, arithmetic and numbers."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        new = _COMPARISONS[type(node.ops[0])]
        what = f"{type(node.ops[0]).__name__} -> {new.__name__}"
        yield _Change(kind="comparison", node=node, what=what, new=_changed(node, ops=[new(), *node.ops[1:]]))
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_text(node.left):
        new = _OPERATORS[type(node.op)]
        what = f"{type(node.op).__name__} -> {new.__name__}"
        yield _Change(kind="arithmetic", node=node, what=what, new=_changed(node, op=new()))
    elif isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= 3:
        what = f"{node.value} -> {node.value + 1}"
        yield _Change(kind="number", node=node, what=what, new=_changed(node, value=node.value + 1))


def _choices(node: ast.AST) -> Iterator[_Change]:
    """Conditions, branches and extremes."""
    if isinstance(node, ast.BoolOp):
        op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield _Change(kind="condition", node=node, what="and <-> or", new=_changed(node, op=op))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _Change(kind="condition", node=node, what="not dropped", new=f"({ast.unparse(node.operand)})")
    elif isinstance(node, ast.IfExp):
        new = _changed(node, body=node.orelse, orelse=node.body)
        yield _Change(kind="branch", node=node, what="branches swapped", new=new)
    elif isinstance(node, ast.If | ast.While):
        yield _Change(kind="branch", node=node.test, what="condition negated", new=f"(not ({ast.unparse(node.test)}))")
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _NAMES:
        name = ast.unparse(node.func)
        new = _changed(node, func=ast.Name(id=_NAMES[name]))
        yield _Change(kind="extreme", node=node, what=f"{name} -> {_NAMES[name]}", new=new)


def _statements(node: ast.AST) -> Iterator[_Change]:
    """Calls and augmented assignments left out."""
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if called or isinstance(node, ast.AugAssign):
        yield _Change(kind="statement", node=node, what="statement dropped", new="pass")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _code(node: ast.AST) -> Iterator[_Change]:
    """Operators and small numbers of C inside of texts; comments of C are left as they are."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    for place, part in enumerate(parts):
        if not (isinstance(part, ast.Constant) and isinstance(part.value, str)):
            continue
        before = "".join(str(each.value) for each in parts[:place] if isinstance(each, ast.Constant))
        for match in _TOKEN.finditer(part.value):
            said = before + part.value[: match.start()]
            comment = said.rfind("/*") > said.rfind("*/") or re.search(r"//|#", said.rpartition("\n")[2])
            if comment or match[0] not in _SWAPPED:
                continue
            other = copy.copy(part)
            other.value = part.value[: match.start()] + _SWAPPED[match[0]] + part.value[match.end() :]
            new = (
                _changed(node, values=[*parts[:place], other, *parts[place + 1 :]])
                if isinstance(node, ast.JoinedStr)
                else f"({ast.unparse(other)})"
            )
            yield _Change(kind="generated code", node=node, what=f"{match[0]!r} -> {_SWAPPED[match[0]]!r}", new=new)


def _changes(text: str, *, generates: bool) -> list[_Change]:
    tree = ast.parse(text)
    skipped = _skipped(tree)
    found: list[_Change] = []

    def visit(node: ast.AST, local: bool = False) -> None:
        if id(node) in skipped:
            return
        texts = _is_text(node)
        some = (_code(node) if generates else ()) if texts else [*_operators(node), *_choices(node), *_statements(node)]
        found.extend(replace(change, local=local) for change in some)
        for child in () if texts else ast.iter_child_nodes(node):
            visit(child, local or isinstance(node, ast.FunctionDef))

    visit(tree)
    return found


def sites(package: Path, file: str) -> list[Site]:
    """Every place of a file that can be mutated."""
    changes = _changes((package / file).read_text(encoding="utf-8"), generates=file.startswith("codegen"))
    return [
        Site(
            file=file,
            kind=change.kind,
            line=getattr(change.node, "lineno", 0),
            end=getattr(change.node, "end_lineno", 0),
            what=change.what,
            number=number,
            local=change.local,
        )
        for number, change in enumerate(changes)
    ]


def mutate(text: str, site: Site) -> str:
    """Return a file's text with one place changed; only that expression is printed anew."""
    change = _changes(text, generates=site.file.startswith("codegen"))[site.number]
    node = change.node
    assert isinstance(node, ast.expr | ast.stmt)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    data = text.encode()
    return (data[:start] + change.new.encode() + data[end:]).decode()

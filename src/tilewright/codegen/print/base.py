"""What C, CUDA C++ and OpenCL C write alike: expressions, statements, types, declarations.

A printer meets nodes by their class in a table, and operators in another one. What a language writes in its own way is
a value of :class:`Language`, or a method that its printer overrides.

Text that is constant stands in files, ``prelude.h``, ``prelude_gpu.h``, ``vector_math.h`` and GPUs' ``host.h``, and is
cut by name: a block stands behind a line ``//: NAME`` or ``//: NAME: what has to stand before it``, and a word such as
``@v`` in it stands for what differs by the type of elements or by program.
"""

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.ir import Op, Operator, Var
from tilewright.codegen.print.elements import SUFFIX

SIGNS = {
    Operator.ADD: "+",
    Operator.SUB: "-",
    Operator.MUL: "*",
    Operator.DIV: "/",
    Operator.LT: "<",
    Operator.LE: "<=",
    Operator.GT: ">",
    Operator.GE: ">=",
    Operator.EQ: "==",
    Operator.NE: "!=",
    Operator.MOD: "%",
    Operator.SHR: ">>",
    Operator.SHL: "<<",
    Operator.AND: "&",
    Operator.OR: "|",
    Operator.BITAND: "&",
    Operator.BITOR: "|",
    Operator.NONZERO: "!=",
    Operator.XOR: "^",
    Operator.BOTH: "&&",
    Operator.EITHER: "||",
}
"""Operators written between their operands."""
INDEX_HELPERS = (Operator.MIN, Operator.MAX, Operator.FLOORDIV, Operator.CEILDIV, Operator.FLOORMOD)
"""Operators on indices written as functions that every text starts with."""


MARK = "written by tilewright"  # stands in the first comment of every exported file


def in_comment(text: str) -> str:
    """Return a text that ends no comment of C, whatever names it holds, and joins no lines.

    >>> in_comment("a*/b**//c"), in_comment("a" + chr(92) + "b")
    ('a* /b** //c', 'ab')
    """
    return text.replace("\\", "").replace("?/", "? /").replace("*/", "* /")


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """How a language writes what differs."""

    title: str  # what its texts are called in an error
    elements: Mapping[str, str]
    index: str  # the type of an index, which counts cells
    wide: str  # the type of an index of 64 bits
    literal: Callable[[complex, str], str]  # how a number of an element type, or a condition, is written
    built_in: Mapping[Operator, str]  # operators without operands
    # qualifiers of pointers, by the memory that they point into
    spaces: Mapping[ir.AddressSpace, str] = field(default_factory=lambda: dict.fromkeys(ir.AddressSpace, ""))
    vectors: bool = False
    memory: Mapping[str, str] = field(default_factory=dict)  # element types that are others in memory
    natives: Mapping[str, str] = field(default_factory=dict)  # C's own types that have another name
    functions: Mapping[str, str] = field(default_factory=dict)  # functions of C's library that have another name

    def type_name(self, kind: ir.Type) -> str:  # noqa: PLR0911  (one return a kind of type)
        """Return the name of a type."""
        match kind:
            case ir.Element(name) if name in self.elements:
                return self.elements[name]
            case ir.Index():
                return self.wide if kind == ir.WIDE else self.index
            case ir.Bool():
                return "int"
            case ir.Native(name) if name:
                return self.natives.get(name, name)
            case ir.Pointer(to, const, space):
                inner, word = self.in_memory(to), "const " if const else ""
                return f"{inner}{word}*" if inner.endswith("*") else f"{self.spaces[space]}{word}{inner} *"
            case ir.Vector(element) if self.vectors:
                return f"tw_v_{SUFFIX[element.name]}"
            case ir.Mask(element) if self.vectors:
                return f"tw_m_{SUFFIX[element.name]}"
        raise UsageError(f"{self.title} code cannot compute in {kind}", "use float32, float64, int32 or int64")

    def in_memory(self, kind: ir.Type) -> str:
        """Return the name of the type of what lies in memory."""
        stored = self.memory.get(kind.name) if type(kind) is ir.Element else None
        return stored or self.type_name(kind)


class Block(NamedTuple):
    """A piece of a text."""

    text: str
    uses: tuple[str, ...]  # names of functions of the same type that have to stand before it

    def filled(self, words: Mapping[str, str]) -> str:
        """Return the text with its words put in.

        >>> Block("@T tw_@s;", ()).filled({"T": "float", "s": "f32"})
        'float tw_f32;'
        """
        marks = "|".join(sorted(words, key=len, reverse=True))
        return re.sub(f"@({marks})", lambda mark: words[mark[1]], self.text)


@functools.cache
def blocks(file: str, folder: Path = Path(__file__).parent) -> Mapping[str, Block]:
    """Return the blocks of a file by name."""
    text = (folder / file).read_text(encoding="utf-8")
    by_name = {}
    for part in text.split("//: ")[1:]:
        head, _, body = part.partition("\n")
        name, _, uses = head.partition(": ")
        by_name[name] = Block(body.strip("\n") + "\n", tuple(uses.split()))
    return by_name


class Printer(ABC):
    """Prints functions of a unit, and keeps what its text needs besides."""

    language: Language

    def __init__(self) -> None:
        self.dtypes: dict[str, None] = {}  # in the order in which they are met
        self.lines: list[str] = []
        self._declared: dict[int, tuple[str, str]] = {}
        self._statements: dict[type, Callable[[Any, str], object]] = {
            ir.Let: self._let,
            ir.Mutable: self._mutable,
            ir.Assign: self._assign,
            ir.Array: self.array,
            ir.Store: self._store,
            ir.For: self.loop,
            ir.While: self._while,
            ir.If: self._if,
            ir.Scope: self._scope,
            ir.Comment: self._comment,
            ir.Barrier: self.barrier,
            ir.Call: self.effect,
            ir.Intrinsic: self.effect,
        }
        self._expressions: dict[type, Callable[[Any], str]] = {
            ir.Var: self._var,
            ir.Op: self._op,
            ir.Int: self._int,
            ir.Real: self._real,
            ir.Load: self._load,
            ir.Call: self._call,
            ir.Intrinsic: self.intrinsic,
        }
        self._operators: dict[Operator, Callable[[Op], str]] = {
            Operator.SELECT: self._select,
            Operator.NEG: self._negative,
            Operator.INVERT: self._inverted,
            **dict.fromkeys((Operator.WRITABLE, Operator.REINTERPRET, Operator.CONVERT), self._cast),
            Operator.WIDEN: self._wide,
            **dict.fromkeys(self.language.built_in, self.built_in),
            **dict.fromkeys(INDEX_HELPERS, self._index_helper),
        }

    def function(self, function: ir.Function) -> str:
        """Return the text of a function."""
        self.lines = self.head(function)
        self.block(function.body, "  ")
        if function.result is not None:
            self.lines.append(f"  return {self.expr(function.result)};")
        return "\n".join([*self.lines, "}", ""])

    def statements(self, body: Iterable[ir.Stmt], pad: str) -> list[str]:
        """Return the lines of statements, for a text that is not made of IR alone."""
        self.lines = []
        self.block(body, pad)
        return self.lines

    @abstractmethod
    def head(self, function: ir.Function) -> list[str]:
        """Return the lines before a function's body."""

    @abstractmethod
    def barrier(self, node: ir.Barrier, pad: str) -> None:
        """Print where threads meet."""

    @abstractmethod
    def intrinsic(self, node: ir.Intrinsic) -> str:
        """Return a call of a function that the language brings."""

    @abstractmethod
    def named(self, node: Op) -> str:
        """Return an operation that is written as a call of a function that it is named after."""

    # Names and types

    def declare(self, var: Var, *, const: bool = False) -> str:
        """Return the declaration of a name."""
        declaration = self._declared.get(id(var.type))
        if declaration is None:  # types live as long as the nodes that they belong to
            self.use(var.type)
            text = self.language.type_name(var.type)
            pair = (text, f"{text}const ") if text.endswith("*") else (f"{text} ", f"const {text} ")
            declaration = self._declared[id(var.type)] = pair
        return declaration[const] + var.name

    def use(self, kind: ir.Type) -> None:
        """Note the element type of values that the text holds."""
        element = ir.element_of(kind)
        if element is not None:
            self.dtypes[element.name] = None

    # Statements

    def block(self, body: Iterable[ir.Stmt], pad: str) -> None:
        """Print statements."""
        statements = self._statements
        for node in body:
            statements[type(node)](node, pad)

    def _let(self, node: ir.Let, pad: str) -> None:
        self.lines.append(f"{pad}{self.declare(node.var, const=True)} = {self.bare(node.value)};")

    def _mutable(self, node: ir.Mutable, pad: str) -> None:
        self.lines.append(f"{pad}{self.declare(node.var)} = {self.bare(node.value)};")

    def _assign(self, node: ir.Assign, pad: str) -> None:
        self.lines.append(f"{pad}{node.var.name} = {self.bare(node.value)};")

    def array(self, node: ir.Array, pad: str) -> None:
        """Print memory of a fixed size."""
        self.lines.append(f"{pad}{self.language.in_memory(ir.pointee(node.var))} {node.var.name}[{node.length}];")

    def _store(self, node: ir.Store, pad: str) -> None:
        place = self.place(node.base, node.index, node.type, store=True)
        self.lines.append(f"{pad}{self.stored(place, self.bare(node.value), node.type)};")

    def loop(self, node: ir.For, pad: str) -> None:
        """Print a loop."""
        self.counted(node, pad)

    def counted(self, node: ir.For, pad: str, while_: str = "") -> None:
        """Print a loop itself, which ends too where a further condition does not hold."""
        name, step = node.var.name, self.expr(node.step)
        advance = f"++{name}" if step == "1" else f"{name} += {step}"
        start, end = f"{self.declare(node.var)} = {self.bare(node.low)}", self.expr(node.high)
        further = f" && {while_}" if while_ else ""
        self._braces(f"{pad}for ({start}; {name} < {end}{further}; {advance}) {{", node.body, pad)

    def _while(self, node: ir.While, pad: str) -> None:
        self._braces(f"{pad}while ({self.bare(node.condition)}) {{", node.body, pad)

    def _if(self, node: ir.If, pad: str) -> None:
        self._braces(f"{pad}if ({self.bare(node.condition)}) {{", node.then, pad)
        if node.otherwise:
            self.lines.pop()
            self._braces(f"{pad}}} else {{", node.otherwise, pad)

    def _scope(self, node: ir.Scope, pad: str) -> None:
        self._braces(f"{pad}{{", node.body, pad)

    def _braces(self, start: str, body: Iterable[ir.Stmt], pad: str) -> None:
        self.lines.append(start)
        self.block(body, f"{pad}  ")
        self.lines.append(f"{pad}}}")

    def _comment(self, node: ir.Comment, pad: str) -> None:
        self.lines.append(f"{pad}/* {in_comment(node.text)} */")

    def effect(self, node: ir.Expr, pad: str) -> None:
        """Print an expression for what it does."""
        self.lines.append(f"{pad}{self.expr(node)};")

    # Expressions

    def expr(self, node: ir.Expr) -> str:
        """Return the text of an expression, in parentheses where it has parts."""
        return node.name if type(node) is Var else self._expressions[type(node)](node)

    def bare(self, node: ir.Expr) -> str:
        """Return the text of an expression where nothing stands beside it."""
        return self.expr(node)

    def place(self, base: ir.Expr, index: ir.Expr, kind: ir.Type, *, store: bool = False) -> str:  # noqa: ARG002
        """Return the text of a place in memory."""
        return f"{self.expr(base)}[{self.bare(index)}]"

    def stored(self, place: str, value: str, kind: ir.Type) -> str:  # noqa: ARG002
        """Return the text that puts a value into a place in memory."""
        return f"{place} = {value}"

    def _var(self, node: Var) -> str:
        return node.name

    def _int(self, node: ir.Int) -> str:
        return str(node.value) if node.value >= 0 else f"({node.value})"

    def _real(self, node: ir.Real) -> str:
        return self.language.literal(node.value, str(node.type))

    def _load(self, node: ir.Load) -> str:
        return self.place(node.base, node.index, node.type)

    def _call(self, node: ir.Call) -> str:
        return f"{node.name}({', '.join(map(self.bare, node.args))})"

    def _op(self, node: Op) -> str:
        sign = SIGNS.get(node.op)
        if sign is not None and not self.by_call(node):
            a, b = node.args
            return f"({self.expr(a)} {sign} {self.expr(b)})"
        return self._operators.get(node.op, self.named)(node)

    def by_call(self, node: Op) -> bool:  # noqa: ARG002
        """Whether an operator between operands is written as a call all the same."""
        return False

    def _select(self, node: Op) -> str:
        condition, a, b = map(self.expr, node.args)
        return f"({condition} ? {a} : {b})"

    def _negative(self, node: Op) -> str:
        return f"(-{self.expr(node.args[0])})"

    def _inverted(self, node: Op) -> str:
        return f"(~{self.expr(node.args[0])})"

    def _cast(self, node: Op) -> str:
        self.use(node.type)
        return f"(({self.language.type_name(node.type)}){self.expr(node.args[0])})"

    def _wide(self, node: Op) -> str:
        return f"(({self.language.wide}){self.expr(node.args[0])})"

    def built_in(self, node: Op) -> str:
        """Return the text of an operator without operands."""
        return self.language.built_in[node.op]

    def _index_helper(self, node: Op) -> str:
        return f"tw_{node.op}({self.operands(node)})"

    def operands(self, node: Op) -> str:
        """Return the operands of an operation that is written as a call."""
        return ", ".join(map(self.expr, node.args))

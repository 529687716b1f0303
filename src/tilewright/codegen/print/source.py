"""C, and kernels in CUDA C++ and OpenCL C, as people write them: for files that users read and keep.

Names and types are the user's, expressions have the parentheses that they need and those without which compilers warn,
and kernels use the languages' own words in place of macros.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.ir import Op, Operator
from tilewright.codegen.print import dialects
from tilewright.codegen.print.base import SIGNS, Language, Printer
from tilewright.codegen.print.c import c_literal
from tilewright.codegen.print.elements import C_ELEMENTS, MATH_FUNCTIONS

_CHOICE = 0
_EITHER, _BOTH, _SHIFTED, _PRODUCT = 1, 2, 8, 10
_LEVELS = {
    Operator.EITHER: _EITHER,
    Operator.BOTH: _BOTH,
    Operator.OR: 3,
    Operator.XOR: 4,
    Operator.AND: 5,
    Operator.EQ: 6,
    Operator.NE: 6,
    **dict.fromkeys((Operator.LT, Operator.LE, Operator.GT, Operator.GE), 7),
    **dict.fromkeys((Operator.SHL, Operator.SHR), _SHIFTED),
    **dict.fromkeys((Operator.ADD, Operator.SUB), 9),
    **dict.fromkeys((Operator.MUL, Operator.DIV, Operator.MOD), _PRODUCT),
}
_PREFIX, _ATOM = 11, 12  # how strongly operators bind their operands (C11, 6.5), an assignment's least
_PREFIXES = {
    Operator.NEG: "-",
    Operator.PLUS: "+",
    Operator.NOT: "!",
    Operator.INVERT: "~",
    Operator.ADDRESS: "&",
}
_BITWISE = {Operator.AND, Operator.OR, Operator.XOR, Operator.SHL, Operator.SHR}
_INDENT = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDialect:
    """C, or a language of kernels beside it."""

    language: Language  # what differs in names and types
    restrict: str = "restrict "  # before the name of a pointer through which alone its array is reached
    words: dialects.Macros | None = None  # what a language of kernels calls them, and where their threads meet


def _kernels(
    title: str, words: dialects.Macros, restrict: str, natives: Mapping[str, str], functions: Mapping[str, str]
) -> SourceDialect:
    """A language of kernels, which calls threads and memory by its own words."""
    language = Language(
        title=title,
        elements=words.elements,
        index="int",
        wide="long",
        literal=c_literal,
        built_in={Operator.THREAD: words.thread, Operator.GROUP: words.group, Operator.GROUPS: words.groups},
        spaces={
            ir.AddressSpace.GLOBAL: words.space,
            ir.AddressSpace.SHARED: f"{words.shared} ",
            ir.AddressSpace.PRIVATE: "",
        },
        natives=natives,
        functions=functions,
    )
    return SourceDialect(language=language, restrict=restrict, words=words)


C = SourceDialect(
    language=Language(title="C", elements=C_ELEMENTS, index="int", wide="int64_t", literal=c_literal, built_in={})
)
# A host passes pointers to its own types: on Linux int64_t is long, which C++ does not take for long long.
_NATIVES = {"int64_t": "long", "int32_t": "int"}
CUDA = _kernels("CUDA", dialects.CUDA, "__restrict__ ", {**_NATIVES, "size_t": "unsigned long"}, {})
_SINGLE = {f"{name}f": name for name in MATH_FUNCTIONS}
OPENCL = _kernels("OpenCL", dialects.OPENCL, "restrict ", {**_NATIVES, "size_t": "ulong"}, _SINGLE)


def expression_text(node: ir.Expr, level: int = _CHOICE) -> str:
    """Return an expression in C; level: how strongly its surroundings bind, 12 for parentheses but of names and calls.

    >>> a, b = ir.Var("a", ir.Native("int")), ir.Var("b", ir.Native("int"))
    >>> expression_text((a + b) * 2)
    '(a + b) * 2'
    """
    return SourcePrinter(C).text(node, level)


def statement_lines(body: Iterable[ir.Stmt], depth: int = 0) -> list[str]:
    """Return statements in C, so many levels inside of others."""
    return SourcePrinter(C).statements(body, _INDENT * depth)


def print_kernels(
    functions: Iterable[ir.Function], dialect: SourceDialect, attributes: Mapping[str, str] | None = None
) -> str:
    """Return kernels and functions, callees first; ``attributes``: per kernel, what is right before its type."""
    printer = SourcePrinter(dialect, attributes)
    return "\n".join(map(printer.function, functions))


class SourcePrinter(Printer):
    """Prints by precedence."""

    def __init__(self, dialect: SourceDialect, attributes: Mapping[str, str] | None = None) -> None:
        self.language = dialect.language
        super().__init__()
        self.dialect, self.attributes = dialect, attributes or {}
        self._statements |= {
            ir.Declare: self._declare,
            ir.Update: self._update,
            ir.Directive: self._directive,
            ir.Verbatim: self._verbatim,
        }
        self._expressions |= {ir.Literal: self._literal, ir.Size: self._size}

    def head(self, function: ir.Function) -> list[str]:
        """Return the first line of a function, or of a kernel."""
        params = []
        for param in function.params:
            text = self.declare(param, const=not isinstance(param.type, ir.Pointer))
            params.append(text.replace(" *", f" *{self.dialect.restrict}") if function.distinct else text)
        kind = "void" if function.result_type is None else self.language.type_name(function.result_type)
        if function.kind == "kernel":
            kind = self._words.kernel.replace("void", self.attributes.get(function.name, "") + "void")
        return [f"{kind} {function.name}({', '.join(params)}) {{"]

    @property
    def _words(self) -> dialects.Macros:
        if self.dialect.words is None:
            raise TypeError(f"{self.language.title} has no kernels")
        return self.dialect.words

    # Statements

    def array(self, node: ir.Array, pad: str) -> None:
        """Print memory of a fixed size, where it lies."""
        kind = node.var.type
        space = self.language.spaces[kind.space] if isinstance(kind, ir.Pointer) else ""
        shared = isinstance(kind, ir.Pointer) and kind.space is ir.AddressSpace.SHARED
        super().array(node, f"{pad}{space}" if shared else pad)

    def barrier(self, node: ir.Barrier, pad: str) -> None:  # noqa: ARG002
        """Print where threads meet."""
        self.lines.append(f"{pad}{self._words.barrier};")

    def loop(self, node: ir.For, pad: str) -> None:
        """Print a loop, which declares its counter."""
        name, step, up = node.var.name, self.bare(node.step), not node.falling
        advance = {"1": f"{name}++", "-1": f"{name}--"}.get(step, f"{name} += {step}")
        compare = ("<" if up else ">") + ("=" if node.closed else "")
        start, end = f"{self.declare(node.var)} = {self.bare(node.low)}", self.text(node.high, _SHIFTED)
        if node.unroll > 0:
            self.lines.append(f"#pragma unroll {node.unroll}")
        self._braces(f"{pad}for ({start}; {name} {compare} {end}; {advance}) {{", node.body, pad)

    def _declare(self, node: ir.Declare, pad: str) -> None:
        kind = node.var.type
        for _ in node.extents:
            kind = kind.to if isinstance(kind, ir.Pointer) else kind
        text = self.declare(ir.Var(node.var.name, kind)) + "".join(f"[{self.bare(each)}]" for each in node.extents)
        values = ", ".join(map(self.bare, node.values))
        values = f"{{{values}}}" if node.extents and node.values else values
        self.lines.append(f"{pad}{text} = {values};" if node.values else f"{pad}{text};")

    def _update(self, node: ir.Update, pad: str) -> None:
        self.lines.append(f"{pad}{self.bare(node.place)} {SIGNS[node.op]}= {self.bare(node.value)};")

    def _directive(self, node: ir.Directive, pad: str) -> None:  # noqa: ARG002
        self.lines.append(f"#pragma {node.text}")

    def _verbatim(self, node: ir.Verbatim, pad: str) -> None:  # noqa: ARG002
        self.lines += node.text.splitlines()

    # Expressions

    def expr(self, node: ir.Expr) -> str:
        """Return the text of an expression, in parentheses where it has parts."""
        return self.text(node, _ATOM)

    def bare(self, node: ir.Expr) -> str:
        """Return the text of an expression where nothing stands beside it."""
        return self.text(node, _CHOICE)

    def text(self, node: ir.Expr, level: int) -> str:
        """Return the text of an expression, in parentheses if it binds less than a level asks."""
        printed, own = self._operation(node) if type(node) is Op else (self._expressions[type(node)](node), _ATOM)
        return f"({printed})" if own < level else printed

    def _operation(self, node: Op) -> tuple[str, int]:
        """The text of an operation, and how strongly it binds."""
        op, args = node.op, node.args
        if op in _LEVELS:
            own = _LEVELS[op]
            # Compilers warn of sums and comparisons beside bitwise operators, and of && beside || below.
            inner = [_PRODUCT, _PRODUCT] if op in _BITWISE else [own, own + 1]
            for place, arg in enumerate(args):
                if op is Operator.EITHER and isinstance(arg, Op) and arg.op is Operator.BOTH:
                    inner[place] = _BOTH + 1
            a, b = map(self.text, args, inner)
            return f"{a} {SIGNS[op]} {b}", own
        if op in _PREFIXES:
            inside, sign = self.text(args[0], _PREFIX), _PREFIXES[op]
            return f"{sign}({inside})" if inside[0] in "+-" else f"{sign}{inside}", _PREFIX
        if op in {Operator.MIN, Operator.MAX}:
            a, b = (self.text(each, _SHIFTED) for each in args)
            return f"{a} {'<' if op is Operator.MIN else '>'} {b} ? {a} : {b}", _CHOICE
        if op is Operator.SELECT:
            test, then, other = (self.text(each, _EITHER) for each in args)
            return f"{test} ? {then} : {other}", _CHOICE
        if op in {Operator.CONVERT, Operator.REINTERPRET}:
            return f"({self.language.type_name(node.type)}){self.text(args[0], _PREFIX)}", _PREFIX
        return self.built_in(node) if op in self.language.built_in else self.named(node), _PREFIX

    def named(self, node: Op) -> str:
        """Refuse what C has no operator for."""
        raise TypeError(f"{self.language.title} has no {node.op}")

    def intrinsic(self, node: ir.Intrinsic) -> str:
        """Refuse what C has no function for."""
        raise TypeError(f"{self.language.title} has no {node.name}")

    def _int(self, node: ir.Int) -> str:
        return str(node.value)

    def _literal(self, node: ir.Literal) -> str:
        return node.text

    def _size(self, node: ir.Size) -> str:
        return f"sizeof({self.language.type_name(node.of)})"

    def _call(self, node: ir.Call) -> str:
        name = self.language.functions.get(node.name, node.name)
        return f"{name}({', '.join(map(self.bare, node.args))})"

"""The C dialect: prints IR as C11 with OpenMP, vectors as GCC's vector extension (gcc and clang).

Vectors are written out instead of left to the compiler's vectoriser: the loops have no remainder and no prologue, every
supported compiler makes the same code, and it compiles in a fraction of the time. The register width is the
compiler's own macro, so one text serves every processor.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from tilewright.codegen import ir
from tilewright.codegen.ir import Op, Operator
from tilewright.codegen.print.base import SIGNS, Language, Printer, in_comment
from tilewright.codegen.print.c_prelude import PLAIN, helper, lift_helpers, prelude
from tilewright.codegen.print.elements import C_ELEMENTS, C_LANES, C_VALUES, SUFFIX

_COMPLEX_CALLS = {Operator.MUL, Operator.DIV}
_APART = "static __attribute__((noinline)) "
_VECTORIZED = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif"""
_TABLE_LINE = 8  # numbers of a table per line
_WIDTH = 120  # characters of the first lines of a function


def print_unit(functions: Iterable[ir.Function], *, vectorized: bool = False, strict: bool = False) -> str:
    """Print a translation unit of functions, callees first."""
    printer = _Printer()
    bodies = [printer.function(function) for function in tuple(functions)]
    lifted = [lift_helpers(dtype) for dtype in printer.lifted]
    start = [_VECTORIZED] if vectorized else []  # GCC makes vectors, whatever it is told otherwise
    # strict: exponentials and their like are those of C's library, number by number
    return "\n".join([*start, prelude(printer.dtypes, printer.helpers, strict=strict), *lifted, *bodies])


def c_literal(value: complex, dtype: str) -> str:
    """Write a literal that the compiler reads back exactly; a real one among complex numbers stays a real one.

    >>> c_literal(0.1, "float32"), c_literal(2, "float64"), c_literal(-1, "int32"), c_literal(0.5 - 1j, "complex64")
    ('0.1f', '2.0', '(-1)', '__builtin_complex(0.5f, (-1.0f))')
    """
    if isinstance(value, complex):
        return f"__builtin_complex({c_literal(value.real, dtype)}, {c_literal(value.imag, dtype)})"
    if dtype == "bool":
        return str(int(value))
    if "int" in dtype:
        return _integer(int(value), dtype)
    single = C_LANES[dtype] == "float"
    tail = "f" if single else ""
    number = _round32(float(value)) if single else float(value)
    if math.isnan(number):
        return f'__builtin_nan{tail}("")'
    if math.isinf(number):
        return f"({'-' if number < 0 else ''}__builtin_inf{tail}())"
    text = _shortest32(number) if single else repr(number)
    return f"({text}{tail})" if text.startswith("-") else f"{text}{tail}"


def _integer(value: int, dtype: str) -> str:
    lowest = -(2 ** (int(dtype.rpartition("int")[2]) - 1))
    tail = {"int64": "LL", "uint32": "U"}.get(dtype, "")
    if value == lowest:
        return f"({value + 1}{tail} - 1)"
    return f"({value}{tail})" if value < 0 else f"{value}{tail}"


def _round32(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _shortest32(value: float) -> str:
    text = str(np.float32(value))
    return text if any(c in text for c in ".e") else f"{text}.0"


def _wrapped(head: str) -> list[str]:
    """Break the first lines of a function after commas.

    >>> _wrapped("static void f(int64_t a, int64_t b) {")
    ['static void f(int64_t a, int64_t b) {']
    """
    lines: list[str] = []
    for part in head.split(", "):
        if lines and len(lines[-1]) + len(part) + 3 <= _WIDTH:
            lines[-1] += f", {part}"
        else:
            lines = [*lines[:-1], f"{lines[-1]},", f"    {part}"] if lines else [part]
    return lines


def _is_complex(node: ir.Expr) -> bool:
    """Whether a value is a complex number; a literal that is none is written as a real one."""
    if type(node) is ir.Real and not isinstance(node.value, complex):
        return False
    element = ir.element_of(ir.type_of(node))
    return element is not None and element.is_complex


LANGUAGE = Language(
    title="C",
    elements=C_VALUES,
    memory={name: text for name, text in C_ELEMENTS.items() if C_VALUES[name] != text},
    index="int64_t",
    wide="int64_t",
    literal=c_literal,
    built_in={
        Operator.THREAD: "tw_thread()",
        Operator.THREADS: "tw_threads()",
        Operator.VECTOR_BYTES: "TW_BYTES",
        Operator.WANTED: "",
    },
    vectors=True,
)
c_type = LANGUAGE.type_name


def _long(loop: ir.For) -> bool:
    """Whether an iteration is more than some cells of a row."""
    return any(isinstance(node, ir.For | ir.While | ir.Call | ir.Intrinsic) for node in ir.walk(loop.body))


def _meets(node: ir.Stmt) -> bool:
    """Whether all threads of a region meet in a statement, whatever the data."""
    if isinstance(node, ir.Scope) or (isinstance(node, ir.For) and node.brief):
        return any(map(_meets, node.body))
    return isinstance(node, ir.Barrier) or (isinstance(node, ir.For) and bool(node.share))


def _holds_rounds(node: ir.Stmt) -> bool:
    """Whether a statement holds a loop in which threads meet, and which is not brief."""
    return any(isinstance(each, ir.For) and not each.brief and any(map(_meets, each.body)) for each in ir.walk((node,)))


class _Printer(Printer):
    """Notes the functions that a unit needs: for operators on vectors, dimension-lifted rows, threads that meet.

    Entry functions ask whether their results are still wanted (:mod:`tilewright.runtime.interrupts`): in every
    iteration of loops that threads share, or in which they meet, and of those around other loops that one thread runs.
    A brief loop asks only where its statements say so.
    """

    language = LANGUAGE

    def __init__(self) -> None:
        super().__init__()
        self.helpers: dict[tuple[str, str, bool], None] = {}
        self.lifted: dict[str, None] = {}
        self._region = self._outside = False
        self._asks: set[bool] = set()
        self._statements |= {
            ir.ConstArray: self._table,
            ir.Parallel: self._parallel,
        }
        self._expressions |= {ir.Lanes: self._lanes, ir.Shift: self._shift}
        self._operators |= {Operator.OPAQUE: self._opaque, Operator.LANE: self._lane}

    def function(self, function: ir.Function) -> str:
        self._asks, self._outside = set(), function.kind == "entry"
        text = super().function(function)
        return f"#if TW_REGISTERS == {function.registers}\n{text}#endif\n" if function.registers else text

    def block(self, body: Iterable[ir.Stmt], pad: str) -> None:
        start = len(self.lines)
        super().block(body, pad)
        if self._asks and pad == "  ":  # a function's own statements
            lines = [f"{pad}int64_t tw_last_round = INT64_MAX;"]
            lines += [f"{pad}tw_asks tw_own = {{&tw_last_round, 0, 0}};"] if False in self._asks else []
            self.lines[start:start] = lines

    def _ask(self, question: str) -> str:
        """Return a question whether results are wanted, and note that the region or the function around it asks."""
        self._asks.add(self._region)
        self.helpers[("asks", "index", False)] = None
        return f"tw_{question}(&tw_own)"

    @contextmanager
    def _inside(self, *, region: bool, outside: bool) -> Iterator[None]:
        """Print statements in a region or not; outside of the loops that ask."""
        before = self._region, self._outside
        self._region, self._outside = region, outside
        yield
        self._region, self._outside = before

    def head(self, function: ir.Function) -> list[str]:
        parameters = ", ".join(map(self.declare, function.params))
        if function.distinct:
            parameters = parameters.replace(" *", " *restrict ")
        result = c_type(function.result_type) if function.result_type is not None else "void"
        start = {"entry": "", "inline": "static inline ", "local": "static ", "apart": _APART}[function.kind]
        gap = "" if result.endswith("*") else " "
        about = [f"/* {in_comment(function.about)} */"] if function.about else []
        start += '__attribute__((optimize("O3"))) ' if function.vectorized else ""
        return [*about, *_wrapped(f"{start}{result}{gap}{function.name}({parameters}) {{")]

    def loop(self, node: ir.For, pad: str) -> None:
        schedule = {"static": "static", "dynamic": "dynamic, 1", "": ""}[node.share]
        if schedule:
            self.lines.append(f"{pad}#pragma omp for schedule({schedule})")
        if node.independent:
            self.lines.append("#pragma GCC ivdep")
        first, asks, while_ = len(self.lines) + 1, "", ""
        outside = self._outside and not node.brief
        if outside and self._region and any(map(_meets, node.body)) and not any(map(_holds_rounds, node.body)):
            while_ = self._ask("goes_on")
        elif outside and _long(node) and (node.share or not self._region):
            asks = self._ask("wanted")
        shared = asks and node.share
        with self._inside(region=self._region, outside=outside and not asks):
            self.counted(node, pad, while_ if shared else while_ or asks)
        if shared:
            self.lines.insert(first, f"{pad}  if (!{asks}) continue;")

    def _table(self, node: ir.ConstArray, pad: str) -> None:
        kind = ir.pointee(node.var)
        numbers = [c_literal(value, str(kind)) for value in node.values]
        lines = [", ".join(numbers[i : i + _TABLE_LINE]) for i in range(0, len(numbers), _TABLE_LINE)]
        self.lines.append(f"{pad}static const {LANGUAGE.in_memory(kind)} {node.var.name}[{len(numbers)}] = {{")
        self.lines += [*(f"{pad}  {line}," for line in lines), f"{pad}}};"]

    def _parallel(self, node: ir.Parallel, pad: str) -> None:
        self.lines.append(f"{pad}#pragma omp parallel num_threads({self.expr(node.threads)})")
        start = len(self.lines)
        with self._inside(region=True, outside=self._outside):
            self._scope(ir.Scope(node.body), pad)
        if True in self._asks:
            self.helpers[("thread", "index", False)] = None
            patience = "tw_thread() ? INT64_MAX : 0"
            self.lines.insert(start + 1, f"{pad}  tw_asks tw_own = {{&tw_last_round, 0, {patience}}};")
        if node.flush:
            self.helpers[("flush", "index", False)] = None
            self.lines.insert(start + 1, f"{pad}  const uint64_t mode = tw_flush();")
            self.lines.insert(-1, f"{pad}  tw_restore(mode);")

    def bare(self, node: ir.Expr) -> str:
        if type(node) is Op:
            sign = SIGNS.get(node.op)
            if sign is not None and not self.by_call(node):
                a, b = node.args
                return f"{self.expr(a)} {sign} {self.expr(b)}"
        return self.expr(node)

    def place(self, base: ir.Expr, index: ir.Expr, kind: ir.Type, *, store: bool = False) -> str:
        if type(kind) is not ir.Vector:
            text = super().place(base, index, kind)
            if type(kind) is ir.Element and kind.is_narrow and not store:
                return f"tw_get_{SUFFIX[kind.name]}({text})"
            return text
        const = "" if store else "const "
        text = f"*({const}tw_u_{SUFFIX[kind.element.name]} *)({self.expr(base)} + {self.expr(index)})"
        return f"tw_load_{SUFFIX[kind.element.name]}({text})" if kind.element.is_narrow and not store else text

    def stored(self, place: str, value: str, kind: ir.Type) -> str:
        if type(kind) is ir.Element and kind.is_narrow:
            value = f"tw_put_{SUFFIX[kind.name]}({value})"
        elif type(kind) is ir.Vector and kind.element.is_narrow:
            value = f"tw_store_{SUFFIX[kind.element.name]}({value})"
        return super().stored(place, value, kind)

    def _load(self, node: ir.Load) -> str:
        convert = self._conversion("from", node.base, node.type)
        return f"{convert}({self.expr(node.base)} + {self.expr(node.index)})" if convert else super()._load(node)

    def _store(self, node: ir.Store, pad: str) -> None:
        if convert := self._conversion("into", node.base, node.type):
            place, value = f"{self.expr(node.base)} + {self.expr(node.index)}", self.bare(node.value)
            self.lines.append(f"{pad}{convert}({place}, {value});")
        else:
            super()._store(node, pad)

    def _conversion(self, way: str, base: ir.Expr, kind: ir.Type) -> str:
        """The function that loads or stores a vector where numbers of another type lie, if they do."""
        if type(kind) is not ir.Vector or (memory := ir.pointee(base)) == kind.element:
            return ""
        return self._helper(f"{way}_{memory}", kind.element.name)

    def by_call(self, node: Op) -> bool:
        """Products and quotients of complex numbers by complex ones: C's own look for what is not finite."""
        return node.op in _COMPLEX_CALLS and all(map(_is_complex, node.args))

    def _lanes(self, node: ir.Lanes) -> str:
        return f"TW_LANES_{SUFFIX[node.element.name].upper()}"

    def built_in(self, node: Op) -> str:
        if node.op is Operator.WANTED:
            return self._ask("wanted")
        if node.op in PLAIN:
            self.helpers[(node.op, "index", False)] = None
        return super().built_in(node)

    def barrier(self, node: ir.Barrier, pad: str) -> None:  # noqa: ARG002
        self.lines.append(f"{pad}#pragma omp barrier")

    def intrinsic(self, node: ir.Intrinsic) -> str:
        name, args = f"tw_{node.name}", ", ".join(map(self.bare, node.args))
        if node.name in PLAIN:
            self.helpers[(node.name, "index", False)] = None
            return f"{name}({args})"
        if node.name in {"past", "translate"}:
            return f"{self._helper(node.name, node.element.name, vector=node.name == 'past')}({args})"
        self.lifted[node.element.name] = None
        return f"{name}_{SUFFIX[node.element.name]}({args})"

    def _lane(self, node: Op) -> str:
        vector, place = node.args
        return f"{self.expr(vector)}[{self.bare(place)}]"

    def _shift(self, node: ir.Shift) -> str:
        kind = f"outside_{{}}_{node.boundary}" if node.boundary else "beside_{}"
        name = f"{kind.format('low' if node.low else 'high')}_{node.distance}"
        return f"{self._helper(name, node.type.element.name)}({self.expr(node.own)}, {self.expr(node.other)})"

    def _opaque(self, node: Op) -> str:
        self.helpers[("opaque", "index", False)] = None
        return f"tw_opaque({self.expr(node.args[0])})"

    def named(self, node: Op) -> str:
        element = ir.element_of(node.type)
        if element is None:
            raise TypeError(f"C has no {node.op} of values of type {node.type}")
        name = self._helper(node.op, element.name, vector=type(node.type) is ir.Vector)
        return f"{name}({self.operands(node)})"

    def _helper(self, name: str, dtype: str, *, vector: bool = True) -> str:
        self.helpers[(name, dtype, vector)] = None
        return helper(name, dtype, vector=vector)

"""Kernels over long vectors: what Krylov methods do between two products, alone and fused.

A kernel is a list of assignments and sums that every element goes through in order; fusing two kernels is appending
their lists, with the vectors that they share named alike, so that each vector is read once and written once. The
kernels of Mametjanov et al. ("Autotuning stencil-based computations on GPUs", CLUSTER 2012, table II) are here by name.

Sums are taken over blocks of :data:`BLOCK` elements and the blocks' sums are added in order in double precision, so a
result does not depend on the number of threads.
"""

import ast
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.base.arguments import checked
from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.products.registers import (
    ARRAYS,
    DOUBLE,
    INDICES,
    beyond_boundary,
    lanes_of,
    put,
    real_element,
    sweep,
)
from tilewright.codegen.source import KernelSource, c_source

BLOCK = 4096  # elements per partial sum
_VERSION = 2  # raised when texts change for the same kernel
MOST_TERMS = 16  # terms of one multiple AXPY
_NAME = re.compile(r"[A-Za-z_]\w*")


def _names(formula: str) -> list[str]:
    return _NAME.findall(formula)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An assignment ``target = formula``, or a sum of ``formula`` over all elements where the target is empty."""

    target: str = ""  # a vector, or nothing
    formula: str  # vectors and scalars with + - * and parentheses


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorKernel:
    """What a kernel does to every element."""

    name: str
    scalars: tuple[str, ...] = ()  # in argument order
    vectors: tuple[str, ...]  # in argument order
    operations: tuple[Operation, ...]  # what is done, in order; an assignment is seen by what follows

    @property
    def written(self) -> tuple[str, ...]:
        """Vectors that it writes."""
        return tuple(dict.fromkeys(each.target for each in self.operations if each.target))

    @property
    def read(self) -> tuple[str, ...]:
        """Vectors whose former elements it needs."""
        inputs: dict[str, None] = {}
        assigned: set[str] = set()
        for each in self.operations:
            inputs |= dict.fromkeys(
                name for name in _names(each.formula) if name in self.vectors and name not in assigned
            )
            assigned.add(each.target)
        return tuple(name for name in self.vectors if name in inputs)

    @property
    def sums(self) -> int:
        """Number of sums that it returns."""
        return sum(not each.target for each in self.operations)

    @property
    def moved(self) -> int:
        """Vectors' lengths that move between memory and the CPU, once every vector is longer than the caches."""
        fresh = [name for name in self.written if name not in self.read]
        return len(self.read) + len(self.written) + len(fresh)

    @property
    def streams(self) -> bool:
        """Whether it writes a vector that it does not read: that one may be stored past the caches."""
        return any(name not in self.read for name in self.written)


@checked
def kernel(name: str, vectors: str, *operations: str, scalars: str = "") -> VectorKernel:
    """Write a kernel down.

    Args:
        name: Its name.
        vectors: Names, separated by spaces.
        operations: ``y = a * x + y`` assigns, ``x * y`` sums.
        scalars: Names, separated by spaces.

    Returns:
        The kernel.

    Raises:
        UsageError: If a formula holds anything but these names, whole numbers, + - * and parentheses.

    >>> kernel("axpy", "x y", "y = a * x + y", scalars="a").moved
    3
    """
    parsed = []
    names = {*vectors.split(), *scalars.split()}
    for text in operations:
        target, _, formula = text.rpartition("=")
        target, formula = target.strip(), formula.strip()
        unknown = [word for word in (*_names(formula), *([target] if target else [])) if word not in names]
        if unknown or not _is_formula(formula, names) or (target and target not in vectors.split()):
            raise UsageError(
                f"{text!r} is no operation on {', '.join(sorted(names))}",
                "write 'y = a * x + y' to assign, 'x * y' to sum",
            )
        parsed.append(Operation(target=target, formula=formula))
    return VectorKernel(
        name=name, scalars=tuple(scalars.split()), vectors=tuple(vectors.split()), operations=tuple(parsed)
    )


def _is_formula(text: str, names: Collection[str]) -> bool:
    try:
        _formula_value(ast.parse(text, mode="eval").body, dict.fromkeys(names, 1))
    except (SyntaxError, UsageError):
        return False
    return True


def _formula_value(node: ast.expr, values: Mapping[str, ir.Operand]) -> ir.Operand:
    """A formula of names, whole numbers, + - * and parentheses."""
    match node:
        case ast.Name(name):
            return values[name]
        case ast.Constant(int(number)):
            return number
        case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, operand):
            value = _formula_value(operand, values)
            return -value if isinstance(sign, ast.USub) else value
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as sign, right):
            a, b = _formula_value(left, values), _formula_value(right, values)
            if isinstance(sign, ast.Mult):
                return a * b
            return a + b if isinstance(sign, ast.Add) else a - b
    raise UsageError(f"{ast.unparse(node)!r} is no formula of a vector kernel", "write sums and products of names")


@checked
def multiple(terms: int) -> VectorKernel:
    """Return the multiple AXPY: y += a0 x0 + a1 x1 + ….

    Raises:
        UsageError: If there are no terms, or more than :data:`MOST_TERMS`.
    """
    if not 1 <= terms <= MOST_TERMS:
        raise UsageError(f"a multiple AXPY has 1 to {MOST_TERMS} terms, got {terms}")
    each = range(terms)
    return kernel(
        f"maxpy{terms}",
        " ".join([*(f"x{k}" for k in each), "y"]),
        "y = y + " + " + ".join(f"a{k} * x{k}" for k in each),
        scalars=" ".join(f"a{k}" for k in each),
    )


CATALOGUE = {
    each.name: each
    for each in (
        kernel("axpy", "x y", "y = a * x + y", scalars="a"),
        kernel("aypx", "x y", "y = a * y + x", scalars="a"),
        kernel("waxpy", "x y w", "w = a * x + y", scalars="a"),
        kernel("scale", "x", "x = a * x", scalars="a"),
        kernel("dot", "x y", "x * y"),
        kernel("norm2", "x", "x * x"),
        kernel("dot_norm2", "x y", "x * y", "x * x"),
        kernel("axpy_norm2", "x y", "y = a * x + y", "y * y", scalars="a"),
        kernel("axpy_dot", "x y z", "y = a * x + y", "y * z", scalars="a"),
        kernel("cg_update", "p q x r", "x = a * p + x", "r = r - a * q", "r * r", scalars="a"),
    )
}
"""The kernels of table II and compositions; the multiple AXPY is :func:`multiple`."""


@checked
def fuse(first: VectorKernel, second: VectorKernel, share: Mapping[str, str]) -> VectorKernel:
    """Fuse two kernels: the second runs on each element right after the first.

    Args:
        first: A kernel.
        second: Another one.
        share: The second one's vectors that are vectors of the first, by name: ``{"x": "y"}``. Others stay separate.

    Returns:
        The fused kernel: the first one's arguments, then what the second one adds.

    Raises:
        UsageError: If a name in ``share`` is none of theirs.

    >>> fuse(CATALOGUE["axpy"], CATALOGUE["norm2"], {"x": "y"}).operations[-1].formula
    'y * y'
    """
    for inner, outer in share.items():
        if inner not in second.vectors or outer not in first.vectors:
            raise UsageError(
                f"{second.name!r} shares {list(second.vectors)} with {list(first.vectors)}, got {dict(share)}"
            )
    identifiers = {*first.vectors, *first.scalars}
    names = dict(share)
    for name in (*second.vectors, *second.scalars):
        if name not in names:
            fresh = name
            while fresh in identifiers:
                fresh += "_"
            names[name] = fresh
            identifiers.add(fresh)
    renamed = tuple(
        replace(each, target=names.get(each.target, ""), formula=_NAME.sub(lambda m: names[m[0]], each.formula))
        for each in second.operations
    )
    return VectorKernel(
        name=f"{first.name}+{second.name}",
        scalars=first.scalars + tuple(names[name] for name in second.scalars),
        vectors=first.vectors + tuple(names[name] for name in second.vectors if name not in share),
        operations=first.operations + renamed,
    )


def compute(
    kernel: VectorKernel, scalars: Mapping[str, ir.Expr], b: ir.Builder, load: Callable[[str], ir.Expr], tag: str = ""
) -> tuple[dict[str, ir.Operand], list[ir.Operand]]:
    """Compute an element, or vectors of them: what every name stands for afterwards, and the terms of each sum."""
    values: dict[str, ir.Operand] = {**scalars, **{name: b.let(f"e_{name}{tag}", load(name)) for name in kernel.read}}
    terms = []
    for number, each in enumerate(kernel.operations):
        value = _formula_value(ast.parse(each.formula, mode="eval").body, values)
        if each.target and isinstance(value, ir.Expr):
            values[each.target] = b.let(f"{each.target}{number}{tag}", value)
        elif each.target:
            values[each.target] = value
        else:
            terms.append(value)
    return values, terms


def compute_element(
    kernel: VectorKernel,
    scalars: Mapping[str, ir.Expr],
    b: ir.Builder,
    at: ir.Expr,
    pointers: Mapping[str, ir.Expr],
    totals: Sequence[ir.Expr],
) -> None:
    """Compute an element of the vectors that ``pointers`` point to, and add it to the sums."""
    values, terms = compute(kernel, scalars, b, lambda name: pointers[name][at])
    for total, term in zip(totals, terms, strict=True):
        b.set(total, total + term)
    for name in kernel.written:
        b.set(pointers[name][at], values[name])


def emit_vectors(kernel: VectorKernel, dtype: str, vectors: int) -> KernelSource[None]:
    """Write a kernel for CPUs, with ``vectors`` registers of elements per iteration.

    ``array`` holds the vectors' addresses, ``size`` their length, the number of threads and whether vectors that are
    only written go past the caches; ``work`` has room for as many doubles as sums times blocks, and holds the sums
    afterwards; the last argument points to the scalars, as doubles.
    """
    real = real_element(dtype)
    entry = f"tw_vectors_{fingerprint(kernel, dtype, vectors, _VERSION)[:12]}"
    block = _Block(kernel, real, vectors, entry).function()
    return c_source(c.print_unit((block, _entry(kernel, real, block, entry))), entry)


class _Block:
    """Makes the function that computes elements from … from + n - 1; their sums go to ``sum``."""

    def __init__(self, kernel: VectorKernel, real: ir.Element, vectors: int, entry: str) -> None:
        b = self.b = ir.Builder(f"{entry}_block")
        self.kernel, self.real, self.vectors = kernel, real, vectors
        self.register = ir.vector(real)
        array, start, self.n = b.param("array", ARRAYS), b.param("from", ir.INDEX), b.param("n", ir.INDEX)
        self.stream = b.param("stream", ir.INDEX)
        scalar, self.total = b.param("scalar", ir.const_pointer(DOUBLE)), b.param("sum", ir.pointer(DOUBLE))
        self.pointers = {}
        for number, name in enumerate(kernel.vectors):
            kind = ir.Pointer(real, const=name not in kernel.written)
            self.pointers[name] = b.let(f"p_{name}", array[number].to(kind) + start)
        self.scalars = {name: b.let(name, scalar[number].to(real)) for number, name in enumerate(kernel.scalars)}
        self.fresh = [name for name in kernel.written if name not in kernel.read]
        self.wide = [[b.mutable(f"t{k}_{v}", 0.0, self.register) for v in range(vectors)] for k in range(kernel.sums)]
        self.single = [b.mutable(f"t{k}", 0.0, real) for k in range(kernel.sums)]

    def function(self) -> ir.Function:
        b = self.b
        if self.fresh:
            offsets = [beyond_boundary(self.pointers[name]) for name in self.fresh]
            past = self.stream.differs(0)
            for offset in offsets[1:]:  # all meet a boundary of vectors at the same element
                past = past & offset.equals(offsets[0])
            with b.when(past):
                self.sweep(past=True)
            with b.otherwise():
                self.sweep(past=False)
        else:
            self.sweep(past=False)
        for k, wide in enumerate(self.wide):
            parts = wide
            while len(parts) > 1:
                pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
                parts = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
            b.set(self.total[k], lanes_of(b, f"s{k}", b.let(f"all{k}", parts[0]), self.single[k].to(DOUBLE)))
        return b.function()

    def sweep(self, *, past: bool) -> None:
        aligned = self.pointers[self.fresh[0]] if past else None
        whole = lambda at: self.registers(at, past=past)  # noqa: E731
        element = lambda at: compute_element(self.kernel, self.scalars, self.b, at, self.pointers, self.single)  # noqa: E731
        sweep(self.b, self.n, self.real, self.vectors, whole, element, aligned=aligned)

    def from_place(self, place: ir.Expr) -> Callable[[str], ir.Expr]:
        return lambda name: self.pointers[name].vector(place)

    def registers(self, at: ir.Expr, *, past: bool) -> None:
        """Registers of elements: all of them are computed before any is stored."""
        b, results = self.b, []
        for v in range(self.vectors):
            place = at + ir.Lanes(self.real) * v
            values, terms = compute(self.kernel, self.scalars, b, self.from_place(place), f"_{v}")
            for total, term in zip(self.wide, terms, strict=True):
                b.set(total[v], total[v] + term)
            results.append((place, values))
        for place, values in results:
            for name in self.kernel.written:
                value = values[name]
                if not isinstance(value, ir.Expr) or ir.type_of(value) != self.register:
                    value = ir.splat(value, self.register)
                put(b, self.pointers[name], place, value, past=past and name in self.fresh)


def _entry(kernel: VectorKernel, real: ir.Element, block: ir.Function, entry: str) -> ir.Function:
    b = ir.Builder(entry, kind="entry")
    array, size = b.param("array", ARRAYS), b.param("size", INDICES)
    work, scalar = b.param("work", ir.pointer(DOUBLE)), b.param("scalar", ir.const_pointer(DOUBLE))
    n, stream = b.let("n", size[0]), b.let("stream", size[2])
    blocks = b.let("blocks", (n + (BLOCK - 1)) / BLOCK)

    def run_block(at: ir.Expr) -> None:
        b.call(block, array, at * BLOCK, ir.smallest(n - at * BLOCK, BLOCK), stream, scalar, work + at * kernel.sums)
        with b.when(stream.differs(0)):
            b.intrinsic("fence", real)

    with b.when(size[1] > 1), b.parallel(size[1]), b.loop("b", 0, blocks, share="static") as at:
        run_block(at)
    with b.otherwise(), b.loop("b", 0, blocks) as at:
        run_block(at)
    for k in range(kernel.sums):
        total = b.mutable(f"total{k}", 0.0, DOUBLE)
        with b.loop("b", 0, blocks) as at:
            b.set(total, total + work[at * kernel.sums + k])
        b.set(work[k], total)
    return b.function()

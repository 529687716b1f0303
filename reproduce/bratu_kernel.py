"""The residual of the Bratu problem on a 2D grid (PETSc's SNES example 5), and the main diagonal of its Jacobian.

Inside, f = (2u - u_w - u_e) hy/hx + (2u - u_n - u_s) hx/hy - hx hy lambda exp(u); on the boundary
f = 2 (hy/hx + hx/hy) u, and neighbours there count as zero, as in the example, which makes the Jacobian symmetric.
The exponential is computed in vectors, within one unit in the last place or so: Cody and Waite's reduction to
|r| <= ln(2)/2 and Taylor's polynomial, whose remainder is below a tenth of a unit.
"""

import itertools
import math
from dataclasses import dataclass

from tilewright.base.fingerprint import fingerprint
from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.products.registers import ARRAYS, BYTE, DOUBLE, INDICES, put, real_element, sweep
from tilewright.codegen.source import KernelSource, c_source

SIZES = ("rows", "columns", "threads", "stream", "diagonal")
"""What ``size`` holds; ``diagonal`` asks for the Jacobian's main diagonal instead of the residual."""
_VERSION = 2
"""Raised when texts change for the same arguments."""


@dataclass(frozen=True, slots=True)
class _Exponential:
    """Constants of the exponential in a type.

    Attributes:
        degree: Of the polynomial.
        bits: Of the fraction.
        bias: Of the exponent.
        magic: Added and taken away, it rounds to a whole number.
        bound: Arguments beyond which the result is 0 or infinite.
        high: ln 2, of which so many last bits are 0 that its products with whole numbers are exact.
        low: What that leaves of ln 2.
    """

    degree: int
    bits: int
    bias: int
    magic: float
    bound: float
    high: float
    low: float


_EXP = {
    "float64": _Exponential(
        13,
        52,
        1023,
        1.5 * 2.0**52,
        800.0,
        float.fromhex("0x1.62e42fefa0000p-1"),
        float.fromhex("0x1.cf79abc9e3b3ap-40"),
    ),
    "float32": _Exponential(
        7, 23, 127, 1.5 * 2.0**23, 150.0, float.fromhex("0x1.62e400p-1"), float.fromhex("0x1.7f7d1cp-20")
    ),
}


def emit_bratu(dtype: str, vectors: int) -> KernelSource[None]:
    """Write the kernel.

    ``array`` holds u, the result and a row of zeros; ``size`` what :data:`SIZES` says; the last argument points to
    hy/hx, hx/hy and hx hy lambda, as doubles.

    Args:
        dtype: ``float32`` or ``float64``.
        vectors: Registers of cells per iteration.

    Returns:
        The source.

    Raises:
        UsageError: If there are no kernels in that type.
    """
    real = real_element(dtype)
    entry = f"tw_bratu_{fingerprint(dtype, vectors, _VERSION)[:12]}"
    power = exponential(real)
    rows = {
        (past, diagonal): _row(real, power, vectors, past=past, diagonal=diagonal)
        for past, diagonal in itertools.product((True, False), repeat=2)
    }
    share = _rows(real, rows)
    return c_source(c.print_unit((power, *rows.values(), share, _entry(share, real, entry))), entry)


def exponential(real: ir.Element) -> ir.Function:
    """Make the function ``exponential`` on vectors of a type."""
    how, register = _EXP[real.name], ir.vector(real)
    whole = ir.element(f"int{real.bits}")
    bits = ir.vector(whole)
    b = ir.Builder("exponential", kind="inline")
    x = b.param("x", register)
    highest, lowest = b.let("most", how.bound, register), b.let("lowest", -how.bound, register)
    below = b.let("below", ir.select(x > highest, highest, x))
    inside = b.let("inside", ir.select(below < lowest, lowest, below))
    magic = b.let("magic", how.magic, register)
    log2e = ir.Real(math.log2(math.e), real)
    shifted = b.let("shifted", inside * log2e + magic)
    n = b.let("n", shifted - magic)
    r = b.let("r", (inside - n * how.high) - n * how.low)
    p = b.mutable("p", 1 / math.factorial(how.degree), register)
    for k in range(how.degree - 1, -1, -1):
        b.set(p, p * r + 1 / math.factorial(k))
    b.comment("2^n in two factors: it may be a subnormal number or overflow")
    power = b.let("power", shifted.to(bits) - magic.to(bits))
    half = b.let("half", power >> 1)
    first = b.let("first", ((half + how.bias) << how.bits).to(register))
    second = b.let("second", ((power - half + how.bias) << how.bits).to(register))
    return b.function((p * first) * second)


@dataclass(frozen=True, slots=True)
class _Weights:
    """hy/hx, hx/hy and hx hy lambda."""

    east: ir.Expr
    north: ir.Expr
    source: ir.Expr

    @property
    def edge(self) -> ir.Expr:
        return (self.east + self.north) * 2.0

    def cell(
        self,
        middle: ir.Expr,
        sides: tuple[ir.Expr, ir.Expr],
        rows: tuple[ir.Expr, ir.Expr],
        power: ir.Expr,
    ) -> ir.Expr:
        """The residual of a cell, or of a vector of cells."""
        return (
            (middle * 2.0 - sides[0] - sides[1]) * self.east
            + (middle * 2.0 - rows[0] - rows[1]) * self.north
            - self.source * power
        )


def _weights(b: ir.Builder, real: ir.Element) -> _Weights:
    return _Weights(*(b.param(name, real) for name in ("east", "north", "source")))


def _row(real: ir.Element, power: ir.Function, vectors: int, *, past: bool, diagonal: bool) -> ir.Function:
    """Compute a row inside the grid; ``n`` and ``s`` are the rows above and below."""
    b = ir.Builder(f"row{'_past' * past}{'_diagonal' * diagonal}")
    u, n, s = (b.param(name, ir.const_pointer(real)) for name in "uns")
    f, columns = b.param("f", ir.pointer(real)), b.param("columns", ir.INDEX)
    k = _weights(b, real)
    edge = b.let("edge", k.edge)
    register = ir.vector(real)

    def single(i: ir.Expr) -> None:
        exp = b.let("e", b.call(power, ir.splat(u[i], register)))
        if diagonal:
            b.set(f[i], edge - k.source * exp.lane(0))
            return
        sides = (ir.select(i > 1, u[i - 1], 0.0), ir.select(i + 2 < columns, u[i + 1], 0.0))
        b.set(f[i], k.cell(u[i], sides, (n[i], s[i]), exp.lane(0)))

    def whole(at: ir.Expr) -> None:
        found = []
        for v in range(vectors):
            i = at + ir.Lanes(real) * v
            middle = b.let(f"c{v}", u.vector(i))
            exp = b.let(f"e{v}", b.call(power, middle))
            if diagonal:
                found.append((i, b.let(f"v{v}", edge - k.source * exp)))
                continue
            value = k.cell(middle, (u.vector(i - 1), u.vector(i + 1)), (n.vector(i), s.vector(i)), exp)
            found.append((i, b.let(f"v{v}", value)))
        for i, value in found:
            put(b, f, i, value, past=past)

    b.set(f[0], edge if diagonal else edge * u[0])
    with b.when(columns > 2):
        single(b.let("second", 1))
    with b.when(columns > 3):
        inner = b.let("inner", columns - 2)
        sweep(b, inner, real, vectors, whole, single, first=2, aligned=f if past else None)
        single(inner)
    with b.when(columns > 1):
        b.set(f[columns - 1], edge if diagonal else edge * u[columns - 1])
    return b.function()


def _rows(real: ir.Element, rows: dict[tuple[bool, bool], ir.Function]) -> ir.Function:
    """Compute rows from … to - 1."""
    b = ir.Builder("rows")
    u, f = b.param("u", ir.const_pointer(real)), b.param("f", ir.pointer(real))
    none = b.param("none", ir.const_pointer(real))
    start, stop, size = b.param("from", ir.INDEX), b.param("to", ir.INDEX), b.param("size", INDICES)
    k = _weights(b, real)
    high, wide = b.let("high", size[0]), b.let("wide", size[1])
    stream, diagonal = b.let("stream", size[3].differs(0)), b.let("diagonal", size[4].differs(0))
    edge = b.let("edge", k.edge)
    with b.loop("j", start, stop) as j:
        row, to = b.let("c", u + j * wide), b.let("t", f + j * wide)
        with b.when(j.equals(0) | j.equals(high - 1)), b.loop("i", 0, wide) as i:
            b.set(to[i], ir.select(diagonal, edge, edge * row[i]))
        with b.otherwise():
            above = b.let("n", ir.select(j > 1, row - wide, none))
            below = b.let("s", ir.select(j + 2 < high, row + wide, none))
            for (past, main), each in rows.items():
                with b.when(stream.equals(int(past)) & diagonal.equals(int(main))):
                    b.call(each, row, above, below, to, wide, k.east, k.north, k.source)
    with b.when(stream):
        b.intrinsic("fence", real)
    return b.function()


def _entry(rows: ir.Function, real: ir.Element, entry: str) -> ir.Function:
    b = ir.Builder(entry, kind="entry")
    array, size = b.param("array", ARRAYS), b.param("size", INDICES)
    b.param("work", ir.pointer(BYTE))
    weight = b.param("weight", ir.const_pointer(DOUBLE))
    n = b.let("n", size[0])
    fixed = ir.const_pointer(real)
    pointers = (array[0].to(fixed), array[1].to(ir.pointer(real)), array[2].to(fixed))
    weights = [weight[k].to(real) for k in range(3)]
    with b.when(size[2] > 1), b.parallel(size[2]):
        low, high = (n * (ir.THREAD + more) / ir.THREADS for more in (0, 1))
        b.call(rows, *pointers, low, high, size, *weights)
    with b.otherwise():
        b.call(rows, *pointers, 0, n, size, *weights)
    return b.function()

"""Micro-benchmarks of single operations for a GPU's power meter.

Every thread does one operation over and over. Chains of registers that only this thread knows begin with numbers that
the compiler does not know, every result goes into the next, and what comes out is stored, so that nothing can be left
out or merged: additions in turn take and give back, since rounding forbids to join them; whole numbers are added to
each other's sums; maxima and minima alternate. Accesses to the chip and to memory change their place from turn to turn.
Source of the method: Prajapati, thesis, section B.7.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from tilewright.codegen import ir
from tilewright.codegen.print.gpu import print_gpu
from tilewright.codegen.source import EntryPoint, KernelSource

THREADS = 128
ACCESSES = 64
"""Loads or stores of a thread per turn."""
CHUNK = THREADS * ACCESSES
"""Cells that a group passes per turn."""
CHIP_BYTES = 4 * THREADS * (ACCESSES + 1)
OPERANDS = 12
"""Numbers that every thread of arithmetic starts from: four that are put in, eight that change."""
PER_TURN = {
    "awake": 32, "add": 128, "multiply": 128, "fma": 128, "int_add": 128, "int_max": 128, "divide": 16,
    "shared_load": ACCESSES, "shared_store": ACCESSES, "load": ACCESSES, "store": ACCESSES, "barrier": 16,
}  # fmt: skip
"""The kernels in order, and the operations of a thread per turn; those of ``awake`` are one thread's of a group."""
_NUMBERS = ("turns", "chunks", "groups")
_FLOAT, _INT, _UNSIGNED = (ir.element(name) for name in ("float32", "int32", "uint32"))
_CHAINS = 8
"""Registers whose chains a thread goes through in turn."""
_KNOWN = 4
"""Numbers that are put in."""


def energy_source(dialect: str) -> KernelSource[None]:
    """Return the text of the kernels of :data:`PER_TURN`, in this order.

    Each takes the pointers ``target`` and ``source`` and the numbers ``turns``, ``chunks`` (of :data:`CHUNK` cells that
    are loaded or stored) and ``groups`` (how many are started). Arithmetic starts from ``source[0 … OPERANDS - 1]``;
    all but ``store`` write one cell per thread.

    Raises:
        UsageError: If there is no such dialect.
    """
    kernels = tuple(
        EntryPoint(
            entry=f"tw_energy_{name}",
            threads=THREADS,
            numbers=_NUMBERS,
            shared_bytes=CHIP_BYTES if name.startswith("shared") else 0,
        )
        for name in PER_TURN
    )
    functions = [_Kernel(name).function() for name in PER_TURN]
    return KernelSource(text=print_gpu(functions, dialect), dialect=dialect, kernels=kernels, layout=None)


Step = Callable[[ir.Expr, ir.Expr, ir.Expr, list[ir.Expr]], ir.Expr]
"""The next value of a register, from it, the next register, a known number and all of those."""


def _fma(own: ir.Expr, _following: ir.Expr, number: ir.Expr, known: list[ir.Expr]) -> ir.Expr:
    return own * number + known[3]


_STEPS: dict[str, tuple[ir.Element, tuple[Step, Step], int]] = {
    "add": (_FLOAT, (lambda own, _n, number, _k: own + number,) * 2, 4),
    "multiply": (_FLOAT, (lambda own, _n, number, _k: own * number,) * 2, 4),
    "fma": (_FLOAT, (_fma, _fma), 2),
    "int_add": (_UNSIGNED, (lambda own, following, _c, _k: own + following,) * 2, 4),
    "int_max": (
        _INT,
        (
            lambda own, _n, number, _k: ir.select(own > number, own, number),
            lambda own, _n, number, _k: ir.select(own < number, own, number),
        ),
        4,
    ),
    "divide": (_FLOAT, (lambda own, _n, number, _k: own / number,) * 2, 2),
}
"""Type, what is done in turn, and to how many of the known numbers, one after the other."""


class _Kernel:
    """Makes one kernel."""

    def __init__(self, name: str) -> None:
        self.name = name
        b = self.b = ir.Builder(f"tw_energy_{name}", kind="kernel", threads=THREADS)
        self.target, self.source = b.param("target", ir.pointer(_FLOAT)), b.param("source", ir.const_pointer(_FLOAT))
        self.turns, self.chunks, self.groups = (b.param(each, ir.INDEX) for each in _NUMBERS)

    def function(self) -> ir.Function:
        other = {
            "awake": self.awake,
            "shared_load": self.shared_load,
            "shared_store": self.shared_store,
            "load": self.load,
            "store": self.store,
            "barrier": self.barrier,
        }
        other.get(self.name, self.arithmetic)()
        return self.b.function()

    def turn(self) -> AbstractContextManager[ir.Expr]:
        """The loop over turns, as it stands."""
        return self.b.loop("turn", 0, self.turns, unroll=1)

    def known(self, kind: ir.Element) -> list[ir.Expr]:
        """Numbers that the compiler does not know."""
        return [self.b.let(f"c{n}", self.source[n].to(kind)) for n in range(_KNOWN)]

    def chains(self, kind: ir.Element, *, zero: bool = False) -> list[ir.Expr]:
        """Registers that change: they start from numbers that the compiler does not know, or from 0."""
        first = [0.0 if zero else self.source[_KNOWN + n].to(kind) for n in range(_CHAINS)]
        return [self.b.mutable(f"k{n}", value, kind) for n, value in enumerate(first)]

    @property
    def cell(self) -> ir.Expr:
        """The thread's cell of the target."""
        return ir.GROUP * THREADS + ir.THREAD

    def keep(self, chains: list[ir.Expr]) -> None:
        """Store what came out, so that nothing can be left out."""
        total = chains[0]
        for each in chains[1:]:
            total = total + each
        self.b.set(self.target[self.cell], total.to(_FLOAT))

    def awake(self) -> None:
        b, known = self.b, self.known(_FLOAT)
        own = b.mutable("k", self.source[_KNOWN])
        with b.when(ir.THREAD.equals(0)):
            with self.turn():
                for number in range(PER_TURN["awake"]):
                    b.set(own, own + known[number % _KNOWN])
            self.b.set(self.target[ir.GROUP * THREADS], own)

    def arithmetic(self) -> None:
        kind, steps, numbers = _STEPS[self.name]
        known, chains = self.known(kind), self.chains(kind)
        with self.turn():
            for number in range(PER_TURN[self.name] // _CHAINS):
                put = known[number % numbers]
                for n, own in enumerate(chains):
                    following = chains[(n + 1) % _CHAINS]
                    self.b.set(own, steps[number % 2](own, following, put, known))
        self.keep(chains)

    def loads(self, chains: list[ir.Expr], at: ir.Expr) -> None:
        for n in range(ACCESSES):
            own = chains[n % _CHAINS]
            self.b.set(own, own + at[n * THREADS])

    def stores(self, chains: list[ir.Expr], at: ir.Expr) -> None:
        for n in range(ACCESSES):
            self.b.set(at[n * THREADS], chains[n % _CHAINS])

    def slot(self, chip: ir.Expr, turn: ir.Expr) -> ir.Expr:
        """Where a turn's accesses to the chip start: one of two places."""
        return self.b.let("at", chip + (turn % 2 * THREADS + ir.THREAD))

    def chip(self) -> ir.Expr:
        return self.b.array("chip", ir.shared_pointer(_FLOAT), CHIP_BYTES // _FLOAT.bytes)

    def shared_load(self) -> None:
        b, chip = self.b, self.chip()
        with b.loop("slot", 0, ACCESSES + 1) as slot:
            self.b.set(chip[slot * THREADS + ir.THREAD], self.source[slot * THREADS + ir.THREAD])
        b.barrier()
        chains = self.chains(_FLOAT, zero=True)
        with self.turn() as turn:
            self.loads(chains, self.slot(chip, turn))
        self.keep(chains)

    def shared_store(self) -> None:
        chip, chains = self.chip(), self.chains(_FLOAT)
        with self.turn() as turn:
            self.stores(chains, self.slot(chip, turn))
        kept = chip[self.turns % ACCESSES * THREADS + ir.THREAD]
        self.b.set(self.target[self.cell], ir.select(self.turns > 0, kept, 0.0))

    def load(self) -> None:
        b = self.b
        chunk = b.mutable("chunk", (ir.wide(ir.GROUP) * self.chunks / self.groups).to(ir.INDEX))
        chains = self.chains(_FLOAT, zero=True)
        with self.turn():
            self.loads(chains, b.let("at", self.source + (ir.wide(chunk) * CHUNK + ir.THREAD)))
            b.set(chunk, ir.select(chunk + 1 < self.chunks, chunk + 1, 0))
        self.keep(chains)

    def store(self) -> None:
        b = self.b
        chunk, chains = b.mutable("chunk", ir.GROUP), self.chains(_FLOAT)
        with self.turn():
            self.stores(chains, b.let("at", self.target + (ir.wide(chunk) * CHUNK + ir.THREAD)))
            b.set(chunk, ir.select(chunk + self.groups < self.chunks, chunk + self.groups, ir.GROUP))

    def barrier(self) -> None:
        with self.turn():
            for _ in range(PER_TURN["barrier"]):
                self.b.barrier()
        self.b.set(self.target[self.cell], self.turns.to(_FLOAT) + self.source[0])

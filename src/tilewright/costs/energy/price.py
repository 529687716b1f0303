"""The energy model: E = P_stat T + sum of what is done, times what it costs (Prajapati, thesis, appendix B).

E_alg = P_stat T_alg + N_tiles E_tile, with E_tile = e_gs M_io + e_sr M_sr + E_iter V (B.2). Summed over all tiles this
is a scalar product of machine constants and amounts of a run: seconds, words between memory and chip, words between
on-chip memory and registers, and operations by type. The regression solves for the constants
(:mod:`tilewright.costs.energy.fit`).

The general rule for any program and tiling family: the words off chip are those of the time model; every update loads
its reads from and stores its results to on-chip memory, which is the 6 e_sr V of the printed J2D, but for code that
keeps rows in registers, whose own words are counted; operations are counted in the program's expressions. The printed
instances are in :mod:`tilewright.costs.published.energy`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from tilewright.base.constants import WORD
from tilewright.base.dtypes import arithmetic
from tilewright.base.facts import fact
from tilewright.costs.arrays import Floats
from tilewright.costs.energy.constants import NAMES, Constants
from tilewright.programs.stencil.expression import Apply
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program

_MULTIPLIES = frozenset({"mul"})
_MAXIMA = frozenset({"maximum", "minimum"})
_ROUNDING = 1e-9
OPERATIONS = ("adds", "multiplies", "int_adds", "int_maxima", "specials")
"""What operations are counted as, in the order of their constants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run uses of each constant: the amounts of the scalar product."""

    seconds: float  # T_alg
    global_words: float  # 4-byte words between memory and chip
    shared_words: float  # 4-byte words between on-chip memory and registers
    adds: float = 0.0  # floating-point additions, subtractions, comparisons and selections
    multiplies: float = 0.0  # floating-point multiplications
    int_adds: float = 0.0  # integer additions
    int_maxima: float = 0.0  # integer maxima and minima
    specials: float = 0.0  # divisions, roots and functions

    @staticmethod
    def of(
        *, seconds: float, global_words: float, shared_words: float, updates: float, operations: Sequence[float]
    ) -> "Usage":
        """Return what so many updates use, of which each has ``operations`` in the order of the constants."""
        amounts = dict(zip(OPERATIONS, (updates * count for count in operations), strict=True))
        return Usage(seconds=seconds, global_words=global_words, shared_words=shared_words, **amounts)

    def times(self, factor: float) -> "Usage":
        """Return so many times the amounts."""
        return Usage(**{item.name: factor * getattr(self, item.name) for item in fields(self)})

    def vector(self) -> Floats:
        """Return the amounts in the order of :data:`NAMES`; shape (8,)."""
        return np.array([getattr(self, item.name) for item in fields(self)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Joules:
    """The energy of a run and its parts, in joules."""

    joules: float
    low: float  # the same with every constant at the low end of its range, the time as it is
    # the same at the high end, but no more than the board draws in that time where the energy is not, either
    high: float
    watts: float  # average power
    static: float  # P_stat T_alg
    off_chip: float  # words between memory and chip
    on_chip: float  # words between on-chip memory and registers
    arithmetic: float  # operations
    source: str  # where the constants that matter come from: ``estimated`` as soon as one of them is
    board_watts: float | None = None  # what the board may draw; None where nobody says

    @property
    def warning(self) -> str:
        """One sentence where the power is above the board's, else nothing."""
        return above_board(self.watts, self.board_watts)

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {**asdict(self), "warning": self.warning}


def above_board(watts: float, board: float | None) -> str:
    """Say in one sentence that a predicted power is above what the board may draw; nothing where it is not.

    >>> above_board(354.0, 225.0).partition(":")[0], above_board(200.0, 225.0)
    ("predicted power 354 W is above the board's 225 W", '')
    """
    if board is None or watts <= board * (1 + _ROUNDING):
        return ""
    return (
        f"predicted power {watts:.4g} W is above the board's {board:g} W: a board at its limit lowers its clock, so "
        "the run takes longer than predicted, or the energy constants are too large"
    )


def price(usage: Usage, constants: Constants) -> Joules:
    """Return the energy of a run."""
    amounts = usage.vector()
    each = amounts * constants.vector()
    total = float(each.sum())
    provenance = [getattr(constants, name).source for name, amount in zip(NAMES, amounts, strict=True) if amount > 0]
    sources = sorted(set(provenance)) or ["paper"]
    board = None if constants.board is None else constants.board.value
    high = float(amounts @ constants.vector("high"))
    return Joules(
        joules=total,
        low=float(amounts @ constants.vector("low")),
        high=high if board is None or total > board * usage.seconds else min(high, board * usage.seconds),
        watts=total / usage.seconds if usage.seconds > 0 else 0.0,
        static=float(each[0]),
        off_chip=float(each[1]),
        on_chip=float(each[2]),
        arithmetic=float(each[3:].sum()),
        source="estimated" if "estimated" in sources else " and ".join(sources),
        board_watts=board,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyRule:
    """The general rule for one problem on one machine."""

    known: Constants
    updates: float  # cell updates of the problem
    accesses: float  # 4-byte words between on-chip memory and registers per update: every read and every result
    # per update, in the order of the constants after e_sr: adds, multiplies, integer adds and maxima, specials; one of
    # 8 bytes counts twice
    operations: tuple[float, ...]

    def dynamic(
        self, dram_bytes: Floats, updates: Floats | float | None = None, shared_words: Floats | None = None
    ) -> Floats:
        """Return the dynamic energy in joules, N_tiles E_tile."""
        count = self.updates if updates is None else updates
        words = self.accesses * count if shared_words is None else shared_words
        joules = self.known.vector()
        arithmetic = float(np.array(self.operations) @ joules[3:])
        return np.asarray(joules[1] * dram_bytes / WORD + joules[2] * words + arithmetic * count)

    def joules(
        self,
        seconds: Floats,
        dram_bytes: Floats,
        updates: Floats | float | None = None,
        shared_words: Floats | None = None,
    ) -> Floats:
        """Return the energy in joules; infinite where the time is."""
        static = self.known.static_watts.value * seconds
        return np.asarray(static + self.dynamic(dram_bytes, updates, shared_words))

    def usage(
        self, seconds: float, dram_bytes: float, updates: float | None = None, shared_words: float | None = None
    ) -> Usage:
        """Return the amounts of one run."""
        count = self.updates if updates is None else updates
        return Usage.of(
            seconds=seconds,
            global_words=dram_bytes / WORD,
            shared_words=count * self.accesses if shared_words is None else shared_words,
            updates=count,
            operations=self.operations,
        )


def rule(problem: Problem, known: Constants) -> EnergyRule:
    """Collect what the energy model needs of a problem."""
    program, wide = problem.program, arithmetic(problem.dtype).itemsize / WORD
    cells = float(np.prod([float(extent) for extent in problem.shape]))
    return EnergyRule(
        known=known,
        updates=cells * problem.steps,
        accesses=problem.itemsize / WORD * (program.loads + len(program.statements)),
        operations=tuple(wide * count for count in operations(program, not problem.rounds)),
    )


@fact
def operations(program: Program, integral: bool = False) -> tuple[float, ...]:
    """Count the operations of one update by type: adds, multiplies, integer adds, integer maxima, specials.

    Comparisons, selections and logic count as additions.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> operations(program("jacobi2d")), operations(program("gradient2d"))
    ((4.0, 1.0, 0.0, 0.0, 0.0), (9.0, 4.0, 0.0, 0.0, 2.0))
    """
    ops = [node.op for statement in program.statements for node in statement.tape if isinstance(node, Apply)]
    return count_operations(ops, integral)


def count_operations(ops: Sequence[str], integral: bool) -> tuple[float, ...]:
    """Count operators by type, as :func:`operations` does."""
    multiplies = sum(op in _MULTIPLIES for op in ops)
    specials = sum(op in SPECIAL for op in ops)
    adds = len(ops) - multiplies - specials
    if not integral:
        return float(adds), float(multiplies), 0.0, 0.0, float(specials)
    maxima = sum(op in _MAXIMA for op in ops)
    return 0.0, float(multiplies), float(adds - maxima), float(maxima), float(specials)

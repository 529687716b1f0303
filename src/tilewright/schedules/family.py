"""What a tiling family is, and a tiling, which holds one.

A family is a value: ``FAMILY`` of a module of :mod:`tilewright.schedules.families`, which has the family's name and
stands in :data:`FAMILIES`. No other place lists them, and none needs to know that another one has come: whatever others
may ask of a family is a member of :class:`Family`.

Whether a tiling is legal follows from the dependences of the program; the rules that families share are here as well.
"""

import functools
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tilewright.base.deprecations import GONE
from tilewright.base.errors import IllegalTilingError, UsageError, meant
from tilewright.base.facts import fact
from tilewright.base.units import format_shape
from tilewright.programs.stencil.analysis import Dependence
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.tree.affine import Name
from tilewright.schedules.tree.nodes import Node

if TYPE_CHECKING:  # runs count nothing
    from tilewright.schedules.counting import TileWork

FAMILIES = ("none", "hexagonal", "hybrid", "streaming", "skewed", "diamond", "orthogonal")
"""The families, in the order in which they are listed: modules of ``schedules/families``."""
LONG = {"time": "t", "space": "s"}  # keys of a tiling that are written in short
UNUSED = {"variant": "fixed", "reuse": "place"}
"""Keys that meant something until version 0.3.0: read, written as they always were, and without a meaning."""
BEGIN, END = Name("begin"), Name("end")  # the parts of a sweep that run, half-open


@dataclass(frozen=True, slots=True, kw_only=True)
class Legal:
    """The tiling computes what the program says."""

    sequential: Dependence | None = None  # the recurrence that makes a sweep run cell by cell in order, if there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """The tiling would compute something else."""

    reason: str  # one sentence for the user
    dependence: Dependence | None = None  # the broken dependence, flow or memory; None where the reason is another
    hint: str = ""  # what to do about it

    def __str__(self) -> str:
        return self.reason


Verdict = Legal | Violation


def require(verdict: Verdict) -> None:
    """Refuse a tiling that would compute something else."""
    if isinstance(verdict, Violation):
        raise IllegalTilingError(verdict.reason, verdict.hint)


@fact
def untileable(problem: Problem) -> Violation | None:
    """Say why no time tile can be legal: a recurrence inside the sweep, or a read that wraps around the grid."""
    name = problem.program.name
    sweep = problem.program.analysis.sweep
    if sweep:
        return Violation(
            reason=f"{name!r} cannot be tiled in time: the {sweep[0]} lies inside one sweep (a recurrence)",
            dependence=sweep[0],
            hint="use the tiling none",
        )
    for statement in problem.program.statements:
        for read in statement.reads:
            for axis, (below, _) in enumerate(problem.sides(read.field)):
                if below.kind == "wrap" and read.offset[axis]:
                    where = f"{read.field}[{', '.join(map(str, read.offset))}]"
                    return Violation(
                        reason=f"{name!r} cannot be tiled in time here: with the boundary wrap on axis {axis}, "
                        f"{where} depends on cells at the far end of the grid (a long-range dependence)",
                        hint="use the tiling none, or another boundary",
                    )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """How a tiling sweeps over a grid: an order over all steps that is cut into parts, in turn along axis 0.

    They lean through time: while a part begins at a row's first step, it ends as many rows behind as all steps lean.
    Only rows between are needed at once, and nothing is computed twice.
    """

    tree: Node  # the order of the parts from :data:`BEGIN` to :data:`END`
    count: int  # parts that cover the grid
    pitch: int  # cells along axis 0 by which a part goes beyond the one before
    behind: int  # cells below its number times the pitch that a part touches at most, reads included
    ahead: int  # the cell, from its number times the pitch, from which on the parts before one touch nothing

    def ends(self, part: int) -> int:
        """Return the cell below which a part and later ones touch nothing."""
        return part * self.pitch - self.behind

    def begins(self, part: int) -> int:
        """Return the cell from which on the parts before one have touched nothing."""
        return part * self.pitch + self.ahead


class Family(str):
    """A kind of tiling: how its tilings cut a problem, and in which order the tiles are computed.

    A family is its name, as a text, so that it is printed, compared and stored as that. ``ranks``, ``summary``,
    :meth:`complete` and :meth:`tree` are required; the rest has defaults. Loops on CPUs, counts, the drawing and the
    price of a tiling follow from its tree. All methods but :meth:`complete` are given completed tilings.
    """

    __slots__ = ()

    ranks: tuple[int, ...]  # of the programs that it cuts
    summary: str  # what it is, in a line

    # What its tiles are. Where nothing is said, the tree alone says what they are.
    untiled = False  # there are none, and no sizes: every step sweeps over the grid
    hexagons = False  # hexagons on (time, axis 0), so that heights are even and bases hold the reach
    # diamonds on (time, axis 0), so that heights and pitches are even and pitches grow with heights
    diamonds = False
    parallelograms = False  # boxes of every axis that lean through a band of steps, in wavefronts over all bands
    # they compute cells of their neighbours again, in a band of steps no longer than the run, whose levels follow each
    # other along axis 0
    streams = False
    tables = False  # they cut a table that a recurrence fills

    # Where it is used.
    gpu = False  # whether there is code of it for GPUs
    sweeps = False  # whether any tiling sweeps over a grid on a disk: :meth:`sweep`
    trusted = False  # whether models know what its code does, so that it need not win by a margin to be chosen
    # factors of a predicted time on CPUs between which four of five recorded times lie; None where none are recorded
    cpu_range: tuple[float, float] | None = None

    @property
    def prisms(self) -> bool:
        """Whether tiles are prisms over hexagons or diamonds, whose other axes are cut in sequence."""
        return self.hexagons or self.diamonds

    @property
    def modelled(self) -> bool:
        """Whether a time model has equations for what its tiles are, in place of :meth:`work`."""
        return self.untiled or self.prisms or self.parallelograms or self.streams or self.tables

    def complete(self, problem: Problem, tiling: "Tiling") -> "Tiling":
        """Fill in what a tiling leaves out; raise UsageError for keys and values that do not apply.

        Completed, a tiling of a stencil has one size per axis, or none where the family is :attr:`untiled`.
        """
        raise NotImplementedError

    def tree(self, problem: Problem, tiling: "Tiling") -> Node:
        """Return the schedule tree: the order of execution, as data that others interpret."""
        raise NotImplementedError

    def check(self, problem: Problem, tiling: "Tiling", storage: Storage = PLAIN) -> Verdict:  # noqa: ARG002
        """Say whether every dependence is kept, by closed forms, where versions lie as a storage says.

        By default tiles of any size keep them, wherever a program can be tiled in time.
        """
        return untileable(problem) or Legal()

    def applies(self, problem: Problem, storage: Storage = PLAIN, *, gpu: bool = False) -> bool:  # noqa: ARG002
        """Say whether any tiling of a problem is legal that can be tiled in time at all; on GPUs, if there is code."""
        return problem.program.rank in self.ranks and (self.gpu or not gpu)

    def candidates(self, problem: Problem) -> Sequence["Tiling"]:  # noqa: ARG002
        """Return the tilings worth a look on a CPU; by default none: the family is tried where it is asked for.

        Families with equations (:attr:`modelled`) are not asked: :mod:`tilewright.tuning.spaces` has grids of sizes.
        """
        return ()

    def work(self, problem: Problem, tiling: "Tiling") -> "TileWork":
        """Return what tiles compute and move, and how many there are; by default by running the order of one."""
        from tilewright.schedules.counting import work_of

        return work_of(problem, self.tree(problem, tiling))

    def sweep(self, problem: Problem, tiling: "Tiling") -> Parts | None:  # noqa: ARG002
        """Return how a tiling sweeps over a grid on a disk, on a CPU; by default it cannot, which is None."""
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return family_named, (str(self),)


def family_named(name: str) -> Family:
    """Return a family.

    >>> family_named("hybrid").ranks
    (2, 3)
    """
    return name if isinstance(name, Family) else _loaded(name)


HOMES = {"orthogonal": "tilewright.workloads.tables.orthogonal"}
"""Modules of families that lie with the workload that they tile, not in ``schedules/families``."""


@functools.cache
def _loaded(name: str) -> Family:
    if name in FAMILIES:
        family = importlib.import_module(HOMES.get(name, f"tilewright.schedules.families.{name}")).FAMILY
        assert isinstance(family, Family)  # noqa: S101
        return family
    if name in GONE:
        raise GONE[name].error()
    hint = meant(name, FAMILIES, f"the families are {', '.join(FAMILIES)}")
    raise UsageError(f"there is no tiling family {name!r}", hint)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Tiling:
    """The order of execution of a kernel, and what is asked for of its code beyond the rule's choice.

    Attributes:
        family: The tiling family, which is a text: its name.
        time: Height of a tile in time steps (the papers' t_T); 1 where time is not tiled.
        space: Tile sizes per axis, outermost first (the papers' t_S1, t_S2, t_S3); empty where the family has none.
        sub: Sub-tile sizes per axis; empty where the family has none.
        threads: Threads per axis of a GPU's thread block; empty for the family's default.
        k: Tiles resident per SM; None for the largest number that fits.
        rows: Rows blocked in registers; None for the family's default.
        unroll: Unroll factor of the innermost loop; None for the compiler's choice.
        variant: Means nothing; an argument until version 0.3.0, which is accepted.
        reuse: The same.
        neighbours: On a CPU, where vectors beside others come from: ``loads`` or ``shuffles``; None for the default.
        sums: On a CPU, how weighted sums are written, one of :data:`tilewright.schedules.code.FORMS`; None for
            the default.
        piece: On a CPU, cells of a piece of a sweep that goes through several statements; None for the default.

    Examples:
        >>> str(Tiling(family="hybrid", time=16, space=(8, 64), threads=(1, 64)))
        'hybrid:t=16,s=8x64,threads=1x64'
    """

    family: Family
    time: int = 1
    space: tuple[int, ...] = ()
    sub: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    k: int | None = None
    rows: int | None = None
    unroll: int | None = None
    neighbours: str | None = None
    sums: str | None = None
    piece: int | None = None

    def __init__(  # noqa: PLR0913
        self,
        *,
        family: Family | str,
        time: int = 1,
        space: tuple[int, ...] = (),
        sub: tuple[int, ...] = (),
        threads: tuple[int, ...] = (),
        k: int | None = None,
        rows: int | None = None,
        unroll: int | None = None,
        variant: str = UNUSED["variant"],  # noqa: ARG002
        reuse: str = UNUSED["reuse"],  # noqa: ARG002
        neighbours: str | None = None,
        sums: str | None = None,
        piece: int | None = None,
    ) -> None:
        values = (family_named(family), time, space, sub, threads, k, rows, unroll, neighbours, sums, piece)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        parts = []
        for item in fields(self)[1:]:
            value = getattr(self, item.name)
            if value == item.default:
                continue
            text = format_shape(value) if isinstance(value, tuple) else str(value)
            parts.append(f"{LONG.get(item.name, item.name)}={text}")
        return f"{self.family}:{','.join(parts)}" if parts else str(self.family)

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data: every key but those that say how code is written, where they are open.

        Examples:
            >>> Tiling(family="none").to_dict()["k"], "sums" in Tiling(family="none").to_dict()
            (None, False)
        """
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}
        plain["family"] = str(self.family)
        code = {name: plain.pop(name) for name in ("neighbours", "sums", "piece")}
        return {**plain, **UNUSED, **{name: value for name, value in code.items() if value is not None}}


def require_sizes(tiling: Tiling, rank: int) -> None:
    """Refuse a tiling that has not one size per axis."""
    if len(tiling.space) != rank:
        raise UsageError(
            f"{tiling.family} tiles have one size per axis: {rank}, got {len(tiling.space)} in {str(tiling)!r}",
            f"write it like s={format_shape((8, 16, 64)[-rank:])}",
        )

"""What codesign searches: hardware axes, workloads and the assumptions of the time model (thesis, C.8-C.19).

The problem is (C.18): choose n_SM, n_V, M_SM and, beyond the thesis, bandwidth, register file and caches, together
with the tile sizes of every stencil and problem size, so that the weighted sum of the costs is least while the area
lies in a range. :mod:`tilewright.workloads.codesign.solve` solves it in the separable form (C.19).

Workloads are the thesis' by name, one stencil, or a TOML file::

    [[stencil]]
    program = "heat2d"          # a built-in program: reading a workload runs nobody's code
    weight = 2.0                # optional, 1 by default
    flops_per_cell = 9          # optional, the program's own by default
    sizes = [{ shape = "4096x4096", steps = 1024, weight = 0.5 }]    # optional, the thesis' 16 pairs by default
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.base import documents
from tilewright.base.deprecations import GONE
from tilewright.base.documents import Shape
from tilewright.base.errors import UsageError, meant, one_of
from tilewright.base.paths import read_bounded
from tilewright.programs.stencil import catalogue as programs
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import NONE
from tilewright.tuning.spaces.space import families
from tilewright.verbs.load import load_program
from tilewright.workloads.codesign.separable import SeparableForm

METRICS = ("time", "energy", "edp", "per_area")
STRATEGIES = ("tiled", "none", *(each for each in catalogue.families() if each.diamonds or each.parallelograms))
BEST = "best"  # in place of strategies: all of them
GRIDS = ("fine", "coarse")
_MOST_VALUES = 4096
IN_2D = ("jacobi2d", "heat2d", "laplacian2d", "gradient2d")
IN_3D = ("heat3d", "laplacian3d")
NAMED: Mapping[str, tuple[str, ...]] = {"2d": IN_2D, "3d": IN_3D, "all": (*IN_2D, *IN_3D)}
"""The thesis' workloads, every stencil equally likely."""
_LARGEST = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The hardware that is searched: every combination of these values, each axis in increasing order.

    The defaults are the thesis' (section C.3.2), without caches.
    """

    sm_count: tuple[int, ...] = tuple(range(2, 33, 2))  # n_SM
    vector_width: tuple[int, ...] = tuple(range(32, 2049, 32))  # n_V
    shared_kb: tuple[float, ...] = (12, 24, 36, *range(48, 481, 48))  # M_SM, kB per SM
    register_kb: tuple[float, ...] = (2,)  # R_VU, kB per vector unit
    l1_pair_kb: tuple[float, ...] = (0,)  # L1, kB per pair of SMs; 0 for none
    l2_sm_kb: tuple[float, ...] = (0,)  # L2, kB of the chip's cache per SM; 0 for none
    bandwidth: tuple[float, ...] = (1.0,)  # share of the machine's own bandwidth, 1 for the same

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            values = getattr(self, name)
            least = 0 if name in {"l1_pair_kb", "l2_sm_kb"} else 1e-6
            if not values or len(values) > _MOST_VALUES:
                raise UsageError(f"the axis {name} needs 1 to {_MOST_VALUES} values, got {len(values)}")
            if list(values) != sorted(set(values)) or not least <= values[0] or not values[-1] < 2**31:
                raise UsageError(f"the axis {name} needs different positive values in increasing order, got {values!r}")
            if name in {"sm_count", "vector_width"} and any(value != int(value) for value in values):
                raise UsageError(f"the axis {name} needs whole numbers, got {values!r}")

    @property
    def outer(self) -> tuple[tuple[float, float, float, float], ...]:
        """Combinations of (bandwidth, registers, L1, L2)."""
        return tuple(itertools.product(self.bandwidth, self.register_kb, self.l1_pair_kb, self.l2_sm_kb))

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Number of outer combinations, of n_SM, of n_V and of M_SM."""
        return len(self.outer), len(self.sm_count), len(self.vector_width), len(self.shared_kb)

    @property
    def size(self) -> int:
        """Number of designs."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignOptions:
    """What the thesis leaves open, made explicit."""

    # the form of the time model: exact or as printed, its pitch, and what k = 1 costs
    form: SeparableForm = field(default_factory=SeparableForm)
    scope: str | None = None  # who shares the bandwidth: ``device`` as printed, or ``per_sm``
    # constant of (C.10): a tile uses at most M_SM over this; 2 as on the GTX 980 (48 kB of 96 kB) and in the thesis,
    # section 8.1.3
    blocks_per_sm: int = 2
    # ``tiled`` for hybrid (1D: hexagonal) tiles, ``none`` for sweeps without time tiling, ``skewed`` and ``diamond``,
    # or ``best`` for all of them; the least cost of them counts (thesis, 2.3.3, the "super" forms)
    strategies: tuple[str, ...] = ("tiled",)
    grid: str = "fine"  # the grid of tile sizes, ``fine`` or ``coarse``; see :mod:`tilewright.workloads.codesign.tiles`
    most_tiles: int | None = None  # largest k; None for the machine's MTB_SM
    block_threads: int = 256  # threads of a block, which with ``thread_registers`` bound k by the register file
    thread_registers: int = 0  # 32-bit registers per thread; 0 leaves registers out, as the thesis does
    metric: str = "time"  # what is least per stencil and size: ``time`` (also for ``per_area``), ``energy`` or ``edp``

    def tried(self, case: "WeightedProblem") -> tuple[str, ...]:
        """Return the strategies that are tried for a case."""
        return case.strategies or expand(self.strategies)

    def __post_init__(self) -> None:
        expand(self.strategies)
        for name, value, choices in (
            ("metric of codesign", self.metric, METRICS),
            ("grid of tiles", self.grid, GRIDS),
        ):
            one_of(f"the {name}", value, choices)
        for name, least in (("blocks_per_sm", 1), ("block_threads", 1), ("thread_registers", 0)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is a whole number of at least {least}, got {getattr(self, name)!r}")
        if self.most_tiles is not None and self.most_tiles < 1:
            raise UsageError(f"most_tiles is a whole number of at least 1, got {self.most_tiles!r}")


def expand(names: Sequence[str]) -> tuple[str, ...]:
    """Return the strategies that names stand for, in the order of :data:`STRATEGIES`.

    >>> expand(("best",))
    ('tiled', 'none', 'skewed', 'diamond')
    """
    if not names:
        raise UsageError("codesign needs a tiling strategy", f"the strategies are {', '.join((*STRATEGIES, BEST))}")
    for name in names:
        if name in GONE:
            raise GONE[name].error()
        one_of("the tiling strategy", name, (*STRATEGIES, BEST))
    return STRATEGIES if BEST in names else tuple(each for each in STRATEGIES if each in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedProblem:
    """One stencil at one size, with its weight fr(c) fr(c, Sz) in (C.18)."""

    problem: Problem
    weight: float  # at least 0
    flops_per_cell: float  # operations per step that GFLOP/s count; the thesis does not say which it took
    strategies: tuple[str, ...] = ()  # the strategies that are tried for it; those of the options if empty

    @property
    def program(self) -> str:
        """The stencil's name."""
        return self.problem.program.name

    @property
    def flops(self) -> float:
        """Operations of the whole case."""
        return self.flops_per_cell * self.problem.cells * self.problem.steps


Size = tuple[tuple[int, ...], int, float]  # shape, steps and relative weight


def thesis_sizes(rank: int) -> tuple[Size, ...]:
    """Return the default sizes: 16 pairs of S and T with T <= S, equally likely.

    In 2D the thesis' own (section C.3.1; its 12228 is 12288). Its sizes in 3D are not given: here they are those of
    2D divided by 16, from 256^3 to 1024^3, since 4096^3 cells would need 275 GB. In 1D, 2^20 cells and more.

    >>> len(thesis_sizes(2)), len(thesis_sizes(3)), thesis_sizes(3)[0]
    (16, 16, ((256, 256, 256), 64, 1.0))
    """
    extents, steps = (4096, 8192, 12288, 16384), (1024, 2048, 4096, 8192, 16384)
    if rank == 1:
        return tuple(((extent * 256,), count, 1.0) for extent in extents for count in steps if count <= extent)
    share = 16 if rank == 3 else 1
    return tuple(
        ((extent // share,) * rank, count // share, 1.0) for extent in extents for count in steps if count <= extent
    )


def make_cases(
    program: Program,
    *,
    weight: float = 1.0,
    sizes: Sequence[Size] | None = None,
    flops_per_cell: float | None = None,
    strategies: Sequence[str] = ("tiled",),  # for the check that one of them applies
    own: Sequence[str] = (),  # for this stencil alone, in place of those
) -> tuple[WeightedProblem, ...]:
    """Make the cases of one stencil, one per size."""
    chosen = thesis_sizes(program.rank) if sizes is None else tuple(sizes)
    flops = float(program.flops) if flops_per_cell is None else float(flops_per_cell)
    if not chosen:
        raise UsageError(f"the stencil {program.name!r} of the workload has no sizes")
    if not 0 < flops < 1e9:
        raise UsageError(f"flops_per_cell of {program.name!r} is a number above 0, got {flops!r}")
    tried = expand(own or strategies)
    cases = []
    for shape, steps, share in chosen:
        problem = make_problem(program, shape, steps)
        for value in (weight, share):
            if not 0 <= value < 1e12:
                raise UsageError(f"a weight of {program.name!r} is a number of at least 0, got {value!r}")
        if "none" not in tried and families(problem) == (NONE.family,):
            raise UsageError(
                f"{program.name!r} with {steps} steps cannot be tiled in time", "add none to the strategies"
            )
        if problem.steps < 1:
            raise UsageError(f"a case of codesign has at least one step, {program.name!r} has {steps}")
        cases.append(
            WeightedProblem(
                problem=problem, weight=weight * share, flops_per_cell=flops, strategies=tried if own else ()
            )
        )
    return tuple(cases)


def reweighted(cases: Sequence[WeightedProblem], weights: Mapping[str, float]) -> tuple[float, ...]:
    """Return the cases' weights when each stencil's is multiplied by a new one; stencils left out get 0."""
    names = {case.program for case in cases}
    for name, weight in weights.items():
        if name not in names:
            raise UsageError(f"the workload has no stencil {name!r}", f"it has {', '.join(sorted(names))}")
        if not 0 <= weight < 1e12:
            raise UsageError(f"the weight of {name!r} is a number of at least 0, got {weight!r}")
    result = tuple(case.weight * weights.get(case.program, 0.0) for case in cases)
    if not any(result):
        raise UsageError("at least one stencil of the workload must have a weight above 0")
    return result


def load_workload(name: str, strategies: Sequence[str] = ("tiled",)) -> tuple[WeightedProblem, ...]:
    """Return the cases of a workload: ``2d``, ``3d``, ``all``, a program, or a ``.toml`` file.

    >>> len(load_workload("all"))
    96
    """
    if name.endswith(".toml"):
        return _read(Path(name), strategies)
    if name not in NAMED and ":" not in name and name not in programs.names():
        hint = f"give {', '.join(NAMED)}, a program of `tilewright programs` or FILE.toml"
        raise UsageError(f"there is no workload {name!r}", meant(name, [*NAMED, *programs.names()], hint))
    cases = (make_cases(load_program(program), strategies=strategies) for program in NAMED.get(name, (name,)))
    return tuple(case for group in cases for case in group)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SizeEntry:
    """A size of a stencil in a file."""

    shape: Shape
    steps: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _StencilEntry:
    """A stencil of a workload in a file."""

    program: str
    weight: float = 1.0
    flops_per_cell: float | None = None
    sizes: tuple[_SizeEntry, ...] | None = None
    strategy: str | None = None


def _read(path: Path, strategies: Sequence[str]) -> tuple[WeightedProblem, ...]:
    table = documents.decode_toml(read_bounded(path, _LARGEST, "workload"), f"the workload {str(path)!r}")
    stencils = table.get("stencil")
    if set(table) != {"stencil"} or not isinstance(stencils, list) or not stencils:
        raise UsageError(
            f"the workload {path.name!r} is a list of [[stencil]] tables, got {', '.join(table) or 'nothing'}"
        )
    cases: list[WeightedProblem] = []
    for number, stencil in enumerate(stencils, 1):
        where = f"stencil {number} of {path.name}"
        entry = documents.parse(_StencilEntry, stencil, where)
        program = programs.program(entry.program)
        if any(case.problem.program == program for case in cases):
            raise UsageError(f"{where}: {program.name!r} is there twice", "give it more sizes instead")
        entries = entry.sizes
        sizes = None if entries is None else [(size.shape, size.steps, size.weight) for size in entries]
        own = () if entry.strategy is None else tuple(entry.strategy.split(","))
        flops, weight = entry.flops_per_cell, entry.weight
        cases += make_cases(program, weight=weight, sizes=sizes, flops_per_cell=flops, strategies=strategies, own=own)
    if not any(case.weight for case in cases):
        raise UsageError(f"the workload {path.name!r} must have a weight above 0")
    return tuple(cases)

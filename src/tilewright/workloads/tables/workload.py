"""Recurrences: tables in orthogonal tiles, by their own model of time and energy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.errors import UsageError, meant
from tilewright.base.intmath import ceil_div
from tilewright.base.tables import Pairs, Shown
from tilewright.costs.bottleneck import Resource, ordered
from tilewright.costs.energy.price import Usage
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.select import of_costs
from tilewright.tuning.sensitivity import moved
from tilewright.workload import Points, Request
from tilewright.workloads.tables import catalogue, orthogonal, report
from tilewright.workloads.tables import costs as model
from tilewright.workloads.tables.costs import TableCase
from tilewright.workloads.tables.problem import Recurrence
from tilewright.workloads.tables.recurrence import Table, as_recurrence

if TYPE_CHECKING:
    from tilewright.verbs.files import Note
    from tilewright.verbs.options import RunFiles, RunOptions
    from tilewright.workloads.tables.files import TableReport

KIND = "recurrence"
LACKS = {
    "tune": "is not tuned by measuring",
    "supertune": "has orthogonal tiles alone, no strategies to compare",
}
HINT = "`predict --top 5` ranks its tiles, `whatif` moves the problem, `run --tile` takes one"


def program_of(value: Any) -> Recurrence | None:  # noqa: ANN401
    """Return the recurrence that a user means; None where it is of another kind."""
    if isinstance(value, str) and value not in catalogue.names():
        return None
    return as_recurrence(value) if isinstance(value, str | Recurrence | Table) else None


def on_machine(
    program: Recurrence, scalars: Mapping[str, Any] | None, asked: Request, machine: Machine
) -> "TableWorkload":
    """Return a table on a machine; ``float32``, the default of stencils, stands for int32, that of tables."""
    unknown = [name for name in scalars or () if name not in program.scalars]
    if unknown:
        hint = f"its scalars are {', '.join(program.scalars)}" if program.scalars else "it takes no scalars"
        raise UsageError(f"{program.name!r} has no scalar {unknown[0]!r}", meant(unknown[0], program.scalars, hint))
    if asked.steps != 1:
        raise UsageError(f"the table of {program.name!r} is filled once, got {asked.steps} steps", "leave --steps out")
    if asked.model != "exact":
        raise UsageError(f"the time of a table has the model exact only, got {asked.model!r}")
    dtype = "int32" if asked.dtype == "float32" else asked.dtype
    return TableWorkload(problem=model.make_case(program, asked.shape, dtype, machine, asked.scope))


def listing() -> tuple[str, list[dict[str, object]], Shown]:
    """List the built-in recurrences as plain data and for people."""
    every = [catalogue.recurrence_named(name) for name in catalogue.names()]
    return "recurrences", [report.to_dict(each) for each in every], report.listing(every)


def described(program: Recurrence) -> tuple[dict[str, object], Shown]:
    """Return what there is to know about a recurrence, as plain data and for people."""
    return report.to_dict(program), Pairs(report.facts(program), program.name)


def run_files(program: Recurrence, options: "RunOptions", files: "RunFiles", note: "Note") -> "TableReport":
    """Fill the table of a recurrence from files."""
    from tilewright.workloads.tables.files import fill_files

    return fill_files(program, options, files, note)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWorkload:
    """A table on a machine."""

    problem: TableCase
    model = "exact"
    roof = None

    @property
    def machine(self) -> Machine:
        """Where."""
        return self.problem.machine

    def c_iter(self, tiling: Tiling) -> Quantity:  # noqa: ARG002
        """Seconds per cell of one vector unit."""
        return self.problem.c_iter

    @property
    def cell_bytes(self) -> int:
        """Bytes of memory per cell where whole tables are kept."""
        return len(self.problem.program.tables) * self.problem.itemsize

    def changed(self, machine: Machine, shape: tuple[int, ...], steps: int) -> "TableWorkload":
        """Return the same recurrence, elsewhere, with another table."""
        case = self.problem
        if steps != case.steps:
            raise UsageError(f"the table of {case.program.name!r} is filled once, it has no steps to vary", "vary size")
        return TableWorkload(problem=model.make_case(case.program, shape, case.dtype, machine, case.scope))

    def hastened(self) -> "TableWorkload":
        """Return the same with iterations that take half the time, by the clock where nobody measured them."""
        case, name = self.problem, self.problem.program.name
        is_measured = case.machine.iteration_seconds(name) is not None
        faster = moved(case.machine, name, *(("c_iter", 0.5) if is_measured else ("clock", 2.0)))
        return TableWorkload(problem=replace(case, machine=faster))

    def costs(self, tiling: Tiling | None) -> tuple[Tiling, Costs]:
        """Return a tiling, the fastest one of a grid of sizes by default, with its costs."""
        if tiling is None:
            return self.ranked("time", within=None, top=1)[0]
        whole = orthogonal.legal_table(self.problem.program, tiling)
        return whole, model.predict(self.problem, whole)

    def expected(self, tiling: Tiling) -> Costs | None:
        """Return the costs of a tiling; None where it does not fit."""
        return model.expected(self.problem, tiling)

    def ranked(
        self,
        metric: str,
        *,
        within: float | None,
        top: int | None = None,
        points: Points = "all",  # noqa: ARG002  (there is one grid, and the threads of a tile are its sub-tiles)
    ) -> list[tuple[Tiling, Costs]]:
        """Return the tilings of a grid of sizes that fit, best first by a metric."""
        case = self.problem
        up, left = case.program.reach
        smallest = Tiling(family=orthogonal.FAMILY, time=max(1, up), space=(max(1, left),))
        orthogonal.legal_table(case.program, smallest)
        every = list(model.best(case))
        if not every:
            raise UsageError(f"no orthogonal tile of {case.program.name!r} fits {case.machine.name}")
        cost = of_costs([costs for _, costs in every], metric)
        limit = np.inf if within is None else (1.0 + within) * cost.min()
        order = np.argsort(cost, kind="stable")
        return [every[index] for index in order[cost[order] <= limit][:top].tolist()]

    def usage(self, tiling: Tiling | None, seconds: float | None) -> tuple[Tiling, str, Usage]:
        """Return what a tiling uses; the time is predicted unless it was measured."""
        chosen, costs = self.costs(tiling)
        return chosen, chosen.family, model.tile_usage(self.problem, chosen, seconds or costs.seconds)

    def resources(self, tiling: Tiling) -> tuple[Resource, ...]:
        """Return the use of every resource by a tiling.

        Besides the resources of stencils there are the lanes of a tile's pipeline, which fill and drain.
        Multiprocessors idle on short wavefronts.
        """
        case, costs = self.problem, model.predict(self.problem, tiling)
        machine, count = case.machine, int(case.machine.sm_count.value)
        tiles = ceil_div(case.shape[0], tiling.time) * ceil_div(case.shape[1], tiling.space[0])
        work = {
            "vector units": self.ideal_seconds(tiling) / costs.seconds,
            "memory": costs.dram_bytes / machine.dram_bandwidth.value / costs.seconds,
            "synchronisation": costs.terms["synchronisation"] / costs.seconds,
        }
        occupancy = {"multiprocessors": tiles / (model.turns(case, tiling) * count)}
        if not case.cpu:
            lanes = tiling.space[0] // tiling.sub[0]
            occupancy["lanes of a tile's pipeline"] = tiling.time / (tiling.time + lanes - 1)
            occupancy["on-chip memory"] = costs.tiles_per_sm * costs.tile_shared_bytes / machine.shared_bytes.value
            if machine.max_blocks:
                occupancy["resident tiles"] = costs.tiles_per_sm / machine.max_blocks.value
        return (*ordered(work, "work"), *ordered(occupancy, "held"))

    def most_tiles(self, tiling: Tiling) -> int:  # noqa: ARG002
        """Return how many tiles may be resident on an SM; 0 on a CPU."""
        most = self.machine.max_blocks
        return 0 if self.problem.cpu else int(most.value) if most else 1

    def ideal_seconds(self, tiling: Tiling) -> float:
        """Return the time of all lanes computing all the time (thesis, 8.3)."""
        case = self.problem
        cells = case.shape[0] * case.shape[1]
        return cells * self.c_iter(tiling).value / (case.machine.sm_count.value * case.lanes)

    def printed_overhead(self, tiling: Tiling) -> None:
        """Nothing is printed for the overhead of these tiles."""

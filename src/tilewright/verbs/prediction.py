"""``Prediction``: what the model says about one tiling, ready to be printed and shown."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.base.tables import Shown
from tilewright.base.units import format_bytes, format_over, format_rate, format_seconds, format_shape
from tilewright.costs import time as time_model
from tilewright.costs.bottleneck import Roofline
from tilewright.costs.interval import Interval, interval
from tilewright.costs.setting import make_setting
from tilewright.costs.time import Costs
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.problem import Problem
from tilewright.report import tables
from tilewright.report.page import Studied
from tilewright.report.study import StudiedTiling, Study
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.workload import Case, Workload

if TYPE_CHECKING:
    from tilewright.verbs.kernel_files import KernelText


def _source_facts(quantity: Quantity) -> dict[str, object]:
    return {key: getattr(quantity, key) for key in ("value", "source", "low", "high", "note")}


def _rate(billions_per_second: float, unit: str) -> str:
    return format_rate(1e9 * billions_per_second, unit)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Prediction(Studied):
    """What one tiling of a problem costs on a machine.

    Attributes:
        work: What is computed, where, and the model.
        tiling: The tiling.
        costs: Its costs.
    """

    KEYS = (
        "program machine shape steps dtype model tiling=tiling.to_dict costs interval c_iter=_iteration "
        "dram_bandwidth=_bandwidth energy=costs.energy notes"
    )

    work: Workload
    tiling: Tiling
    costs: Costs

    @property
    def problem(self) -> Case:
        """What is computed, such as a stencil's problem."""
        return self.work.problem

    @property
    def hardware(self) -> Machine:
        """The machine."""
        return self.work.machine

    @property
    def model(self) -> str:
        """``exact`` or ``published``."""
        return self.work.model

    @property
    def c_iter(self) -> Quantity:
        """Seconds per loop-body iteration of one vector unit, with provenance."""
        return self.work.c_iter(self.tiling)

    @property
    def constants(self) -> dict[str, str]:
        """Where its constants come from: the two that a time depends on most, and all of the machine."""
        sources = tables.constants(self.hardware, C_iter=self.c_iter, bandwidth=self.hardware.dram_bandwidth)
        return sources | {"C_iter": ", ".join([sources["C_iter"], *self._code().values()])}

    @property
    def interval(self) -> Interval:
        """The range in which four of five measured times are expected."""
        threads = self.model == "exact" and len(self.shape) > 1
        cpu = self.hardware.kind == "cpu"
        return interval(self.tiling.family, self.costs.seconds, cpu=cpu, threads=threads)

    def _code(self) -> dict[str, str]:
        """Whose code C_iter was measured on, where that is not this package's."""
        return {"code": tables.AUTHORS} if self.c_iter.source == "paper" else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands against the prediction, one sentence each: limits of the machine, and the board's power."""
        power = (self.costs.energy.warning,) if self.costs.energy and self.costs.energy.warning else ()
        if not isinstance(self.problem, Problem):
            return power
        return (*_limits(self.problem, self.tiling, self.costs, self.hardware, self.model), *power)

    @property
    def roof(self) -> Roofline | None:
        """What the machine's arithmetic and memory allow the program, or None of a table."""
        return self.work.roof

    @property
    def program(self) -> str:
        """The program's name."""
        return self.problem.program.name

    @property
    def machine(self) -> str:
        """The machine's name."""
        return self.hardware.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the grid."""
        return self.problem.shape

    @property
    def steps(self) -> int:
        """Time steps; a table is filled once."""
        return self.problem.steps

    @property
    def dtype(self) -> str:
        """Element type."""
        return self.problem.dtype

    def _iteration(self) -> dict[str, object]:
        return _source_facts(self.c_iter) | self._code()

    def _bandwidth(self) -> dict[str, object]:
        return _source_facts(self.hardware.dram_bandwidth)

    @property
    def expected(self) -> str:
        """What it says of a kernel, as a phrase."""
        return f"{format_seconds(self.costs.seconds)} on {self.machine}, bound by {self.costs.bound_by}"

    @property
    def dialect(self) -> str:
        """What code for the machine is written in: ``c``, ``cuda``, or ``opencl`` for GPUs of no compute capability."""
        if self.hardware.kind == "cpu":
            return "c"
        return "opencl" if self.hardware.compute_capability is None else "cuda"

    @property
    def kernel(self) -> "KernelText":
        """What writes the kernels of its tiling.

        Raises:
            UsageError: If no code is written ahead of a run for what is computed, as for a table.
        """
        from tilewright.verbs.kernel_files import KernelText

        if not isinstance(self.problem, Problem):
            raise UsageError(
                f"kernels are exported of a stencil, and {self.program!r} fills a table", "leave export out"
            )
        return KernelText(
            problem=self.problem,
            tiling=self.tiling,
            strict=False,
            program=self.problem.program,
            scalars={},
            expected=self.expected,
        )

    def export(self, path: str | Path) -> tuple[Path, ...]:
        """Write the kernels of its tiling and what calls them; nothing is compiled or run.

        Args:
            path: A file that ends in ``.c`` for a CPU, in ``.cu`` or ``.cl`` for a GPU; beside ``k.c`` lies ``k.h``,
                beside ``k.cu`` ``k_main.cu``, beside ``k.cl`` ``k_main.c``. In a folder lies one file, named for the
                tiling.

        Returns:
            The paths of what was written.

        Raises:
            UsageError: If there is no such code, or a file cannot be written, or is there and was not exported before.
            IllegalTilingError: If the tiling has no such code.
        """
        from tilewright.verbs.kernel_files import export

        return export([self.kernel], path, self.dialect).files

    def study(self) -> Study:
        """Return what a page shows of it, from nothing but what it holds."""
        return Study(
            title=self.title, facts=self.facts(), candidates=(self.candidate(),), roof=self.roof,
            explanation=(str(self),), notes=self.notes,
        )  # fmt: skip

    def candidate(self) -> StudiedTiling:
        """Return it as a candidate of a page."""
        return StudiedTiling(
            tiling=str(self.tiling),
            predicted=self.costs.seconds,
            interval=(self.interval.low, self.interval.high),
            flops=float(self.costs.flops),
            dram_bytes=self.costs.dram_bytes,
            joules=self.costs.joules,
            bound_by=self.costs.bound_by,
        )

    @property
    def title(self) -> str:
        """What was predicted, in one line."""
        return f"{self.program} {format_shape(self.shape)}, {self.steps} steps on {self.machine}"

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return names and values for people."""
        costs = self.costs
        facts = [
            ("tiling", str(self.tiling)),
            ("element type", self.dtype),
            ("machine", self.hardware.title or self.machine),
            ("predicted time", f"{format_seconds(costs.seconds, keep=True)} ({self.model} model)"),
            (f"{self.interval.share:.0%} interval", str(self.interval)),
            ("speed", f"{_rate(costs.gcells_per_second, 'Cells')}, {_rate(costs.gflops_per_second, 'Flops')}"),
            ("off-chip traffic", format_bytes(costs.dram_bytes)),
            ("bound by", costs.bound_by),
        ]
        if costs.energy is not None:
            low, high = f"{costs.energy.low:.3g}", f"{costs.energy.high:.3g}"
            facts.append(("energy", f"{costs.energy.joules:.4g} J ({low} to {high} J, {costs.energy.source})"))
        return (*facts, *self.constants.items())

    def __str__(self) -> str:
        return (
            f"{self.title}: {self.tiling} takes {format_seconds(self.costs.seconds)} "
            f"({self.interval.share:.0%} interval {self.interval}), {self.costs.gcells_per_second:.3g} GCells/s, "
            f"{format_bytes(self.costs.dram_bytes)} off chip, bound by {self.costs.bound_by}; "
            f"{'; '.join([tables.described(self.constants), *self.notes])}"
        )


def _limits(problem: Problem, tiling: Tiling, costs: Costs, machine: Machine, model: str) -> tuple[str, ...]:
    """Say what a prediction for a GPU cannot be: a grid beyond its memory, idle multiprocessors, values that spill."""
    if machine.kind == "cpu":
        return ()
    notes = []
    needed = _device_bytes(problem, tiling)
    if machine.memory_bytes is not None and needed > machine.memory_bytes.value:
        texts = format_over(needed, int(machine.memory_bytes.value))
        notes.append(f"all buffers of the grid take {texts[0]}, {machine.name} has {texts[1]}: it cannot hold them")
    blocks, count = _blocks(problem, tiling, costs), int(machine.sm_count.value)
    if blocks < count:
        notes.append(f"at most {blocks} of the {count} multiprocessors have a block: the grid is small for {tiling}")
    setting = make_setting(problem, machine)
    if model == "exact" and time_model.models_threads(tiling.family, setting):
        spilled = float(np.ceil(time_model.thread_terms(time_model.sizes_of(tiling, setting), setting).spilled[0]))
        if spilled:
            notes.append(f"about {spilled:.0f} values of a thread of {tiling} find no register and spill to memory")
    return tuple(notes)


def _device_bytes(problem: Problem, tiling: Tiling) -> int:
    """Return the bytes of all buffers of a run on a GPU; streaming tiles keep two sets of what they update."""
    program = problem.program
    copies = program.analysis.copies
    if tiling.family.streams:
        updated = set(program.updated)
        copies = tuple(2 * program.history(name) if name in updated else 1 for name in program.fields)
    return sum(copies) * problem.cells * problem.itemsize


def _blocks(problem: Problem, tiling: Tiling, costs: Costs) -> int:
    if not tiling.family.untiled:
        return costs.tiles_per_wavefront
    cells = gpu_schedule(problem, tiling).cells
    return math.prod(-(-extent // each) for extent, each in zip(problem.shape, cells, strict=True))


class Ranking(tuple[Prediction, ...], Record):
    """Predictions of one problem, best first."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the best prediction with all of them as its candidates."""
        best = self[0].to_dict() if self else {}
        return {**best, "candidates": [each.to_dict() for each in self]}

    def shown(self) -> Shown:
        """Return the table of them."""
        if not self:
            return "no tiling"
        rows = [(str(each.tiling), each.costs, each.interval) for each in self]
        return tables.candidates(rows, self[0].constants, self[0].title)

    __str__ = Record.__str__
    __repr__ = Record.__repr__

"""``tw.fuse``: fusions and thread-block configurations of a pipeline, ranked by the cost model."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tilewright.base.deprecations import refuse
from tilewright.base.errors import TilewrightError, one_of
from tilewright.base.records import Record
from tilewright.base.tables import Shown, Table, table
from tilewright.base.units import format_bytes, format_seconds, format_shape, whole_number
from tilewright.costs.interval import unmeasured
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.boundaries import BoundarySpec, parse_boundary
from tilewright.report import tables
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.catalogue import INPUT_DTYPE
from tilewright.workloads.pipelines.gpu_costs import FORMS, MODELS
from tilewright.workloads.pipelines.problem import Halo, PipelineProblem, halo_text, make_pipeline_problem
from tilewright.workloads.pipelines.search import (
    BASIC,
    BlockChoice,
    Choice,
    Explored,
    FusionCandidate,
    RowChoice,
    VendorFilter,
    basic_choice,
    best_choices,
    configurations,
    search,
)
from tilewright.workloads.pipelines.verbs import as_pipeline


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FusionPlan(Record):
    """Ranked fusions of a pipeline on a machine."""

    problem: PipelineProblem  # the pipeline on grids
    hardware: Machine
    model: str  # the cost model's form
    vendor: VendorFilter | None  # guidelines that configurations follow
    candidates: tuple[FusionCandidate, ...]  # fusions with their configurations, best first
    explored: Explored | None  # how many were looked at; None if one fusion was asked for

    @property
    def machine(self) -> str:
        """The machine's name."""
        return self.hardware.name

    @property
    def best(self) -> FusionCandidate:
        """The first choice."""
        return self.candidates[0]

    def basic(self, candidate: FusionCandidate) -> list[BlockChoice | None]:
        """Return a fusion's groups with the block (16, 16, 1, 1) of a GPU; None where it does not fit, and on CPUs."""
        if self.hardware.kind == "cpu":
            return [None] * len(candidate.fusion)
        return [basic_choice(self.problem, group, self.hardware, self.model) for group in candidate.fusion]

    def configurations(self) -> "tuple[GroupConfigurations, ...]":
        """Return every configuration of each group of the best fusion, with its resources."""
        return tuple(
            _listed(self, group, basic) for group, basic in zip(self.best.fusion, self.basic(self.best), strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, the JSON document of ``tilewright fuse``."""
        pipeline = self.problem.pipeline
        whole = fusions.plan_group(pipeline, fusions.full(pipeline)[0])
        return {
            "pipeline": pipeline.name,
            "machine": self.machine,
            "model": self.model,
            "shape": list(self.problem.shape),
            "grids": {grid: {"dtype": dtype} for grid, dtype in zip(pipeline.grids, self.problem.dtypes, strict=True)},
            "stencils": [
                {
                    "name": s.name,
                    "title": s.title,
                    "inputs": {grid: _pairs(s.reach(grid)) for grid in s.inputs},
                    "output": s.output,
                    "operations": s.window,
                    "flops": s.flops,
                }
                for s in pipeline.stencils
            ],
            "full_fusion_halos": {grid: _pairs(halo) for grid, halo in whole.halos},
            "candidates": [self._candidate(candidate) for candidate in self.candidates],
            "explored": None if self.explored is None else asdict(self.explored),
        }

    def _candidate(self, candidate: FusionCandidate) -> dict[str, Any]:
        groups = []
        walked = fusions.walk(self.problem.pipeline, candidate.fusion)
        for plan, choice, basic in zip(walked, candidate.choices, self.basic(candidate), strict=True):
            groups.append(
                {
                    "stencils": [f"S{i + 1}" for i in plan.stencils],
                    "inputs": list(plan.inputs),
                    "outputs": list(plan.outputs),
                    "shared": list(plan.shared),
                    "halos": {grid: _pairs(halo) for grid, halo in plan.halos},
                    "configuration": _configuration(choice),
                    "seconds": choice.seconds,
                    "basic": None if basic is None else {**_configuration(basic), "seconds": basic.seconds},
                }
            )
        return {
            "fusion": fusions.text(candidate.fusion),
            "seconds": candidate.seconds,
            "interval": unmeasured(candidate.seconds).to_dict(),
            "groups": groups,
        }

    def __str__(self) -> str:
        pipeline = self.problem.pipeline
        head = f"{pipeline.name} {format_shape(self.problem.shape)} on {self.machine}, model {self.model}"
        lines = [head]
        for number, candidate in enumerate(self.candidates, 1):
            name = f"{fusions.text(candidate.fusion)}{self._beside(candidate)}"
            lines.append(f"{number:3}. {format_seconds(candidate.seconds):>8}  {name}")
            plans = fusions.walk(pipeline, candidate.fusion)
            for plan, choice in zip(plans, candidate.choices, strict=True):
                halos = " ".join(f"{grid} {halo_text(halo)}" for grid, halo in plan.halos)
                lines.append(f"       {fusions.text((plan.stencils,))}: {describe_choice(choice)}; halos {halos}")
        if self.explored is not None:
            e = self.explored
            lines.append(
                f"{e.groups} groups, {e.configurations} configurations, {e.feasible} fit, {e.relevant} relevant; "
                f"searched in {format_seconds(e.seconds)}"
            )
        gpu = self.hardware.kind == "gpu"
        bandwidth = FORMS[self.model].bandwidth(self.hardware) if gpu else self.hardware.dram_bandwidth
        expected = unmeasured(self.best.seconds)
        lines.append(f"{expected.share:.0%} interval of the first: {expected}")
        lines.append(tables.described(tables.constants(self.hardware, bandwidth=bandwidth)))
        return "\n".join(lines)

    def _beside(self, candidate: FusionCandidate) -> str:
        """Say what the same fusion takes with basic blocks on a GPU."""
        if self.hardware.kind == "cpu":
            return ""
        fitting = [each.seconds for each in self.basic(candidate) if each is not None]
        if len(fitting) < len(candidate.fusion):
            return f"; blocks of {BASIC} do not fit"
        total = sum(fitting)
        return f"; with blocks of {BASIC} {format_seconds(total)}, {total / candidate.seconds:.2f} times as long"


COMPILED = 10
"""Configurations of a group whose registers the compiler is asked for: the best, and the basic one."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupConfigurations(Record):
    """Every configuration of a fused group that fits, as the paper's tool lists them."""

    plan: fusions.GroupPlan  # the group
    choices: tuple[Choice, ...]  # its configurations, best first
    basic: BlockChoice | None  # the block (16, 16, 1, 1) of a GPU, or None where it does not fit, and on a CPU
    # registers per thread by configuration, as NVRTC says; of the best and the basic one
    registers: Mapping[tuple[int, ...], int]
    unknown: str  # why some registers are not known, one sentence, or nothing
    register_file: int | None  # registers of a multiprocessor; None if unknown

    def to_dict(self) -> dict[str, Any]:
        """Return the list as plain data."""
        return {
            "stencils": [f"S{i + 1}" for i in self.plan.stencils],
            "halos": {grid: _pairs(halo) for grid, halo in self.plan.halos},
            "configurations": [self._row(choice) for choice in self.choices],
            "basic": None if self.basic is None else self._row(self.basic),
            "registers_unknown": self.unknown or None,
        }

    def shown(self) -> Shown:
        """Return the list for people."""
        return self.table()

    def _row(self, choice: Choice) -> dict[str, Any]:
        known = {}
        if isinstance(choice, BlockChoice):
            known = {"registers": self.registers.get(choice.block), "register_blocks": self._register_blocks(choice)}
        return {**_configuration(choice), **known, "seconds": choice.seconds}

    def _register_blocks(self, choice: BlockChoice) -> int | None:
        """Return how many blocks the registers of a multiprocessor are enough for."""
        registers = self.registers.get(choice.block)
        return None if not registers or not self.register_file else self.register_file // (registers * choice.threads)

    def table(self) -> Table:
        """Return the list for people."""
        halos = " ".join(f"{grid} {halo_text(halo)}" for grid, halo in self.plan.halos)
        title = f"{fusions.text((self.plan.stencils,))}: {len(self.choices)} configurations; halos {halos}"
        names = [str(rank) for rank in range(1, len(self.choices) + 1)]
        every = list(zip(names, self.choices, strict=True))
        if self.basic is not None:
            every.append(("basic", self.basic))
        resources = (
            ("T", "N", ">threads", ">registers", ">shared", "blocks per SM", ">occupancy", ">rounds", ">remaining")
            if any(isinstance(choice, BlockChoice) for choice in self.choices)
            else (">width", ">rows", ">lines", ">rings", ">off chip")
        )
        columns = (">rank", *resources, ">predicted")
        return table(columns, [(name, *self._cells(choice)) for name, choice in every], title)

    def _cells(self, choice: Choice) -> tuple[str, ...]:
        if isinstance(choice, RowChoice):
            sizes = str(choice.tile.width), str(choice.tile.rows), str(choice.tile.lines)
            return (
                *sizes,
                format_bytes(choice.ring_bytes),
                format_bytes(choice.dram_bytes),
                format_seconds(choice.seconds),
            )
        ty, tx, ny, nx = choice.block
        registers, most = self.registers.get(choice.block), self._register_blocks(choice)
        fewer = "" if most is None or most >= choice.resident else f", {most} by registers"
        return (
            f"{ty}x{tx}",
            f"{ny}x{nx}",
            str(choice.threads),
            "-" if registers is None else str(registers),
            format_bytes(choice.shared_bytes),
            f"{choice.resident}{fewer}",
            f"{choice.occupancy:.0%}",
            str(choice.rounds),
            str(choice.remaining),
            format_seconds(choice.seconds),
        )


def _listed(plan: FusionPlan, group: fusions.Group, basic: BlockChoice | None) -> GroupConfigurations:
    """List a group's configurations; the best of a GPU are compiled where the compiler makes code for it."""
    from tilewright.runtime.devices.nvrtc import compile_cuda
    from tilewright.verbs.tuning.screen import architecture, unscreened
    from tilewright.workloads.pipelines.lower.device import emit_gpu_group

    choices = configurations(plan.problem, group, plan.hardware, model=plan.model, vendor=plan.vendor)
    blocks = [each for each in (*choices[:COMPILED], basic) if isinstance(each, BlockChoice)]
    registers: dict[tuple[int, ...], int] = {}
    unknown = ""
    if blocks:
        known = plan.hardware.compute_capability is not None
        unknown = unscreened(plan.hardware) if known else f"no compute capability of {plan.machine} is known"
    for each in () if unknown else blocks:
        try:
            text = emit_gpu_group(plan.problem, group, "cuda", each.block).text
            registers[each.block] = (
                compile_cuda(text, architecture(plan.hardware), strict=True).resources.registers or 0
            )
        except TilewrightError as error:
            unknown = str(error)
    file = plan.hardware.registers
    return GroupConfigurations(
        plan=fusions.plan_group(plan.problem.pipeline, group),
        choices=choices,
        basic=basic,
        registers=registers,
        unknown=unknown,
        register_file=None if file is None else int(file.value),
    )


def _pairs(halo: Halo) -> list[Any]:
    """A halo as (y, x); both sides where they differ."""
    return [a if a == b else [a, b] for a, b in halo]


def _configuration(choice: Choice) -> dict[str, Any]:
    if isinstance(choice, BlockChoice):
        ty, tx, ny, nx = choice.block
        return {
            "T_y": ty,
            "T_x": tx,
            "N_y": ny,
            "N_x": nx,
            "threads": choice.threads,
            "shared_bytes": choice.shared_bytes,
            "resident_blocks": choice.resident,
            "occupancy": choice.occupancy,
            "iterations": choice.rounds,
            "remaining_blocks": choice.remaining,
        }
    return {
        "width": choice.tile.width,
        "rows": choice.tile.rows,
        "lines": choice.tile.lines,
        "dram_bytes": choice.dram_bytes,
        "ring_bytes": choice.ring_bytes,
    }


def describe_choice(choice: Choice) -> str:
    """Write a configuration in a few words."""
    if isinstance(choice, BlockChoice):
        return (
            f"T {choice.block[0]}x{choice.block[1]} N {choice.block[2]}x{choice.block[3]}, "
            f"{format_bytes(choice.shared_bytes)} shared, occupancy {choice.occupancy:.0%}, "
            f"{format_seconds(choice.seconds)}"
        )
    return (
        f"strips of {choice.tile.width}, {choice.tile.rows} rows at a time, "
        f"rings of {format_bytes(choice.ring_bytes)}, {format_seconds(choice.seconds)}"
    )


def fuse(
    source: Any,  # noqa: ANN401
    *,
    shape: Sequence[int],
    machine: MachineLike = "host",
    top: int = 1,
    fusion: str | None = None,
    dtype: str | None = None,
    boundary: BoundarySpec | None = None,
    model: str = "exact",
    exhaustive: bool = False,
    **options: float | None,
) -> FusionPlan:
    """Rank the legal fusions of a pipeline with their configurations; nothing is compiled or run.

    Args:
        source: A pipeline, a function of grids, or the name of one that ships.
        shape: Extents of the grids.
        machine: A GPU or a CPU of the catalogue, ``host``, a machine file or a machine.
        top: How many fusions to list.
        fusion: One fusion to look at instead: ``"(S1, S2) | S3"``, ``full`` or ``none``.
        dtype: Element type of the inputs; float32 by default, uint8 for ``blend``.
        boundary: What lies outside the grids, ``reflect`` by default.
        model: ``exact``, or ``published`` for the paper's equations as printed.
        exhaustive: Look at every configuration that fits, not only at those that follow the vendor's guidelines.
        **options: For a pipeline that ships: ``sigma``, ``radius``, ``gradient``.

    Returns:
        The plan.

    Raises:
        UsageError: If anything is unknown or does not fit.

    Examples:
        >>> plan = fuse("canny", shape=(2048, 2048), machine="gtx780", fusion="full")
        >>> plan.to_dict()["full_fusion_halos"]["G2"]
        [7, 4]
    """
    one_of("the model", model, MODELS)
    top = whole_number(top, "top", 1, 10_000)
    refuse(*options)
    pipeline = as_pipeline(source, options)
    kind = dtype or INPUT_DTYPE.get(pipeline.name, "float32")
    asked = boundary or "reflect"
    spec = parse_boundary(asked) if isinstance(asked, str) else asked
    problem = make_pipeline_problem(pipeline, shape, kind, spec)
    where = as_machine(machine)
    vendor = None if exhaustive else VendorFilter()
    if fusion is None:
        found = search(problem, where, top=top, model=model, vendor=vendor)
        candidates, explored = found.candidates, found.explored
    else:
        one = best_choices(problem, where, fusions.parse(pipeline, fusion), model=model, vendor=vendor)
        candidates, explored = (one,), None
    return FusionPlan(
        problem=problem, hardware=where, model=model, vendor=vendor, candidates=candidates, explored=explored
    )

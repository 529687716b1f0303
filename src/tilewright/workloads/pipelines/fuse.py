"""``tw.fuse``: fusions and thread-block configurations of a pipeline, ranked by the cost model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.base.deprecations import refuse
from tilewright.base.errors import TilewrightError, one_of
from tilewright.base.records import Record, plain
from tilewright.base.tables import Table, table
from tilewright.base.units import format_seconds, format_shape, whole_number
from tilewright.costs.interval import unmeasured
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.report import tables
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.catalogue import INPUT_DTYPE
from tilewright.workloads.pipelines.gpu_costs import FORMS, bandwidth
from tilewright.workloads.pipelines.problem import Halo, PipelineProblem, halo_text, make_pipeline_problem
from tilewright.workloads.pipelines.search import (
    BASIC,
    BlockChoice,
    Choice,
    Explored,
    FusionCandidate,
    Space,
    best_choices,
    search,
    space_of,
)
from tilewright.workloads.pipelines.verbs import as_pipeline

COMPILED = 10  # configurations of a group whose registers the compiler is asked for: the best, and the basic one


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FusionPlan(Record):
    """Ranked fusions of a pipeline on a machine."""

    space: Space  # what the machine offers the pipeline's groups
    model: str  # the cost model's form
    candidates: tuple[FusionCandidate, ...]  # fusions with their configurations, best first
    explored: Explored | None  # how many were looked at; None if one fusion was asked for

    @property
    def problem(self) -> PipelineProblem:
        """The pipeline on grids."""
        return self.space.problem

    @property
    def hardware(self) -> Machine:
        """The machine."""
        return self.space.machine

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
        return [self.space.basic(group) for group in candidate.fusion]

    def configurations(self) -> "tuple[GroupConfigurations, ...]":
        """Return every configuration of each group of the best fusion, with its resources."""
        return tuple(_configurations(self.space, group) for group in self.best.fusion)

    def _groups(self, candidate: FusionCandidate) -> Iterator[tuple[fusions.GroupPlan, Choice]]:
        for group, choice in zip(candidate.fusion, candidate.choices, strict=True):
            yield fusions.plan_group(self.problem.pipeline, group), choice

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, the JSON document of ``tilewright fuse``."""
        pipeline = self.problem.pipeline
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
            "full_fusion_halos": _halos(fusions.plan_group(pipeline, fusions.full(pipeline)[0])),
            "candidates": [self._candidate(candidate) for candidate in self.candidates],
            "explored": plain(self.explored),
        }

    def _candidate(self, candidate: FusionCandidate) -> dict[str, Any]:
        groups = [
            {
                "stencils": _names(plan),
                "inputs": list(plan.inputs),
                "outputs": list(plan.outputs),
                "shared": list(plan.shared),
                "halos": _halos(plan),
                "configuration": choice.facts(),
                "seconds": choice.seconds,
                "basic": None if basic is None else {**basic.facts(), "seconds": basic.seconds},
            }
            for (plan, choice), basic in zip(self._groups(candidate), self.basic(candidate), strict=True)
        ]
        return {
            "fusion": fusions.text(candidate.fusion),
            "seconds": candidate.seconds,
            "interval": unmeasured(candidate.seconds).to_dict(),
            "groups": groups,
        }

    def __str__(self) -> str:
        name, shape = self.problem.pipeline.name, format_shape(self.problem.shape)
        lines = [f"{name} {shape} on {self.machine}, model {self.model}"]
        for number, candidate in enumerate(self.candidates, 1):
            written = f"{fusions.text(candidate.fusion)}{self._beside(candidate)}"
            lines.append(f"{number:3}. {format_seconds(candidate.seconds):>8}  {written}")
            for plan, choice in self._groups(candidate):
                group, halos = _group_texts(plan)
                lines.append(f"       {group}: {choice}; {halos}")
        if self.explored is not None:
            e = self.explored
            lines.append(
                f"{e.groups} groups, {e.configurations} configurations, {e.feasible} fit, {e.relevant} relevant; "
                f"searched in {format_seconds(e.seconds)}"
            )
        expected = unmeasured(self.best.seconds)
        lines.append(f"{expected.share:.0%} interval of the first: {expected}")
        constants = tables.constants(self.hardware, bandwidth=bandwidth(self.hardware, self.model))
        return "\n".join([*lines, tables.described(constants)])

    def _beside(self, candidate: FusionCandidate) -> str:
        """Say what the same fusion takes with basic blocks on a GPU."""
        if self.hardware.kind == "cpu":
            return ""
        fitting = [each.seconds for each in self.basic(candidate) if each is not None]
        if len(fitting) < len(candidate.fusion):
            return f"; blocks of {BASIC} do not fit"
        total = sum(fitting)
        return f"; with blocks of {BASIC} {format_seconds(total)}, {total / candidate.seconds:.2f} times as long"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GroupConfigurations(Record):
    """Every configuration of a fused group that fits, as the paper's tool lists them."""

    plan: fusions.GroupPlan  # the group
    choices: tuple[Choice, ...]  # its configurations, best first, with what NVRTC says of the best and the basic one
    basic: Choice | None  # the block (16, 16, 1, 1) of a GPU, or None where it does not fit, and on a CPU
    unknown: str  # why some registers are not known, one sentence, or nothing

    def to_dict(self) -> dict[str, Any]:
        """Return the list as plain data."""
        rows = [None if each is None else {**each.listed(), "seconds": each.seconds} for each in self._every()]
        return {
            "stencils": _names(self.plan),
            "halos": _halos(self.plan),
            "configurations": rows[:-1],
            "basic": rows[-1],
            "registers_unknown": self.unknown or None,
        }

    def _every(self) -> tuple[Choice | None, ...]:
        return *self.choices, self.basic

    def shown(self) -> Table:
        """Return the list for people."""
        group, halos = _group_texts(self.plan)
        ranks = [*map(str, range(1, len(self.choices) + 1)), "basic"]
        rows = [
            (rank, *choice.cells().values(), format_seconds(choice.seconds))
            for rank, choice in zip(ranks, self._every(), strict=True)
            if choice is not None
        ]
        return table(
            (">rank", *self.choices[0].cells(), ">predicted"),
            rows,
            f"{group}: {len(self.choices)} configurations; {halos}",
        )


def _configurations(space: Space, group: fusions.Group) -> GroupConfigurations:
    """List a group's configurations; the best of a GPU are compiled where the compiler makes code for it."""
    from tilewright.runtime.devices.nvrtc import compile_cuda
    from tilewright.verbs.tuning.screen import architecture, unscreened
    from tilewright.workloads.pipelines.lower.device import emit_gpu_group

    choices, basic, machine = space.every(group), space.basic(group), space.machine
    blocks = [each for each in (*choices[:COMPILED], basic) if isinstance(each, BlockChoice)]
    registers: dict[tuple[int, ...], int] = {}
    unknown = ""
    if blocks:
        has_capability = machine.compute_capability is not None
        unknown = unscreened(machine) if has_capability else f"no compute capability of {machine.name} is known"
    for each in () if unknown else blocks:
        try:
            text = emit_gpu_group(space.problem, group, "cuda", each.block).text
            registers[each.block] = compile_cuda(text, architecture(machine), strict=True).resources.registers or 0
        except TilewrightError as error:
            unknown = str(error)
    file = 0 if machine.registers is None else int(machine.registers.value)

    def compiled(choice: Choice) -> Choice:
        if not isinstance(choice, BlockChoice) or choice.block not in registers:
            return choice
        count = registers[choice.block]
        fitting = file // (count * choice.threads) if file and count else None
        return replace(choice, registers=count, register_blocks=fitting)

    return GroupConfigurations(
        plan=fusions.plan_group(space.problem.pipeline, group),
        choices=tuple(map(compiled, choices)),
        basic=None if basic is None else compiled(basic),
        unknown=unknown,
    )


def _halos(plan: fusions.GroupPlan) -> dict[str, Any]:
    return {grid: _pairs(halo) for grid, halo in plan.halos}


def _pairs(halo: Halo) -> list[Any]:
    """A halo as (y, x); both sides where they differ."""
    return [a if a == b else [a, b] for a, b in halo]


def _names(plan: fusions.GroupPlan) -> list[str]:
    return [f"S{number + 1}" for number in plan.stencils]


def _group_texts(plan: fusions.GroupPlan) -> tuple[str, str]:
    """A group and its halos for people."""
    halos = " ".join(f"{grid} {halo_text(halo)}" for grid, halo in plan.halos)
    return fusions.text((plan.stencils,)), f"halos {halos}"


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
    one_of("the model", model, FORMS)
    top = whole_number(top, "top", 1, 10_000)
    refuse(*options)
    pipeline = as_pipeline(source, options)
    kind = dtype or INPUT_DTYPE.get(pipeline.name, "float32")
    problem = make_pipeline_problem(pipeline, shape, kind, boundary or "reflect")
    space = space_of(problem, as_machine(machine), model, exhaustive=exhaustive)
    if fusion is None:
        candidates, explored = search(space, top)
    else:
        candidates, explored = (best_choices(space, fusions.parse(pipeline, fusion)),), None
    return FusionPlan(space=space, model=model, candidates=candidates, explored=explored)

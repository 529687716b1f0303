"""``tw.fuse``: fusions and thread-block configurations of a pipeline, ranked by the cost model."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tilewright.base.deprecations import refuse
from tilewright.base.errors import UsageError
from tilewright.base.units import format_bytes, format_seconds, format_shape
from tilewright.costs.pipelines.gpu import MODELS
from tilewright.programs.pipelines.catalogue import INPUT_DTYPE
from tilewright.programs.pipelines.pipeline import Halo, halo_text
from tilewright.programs.pipelines.problem import PipelineProblem, make_pipeline_problem
from tilewright.programs.stencil.boundaries import BoundarySpec, parse_boundary
from tilewright.schedules.pipelines import fusion as fusions
from tilewright.tuning.fusion import BlockChoice, Choice, Explored, FusionCandidate, VendorFilter, best_choices, search
from tilewright.verbs.pipelines.pipelines import as_pipeline
from tilewright.verbs.predict import MachineLike, as_machine


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionPlan:
    """Ranked fusions of a pipeline on a machine.

    Attributes:
        problem: The pipeline on grids.
        machine: The machine's name.
        model: The cost model's form.
        candidates: Fusions with their configurations, best first.
        explored: How many were looked at; None for a single fusion that was asked for.
    """

    problem: PipelineProblem
    machine: str
    model: str
    candidates: tuple[FusionCandidate, ...]
    explored: Explored | None

    @property
    def best(self) -> FusionCandidate:
        """The first choice."""
        return self.candidates[0]

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
        for plan, choice in zip(fusions.walk(self.problem.pipeline, candidate.fusion), candidate.choices, strict=True):
            groups.append(
                {
                    "stencils": [f"S{i + 1}" for i in plan.stencils],
                    "inputs": list(plan.inputs),
                    "outputs": list(plan.outputs),
                    "shared": list(plan.shared),
                    "halos": {grid: _pairs(halo) for grid, halo in plan.halos},
                    "configuration": _configuration(choice),
                    "seconds": choice.seconds,
                }
            )
        return {"fusion": fusions.text(candidate.fusion), "seconds": candidate.seconds, "groups": groups}

    def __str__(self) -> str:
        pipeline = self.problem.pipeline
        head = f"{pipeline.name} {format_shape(self.problem.shape)} on {self.machine}, model {self.model}"
        lines = [head]
        for number, candidate in enumerate(self.candidates, 1):
            lines.append(f"{number:3}. {format_seconds(candidate.seconds):>8}  {fusions.text(candidate.fusion)}")
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
        return "\n".join(lines)


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
    if model not in MODELS:
        raise UsageError(f"the model is one of {', '.join(MODELS)}, got {model!r}")
    if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= 10_000:
        raise UsageError(f"top is a whole number from 1 to 10000, got {top!r}")
    refuse(*options)
    pipeline = as_pipeline(source, options)
    kind = dtype or INPUT_DTYPE.get(pipeline.name, "float32")
    asked = boundary or "reflect"
    spec = parse_boundary(asked) if isinstance(asked, str) else asked
    problem = make_pipeline_problem(pipeline, shape, kind, spec)
    where = as_machine(machine)
    vendor = None if exhaustive else VendorFilter()
    if fusion is not None:
        wanted = fusions.parse(pipeline, fusion)
        one = best_choices(problem, where, wanted, model=model, vendor=vendor)
        return FusionPlan(problem=problem, machine=where.name, model=model, candidates=(one,), explored=None)
    found = search(problem, where, top=top, model=model, vendor=vendor)
    return FusionPlan(
        problem=problem, machine=where.name, model=model, candidates=found.candidates, explored=found.explored
    )

"""``tw.codesign``: hardware and tile sizes chosen together for a workload (thesis, appendix C and chapter 7)."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError, one_of
from tilewright.base.records import Record, plain
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.codesign import area as area_model
from tilewright.workloads.codesign.design import Axes, DesignOptions, WeightedProblem, load_workload, reweighted
from tilewright.workloads.codesign.designs import INSIGHTS, Design, DesignTable, Exploration, Range, Stock, within
from tilewright.workloads.codesign.solve import DesignEnergy, energy_of, solve

STOCK = ("gtx980", "titanx")
AREA = (200.0, 650.0)  # mm^2: the range of the thesis
WITH_CACHES = {"l1_pair_kb": (48.0,), "l2_sm_kb": (128.0,)}  # the caches of the Maxwell chips
WIDEST = 192  # vector units of the widest SM that was built: those of Kepler (NVIDIA, GK110 whitepaper)


@dataclass(frozen=True, kw_only=True, repr=False)
class Codesign(Record):
    """The solved codesign of a workload.

    Weights and the range of areas can change without solving again: :meth:`reweighted`, :meth:`between`.
    """

    workload: str  # its name
    machine: str  # the base machine's name
    exploration: Exploration  # the solved designs
    area: Range  # the range of areas, mm^2
    weights: Mapping[str, float] | None  # factors of the stencils' weights, or None for the workload's own
    stock: tuple[Stock, ...]  # chips that exist, solved on the same assumptions

    def reweighted(self, weights: Mapping[str, float]) -> "Codesign":
        """Return the codesign under other weights: a weighted sum over the same tables."""
        reweighted(self.exploration.cases, weights)
        return replace(self, weights=dict(weights))

    def charged(self, width_cost: bool) -> "Codesign":
        """Return the codesign with the width of SMs charged, or not."""
        return replace(self, exploration=replace(self.exploration, width_cost=width_cost))

    def between(self, low: float, high: float) -> "Codesign":
        """Return the codesign for another range of areas."""
        return replace(self, area=(low, high))

    @cached_property
    def table(self) -> DesignTable:
        """What the weighted workload makes of all designs."""
        return DesignTable(exploration=self.exploration, between=self.area, weights=self.weights)

    @property
    def feasible(self) -> int:
        """Number of designs in the range that run the whole workload."""
        return int(self.table.inside.sum())

    @property
    def best(self) -> Design:
        """The design of largest gain in the range."""
        return self.table.design(self.table.best)

    @property
    def pareto(self) -> tuple[Design, ...]:
        """The designs of the range that none of it beats in area and gain, by increasing area (figure C.3)."""
        return tuple(self.table.design(index) for index in self.table.front.tolist())

    def tilings(self, design: Design) -> list[dict[str, object]]:
        """Return the chosen tiling of every case of positive weight on a design."""
        rows: list[dict[str, object]] = []
        for index, case in enumerate(self.exploration.cases):
            if self.weights is None or self.weights.get(case.program, 0.0) > 0:
                seconds = float(self.exploration.solutions[index].seconds.ravel()[design.index])
                rows.append(
                    {
                        "program": case.program,
                        "shape": list(case.problem.shape),
                        "steps": case.problem.steps,
                        "tiling": str(self.exploration.tiling(design.index, index)),
                        "seconds": seconds,
                    }
                )
        return rows

    def stock_designs(self) -> tuple[tuple[str, Design], ...]:
        """Return the stock chips with what the workload makes of them; their areas count their caches."""
        every = [(chip, chip.design(self.weights)) for chip in self.stock]
        return tuple((chip.name, replace(design, index=-1, area=chip.area)) for chip, design in every)

    def insight(self, name: str) -> list[dict[str, object]]:
        """Return one of :data:`INSIGHTS` as plain rows."""
        one_of("the insight", name, INSIGHTS)
        return [plain(row) for row in INSIGHTS[name](self.table, self.stock)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the best design should know: one sentence each."""
        sentences, width = [], self.best.vector_width
        if self.exploration.width_cost:
            sentences.append("the width of an SM is charged by our estimate; the thesis charges none: --no-width-cost")
        elif width > WIDEST:
            built = (
                f"nobody has built an SM of {width} units, the widest has {WIDEST}: as in the thesis nothing charges"
            )
            sentences.append(f"{built} it; --width-cost does")
        if self.exploration.options.form.model == "exact":
            sentences.append(
                "times are by the equations of the thesis, without thread blocks and streaming tiles, by which predict "
                "orders chips otherwise: docs/codesign.md, Accuracy"
            )
        return tuple(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of ``tilewright codesign``."""
        best, options = self.best, self.exploration.options
        tiles = {
            case.program: len(solution.configurations[0].shared_bytes)
            for case, solution in zip(self.exploration.cases, self.exploration.solutions, strict=True)
        }
        return {
            "workload": self.workload,
            "machine": self.machine,
            "metric": options.metric,
            "area": {"low": self.area[0], "high": self.area[1]},
            "assumptions": {
                "model": options.form.model,
                "pitch": options.form.pitch or options.form.model,
                "single": options.form.single,
                "scope": options.scope or "device",
                "blocks_per_sm": options.blocks_per_sm,
                "strategies": list(options.strategies),
                "width_cost": self.exploration.width_cost,
                "flops_per_cell": {case.program: case.flops_per_cell for case in self.exploration.cases},
            },
            "grid": options.grid,
            "tiles": tiles,
            "designs": self.exploration.axes.size,
            "feasible": self.feasible,
            "weights": None if self.weights is None else dict(self.weights),
            "best": {**best.to_dict(), "tilings": self.tilings(best)},
            "pareto": [design.to_dict() for design in self.pareto],
            "stock": [{"name": name, **design.to_dict()} for name, design in self.stock_designs()],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        best = self.best
        shared = f"{best.shared_kb:g} kB of shared memory"
        return (
            f"{self.workload} within {self.area[0]:g} to {self.area[1]:g} mm^2: {best.sm_count} SMs of "
            f"{best.vector_width} units with {shared}, {best.area:.4g} mm^2, {best.gflops:.4g} GFlops/s; "
            f"{len(self.pareto)} of {self.feasible} designs are Pareto-optimal"
        )


def codesign(
    workload: str | Sequence[WeightedProblem],
    *,
    area: Range = AREA,
    machine: MachineLike = "gtx980",
    axes: Axes | None = None,
    options: DesignOptions | None = None,
    weights: Mapping[str, float] | None = None,
    width_cost: bool | None = None,
    form: str = "exact",
    energy: MachineLike | None = None,
    stock: Sequence[str] = STOCK,
    progress: Callable[[int, int], None] | None = None,
    executor: Executor | None = None,
) -> Codesign:
    """Choose hardware and tile sizes together, exactly over the stated grids. Nothing is compiled or measured.

    Args:
        workload: ``2d``, ``3d``, ``all``, a program, the path of a ``.toml`` file, or cases.
        area: Least and largest area, mm^2.
        machine: The technology: C_iter, synchronisation, bandwidth and the coefficients of the area.
        axes: The hardware that is searched; the thesis' by default.
        options: The assumptions and the metric; see :class:`tilewright.workloads.codesign.design.DesignOptions`.
        weights: Factors of the stencils' weights, 0 for those left out.
        width_cost: Charge what grows with the width of an SM, our extension, without which the model chooses SMs that
            nobody can build; by default with the exact time model and not with the published one.
        form: The area model, ``exact`` (C.6) or ``published`` (C.7).
        energy: The machine whose energies are taken, for the metrics energy and edp.
        stock: Chips of the catalogue to compare with.
        progress: Called with the number of solved cases and their total.
        executor: Any ``concurrent.futures.Executor`` that solves cases; two threads by default.

    Returns:
        The codesign.

    Raises:
        UsageError: If anything is unknown, contradictory, or no design lies in the range.
    """
    base, axes, options = as_machine(machine), axes or Axes(), options or DesignOptions()
    width_cost = options.form.model != "published" if width_cost is None else width_cost
    if base.kind != "gpu":
        raise UsageError(f"codesign varies a GPU, {base.name} is a {base.kind}")
    cases = load_workload(workload, options.strategies) if isinstance(workload, str) else tuple(workload)
    if not cases:
        raise UsageError("the workload has no stencil")
    if weights is not None:
        reweighted(cases, weights)
    by = area_model.coefficients(base)
    draft = Exploration(
        cases=cases, axes=axes, options=options, solutions=(), coefficients=by, area_model=form, width_cost=width_cost
    )
    areas = draft.parts().total
    within(area, areas)
    model, metered = None, base if energy is None else as_machine(energy)
    if options.metric in {"energy", "edp"}:
        whole = area_model.parts(area_model.chip(metered), by).total
        model = energy_of(metered, areas.reshape(axes.shape), float(whole))
    solutions = solve(cases, axes, base, options, model, progress=progress, executor=executor)
    explored = replace(draft, solutions=solutions)
    chips_ = tuple(solve_stock(name, draft, base, model) for name in stock)
    name = workload if isinstance(workload, str) else "workload"
    result = Codesign(workload=name, machine=base.name, exploration=explored, area=area, weights=weights, stock=chips_)
    result.feasible  # noqa: B018  (says so at once if nothing is)
    return result


def solve_stock(name: str, draft: Exploration, base: Machine, energy: DesignEnergy | None) -> Stock:
    """Solve one chip of the catalogue in the base machine's technology, without its caches."""
    chip = area_model.chip(files.load(name))
    axes = Axes(
        sm_count=(int(chip.sm_count),),
        vector_width=(int(chip.vector_width),),
        shared_kb=(float(chip.shared_kb),),
        register_kb=(float(chip.register_kb),),
    )
    whole = float(area_model.parts(chip, draft.coefficients, model=draft.area_model).total)
    if energy is not None:
        energy = replace(energy, watts=np.full(axes.shape, energy.watts_per_mm2 * whole))
    solutions = solve(draft.cases, axes, base, draft.options, energy)
    exploration = replace(draft, axes=axes, width_cost=False, solutions=solutions)
    return Stock(name=name, exploration=exploration, area=whole)

"""``tw.predict`` and ``tw.select``: what a program costs on a machine, without a compiler and without a device."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.api.blocks import Blocks, plan_blocks
from tilewright.api.stencil import ProgramLike, as_program
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.units import format_bytes, format_seconds, format_shape
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Floats, Sizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import Costs
from tilewright.machines import files
from tilewright.machines.machine import Machine, Quantity
from tilewright.programs.periodic import wrapped_axes
from tilewright.programs.problem import BoundarySpec, Problem, make_problem
from tilewright.tilings import catalogue as tilings
from tilewright.tilings.legality import Violation
from tilewright.tilings.tiling import NONE, Tiling, parse
from tilewright.tuning import energy as choices
from tilewright.tuning import select as selection
from tilewright.tuning import space

METRICS = choices.METRICS
MachineLike = Machine | str | Path
"""A machine, a name of the catalogue, ``host``, or the path of a machine file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What one tiling of a problem costs on a machine.

    Attributes:
        program: The program's name.
        machine: The machine's name.
        shape: Extents of the grid.
        steps: Time steps.
        dtype: Element type.
        model: ``exact`` or ``published``.
        tiling: The tiling.
        costs: Its costs.
        c_iter: Seconds per loop-body iteration of one vector unit, with provenance.
    """

    program: str
    machine: str
    shape: tuple[int, ...]
    steps: int
    dtype: str
    model: str
    tiling: Tiling
    costs: Costs
    c_iter: Quantity

    def to_dict(self) -> dict[str, object]:
        """Return the prediction as plain data, the JSON document of ``tilewright predict``."""
        tiling: dict[str, object] = dataclasses.asdict(self.tiling)
        keys = ("value", "source", "low", "high", "note")
        return {
            "program": self.program,
            "machine": self.machine,
            "shape": list(self.shape),
            "steps": self.steps,
            "dtype": self.dtype,
            "model": self.model,
            "tiling": {key: list(value) if isinstance(value, tuple) else value for key, value in tiling.items()},
            "costs": self.costs.to_dict(),
            "c_iter": {key: getattr(self.c_iter, key) for key in keys},
            "energy": self.costs.energy.to_dict() if self.costs.energy else None,
        }

    def __str__(self) -> str:
        return (
            f"{self.program} {format_shape(self.shape)}, {self.steps} steps on {self.machine}: {self.tiling} takes "
            f"{format_seconds(self.costs.seconds)}, {self.costs.gcells_per_second:.3g} GCells/s, "
            f"{format_bytes(self.costs.dram_bytes)} off chip, bound by {self.costs.bound_by}"
        )

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


def predict(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike,
    tiling: Tiling | str | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
) -> Prediction:
    """Predict what a program costs on a machine. Nothing is compiled, measured or calibrated.

    Args:
        program: A stencil, a program, or the name of a built-in one.
        shape: Extents of the grid, outermost first.
        steps: Time steps.
        machine: A machine, its name in the catalogue, ``host``, or the path of a ``.toml`` file.
        tiling: The tiling, as a value or as text; the model's own choice by default.
        dtype: Element type.
        boundary: Boundaries, as ``run`` takes them.
        model: ``exact``, or ``published`` for the papers' equations as printed.
        scope: Whether a tile is charged the whole device's bandwidth (``device``) or its SM's share (``per_sm``);
            by default the first on a GPU, as printed, and the second on a CPU.

    Returns:
        The prediction.

    Raises:
        UsageError: If anything is unknown or does not fit, or the tiling is not legal for the program.

    >>> round(predict("gradient2d", shape=(8192, 8192), steps=8192, machine="gtx980").costs.seconds, 1)
    16.4
    """
    problem = make_problem(as_program(program), shape, steps, dtype, boundary)
    where = as_machine(machine)
    setting = make_setting(problem, where, scope)
    asked = parse(tiling) if isinstance(tiling, str) else tiling
    blocks = blocks_of(problem, where, asked) if model == "exact" and scope is None else None
    if blocks is not None:
        return _prediction(problem, where, model, blocks.tiling, blocks.costs, setting)
    chosen = _choose(problem, setting, model, coarse=False) if asked is None else _legal(problem, asked)
    costs = time_model.predict(problem, chosen, where, model=model, scope=scope)
    return _prediction(problem, where, model, chosen, costs, setting)


def select(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike,
    within: float | None = 0.10,
    metric: str = "time",
    top: int | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
) -> tuple[Prediction, ...]:
    """Return the feasible tilings whose predicted cost lies within a share of the best one.

    Args:
        program: As for :func:`predict`; so are shape, steps, machine, dtype, boundary, model and scope.
        shape: Extents of the grid.
        steps: Time steps.
        machine: The machine.
        within: The share: 0.1 keeps what costs at most 10 % more than the best; None keeps everything.
        metric: ``time``, ``traffic`` (bytes between chip and memory), ``energy``, ``power``, ``edp`` or ``ed2p``.
        top: Keep at most this many.
        dtype: Element type.
        boundary: Boundaries.
        model: ``exact`` or ``published``.
        scope: Who shares the bandwidth.

    Returns:
        Predictions, best first.

    Raises:
        UsageError: If anything is unknown or does not fit, or the metric has no model here.
    """
    if metric not in METRICS:
        raise UsageError(
            f"the metric of a selection is one of {', '.join(METRICS)}, got {metric!r}",
            "per_area is a metric of codesign",
        )
    problem = make_problem(as_program(program), shape, steps, dtype, boundary)
    where = as_machine(machine)
    setting = make_setting(problem, where, scope)
    pool = [(family, *evaluated(setting, family, model)) for family in families_of(problem, setting, model)]
    lowest = min(float(np.min(cost_of(result, metric), initial=np.inf)) for _, _, result in pool)
    limit = np.inf if within is None else (1.0 + _share(within)) * lowest
    found: list[tuple[float, int, Prediction]] = []
    for number, (family, sizes, result) in enumerate(pool):
        cost = cost_of(result, metric)
        inside = np.where(cost <= limit, cost, np.inf)
        for index in selection.select(inside, sizes, within=np.inf, top=top).tolist():
            chosen = NONE if family == "none" else space.tiling_at(family, sizes, index)
            costs = time_model.costs_at(result, index, setting)
            found.append((float(cost[index]), number, _prediction(problem, where, model, chosen, costs, setting)))
    found.sort(key=lambda item: item[:2])
    return tuple(prediction for _, _, prediction in found[:top])


def choose_tiling(problem: Problem, machine: MachineLike = "host") -> Tiling:
    """Return the tiling that a run takes: the exact model's choice among the families whose models were validated.

    Args:
        problem: What is computed.
        machine: Where; this machine's CPU by default.

    Returns:
        A legal tiling. On a GPU a coarse grid of sizes is searched, so that this takes milliseconds.
    """
    return _choose(problem, make_setting(problem, as_machine(machine)), "exact", coarse=True, every=False)


def blocks_of(problem: Problem, machine: MachineLike = "host", tiling: Tiling | None = None) -> Blocks | None:
    """Return how a problem that wraps around its grid runs in time tiles, in blocks on an extended grid.

    Args:
        problem: What is computed.
        machine: Where.
        tiling: The tiling of the blocks; the model's choice by default.

    Returns:
        The blocks, or None where nothing wraps, blocks are impossible, or no time tiling is expected to be faster.

    Raises:
        UsageError: If the tiling that was asked for fits no block.
    """
    if problem.steps < 2 or not wrapped_axes(problem) or (tiling is not None and tiling.family == "none"):
        return None
    where = as_machine(machine)
    if tiling is None:
        return plan_blocks(problem, where, lambda block: choose_tiling(block, where))
    return plan_blocks(problem, where, lambda block: _legal(block, tiling), always=True)


def as_machine(machine: MachineLike) -> Machine:
    """Return the machine that a user means.

    Raises:
        UsageError: If there is none of that name, or its file is not as it must be.

    >>> as_machine("h200").title
    'NVIDIA H200 SXM5 (Hopper)'
    """
    if isinstance(machine, Machine):
        return machine
    if machine == files.HOST:
        from tilewright.runtime.hosts import host

        return host()
    return files.load(str(machine))


def families_of(problem: Problem, setting: Setting, model: str) -> tuple[str, ...]:
    """Return every legal family that has a model of this name: equations are printed for hexagonal and hybrid tiles."""
    return space.families(problem, cpu=setting.cpu, every=model == "exact")


def _choose(problem: Problem, setting: Setting, model: str, *, coarse: bool, every: bool = True) -> Tiling:
    """Return the model's choice among every family, or among those whose models were validated."""
    chosen, lowest = NONE, np.inf
    validated = space.families(problem, cpu=setting.cpu, every=False)
    for family in families_of(problem, setting, model) if every else validated:
        sizes, result = evaluated(setting, family, model, coarse=coarse)
        index = selection.best(result.seconds, sizes)
        if index is not None and result.seconds[index] < lowest:
            lowest = result.seconds[index]
            chosen = NONE if family == "none" else space.tiling_at(family, sizes, index)
    return chosen


def evaluated(setting: Setting, family: str, model: str, *, coarse: bool = False) -> tuple[Sizes, Breakdown]:
    """Return a family's space and its costs; without tiling, the space is one point."""
    if family == "none":
        sizes = time_model.sizes_of(NONE, setting)
    else:
        sizes = space.feasible(setting, coarse=coarse, family=family)
    return sizes, time_model.evaluate(family, sizes, setting, model)


def _legal(problem: Problem, tiling: Tiling) -> Tiling:
    complete = tilings.complete(problem, tiling)
    verdict = tilings.check(problem, complete)
    if isinstance(verdict, Violation):
        raise IllegalTilingError(verdict.reason, verdict.hint)
    return complete


def cost_of(result: Breakdown, metric: str) -> Floats:
    """Return what a metric makes of a space's costs; shape (n,)."""
    return choices.cost(result, metric)


def _share(within: float) -> float:
    if not within >= 0:
        raise UsageError(f"within is a share of the best cost, at least 0, got {within!r}")
    return within


def _prediction(
    problem: Problem, machine: Machine, model: str, tiling: Tiling, costs: Costs, setting: Setting
) -> Prediction:
    return Prediction(
        program=problem.program.name,
        machine=machine.name,
        shape=problem.shape,
        steps=problem.steps,
        dtype=problem.dtype,
        model=model,
        tiling=tiling,
        costs=costs,
        c_iter=setting.c_iter,
    )

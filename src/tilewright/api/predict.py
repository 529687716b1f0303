"""``tw.predict`` and ``tw.select``: what a program costs on a machine, without a compiler and without a device."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.api.arrays import costed
from tilewright.api.prediction import Prediction
from tilewright.api.stencil import ProgramLike, as_program
from tilewright.api.table import Table
from tilewright.api.table_costs import TableRequest, case_of, check_settings, costs_of, ranked, table_of, value
from tilewright.api.unstable import warn_if_unstable
from tilewright.base.errors import UsageError
from tilewright.costs import orthogonal as table_model
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Floats, Sizes
from tilewright.costs.hardware import hardware
from tilewright.costs.roofline import roofline
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import Costs
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.programs.problem import BoundarySpec, Problem, make_problem
from tilewright.programs.table import Recurrence
from tilewright.tilings import catalogue as tilings
from tilewright.tilings.tiling import NONE, Tiling, parse
from tilewright.tuning import choice, space
from tilewright.tuning import energy as choices
from tilewright.tuning import select as selection
from tilewright.tuning.choice import best_tiling, choose_blocks, families_of
from tilewright.tuning.thread_shapes import select_with_threads

METRICS = choices.METRICS
MachineLike = Machine | str | Path
"""A machine, a name of the catalogue, ``host``, or the path of a machine file."""


def predict(
    program: ProgramLike | Table | Recurrence,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike,
    tiling: Tiling | str | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    **scalars: Any,  # noqa: ANN401
) -> Prediction:
    """Predict what a program costs on a machine. Nothing is compiled, measured or calibrated.

    Args:
        program: A stencil, a recurrence, a program, or the name of a built-in one.
        shape: Extents of the grid, outermost first; of a recurrence rows and columns of its table.
        steps: Time steps; a table is filled once.
        machine: A machine, its name in the catalogue, ``host``, or the path of a ``.toml`` file.
        tiling: The tiling, as a value or as text; the model's own choice by default.
        dtype: Element type.
        boundary: Boundaries, as ``run`` takes them.
        model: ``exact``, or ``published`` for the papers' equations as printed.
        scope: Whether a tile is charged the whole device's bandwidth (``device``) or its SM's share (``per_sm``);
            by default the first on a GPU, as printed, and the second on a CPU.
        **scalars: Scalars of the program, any of them left out: an array makes one a coefficient field, which is read
            and so costs; a number costs nothing, and decides whether a scheme is stable.

    Returns:
        The prediction.

    Raises:
        UsageError: If anything is unknown or does not fit, or the tiling is not legal for the program.

    >>> round(predict("gradient2d", shape=(8192, 8192), steps=8192, machine="gtx980").costs.seconds, 1)
    16.4
    """
    where = as_machine(machine)
    table = table_of(program)
    if table is not None:
        check_settings(table, scalars)
        request = TableRequest(shape=shape, steps=steps, dtype=dtype, model=model, scope=scope)
        return _of_table(table, request, where, tiling)
    known, numbers = costed(as_program(_no_table(program)), scalars)
    problem = make_problem(known, shape, steps, dtype, boundary)
    warn_if_unstable(problem, numbers)
    return predicted(problem, where, parse(tiling) if isinstance(tiling, str) else tiling, model=model, scope=scope)


def predicted(
    problem: Problem, machine: Machine, tiling: Tiling | None = None, *, model: str = "exact", scope: str | None = None
) -> Prediction:
    """Return what the model says of a problem; as :func:`predict`, whose errors it raises, of checked values."""
    setting = make_setting(problem, machine, scope)
    blocks = choose_blocks(problem, machine, tiling) if model == "exact" and scope is None else None
    if blocks is not None:
        return _prediction(problem, machine, model, blocks.tiling, blocks.costs, setting)
    chosen = best_tiling(problem, setting, model) if tiling is None else tilings.legal(problem, tiling)
    costs = time_model.predict(problem, chosen, machine, model=model, scope=scope)
    return _prediction(problem, machine, model, chosen, costs, setting, scope)


def select(
    program: ProgramLike | Table | Recurrence,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike,
    within: float | None = 0.10,
    metric: str = "time",
    top: int | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    threads: bool = False,
    **scalars: Any,  # noqa: ANN401
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
        threads: Choose a GPU's thread blocks together with the tiles, by the exact model's terms for them.
        **scalars: Scalars of the program, as for :func:`predict`.

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
    where = as_machine(machine)
    table = table_of(program)
    if table is not None:
        check_settings(table, scalars)
        case = case_of(table, TableRequest(shape=shape, steps=steps, dtype=dtype, model=model, scope=scope), where)
        options = ranked(case, metric)
        most = np.inf if within is None else (1.0 + _share(within)) * value(options[0][1], metric)
        near = [option for option in options if value(option[1], metric) <= most]
        return tuple(_table_prediction(case, tiling, costs) for tiling, costs in near[:top])
    known, _ = costed(as_program(_no_table(program)), scalars)
    problem = make_problem(known, shape, steps, dtype, boundary)
    setting = make_setting(problem, where, scope)
    if threads:
        if metric != "time" or model != "exact" or scope is not None:
            raise UsageError("thread blocks are chosen by the exact model's time", "leave metric, model and scope out")
        return _with_threads(problem, where, within, top)
    band = np.inf if within is None else _share(within)
    pool = [_band(setting, family, model, metric, band, top) for family in families_of(problem, setting, model)]
    limit = (1.0 + band) * min(float(np.min(cost, initial=np.inf)) for _, _, cost in pool)
    found: list[tuple[float, int, Prediction]] = []
    for number, (family, sizes, cost) in enumerate(pool):
        inside = np.flatnonzero(cost <= limit)[:top]
        kept = sizes.take(inside)
        result = time_model.evaluate(family, kept, setting, model)
        for index, place in enumerate(inside.tolist()):
            chosen = space.tiling_at(family, kept, index)
            costs = time_model.costs_at(result, index, setting)
            one = _prediction(problem, where, model, chosen, costs, setting, scope)
            found.append((float(cost[place]), number, one))
    found.sort(key=lambda item: item[:2])
    return tuple(prediction for _, _, prediction in found[:top])


def _with_threads(problem: Problem, machine: Machine, within: float | None, top: int | None) -> tuple[Prediction, ...]:
    """Return hybrid tiles with their thread blocks, best first."""
    setting = make_setting(problem, machine)
    if setting.cpu or problem.program.rank < 2 or "hybrid" not in space.families(problem):
        raise UsageError(
            f"thread blocks belong to hybrid tiles on a GPU, not to {problem.program.name!r} on {machine.name}",
            "take a GPU of `tilewright machines` and a stencil of two or three dimensions",
        )
    most = machine.block_threads
    gpu = hardware(machine, setting.block_bytes)
    band = np.inf if within is None else _share(within)
    sizes, shapes, _, _ = select_with_threads(problem.program, setting, gpu, most, within=band, top=top)
    found = []
    for index, shape in enumerate(shapes):
        tiling = dataclasses.replace(space.tiling_at("hybrid", sizes, index), threads=shape)
        costs = time_model.predict(problem, tiling, machine)
        found.append(_prediction(problem, machine, "exact", tiling, costs, setting))
    return tuple(found)


def _no_table(program: ProgramLike | Table | Recurrence) -> ProgramLike:
    assert not isinstance(program, Table | Recurrence)  # noqa: S101  (its caller has looked)
    return program


def _of_table(program: Recurrence, request: TableRequest, machine: Machine, tiling: Tiling | str | None) -> Prediction:
    case = case_of(program, request, machine)
    return _table_prediction(case, *costs_of(case, tiling))


def _table_prediction(case: table_model.TableCase, tiling: Tiling, costs: Costs) -> Prediction:
    return Prediction(
        problem=case,
        hardware=case.machine,
        model="exact",
        tiling=tiling,
        costs=costs,
        c_iter=table_model.iteration_seconds(case),
    )


def _band(
    setting: Setting, family: str, model: str, metric: str, within: float, top: int | None
) -> tuple[str, Sizes, Floats]:
    """Return what a family has within a share of its own best, cheapest first; no more is in memory as a whole."""

    def cost(sizes: Sizes) -> Floats:
        return choices.cost(time_model.evaluate(family, sizes, setting, model), metric)

    if family == "none":
        sizes = time_model.sizes_of(NONE, setting)
        return family, sizes, cost(sizes)
    kept, costs, _ = selection.select_pieces(space.parts(setting, family=family), cost, within=within, top=top)
    return family, kept, costs


def choose_tiling(problem: Problem, machine: MachineLike = "host", *, copies: bool = True) -> Tiling:
    """Return the tiling that a run takes: the exact model's choice among all legal families.

    Args:
        problem: What is computed.
        machine: Where; this machine's CPU by default.
        copies: Whether the caller's arrays are copied in and out, where a family needs that.

    Returns:
        A legal, complete tiling; on a GPU the first of :func:`tilewright.tuning.gpu_default.gpu_defaults`.
    """
    return choice.choose_tiling(problem, as_machine(machine), copies=copies)


def as_machine(machine: MachineLike) -> Machine:
    """Return the machine that a user means.

    Raises:
        UsageError: If there is none of that name, or its file is not as it must be.

    >>> as_machine("h200").title
    'NVIDIA H200 SXM5 (Hopper)'
    """
    if isinstance(machine, Machine):
        return machine
    if files.canonical(str(machine)) == files.HOST:
        from tilewright.runtime.hosts import host

        return host()
    return files.load(str(machine))


def _share(within: float) -> float:
    if not within >= 0:
        raise UsageError(f"within is a share of the best cost, at least 0, got {within!r}")
    return within


def _prediction(
    problem: Problem,
    machine: Machine,
    model: str,
    tiling: Tiling,
    costs: Costs,
    setting: Setting,
    scope: str | None = None,
) -> Prediction:
    return Prediction(
        problem=problem,
        hardware=machine,
        model=model,
        scope=scope,
        tiling=tiling,
        costs=costs,
        c_iter=setting.c_iter,
        roof=roofline(setting),
    )

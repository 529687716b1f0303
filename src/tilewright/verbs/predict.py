"""``tw.predict`` and ``tw.select``: what a program costs on a machine, without a compiler and without a device."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from tilewright.base.errors import UsageError, one_of
from tilewright.costs import time
from tilewright.costs.setting import make_setting
from tilewright.costs.time import models_threads, sizes_of, thread_terms
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.machines.networks import Network
from tilewright.machines.networks import network as network_of
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime.warn import warn_of
from tilewright.schedules.tiling import Tiling, as_tiling
from tilewright.tuning import choice
from tilewright.tuning import select as choices
from tilewright.verbs.dispatch import AnyProgram, workload_of
from tilewright.verbs.options import PredictOptions, SelectOptions
from tilewright.verbs.prediction import Prediction, Ranking
from tilewright.workload import Request, Workload

if TYPE_CHECKING:
    from tilewright.verbs.cluster import ClusterPrediction

METRICS = choices.METRICS
MachineLike = Machine | str | Path  # a machine, a name of the catalogue, ``host``, or the path of a machine file


@overload
def predict(
    program: AnyProgram,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike = "host",
    tiling: Tiling | str | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    ranks: None = None,
    network: None = None,
    topology: None = None,
    **scalars: Any,  # noqa: ANN401
) -> Prediction: ...
@overload
def predict(
    program: AnyProgram,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike = "host",
    tiling: None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: None = None,
    ranks: int,
    network: str | Network | None = None,
    topology: Sequence[int] | None = None,
    **scalars: Any,  # noqa: ANN401
) -> "ClusterPrediction": ...
def predict(
    program: AnyProgram,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike = "host",
    tiling: Tiling | str | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    ranks: int | None = None,
    network: str | Network | None = None,
    topology: Sequence[int] | None = None,
    **scalars: Any,
) -> "Prediction | ClusterPrediction":
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
            by default the first on a GPU, as printed, and the second on a CPU. Models of a GPU's thread blocks share
            the bandwidth among those that run together, whatever it says.
        ranks: Number of ranks of MPI, each a machine of its own, over which the grid is dealt.
        network: What connects them: a name such as ``slingshot``; by default what the machine's file says.
        topology: Ranks per axis, -1 where it follows from the others; by default those of the smallest halos.
        **scalars: Scalars of the program, any of them left out: an array makes one a coefficient field, which is read
            and so costs; a number costs nothing, and decides whether a scheme is stable.

    Returns:
        The prediction; with ``ranks`` that of the cluster.

    Raises:
        UsageError: If anything is unknown or does not fit, or the tiling is not legal for the program.

    Examples:
        >>> round(predict("jacobi1d", shape=(2**22,), steps=1024, machine="gtx980").costs.seconds, 3)
        0.054
    """
    work = workload_of(program, scalars, PredictOptions.of(locals()).request(), as_machine(machine))
    if ranks is not None:
        if tiling is not None or scope is not None or model != "exact" or not isinstance(work.problem, Problem):
            raise UsageError(
                "a prediction of many ranks is of a stencil and by the exact model, without tiling and scope"
            )
        from tilewright.verbs.cluster import predict_cluster

        return predict_cluster(work.problem, work.machine, network_of(network, work.machine), ranks, topology)
    if network is not None or topology is not None:
        raise UsageError("network and topology are of a prediction of many ranks", "say how many: ranks=1024")
    return predicted(work, as_tiling(tiling))


def predicted(work: Workload, tiling: Tiling | None = None) -> Prediction:
    """Return what the model says of a workload; as :func:`predict`, whose errors it raises."""
    chosen, costs = work.costs(tiling)
    return Prediction(work=work, tiling=chosen, costs=costs)


def select(
    program: AnyProgram,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike = "host",
    within: float | None = 0.10,
    metric: str = "time",
    top: int | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    threads: bool = False,
    **scalars: Any,  # noqa: ANN401
) -> Ranking:
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
        threads: Means nothing any more: a GPU's thread blocks are chosen together with the tiles.
        **scalars: Scalars of the program, as for :func:`predict`.

    Returns:
        Predictions, best first.

    Raises:
        UsageError: If anything is unknown or does not fit, or the metric has no model here.
    """
    one_of("the metric of a selection", metric, METRICS, "per_area is a metric of codesign")
    if within is not None and not within >= 0:
        raise UsageError(f"within is a share of the best cost, at least 0, got {within!r}")
    if threads:
        warn_of("threads=")
    work = workload_of(program, scalars, SelectOptions.of(locals()).request(), as_machine(machine))
    ranking = work.ranked(metric, within=within, top=top)
    return Ranking(Prediction(work=work, tiling=tiling, costs=costs) for tiling, costs in ranking)


def choose_tiling(
    program: AnyProgram | Problem,
    machine: MachineLike = "host",
    *,
    shape: tuple[int, ...] | None = None,
    steps: int = 1,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    copies: bool = True,
    **scalars: Any,  # noqa: ANN401
) -> Tiling:
    """Return the tiling that a run takes: the exact model's choice among all legal families.

    Args:
        program: A stencil, as for :func:`predict`, as are machine, shape, steps, dtype and boundary; or a whole
            problem, which has all of these but the machine.
        machine: Where; this machine's CPU by default.
        shape: Extents of the grid.
        steps: Time steps.
        dtype: Element type.
        boundary: Boundaries.
        copies: Whether the caller's arrays are copied in and out, where a family needs that.
        **scalars: Scalars of the program, as for :func:`predict`.

    Returns:
        A legal, complete tiling; on a GPU the first of :func:`tilewright.tuning.choice.gpu_defaults`.

    Raises:
        UsageError: If anything is unknown or does not fit, or the program is a recurrence.

    Examples:
        >>> choose_tiling("heat2d", shape=(512, 512), steps=2, machine="zen3").family
        'none'
    """
    where = as_machine(machine)
    if isinstance(program, Problem):
        return choice.choose_tiling(program, where, copies=copies)
    if shape is None:
        raise UsageError("a tiling is chosen for a shape, and none is given", "pass shape=(4096, 4096)")
    request = Request(shape=shape, steps=steps, dtype=dtype, boundary=boundary, model="exact", scope=None)
    problem = workload_of(program, scalars, request, where).problem
    if not isinstance(problem, Problem):
        raise UsageError("a table has tiles of one family", "predict says which is chosen for it")
    return choice.choose_tiling(problem, where, copies=copies)


def gpu_terms(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike,
    tiling: Tiling | str,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
) -> dict[str, object]:
    """Return the exact model's terms of one hybrid tiling on a GPU: seconds by part, occupancy, losses, and what binds.

    >>> gpu_terms("j2d5pt", shape=(16384, 16384), steps=120, machine="v100",
    ...           tiling="hybrid:t=16,s=6x256,threads=1x256")["bound_by"]
    'latency'
    """
    chosen = as_tiling(tiling)
    problem, where = make_problem(as_program(program), shape, steps, dtype, boundary), as_machine(machine)
    setting = make_setting(problem, where)
    if not models_threads(chosen.family, setting):
        raise UsageError(f"the terms are those of a hybrid tile on a GPU, got {str(chosen)!r} on {where.name}")
    time.predict(problem, chosen, where)  # which refuses what does not fit
    return thread_terms(sizes_of(chosen, setting), setting).to_dict(0)


def as_machine(machine: MachineLike) -> Machine:
    """Return the machine that a user means.

    Examples:
        >>> as_machine("h200").title
        'NVIDIA H200 SXM5 (Hopper)'
    """
    if isinstance(machine, Machine):
        return machine
    if files.canonical(str(machine)) == files.HOST:
        from tilewright.runtime.store.hosts import host

        return host()
    return files.load(str(machine))

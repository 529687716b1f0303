"""The terms of a prediction with thread blocks: what a GPU's time is made of and which part binds."""

from tilewright.base.errors import UsageError
from tilewright.costs.setting import make_setting
from tilewright.costs.time import models_threads, predict, sizes_of, thread_terms
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import Tiling, as_tiling
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.verbs.stencil import ProgramLike, as_program


def explain(
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

    >>> explain("j2d5pt", shape=(16384, 16384), steps=120, machine="v100",
    ...         tiling="hybrid:t=16,s=6x256,threads=1x256")["bound_by"]
    'latency'
    """
    chosen = as_tiling(tiling)
    problem, where = make_problem(as_program(program), shape, steps, dtype, boundary), as_machine(machine)
    setting = make_setting(problem, where)
    if not models_threads(chosen.family, setting):
        raise UsageError(f"the terms are those of a hybrid tile on a GPU, got {str(chosen)!r} on {where.name}")
    predict(problem, chosen, where)  # which refuses what does not fit
    return thread_terms(sizes_of(chosen, setting), setting).to_dict(0)

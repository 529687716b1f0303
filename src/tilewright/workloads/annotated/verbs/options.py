"""How annotated regions are tuned."""

from pathlib import Path

from tilewright.machines.machine import Machine
from tilewright.verbs.options import AnnotateOptions
from tilewright.workloads.annotated.search.search import Budget
from tilewright.workloads.annotated.verbs.case import Case

MAX_RUNS = 100_000


class AnnotatedOptions(AnnotateOptions):
    """How to tune: what was asked, read."""

    device: str = ""  # where OpenCL code runs: ``oclgrind``, or wherever the region says
    allow_compilers: tuple[str, ...] = ()  # that build commands may run besides the known ones
    log: Path | None = None  # file in which results are kept and found again
    machine: Machine | None = None  # the GPU that CUDA variants are priced for; None: they are run


def budget_of(case: Case, options: AnnotatedOptions, seconds: float) -> Budget:
    """Return when the search of a case ends."""
    spec = case.site.spec
    total = spec.arg("search", "total_runs") if spec is not None else None
    limit = spec.arg("search", "time_limit") if spec is not None else None
    runs = options.runs or (total if isinstance(total, int) and not isinstance(total, bool) and total > 0 else 1000)
    own = float(limit) * 60.0 if isinstance(limit, int | float) and limit > 0 else seconds
    return Budget(runs=min(runs, MAX_RUNS), seconds=min(seconds, own))

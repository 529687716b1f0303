"""How annotated regions are tuned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.machines.machine import Machine
from tilewright.tuning.loops.search import Budget
from tilewright.verbs.annotated.case import Case

MAX_RUNS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedOptions:
    """How to tune."""

    backend: str = "c"  # what is written
    device: str = ""  # where OpenCL code runs: ``oclgrind``, or wherever the region says
    seconds: float = 60.0  # for the whole file
    runs: int | None = None  # most variants per size of the input; None: as the specification says
    algorithm: str | None = None  # the search; None: as the specification says
    sizes: Mapping[str, int] = field(default_factory=dict)  # input parameters that the user sets
    strict: bool = False  # refuse what a dependence forbids instead of leaving it out
    allowed: tuple[str, ...] = ()  # compilers that the user permits
    log: Path | None = None  # file in which results are kept and found again
    seed: int = 0  # of all random choices
    repeats: int | None = None  # how often a variant is timed; None: as the specification says
    machine: Machine | None = None  # the GPU that CUDA variants are priced for; None: they are run


def budget_of(case: Case, options: AnnotatedOptions, seconds: float) -> Budget:
    """Return when the search of a case ends."""
    spec = case.site.spec
    total = spec.arg("search", "total_runs") if spec is not None else None
    limit = spec.arg("search", "time_limit") if spec is not None else None
    runs = options.runs or (total if isinstance(total, int) and not isinstance(total, bool) and total > 0 else 1000)
    own = float(limit) * 60.0 if isinstance(limit, int | float) and limit > 0 else seconds
    return Budget(runs=min(runs, MAX_RUNS), seconds=min(seconds, own))

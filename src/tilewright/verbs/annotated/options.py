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
    """How to tune.

    Attributes:
        backend: What is written.
        device: Where OpenCL code runs: ``oclgrind``, or wherever the region says.
        seconds: For the whole file.
        runs: Most variants per size of the input, or what the specification says.
        algorithm: A search, or what the specification says.
        sizes: Input parameters that the user sets.
        strict: Refuse what a dependence forbids instead of leaving it out.
        allowed: Compilers that the user permits.
        log: File in which results are kept and found again, or None.
        seed: Of everything that is left to chance.
        repeats: Times that a variant is timed, or what the specification says.
        machine: The GPU that variants for CUDA are priced for instead of being run, or None.
    """

    backend: str = "c"
    device: str = ""
    seconds: float = 60.0
    runs: int | None = None
    algorithm: str | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    strict: bool = False
    allowed: tuple[str, ...] = ()
    log: Path | None = None
    seed: int = 0
    repeats: int | None = None
    machine: Machine | None = None


def budget_of(case: Case, options: AnnotatedOptions, seconds: float) -> Budget:
    """Return when the search of a case ends."""
    spec = case.site.spec
    total = spec.arg("search", "total_runs") if spec is not None else None
    limit = spec.arg("search", "time_limit") if spec is not None else None
    runs = options.runs or (total if isinstance(total, int) and not isinstance(total, bool) and total > 0 else 1000)
    own = float(limit) * 60.0 if isinstance(limit, int | float) and limit > 0 else seconds
    return Budget(runs=min(runs, MAX_RUNS), seconds=min(seconds, own))

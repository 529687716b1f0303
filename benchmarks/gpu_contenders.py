"""What ``gpu.py`` compares: naive kernels, the best tiles of every family, CuPy; and the float64 kernel that judges."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from case import Array, Case, initial
from rivals import UnavailableError
from rivals.with_cupy import FORMS, Cupy
from tilewright.api.screen import screen
from tilewright.api.strata import strata
from tilewright.base.errors import DeviceError, TilewrightError
from tilewright.codegen.gpu_emit import emit_device
from tilewright.machines.machine import Machine
from tilewright.programs import reference
from tilewright.programs.problem import Problem
from tilewright.runtime import gpu
from tilewright.runtime.session import Inputs
from tilewright.tilings.tiling import NONE, Tiling
from tilewright.tuning.shortlist import ranked

_CHECKED = {1: (300,), 2: (40, 50), 3: (14, 16, 20)}
_FACTOR = 4.0
Fields = dict[str, Array]


@dataclass(slots=True, kw_only=True)
class Entry:
    """One contender in one case: ``once`` runs all steps from where it stands and returns the device's seconds."""

    name: str
    tiling: str
    once: Callable[[], float]
    result: Callable[[], Fields]
    close: Callable[[], None]
    error: float = float("nan")
    seconds: list[float] = field(default_factory=list)


def inputs(problem: Problem) -> Inputs:
    """The same random data for every contender and for both dtypes."""
    case = Case(program=problem.program.name, shape=problem.shape, steps=1, dtype=problem.dtype)
    return Inputs(arrays=_initial(case), scalars=dict.fromkeys(problem.program.scalars, 0.1))


@functools.lru_cache(maxsize=2)
def _initial(case: Case) -> dict[str, list[Array]]:
    return initial(case)


def ours(device: gpu.Device, problem: Problem, tiling: Tiling, name: str) -> Entry:
    """A kernel of this package."""
    loaded = gpu.load(device, emit_device(problem, tiling, device.dialect), tiling)
    session = gpu.GpuSession(loaded, problem, inputs(problem))
    return Entry(
        name=name,
        tiling=str(tiling),
        once=lambda: session.timed(problem.steps),
        result=session.results,
        close=session.close,
    )


@contextlib.contextmanager
def running(device: gpu.Device, problem: Problem, tiling: Tiling, name: str) -> Iterator[Entry]:
    """A kernel of this package, whose memory is handed back."""
    entry = ours(device, problem, tiling, name)
    try:
        yield entry
    finally:
        entry.close()


def check_naive(device: gpu.Device, like: Problem) -> float:
    """Compare the float64 reference kernel with NumPy on a small grid; return the largest difference."""
    problem = replace(like, shape=_CHECKED[like.program.rank], steps=12, dtype="float64")
    given = inputs(problem)
    with running(device, problem, NONE, "reference") as entry:
        entry.once()
        found = entry.result()
    exact = reference.run(problem, given.arrays, given.scalars)
    error = worst(found, exact)
    if not error <= 1e-12 * max(1.0, largest(exact)):
        raise SystemExit(f"the naive float64 kernel of {like.program.name} is off by {error:.3g} on a small grid")
    return error


@functools.lru_cache(maxsize=1)
def exact(device: gpu.Device, problem: Problem) -> Fields:
    """The results of the naive kernel in float64."""
    with running(device, replace(problem, dtype="float64"), NONE, "reference") as entry:
        entry.once()
        return entry.result()


def bound(problem: Problem, expected: Fields) -> float:
    """How far a result may be off, in any cell."""
    known = problem.program
    rounding = _FACTOR * float(np.finfo(problem.dtype).eps) * (known.flops + known.loads) * problem.steps
    return rounding * largest(expected)


def worst(found: Fields, expected: Fields) -> float:
    """The largest difference of any cell of any field; not a number if one is not."""
    return float(np.max([np.max(np.abs(found[name] - expected[name])) for name in expected]))


def largest(fields: Fields) -> float:
    """The largest absolute value of any cell."""
    return float(np.max([np.max(np.abs(values)) for values in fields.values()]))


def candidates(problem: Problem, machine: Machine, backend: str, count: int) -> dict[str, list[Tiling]]:
    """The model's first candidates of every family; with CUDA those whose code neither spills nor asks for too much."""
    found: dict[str, list[Tiling]] = {}
    for stratum in strata(problem, machine, every=False):
        if stratum.family != "none":
            found[stratum.family] = [each.tiling for each in ranked([stratum], count)]
    if backend.partition(":")[0] == "cuda":
        for family, tilings in found.items():
            found[family] = [each.tiling for each in screen(problem, tilings, machine) if each.outcome is None]
    return found


def best_of(device: gpu.Device, problem: Problem, tilings: list[Tiling]) -> Tiling | None:
    """The fastest of some candidates by one short run each, after a warm-up."""
    if not tilings:
        return None
    short = replace(problem, steps=min(problem.steps, 3 * max(t.time for t in tilings)))
    times: dict[Tiling, float] = {}
    for tiling in tilings:
        try:
            with running(device, short, tiling, "trial") as entry:
                entry.once()
                times[tiling] = entry.once()
        except TilewrightError as error:
            print(f"  {tiling}: {error}", file=sys.stderr)
            alive(device, error)
    return min(times, key=times.__getitem__) if times else None


def alive(device: gpu.Device, error: TilewrightError) -> None:
    """Raise the error again if the device has not survived it: after an illegal access nothing works any more."""
    if isinstance(error, DeviceError):
        try:
            device.finish()
        except DeviceError:
            raise error from None


def contenders(
    device: gpu.Device, problem: Problem, machine: Machine, wanted: tuple[str, int]
) -> tuple[list[Entry], dict[str, str]]:
    """Every contender of a case, and why others do not take part.

    Args:
        device: The device.
        problem: The problem.
        machine: The device as the model sees it.
        wanted: The backend and the number of candidates per family.
    """
    entries, out = [ours(device, problem, NONE, "naive")], {}
    for family, tilings in candidates(problem, machine, *wanted).items():
        chosen = best_of(device, problem, tilings)
        if chosen is None:
            out[family] = "no candidate runs"
            continue
        try:
            entries.append(ours(device, problem, chosen, family))
        except TilewrightError as error:  # no memory left beside the others
            out[family] = str(error)
            alive(device, error)
    for form in FORMS if wanted[0].startswith("cuda") else ():
        try:
            trial = Cupy(form, replace(problem, steps=1), inputs(problem), device.number)
            trial.once()  # compiles its kernels
            trial.close()
            rival = Cupy(form, problem, inputs(problem), device.number)
        except (ImportError, UnavailableError) as error:
            out[form] = str(error)
            continue
        except Exception as error:  # noqa: BLE001  (whatever CuPy raises where memory or a compiler fails)
            out[form] = f"{type(error).__name__}: {error}"
            continue
        entries.append(Entry(name=form, tiling="", once=rival.once, result=rival.result, close=rival.close))
    return entries, out

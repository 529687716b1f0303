"""What ``gpu.py`` compares: our kernels, naive ones, a textbook's, CuPy; and the float64 kernel that judges."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from case import Array, Case, initial
from rivals import UnavailableError
from rivals.textbook import Textbook
from rivals.with_cupy import FORMS, Cupy
from tilewright.base.errors import DeviceError, TilewrightError
from tilewright.codegen.gpu.emit import emit_device
from tilewright.driver import prepare
from tilewright.machines.machine import Machine
from tilewright.plan import read_target
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.devices import gpu
from tilewright.runtime.devices.device import Device
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.shortlist import ranked
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.verbs.tuning.family_spaces import family_spaces
from tilewright.verbs.tuning.screen import Screened, said, screen

_CHECKED = {1: (300,), 2: (40, 50), 3: (14, 16, 20)}
_FACTOR = 4.0
_LIKE_NAIVE = 8.0
"""A contender may be off by so many times what the naive kernel is off by: other orders of operations make 2 of it."""
Fields = dict[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standard:
    """What a contender's result is compared with after some steps, and how far it may be off in any cell."""

    steps: int
    fields: Fields
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How far a result was off after some steps."""

    steps: int
    max_error: float
    bound: float

    @property
    def passed(self) -> bool:
        """Whether that is within the bound; not so if it is not a number."""
        return self.max_error <= self.bound


@dataclass(slots=True, kw_only=True)
class Entry:
    """One contender in one case.

    Attributes:
        name: The contender.
        tiling: Its tiling, or nothing.
        run: Computes so many further steps and returns the device's seconds.
        refill: Brings the initial data back.
        result: The updated fields.
        close: Hands its memory back.
        checks: What was found where its results were compared.
        seconds: Samples of all steps.
        states: The card after each of them.
    """

    name: str
    tiling: str
    run: Callable[[int], float]
    refill: Callable[[], None]
    result: Callable[[], Fields]
    close: Callable[[], None]
    checks: list[Check] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether it was compared and never off by more than allowed."""
        return bool(self.checks) and all(check.passed for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """What may take part in a case: ``open`` takes memory of the device and fills it."""

    name: str
    tiling: Tiling
    open: Callable[[], Entry]


def inputs(problem: Problem) -> Inputs:
    """The same random data for every contender and for both dtypes."""
    case = Case(program=problem.program.name, shape=problem.shape, steps=1, dtype=problem.dtype)
    return Inputs(arrays=_initial(case), scalars=dict.fromkeys(problem.program.scalars, 0.1))


@functools.lru_cache(maxsize=2)
def _initial(case: Case) -> dict[str, list[Array]]:
    return initial(case)


def ours(device: Device, problem: Problem, tiling: Tiling, name: str) -> Entry:
    """A kernel of this package."""
    schedule = gpu_schedule(problem, tiling)
    loaded = gpu.program_of(device, emit_device(problem, schedule, device.dialect), schedule)
    given = inputs(problem)
    session = gpu.GpuSession(loaded, problem, given)
    return Entry(
        name=name,
        tiling=str(tiling),
        run=session.timed,
        refill=lambda: session.refill(given),
        result=session.results,
        close=session.close,
    )


@contextlib.contextmanager
def running(device: Device, problem: Problem, tiling: Tiling, name: str) -> Iterator[Entry]:
    """A kernel of this package, whose memory is handed back."""
    entry = ours(device, problem, tiling, name)
    try:
        yield entry
    finally:
        entry.close()


def check_naive(device: Device, like: Problem) -> float:
    """Compare the float64 reference kernel with NumPy on a small grid; return the largest difference."""
    problem = replace(like, shape=_CHECKED[like.program.rank], steps=12, dtype="float64")
    given = inputs(problem)
    with running(device, problem, NONE, "reference") as entry:
        entry.run(problem.steps)
        found = entry.result()
    exact = reference.run(problem, given.arrays, given.scalars)
    error = worst(found, exact)
    if not error <= 1e-12 * max(1.0, largest(exact)):
        raise SystemExit(f"the naive float64 kernel of {like.program.name} is off by {error:.3g} on a small grid")
    return error


@functools.lru_cache(maxsize=2)
def standard(device: Device, problem: Problem) -> Standard:
    """The results of the naive kernel in float64, and how far others may be off.

    Rounding alone allows less and less as a program smooths its data, while its bound grows with every step. So a
    contender may not be off by much more than the naive kernel in float32 is either, scaled to the dtype.
    """
    with running(device, replace(problem, dtype="float64"), NONE, "reference") as entry:
        entry.run(problem.steps)
        fields = entry.result()
    with running(device, replace(problem, dtype="float32"), NONE, "naive") as entry:
        entry.run(problem.steps)
        error = worst(entry.result(), fields)
    return Standard(steps=problem.steps, fields=fields, bound=bound(problem, fields, error))


def bound(problem: Problem, expected: Fields, naive_error: float) -> float:
    """How far a result may be off, in any cell.

    Args:
        problem: The problem; its steps are those after which the results are compared.
        expected: The exact results.
        naive_error: How far the naive kernel in float32 is off.
    """
    known, eps = problem.program, float(np.finfo(problem.dtype).eps)
    step = _FACTOR * eps * (known.flops + known.loads) * largest(expected)
    like_naive = _LIKE_NAIVE * naive_error * eps / float(np.finfo("float32").eps)
    return min(step * problem.steps, max(step, like_naive))


def few_steps(problem: Problem, tiling: Tiling) -> int:
    """Steps of a contender's first check: two time tiles and a part of one, soon enough to see stale data."""
    return min(problem.steps, 2 * tiling.time + 3)


def check(entry: Entry, expected: Standard) -> Check:
    """Run a contender from the initial data and compare every cell."""
    entry.refill()
    entry.run(expected.steps)
    error = worst(entry.result(), expected.fields)
    return Check(steps=expected.steps, max_error=error, bound=expected.bound)


def worst(found: Fields, expected: Fields) -> float:
    """The largest difference of any cell of any field; not a number if one is not."""
    return float(np.max([np.max(np.abs(found[name] - expected[name])) for name in expected]))


def largest(fields: Fields) -> float:
    """The largest absolute value of any cell."""
    return float(np.max([np.max(np.abs(values)) for values in fields.values()]))


@dataclass(slots=True, kw_only=True)
class Tried:
    """A candidate of a family: what is known before it runs, and its short run.

    Attributes:
        tiling: The candidate.
        predicted_seconds: What the model says of all steps, with its code's registers where they are known.
        bound_seconds: The least time by its machine code, or None.
        bound: What that bound is made of.
        refused: Why it does not run.
        trial_steps: Steps of the short run.
        trial_seconds: What they took; None where it was not run.
    """

    tiling: Tiling
    predicted_seconds: float | None
    bound_seconds: float | None = None
    bound: str = ""
    refused: str = ""
    trial_steps: int = 0
    trial_seconds: float | None = None

    def plain(self) -> dict[str, Any]:
        """What is kept of it."""
        names = ("predicted_seconds", "bound_seconds", "bound", "refused", "trial_steps", "trial_seconds")
        return {"tiling": str(self.tiling), **{name: getattr(self, name) for name in names}}


def candidates(problem: Problem, machine: Machine, backend: str, count: int) -> dict[str, list[Tried]]:
    """The model's first candidates of every family; with CUDA their code is bounded, and what spills has no place."""
    found: dict[str, list[Tried]] = {}
    for family_space in family_spaces(problem, machine, every=False):
        if family_space.family != "none":
            found[family_space.family] = [
                Tried(tiling=each.tiling, predicted_seconds=each.predicted) for each in ranked([family_space], count)
            ]
    if backend.partition(":")[0] == "cuda":
        for family, tried in found.items():
            found[family] = [screened(each) for each in screen(problem, [one.tiling for one in tried], machine)]
    return found


def screened(each: Screened) -> Tried:
    """A candidate whose code has been looked at."""
    return Tried(
        tiling=each.tiling,
        predicted_seconds=None if each.predicted_seconds == float("inf") else each.predicted_seconds,
        bound_seconds=each.bound_seconds,
        bound="" if each.bound is None else said(each.bound),
        refused="" if each.outcome is None else f"{each.outcome.value}: {each.detail}",
    )


def best_of(device: Device, problem: Problem, tried: list[Tried]) -> Tiling | None:
    """The fastest of some candidates that passed their screening, by one short run each, after a warm-up."""
    runnable = [each for each in tried if not each.refused]
    if not runnable:
        return None
    short = replace(problem, steps=min(problem.steps, 3 * max(each.tiling.time for each in runnable)))
    for each in runnable:
        try:
            with running(device, short, each.tiling, "trial") as entry:
                entry.run(short.steps)
                each.trial_steps, each.trial_seconds = short.steps, entry.run(short.steps)
        except TilewrightError as error:
            each.refused = str(error)
            print(f"  {each.tiling}: {error}", file=sys.stderr)
            alive(device, error)
    timed = [each for each in runnable if each.trial_seconds is not None]
    return min(timed, key=lambda each: each.trial_seconds or 0.0).tiling if timed else None


def alive(device: Device, error: TilewrightError) -> None:
    """Raise the error again if the device has not survived it: after an illegal access nothing works any more."""
    if isinstance(error, DeviceError):
        try:
            device.finish()
        except DeviceError:
            raise error from None


def contenders(
    device: Device, problem: Problem, machine: Machine, wanted: tuple[str, int]
) -> tuple[list[Contender], dict[str, str], dict[str, list[Tried]]]:
    """Every contender of a case, why others do not take part, and all candidates that were tried.

    Args:
        device: The device.
        problem: The problem.
        machine: The device as the model sees it.
        wanted: The backend and the number of candidates per family.
    """
    chosen, out = {"naive": NONE}, {}
    tried = candidates(problem, machine, *wanted)
    for family, those in tried.items():
        best = best_of(device, problem, those)
        if best is None:
            out[family] = "no candidate runs"
        else:
            chosen[family] = best
    found = [
        Contender(name=name, tiling=tiling, open=functools.partial(ours, device, problem, tiling, name))
        for name, tiling in chosen.items()
    ]
    try:
        found.append(default(problem, wanted[0]))
    except TilewrightError as error:
        alive(device, error)
        out["default"] = str(error)
    if wanted[0].partition(":")[0] == "cuda":
        found.append(Contender(name="textbook", tiling=NONE, open=functools.partial(textbook, device, problem)))
        found += [
            Contender(name=form, tiling=NONE, open=functools.partial(cupy, device, problem, form)) for form in FORMS
        ]
    return found, out, tried


def default(problem: Problem, backend: str) -> Contender:
    """What ``tw.run`` takes where it is told no tiling."""
    kernel = prepare(problem, read_target(backend), None)
    given = inputs(problem)

    def opened() -> Entry:
        session = cast("gpu.GpuSession", kernel.start(problem, given, 1))
        return Entry(
            name="default",
            tiling=str(kernel.plan.tiling),
            run=session.timed,
            refill=lambda: session.refill(given),
            result=session.results,
            close=session.close,
        )

    return Contender(name="default", tiling=kernel.plan.tiling, open=opened)


def textbook(device: Device, problem: Problem) -> Entry:
    """A thread per cell, as a textbook has it."""
    given = inputs(problem)
    rival = Textbook(device, problem, given)
    return Entry(
        name="textbook", tiling="", run=rival.run, refill=lambda: rival.fill(given), result=rival.result,
        close=rival.close,
    )  # fmt: skip


def cupy(device: Device, problem: Problem, form: str) -> Entry:
    """A form of CuPy, whose kernels are compiled."""
    given = inputs(problem)
    rival = Cupy(form, problem, given, device.number)
    rival.run(1)
    return Entry(
        name=form, tiling="", run=rival.run, refill=lambda: rival.fill(given), result=rival.result, close=rival.close
    )


def opened(device: Device, contender: Contender) -> Entry | str:
    """A contender with its memory, or why it does not take part.

    Raises:
        DeviceError: If the device has failed and nothing works any more.
    """
    try:
        return contender.open()
    except TilewrightError as error:  # no memory left beside the others
        alive(device, error)
        return str(error)
    except (ImportError, UnavailableError) as error:
        return str(error)
    except Exception as error:
        if contender.name not in FORMS:
            raise
        return f"{type(error).__name__}: {error}"  # whatever CuPy raises where memory or a compiler fails

"""Variants of a region, compiled and run in a worker process, each compared with the original body.

The worker keeps the inputs, what the original body made of them, and the spread of that: how far two builds of the
original (with and without fused multiply-adds) differ is what no variant can be asked to undercut.
"""

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, WrongResultError
from tilewright.codegen.source import c_source
from tilewright.runtime.call import address, addresses
from tilewright.runtime.toolchains.artifact import Artifact, open_library
from tilewright.runtime.toolchains.cpu import shared_object
from tilewright.runtime.workers.worker import set_limit
from tilewright.workloads.annotated.lower.harness import ENTRY

COMPILE_SECONDS = 20.0
COMPILE_BYTES = 2 * 2**30  # what the compilation of one variant may take
_SHARED = ("-fPIC", "-shared", "-w", "-std=gnu17")
_SHARED_CUDA = ("-x", "cu", "-Xcompiler", "-fPIC", "-shared", "-w", "-std=c++17", "-Drestrict=__restrict__")
_ROUNDINGS = 4096.0
_NOISE = 64.0
_STACK = 2**30
_SPREADS = ((-2.0, 8.0), (0.5, 8.0))
"""Ranges of wide inputs: some numbers are negative, sums stay away from 0; without roots of negative numbers else."""
_LARGEST = 100  # whole numbers of wide inputs are below this; the smallest type holds them


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionInput:
    """An input of a region."""

    name: str
    dtype: str  # NumPy's name
    extents: tuple[int, ...] = ()  # empty for a scalar
    # ``random``, a number for every element, or one per element
    init: "str | float | int | tuple[float | int, ...]" = "random"
    wide: bool = False  # whether it may begin with any numbers: nothing chooses elements or bounds loops by it

    @property
    def nbytes(self) -> int:
        """Its size."""
        return np.dtype(self.dtype).itemsize * math.prod(self.extents)


def build(command: Sequence[str], text: str, seconds: float = COMPILE_SECONDS) -> Artifact[None]:
    """Compile a unit of a function ``tw_run(pointers)`` that returns its seconds."""
    cuda = PurePath(command[0]).name == "nvcc"
    unit = f'extern "C" double {ENTRY}(void **);\n{text}' if cuda else text  # nvcc reads C++
    options = (*command, *(_SHARED_CUDA if cuda else _SHARED))
    content = shared_object(options, unit, seconds=seconds, hint="", memory=COMPILE_BYTES)
    return Artifact(source=c_source(text, ENTRY), content=content, command=tuple(command))


class _Bench:
    """The inputs of a region, and what its original body makes of them."""

    def __init__(
        self, inputs: Sequence[RegionInput], start: "list[npt.NDArray[Any]]", work: "list[npt.NDArray[Any]]"
    ) -> None:
        self.inputs = tuple(inputs)
        self.start = start
        self.work = work
        self.expected: list[npt.NDArray[Any]] = []
        self.bounds: list[float] = []

    def run(self, function: Any) -> float:  # noqa: ANN401
        for target, source in zip(self.work, self.start, strict=True):
            np.copyto(target, source)
        pointers = addresses(self.work)
        return float(function(address(pointers)))

    def expect(self, reference: Any, second: Any) -> bool:  # noqa: ANN401
        """Keep what the file's own text makes, and how far two builds of it differ; return whether it is finite."""
        self.run(reference)
        self.expected = [array.copy() for array in self.work]
        self.run(second)
        self.bounds = [
            tolerance(each, got, original)
            for each, got, original in zip(self.inputs, self.work, self.expected, strict=True)
        ]
        return all(bool(np.isfinite(each).all()) for each in (*self.expected, *self.work))

    def compare(self) -> None:
        for each, bound, got, original in zip(self.inputs, self.bounds, self.work, self.expected, strict=True):
            difference = distance(got, original)
            if not difference <= bound:
                raise WrongResultError(
                    f"{each.name!r} differs from the original body's by {difference:.3g}, above {bound:.3g}"
                )


_bench: list[_Bench] = []


def make_input(each: RegionInput, rng: np.random.Generator, inputs: Sequence[RegionInput]) -> npt.NDArray[Any]:
    """Return an input's first values as an array of at least one dimension."""
    shape = each.extents or (1,)
    dtype = np.dtype(each.dtype)
    if isinstance(each.init, tuple):
        values = np.zeros(int(np.prod(shape)), dtype=dtype)
        values[: len(each.init)] = each.init[: values.size]
        return values.reshape(shape)
    if each.init != "random":
        return np.full(shape, each.init, dtype=dtype)
    if dtype.kind == "f":
        # Away from zero: regions divide.
        return rng.uniform(0.5, 1.5, shape).astype(dtype)
    least = min([other.extents[0] for other in inputs if other.extents], default=2)
    return rng.integers(0, max(1, least), shape).astype(dtype)


def distance(got: npt.NDArray[Any], reference: npt.NDArray[Any]) -> float:
    """Return the largest difference of two arrays; infinite if one is not finite where the other is."""
    if got.dtype.kind != "f":
        return float(np.max(np.abs(got.astype(np.float64) - reference.astype(np.float64)), initial=0.0))
    finite = np.isfinite(reference)
    if not np.array_equal(finite, np.isfinite(got)):
        return float("inf")
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(np.where(finite, got - reference, 0.0)), initial=0.0))


def wide_input(
    each: RegionInput, start: npt.NDArray[Any], rng: np.random.Generator, spread: tuple[float, float]
) -> npt.NDArray[Any]:
    """Return first values of an input from a wider range, or its own where elements are chosen by it.

    Whole numbers are positive, since regions divide by them.
    """
    if not each.wide:
        return start
    if start.dtype.kind == "f":
        return rng.uniform(*spread, start.shape).astype(start.dtype)
    return rng.integers(1, _LARGEST, start.shape).astype(start.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """Shared objects of what a region is before it is transformed."""

    timed: Artifact[None]  # the original body as it was read
    reference: Artifact[None]  # the file's own text, which everything is compared with
    second: Artifact[None]  # another build of that; the difference is the noise of the problem
    initial: Artifact[None] | None  # code that gives the inputs their first values, or None


def prepare(
    originals: Originals, inputs: Sequence[RegionInput], seed: int, repeats: int, seconds: float
) -> tuple[list[float], bool, bool]:
    """Run the file's own text and keep what it makes; in a worker, until all repeats or ``seconds`` are over."""
    set_limit("RLIMIT_STACK", _STACK)
    _bench.clear()
    try:
        rng = np.random.default_rng(seed)
        start = [make_input(each, rng, inputs) for each in inputs]
        bench = _Bench(inputs, start, [np.empty_like(array) for array in start])
    except MemoryError:
        raise ArrayError("there is not enough memory for the inputs") from None
    if originals.initial is not None:
        bench.run(_load(originals.initial))
        for target, source in zip(bench.start, bench.work, strict=True):
            np.copyto(target, source)
    function, own, other = _load(originals.timed), _load(originals.reference), _load(originals.second)
    finite = bench.expect(own, other)
    _bench.append(bench)
    if any(each.wide for each in inputs):
        for spread in _SPREADS:
            wider = [wide_input(each, first, rng, spread) for each, first in zip(inputs, bench.start, strict=True)]
            broad = _Bench(inputs, wider, bench.work)
            if broad.expect(own, other):
                _bench.append(broad)
                break
    for each in _bench:
        each.run(function)
        each.compare()
    samples: list[float] = []
    warm = bench.run(function)
    while len(samples) < max(1, repeats) and (not samples or sum(samples) + warm < seconds):
        samples.append(bench.run(function))
    return samples, finite, len(_bench) > 1


def tolerance(each: RegionInput, got: npt.NDArray[Any], reference: npt.NDArray[Any]) -> float:
    """Return by how much a variant may differ: some thousand roundings of the largest element, and the noise."""
    if np.dtype(each.dtype).kind != "f":
        return 0.0
    finite = reference[np.isfinite(reference)]
    largest = float(np.max(np.abs(finite), initial=0.0))
    noise = distance(got, reference)
    noise = noise if np.isfinite(noise) else 0.0
    return float(np.finfo(each.dtype).eps) * _ROUNDINGS * largest + _NOISE * noise


def trial(variant: Artifact[None], repeats: int, seconds: float) -> list[float]:
    """Run a variant, compare, and time it for ``seconds`` at most; in the worker that ran :func:`prepare`."""
    if not _bench:
        raise ArrayError("the original body was not run before")
    bench = _bench[0]
    function = _load(variant)
    for wider in _bench[1:]:
        wider.run(function)
        wider.compare()
    first = bench.run(function)
    bench.compare()
    if first > seconds:
        return [first]
    samples: list[float] = []
    while not samples or (len(samples) < repeats and sum(samples) < seconds):
        samples.append(bench.run(function))
    bench.compare()
    return samples


def _load(artifact: Artifact[None]) -> Any:  # noqa: ANN401
    function = getattr(open_library(artifact.content), artifact.source.entry)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_void_p]
    return function

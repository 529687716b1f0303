"""Seconds and joules of matrix products: from a machine's data, or from this machine's own measured times.

Times are measured when asked for, kept with the kernels, never on the side.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated

import numpy as np

from tilewright.base.documents import Check, decode_json, parse
from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.costs.arrays import Floats
from tilewright.costs.breakdown import Times
from tilewright.machines.machine import Machine
from tilewright.runtime import cache
from tilewright.runtime.host import cpu_features, describe_cpu
from tilewright.runtime.memory import Array
from tilewright.runtime.store import folder as store
from tilewright.runtime.toolchains.cpu import compiler_identity
from tilewright.workloads.chains.fused import DTYPES, block_sizes, fused_product, host_blocking
from tilewright.workloads.chains.problem import operation_count
from tilewright.workloads.chains.traffic import best_block

_REGISTER_BLOCK = 8
"""Rows and columns that a kernel multiplies in registers: a multiply-add reads 2 / 8 words of shared memory."""
_FRESH_BYTES = 2**25
"""Results from this size on get new pages from the system every time, where smaller ones use freed memory again."""
_REWEIGHTED = 30
_NEAR = 0.02  # relative errors below this count as squares
_DESCENTS = 5000
_VERSION = 3
_SINGLE = (
    (2, 2, 2), (16, 16, 16), (100, 100, 100), (300, 300, 300), (900, 900, 900), (1500, 700, 1100), (400_000, 16, 6),
    (600_000, 6, 16), (200_000, 32, 12), (300_000, 12, 32), (100_000, 64, 24), (100_000, 24, 64), (40_000, 200, 80),
    (40_000, 80, 200), (6, 16, 400_000), (16, 6, 400_000), (64, 24, 100_000), (24, 64, 100_000), (200, 80, 40_000),
    (16, 400_000, 16), (64, 100_000, 32), (2000, 2000, 4), (4, 2000, 2000), (2000, 4, 2000), (2000, 40, 2000),
)  # fmt: skip
_FUSED = (
    (8, 8, 8, 8), (100, 100, 100, 100), (500, 500, 500, 500), (1200, 500, 900, 700), (1400, 1400, 1400, 1400),
    (600_000, 16, 6, 16), (300_000, 32, 12, 32), (100_000, 64, 24, 64), (40_000, 200, 80, 200), (400_000, 4, 16, 4),
    (10_000, 900, 200, 900), (2000, 4, 2000, 4), (2000, 40, 2000, 40), (20_000, 100, 1000, 100),
    (12, 32, 12, 200_000), (64, 128, 50, 60_000), (50, 1000, 2000, 50), (16, 100_000, 16, 16), (16, 16, 16, 100_000),
)  # fmt: skip
"""P0 … P3 of left fusions; right ones are measured in reverse."""
_REPEATS = 3
_ROUNDS = 4
_PAUSE = 0.1  # seconds after which the array library's idle threads have gone to sleep
_SHORTEST = 2e-4  # calls shorter than this are timed several at a time
TERMS = {
    "none": ("calls", "multiply_adds", "left_words", "right_words", "result_words", "fresh_words"),
    "fused": ("calls", "multiply_adds", "streamed_words", "packed_words", "result_words", "kept_words", "fresh_words"),
}
"""What the time of a product, and of a fused pair, is a sum of: a coefficient in seconds per unit for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a machine does per second and joule, for one element type."""

    machine: str
    operations: float  # multiply-adds per second
    words: float  # words per second between memory and chip
    call: float  # seconds per node
    watts: float | None  # static power; None where nobody determined it
    word_joules: float | None  # joules per word moved
    operation_joules: float | None  # joules per multiply-add, with its words from shared memory
    notes: tuple[str, ...]  # where the numbers come from

    @property
    def metered(self) -> bool:
        """Whether all energies are known."""
        return None not in (self.watts, self.word_joules, self.operation_joules)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCost(Times[float]):
    """Seconds and joules of a tree on a machine."""

    static_joules: float  # static power times seconds
    dynamic_joules: float  # multiply-adds and words moved

    @property
    def joules(self) -> float:
        """Static and dynamic joules."""
        return self.static_joules + self.dynamic_joules

    def to_dict(self) -> dict[str, object]:
        """Return the seconds and the joules as plain data."""
        return {name: getattr(self, name) for name in ("seconds", "static_joules", "dynamic_joules", "joules")}


def machine_rates(machine: Machine, itemsize: int) -> Rates:
    """Return what a machine does, by its data.

    One multiply-add per lane and cycle on a GPU; on a CPU as many as ``flop_cycles`` says. A word of ``itemsize`` bytes
    costs as much energy as ``itemsize / 4`` of the machine file's 4-byte words.
    """
    lanes = machine.sm_count.value * machine.vector_width.value * (1.0 if itemsize <= 4 else machine.fp64_ratio.value)
    cycles = 1.0 if machine.kind == "gpu" else 2 * machine.flop_cycles.value
    word = machine.global_word_joules
    parts = (machine.add_joules, machine.multiply_joules, machine.shared_word_joules)
    add, multiply, shared = (None if part is None else part.value for part in parts)
    scale = itemsize / 4
    operation = None
    if add is not None and multiply is not None and shared is not None:
        operation = (add + multiply + 2 / _REGISTER_BLOCK * shared) * scale
    sources = {
        name: getattr(machine, name) for name in ("dram_bandwidth", "static_watts", "global_word_joules", "add_joules")
    }
    return Rates(
        machine=machine.name,
        operations=lanes * machine.clock.value / cycles,
        words=machine.dram_bandwidth.value / itemsize,
        call=machine.launch_seconds.value,
        watts=None if machine.static_watts is None else machine.static_watts.value,
        word_joules=None if word is None else word.value * scale,
        operation_joules=operation,
        notes=tuple(f"{name}: {q.source}" for name, q in sources.items() if q is not None),
    )


def times(rates: Rates, operations: Floats, words: Floats) -> Times[Floats]:
    """Return what nodes take: every one the longer of its arithmetic and its traffic."""
    arithmetic = operations / rates.operations
    excess = np.maximum(words / rates.words - arithmetic, 0.0)
    terms = {"arithmetic": arithmetic, "transfers": excess, "calls": np.full(np.shape(arithmetic), rates.call)}
    return Times(terms=terms)


def joules(rates: Rates, operations: Floats, words: Floats) -> tuple[Floats, Floats]:
    """Return static and dynamic joules of nodes."""
    if rates.watts is None or rates.word_joules is None or rates.operation_joules is None:
        raise UsageError(
            f"the machine {rates.machine!r} has no energy figures",
            "k20c has the thesis's; a machine file may give others",
        )
    static = rates.watts * times(rates, operations, words).seconds
    return static, rates.word_joules * words + rates.operation_joules * operations


def energy(rates: Rates, nodes: Sequence[tuple[float, float]]) -> ChainCost:
    """Return what a tree costs whose nodes are given as (multiply-adds, words)."""
    operations, words = (np.array(column, dtype=np.float64) for column in zip(*nodes, strict=True))
    static, dynamic = joules(rates, operations, words)
    return ChainCost(
        terms={name: float(term.sum()) for name, term in times(rates, operations, words).terms.items()},
        static_joules=float(static.sum()),
        dynamic_joules=float(dynamic.sum()),
    )


def _numbers(count: int) -> Check:
    return Check(f"{count} numbers", lambda values: len(values) == count and all(0 <= each < 1e6 for each in values))


_Single = Annotated[tuple[float, ...], _numbers(len(TERMS["none"]))]
_Fused = Annotated[tuple[float, ...], _numbers(len(TERMS["fused"]))]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTimes:
    """How long products take on this machine, as a sum of :data:`TERMS` with one coefficient each."""

    single: _Single  # coefficients of one product by the array library, seconds per unit
    left: _Fused  # coefficients of a left fusion by our kernel
    right: _Fused  # coefficients of a right fusion by our kernel
    itemsize: int  # bytes per element
    # ``measured`` or, never in a file, ``estimated``
    source: Annotated[str, Check("measured", lambda value: value == "measured")]
    spread: float = 0.0  # median of the fit's absolute relative errors; 0 where nothing was measured

    def times(self, fusion: str, p: Sequence[Floats], tile: tuple[Floats, Floats]) -> Times[Floats]:
        """Return what nodes of one kind take."""
        weights = {"none": self.single, "left": self.left, "right": self.right}[fusion]
        names, each = TERMS["none" if fusion == "none" else "fused"], host_terms(fusion, p, tile, self.itemsize)
        triples = zip(names, weights, each, strict=True)
        return Times(terms={name: np.asarray(weight * term) for name, weight, term in triples})


def host_terms(fusion: str, p: Sequence[Floats], tile: tuple[Floats, Floats], itemsize: int) -> tuple[Floats, ...]:
    """Return the :data:`TERMS` of nodes of one kind.

    A left fusion streams A1 and keeps A2 and A3 packed; a right one streams A3 and keeps A1 and A2. R is written once,
    and read and written again for every further pass over the intermediate.
    """
    unit = np.ones(np.shape(p[0]))
    work, result = operation_count(fusion, p), p[0] * p[-1]
    fresh = np.where(result * itemsize >= _FRESH_BYTES, result, 0.0)
    if fusion == "none":
        return unit, work, p[0] * p[1], p[1] * p[2], result, fresh
    if fusion == "left":
        streamed = p[0] * p[1]
        packed, passes, intermediate = p[2] * (p[1] + p[3]), np.ceil(p[2] / tile[1]), p[0] * p[2]
    else:
        streamed = p[2] * p[3]
        packed, passes, intermediate = p[1] * (p[0] + p[2]), np.ceil(p[1] / tile[0]), p[1] * p[3]
    return unit, work, streamed, packed, result * (2 * passes - 1), intermediate, fresh


def estimated_times(rates: Rates, itemsize: int) -> HostTimes:
    """Return times made from a machine's data alone: BLAS at 0.7 of the arithmetic peak, our kernel at 0.45."""
    word = 1 / rates.words
    fused = (5 * rates.call, 1 / (0.45 * rates.operations), word, 3 * word, 2 * word, 0.2 * word, word)
    return HostTimes(
        single=(rates.call, 1 / (0.7 * rates.operations), word, word, 2 * word, word),
        left=fused,
        right=fused,
        itemsize=itemsize,
        source="estimated",
    )


def fit(samples: Sequence[tuple[tuple[float, ...], float]]) -> tuple[tuple[float, ...], float]:
    """Fit coefficients of at least 0 to measured seconds by least absolute relative errors; also return their median.

    Absolute errors, since a few sizes on which a library does badly must not spoil the others.

    >>> weights, spread = fit([((1.0, 2.0), 5.0), ((1.0, 4.0), 9.0), ((1.0, 0.0), 1.0)])
    >>> [round(weight, 6) for weight in weights], spread < 1e-6
    ([1.0, 2.0], True)
    """
    terms = np.array([sample[0] for sample in samples], dtype=np.float64)
    if terms.shape[0] < terms.shape[1]:
        raise UsageError(f"a fit of {terms.shape[1]} coefficients needs as many samples, got {terms.shape[0]}")
    terms = terms / np.array([[sample[1]] for sample in samples])
    scale = np.maximum(np.linalg.norm(terms, axis=0), 1e-300)
    unit = terms / scale
    trust, weights = np.ones(len(samples)), np.zeros(unit.shape[1])
    for _ in range(_REWEIGHTED):
        weights = _least_squares(unit, trust, weights)
        trust = 1 / np.maximum(np.abs(unit @ weights - 1.0), _NEAR)
    return tuple((weights / scale).tolist()), float(np.median(np.abs(unit @ weights - 1.0)))


def _least_squares(unit: Floats, trust: Floats, start: Floats) -> Floats:
    """Minimise the trusted squares of ``unit @ weights - 1`` over weights of at least 0, by coordinate descent."""
    gram, target = unit.T @ (trust[:, None] * unit), unit.T @ trust
    weights = start.copy()
    for _ in range(_DESCENTS):
        before = weights.copy()
        for i in range(weights.size):
            weights[i] = max(0.0, weights[i] + (target[i] - gram[i] @ weights) / max(gram[i, i], 1e-300))
        if np.allclose(weights, before, rtol=1e-10, atol=0.0):
            break
    return weights


def memory_words(itemsize: int) -> int:
    """Return the words that a fused kernel keeps on chip: half of a core's L2 cache, the other half for streams.

    >>> memory_words(4) >= memory_words(8) > 0
    True
    """
    return max(1024, describe_cpu().l2_bytes // 2 // itemsize)


def stored(dtype: str, threads: int) -> HostTimes | None:
    """Return what :func:`calibrate` measured on this machine before, or None."""
    text = cache.load_text(store.directory(), _key(dtype, threads))
    if text is None:
        return None
    try:
        return parse(HostTimes, decode_json(text, "the times"), "the times", complete=True)
    except UsageError:
        return None


def calibrate(dtype: str, threads: int) -> HostTimes:
    """Measure products and fused pairs of some 60 sizes, fit their times, and keep them. Takes half a minute.

    Everything is measured in several rounds, and the least of each taken, so that a moment in which the machine did
    something else does not speak against one of the two. The array library uses threads of its own.
    """
    if dtype not in DTYPES:
        raise UsageError(f"fused products compute in {' or '.join(DTYPES)}, got {dtype!r}")
    rounds = [_round(dtype, threads) for _ in range(_ROUNDS)]
    kinds = zip(*rounds, strict=True)  # of nodes, each with the samples of every round
    fits = [fit([min(samples, key=itemgetter(1)) for samples in zip(*each, strict=True)]) for each in kinds]
    weights, spread = zip(*fits, strict=True)
    fields = dict(zip(("single", "left", "right"), weights, strict=True), itemsize=np.dtype(dtype).itemsize)
    times = HostTimes(**fields, source="measured", spread=max(spread))
    cache.save_text(store.directory(), _key(dtype, threads), json.dumps(dataclasses.asdict(times)))
    return times


def _key(dtype: str, threads: int) -> str:
    return f"chain-times-{fingerprint(_VERSION, dtype, threads, cpu_features(), compiler_identity(), np.__version__)}"


Sample = tuple[tuple[float, ...], float]


def _round(dtype: str, threads: int) -> tuple[list[Sample], list[Sample], list[Sample]]:
    """Measure every product, every left and every right fusion once."""
    rng = np.random.default_rng(0)
    single = [_single_sample(rng, p, dtype) for p in _SINGLE]
    time.sleep(_PAUSE)
    left, right = ([_fused_sample(rng, p, dtype, fusion, threads) for p in _FUSED] for fusion in ("left", "right"))
    return single, left, right


def _single_sample(rng: np.random.Generator, p: tuple[int, int, int], dtype: str) -> Sample:
    left, right = (rng.standard_normal(p[i : i + 2]).astype(dtype) for i in (0, 1))
    return _row("none", p, (1, 1), left.itemsize), _least_seconds(lambda: left @ right)


def _fused_sample(rng: np.random.Generator, p: tuple[int, ...], dtype: str, fusion: str, threads: int) -> Sample:
    four = p if fusion == "left" else p[::-1]
    a1, a2, a3 = (rng.standard_normal(four[i : i + 2]).astype(dtype) for i in (0, 1, 2))
    tile = kernel_tile(fusion, (four[0], four[1], four[2], four[3]), a1.itemsize, threads)
    seconds = _least_seconds(lambda: fused_product(fusion, (a1, a2, a3), tile, threads, host_blocking()))
    return _row(fusion, four, tile, a1.itemsize), seconds


def kernel_tile(fusion: str, p: tuple[int, int, int, int], itemsize: int, threads: int) -> tuple[int, int]:
    """Return the tile that a fused kernel runs with here: the least words for the memory of a core."""
    x, y = best_block(fusion, [np.array([float(size)]) for size in p], memory_words(itemsize))
    return block_sizes(fusion, p, (int(x[0]), int(y[0])), threads)


def _row(fusion: str, p: tuple[int, ...], tile: tuple[int, int], itemsize: int) -> tuple[float, ...]:
    columns = [np.array([float(size)]) for size in (*p, *tile)]
    row = host_terms(fusion, columns[:-2], (columns[-2], columns[-1]), itemsize)
    return tuple(float(term[0]) for term in row)


def _least_seconds(call: Callable[[], Array]) -> float:
    """Return the least seconds of a call, after one that warms up: what it takes undisturbed."""
    begin = time.perf_counter()
    call()
    count = max(1, min(100, int(_SHORTEST / max(time.perf_counter() - begin, 1e-7))))
    samples = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        samples.append((time.perf_counter() - begin) / count)
    return min(samples)

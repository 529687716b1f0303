"""How vector kernels run here: what tuning found, kept between processes, and what is assumed before."""

import functools
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Protocol

from tilewright.base.documents import Check, parse
from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.runtime.host import cpu_features, describe_cpu, thread_count
from tilewright.runtime.store import folder as store
from tilewright.runtime.toolchains.cpu import compiler_identity
from tilewright.sparse.lower.vectors import VectorKernel

_FILE = "vectors.jsonl"
_VERSION = 1
_NEAR = 2.0  # what was tuned for a length holds for lengths up to this many times 2 away, in powers
REGISTERS = (1, 2, 4, 8)  # registers of elements per iteration that are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelChoice:
    """How a kernel runs."""

    vectors: int  # registers of elements per iteration
    threads: int
    stream: bool  # whether vectors that are only written go past the caches


def assumed(kernel: VectorKernel, length: int, itemsize: int, threads: int) -> KernelChoice:
    """Return what is reasonable without having measured: threads from 256 KiB on, past the caches beyond them."""
    moved = kernel.moved * length * itemsize
    return KernelChoice(
        vectors=4,
        threads=threads if moved >= 2**18 else 1,
        stream=kernel.streams and moved > threads * describe_cpu().l2_bytes,
    )


def variants(kernel: VectorKernel, threads: int) -> tuple[KernelChoice, ...]:
    """Return every way to run a kernel."""
    return tuple(
        KernelChoice(vectors=vectors, threads=count, stream=stream)
        for count in dict.fromkeys((threads, 1))
        for vectors in REGISTERS
        for stream in ((False, True) if kernel.streams else (False,))
    )


class Tuned(Protocol):
    """What choices are kept for: frozen data with a name."""

    @property
    def name(self) -> str:
        """Its name."""


def key(kernel: Tuned, dtype: str, threads: int) -> str:
    """Return what a choice holds for: the kernel, its type, the threads allowed, CPU and compiler."""
    return fingerprint(_VERSION, kernel, dtype, threads, cpu_features(), compiler_identity())


def learned(kernel: Tuned, dtype: str, length: int, threads: int) -> KernelChoice | None:
    """Return what tuning found for this length or the nearest one, or None."""
    tuned = known().choices.get(key(kernel, dtype, threads))
    if not tuned or length < 1:
        return None
    nearest = min(tuned, key=lambda size: abs(math.log2(size / length)))
    return tuned[nearest] if abs(math.log2(nearest / length)) <= _NEAR else None


def keep(kernel: Tuned, dtype: str, length: int, choice: KernelChoice, seconds: float) -> None:
    """Keep a choice for this and later processes."""
    place = store.directory()
    record = {
        "key": key(kernel, dtype, thread_count()),
        "kernel": kernel.name,
        "dtype": dtype,
        "length": length,
        "seconds": seconds,
        **asdict(choice),
    }
    if place is not None:
        store.append(place / _FILE, record)
    known.cache_clear()


@dataclass(frozen=True, slots=True, eq=False)
class KeptChoices:
    """Every choice that was kept: by key, by length. Another object once one is added."""

    choices: Mapping[str, Mapping[int, KernelChoice]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A choice in the store, as far as it is read."""

    key: str
    length: Annotated[int, Check("at least 1", lambda value: value >= 1)]
    vectors: Annotated[int, Check("a number of registers that is tried", lambda value: value in REGISTERS)]
    threads: int
    stream: bool


@functools.cache
def known() -> KeptChoices:
    """Return what tuning has found on this machine; a record that makes no sense is skipped."""
    place = store.directory()
    choices: dict[str, dict[int, KernelChoice]] = {}
    for record in store.read(place / _FILE) if place is not None else []:
        with suppress(UsageError):
            entry = parse(_Kept, record, "a choice", alone=False)
            choice = KernelChoice(vectors=entry.vectors, threads=thread_count(entry.threads), stream=entry.stream)
            choices.setdefault(entry.key, {})[entry.length] = choice
    return KeptChoices(choices)

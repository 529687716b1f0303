"""Micro-benchmarks of single operations on a GPU, for a power meter.

All multiprocessors work at the same time, in calls of some hundredths of a second, so that the way from the host to the
GPU and back does not show.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import sleep
from types import TracebackType
from typing import Any, Self

import numpy as np

from energy.cpu import MicroBenchmark
from energy.estimates import WATTS, benchmarks
from energy.kernels import CHIP_BYTES, CHUNK, OPERANDS, PER_TURN, THREADS, energy_source
from tilewright.base.errors import UsageError
from tilewright.machines.defaults import GpuDescription
from tilewright.runtime.calibration.micro import enough
from tilewright.runtime.devices.device import Device

_CALL_SECONDS = 0.05
_TRIALS = 3
_SLEEP = 0.005
_GROUPS = 4
"""Groups per multiprocessor: four warps for each of its schedulers, of eight operations in flight each."""
_SLICE = 2**22
"""Cells that are made and sent at a time."""
_KERNEL = {"l2": "load", "memory": "load", "memory_store": "store"}
"""Kernels of benchmarks that are not named like them."""
_READING = frozenset({"load", "shared_load"})
"""Kernels that read the large array; all others read their operands."""
_FLOATS = (0.71, -1.33)
_OPERANDS: dict[str, tuple[float, float, float, float]] = {
    "add": (*_FLOATS, -_FLOATS[0], -_FLOATS[1]),
    "awake": (*_FLOATS, -_FLOATS[0], -_FLOATS[1]),
    "multiply": (1.5, 1.25, 1 / 1.5, 1 / 1.25),
    "fma": (-0.75, 0.6, 0.0, 1.1),
    "int_add": (0.0, 0.0, 0.0, 0.0),
    "int_max": (0xAAAAAA, 0x555555, 0xCCCCCC, 0x333333),
    "divide": (1.5, 1 / 1.5, 0.0, 0.0),
}  # fmt: skip
"""What is put in again and again: numbers that keep the results finite and change most of their bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSizes:
    """How much the kernels do.

    Attributes:
        units: Multiprocessors.
        groups: Groups that work.
        shared_groups: Groups that work where each has an array on chip.
        l2_chunks: Pieces of :data:`~energy.kernels.CHUNK` cells that L2 keeps and no L1 does.
        memory_chunks: Pieces that no cache keeps.
        call_seconds: Shortest call.
    """

    units: int
    groups: int
    shared_groups: int
    l2_chunks: int
    memory_chunks: int
    call_seconds: float = _CALL_SECONDS


def sizes_for(told: GpuDescription) -> KernelSizes:
    """Return what suits a device.

    A quarter of L2 (of 4 MiB where the driver does not say), since some GPUs keep lines in both of its halves; eight
    times L2 from memory, from 256 MiB to 1 GiB.

    Raises:
        UsageError: If it is no GPU, or a group finds no room on its chip.
    """
    if not told.gpu:
        raise UsageError(f"{told.name} is no GPU", "a processor is metered with --backend c")
    if 0 < told.block_bytes < CHIP_BYTES:
        raise UsageError(f"a group has {told.block_bytes} bytes on the chip of {told.name}, not {CHIP_BYTES}")
    cache = told.l2_bytes or 2**22
    stream = min(max(8 * cache, 2**28), 2**30, max(told.memory_bytes // 4, 2**24) if told.memory_bytes else 2**28)
    together = max(1, min(_GROUPS, (told.shared_bytes or told.block_bytes or CHIP_BYTES) // CHIP_BYTES))
    groups = _GROUPS * told.units
    return KernelSizes(
        units=told.units,
        groups=groups,
        shared_groups=together * told.units,
        l2_chunks=max(2, cache // 4 // (4 * CHUNK)),
        memory_chunks=max(groups, stream // (4 * CHUNK)),
    )


class GpuBench:
    """The benchmarks of a device, with their kernels and their memory; a context that hands the memory back."""

    def __init__(self, device: Device, sizes: KernelSizes) -> None:
        """Compile the kernels and make their data.

        Args:
            device: The device.
            sizes: How much they do.

        Raises:
            ToolchainError: If they do not compile.
            ArrayError: If the device has not enough memory.
        """
        self._device, self._sizes = device, sizes
        kernels = device.build(energy_source(device.dialect))
        self._kernels = dict(zip(PER_TURN, kernels, strict=True))
        self._buffers: list[Any] = []
        try:
            self._results = self._filled(np.zeros(max(sizes.groups, sizes.shared_groups) * THREADS, np.float32))
            self._operands = {name: self._filled(operands(name)) for name in PER_TURN if name not in _READING}
            self._cells = self._allocated(4 * sizes.memory_chunks * CHUNK)
            self._stream()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hand the memory back."""
        while self._buffers:
            self._device.release(self._buffers.pop())

    def works(self) -> dict[str, MicroBenchmark]:
        """Return every benchmark by name, repeated inside so often that a call takes some hundredths of a second."""
        return {name: self._work(name) for name in benchmarks("gpu")}

    def run(self, benchmark: str, turns: int) -> Callable[[], None]:
        """Return what starts a benchmark's kernel once.

        Args:
            benchmark: One of the benchmarks but ``idle``.
            turns: Turns of its loop.
        """
        kernel = _KERNEL.get(benchmark, benchmark)
        source = self._cells if kernel in _READING else self._operands[kernel]
        target = self._cells if kernel == "store" else self._results
        chunks = self._sizes.l2_chunks if benchmark == "l2" else self._sizes.memory_chunks
        groups = self.groups(benchmark)
        arguments = (target, source, *(np.int32(each) for each in (turns, chunks, groups)))
        return partial(self._device.start, self._kernels[kernel], (groups, THREADS), arguments, 0)

    def groups(self, benchmark: str) -> int:
        """Return how many groups a benchmark starts."""
        if benchmark == "awake":
            return self._sizes.units
        return self._sizes.shared_groups if benchmark.startswith("shared") else self._sizes.groups

    def operations(self, benchmark: str, turns: int) -> float:
        """Return the operations of a call, counted per thread, barriers per group; 0 for powers."""
        if benchmark in WATTS.values():
            return 0.0
        threads = 1 if benchmark == "barrier" else THREADS
        return float(PER_TURN[_KERNEL.get(benchmark, benchmark)] * turns * self.groups(benchmark) * threads)

    def results(self) -> "np.typing.NDArray[np.float32]":
        """Return what every thread kept, in the order of groups and threads."""
        found = np.empty(max(self._sizes.groups, self._sizes.shared_groups) * THREADS, np.float32)
        self._device.read(self._results, 0, found)
        return found

    def _work(self, name: str) -> MicroBenchmark:
        if name == "idle":
            return MicroBenchmark(call=partial(sleep, _SLEEP), operations=0.0)

        def seconds(turns: int) -> float:
            # The least of some: one that another program's kernel held up would make calls too short.
            return min(self._device.timed(self.run(name, turns)) for _ in range(_TRIALS))

        turns = enough(seconds, self._sizes.call_seconds)
        start = self.run(name, turns)

        def call() -> None:
            start()
            self._device.finish()

        return MicroBenchmark(call=call, operations=self.operations(name, turns))

    def _allocated(self, size: int) -> Any:  # noqa: ANN401
        buffer = self._device.allocate(size)
        self._buffers.append(buffer)
        return buffer

    def _filled(self, values: "np.typing.NDArray[np.float32]") -> Any:  # noqa: ANN401
        buffer = self._allocated(values.nbytes)
        self._device.write(buffer, 0, values)
        return buffer

    def _stream(self) -> None:
        """Fill the large array with numbers of either sign, whose sums stay small."""
        total = self._sizes.memory_chunks * CHUNK
        values = np.random.default_rng(1).uniform(-1.0, 1.0, min(total, _SLICE)).astype(np.float32)
        for start in range(0, total, len(values)):
            self._device.write(self._cells, 4 * start, values[: total - start])


def operands(kernel: str) -> "np.typing.NDArray[np.float32]":
    """Return the numbers that a kernel starts from: four that it puts in, eight that change or are stored."""
    begin = np.linspace(1.1, 1.9, OPERANDS - 4)
    if kernel.startswith("int"):
        begin = np.floor(begin * 2**22)
    return np.concatenate([_OPERANDS.get(kernel, (0.0,) * 4), begin]).astype(np.float32)

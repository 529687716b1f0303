"""A run on a GPU, whichever driver it is behind: the state in its memory, advanced by launches.

The session knows versions, slots and launches; a :class:`Device` knows buffers, kernels and its driver.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.base.intmath import round_up
from tilewright.base.records import Resources
from tilewright.base.units import format_bytes
from tilewright.codegen.gpu.emit import launches
from tilewright.codegen.gpu.site import DeviceLayout, Launch
from tilewright.codegen.gpu.wrap import wrap_launch
from tilewright.codegen.source import KernelSource
from tilewright.machines.device import GpuDescription
from tilewright.programs.stencil.periodic import Extended
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.devices.arrays import DeviceArray, DeviceView
from tilewright.runtime.memory import Array
from tilewright.runtime.places import place_table, scalar_table
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.schedules.gpu_schedule import GpuSchedule

_ALIGN = 64
"""Slots start at a multiple of so many elements."""


class Device(Protocol):
    """What a session needs of a driver. Offsets and sizes are bytes; calls may return before the device is done."""

    def __hash__(self) -> int:
        """Devices are told apart by identity."""

    @property
    def name(self) -> str:
        """What the device calls itself."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def dialect(self) -> str:
        """The language of its kernels."""

    @property
    def local_bytes(self) -> int:
        """Memory on chip that a group may use."""

    @property
    def memory_bytes(self) -> int:
        """Memory of the device."""

    def describe(self) -> GpuDescription:
        """Say what the driver knows about the device."""

    def build(self, source: KernelSource[Any]) -> Sequence[Any]:
        """Compile a text; returns a handle per kernel. Raises a ToolchainError."""

    @property
    def compiler(self) -> str:
        """The compiler of its kernels, with its version."""

    def resources(self, source: KernelSource[Any]) -> Resources | None:
        """Say what the compiler knows about the code of a text that was built, or None."""

    def allocate(self, size: int) -> Any:  # noqa: ANN401
        """Take memory. Raises an ArrayError."""

    def release(self, buffer: Any) -> None:  # noqa: ANN401
        """Hand memory back."""

    def write(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy a contiguous array in."""

    def read(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy into a contiguous array, when all launches before are done."""

    def copy(self, target: tuple[Any, int], source: tuple[Any, int], size: int) -> None:
        """Copy on the device, between two buffers with offsets."""

    def start(self, kernel: Any, threads: tuple[int, int], arguments: Sequence[Any], room: int) -> None:  # noqa: ANN401
        """Start a kernel: groups and threads per group, its arguments (buffers or NumPy scalars), bytes on chip."""

    def timed(self, work: Callable[[], None]) -> float:
        """Run some launches and return the seconds from the first one's start to the last one's end, by events."""

    def finish(self) -> None:
        """Wait until everything is done; raises a ToolchainError if the device failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A problem's kernels on a device.

    Attributes:
        device: The device.
        source: Their text.
        schedule: The tiling they follow.
        kernels: The driver's handles.
        extra: Numbers that every launch gets after its own.
        resources: What the compiler says of their code, or None.
    """

    device: Device
    source: KernelSource[DeviceLayout]
    schedule: GpuSchedule
    kernels: tuple[Any, ...]
    extra: tuple[int, ...] = ()
    resources: Resources | None = None


def compile_source(device: Device, source: KernelSource[DeviceLayout], schedule: GpuSchedule) -> Artifact[DeviceLayout]:
    """Compile a source for a device, or find what an earlier run made of it; OpenCL's drivers do it while they load.

    Raises:
        ArrayError: If a group needs more memory on chip than the device has.
        ToolchainError: If it does not compile.
    """
    if source.shared_bytes > device.local_bytes:
        raise ArrayError(
            f"a tile of {str(schedule.tiling)!r} needs {format_bytes(source.shared_bytes)} on chip, {device.name} has "
            f"{format_bytes(device.local_bytes)}",
            "take a smaller tile",
        )
    needs = device.resources(source)
    if needs is not None:
        needs = replace(needs, shared_bytes=source.shared_bytes)
    return Artifact(source=source, resources=needs)


def load(device: Device, artifact: Artifact[DeviceLayout], schedule: GpuSchedule) -> Program:
    """Make compiled kernels ready to be started.

    Raises:
        ToolchainError: If they do not load.
    """
    kernels = tuple(device.build(artifact.source))
    return Program(
        device=device, source=artifact.source, schedule=schedule, kernels=kernels, resources=artifact.resources
    )


def program_of(device: Device, source: KernelSource[DeviceLayout], schedule: GpuSchedule) -> Program:
    """Compile a source and load it, see :func:`compile_source` and :func:`load`."""
    return load(device, compile_source(device, source, schedule), schedule)


class GpuSession:
    """A problem in a device's memory; used like :class:`tilewright.runtime.session.Session`."""

    def __init__(self, program: Program, problem: Problem, inputs: Inputs, halo: Extended | None = None) -> None:
        """Take memory and copy the first versions in.

        Args:
            program: The kernels.
            problem: The problem.
            inputs: Arrays and scalars; they are only read. An array may lie on the device.
            halo: Periodic copies around the grid, or None.

        Raises:
            ArrayError: If there is not enough memory.
        """
        self.problem = problem
        self.steps = 0
        """Steps done so far."""
        self._program, self._halo = program, halo
        self._whole = problem if halo is None else halo.problem
        self._dtype = np.dtype(problem.dtype)
        self._slot = round_up(self._whole.cells, _ALIGN)
        self._version = 0
        self._exact = 0 if halo is None else halo.problem.steps
        self._buffers: list[Any] = []
        self._tables: list[Any] = []
        self._first = self._begun = inputs.first
        sizes = [copies * self._slot * self._dtype.itemsize for copies in program.source.layout.copies]
        if sum(sizes) > program.device.memory_bytes:
            raise ArrayError(
                f"this run needs {format_bytes(sum(sizes))}, {program.device.name} has "
                f"{format_bytes(program.device.memory_bytes)}",
                "use a smaller grid or a smaller dtype",
            )
        try:
            for size in sizes:
                self._buffers.append(program.device.allocate(size))
            self._scalars = inputs.scalars
            self._take_tables(inputs.first + problem.steps)
            self._fixed = self._arguments(inputs.scalars)
            self._fill(inputs)
        except BaseException:
            self.close()
            raise

    def advance(self, steps: int, *, last: bool = False) -> None:  # noqa: ARG002  (the CPU's sessions use it)
        """Start computing further steps; reading waits for them."""
        while steps > 0:
            now = steps
            if self._halo is not None:
                if self._exact == 0:
                    self._refresh()
                    self._exact = self._halo.problem.steps
                now = min(steps, self._exact)
                self._exact -= now
            self._restart()
            self._begun = self._first + self.steps
            if self.problem.varying and self._begun + now > self._known:
                self._take_tables(2 * (self._begun + now))
            for launch in launches(self._whole, self._program.schedule, now):
                self._start(launch)
            self._version += now
            self.steps += now
            steps -= now

    def refill(self, inputs: Inputs) -> None:
        """Copy the first versions in again and begin from step 0.

        Args:
            inputs: Arrays, as those that the session was made with; the scalars stay.
        """
        self._program.device.finish()
        self._version = self.steps = 0
        self._exact = 0 if self._halo is None else self._halo.problem.steps
        self._fill(inputs)

    def timed(self, steps: int) -> float:
        """Compute further steps and return the device's seconds for them."""
        return self._program.device.timed(lambda: self.advance(steps))

    def newest(self, field: str, age: int = 0) -> Array:
        """Copy a field's newest version, or an older one, from the device; read-only."""
        whole = np.empty(self._whole.shape, self._dtype)
        self._program.device.read(self._buffers[self._number(field)], self._offset(field, self._version - age), whole)
        grid = self._grid(whole)
        grid.flags.writeable = False
        return grid

    def put(self, field: str, cell: tuple[int, ...], value: Any) -> None:  # noqa: ANN401
        """Set one cell of a field that no statement updates."""
        place = (
            cell if self._halo is None else tuple(c + low for c, (low, _) in zip(cell, self._halo.around, strict=True))
        )
        index = int(np.ravel_multi_index(place, self._whole.shape))
        at = self._offset(field, 0) + index * self._dtype.itemsize
        self._program.device.write(self._buffers[self._number(field)], at, np.array([value], self._dtype))

    def replace(self, field: str, values: Array) -> None:
        """Set every cell of a field that no statement updates, its periodic copies included."""
        whole = self._surrounded(np.ascontiguousarray(values, dtype=self._dtype))
        self._program.device.write(self._buffers[self._number(field)], self._offset(field, 0), whole)

    def results(self, out: Mapping[str, Array] | None = None, age: int = 0) -> dict[str, Array]:
        """Copy one version of every updated field that keeps it from the device.

        Args:
            out: Arrays to copy into, by field.
            age: Steps before the newest version; fields whose history is shorter are left out.

        Raises:
            ToolchainError: If the device failed.
        """
        found = {}
        for field in self.problem.program.updated:
            if age >= self.problem.program.history(field):
                continue
            values = self.newest(field, age)
            if out is not None:
                np.copyto(out[field], values, casting="same_kind")
                found[field] = out[field]
            else:
                found[field] = np.array(values)
        return found

    def place(self, field: str, age: int = 0) -> tuple[Any, int]:
        """Where a field's newest version, or an older one, lies on the device: buffer and offset in bytes."""
        return self._buffers[self._number(field)], self._offset(field, self._version - age)

    def take(self, field: str) -> tuple[DeviceArray, ...]:
        """Hand over a field's memory as arrays on the device, one per time level; the session is at its end.

        Returns:
            The levels, newest first. They share the memory, which is handed back with the last of them.

        Raises:
            ToolchainError: If the device failed.
        """
        device, shape, dtype = self._program.device, self.problem.shape, self._dtype
        device.finish()
        ages = range(self.problem.program.history(field))
        if self._halo is None:
            buffer, offsets = self.place(field)[0], [self.place(field, age)[1] for age in ages]
            self._buffers[self._number(field)] = None
        else:  # the grid lies between its periodic copies: only the host puts its rows together
            grids = [self.newest(field, age) for age in ages]
            buffer, offsets = (
                device.allocate(sum(grid.nbytes for grid in grids)),
                [age * grids[0].nbytes for age in ages],
            )
            for grid, offset in zip(grids, offsets, strict=True):
                device.write(buffer, offset, np.ascontiguousarray(grid))
            device.finish()
        likeness = DeviceView(pointer=0, shape=shape, dtype=dtype, device=None, owner=None)
        holders = list(ages)

        def free() -> None:
            if holders.pop() == 0:
                device.release(buffer)

        def fetch(offset: int) -> Array:
            values = np.empty(shape, dtype)
            device.read(buffer, offset, values)
            return values

        return tuple(
            DeviceArray((buffer + offset, device.number), likeness, functools.partial(fetch, offset), free)
            for offset in offsets
        )

    def close(self) -> None:
        """Hand the memory back."""
        for buffer in (*self._buffers, *self._tables):
            if buffer is not None:
                self._program.device.release(buffer)
        self._buffers.clear()
        self._tables.clear()

    def _number(self, field: str) -> int:
        return self.problem.program.fields.index(field)

    def _offset(self, field: str, version: int) -> int:
        copies = self._program.source.layout.copies[self._number(field)]
        return version % copies * self._slot * self._dtype.itemsize

    def _grid(self, whole: Array) -> Array:
        if self._halo is None:
            return whole
        spans = zip(self._halo.around, self.problem.shape, strict=True)
        return np.ascontiguousarray(whole[tuple(slice(low, low + extent) for (low, _), extent in spans)])

    def _arguments(self, scalars: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What all launches share: what comes before their numbers, and what comes after."""
        shape = self._whole.shape
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape) - 1)]
        head = (*self._buffers, *map(np.int32, shape), *map(np.int64, strides), np.int64(self._slot))
        varying = self.problem.varying
        rest = tuple(self._dtype.type(scalars[name]) for name in self.problem.program.scalars if name not in varying)
        return head, rest

    def _take_tables(self, steps: int) -> None:
        """Take memory for what kernels look up, if there is anything: numbers of places, and scalars that vary.

        Args:
            steps: Steps from the start of the run for which the scalars are wanted.
        """
        device = self._program.device
        if self._tables:
            device.finish()
            device.release(self._tables.pop())
        self._known = steps
        program, varying = self.problem.program, self.problem.varying
        parts = [place_table(node, self.problem, self._halo) for node in program.placed]
        if varying:
            columns = [program.scalars.index(name) for name in varying]
            parts.append(scalar_table(self.problem, self._scalars, steps)[0][:, columns].ravel())
        if parts:
            whole = np.concatenate(parts).astype(self._dtype)
            self._tables.append(device.allocate(whole.nbytes))
            device.write(self._tables[0], 0, whole)

    def _start(self, launch: Launch) -> None:
        kernel = self._program.source.kernels[launch.kernel]
        head, tail = self._fixed
        looked_up = (*self._tables, *([np.int32(self._begun)] if self.problem.varying else []))
        self._program.device.start(
            self._program.kernels[launch.kernel],
            (launch.groups, kernel.threads),
            (*head, *map(np.int32, (*launch.numbers, *self._program.extra)), *looked_up, *tail),
            kernel.room_bytes,
        )

    def _restart(self) -> None:
        """Bring the versions to the slots where launches from version 0 look for them."""
        copies = self._program.source.layout.copies
        if all(self._version % count == 0 for count in copies):
            self._version = 0
            return
        device, size = self._program.device, self._slot * self._dtype.itemsize
        for field, count in zip(self.problem.program.fields, copies, strict=True):
            if self._version % count == 0:
                continue
            buffer = self._buffers[self._number(field)]
            spare = device.allocate(count * size)
            device.copy((spare, 0), (buffer, 0), count * size)
            for slot in range(count):
                device.copy((buffer, slot * size), (spare, (slot + self._version) % count * size), size)
            device.finish()
            device.release(spare)
        self._version = 0

    def _refresh(self) -> None:
        if self._halo is None:
            return
        number = len(self._program.source.kernels) - 1
        threads = self._program.source.kernels[number].threads
        self._start(wrap_launch(number, threads, self._whole, self._halo.around, self._version))

    def _fill(self, inputs: Inputs) -> None:
        """Copy the first versions in; what a fixed boundary keeps is the same in every version."""
        device, program = self._program.device, self.problem.program
        boxes = {s.field: tuple(slice(*span) for span in self.problem.update_box(s)) for s in program.statements}
        for number, field in enumerate(program.fields):
            given = inputs.arrays[field]
            if any(isinstance(array, DeviceView) for array in given):
                if self._copied(number, given):
                    continue
                given = [self._on_host(array) for array in given]
            values = np.ascontiguousarray(given[0], dtype=self._dtype)
            for slot in range(self._program.source.layout.copies[number]):
                age = -slot % self._program.source.layout.copies[number]
                version = values
                if 0 < age < program.history(field) and field in boxes:
                    version = values.copy()
                    older = given[min(age, len(given) - 1)]
                    version[boxes[field]] = np.asarray(older)[boxes[field]]
                device.write(self._buffers[number], slot * self._slot * self._dtype.itemsize, self._surrounded(version))

    def _copied(self, number: int, given: Sequence[Array]) -> bool:
        """Copy an array on the device into every slot; not where several versions or periodic copies must be mixed."""
        first = given[0]
        if len(given) > 1 or self._halo is not None or not isinstance(first, DeviceView) or first.dtype != self._dtype:
            return False
        device = self._program.device
        for slot in range(self._program.source.layout.copies[number]):
            target = (self._buffers[number], slot * self._slot * self._dtype.itemsize)
            device.copy(target, (first.pointer, 0), first.nbytes)
        return True

    def _on_host(self, array: Array) -> Array:
        if not isinstance(array, DeviceView):
            return array
        values: Array = np.empty(array.shape, array.dtype)
        self._program.device.read(array.pointer, 0, values)
        return values

    def _surrounded(self, values: Array) -> Array:
        """A version with its periodic copies around it."""
        if self._halo is None:
            return values
        result: Array = values
        for axis, ((low, high), extent) in enumerate(zip(self._halo.around, self.problem.shape, strict=True)):
            index = (np.arange(low + extent + high) - low) % extent
            result = np.take(result, index, axis=axis)
        return np.ascontiguousarray(result)

"""A run on a GPU, whichever driver it is behind: the state in its memory, advanced by launches.

The session knows versions, slots and launches; a
:class:`tilewright.runtime.devices.device.Device` knows buffers, kernels and its driver.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from tilewright.base.constants import SECTOR
from tilewright.base.errors import ArrayError
from tilewright.base.intmath import round_up
from tilewright.base.records import Resources
from tilewright.base.units import format_over
from tilewright.codegen.gpu.emit import launches, newest, wrap_launch
from tilewright.codegen.gpu.site import DeviceLayout, Launch, dated
from tilewright.codegen.source import KernelSource
from tilewright.programs.stencil.forms import Extended
from tilewright.programs.stencil.points import Index
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.devices.arrays import DeviceArray
from tilewright.runtime.devices.device import ArrayDevice, Box, Device, DeviceView, Start
from tilewright.runtime.devices.points import DevicePoints
from tilewright.runtime.devices.reductions import Cells, Reductions
from tilewright.runtime.index_tables import index_table, scalar_table
from tilewright.runtime.memory import Array
from tilewright.runtime.session import Inputs, point_tables
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.schedules.code import GpuSchedule

_ALIGN = 64  # slots start at a multiple of so many elements
_GRAPH = 64
"""Launches of a graph, about: starting it costs as much as one of them, so that less than 2 % is left of their cost."""
_TURNS = 3
"""Repetitions that are worth a graph. To record and complete one of n launches is taken to cost as much as 2 n launches
(no driver was timed), and a repetition saves n - 1: r of them pay where r > 2 n / (n - 1), three from four launches."""
_BANDS = 4
"""Multiples of a time tile that are tried as what repeats: bands alternate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceKernels:
    """A problem's kernels on a device."""

    device: Device
    source: KernelSource[DeviceLayout]  # text of the kernels
    schedule: GpuSchedule  # the tiling they follow
    kernels: tuple[Any, ...]  # the driver's handles
    extra: tuple[int, ...] = ()  # numbers that every launch gets after its own
    resources: Resources | None = None  # what the compiler says of their code


@functools.lru_cache(maxsize=64)
def compile_source(device: Device, source: KernelSource[DeviceLayout], schedule: GpuSchedule) -> Artifact[DeviceLayout]:
    """Compile a source for a device, or find what an earlier run made of it; OpenCL's drivers do it while they load."""
    if source.shared_bytes > device.local_bytes:
        needed, available = format_over(source.shared_bytes, device.local_bytes)
        raise ArrayError(
            f"a tile of {str(schedule.tiling)!r} needs {needed} on chip, {device.name} has {available}",
            "take a smaller tile",
        )
    needs = device.resources(source)
    if needs is not None:
        needs = replace(needs, shared_bytes=source.shared_bytes)
    return Artifact(source=source, resources=needs)


@functools.lru_cache(maxsize=64)
def load(device: Device, artifact: Artifact[DeviceLayout], schedule: GpuSchedule) -> DeviceKernels:
    """Make compiled kernels ready to be started."""
    kernels = tuple(device.build(artifact.source))
    return DeviceKernels(
        device=device, source=artifact.source, schedule=schedule, kernels=kernels, resources=artifact.resources
    )


def program_of(device: Device, source: KernelSource[DeviceLayout], schedule: GpuSchedule) -> DeviceKernels:
    """Compile a source and load it, see :func:`compile_source` and :func:`load`."""
    return load(device, compile_source(device, source, schedule), schedule)


def slot_elements(shape: Sequence[int]) -> int:
    """Return the elements from one version of a field to the next one, of a grid with these extents in memory."""
    return round_up(math.prod(shape), _ALIGN)


def memory_shape(whole: Problem, schedule: GpuSchedule) -> tuple[int, ...]:
    """Return the extents in memory of a grid with its copies: with streaming tiles, rows start where vectors may."""
    *outer, last = whole.shape
    unit = SECTOR // whole.itemsize if outer and schedule.tiling.family.streams else 1
    return (*outer, round_up(last, unit))


def repeated_steps(whole: Problem, schedule: GpuSchedule, copies: Sequence[int], steps: int) -> int:
    """Steps whose launches are repeated as they are, if a run of so many has some; else all of them.

    Versions come to the same slots again, and bands of time tiles begin anew after a multiple of theirs. Where tiles of
    one band reach into the next, cutting there would make more launches.
    """
    ring = math.lcm(*copies)
    least = math.lcm(ring, max(1, schedule.tiling.time))

    def shape(count: int) -> list[tuple[int, int]]:
        return [(each.kernel, each.groups) for each in launches(whole, schedule, count)]

    for unit in range(least, min(_BANDS * least, steps // _TURNS) + 1, least):
        band = shape(unit)
        if newest(whole, schedule, unit) % ring == 0 and shape(2 * unit) == 2 * band:
            return unit * max(1, min(_GRAPH // max(1, len(band)), steps // (_TURNS * unit)))
    return steps


def looked_up(problem: Problem, halo: Extended | None, scalars: Mapping[str, Any], steps: int) -> Array | None:
    """Return what kernels look up in the first ``steps`` steps, if anything: numbers of places, scalars that vary."""
    program, varying = problem.program, problem.varying
    parts = [index_table(node, problem, halo, scalars) for node in program.placed]
    if varying:
        columns = [program.scalars.index(name) for name in varying]
        parts.append(scalar_table(problem, scalars, steps)[0][:, columns].ravel())
    return np.concatenate(parts).astype(np.dtype(problem.dtype)) if parts else None


class GpuSession:
    """A problem in a device's memory; used like :class:`tilewright.runtime.session.Session`."""

    def __init__(self, program: DeviceKernels, problem: Problem, inputs: Inputs, halo: Extended | None = None) -> None:
        self.problem = problem
        self.steps = 0  # steps done so far
        self._program, self._halo = program, halo
        self._whole = problem if halo is None else halo.problem
        self._dtype = np.dtype(problem.dtype)
        self._room = memory_shape(self._whole, program.schedule)
        self._slot = slot_elements(self._room)
        self._version = 0
        self._exact = 0 if halo is None else halo.problem.steps
        self._buffers: list[Any] = []
        self._tables: list[Any] = []
        self._first = self._begun = inputs.first
        self._points: DevicePoints | None = None
        self._graphs: dict[tuple[int, int], Callable[[], None] | None] = {}  # by steps, and the slot they start from
        self._before: dict[str, tuple[Any, ...]] = {}
        self._device = program.device
        every: list[Any] = [each for versions in inputs.arrays.values() for each in versions]
        views = [each for each in every if isinstance(each, DeviceView)]
        if views:
            self._device = self._arrays.following(views)
        sizes = [copies * self._slot * self._dtype.itemsize for copies in program.source.layout.copies]
        if sum(sizes) > program.device.memory_bytes:
            needed, available = format_over(sum(sizes), program.device.memory_bytes)
            raise ArrayError(
                f"this run needs {needed}, {program.device.name} has {available}",
                "use a smaller grid or a smaller dtype",
            )
        try:
            for size in sizes:
                self._buffers.append(self._device.allocate(size))
            self._scalars = inputs.scalars
            self._take_tables(inputs.first + problem.steps)
            self._fixed = self._arguments(inputs.scalars)
            self._fill(inputs)
            tables = point_tables(problem, inputs, halo, look=self.at)
            if tables is not None:
                self._points = DevicePoints(self._device, tables, self._dtype.itemsize)
        except BaseException:
            self.close()
            raise

    def advance(self, steps: int, *, last: bool = False) -> None:  # noqa: ARG002  (the CPU's sessions use it)
        """Start computing further steps; reading waits for them, and so does what receivers recorded."""
        if self._points is None:
            self._go_on(steps)
            return
        while steps > 0:
            now, first = min(steps, self._points.most), self._first + self.steps
            self._points.begin(first, now)
            self._go_on(now)
            self._points.end(first, now)
            steps -= now

    def _go_on(self, steps: int) -> None:
        while steps > 0:
            now = steps
            if self._halo is not None:
                if self._exact == 0:
                    self._refresh()
                    self._exact = self._halo.problem.steps
                now = min(steps, self._exact)
                self._exact -= now
            if not self._program.schedule.tiling.family.streams:
                self._restart()
            self._begun = self._first + self.steps
            if self.problem.varying and self._begun + now > self._known:
                self._take_tables(2 * (self._begun + now))
            portion = now
            if not dated(self.problem):  # else kernels are told where a run is, so that no launch is repeated
                portion = repeated_steps(self._whole, self._program.schedule, self._program.source.layout.copies, now)
            for _ in range(now // portion):
                self._band(portion, repeated=portion < now)
            if now % portion:
                self._band(now % portion)
            self.steps += now
            steps -= now

    def _band(self, steps: int, *, repeated: bool = False) -> None:
        """Start the launches of some steps; those that were started before from the same slot are one graph."""
        schedule = self._program.schedule
        slot = self._version % math.lcm(*self._program.source.layout.copies)
        graph = self._graphs.get((steps, slot))
        if graph is None:
            starts = [self._call(launch) for launch in launches(self._whole, schedule, steps, slot)]
            if (repeated or (steps, slot) in self._graphs) and len(starts) > 1 and not dated(self.problem):
                graph = self._graphs[steps, slot] = self._device.recorded(starts)
            if graph is None:
                for each in starts:
                    self._device.start(*each)
        if graph is not None:
            graph()
        else:
            self._graphs.setdefault((steps, slot), None)
        self._version = newest(self._whole, schedule, steps, slot)

    def refill(self, inputs: Inputs) -> None:
        """Copy the first versions in again and begin from step 0; the scalars stay."""
        self._device.finish()
        self._version = self.steps = 0
        self._exact = 0 if self._halo is None else self._halo.problem.steps
        self._fill(inputs)

    def timed(self, steps: int) -> float:
        """Compute further steps and return the device's seconds for them."""
        return self._device.timed(lambda: self.advance(steps))

    def at(self, field: str, cells: Index) -> Array:
        """Copy the newest version of some cells, by their numbers in the grid, from the device."""
        if not self._plain:
            low = [each for each, _ in self._halo.around] if self._halo else [0] * len(self.problem.shape)
            coordinates = np.unravel_index(cells, self.problem.shape)
            indices = tuple(place + more for place, more in zip(coordinates, low, strict=True))
            cells = np.ravel_multi_index(indices, self._room)
        offset = self._offset(field, self._version) // self._dtype.itemsize
        return self._reductions.at(Cells(self._buffers[self._number(field)], offset, math.prod(self._room)), cells)

    def finite(self) -> bool:
        """Whether every value of the updated fields' newest versions is finite; found on the device."""
        return all(self._reduced(field, self._reductions.largest) < math.inf for field in self.problem.program.updated)

    def keep(self) -> None:
        """Copy every version that the next step reads, on the device, to compare with and to start anew from."""
        self._drop()
        program = self.problem.program
        try:
            for field in program.updated:
                self._before[field] = ()
                for age in range(program.history(field)):
                    self._before[field] += (self._copy_of(field, age),)
        except ArrayError:
            self._drop()
            raise

    def kept(self) -> dict[str, tuple[Array, ...]]:
        """Copy from the device what :meth:`keep` kept, newest first."""
        versions = {}
        for field, buffers in self._before.items():
            grids = tuple(np.empty(self.problem.shape, self._dtype) for _ in buffers)
            for buffer, grid in zip(buffers, grids, strict=True):
                self._device.read(buffer, 0, grid)
            versions[field] = grids
        return versions

    def change(self) -> float:
        """Return the largest change of any value since :meth:`keep`; found on the device, in the element type."""

        def changed(field: str) -> float:
            return self._reduced(field, lambda cells: self._reductions.change(cells, self._before[field][0]))

        return max(changed(field) for field in self.problem.program.updated)

    @functools.cached_property
    def _reductions(self) -> Reductions:
        return Reductions(self._program.device, self._device, self.problem.dtype)

    def _reduced(self, field: str, reduction: Callable[[Cells], float]) -> float:
        """Reduce a field's newest version, without what lies in memory around it."""
        count = self.problem.cells
        if self._plain:
            offset = self._offset(field, self._version) // self._dtype.itemsize
            return reduction(Cells(self._buffers[self._number(field)], offset, count))
        buffer = self._copy_of(field, 0)
        try:
            return reduction(Cells(buffer, 0, count))
        finally:
            self._device.release(buffer)

    def _drop(self) -> None:
        """Hand back what was kept."""
        for buffers in self._before.values():
            for buffer in buffers:
                self._device.release(buffer)
        self._before.clear()

    def newest(self, field: str, age: int = 0) -> Array:
        """Copy a field's newest version, or an older one, from the device; read-only."""
        whole = np.empty(self._room, self._dtype)
        self._device.read(self._buffers[self._number(field)], self._offset(field, self._version - age), whole)
        grid = self._grid(whole)
        grid.flags.writeable = False
        return grid

    def replace(self, field: str, values: Array) -> None:
        """Set every cell of a field that no statement updates, its periodic copies included."""
        whole = self._surrounded(np.ascontiguousarray(values, dtype=self._dtype))
        self._device.write(self._buffers[self._number(field)], self._offset(field, 0), whole)

    def results(self, out: Mapping[str, Array] | None = None, age: int = 0) -> dict[str, Array]:
        """Copy the version ``age`` steps before the newest from the device, of every updated field that keeps it."""
        results = {}
        for field in self.problem.program.updated:
            if age >= self.problem.program.history(field):
                continue
            values = self.newest(field, age)
            if out is not None:
                np.copyto(out[field], values, casting="same_kind")
                results[field] = out[field]
            else:
                results[field] = np.array(values)
        return results

    def copied(self, field: str, age: int = 0) -> DeviceArray:
        """Copy a version of a field into memory of its own on the device."""
        buffer = self._copy_of(field, age)
        return self._result(buffer, self._arrays.settle())

    def take(self, fields: Mapping[str, Sequence[int]]) -> dict[str, tuple[DeviceArray, ...]]:
        """Hand over versions of these ages as arrays on the device, each its own memory; the session is at its end."""
        buffers = {}
        for field, ages in fields.items():
            number = self._number(field)
            copies: list[Any] = []
            try:
                for age in ages:
                    copies.append(self._copy_of(field, age))  # noqa: PERF401  (what was taken counts if one fails)
            except ArrayError:  # there is no room beside all the slots
                grids = [np.array(self.newest(field, age)) for age in ages]
                for each in (*copies, self._buffers[number]):
                    self._device.release(each)
                self._buffers[number] = None
                copies = [self._device.allocate(grid.nbytes) for grid in grids]
                for buffer, grid in zip(copies, grids, strict=True):
                    self._device.write(buffer, 0, grid)
            buffers[field] = copies
        self.close()
        ready = self._arrays.settle()
        return {field: tuple(self._result(each, ready) for each in copies) for field, copies in buffers.items()}

    def give(self, field: str, age: int, target: DeviceView) -> None:
        """Copy a version of a field into a caller's array on the device."""
        self._arrays.join([target])
        self._unload(field, age, (target.pointer, 0))

    @property
    def _arrays(self) -> ArrayDevice:
        """The device, which arrays of callers' lie on: no other one is given them."""
        return cast("ArrayDevice", self._device)

    def _result(self, buffer: Any, ready: Any) -> DeviceArray:  # noqa: ANN401
        return DeviceArray(self._arrays.result(buffer, ready), self.problem.shape, self._dtype)

    def _copy_of(self, field: str, age: int) -> Any:  # noqa: ANN401
        buffer = self._device.allocate(self.problem.cells * self._dtype.itemsize)
        self._unload(field, age, (buffer, 0))
        return buffer

    def _unload(self, field: str, age: int, target: tuple[Any, int]) -> None:
        """Copy a version to memory of the grid's own size."""
        buffer, at = self._buffers[self._number(field)], self._offset(field, self._version - age)
        if self._plain:
            self._device.copy(target, (buffer, at), self.problem.cells * self._dtype.itemsize)
        else:
            shape = self.problem.shape
            whole = self._box(at, tuple(low for low, _ in self._halo.around) if self._halo else (0,) * len(shape))
            grid = Box(offset=target[1], shape=shape, start=(0,) * len(shape), itemsize=self._dtype.itemsize)
            self._device.copy_box((target[0], grid), (buffer, whole), shape)

    def close(self) -> None:
        """Hand the memory back."""
        self._graphs.clear()
        self._drop()
        if self._points is not None:
            self._points.close()
        for buffer in (*self._buffers, *self._tables):
            if buffer is not None:
                self._device.release(buffer)
        self._buffers.clear()
        self._tables.clear()

    def _number(self, field: str) -> int:
        return self.problem.program.fields.index(field)

    def _offset(self, field: str, version: int) -> int:
        copies = self._program.source.layout.copies[self._number(field)]
        return version % copies * self._slot * self._dtype.itemsize

    @property
    def _plain(self) -> bool:
        """Whether versions lie in memory as grids do."""
        return self._room == self.problem.shape

    def _grid(self, whole: Array) -> Array:
        if self._plain:
            return whole
        around = self._halo.around if self._halo else ((0, 0),) * whole.ndim
        spans = zip(around, self.problem.shape, strict=True)
        return np.ascontiguousarray(whole[tuple(slice(low, low + extent) for (low, _), extent in spans)])

    def _arguments(self, scalars: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What all launches share: what comes before their numbers, and what comes after."""
        shape = self._whole.shape
        strides = [math.prod(self._room[axis + 1 :]) for axis in range(len(shape) - 1)]
        head = (*self._buffers, *map(np.int32, shape), *map(np.int64, strides), np.int64(self._slot))
        varying = self.problem.varying
        rest = tuple(self._dtype.type(scalars[name]) for name in self.problem.program.scalars if name not in varying)
        return head, rest

    def _take_tables(self, steps: int) -> None:
        """Take memory for what kernels look up in the run's first ``steps`` steps, see :func:`looked_up`."""
        device = self._device
        if self._tables:
            device.finish()
            device.release(self._tables.pop())
        self._known = steps
        whole = looked_up(self.problem, self._halo, self._scalars, steps)
        if whole is not None:
            self._tables.append(device.allocate(whole.nbytes))
            device.write(self._tables[0], 0, whole)

    def _call(self, launch: Launch) -> Start:
        kernel = self._program.source.kernels[launch.kernel]
        head, tail = self._fixed
        points = () if self._points is None else self._points.buffers
        begun = [np.int32(self._begun)] if dated(self.problem) else []
        looked_up = (*self._tables, *points, *begun)
        arguments = (*head, *map(np.int32, (*launch.numbers, *self._program.extra)), *looked_up, *tail)
        return self._program.kernels[launch.kernel], (launch.groups, kernel.threads), arguments, kernel.room_bytes

    def _restart(self) -> None:
        """Bring the versions to the slots where launches from version 0 look for them."""
        copies = self._program.source.layout.copies
        if all(self._version % count == 0 for count in copies):
            self._version = 0
            return
        device, size = self._device, self._slot * self._dtype.itemsize
        for field, count in zip(self.problem.program.fields, copies, strict=True):
            if self._version % count == 0:
                continue
            buffer = self._buffers[self._number(field)]
            spare = device.allocate(count * size)
            device.copy((spare, 0), (buffer, 0), count * size)
            for slot in range(count):
                device.copy((buffer, slot * size), (spare, (slot + self._version) % count * size), size)
            device.release(spare)
        self._version = 0

    def _refresh(self) -> None:
        if self._halo is None:
            return
        number = len(self._program.source.kernels) - 1
        threads = self._program.source.kernels[number].threads
        self._device.start(*self._call(wrap_launch(number, threads, self._whole, self._halo.around, self._version)))

    def _fill(self, inputs: Inputs) -> None:
        """Copy the first versions in; what a fixed boundary keeps is the same in every version."""
        program = self.problem.program
        boxes = {s.field: tuple(slice(*span) for span in self.problem.update_box(s)) for s in program.statements}
        for number, field in enumerate(program.fields):
            levels, copies = inputs.arrays[field], self._program.source.layout.copies[number]
            if not all(isinstance(each, DeviceView) and each.dtype == self._dtype for each in levels):
                levels = [self._on_host(each) for each in levels]
            first: int | None = None
            for slot in range(copies):
                age, at = -slot % copies, slot * self._slot * self._dtype.itemsize
                moves = 0 < age < min(program.history(field), len(levels)) and field in boxes
                if first is not None and not moves:
                    buffer = self._buffers[number]
                    self._device.copy((buffer, at), (buffer, first), math.prod(self._room) * self._dtype.itemsize)
                    continue
                self._put(number, at, levels[0], (levels[age], boxes[field]) if moves else None)
                first = at if first is None and not moves else first

    def _put(self, number: int, at: int, values: Array, older: tuple[Array, tuple[slice, ...]] | None) -> None:
        """Copy one version in, of whose cells those of a box are an older one's."""
        if isinstance(values, DeviceView):
            self._put_there(number, at, values, tuple(slice(0, extent) for extent in self.problem.shape))
            if older is not None:
                self._put_there(number, at, *older)
            self._surround(number, at)
            return
        version = np.ascontiguousarray(values, dtype=self._dtype)
        if older is not None:
            version = version.copy()
            version[older[1]] = np.asarray(older[0])[older[1]]
        self._device.write(self._buffers[number], at, self._surrounded(version))

    def _put_there(self, number: int, at: int, view: Any, part: tuple[slice, ...]) -> None:  # noqa: ANN401
        start, extents = tuple(each.start for each in part), tuple(each.stop - each.start for each in part)
        if min(extents) > 0:
            around = [low for low, _ in self._halo.around] if self._halo else [0] * len(start)
            target = self._box(at, tuple(low + cell for low, cell in zip(around, start, strict=True)))
            source = Box(offset=0, shape=self.problem.shape, start=start, itemsize=self._dtype.itemsize)
            self._device.copy_box((self._buffers[number], target), (view.pointer, source), extents)

    def _surround(self, number: int, at: int) -> None:
        """Fill the periodic copies around a version, axis after axis."""
        if self._halo is None:
            return
        spans = [(low, extent) for (low, _), extent in zip(self._halo.around, self.problem.shape, strict=True)]
        for axis, (low, extent) in enumerate(spans):
            total = self._whole.shape[axis]
            pieces = [(to, min(extent, total - to), -extent) for to in range(low + extent, total, extent)]
            pieces += [(max(0, end - extent), min(extent, end), extent) for end in range(low, 0, -extent)]
            for to, cells, shift in pieces:
                place = [0] * axis + [to] + [each for each, _ in spans[axis + 1 :]]
                source = [*place[:axis], to + shift, *place[axis + 1 :]]
                extents = (*self._whole.shape[:axis], cells, *(each for _, each in spans[axis + 1 :]))
                boxes = self._box(at, tuple(place)), self._box(at, tuple(source))
                self._device.copy_box((self._buffers[number], boxes[0]), (self._buffers[number], boxes[1]), extents)

    def _box(self, offset: int, start: tuple[int, ...]) -> Box:
        """A part of a version that lies in memory, its periodic copies included."""
        return Box(offset=offset, shape=self._room, start=start, itemsize=self._dtype.itemsize)

    def _on_host(self, array: Array) -> Array:
        if not isinstance(array, DeviceView):
            return array
        values: Array = np.empty(array.shape, array.dtype)
        self._device.read(array.pointer, 0, values)
        return values

    def _surrounded(self, values: Array) -> Array:
        """A version as it lies in memory: its periodic copies around it, and whole rows."""
        result: Array = values
        if self._halo is not None:
            for axis, ((low, high), extent) in enumerate(zip(self._halo.around, self.problem.shape, strict=True)):
                index = (np.arange(low + extent + high) - low) % extent
                result = np.take(result, index, axis=axis)
        if self._room != result.shape:
            result = np.pad(result, [(0, room - extent) for room, extent in zip(self._room, result.shape, strict=True)])
        return np.ascontiguousarray(result)

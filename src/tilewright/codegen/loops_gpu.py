"""From loop nests to device programs: which loops become kernels, what the host does between them.

The outermost parallel loop of every nest becomes a kernel; a loop around it that carries a dependence stays on the
host and launches the kernels again and again. Scalars that are accumulated are reduced within a block in shared memory
and between the blocks by a second, one-block kernel: the result never leaves the device half-done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.codegen.loop_scalars import shifted
from tilewright.codegen.loop_transforms import Setting, parallel
from tilewright.programs.loopnest import (
    Assign,
    Block,
    Declare,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Stmt,
    arrays,
    counters,
    expressions,
    names,
    statements,
    walk,
    written,
)
from tilewright.programs.loopnest_dependences import analyse
from tilewright.programs.loopnest_scalars import Reduction, reductions

WARP = 32
MAX_THREADS = 1024
MAX_BLOCKS = 65535
MAX_STREAMS = 16
_SHARED_BYTES = 48 * 1024
_BYTES = {
    "double": 8,
    "long": 8,
    "int64_t": 8,
    "size_t": 8,
    "float": 4,
    "int": 4,
    "int32_t": 4,
    "unsigned": 4,
    "short": 2,
    "char": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How kernels are launched.

    Attributes:
        threads: Per block.
        blocks: In the grid.
        streams: Pieces of the iteration space that run in streams of their own.
        cache: Read arrays through shared memory.
        pinned: Pin the host's arrays while they are copied.
        resident: The arrays are on the device already.
        unroll: Unroll inner loops by so much, or 0.
        l1: Kilobytes of first-level cache that are preferred, or 0.
        vector: Width of ``vec_type_hint``, or 0.
        sized: Give the required group size as a hint.
        flags: Options of OpenCL's compiler.
        platform: Number of the OpenCL platform.
        device: Number of the device.
    """

    threads: int = 128
    blocks: int = 14
    streams: int = 1
    cache: bool = False
    pinned: bool = False
    resident: bool = False
    unroll: int = 0
    l1: int = 0
    vector: int = 0
    sized: bool = False
    flags: str = ""
    platform: int = 0
    device: int = 0


def launch_of(args: Mapping[str, Any]) -> Launch:
    """Return how a transform wants its kernels launched.

    Raises:
        UsageError: If a value is beyond what devices can do; such points of a space are skipped.
    """
    threads = args.get("workItemsPerGroup", args.get("threadCount", 128))
    blocks = args.get("workGroups", args.get("blockCount", 14))
    given = {
        "threadCount": (threads, 1, MAX_THREADS),
        "blockCount": (blocks, 1, MAX_BLOCKS),
        "streamCount": (args.get("streamCount", 1), 1, MAX_STREAMS),
        "unrollInner": (args.get("unrollInner") or 0, 0, 1024),
        "vecHint": (args.get("vecHint") or 0, 0, 16),
        "device": (args.get("device", 0), 0, 64),
        "platform": (args.get("platform", 0), 0, 64),
    }
    for name, (value, low, high) in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise UsageError(f"{name} is a whole number from {low} to {high}, got {str(value)[:40]!r}")
    if args.get("kind") == "CUDA" and threads % WARP and threads != 16:
        raise UsageError(f"threadCount is a multiple of {WARP}, got {threads}")
    l1 = args.get("preferL1Size") or 0
    if l1 not in {0, 16, 32, 48}:
        raise UsageError(f"preferL1Size is 16, 32 or 48, got {str(l1)[:40]!r}")
    vector = args.get("vecHint") or 0
    if vector not in {0, 1, 2, 3, 4, 8, 16}:
        raise UsageError(f"vecHint is 0, 2, 3, 4, 8 or 16, got {vector}")
    return Launch(
        threads=threads,
        blocks=blocks,
        streams=args.get("streamCount", 1),
        cache=bool(args.get("cacheBlocks", False)),
        pinned=bool(args.get("pinHostMem", False)),
        resident=bool(args.get("dataOnDevice", False)),
        unroll=int(args.get("unrollInner") or 0),
        l1=int(l1),
        vector=int(vector),
        sized=bool(args.get("sizeHint", False)),
        flags=str(args.get("clFlags") or ""),
        platform=int(args.get("platform", 0)),
        device=int(args.get("device", 0)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A parallel loop as a kernel.

    Attributes:
        name: Its name.
        loop: The loop whose iterations are the threads'; None for statements of one thread.
        body: What one iteration does.
        arrays: Arrays it uses, in order.
        written: Those that it writes.
        scalars: Scalars that it takes, with their types.
        reductions: Scalars that it reduces.
        cached: Arrays read through shared memory, each at the loop's counter plus offsets from ``low`` to ``high``.
    """

    name: str
    loop: Loop | None
    body: Stmt
    arrays: tuple[str, ...]
    written: frozenset[str]
    scalars: tuple[tuple[str, str], ...]
    reductions: tuple[Reduction, ...] = ()
    cached: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A step of the host: run a kernel."""

    kernel: Kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A step of the host: run statements on scalars."""

    stmt: Stmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A step of the host: a loop around further steps."""

    loop: Loop
    steps: "tuple[Step, ...]"


Step = Run | Host | Repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProgram:
    """A region for a device.

    Attributes:
        steps: What the host does.
        launch: How kernels are launched.
        arrays: Arrays that live on the device, with element types.
        written: Those that come back.
        extents: Number of elements of each, as C text.
        notes: What was left out, and why.
        reduced: Types of the scalars that kernels reduce.
        streams: How the iteration space is cut where it runs in streams, or None.
    """

    steps: tuple[Step, ...]
    launch: Launch
    arrays: tuple[tuple[str, str], ...]
    written: frozenset[str]
    extents: Mapping[str, str]
    shapes: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    reduced: tuple[tuple[str, str], ...] = ()
    streams: "Streams | None" = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels in order."""
        return tuple(_kernels(self.steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """An iteration space in pieces: every array is cut as the counter is, with a halo where it is read beside it.

    Attributes:
        halos: Per array, elements needed below and above a piece; written ones have none.
    """

    halos: tuple[tuple[str, int, int], ...]


def _kernels(steps: Sequence[Step]) -> list[Kernel]:
    found: list[Kernel] = []
    for step in steps:
        if isinstance(step, Run):
            found.append(step.kernel)
        elif isinstance(step, Repeat):
            found += _kernels(step.steps)
    return found


@dataclass(slots=True, kw_only=True)
class _Lowering:
    """One region on its way to a device."""

    setting: Setting
    launch: Launch
    shapes: Mapping[str, tuple[str, ...]]
    prefix: str
    known_arrays: frozenset[str]
    notes: list[str] = field(default_factory=list)
    count: int = 0

    def steps(self, stmt: Stmt, local: dict[str, str]) -> list[Step]:
        if isinstance(stmt, Block):
            inner = dict(local)
            out: list[Step] = []
            for item in stmt.body:
                if isinstance(item, Declare) and not item.dims:
                    inner[item.name] = item.ctype
                out += self.steps(item, inner)
            return out
        if isinstance(stmt, Loop):
            return self._loop(stmt, local)
        if isinstance(stmt, Declare) or not self._touches(stmt):
            return [Host(stmt=stmt)]
        if (
            isinstance(stmt, If)
            and not self._touches_expr(stmt.test)
            and any(isinstance(n, Loop) for n in statements(stmt))
        ):
            raise IllegalTransformError("a condition around loops is not moved to a device")
        return [Run(kernel=self._kernel(None, stmt, (), local))]

    def _touches(self, stmt: Stmt) -> bool:
        return bool(_used_arrays(stmt))

    @staticmethod
    def _touches_expr(expr: Expr) -> bool:
        return bool(arrays(expr))

    def _loop(self, loop: Loop, local: dict[str, str]) -> list[Step]:
        nest = analyse(loop, self.setting.known)
        bad = parallel(loop, nest)
        if bad is None:
            found = reductions(loop)
            return [Run(kernel=self._kernel(loop, loop.body, found, local))]
        if not any(isinstance(node, Loop) for node in statements(loop.body)):
            raise IllegalTransformError(f"the loop over {loop.index!r} cannot run in parallel: {bad}")
        if any(arrays(expr) for expr in (loop.first, loop.last)):
            raise IllegalTransformError(f"the bounds of the sequential loop over {loop.index!r} are on the device")
        self.notes.append(f"the loop over {loop.index!r} stays on the host: {bad}")
        steps = self.steps(loop.body, {**local, loop.index: "int"})
        if all(step.kernel.loop is None for step in steps if isinstance(step, Run)):
            raise IllegalTransformError(f"the loop over {loop.index!r} cannot run in parallel: {bad}")
        return [Repeat(loop=loop, steps=tuple(steps))]

    def _kernel(self, loop: Loop | None, body: Stmt, found: Sequence[Reduction], local: Mapping[str, str]) -> Kernel:
        whole: Stmt = body if loop is None else loop
        self.count += 1
        used = _used_arrays(whole)
        own = counters(whole) | {node.name for node in statements(whole) if isinstance(node, Declare)}
        if loop is not None:
            own.add(loop.index)
        free = _scalars(whole) - own - {each.name for each in found}
        assigned = {n.target.name for n in statements(body) if isinstance(n, Assign) and isinstance(n.target, Name)}
        shared = sorted((assigned & free) - own)
        if shared:
            raise IllegalTransformError(f"the scalar {shared[0]!r} is assigned on the device and needed after it")
        types = {**self.setting.types, **local}
        scalars = tuple((name, types.get(name, "int")) for name in sorted(free))
        cached = self._cacheable(loop, body, used) if loop is not None and self.launch.cache else ()
        return Kernel(
            name=f"{self.prefix}_kernel{self.count}",
            loop=loop,
            body=body,
            arrays=tuple(sorted(used)),
            written=frozenset(written(whole) & used),
            scalars=scalars,
            reductions=tuple(found),
            cached=cached,
        )

    def _cacheable(self, loop: Loop, body: Stmt, used: set[str]) -> tuple[tuple[str, int, int], ...]:
        """Return arrays that every iteration reads at its counter plus literals only, and nobody writes."""
        if abs(loop.step) != 1:
            return ()
        found = []
        budget = _SHARED_BYTES
        for array in sorted(used - written(body)):
            shifts = _shifts(body, array, loop.index)
            if shifts is None:
                continue
            low, high = min(shifts), max(shifts)
            size = (self.launch.threads + high - low) * _BYTES.get(self.setting.types.get(array, "double"), 8)
            if size <= budget and high - low <= self.launch.threads:
                budget -= size
                found.append((array, low, high))
        return tuple(found)


def _shifts(body: Stmt, array: str, index: str) -> list[int] | None:
    """Return the offsets from a counter at which an array of one dimension is read, or None if it is read elsewhere."""
    found: list[int] = []
    for node in statements(body):
        for expr in expressions(node):
            for part in walk(expr):
                if isinstance(part, Item) and part.array == array:
                    if len(part.index) != 1:
                        return None
                    base, shift = shifted(part.index[0])
                    if base != Name(index):
                        return None
                    found.append(shift)
    return found or None


def _used_arrays(stmt: Stmt) -> set[str]:
    local = {node.name for node in statements(stmt) if isinstance(node, Declare) and node.dims}
    found = {
        node.target.array for node in statements(stmt) if isinstance(node, Assign) and isinstance(node.target, Item)
    }
    for node in statements(stmt):
        for expr in expressions(node):
            found |= arrays(expr)
    return found - local


def _scalars(stmt: Stmt) -> set[str]:
    found = {
        node.target.name for node in statements(stmt) if isinstance(node, Assign) and isinstance(node.target, Name)
    }
    for node in statements(stmt):
        targets = (node.target,) if isinstance(node, Assign) and isinstance(node.target, Item) else ()
        for expr in (*expressions(node), *targets):
            found |= names(expr)
    return found


def lower(
    stmt: Stmt,
    args: Mapping[str, Any],
    setting: Setting,
    shapes: Mapping[str, tuple[str, ...]],
    prefix: str = "tw",
) -> DeviceProgram:
    """Make a device program of a region.

    Args:
        stmt: The region, its temporaries inside the loops.
        args: Arguments of the CUDA or OpenCL transform.
        setting: Where it stands.
        shapes: Extents of every array, as C text.
        prefix: What the kernels' names begin with.

    Raises:
        IllegalTransformError: If no loop can run in parallel, the dependence named, or something stands between kernels
            that cannot.
        UsageError: If an argument is beyond what devices can do, or an array's size is not known.
    """
    launch = launch_of(args)
    used = _used_arrays(stmt)
    missing = sorted(name for name in used if name not in shapes)
    if missing:
        raise UsageError(f"the size of {missing[0]!r} is not known", "declare it in input_vars")
    lowering = _Lowering(setting=setting, launch=launch, shapes=shapes, prefix=prefix, known_arrays=frozenset(used))
    steps = lowering.steps(stmt, {})
    if not any(isinstance(step, Run | Repeat) for step in steps):
        raise IllegalTransformError("the region has no loop that runs on a device")
    notes = list(lowering.notes)
    streams = None
    if launch.streams > 1:
        streams, reason = _streams(steps, setting)
        if reason:
            notes.append(f"the kernels run in one stream: {reason}")
    kernels = _kernels(steps)
    return DeviceProgram(
        steps=tuple(steps),
        launch=launch,
        arrays=tuple((name, setting.types.get(name, "double")) for name in sorted(used)),
        written=frozenset().union(*(kernel.written for kernel in kernels)),
        extents={name: " * ".join(f"({each})" for each in shapes[name]) for name in sorted(used)},
        shapes={name: tuple(shapes[name]) for name in sorted(used)},
        notes=tuple(notes),
        reduced=tuple((e.name, setting.types.get(e.name, "double")) for k in kernels for e in k.reductions),
        streams=streams,
    )


def _streams(steps: Sequence[Step], setting: Setting) -> tuple[Streams | None, str]:
    """Return how a region is cut for streams, or why it is not."""
    runs = [step for step in steps if isinstance(step, Run)]
    if len(runs) != 1 or any(isinstance(step, Repeat) for step in steps) or runs[0].kernel.loop is None:
        return None, "it has several kernels"
    kernel = runs[0].kernel
    if kernel.loop is None or kernel.loop.step != 1 or kernel.reductions:
        return None, "its loop has a stride or a reduction"
    halos = []
    for array in kernel.arrays:
        shifts = _shifts_all(kernel.body, array, kernel.loop.index)
        if shifts is None:
            return None, f"{array!r} is used at other places than near the counter"
        if array in kernel.written and set(shifts) != {0}:
            return None, f"{array!r} is written beside the counter"
        halos.append((array, -min(0, *shifts, 0), max(0, *shifts, 0)))
    del setting
    return Streams(halos=tuple(halos)), ""


def _shifts_all(body: Stmt, array: str, index: str) -> list[int] | None:
    reads = _shifts(body, array, index)
    targets: list[int] = []
    for node in statements(body):
        if isinstance(node, Assign) and isinstance(node.target, Item) and node.target.array == array:
            base, shift = shifted(node.target.index[0])
            if len(node.target.index) != 1 or base != Name(index):
                return None
            targets.append(shift)
    mentioned = any(array in arrays(expr) for node in statements(body) for expr in expressions(node))
    if mentioned and reads is None:
        return None
    return [*(reads or []), *targets]

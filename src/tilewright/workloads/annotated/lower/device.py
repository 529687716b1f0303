"""Device programs: which loops become kernels, what the host does between them, the launch and streams they ask for.

The outermost parallel loop of every nest becomes a kernel; a loop around it that carries a dependence stays on the
host and launches the kernels again and again. Scalars that are accumulated are reduced within a block in shared memory
and between the blocks by a second, one-block kernel: the result never leaves the device half-done.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

from tilewright.base.constants import MAX_BLOCK_THREADS, STATIC_SHARED, WARP
from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.lower.parallel import asked_of, plan_parallel
from tilewright.workloads.annotated.lower.transforms import NestContext, shifted
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.dependences import LoopDependence
from tilewright.workloads.annotated.nests.nest import Expr, Loop, Stmt
from tilewright.workloads.annotated.nests.scalars import Reduction
from tilewright.workloads.annotated.nests.values import bytes_of

MAX_BLOCKS = 65535
MAX_STREAMS = 16
_FLAG = re.compile(r"(?:-cl-[a-z0-9.-]+(?:=[\w.]+)?|-w|-D[A-Za-z_]\w*(?:=[\w.]+)?|-O[0-3])")
_SHARED = {
    "dataOnDevice": "resident",
    "pinHostMem": "pinned",
    "clFlags": "flags",
    "platform": "platform",
    "device": "device",
}
"""Arguments that are the whole region's, with the attributes that hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchShape:
    """How kernels are launched."""

    threads: int  # per block
    blocks: int  # in the grid
    streams: int  # pieces of the iteration space that run in streams of their own
    cache: bool  # whether arrays are read through shared memory
    pinned: bool  # whether the host's arrays are pinned while they are copied
    resident: bool  # whether the arrays are on the device already
    unroll: int  # factor by which inner loops are unrolled, or 0
    l1: int  # preferred kilobytes of first-level cache, or 0
    vector: int  # width of ``vec_type_hint``, or 0
    sized: bool  # whether the required group size is given as a hint
    flags: str  # options of OpenCL's compiler
    platform: int  # number of the OpenCL platform
    device: int  # number of the device


def launch_of(args: Mapping[str, Any]) -> LaunchShape:
    """Return how a transform wants its kernels launched; at most 16 streams, as the devices of its time had."""
    threads = args.get("workItemsPerGroup", args.get("threadCount", 128))
    blocks = args.get("workGroups", args.get("blockCount", 14))
    streams = args.get("streamCount", 1)
    streams = min(streams, MAX_STREAMS) if isinstance(streams, int) and not isinstance(streams, bool) else streams
    unroll, vector = args.get("unrollInner") or 0, args.get("vecHint") or 0
    device, platform = args.get("device", 0), args.get("platform", 0)
    for name, value, low, high in (
        ("threadCount", threads, 1, MAX_BLOCK_THREADS),
        ("blockCount", blocks, 1, MAX_BLOCKS),
        ("streamCount", streams, 1, MAX_STREAMS),
        ("unrollInner", unroll, 0, 1024),
        ("vecHint", vector, 0, 16),
        ("device", device, 0, 64),
        ("platform", platform, 0, 64),
    ):  # points of a space beyond are skipped
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise UsageError(f"{name} is a whole number from {low} to {high}, got {str(value)[:40]!r}")
    if args.get("kind") == "CUDA" and threads % WARP and threads != 16:
        raise UsageError(f"threadCount is a multiple of {WARP}, got {threads}")
    l1 = args.get("preferL1Size") or 0
    if l1 not in {0, 16, 32, 48}:
        raise UsageError(f"preferL1Size is 16, 32 or 48, got {str(l1)[:40]!r}")
    flags = str(args.get("clFlags") or "").split()
    bad = [flag for flag in flags if not _FLAG.fullmatch(flag) and not flag.startswith("-I")]
    if bad:
        raise UsageError(f"clFlags are options such as -cl-fast-relaxed-math, got {bad[0][:40]!r}")
    if vector not in {0, 1, 2, 3, 4, 8, 16}:
        raise UsageError(f"vecHint is 0, 2, 3, 4, 8 or 16, got {vector}")
    return LaunchShape(
        threads=threads,
        blocks=blocks,
        streams=streams,
        cache=bool(args.get("cacheBlocks", False)),
        pinned=bool(args.get("pinHostMem", False)),
        resident=bool(args.get("dataOnDevice", False)),
        unroll=unroll,
        l1=int(l1),
        vector=vector,
        sized=bool(args.get("sizeHint", False)),
        flags=" ".join(flag for flag in flags if not flag.startswith("-I")),
        platform=platform,
        device=device,
    )


def joint(launches: Sequence[LaunchShape]) -> LaunchShape:
    """Return the launch whose values for the whole region, such as its flags, are those of all."""
    first = launches[0]
    for argument, name in _SHARED.items():
        for other in launches:
            if getattr(other, name) != getattr(first, name):
                raise UsageError(
                    f"the transforms of one region agree on {argument}, "
                    f"got {getattr(first, name)!r} and {getattr(other, name)!r}",
                    "put the loops into regions of their own",
                )
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopKernel(tree.Foreign):
    """A parallel loop as a kernel: the host's statement that launches it."""

    name: str
    launch: LaunchShape
    loop: Loop | None  # the loop whose iterations are the threads'; None for statements of one thread
    body: Stmt  # what one iteration does
    arrays: tuple[str, ...]  # arrays it uses, in order
    written: frozenset[str]  # those that it writes
    scalars: tuple[tuple[str, str], ...]  # scalars that it takes, with their types
    reductions: tuple[Reduction, ...] = ()  # scalars that it reduces
    # arrays read through shared memory, each at the loop's counter plus offsets from ``low`` to ``high``
    cached: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProgram:
    """A region for a device."""

    host: Stmt  # what the host does: it launches kernels, in loops and under conditions, and computes scalars
    launch: LaunchShape  # what all kernels have in common: where they run, and how their arrays come there
    arrays: Mapping[str, str]  # element types of the arrays that live on the device
    written: frozenset[str]  # those that come back
    extents: Mapping[str, Expr]  # number of elements of each
    shapes: Mapping[str, tuple[Expr, ...]]  # extents of each
    notes: tuple[str, ...] = ()  # what was left out, and why
    reduced: Mapping[str, str] = field(default_factory=dict)  # types of the scalars that kernels reduce
    # where pieces of the iteration space run in streams: per array, elements needed below and above a piece, none of
    # those that are written; None where all runs in one
    streams: Mapping[str, tuple[int, int]] | None = None

    @property
    def kernels(self) -> tuple[LoopKernel, ...]:
        """The kernels in order."""
        return tuple(tree.every(self.host, LoopKernel))


@dataclass(slots=True, kw_only=True)
class _Lowering:
    """One region on its way to a device."""

    setting: NestContext
    shapes: Mapping[str, tuple[tree.Expr, ...]]  # extents of its arrays
    prefix: str  # what the kernels' names begin with
    away: frozenset[str]  # arrays whose elements the host does not have while the region runs
    # what the loops reduce that run in parallel, by the identity of the loop
    reduced: Mapping[int, tuple[Reduction, ...]]
    sequential: Mapping[str, LoopDependence]  # by counter, what keeps the loops around those from it
    notes: list[str] = field(default_factory=list)  # what was left out, and why
    types: dict[str, str] = field(default_factory=dict)  # types of the scalars that kernels reduce
    count: int = 0  # kernels so far

    def host(self, stmt: tree.Stmt, local: dict[str, str], asked: Mapping[str, Any]) -> tree.Stmt:  # noqa: PLR0911
        """Return what the host does for a statement."""
        if isinstance(stmt, tree.Block):
            inner = dict(local)
            items: list[tree.Stmt] = []
            for item in stmt.body:
                if isinstance(item, tree.Declare) and not item.dims:
                    inner[item.name] = item.ctype
                items.append(self.host(item, inner, asked))
            return _flat(*items)
        if isinstance(stmt, tree.Loop):
            return self._loop(stmt, local, asked_of(stmt, asked))
        if isinstance(stmt, tree.Declare) and isinstance(stmt.value, tree.Expr) and tree.arrays(stmt.value):
            start = self._fetched(tree.Assign(tree.Name(stmt.name), "=", stmt.value), local, asked)
            return _flat(replace(stmt, value=None), start)
        if isinstance(stmt, tree.Declare) or not _used_arrays(stmt):
            return stmt
        if isinstance(stmt, tree.If) and not tree.arrays(stmt.test) and tree.loops(stmt):
            then, *other = (_flat(self.host(part, local, asked)) for part in tree.parts(stmt))
            return tree.If(stmt.test, then, *(each for each in other if each.body))
        if isinstance(stmt, tree.Assign) and isinstance(stmt.target, tree.Name):
            return self._fetched(stmt, local, asked)
        return self._kernel(None, stmt, (), local, launch_of(asked))

    def _loop(self, loop: tree.Loop, local: dict[str, str], asked: Mapping[str, Any]) -> tree.Stmt:
        reductions = self.reduced.get(id(loop))
        bad = self.sequential.get(loop.index)
        bounds = tree.arrays(loop.first, loop.last)
        if bounds & self.away or (reductions is None and bounds):
            raise IllegalTransformError(f"the bounds of the loop over {loop.index!r} are on the device")
        if reductions is not None:
            return self._kernel(loop, loop.body, reductions, local, launch_of(asked))
        if not any(id(node) in self.reduced for node in tree.loops(loop.body)):
            if not self.reduced:
                raise IllegalTransformError(
                    f"the loop over {loop.index!r} cannot run in parallel, nor can one inside it: {bad}"
                )
            self.notes.append(f"the loop over {loop.index!r} runs in one thread: {bad}")
            return self._kernel(None, loop, (), local, launch_of(asked))
        self.notes.append(f"the loop over {loop.index!r} stays on the host: {bad}")
        return replace(loop, body=self.host(loop.body, {**local, loop.index: loop.ctype or "int"}, asked))

    def _fetched(self, stmt: tree.Assign, local: dict[str, str], asked: Mapping[str, Any]) -> tree.Stmt:
        """Compute a scalar of the host from elements of arrays: as the sum of a single term.

        Before: ``a = x[k];``. After: ``a = 0; for (tw_once = 0; tw_once <= 0; tw_once++) a += x[k];``
        """
        name = stmt.target.name if isinstance(stmt.target, tree.Name) else ""
        term = {"=": stmt.value, "+=": stmt.value, "-=": tree.Unary("-", stmt.value)}.get(stmt.op)
        if term is None or name in tree.names(stmt.value):
            raise IllegalTransformError(f"the scalar {name!r} is assigned on the device and needed after it")
        once = tree.Loop(
            index="tw_once", first=tree.integer(0), last=tree.integer(0), body=tree.Assign(stmt.target, "+=", term)
        )
        kernel = self._kernel(once, once.body, (Reduction(name, "+"),), local, launch_of(asked))
        return _flat(tree.Assign(stmt.target, "=", tree.integer(0)), kernel) if stmt.op == "=" else kernel

    def _kernel(
        self,
        loop: tree.Loop | None,
        body: tree.Stmt,
        reductions: Sequence[Reduction],
        local: Mapping[str, str],
        launch: LaunchShape,
    ) -> LoopKernel:
        whole: tree.Stmt = body if loop is None else loop
        self.count += 1
        arrays = _used_arrays(whole)
        if host := sorted(arrays - self.shapes.keys()):
            raise IllegalTransformError(
                f"the array {host[0]!r} is declared on the host, inside a loop that stays there, and used on the device"
            )
        own = tree.counters(whole) | tree.declared(whole)
        free = tree.scalars(whole) - own - {each.name for each in reductions}
        # An element of several indices is found with the extents of the inner ones.
        free |= {name for array in arrays for each in self.shapes[array][1:] for name in tree.names(each)}
        shared = sorted((tree.assigned(body) & free) - own)
        if shared:
            raise IllegalTransformError(f"the scalar {shared[0]!r} is assigned on the device and needed after it")
        types = {**self.setting.types, **local}
        self.types |= {each.name: types.get(each.name, "double") for each in reductions}
        cached = self._cacheable(loop, body, reductions, launch) if loop is not None and launch.cache else ()
        return LoopKernel(
            name=f"{self.prefix}_kernel{self.count}",
            launch=launch,
            loop=loop,
            body=body,
            arrays=tuple(sorted(arrays)),
            written=frozenset(tree.written(whole) & arrays),
            scalars=tuple((name, types.get(name, "int")) for name in sorted(free)),
            reductions=tuple(reductions),
            cached=cached,
        )

    def _bytes(self, name: str) -> int:
        return bytes_of(self.setting.types.get(name, "double"))

    def _cacheable(
        self, loop: tree.Loop, body: tree.Stmt, sums: Sequence[Reduction], launch: LaunchShape
    ) -> tuple[tuple[str, int, int], ...]:
        """Return arrays that every iteration reads at its counter plus literals only, and nobody writes.

        They share a block's memory with the partial results of reductions.
        """
        if abs(loop.step) != 1:
            return ()
        spans = []
        budget = STATIC_SHARED - launch.threads * sum(self._bytes(each.name) for each in sums)
        for array in sorted(_used_arrays(loop) - tree.written(body)):
            shifts = _shifts(tree.reads(body), array, loop.index)
            if not shifts:
                continue
            low, high = min(shifts), max(shifts)
            size = (launch.threads + high - low) * self._bytes(array)
            if size <= budget and high - low <= launch.threads:
                budget -= size
                spans.append((array, low, high))
        return tuple(spans)


def _shifts(reads: Iterable[tree.Expr], array: str, index: str) -> list[int] | None:
    """Return the offsets from a counter at which an array of one dimension is found, or None if it is elsewhere."""
    shifts: list[int] = []
    for part in reads:
        if isinstance(part, tree.Item) and part.array == array:
            base, shift = shifted(part.index[0])
            if len(part.index) != 1 or base != tree.Name(index):
                return None
            shifts.append(shift)
    return shifts


def _flat(*items: tree.Stmt) -> tree.Block:
    """Join steps of the host, whose variables all live until its region ends."""
    return tree.Block(tuple(each for item in items for each in tree.sequence(item)))


def _used_arrays(stmt: tree.Stmt) -> set[str]:
    return tree.elements(stmt) - {node.name for node in tree.every(stmt, tree.Declare) if node.dims}


def lower(
    stmt: tree.Stmt,  # its temporaries inside the loops
    args: Mapping[str, Any],  # for loops that have no transform of their own
    setting: NestContext,
    shapes: Mapping[str, tuple[tree.Expr, ...]],  # of every array
    prefix: str = "tw",
) -> DeviceProgram:
    """Make a device program of a region."""
    plan = plan_parallel(stmt, setting, device=True)
    stmt = plan.stmt
    arrays = _used_arrays(stmt)
    missing = sorted(name for name in arrays if name not in shapes)
    if missing:
        raise UsageError(
            f"the size of {missing[0]!r} is neither declared nor told by its subscripts",
            f"declare it in input_vars, or as a parameter with its extents, such as double {missing[0]}[n]",
        )
    hints = [dict(loop.launch) for loop in tree.loops(stmt) if loop.launch]
    launch = joint([launch_of(each) for each in hints] or [launch_of(args)])
    away = frozenset(arrays if launch.resident else tree.written(stmt))
    lowering = _Lowering(
        setting=setting,
        shapes=shapes,
        prefix=prefix,
        away=away,
        reduced={id(loop): reductions for loop, reductions in plan.loops},
        sequential={loop.index: bad for loop, bad in reversed(plan.sequential)},
        notes=plan.notes,
    )
    host = lowering.host(stmt, {}, args)
    kernels = list(tree.every(host, LoopKernel))
    if not kernels:
        raise IllegalTransformError("the region has no loop that runs on a device")
    notes = list(lowering.notes)
    most = max((each["streamCount"] for each in (*hints, args) if isinstance(each.get("streamCount"), int)), default=1)
    if most > MAX_STREAMS:
        notes.append(f"streamCount is {MAX_STREAMS} in place of {most}: more streams run no more at once")
    streams = None
    if any(kernel.launch.streams > 1 for kernel in kernels):
        whole = len(kernels) == 1 and kernels[0] in _flat(host).body
        streams, reason = _streams(kernels[0]) if whole else (None, "it has several kernels")
        if reason:
            notes.append(f"the kernels run in one stream: {reason}")
    return DeviceProgram(
        host=host,
        launch=launch,
        arrays={name: setting.types.get(name, "double") for name in sorted(arrays)},
        written=frozenset().union(*(kernel.written for kernel in kernels)),
        extents={name: reduce(partial(tree.Binary, "*"), shapes[name]) for name in sorted(arrays)},
        shapes={name: tuple(shapes[name]) for name in sorted(arrays)},
        notes=tuple(notes),
        reduced={e.name: lowering.types.get(e.name, "double") for k in kernels for e in k.reductions},
        streams=streams,
    )


def _streams(kernel: LoopKernel) -> tuple[dict[str, tuple[int, int]] | None, str]:
    loop = kernel.loop
    if loop is None:
        return None, "it has several kernels"
    if loop.step != 1 or kernel.reductions:
        return None, "its loop has a stride or a reduction"
    halos = {}
    for array in kernel.arrays:
        shifts = _shifts(tree.mentions(kernel.body), array, loop.index)
        if shifts is None:
            return None, f"{array!r} is used at other places than near the counter"
        if array in kernel.written and set(shifts) != {0}:
            return None, f"{array!r} is written beside the counter"
        halos[array] = (-min(0, *shifts, 0), max(0, *shifts, 0))
    return halos, ""

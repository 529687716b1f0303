"""Device programs: kernels, what the host does between them, and the launch and streams they ask for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.base.constants import MAX_BLOCK_THREADS, WARP
from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.nest import Expr, Loop, Stmt
from tilewright.workloads.annotated.nests.scalars import Reduction

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

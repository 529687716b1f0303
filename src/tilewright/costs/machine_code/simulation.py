"""Warps of one multiprocessor that go round the same path of machine code: how many cycles a round takes.

Every scheduler issues at most one instruction per cycle, of the warp that it issued last or else of the oldest one that
may go on: the compiler's stall counts and scoreboards say when a warp may. A pipe is busy for some cycles per
instruction; accesses queue for one path of a wavefront per cycle. What is left out makes it optimistic: conflicts of
banks, misses of the instruction cache, DRAM's bandwidth, lower clocks under load.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.costs.machine_code.listing import MEMORY, SCOREBOARDS, UNIT_OF
from tilewright.costs.machine_code.paths import WarpPath

QUEUE = 16
"""Wavefronts that may wait for the path to shared memory before schedulers issue no more."""
_ROUNDS = 10
_OPERANDS = 8
_STAGGER = (37, 3, 64)
"""By how many cycles blocks and warps start apart, and the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A multiprocessor's numbers for its pipes, see :data:`tilewright.costs.machine_code.listing.PIPES`."""

    schedulers: int
    busy: dict[str, float]  # cycles for which an instruction of a warp occupies a scheduler's pipe, by pipe
    latency: dict[str, float]  # cycles from issue to result, by pipe
    branch: float  # further cycles of a branch that is taken


class _Warp:
    """A warp: its block, its place on the path, rounds done, when it is ready, and when its scoreboards are clear."""

    __slots__ = ("block", "boards", "place", "ready", "rounds", "waits")

    def __init__(self, block: int, ready: float) -> None:
        self.block, self.ready = block, ready
        self.place = self.rounds = 0
        self.boards = [0.0] * SCOREBOARDS
        self.waits = False


def cycles(path: WarpPath, timing: Timing, warps: int, blocks: int, rounds: int = _ROUNDS) -> float:
    """Return the cycles of a round of all warps, the mean of so many rounds; ``warps`` are those of a block."""
    return _Multiprocessor(path, timing, warps, blocks).run(rounds) / rounds


class _Multiprocessor:
    def __init__(self, path: WarpPath, timing: Timing, warps: int, blocks: int) -> None:
        self._timing, self._warps = timing, warps
        self._steps = [
            (each.pipe, each.stall + timing.branch * taken, each.result, each.operands, each.waits, each.width)
            for each, taken in zip(path.instructions, path.taken, strict=True)
        ]
        per_block, per_warp, most = _STAGGER
        every = [_Warp(b, float((b * per_block + w * per_warp) % most)) for b in range(blocks) for w in range(warps)]
        self._queues = [every[number :: timing.schedulers] for number in range(timing.schedulers)]
        self._pipes: list[dict[str, float]] = [dict.fromkeys(timing.busy, 0.0) for _ in self._queues]
        self._meeting: list[list[_Warp]] = [[] for _ in range(blocks)]
        self._memory = self._now = 0.0

    def run(self, rounds: int) -> float:
        """Let all warps go so many rounds; returns the cycles."""
        last: list[_Warp | None] = [None] * len(self._queues)
        while any(self._queues):
            issued = False
            for number, queue in enumerate(self._queues):
                warp = next((each for each in _order(queue, last[number]) if self._issues(each, number)), None)
                if warp is None:
                    continue
                last[number], issued = warp, True
                if warp.rounds == rounds:
                    queue.remove(warp)
            self._now = self._now + 1.0 if issued else self._next()
        return self._now

    def _issues(self, warp: _Warp, number: int) -> bool:
        """Issue the next instruction of a warp, if it may; the number is its scheduler's."""
        now = self._now
        if warp.waits or warp.ready > now:
            return False
        pipe, stall, result, operands, waits, width = self._steps[warp.place]
        if waits and any((waits >> board) & 1 and warp.boards[board] > now for board in range(SCOREBOARDS)):
            return False
        if pipe in MEMORY:
            if self._memory > now + QUEUE:
                return False
            start = self._memory = max(self._memory, now) + width
        else:
            units, unit = self._pipes[number], UNIT_OF.get(pipe, pipe)
            if units[unit] > now:
                return False
            units[unit] = max(units[unit], now) + self._timing.busy[pipe]
            start = now
        if result < SCOREBOARDS:
            warp.boards[result] = max(warp.boards[result], start + self._timing.latency[pipe])
        if operands < SCOREBOARDS:
            warp.boards[operands] = max(warp.boards[operands], start + _OPERANDS)
        warp.ready = now + stall
        if pipe == "barrier":
            self._meet(warp)
        warp.place += 1
        if warp.place == len(self._steps):
            warp.place, warp.rounds = 0, warp.rounds + 1
        return True

    def _meet(self, warp: _Warp) -> None:
        """Wait at a barrier; the last one to arrive lets all go on."""
        meeting = self._meeting[warp.block]
        warp.waits = True
        meeting.append(warp)
        if len(meeting) == self._warps:
            for each in meeting:
                each.waits = False
                each.ready = max(each.ready, self._now + self._timing.latency["barrier"])
            meeting.clear()

    def _next(self) -> float:
        """The next cycle at which anything may change: a warp is ready, a scoreboard is clear, or a pipe is free."""
        waiting = [warp for queue in self._queues for warp in queue if not warp.waits]
        times = [time for warp in waiting for time in (warp.ready, *warp.boards)]
        times += [self._memory - QUEUE, *(time for pipes in self._pipes for time in pipes.values())]
        after = self._now + 1.0
        return max(after, min((float(math.ceil(time)) for time in times if time > self._now), default=after))


def _order(queue: list[_Warp], last: _Warp | None) -> Sequence[_Warp]:
    """The warp that was issued last, then the oldest ones."""
    if last is None or last not in queue:
        return tuple(queue)
    return (last, *(warp for warp in queue if warp is not last))

"""The path through a kernel's machine code on which most of its time goes: the steady loop, or the whole of it.

Loops are the natural loops of back edges (Aho et al., "Compilers", section 9.6.6). Of every loop the path from its head
to its back edge with the most arithmetic and accesses is taken, of equal ones the shorter; the steady loop is the one
whose path has the most arithmetic. A kernel may have one loop in several forms, inside the grid and at its edges: of
those with nearly the same arithmetic the shortest is the steady one. A loop around loops with arithmetic is none: it
says in which order they are gone through.
"""

from tilewright.costs.machine_code.listing import Code, Instruction

_WORK = {"fp32", "fp64", "stg", "ldg", "sts"}
_ARITHMETIC = {"fp32", "fp64"}
_ALIKE = 0.95
"""Share of the most arithmetic from which on a loop is another form of the same one."""


class WarpPath:
    """A path that a warp takes again and again."""

    def __init__(self, code: Code, places: list[int], size: int, *, loops: bool) -> None:
        """Follow places of a code."""
        self.instructions: tuple[Instruction, ...] = tuple(code.instructions[place] for place in places)
        following: list[int | None] = [*places[1:], None]
        # of every instruction whether it is a branch that is taken; the last one of a loop is
        self.taken = tuple(
            bool(code.instructions[place].target) and after != place + 1 if after is not None else loops
            for place, after in zip(places, following, strict=True)
        )
        self.size = size  # instructions of the loop, those beside the path included
        self.loops = loops  # else the whole kernel

    def count(self, *pipes: str) -> int:
        """Instructions of some pipes."""
        return sum(each.pipe in pipes for each in self.instructions)


def computing(code: Code) -> list[WarpPath]:
    """Return the paths of the loops that have arithmetic and are around no other such loop, in order of their ends."""
    after = _successors(code)
    before: list[list[int]] = [[] for _ in after]
    for place, targets in enumerate(after):
        for target in targets:
            before[target].append(place)
    found: list[tuple[set[int], WarpPath]] = []
    for tail, targets in enumerate(after):
        for head in targets:
            if head > tail or not code.instructions[tail].target:
                continue
            body = _natural(before, head, tail)
            places = _heaviest(code, after, body, head, {tail})
            path = WarpPath(code, places, len(body), loops=True)
            if path.count(*_ARITHMETIC):
                found.append((body, path))
    return [path for body, path in found if not any(other < body for other, _ in found)]


def steady(code: Code, *, loops: bool = True) -> WarpPath:
    """Return the path of a kernel's steady loop, or through all of it where no loop computes anything."""
    found = computing(code) if loops else []  # else every loop is passed once
    if found:
        most = max(path.count(*_ARITHMETIC) for path in found)
        alike = [path for path in found if path.count(*_ARITHMETIC) >= _ALIKE * most]
        return min(alike, key=lambda path: len(path.instructions))
    after = _successors(code)
    ends = {place for place, targets in enumerate(after) if not targets}
    every = set(range(len(code.instructions)))
    return WarpPath(code, _heaviest(code, after, every, 0, ends), len(every), loops=False)


def with_tests(code: Code) -> tuple[WarpPath, float] | None:
    """Return the longest other form of the steady loop, and its rounds per round of that one; None if there is none.

    A form may be written out for fewer advances: its share of the arithmetic says for how many.
    """
    usual = steady(code)
    most = usual.count(*_ARITHMETIC)
    others = [path for path in computing(code) if path.instructions != usual.instructions]
    if not usual.loops or not others:
        return None
    found = max(others, key=lambda path: path.count(*_ARITHMETIC))
    return found, most / found.count(*_ARITHMETIC)


def _successors(code: Code) -> list[list[int]]:
    count = len(code.instructions)
    found = []
    for place, each in enumerate(code.instructions):
        targets = [place + 1] if each.falls and place + 1 < count else []
        found.append([*targets, *([code.labels[each.target]] if each.target else [])])
    return found


def _natural(before: list[list[int]], head: int, tail: int) -> set[int]:
    """Everything from which the back edge is reached without passing the head."""
    body, waiting = {head, tail}, [tail]
    while waiting:
        place = waiting.pop()
        if place == head:
            continue
        new = [each for each in before[place] if each not in body]
        body.update(new)
        waiting += new
    return body


def _heaviest(code: Code, after: list[list[int]], body: set[int], head: int, ends: set[int]) -> list[int]:
    """The path from a head to an end with the most work, back edges left out; empty where no end is reached."""
    order: list[int] = []
    seen, waiting = {head}, [(head, iter(after[head]))]
    while waiting:
        place, targets = waiting[-1]
        new = next((each for each in targets if each in body and each not in seen), None)
        if new is None:
            order.append(place)
            waiting.pop()
        else:
            seen.add(new)
            waiting.append((new, iter(after[new])))
    rank = {place: number for number, place in enumerate(order)}
    best: dict[int, tuple[int, int, int]] = {}  # work, minus length, the place after
    for place in order:
        work = int(code.instructions[place].pipe in _WORK)
        if place in ends:
            best[place] = (work, -1, -1)
            continue
        ways = [
            (best[each][0], best[each][1], each)
            for each in after[place]
            if each in best and rank[each] < rank[place] and each != head
        ]
        if ways:
            most, short, target = max(ways)
            best[place] = (most + work, short - 1, target)
    path, place = [], head
    while place >= 0 and place in best:
        path.append(place)
        place = best[place][2]
    return path

"""NVIDIA's machine code (SASS) as ``nvdisasm -c -hex`` lists it: instructions, labels, and what schedules them.

An instruction of compute capability 7.0 and above has 128 bits; the uppermost 23 schedule it: cycles until the next
instruction of the warp (``stall``), scoreboards that its result and its operands set, and those that it waits for.
Source of the fields: Jia et al., "Dissecting the NVIDIA Volta GPU architecture via microbenchmarking" (2018), 2.1.

Most of a kernel's time goes on one path: the steady loop, or the whole of the code. Loops are the natural loops of back
edges (Aho et al., "Compilers", section 9.6.6). Of every loop the path from its head to its back edge with the most
arithmetic and accesses is taken, of equal ones the shorter; the steady loop is the one whose path has the most
barriers, one per advance, or the most arithmetic where no loop has a barrier. A kernel may have one loop in several
forms, inside the grid and at its edges, which compare with constants there: of those with nearly as many the shortest
is the steady one. A loop around loops with arithmetic is none: it says in which order they are
gone through.

Prisms have other loops for what they bring on chip, compute there and write back: :func:`row` puts a row together.
"""

import copy
import re
from dataclasses import dataclass

from tilewright.base.constants import WARP
from tilewright.base.errors import UsageError

OLDEST = 7.0  # compute capability from which on instructions are encoded in this way
SCOREBOARDS = 6  # scoreboards of a warp; higher numbers stand for none
_CONTROL_BIT = 41
_SECTION = re.compile(r"^\.text\.(\w+):")
_LABEL = re.compile(r"^(\.L_\w+):")
_FIRST = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;\s*/\*\s*0x[0-9a-f]{16}\s*\*/")
_SECOND = re.compile(r"^\s*/\*\s*0x([0-9a-f]{16})\s*\*/\s*$")
_PREDICATE = re.compile(r"^@!?U?P\w+\s+")
_TARGET = re.compile(r"`\((\.L_\w+)\)")
_CONDITION = re.compile(r"^BRA\S*\s+!?U?P\d")

PIPES: dict[str, tuple[str, ...]] = {
    "fp32": ("FFMA", "FMUL", "FADD"),
    "fp64": ("DFMA", "DMUL", "DADD"),
    "lds": ("LDS",),
    "sts": ("STS",),
    "ldg": ("LDG",),
    "stg": ("STG",),
    "shuffle": ("SHFL",),
    "barrier": ("BAR",),
    "control": (*("BRA", "BSSY", "BSYNC", "EXIT", "WARPSYNC", "BREAK", "NANOSLEEP", "JMP", "CALL", "RET"),),
    "imad": ("IMAD", "IDP", "HFMA2"),
    "async": ("LDGSTS", "LDGDEPBAR", "DEPBAR"),
    "special": ("S2R", "CS2R", "LDC", "MUFU", "I2F", "F2I", "P2R", "R2P"),
}
"""Instructions by the pipe that executes them; the rest is ``uniform`` where its name begins with U, else ``alu``."""
MEMORY = ("lds", "sts", "ldg", "stg", "shuffle")  # pipes that share the path to shared memory and L1
UNIT_OF = {"imad": "fp32", "async": "barrier"}  # pipes whose instructions are issued to the unit of another one
_PIPE_OF = {name: pipe for pipe, names in PIPES.items() for name in names} | {"S2UR": "uniform", "R2UR": "uniform"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction."""

    name: str  # its mnemonic with modifiers: ``LDS.128``
    pipe: str  # the pipe that executes it, see :data:`PIPES`
    target: str  # label that it jumps to, or empty
    falls: bool  # whether the next instruction may follow it
    stall: int  # cycles until the warp issues its next instruction, at least 1
    result: int  # scoreboard that is set until its result is there; none from :data:`SCOREBOARDS` on
    operands: int  # scoreboard that is set until its operands are read
    waits: int  # scoreboards that must be clear before it issues, as bits
    width: float  # words that a thread moves, where it accesses memory


@dataclass(frozen=True, slots=True)
class Code:
    """The code of one kernel: instructions, and the index that every label stands for."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]


def pipe_of(name: str) -> str:
    """Return the pipe of a mnemonic.

    >>> pipe_of("FFMA.FTZ"), pipe_of("LDS.128"), pipe_of("UIADD3"), pipe_of("LOP3.LUT")
    ('fp32', 'lds', 'uniform', 'alu')
    """
    base = name.split(".", maxsplit=1)[0]
    return _PIPE_OF.get(base, "uniform" if base.startswith("U") else "alu")


def read(listing: str) -> dict[str, Code]:
    """Read the code of kernels, by name, off what ``nvdisasm -c -hex`` prints of compute capability 7.0 or above."""
    kernels: dict[str, Code] = {}
    kernel, text = "", ""
    pending: list[str] = []
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}

    def end() -> None:
        if kernel and instructions:
            kernels[kernel] = Code(tuple(instructions), dict(labels))

    for line in listing.splitlines():
        if section := _SECTION.match(line):
            end()
            kernel, pending, text, instructions, labels = section[1], [], "", [], {}
        elif label := _LABEL.match(line):
            pending.append(label[1])
        elif first := _FIRST.match(line):
            text = first[1]
        elif text and (second := _SECOND.match(line)):
            labels |= dict.fromkeys(pending, len(instructions))
            instructions.append(_instruction(text, int(second[1], 16) >> _CONTROL_BIT))
            text, pending = "", []
    end()
    if not kernels:
        raise UsageError(
            "no machine code was found in the listing", "list a cubin of sm_70 or above by nvdisasm -c -hex"
        )
    return kernels


def _instruction(text: str, control: int) -> Instruction:
    predicate = _PREDICATE.match(text)
    body = text[predicate.end() :] if predicate else text
    name = body.split()[0]
    target = _TARGET.search(body)
    jumps = name.startswith("BRA") and target is not None
    conditional = predicate is not None or _CONDITION.match(body) is not None
    ends = (jumps and not conditional) or (name.split(".")[0] == "EXIT" and predicate is None)
    pipe = pipe_of(name)
    return Instruction(
        name=name,
        pipe=pipe,
        target=target[1] if jumps and target else "",
        falls=not ends,
        stall=max(1, control & 15),
        result=(control >> 5) & 7,
        operands=(control >> 8) & 7,
        waits=(control >> 11) & 63,
        width=_width(name) if pipe in MEMORY else 1.0,
    )


def _width(name: str) -> float:
    if ".128" in name:
        return 4.0
    return 2.0 if ".64" in name.replace("R64", "") else 1.0


_WORK = {"fp32", "fp64", "stg", "ldg", "sts"}
_ARITHMETIC = ("fp32", "fp64")
_ALIKE = 0.75  # share of the longest round from which on a loop is another form of the same one


class WarpPath:
    """A path that a warp takes again and again."""

    def __init__(self, code: Code, places: list[int], size: int, *, loops: bool) -> None:
        """Follow places of a code."""
        self.places = places
        self.instructions: tuple[Instruction, ...] = tuple(code.instructions[place] for place in places)
        following: list[int | None] = [*places[1:], None]
        # of every instruction whether it is a branch that is taken; the last one of a loop is
        self.taken = tuple(
            bool(code.instructions[place].target) and after != place + 1 if after is not None else loops
            for place, after in zip(places, following, strict=True)
        )
        self.size = size  # instructions of the loop, those beside the path included
        self.loops = loops  # else the whole kernel
        # of every instruction the wavefronts that a full warp moves, where neighbours access neighbouring values
        self.wavefronts = tuple(each.width for each in self.instructions)

    def spread(self, loaded: int, stored: int) -> "WarpPath":
        """Return the same path where values of neighbouring threads lie so many words apart in memory.

        An access passes in as many wavefronts as it touches lines of 32 words; a warp's places on chip lie side by
        side, so that no two lanes meet in a bank there.
        """
        result, apart = copy.copy(self), {"ldg": loaded, "stg": stored}
        result.wavefronts = tuple(
            max(width, min(apart.get(each.pipe, 1), WARP))
            for each, width in zip(self.instructions, self.wavefronts, strict=True)
        )
        return result

    def count(self, *pipes: str) -> int:
        """Instructions of some pipes."""
        return sum(each.pipe in pipes for each in self.instructions)

    def words(self, pipe: str) -> float:
        """4-byte words that a thread moves by a pipe of memory."""
        return sum(each.width for each in self.instructions if each.pipe == pipe)


def _loops(code: Code) -> list[tuple[set[int], WarpPath]]:
    """The bodies and paths of all loops, in order of their ends."""
    after = _successors(code)
    before: list[list[int]] = [[] for _ in after]
    for place, targets in enumerate(after):
        for target in targets:
            before[target].append(place)
    loops: list[tuple[set[int], WarpPath]] = []
    for tail, targets in enumerate(after):
        for head in targets:
            if head > tail or not code.instructions[tail].target:
                continue
            body = _natural(before, head, tail)
            loops.append((body, WarpPath(code, _heaviest(code, after, body, head, {tail}), len(body), loops=True)))
    return loops


def _innermost(loops: list[tuple[set[int], WarpPath]]) -> list[WarpPath]:
    return [path for body, path in loops if not any(other < body for other, _ in loops)]


def computing(code: Code) -> list[WarpPath]:
    """Return the paths of the loops that have arithmetic and are around no other such loop, in order of their ends."""
    return _innermost([(body, path) for body, path in _loops(code) if path.count(*_ARITHMETIC)])


def steady(code: Code, *, loops: bool = True) -> WarpPath:
    """Return the path of a kernel's steady loop, or through all of it where no loop computes anything."""
    paths = computing(code) if loops else []  # else every loop is passed once
    if paths:
        unit = _unit(paths)
        most = max(path.count(*unit) for path in paths)
        alike = [path for path in paths if path.count(*unit) >= _ALIKE * most]
        return min(alike, key=lambda path: len(path.instructions))
    after = _successors(code)
    ends = {place for place, targets in enumerate(after) if not targets}
    whole = set(range(len(code.instructions)))
    return WarpPath(code, _heaviest(code, after, whole, 0, ends), len(whole), loops=False)


def _unit(paths: list[WarpPath]) -> tuple[str, ...]:
    """The pipes by which rounds of loops are as long."""
    return ("barrier",) if any(path.count("barrier") for path in paths) else _ARITHMETIC


def with_tests(code: Code) -> tuple[WarpPath, float] | None:
    """Return the shortest other form of the steady loop, and its rounds per round of that one; None without one."""
    # A form may be written out for fewer advances.
    usual, paths = steady(code), computing(code)
    unit = _unit(paths)
    others = [path for path in paths if path.instructions != usual.instructions and path.count(*unit)]
    if not usual.loops or not others:
        return None
    rounds = {number: usual.count(*unit) / path.count(*unit) for number, path in enumerate(others)}
    shortest = min(rounds, key=lambda number: rounds[number] * len(others[number].instructions))
    return others[shortest], rounds[shortest]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowValues:
    """What a thread does in a row of a prism, in values."""

    computed: float  # computed from chip to chip
    loaded: float  # brought on chip, a row's share of its tile's
    stored: float  # written back from there
    words: int  # 4-byte words of a value


def row(code: Code, values: RowValues) -> WarpPath:
    """Return what a thread issues at least in a row of a prism: its loops as often as values ask for, and a barrier."""
    # A kernel has its loops for whole tiles, for those that are cut, and for what blocks of cells leave. The cheapest
    # per value go first. What stands around the loops is left out.
    loops = [path for path in _innermost(_loops(code)) if not path.count("barrier")]
    kinds = (
        (values.computed, "sts", [path for path in loops if not path.count("ldg")]),
        (values.loaded, "sts", [path for path in loops if path.count("ldg")]),
        (values.stored, "stg", [path for path in loops if not path.count("sts")]),
    )
    places: list[int] = []
    for moved, pipe, some in kinds:
        each, left = [(path.words(pipe) / values.words, path) for path in some if path.count(pipe)], moved
        for many, path in sorted(each, key=lambda one: len(one[1].instructions) / one[0]):
            rounds = int(left / many)
            places += path.places * rounds
            left -= rounds * many
    places += [place for place, each in enumerate(code.instructions) if each.pipe == "barrier"][:1]
    return WarpPath(code, places, len(set(places)), loops=True)


def _successors(code: Code) -> list[list[int]]:
    count = len(code.instructions)
    successors = []
    for place, each in enumerate(code.instructions):
        targets = [place + 1] if each.falls and place + 1 < count else []
        successors.append([*targets, *([code.labels[each.target]] if each.target else [])])
    return successors


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

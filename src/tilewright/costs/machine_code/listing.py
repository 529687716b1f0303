"""NVIDIA's machine code (SASS) as ``nvdisasm -c -hex`` lists it: instructions, labels, and what schedules them.

An instruction of compute capability 7.0 and above has 128 bits; the uppermost 23 schedule it: cycles until the next
instruction of the warp (``stall``), scoreboards that its result and its operands set, and those that it waits for.
Source of the fields: Jia et al., "Dissecting the NVIDIA Volta GPU architecture via microbenchmarking" (2018), 2.1.
"""

import re
from dataclasses import dataclass

from tilewright.base.errors import UsageError

OLDEST = 7.0
"""Compute capability from which on instructions are encoded in this way."""
SCOREBOARDS = 6
"""Scoreboards of a warp; higher numbers stand for none."""
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
MEMORY = ("lds", "sts", "ldg", "stg", "shuffle")
"""Pipes that share the path to shared memory and L1."""
UNIT_OF = {"imad": "fp32", "async": "barrier"}
"""Pipes whose instructions are issued to the unit of another one."""
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
    width: float  # wavefronts of 32 words that a full warp moves, where it accesses memory


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
    found: dict[str, Code] = {}
    kernel, text = "", ""
    pending: list[str] = []
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}

    def end() -> None:
        if kernel and instructions:
            found[kernel] = Code(tuple(instructions), dict(labels))

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
    if not found:
        raise UsageError(
            "no machine code was found in the listing", "list a cubin of sm_70 or above by nvdisasm -c -hex"
        )
    return found


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

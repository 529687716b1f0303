"""What a golden file shows of a generated text, and how.

A text starts with definitions that every text of its language shares, and helpers that it uses; the files of
``prelude/`` show those once, other files name them. A case may show some of a text's functions: then the file names the
others. Names end with fingerprints, which change with the data model; the files leave them out.

Texts depend on no machine: the width and number of registers are macros of the compiler, and no emitter is told a
processor, a cache or a compiler. What an emitter may be told, such as the bytes of a vector, each case gives.
"""

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tilewright.codegen.emit import emit
from tilewright.codegen.gpu.emit import emit_device
from tilewright.codegen.print import c_prelude, gpu
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import PointFields, Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.storage import Storage
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

FOLDER = Path(__file__).parent
ENDINGS = {"c": ".c", "opencl": ".cl", "cuda": ".cu"}
SHAPES = {1: (64,), 2: (24, 64), 3: (12, 16, 64)}
STEPS = 6
_STARTS = (c_prelude.prelude((), ()), *(gpu.prelude(dialect) for dialect in gpu.DIALECTS))
_FINGERPRINT = re.compile(r"\b(tw\w*?)_[0-9a-f]{12}\b|\b(tw\w*?_)[0-9a-f]{12}_", re.IGNORECASE)
_DEFINED = re.compile(r"^(?:static|void|double|TW_FUNCTION|extern|__kernel)\b[^;={}#]*?(\w+) ?\(", re.MULTILINE)
_MARKS = re.compile(r"__attribute__\(\(.*?\)\)+|__launch_bounds__\(.*?\)|TW_(?=KERNEL\()")
_KERNEL = re.compile(r"KERNEL\(\w+\)")
_HELPERS = {
    "tw_opaque",
    "tw_thread",
    "tw_threads",
    "omp_get_thread_num",
    "omp_get_num_threads",
    "sched_yield",
    "tw_await",
    "tw_publish",
    "tw_fence",
    "tw_me",
    "tw_put",
    "tw_done",
    "tw_last",
    "tw_wanted",
    "tw_goes_on",
}
_LONGEST = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One golden file.

    Attributes:
        file: Its path below ``tests/golden``.
        about: What it is made of, as its first line.
        write: Writes the whole text.
        parts: The functions that it shows, by the ends of their names; all but helpers if empty.
        whole: Whether it shows the text as it is.
    """

    file: str
    about: str
    write: Callable[[], str]
    parts: tuple[str, ...] = ()
    whole: bool = False


def stencil(
    name: str,
    what: str | Program,
    tiling: str,
    *parts: str,
    to: str = "c",
    boundary: BoundarySpec = "fixed",
    dtype: str = "float32",
    strict: bool = False,
    periodic: bool = False,
    points: bool = False,
    faces: bool = False,
    states: bool = False,
    batch: bool = False,
) -> Case:
    """A stencil under a tiling, in a language: ``c``, ``opencl`` or ``cuda``; ``entry`` is the part that is called.

    With ``points`` every updated field has sources and receivers; with ``faces`` it is summed near the sides; with
    ``states`` every state is kept; with ``batch`` there are many grids.
    """
    chosen = program(what) if isinstance(what, str) else what

    def write() -> str:
        problem = make_problem(chosen, SHAPES[chosen.rank], STEPS, dtype, boundary)
        if points:
            fields = PointFields(sources=chosen.updated, receivers=chosen.updated)
            problem = dataclasses.replace(problem, points=fields)
        if faces:
            sums = tuple((field, ((1, 2),) * chosen.rank) for field in chosen.updated)
            problem = dataclasses.replace(problem, points=PointFields(faces=sums))
        if states:
            kept = Storage(kept=STEPS + max(map(chosen.history, chosen.updated)))
            full = catalogue.complete(problem, parse(tiling))
            return emit(problem, cpu_schedule(problem, full, kept, strict=strict), strict=strict).text
        if batch:
            full = catalogue.complete(problem, parse(tiling))
            return emit(problem, cpu_schedule(problem, full, strict=strict, batch=True), strict=strict).text
        return text_of(problem, tiling, to, strict=strict, periodic=periodic)

    ways = ["strict"] * strict + ["copies of the grid around it"] * periodic
    ways += ["sources and receivers"] * points
    ways += ["sums near the sides"] * faces
    ways += ["states kept"] * states
    ways += ["many grids"] * batch
    about = ", ".join([chosen.name, dtype, f"boundary {_said(boundary)}", f"tiling {tiling}", *ways])
    own = re.sub(r"[^a-z0-9]+", "_", chosen.name.lower())
    shows = tuple(own if part == "entry" else part for part in parts)
    return Case(file=f"{name}{ENDINGS[to]}", about=about, write=write, parts=shows)


def text_of(problem: Problem, tiling: str, to: str, *, strict: bool = False, periodic: bool = False) -> str:
    """The whole text."""
    full = catalogue.complete(problem, parse(tiling))
    if to == "c":
        return emit_tiling(problem, full, strict=strict).text
    return emit_device(problem, gpu_schedule(problem, full), to, strict=strict, periodic=periodic).text


def shown(case: Case) -> str:
    """The content of a case's file."""
    text = _FINGERPRINT.sub(lambda found: found[1] or found[2], case.write())
    if case.whole:
        return f"/* {case.about} */\n\n{text.strip()}\n"
    start = next((each for each in _STARTS if each in text), "")
    chunks = _chunks(text.replace(start, "\n\n", 1) if start else text)
    kept, left, defined = [], [], []
    for chunk in chunks:
        names = _DEFINED.findall(_KERNEL.sub("void", _MARKS.sub("", chunk)))
        defined += names
        if _is_shown(case, names, with_start=bool(start)):
            kept.append(chunk.strip("\n"))
        else:
            left += [f"{name}()" for name in names] or re.findall(r"#(?:define|pragma) (\w+)", chunk)[:1]
    missing = [part for part in case.parts if not any(_ends_with(name, part) for name in defined)]
    assert kept, f"{case.file} shows nothing; there are {defined}"
    assert not missing, f"{case.file} has no {missing}; there are {defined}"
    lines = [f"/* {case.about}"]
    if start:
        lines.append("   starts as every text of its language does, see prelude/")
    if left:
        lines += _filled("   not shown: " + ", ".join(dict.fromkeys(left)))
    return "\n\n".join(["\n".join(lines) + " */", *kept]) + "\n"


def _chunks(text: str) -> list[str]:
    """What stands between blank lines; what is indented belongs to what comes before it."""
    found: list[str] = []
    for chunk in re.split(r"\n\n+", text):
        if found and chunk.startswith((" ", "}")):
            found[-1] += f"\n\n{chunk}"
        elif chunk.strip():
            found.append(chunk)
    return found


def _is_shown(case: Case, names: list[str], *, with_start: bool) -> bool:
    if case.parts:
        return any(_ends_with(name, part) for name in names for part in case.parts)
    return not with_start or any(not _is_helper(name) for name in names)


def _ends_with(name: str, part: str) -> bool:
    return re.fullmatch(rf"(.*_)?(?:{part})", name) is not None


def _is_helper(name: str) -> bool:
    """Whether every text of an element type may have a function: ``tw_hold_v_f32``."""
    return re.search(r"_[fiu](8|16|32|64)$|^tw_map_", name) is not None or name in _HELPERS


def _filled(text: str) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) > _LONGEST:
            lines.append("     ")
        lines[-1] += f"{word} "
    return [line.rstrip() for line in lines]


def _said(boundary: BoundarySpec) -> str:
    if isinstance(boundary, tuple):
        return f"({', '.join(map(_said, boundary))})"
    return str(boundary)

"""The wisdom store: which tiling won for which problem, on which device, with which compiler and version of ours.

What was measured in another environment is stale: it is listed and flagged, and never used.
"""

import functools
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from tilewright.base import documents
from tilewright.base.documents import Check, within
from tilewright.base.errors import TilewrightError, ToolchainError, UsageError
from tilewright.base.fingerprint import DATA_MODEL_VERSION, digest, fingerprint
from tilewright.base.paths import read_bounded
from tilewright.base.records import Record
from tilewright.base.units import format_shape
from tilewright.programs.stencil.problem import DTYPES, Problem
from tilewright.runtime.host import cpu_features, describe_cpu
from tilewright.runtime.store import folder as store
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.runtime.warn import warn_skipped
from tilewright.schedules.tiling import is_gone, parse

FORMAT = "tilewright-wisdom"
FORMAT_VERSION = 1
NEAR_SHAPE = 2.0  # a problem is nearby if no extent is larger or smaller by more than this factor, …
NEAR_STEPS = 4.0  # … and its number of steps by no more than this one
_LARGEST_IMPORT = 2**24
_LONGEST = 300
_KEY = re.compile(r"[0-9a-f]{32}")
Text = Annotated[str, Check("a short printable text", lambda value: len(value) <= _LONGEST and value.isprintable())]
Seconds = Annotated[float, Check("a positive number", lambda value: 0 < value < 1e9)]
Extent = Annotated[int, within(1, 2**46)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a measurement depends on beside the problem: texts for people, keys for comparing."""

    device: Text  # name
    device_key: Text  # fingerprint of everything the device says about itself
    compiler: Text  # name and version
    compiler_key: Text  # fingerprint of its identity and flags
    version: Text  # our version, and a digest of what writes kernels


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Wisdom(Record):
    """One thing learned."""

    KEYS = (
        "id program problem_key dtype shape steps threads tiling seconds samples unstable confirmed circumstances when"
    )

    program: Text  # name
    problem_key: Annotated[Text, Check("a key of 32 digits", _KEY.fullmatch)]  # of program, dtype and boundaries
    dtype: Annotated[Text, Check("the name of an element type", lambda value: value in DTYPES)]
    shape: Annotated[tuple[Extent, ...], Check("a list of 1 to 3 extents", lambda value: 1 <= len(value) <= 3)]
    steps: Annotated[int, within(1, 2**31)]
    threads: Annotated[int, within(1, 4096)]  # used in the measurement
    tiling: Text  # the winner
    seconds: Seconds  # median of the whole problem
    samples: Annotated[int, within(1, 10**6)] = 1  # behind the median
    unstable: bool = False  # whether they differed too much to be trusted
    confirmed: bool = True  # whether the result was compared with a second schedule on this very problem
    circumstances: Circumstances
    when: Text  # ISO 8601 in UTC

    @property
    def id(self) -> str:
        """Short name of what it is about: a newer measurement of the same replaces this one."""
        return fingerprint(self.problem_key, self.shape, self.steps, self.threads, asdict(self.circumstances))[:12]

    def __str__(self) -> str:
        return f"{self.id} {self.program} {format_shape(self.shape)} x {self.steps}, {self.dtype}: {self.tiling}"


def problem_key(problem: Problem, backend: str = "c") -> str:
    """Return the fingerprint of what a tiling's worth depends on, shape and steps aside."""
    if backend == "c":
        return problem.fingerprint
    return fingerprint(problem.program, problem.dtype, problem.boundaries, backend)


def now() -> str:
    """Return the date and time as they are written into records."""
    return datetime.now(tz=UTC).isoformat(timespec="seconds")


def circumstances() -> Circumstances:
    """Return the circumstances of this machine, now."""
    tools = toolchain()
    return _circumstances(tools.identity, (*tools.command, *tools.flags(strict=False)))


def device_circumstances(name: str, about: object, compiler: str) -> Circumstances:
    """Return the circumstances of a GPU; ``about`` is all that its driver says, as data or a frozen dataclass."""
    return Circumstances(
        device=name[:_LONGEST],
        device_key=fingerprint(about),
        compiler=compiler[:_LONGEST],
        compiler_key=fingerprint(compiler),
        version=_version(),
    )


@functools.cache
def _version() -> str:
    """Our version, with a digest of what writes kernels: between two releases that is what changes."""
    from importlib import metadata

    from tilewright import codegen

    folder = Path(next(iter(codegen.__path__)))
    texts = [str(path.relative_to(folder)).encode() + path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    return f"{metadata.version('tilewright')}/{DATA_MODEL_VERSION}/{digest(b''.join(texts))[:12]}"


@functools.lru_cache(maxsize=16)
def _circumstances(identity: str, flags: tuple[str, ...]) -> Circumstances:
    return Circumstances(
        device=describe_cpu().model_name[:_LONGEST],
        device_key=fingerprint(cpu_features()),
        compiler=identity.partition(" ")[2][:_LONGEST],
        compiler_key=fingerprint(identity, flags),
        version=_version(),
    )


def staleness(entry: Wisdom, here: Circumstances | None) -> tuple[str, ...]:
    """Say what differs between an entry's circumstances and those of here: hardware, compiler, version.

    >>> old = Circumstances(device="a", device_key="1", compiler="gcc", compiler_key="2", version="1")
    >>> new = Circumstances(device="a", device_key="1", compiler="gcc", compiler_key="3", version="2")
    >>> entry = Wisdom(program="p", problem_key="", dtype="float32", shape=(1,), steps=1, threads=1, tiling="none",
    ...     seconds=1.0, circumstances=old, when="")
    >>> staleness(entry, new)
    ('compiler', 'version')
    """
    if here is None:
        return ("compiler",)
    then = entry.circumstances
    pairs = {
        "hardware": then.device_key == here.device_key,
        "compiler": then.compiler_key == here.compiler_key,
        "version": then.version == here.version,
    }
    return tuple(name for name, same in pairs.items() if not same)


def find(
    entries: Iterable[Wisdom], problem: Problem, threads: int, here: Circumstances, backend: str = "c"
) -> tuple[Wisdom | None, bool]:
    """Find what is known about a problem or the nearest one, and whether there is a stale entry, not to be used."""
    key = problem_key(problem, backend)
    best, nearest, stale = None, math.inf, False
    for entry in entries:
        if entry.problem_key != key or entry.threads != threads:
            continue
        distance = _distance(entry, problem)
        if not math.isfinite(distance):
            continue
        if staleness(entry, here):
            stale = True
        elif distance <= nearest:
            best, nearest = entry, distance
    return best, stale


def _distance(entry: Wisdom, problem: Problem) -> float:
    """How far a problem is from an entry's: 0 for the same, infinite for one that is not nearby."""
    if len(entry.shape) != len(problem.shape) or not problem.steps:
        return math.inf
    shape = [abs(math.log2(a / b)) for a, b in zip(entry.shape, problem.shape, strict=True)]
    steps = abs(math.log2(entry.steps / problem.steps))
    if max(shape) > math.log2(NEAR_SHAPE) or steps > math.log2(NEAR_STEPS):
        return math.inf
    return sum(shape) + steps


def load() -> tuple[Wisdom, ...]:
    """Return everything that is known, oldest first; the newest entry of each :attr:`Wisdom.id` counts."""
    path = _path()
    if path is None:
        return ()
    try:
        status = path.stat()
    except OSError:
        return ()
    return _read(path, status.st_mtime_ns, status.st_size, status.st_ino)


@functools.lru_cache(maxsize=4)
def _read(path: Path, *_stamp: int) -> tuple[Wisdom, ...]:
    entries: dict[str, Wisdom] = {}
    skipped = 0
    for record in store.read(path):
        if "forget" in record:
            entries.pop(str(record["forget"]), None)
            continue
        if is_gone(record.get("tiling")):
            skipped += 1
            continue
        try:
            entry = from_dict(record)
        except TilewrightError:
            continue
        entries.pop(entry.id, None)
        entries[entry.id] = entry
    warn_skipped(skipped, path.name)
    return tuple(entries.values())


def remember(entries: Sequence[Wisdom]) -> bool:
    """Keep entries, or return False: without a place for them, one warning is given."""
    path = _path()
    return path is not None and all(store.append(path, entry.to_dict()) for entry in entries)


def forget(ids: Sequence[str]) -> bool:
    """Forget entries by their id."""
    path = _path()
    return path is not None and all(store.append(path, {"forget": each}) for each in ids)


def _path() -> Path | None:
    root = store.directory()
    return None if root is None else root / "wisdom.jsonl"


def dump(entries: Sequence[Wisdom]) -> str:
    """Return entries as the JSON document that :func:`parse_document` reads."""
    document = {"format": FORMAT, "version": FORMAT_VERSION, "entries": [entry.to_dict() for entry in entries]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def read_document(path: Path) -> tuple[Wisdom, ...]:
    """Read a file that :func:`dump` wrote."""
    return parse_document(read_bounded(path, _LARGEST_IMPORT, "wisdom file"), path.name)


def parse_document(data: bytes, name: str) -> tuple[Wisdom, ...]:
    """Parse an exported document; nothing in it is executed, and every value is checked."""
    hint = "wisdom files are written by `tilewright wisdom export`"
    document = documents.decode_json(data, repr(name), hint)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f"{name!r} is no wisdom file", hint)
    if document.get("version") != FORMAT_VERSION or not isinstance(document.get("entries"), list):
        raise UsageError(f"{name!r} is wisdom of another version, expected {FORMAT_VERSION}", hint)
    entries = [each for each in document["entries"] if not isinstance(each, dict) or not is_gone(each.get("tiling"))]
    warn_skipped(len(document["entries"]) - len(entries), name)
    return tuple(map(from_dict, entries))


def from_dict(record: object) -> Wisdom:
    """Return the entry that a record describes."""
    if isinstance(record, dict):
        record = {key: value for key, value in record.items() if key != "id"}
    entry = documents.parse(Wisdom, record, "a wisdom entry", complete=True)
    parse(entry.tiling)
    return replace(entry, seconds=float(entry.seconds))


def here() -> Circumstances | None:
    """Return :func:`circumstances`, or None where there is no compiler."""
    try:
        return circumstances()
    except ToolchainError:
        return None

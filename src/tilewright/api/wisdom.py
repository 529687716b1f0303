"""Wisdom: what earlier tuning found, for ``run`` and for ``tilewright wisdom``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.units import format_shape
from tilewright.programs.problem import Problem
from tilewright.runtime import wisdom as store
from tilewright.runtime.warn import warn_once
from tilewright.runtime.wisdom import Circumstances, Wisdom
from tilewright.tilings import catalogue
from tilewright.tilings.legality import Legal
from tilewright.tilings.tiling import Tiling, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An entry of the store, and whether it may be used here.

    Attributes:
        wisdom: The entry.
        stale: What differs from the device of its name here: ``hardware``, ``compiler``, ``version``; nothing if it may
            be used.
    """

    wisdom: Wisdom
    stale: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {**self.wisdom.to_dict(), "stale": list(self.stale)}


def remembered(
    problem: Problem, threads: int, backend: str = "c", circumstances: Circumstances | None = None
) -> Tiling | None:
    """Return the tiling that tuning found for a problem or a nearby one, on this very machine.

    Stale wisdom is not used; one warning says so.

    Args:
        problem: The problem.
        threads: Threads that it will run on; 1 on a GPU.
        backend: ``c``, ``opencl`` or ``cuda``.
        circumstances: Those of a GPU; by default those of this machine's processor.

    Returns:
        A legal tiling, or None.
    """
    entries = store.load()
    here = (circumstances or store.here()) if entries else None
    if here is None:
        return None
    best, stale = store.find(entries, problem, threads, here, backend)
    if best is None:
        if stale:
            warn_once(
                f"what was tuned for {problem.program.name!r} was measured with other hardware, another compiler or "
                "another version, so it is not used (hint: tune again; see `tilewright wisdom list`)"
            )
        return None
    return _legal(problem, best.tiling) if backend == "c" else _legal_on_device(problem, best.tiling)


def _legal_on_device(problem: Problem, text: str) -> Tiling | None:
    try:
        tiling = catalogue.complete(problem, parse(text))
        return tiling if isinstance(catalogue.check(problem, tiling), Legal) else None
    except UsageError:
        return None


def _legal(problem: Problem, text: str) -> Tiling | None:
    from tilewright.api.predict import blocks_of

    try:
        tiling = parse(text)
        blocks = blocks_of(problem, tiling=tiling)
        if blocks is not None:
            return blocks.tiling
        tiling = catalogue.complete(problem, tiling)
        return tiling if isinstance(catalogue.check(problem, tiling), Legal) else None
    except UsageError:
        return None


def known(program: str | None = None) -> tuple[Known, ...]:
    """Return the store's entries, of one program or of all."""
    return _judged([entry for entry in store.load() if program in {None, entry.program}])


def _judged(entries: Sequence[Wisdom]) -> tuple[Known, ...]:
    """Compare each entry with the device of its name, where there is one here, and else with the processor."""
    here = store.here()
    names = {entry.circumstances.device for entry in entries} - {here.device if here else ""}
    devices: tuple[Circumstances, ...] = ()
    if names:
        from tilewright.api.gpu import present

        devices = tuple(each for each in present() if each.device in names)

    def stale(entry: Wisdom) -> tuple[str, ...]:
        same = [each for each in devices if each.device == entry.circumstances.device]
        return min((store.staleness(entry, each) for each in same or (here,)), key=len)

    return tuple(Known(wisdom=entry, stale=stale(entry)) for entry in entries)


def export(path: Path | None = None, program: str | None = None) -> str:
    """Return the entries as a JSON document, and write it to a file if one is given.

    Raises:
        UsageError: If the file cannot be written.
    """
    text = store.dump([each.wisdom for each in known(program)])
    if path is not None:
        store.write_document(path, text)
    return text


def take_in(path: Path) -> tuple[Known, ...]:
    """Add the entries of an exported file to the store; an entry that is known from later on is kept.

    Returns:
        What was added.

    Raises:
        UsageError: If the file is no wisdom file, or the store cannot be written.
    """
    newer = {entry.id: entry.when for entry in store.load()}
    added = [entry for entry in store.read_document(path) if entry.when > newer.get(entry.id, "")]
    if added and not store.remember(added):
        raise UsageError("the wisdom store cannot be written", "see `tilewright doctor`")
    return _judged(added)


def forget(
    ids: Sequence[str] = (), program: str | None = None, *, stale: bool = False, everything: bool = False
) -> int:
    """Forget entries: by id, of one program, the stale ones, or all.

    Returns:
        How many were forgotten.

    Raises:
        UsageError: If an id is unknown, or nothing says what to forget.
    """
    if not (ids or program or stale or everything):
        raise UsageError("say what to forget", "give ids, --program NAME, --stale or --all")
    entries = known(program)
    unknown = sorted(set(ids) - {each.wisdom.id for each in entries})
    if unknown:
        raise UsageError(f"there is no wisdom {unknown[0]!r}", "see `tilewright wisdom list`")
    chosen = [each.wisdom.id for each in entries if not ids or each.wisdom.id in ids]
    if stale:
        chosen = [each.wisdom.id for each in entries if each.stale and each.wisdom.id in chosen]
    if chosen and not store.forget(chosen):
        raise UsageError("the wisdom store cannot be written", "see `tilewright doctor`")
    return len(chosen)


def rows(entries: Sequence[Known]) -> list[tuple[str, ...]]:
    """Return entries as the cells of a table."""
    return [
        (
            each.wisdom.id,
            each.wisdom.program,
            format_shape(each.wisdom.shape),
            str(each.wisdom.steps),
            each.wisdom.dtype,
            str(each.wisdom.threads),
            each.wisdom.tiling,
            f"{each.wisdom.seconds:.4g} s",
            f"other {' and '.join(each.stale)}" if each.stale else ("noisy" if each.wisdom.unstable else "good"),
            each.wisdom.when,
        )
        for each in entries
    ]

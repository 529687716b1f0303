"""Wisdom: what earlier tuning found, for ``run`` and for ``tilewright wisdom``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.paths import write_text
from tilewright.base.records import Record
from tilewright.base.units import format_shape
from tilewright.runtime.store import wisdom as store
from tilewright.runtime.store.wisdom import Circumstances, Wisdom


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoreEntry(Record):
    """An entry of the store, and whether it may be used here."""

    KEYS = "*=wisdom stale"

    wisdom: Wisdom
    # what differs from the device of its name here (``hardware``, ``compiler``, ``version``); empty if it may be used
    stale: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.wisdom}, {self.state}"

    @property
    def state(self) -> str:
        """Whether it may be used."""
        return f"other {' and '.join(self.stale)}" if self.stale else ("noisy" if self.wisdom.unstable else "good")


def known(program: str | None = None) -> tuple[StoreEntry, ...]:
    """Return the store's entries, of one program or of all."""
    return _compare_entries([entry for entry in store.load() if program in {None, entry.program}])


def _compare_entries(entries: Sequence[Wisdom]) -> tuple[StoreEntry, ...]:
    """Compare each entry with the device of its name, where there is one here, and else with the processor."""
    here = store.here()
    names = {entry.circumstances.device for entry in entries} - {here.device if here else ""}
    devices: tuple[Circumstances, ...] = ()
    if names:
        from tilewright.runtime.devices.drivers import present

        devices = tuple(each for each in present() if each.device in names)

    def stale(entry: Wisdom) -> tuple[str, ...]:
        same = [each for each in devices if each.device == entry.circumstances.device]
        return min((store.staleness(entry, each) for each in same or (here,)), key=len)

    return tuple(StoreEntry(wisdom=entry, stale=stale(entry)) for entry in entries)


def export(path: Path | None = None, program: str | None = None) -> str:
    """Return the entries as a JSON document, and write it to a file if one is given."""
    text = store.dump([each.wisdom for each in known(program)])
    if path is not None:
        write_text(path, text)
    return text


def take_in(path: Path) -> tuple[StoreEntry, ...]:
    """Add an exported file's entries to the store where they are newer than its own; return what was added."""
    newer = {entry.id: entry.when for entry in store.load()}
    added = [entry for entry in store.read_document(path) if entry.when > newer.get(entry.id, "")]
    if added and not store.remember(added):
        raise UsageError("the wisdom store cannot be written", "see `tilewright doctor`")
    return _compare_entries(added)


def forget(
    ids: Sequence[str] = (), program: str | None = None, *, stale: bool = False, everything: bool = False
) -> int:
    """Forget entries, by id, of one program, the stale ones, or all; return how many."""
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


def rows(entries: Sequence[StoreEntry]) -> list[tuple[str, ...]]:
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
            each.state,
            each.wisdom.when,
        )
        for each in entries
    ]

"""How far a run out of core has come: a small file beside its result, replaced as a whole after every pass."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from tilewright.base.documents import Check, decode_json, parse
from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded, replaced

_VERSION = 1
_LARGEST = 2**16
NAME = "journal.json"  # of the file in its folder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """Where a run is."""

    version: Annotated[int, Check(f"{_VERSION}", lambda value: value == _VERSION)] = _VERSION
    run: str  # fingerprint of what is computed, from what and into what
    steps: Annotated[int, Check("at least 1", lambda value: value >= 1)]  # per pass
    done: Annotated[int, Check("at least 0", lambda value: value >= 0)]  # passes whose results are on the disk


def read(folder: Path) -> RunProgress | None:
    """Return what a folder's journal says, or None if there is none."""
    path, hint = folder / NAME, "delete its folder to begin again"
    with suppress(PermissionError):  # of its folder, which reading says
        if not path.exists():
            return None
    try:
        text = read_bounded(path, _LARGEST, "journal")
        return parse(RunProgress, decode_json(text, NAME), NAME, complete=True, alone=False)
    except UsageError as error:
        raise UsageError(f"{str(path)!r} is no journal of this version: {error.message}", hint) from None


def write(folder: Path, progress: RunProgress) -> None:
    """Write the journal, whole or not at all; it is on the disk when this returns."""
    with replaced(folder / NAME, 0o600, follow=False) as place:
        place.write_text(json.dumps(asdict(progress)), encoding="utf-8")
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def remove(folder: Path) -> None:
    """Delete the journal and its folder, which is otherwise empty."""
    (folder / NAME).unlink(missing_ok=True)
    for left in folder.glob(".new-*"):
        left.unlink(missing_ok=True)
    folder.rmdir()

"""How far a run out of core has come: a small file beside its result, replaced as a whole after every pass."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.paths import replaced

_VERSION = 1
NAME = "journal.json"
"""Of the file in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """Where a run is."""

    run: str  # fingerprint of what is computed, from what and into what
    steps: int  # per pass
    done: int  # passes whose results are on the disk


def read(folder: Path) -> RunProgress | None:
    """Return what a folder's journal says, or None if there is none."""
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"the journal {str(path)!r} cannot be read", "delete its folder to begin again") from None
    try:
        data = json.loads(text)
        found = RunProgress(run=str(data["run"]), steps=data["steps"], done=data["done"])
        known = (
            data["version"] == _VERSION
            and isinstance(found.steps, int)
            and isinstance(found.done, int)
            and found.steps >= 1
            and found.done >= 0
        )
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        known = False
    if not known:
        raise UsageError(f"{str(path)!r} is no journal of this version", "delete its folder to begin again")
    return found


def write(folder: Path, progress: RunProgress) -> None:
    """Write the journal, whole or not at all; it is on the disk when this returns."""
    with replaced(folder / NAME, 0o600, follow=False) as place:
        place.write_text(json.dumps({"version": _VERSION, **asdict(progress)}), encoding="utf-8")
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

"""Forward states in files: as many as are needed, so that no step is computed more than twice.

A file per state, in a folder of its own within the one that the caller names. The folder goes with the object that
keeps the states.
"""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tilewright.base.errors import ArrayError, UsageError, told
from tilewright.base.paths import as_path
from tilewright.base.units import format_over
from tilewright.inputs.arrays import Array


def equal_segments(steps: int, most: int) -> tuple[int, ...]:
    """Cut steps into as few segments as there can be of at most so many steps, of nearly equal length.

    >>> equal_segments(10, 4), equal_segments(4, 4)
    ((4, 3, 3), (4,))
    """
    count = -(-steps // most)
    return tuple(steps // count + (number < steps % count) for number in range(count))


class StatesOnDisk:
    """Keeps states in a folder; the files are removed with this object."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = as_path(folder, "disk")
        if not self._folder.is_dir():
            raise UsageError(f"disk is a folder for forward states, got {str(folder)!r}", "make it first")
        self._own: Path | None = None
        self._count = 0

    def check_room(self, states: int, size: int) -> None:
        """Refuse states of ``size`` bytes each that do not fit on the disk, before anything is computed."""
        free = shutil.disk_usage(self._folder).free
        if states * size > free:
            needed, there = format_over(states * size, free)
            raise ArrayError(
                f"{states} forward states need {needed} in {str(self._folder)!r}, where {there} are free",
                "let more states lie in memory (memory=, checkpoints=), or leave disk out",
            )

    def keep(self, state: Mapping[str, tuple[Array, ...]]) -> dict[str, tuple[Array, ...]]:
        """Write a state to a file, and return it as it lies there: read as it is needed."""
        if self._own is None:
            with told(f"forward states cannot be written to {str(self._folder)!r}"):
                self._own = Path(tempfile.mkdtemp(prefix="tilewright-states-", dir=self._folder))
            weakref.finalize(self, shutil.rmtree, self._own, ignore_errors=True)
        path = self._own / str(self._count)
        self._count += 1
        with told(f"a forward state cannot be written to {str(path)!r}"), path.open("wb") as file:
            for levels in state.values():
                for level in levels:
                    file.write(np.ascontiguousarray(level).reshape(-1).view(np.uint8).data)
        found: dict[str, tuple[Array, ...]] = {}
        offset = 0
        for field, levels in state.items():
            read: list[Array] = []
            for level in levels:
                read.append(np.memmap(path, level.dtype, "r", offset, level.shape))
                offset += level.nbytes
            found[field] = tuple(read)
        return found

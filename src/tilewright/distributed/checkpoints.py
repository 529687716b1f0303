"""Checkpoints of runs on ranks: one zarr array of all levels of all blocks, a chunk per rank, and a journal.

A checkpoint is whole before the journal names it, and the one before it is deleted afterwards, so that a job that is
killed at any instant has one. Blocks are read again by any number of ranks, with any topology.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.errors import UsageError, told
from tilewright.base.fingerprint import fingerprint
from tilewright.distributed import disk, journal
from tilewright.distributed.rank_arrays import Array, together
from tilewright.distributed.windows import Decomposition, slices
from tilewright.runtime.formats.files import ArrayStream
from tilewright.runtime.memory import Array as Grid

_OWN = re.compile(r"(?:state|trace)-([0-9]+)(?:\.zarr|-.+\.npy)")
"""Names of files that are ours, with their step; others may lie beside them."""
_EXCHANGES = 16  # exchanges between two checkpoints where nothing is said


@dataclass(slots=True, kw_only=True)
class Checkpoints:
    """The checkpoints of one run."""

    folder: Path  # seen by all ranks; made if it is not there
    every: int | None = None  # steps between two of them, at least; about 16 exchanges by default
    resume: bool = False  # whether the run goes on from the last one
    _run: str = ""
    _last: int = 0

    @property
    def key(self) -> str:
        """What the ranks of a run have to agree on."""
        return fingerprint(str(self.folder), self.every, self.resume)

    def begin(self, run: str, like: Array, blocks: Sequence[Grid], traces: Mapping[str, Grid]) -> int:
        """Return the steps done, the last checkpoint read into ``blocks`` and ``traces``; every rank calls this."""
        self._run = run

        def look() -> int:
            disk.import_zarr()
            if like.comm.Get_rank() != 0:
                return 0
            self.folder.mkdir(parents=True, exist_ok=True)
            progress = journal.read(self.folder) if self.resume else None
            if progress is None:
                self._clear(but=None)
                return 0
            if progress.run != run:
                raise UsageError(
                    f"the checkpoint in {str(self.folder)!r} is of another program, size or data",
                    "run without resume=True to begin again",
                )
            return progress.done

        self._last = like.comm.bcast(together(like.comm, look), root=0)
        if self._last:
            together(like.comm, lambda: self._read(like, blocks, traces))
        return self._last

    def due(self, step: int, steps: int, total: int) -> bool:
        """Whether a checkpoint is to be made after so many steps, an exchange being made every ``steps`` steps."""
        return step < total and step - self._last >= (self.every or _EXCHANGES * steps)

    def keep(self, step: int, like: Array, blocks: Sequence[Grid], traces: Mapping[str, Grid]) -> None:
        """Make a checkpoint; every rank calls this and writes one chunk."""
        comm, layout = like.comm, like.layout
        path, rank = self._path(step), comm.Get_rank()
        largest = tuple(max(high - low for low, high in layout.ranges(axis)) for axis in range(like.ndim))
        extents = (len(blocks), *largest)

        def create() -> None:
            if rank == 0:
                array = disk.create_zarr(path, (layout.size, *extents), blocks[0].dtype.name, (1, *extents))
                array.attrs["topology"] = list(layout.topology)
                for field, trace in traces.items():
                    with self._trace(step, field).open("wb") as file:
                        np.save(ArrayStream(file), trace)

        def write() -> None:
            padded = np.zeros(extents, blocks[0].dtype)
            for number, block in enumerate(blocks):
                padded[number][tuple(slice(0, size) for size in block.shape)] = block
            disk.open_zarr(path, "r+")[rank] = padded

        def name() -> None:
            if rank == 0:
                progress = journal.RunProgress(run=self._run, steps=self.every or 1, done=step)
                journal.write(self.folder, progress)
                self._clear(but=step)

        for work in (create, write, name):
            together(comm, work)
        self._last = step

    def _read(self, like: Array, blocks: Sequence[Grid], traces: Mapping[str, Grid]) -> None:
        where = f"the checkpoint of step {self._last} in {str(self.folder)!r} cannot be read"
        with told(where, "run without resume=True to begin again"):
            array = disk.open_zarr(self._path(self._last), "r")
            topology = tuple(map(int, array.attrs["topology"]))
            fits = (1 <= ranks <= extent for ranks, extent in zip(topology, like.shape, strict=False))
            if len(topology) != like.ndim or not all(fits):
                raise ValueError(f"no grid of this size has blocks of the topology {topology}")
            old = Decomposition(shape=like.shape, topology=topology)
            if tuple(array.shape[:2]) != (old.size, len(blocks)):
                raise ValueError(f"it has the shape {tuple(array.shape)}")
            for rank in range(old.size):
                part = old.block(rank)
                common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(part, like.box, strict=True))
                if all(low < high for low, high in common):
                    values = array[(rank, slice(None), *slices(common, part))]
                    for number, block in enumerate(blocks):
                        block[slices(common, like.box)] = values[number]
            for field, trace in traces.items():
                with self._trace(self._last, field).open("rb") as file:
                    record = np.lib.format.read_array(ArrayStream(file), allow_pickle=False)
                if record.shape != trace.shape or record.dtype != trace.dtype:
                    raise ValueError(f"what receivers recorded has the shape {record.shape} of {record.dtype}")
                trace[...] = record

    def _path(self, step: int) -> Path:
        return self.folder / f"state-{step}.zarr"

    def _trace(self, step: int, field: str) -> Path:
        return self.folder / f"trace-{step}-{field}.npy"

    def _clear(self, but: int | None) -> None:
        """Delete checkpoints other than that of a step; the journal, too, where none is left."""
        if but is None:
            (self.folder / journal.NAME).unlink(missing_ok=True)
        for path in sorted(self.folder.iterdir()):
            match = _OWN.fullmatch(path.name)
            if match is not None and int(match[1]) != but:
                shutil.rmtree(path) if path.suffix == ".zarr" else path.unlink()

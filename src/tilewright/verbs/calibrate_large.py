"""``calibrate --disk`` and ``calibrate --network``: what runs beyond memory and one machine depend on, measured."""

import math
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import write_text
from tilewright.base.records import Record
from tilewright.base.units import format_bytes, format_seconds
from tilewright.costs.fit import robust
from tilewright.distributed import disk
from tilewright.inputs import memo
from tilewright.machines.dump import to_toml
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.runtime.memory import allocate
from tilewright.runtime.store import hosts

_ROW_BYTES = 2**20
_SAMPLES = 5
_LARGE_MESSAGE = 2**23
_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Measured(Record):
    """What was measured."""

    KEYS = "path *=_quantities"

    machine: Machine  # ``host``, with what was measured
    path: Path | None  # its machine file, or None if it could not be written
    found: dict[str, Quantity]  # the quantities by name

    def _quantities(self) -> dict[str, object]:
        keys = ("value", "unit", "low", "high", "note")
        return {name: {key: getattr(quantity, key) for key in keys} for name, quantity in self.found.items()}

    def __str__(self) -> str:
        lines = []
        for name, each in self.found.items():
            shown = format_seconds if each.unit == "s" else lambda value: f"{format_bytes(value)}/s"
            spread = f"{shown(each.low or 0.0)} to {shown(each.high or 0.0)}"
            lines.append(f"{name.replace('_', ' ')}: {shown(each.value)} ({spread}), {each.note}")
        return "\n".join([*lines, f"kept in {self.path}" if self.path else "not kept"])


def calibrate_disk(folder: str | Path, output: str | Path | None = None) -> Measured:
    """Measure a folder's disk by a file of 256 MiB, deleted after, and keep its bandwidths with ``host``."""
    return _kept(disk_bandwidths(Path(folder)), output)


def calibrate_network(comm: Any = None, output: str | Path | None = None) -> Measured | None:  # noqa: ANN401
    """Measure latency and bandwidth between ranks, all of which call this, for ``host``; None but on the first rank."""
    if comm is None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError):
            raise UsageError("messages between ranks need mpi4py and an MPI", "pip install 'tilewright[mpi]'") from None
        comm = MPI.COMM_WORLD
    found = network(comm)
    return _kept(found, output) if comm.Get_rank() == 0 else None


def _kept(found: dict[str, Quantity], output: str | Path | None) -> Measured:
    machine = replace(hosts.host(), **found)  # type: ignore[arg-type]  # (names of its quantities)
    if output is None:
        path = hosts.keep(machine)
    else:
        path = Path(output)
        write_text(path, to_toml(machine))
    memo.forget()
    return Measured(machine=machine, path=path, found=found)


def disk_bandwidths(folder: Path, size: int = 2**28) -> dict[str, Quantity]:
    """Measure how fast a file of ``size`` bytes is written and read in a folder, past the page cache."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {str(folder)!r} to measure the disk of")
    rows = max(_SAMPLES, size // _ROW_BYTES // _SAMPLES * _SAMPLES)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".tilewright-disk-", suffix=".npy")
    os.close(handle)
    path = Path(name)
    try:
        disk.create_npy(path, (rows, _ROW_BYTES), "uint8")
        file = disk.open_rows(path, "a file of the calibration", writes=True)
        shape = rows // _SAMPLES, _ROW_BYTES
        part = disk.placed(allocate(disk.buffer_bytes(math.prod(shape))), file, 0, shape, "uint8")
        part[...] = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
        written, read = [], []
        for first in range(0, rows, len(part)):
            begin = time.perf_counter()
            file.write(first, part)
            file.sync()
            written.append(part.nbytes / (time.perf_counter() - begin))
        for first in range(0, rows, len(part)):
            begin = time.perf_counter()
            file.read(first, first + len(part), part)
            read.append(part.nbytes / (time.perf_counter() - begin))
        file.close()
    except OSError as error:
        raise ArrayError(f"the disk of {str(folder)!r} cannot be measured: {error.strerror or error}") from None
    finally:
        path.unlink(missing_ok=True)
    note = f"parts of a file of {format_bytes(rows * _ROW_BYTES)}, "
    return {
        "disk_read_bandwidth": robust(read, "B/s", note + "dropped from the page cache before"),
        "disk_write_bandwidth": robust(written, "B/s", note + "until they are on the disk"),
    }


def network(comm: Any) -> dict[str, Quantity]:  # noqa: ANN401  (a communicator of mpi4py)
    """Measure messages between the first and the last rank, half of there and back; every rank calls this."""
    size = comm.Get_size()
    if size < 2:
        raise UsageError(
            "messages are measured between two ranks, and there is one", "mpiexec -n 2 tilewright calibrate --network"
        )
    latencies = [_there_and_back(comm, 1, _ROUNDS) for _ in range(_SAMPLES)]
    large = [_there_and_back(comm, _LARGE_MESSAGE, 4) for _ in range(_SAMPLES)]
    speeds = [_LARGE_MESSAGE / seconds for seconds in large]
    found = {
        "network_latency": robust(latencies, "s", f"one byte between the first and the last of {size} ranks"),
        "network_bandwidth": robust(speeds, "B/s", f"{format_bytes(_LARGE_MESSAGE)} between the same"),
    }
    result: dict[str, Quantity] = comm.bcast(found, root=0)
    return result


def _there_and_back(comm: Any, size: int, rounds: int) -> float:  # noqa: ANN401
    rank, last = comm.Get_rank(), comm.Get_size() - 1
    buffer = np.zeros(size, np.uint8)
    comm.Barrier()
    begin = time.perf_counter()
    for _ in range(rounds):
        if rank == 0:
            comm.Send(buffer, dest=last)
            comm.Recv(buffer, source=last)
        elif rank == last:
            comm.Recv(buffer, source=0)
            comm.Send(buffer, dest=0)
    return (time.perf_counter() - begin) / (2 * rounds)

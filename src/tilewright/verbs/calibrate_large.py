"""``calibrate --disk`` and ``calibrate --network``: what runs beyond memory and one machine depend on, measured."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.paths import write_text
from tilewright.base.records import Record
from tilewright.base.units import format_bytes, format_seconds
from tilewright.distributed import measure
from tilewright.machines.dump import to_toml
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.runtime.store import hosts
from tilewright.verbs import memo


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
    return _kept(measure.disk_bandwidths(Path(folder)), output)


def calibrate_network(comm: Any = None, output: str | Path | None = None) -> Measured | None:  # noqa: ANN401
    """Measure latency and bandwidth between ranks, all of which call this, for ``host``; None but on the first rank."""
    if comm is None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError):
            raise UsageError("messages between ranks need mpi4py and an MPI", "pip install 'tilewright[mpi]'") from None
        comm = MPI.COMM_WORLD
    found = measure.network(comm)
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

"""``tw.calibrate``: this machine's parameters measured, with their spread, and how much each of them matters.

The disk and the network, on which runs beyond memory and one machine depend, are measured alone.
"""

import functools
import itertools
import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import check_place, write_text
from tilewright.base.records import Outcome, Record
from tilewright.base.units import format_bytes, format_seconds, format_shape
from tilewright.codegen.emit import StencilLayout
from tilewright.costs.arrays import Floats
from tilewright.costs.fit import Fit
from tilewright.costs.rates import entry_name
from tilewright.costs.setting import make_setting
from tilewright.distributed import disk
from tilewright.driver import emit_tilings
from tilewright.inputs import memo
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.machines.files import to_toml
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.plan import read_target
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.report.progress import Update, bar
from tilewright.runtime.calibration import cpu as runtime
from tilewright.runtime.calibration import fits as fitting
from tilewright.runtime.calibration import gpu as devices
from tilewright.runtime.calibration.probes import Probe, Sampler, quantities, seconds_of
from tilewright.runtime.call import compile_source
from tilewright.runtime.cpu import CompiledKernel, load_stencils
from tilewright.runtime.devices.device import Device
from tilewright.runtime.devices.drivers import open_device
from tilewright.runtime.host import available_cpus
from tilewright.runtime.memory import allocate
from tilewright.runtime.store import hosts
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.runtime.toolchains.cpu import Toolchain, toolchain
from tilewright.runtime.workers.pool import pool
from tilewright.schedules.family import untileable
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.ranking import evaluated, families_of
from tilewright.tuning.sensitivity import Sensitivity, sensitivities
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule
from tilewright.verbs.predict import MachineLike, as_machine

_ROW_BYTES = 2**20
_SAMPLES = 5
_LARGE_MESSAGE = 2**23
_ROUNDS = 200
DEFAULT_PROGRAMS = (
    "jacobi2d", "heat2d", "laplacian2d", "gradient2d", "heat3d", "laplacian3d",
    "j1d3pt", "j2d5pt", "j2d9pt", "j2d9pt-gol", "star2d2r", "j3d7pt", "j3d27pt", "wave2d", "heat2d_var", "fdtd2d",
)  # fmt: skip
"""The papers' programs and those of the benchmarks."""
OTHER_PROGRAMS = (
    "wave3d", "star2d3r", "star2d4r", "box2d2r", "box2d3r", "box2d4r", "star3d2r", "star3d3r", "star3d4r", "box3d1r",
    "box3d2r",
)  # fmt: skip
"""Programs with many reads, whose C_iter no estimate finds: it was 0.5 to 0.9 of what is measured."""
_MEASURED = (
    "dram_bandwidth", "cache_bandwidth", "outer_bandwidth", "launch_seconds", "row_seconds", "advance_seconds",
    "shared_bytes",
)  # fmt: skip
_KEPT = ("disk_read_bandwidth", "disk_write_bandwidth", "network_latency", "network_bandwidth")
"""What ``calibrate --disk`` and ``calibrate --network`` measure, and a calibration of the processor leaves as it is."""
_GPU_MEASURED = ("c_iter", "dram_bandwidth", "barrier_seconds", "launch_seconds")
_SHAPES: dict[int, tuple[int, ...]] = {1: (1 << 24,), 2: (4096, 4096), 3: (256, 256, 256)}
_STEPS = 256
_COMPILED_TOGETHER = 4  # series that a worker compiles between two movements of the progress bar
_COMPILE_SECONDS = 120.0
"""Time limit for the kernels of one series; those that take longer are compiled again without a limit."""
_SPREAD = 0.35
"""A range, of the 5th to 95th percentile and of what was found at the end, wider than this share is called unstable."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(Record):
    """What a calibration found."""

    KEYS = "machine path unstable left_out sensitivity=_sensitivity"

    machine: Machine  # with what was measured
    path: Path | None  # the machine file, or None if it could not be written
    fits: dict[str, Fit]  # the fit of C_iter, by program
    left_out: tuple[str, ...] = ()  # programs whose C_iter the time did not suffice for
    sensitivity: tuple[Sensitivity, ...]  # what the ranking of the first program's tilings depends on
    subject: str  # the problem of the sensitivity, in words

    @property
    def unstable(self) -> tuple[str, ...]:
        """Parameters whose samples spread too far to be trusted: something else ran at the same time."""
        names = "dram_bandwidth core_bandwidth cache_bandwidth outer_bandwidth launch_seconds call_seconds"
        names += " barrier_seconds shared_bandwidth" if self.machine.kind == "gpu" else ""
        numbers = [(name, getattr(self.machine, name)) for name in names.split()]
        return tuple(name for name, q in numbers if q is not None and (q.high or 0) - (q.low or 0) > _SPREAD * q.value)

    def _sensitivity(self) -> dict[str, object]:
        return {"problem": self.subject, "parameters": self.sensitivity}

    def __str__(self) -> str:
        bandwidth = self.machine.dram_bandwidth
        spread = f"{(bandwidth.low or 0) / 1e9:.3g} to {(bandwidth.high or 0) / 1e9:.3g}"
        durations = {"barrier": self.machine.launch_seconds.value}
        if self.machine.kind == "gpu":
            durations = {
                "a call": self.machine.launch_seconds.value,
                "a block's barrier": self.machine.barrier_seconds.value,
            }
        times = ", ".join(f"{name} {format_seconds(value)}" for name, value in durations.items())
        summary = f"{bandwidth.value / 1e9:.3g} GB/s from memory ({spread}), {times}"
        lines = [
            f"{self.machine.title}: {summary}, C_iter of {len(self.fits)} programs",
            f"kept in {self.path}" if self.path else "not kept",
            f"the ranking of {self.subject}, every parameter moved by 20 %:",
        ]
        if self.unstable:
            lines.insert(2, f"unstable: {', '.join(self.unstable)}; calibrate again when nothing else runs")
        if self.left_out:
            lines.insert(2, f"not measured, since the time was up: {', '.join(self.left_out)}; give --seconds more")
        for each in self.sensitivity:
            tau = min(each.tau_down, each.tau_up)
            verdict = "insensitive" if each.insensitive else f"Kendall's tau {tau:.3f}, loses {each.loss:.1%}"
            lines.append(f"  {each.parameter:<16} {verdict}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Measured(Record):
    """What was measured of a disk or a network."""

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


def calibrate(
    programs: Sequence[str] | None = None,
    *,
    backend: str = "auto",
    output: str | Path | None = None,
    quick: bool = False,
    thorough: bool = False,
    seconds: float | None = None,
    note: Callable[[str], None] | None = None,
    progress: bool | None = None,
) -> Calibration:
    """Measure this machine's parameters with micro-benchmarks and C_iter with random small instances, each twice.

    Nothing else in tilewright measures unasked: until this is called, ``host`` is what the CPU says about itself.

    Args:
        programs: Names of built-in programs whose C_iter is measured; by default the papers' and the benchmarks', and
            on a processor without ``quick`` others with many reads.
        backend: ``auto`` or ``c`` for this machine's processor; ``opencl`` or ``cuda``, perhaps with a device, for a
            GPU.
        output: A machine file to write in place of the user's store.
        quick: Fewer samples and instances, and on a processor fewer programs.
        thorough: More samples and instances on a processor: some three minutes in place of one and a half on two
            cores.
        seconds: Time for the instances of all programs, on a GPU; by default 150, 60 with ``quick``, and 75 or 30
            where a processor is behind OpenCL. A program gets fewer instances where its share is spent, and none where
            nothing is left.
        note: Called with a line about what goes on.
        progress: Whether to show a progress bar for a processor; by default where standard error is a terminal.

    Returns:
        The calibration. What is kept in the user's store is what the machine ``host`` is from now on, as long as
        the CPU, the number of usable cores and the compiler stay the same. A GPU's machine file is named after it.

    Raises:
        UsageError: If a program is unknown or cannot be tiled in time, or there is no such backend.
        ToolchainError: If there is no compiler that works.
    """
    say = note or (lambda _: None)
    target = None if output is None else _target(Path(output))
    refusal = "the backend of a calibration is one of auto, c, opencl and cuda"
    where = read_target(backend, among=("auto", "c", "opencl", "cuda"), refusal=refusal)
    unasked = DEFAULT_PROGRAMS if quick or where.on_device else (*DEFAULT_PROGRAMS, *OTHER_PROGRAMS)
    chosen = tuple(_tileable(name) for name in dict.fromkeys(programs or unasked))
    if quick and thorough:
        raise UsageError("a calibration is quick or thorough, not both")
    if where.on_device:
        if thorough:
            raise UsageError("only the calibration of a processor can be thorough", "give a GPU's more --seconds")
        if seconds is not None and not 0 < seconds < math.inf:
            raise UsageError(f"the seconds of a calibration are a positive number, got {seconds!r}")
        machine, fits = _gpu(chosen, open_device(where), quick, seconds, say)
    else:
        if seconds is not None:
            raise UsageError("only the calibration of a GPU has a time limit", "use --quick, or name programs")
        protocol = runtime.QUICK if quick else runtime.THOROUGH if thorough else runtime.USUAL
        with bar("calibrating", progress) as update:
            machine, fits = _cpu(chosen, protocol, update, say)
        machine = replace(machine, **{name: getattr(hosts.host(), name) for name in _KEPT})
    first, shape = chosen[0], _SHAPES[chosen[0].rank]
    parameters = _GPU_MEASURED if where.on_device else None
    return Calibration(
        machine=machine,
        path=_keep(machine, target),
        fits=fits,
        left_out=tuple(program.name for program in chosen if program.name not in fits),
        sensitivity=sensitivity(first, shape=shape, steps=_STEPS, machine=machine, parameters=parameters),
        subject=f"{first.name} {format_shape(shape)}, {_STEPS} steps",
    )


def _cpu(
    chosen: Sequence[Program], protocol: runtime.CpuProtocol, update: Update, say: Callable[[str], None]
) -> tuple[Machine, dict[str, Fit]]:
    """Measure this machine's processor; return it with the fits of C_iter in tiles, by program."""
    # Everything is written and compiled before C_iter is measured, by as many worker processes as there are processors.
    tools = toolchain()
    machine = runtime.measure_machine(tools, protocol, say)
    drawn = [draw(program, machine, protocol) for draw in runtime.SERIES for program in chosen]
    every = [*(series for series in drawn if series is not None), *runtime.together_series(chosen, machine, tools)]
    position, total = 0, (1 + fitting.TURNS) * len(every)

    def begin(text: str, count: int = 1) -> None:
        nonlocal position
        say(text)
        update(position, total, text)
        position += count

    kernels: list[tuple[CompiledKernel, ...]] = []
    with pool(available_cpus()) as processes:
        size = _COMPILED_TOGETHER * available_cpus()
        for first in range(0, len(every), size):
            batch = every[first : first + size]
            begin(f"compiling {', '.join(dict.fromkeys(each.program.name for each in batch))}", len(batch))
            replies = processes.map(compiled, [(each.kernels, tools) for each in batch], _COMPILE_SECONDS)
            for each, reply in zip(batch, replies, strict=True):
                artifact = reply.value if reply.outcome is Outcome.OK else compiled(each.kernels, tools)
                kernels.append(load_stencils(artifact))

    def timer(series: runtime.Series, functions: tuple[CompiledKernel, ...]) -> tuple[fitting.Timing, ...]:
        begin(series.title)
        return runtime.timed(series, functions, machine)

    timings = fitting.in_turns(
        [functools.partial(timer, *each) for each in zip(every, kernels, strict=True)],
        [runtime.CHOSEN[series.kind] for series in every],
    )

    def instances(kind: str) -> dict[str, tuple[fitting.Instance, ...]]:
        pairs = zip(every, timings, strict=True)
        return {each.program.name: runtime.instances(each, its, machine) for each, its in pairs if each.kind == kind}

    fits = {name: fitting.fitted(many) for name, many in instances("tiles").items()}
    without = {name: fitting.fitted(many) for name, many in instances("none").items()}
    machine = fitting.with_sweeps(fitting.with_programs(machine, fits), without)
    machine = runtime.outer_again(machine, tools, protocol)
    streams = {name: many for name, many in instances("streaming").items() if len(many) > 1}
    machine = fitting.with_streams(*fitting.fitted_streams(machine, streams))
    machine = fitting.with_exposed(machine, itertools.chain.from_iterable(instances("together").values()))
    return runtime.measured_again(machine, tools, protocol), fits


def compiled(pairs: Sequence[tuple[Problem, Tiling]], tools: Toolchain) -> Artifact[tuple[StencilLayout, ...]]:
    """Write and compile the kernels of a series, in a worker process."""
    return compile_source(emit_tilings(pairs), tools)


def _gpu(
    chosen: Sequence[Program], device: Device, quick: bool, seconds: float | None, say: Callable[[str], None]
) -> tuple[Machine, dict[str, Fit]]:
    """Measure a GPU; return it with the fits of C_iter, by program."""
    if not device.describe().gpu:
        say(f"{device.name} is no GPU: the instances are small, and the values are its own, no GPU's")
    protocol = devices.protocol_for(device, quick=quick)
    if seconds is not None:
        protocol = replace(protocol, seconds=seconds)
    machine = devices.measure_machine(device, protocol, say)
    measured = devices.measure_programs(chosen, machine, device, gpu_schedule, protocol, say)
    fits = {name: fitting.fitted(instances) for name, instances in measured.items()}
    count, said = protocol.instances, f", {devices.whose(device)}"
    return fitting.entered(machine, fits, "compute-only random instances", wanted=count, said=said), fits


def sensitivity(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike = "host",
    share: float = 0.2,
    parameters: Sequence[str] | None = None,
) -> tuple[Sensitivity, ...]:
    """Say how much the predicted ranking of a problem's tilings depends on each parameter of a machine.

    Args:
        program: A stencil, a program, or the name of a built-in one.
        shape: Extents of the grid.
        steps: Time steps.
        machine: The machine.
        share: By how much every parameter is moved, up and down.
        parameters: Names of parameters; by default those that a calibration measures, ``c_iter`` among them.

    Returns:
        One result per parameter, the one that matters most first.

    Raises:
        UsageError: If anything is unknown or does not fit.
    """
    chosen, base = as_program(program), as_machine(machine)
    names, entry = parameters, entry_name(chosen, base)
    if names is None:
        own = base.iteration_seconds(entry, "row") is not None
        entries: tuple[str, ...] = ("c_iter",) if base.iteration_seconds(entry) else ("flop_cycles", "load_cycles")
        entries += ("c_iter streaming",) if base.iteration_seconds(entry, "streaming") else ()
        entries += ("c_iter row",) if own else ()
        left = [name for name in _MEASURED if not (own and name == "row_seconds")]
        names = (*entries, *(name for name in left if getattr(base, name) is not None))
    return sensitivities(base, entry, names, _times(make_problem(chosen, shape, steps)), share)


def _times(problem: Problem) -> Callable[[Machine], Floats]:
    """Return what predicts the times of a problem's tilings, in one order whatever the machine; inf for unfit ones."""
    # On a GPU they are a coarse grid: a full one has hundreds of thousands.
    order: list[tuple[object, ...]] = []

    def evaluate(where: Machine) -> Floats:
        setting = make_setting(problem, where)
        seconds: dict[tuple[object, ...], float] = {}
        for family in families_of(problem, setting, "exact"):
            sizes, result = evaluated(setting, family, "exact", coarse=not setting.cpu)
            columns = (sizes.time, sizes.k, *sizes.space, *sizes.threads)
            points = zip(*(each.tolist() for each in columns), strict=True)
            seconds |= dict(zip(((family, *point) for point in points), result.seconds.tolist(), strict=True))
        if not order:
            order.extend(seconds)
        return np.array([seconds.get(point, np.inf) for point in order])

    return evaluate


def _tileable(name: str) -> Program:
    """Return a built-in program that time tiles can cut: the others have no use for C_iter."""
    program = catalogue.program(name)
    verdict = untileable(make_problem(program, (64,) * program.rank, 2))
    if verdict:
        raise UsageError(f"C_iter of {name!r} is not calibrated: {verdict.reason}")
    return program


def calibrate_disk(folder: str | Path, output: str | Path | None = None) -> Measured:
    """Measure a folder's disk by a file of 256 MiB, deleted after, and keep its bandwidths with ``host``."""
    return _measured_machine(disk_bandwidths(Path(folder)), output)


def calibrate_network(comm: Any = None, output: str | Path | None = None) -> Measured | None:  # noqa: ANN401
    """Measure latency and bandwidth between ranks, all of which call this, for ``host``; None but on the first rank."""
    if comm is None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError):
            raise UsageError("messages between ranks need mpi4py and an MPI", "pip install 'tilewright[mpi]'") from None
        comm = MPI.COMM_WORLD
    values = network(comm)
    return _measured_machine(values, output) if comm.Get_rank() == 0 else None


def _measured_machine(values: dict[str, Quantity], output: str | Path | None) -> Measured:
    machine = replace(hosts.host(), **values)  # type: ignore[arg-type]  # (names of its quantities)
    return Measured(machine=machine, path=_keep(machine, None if output is None else Path(output)), found=values)


def _keep(machine: Machine, target: Path | None) -> Path | None:
    """Write a machine to a file, by default in the user's store; return where it lies, None where it cannot."""
    if target is None:
        target = hosts.keep(machine)
    else:
        write_text(target, to_toml(machine))
    memo.forget()
    return target


def _target(path: Path) -> Path:
    if path.suffix != ".toml":
        raise UsageError(f"a machine file ends with .toml, got {str(path)!r}")
    check_place(path)
    return path


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

        def write(first: int) -> None:
            file.write(first, part)
            file.sync()

        def part_by_part(move: Callable[[int], object]) -> Callable[[], Sampler]:
            firsts = iter(range(0, rows, len(part)))
            return lambda: lambda: part.nbytes / seconds_of(functools.partial(move, next(firsts)))

        note = f"parts of a file of {format_bytes(rows * _ROW_BYTES)}, "
        written = part_by_part(write)
        read = part_by_part(lambda first: file.read(first, first + len(part), part))
        bandwidths = quantities(
            (
                Probe("disk_write_bandwidth", written, note + "until they are on the disk"),
                Probe("disk_read_bandwidth", read, note + "dropped from the page cache before"),
            ),
            _SAMPLES,
        )
        file.close()
    except OSError as error:
        raise ArrayError(f"the disk of {str(folder)!r} cannot be measured: {error.strerror or error}") from None
    finally:
        path.unlink(missing_ok=True)
    return dict(sorted(bandwidths.items()))


def network(comm: Any) -> dict[str, Quantity]:  # noqa: ANN401  (a communicator of mpi4py)
    """Measure messages between the first and the last rank, half of there and back; every rank calls this."""
    size = comm.Get_size()
    if size < 2:
        raise UsageError(
            "messages are measured between two ranks, and there is one", "mpiexec -n 2 tilewright calibrate --network"
        )

    def short() -> float:
        return _there_and_back(comm, 1, _ROUNDS)

    def large() -> float:
        return _LARGE_MESSAGE / _there_and_back(comm, _LARGE_MESSAGE, 4)

    latency = Probe("network_latency", lambda: short, f"one byte between the first and the last of {size} ranks")
    bandwidth = Probe("network_bandwidth", lambda: large, f"{format_bytes(_LARGE_MESSAGE)} between the same")
    result: dict[str, Quantity] = comm.bcast(quantities((latency, bandwidth), _SAMPLES), root=0)
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

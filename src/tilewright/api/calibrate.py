"""``tw.calibrate``: this machine's parameters measured, with their spread, and how much each of them matters."""

import functools
import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tilewright.api import memo
from tilewright.api.gpu import is_gpu, open_device
from tilewright.api.predict import MachineLike, as_machine, evaluated, families_of, select
from tilewright.api.stencil import ProgramLike, as_program
from tilewright.base.errors import UsageError
from tilewright.base.units import format_seconds
from tilewright.costs.arrays import Floats
from tilewright.costs.fit import Fit
from tilewright.costs.setting import make_setting
from tilewright.machines.machine import Machine
from tilewright.programs import catalogue
from tilewright.programs.problem import Problem, make_problem
from tilewright.programs.stencil import Program
from tilewright.runtime import calibrate_gpu as devices
from tilewright.runtime.files import check_place
from tilewright.runtime.gpu import Device
from tilewright.tilings.legality import untileable
from tilewright.tilings.tiling import Tiling
from tilewright.tuning.sensitivity import Sensitivity, sensitivities

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
_GPU_MEASURED = ("c_iter", "dram_bandwidth", "barrier_seconds", "launch_seconds")
_SHAPES: dict[int, tuple[int, ...]] = {1: (1 << 24,), 2: (4096, 4096), 3: (256, 256, 256)}
_STEPS = 256
_SPREAD = 0.35
"""A range, of the 5th to 95th percentile and of what was found at the end, wider than this share is called unstable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a calibration found.

    Attributes:
        machine: The machine with what was measured.
        path: The machine file, or None if it could not be written.
        fits: The fit of C_iter, by program.
        left_out: Programs whose C_iter was asked for and not measured: the time was up.
        sensitivity: What the ranking of the first program's tilings depends on.
        subject: The problem of the sensitivity, in words.
    """

    machine: Machine
    path: Path | None
    fits: dict[str, Fit]
    left_out: tuple[str, ...] = ()
    sensitivity: tuple[Sensitivity, ...]
    subject: str

    @property
    def unstable(self) -> tuple[str, ...]:
        """Parameters whose samples spread too far to be trusted: something else ran at the same time."""
        names = (
            "dram_bandwidth",
            "core_bandwidth",
            "cache_bandwidth",
            "outer_bandwidth",
            "launch_seconds",
            "call_seconds",
            *(("barrier_seconds", "shared_bandwidth") if self.machine.kind == "gpu" else ()),
        )
        known = [(name, getattr(self.machine, name)) for name in names]
        return tuple(name for name, q in known if q is not None and (q.high or 0) - (q.low or 0) > _SPREAD * q.value)

    def to_dict(self) -> dict[str, object]:
        """Return the calibration as plain data, the JSON document of ``tilewright calibrate``."""
        return {
            "machine": self.machine.to_dict(),
            "path": None if self.path is None else str(self.path),
            "unstable": list(self.unstable),
            "left_out": list(self.left_out),
            "sensitivity": {"problem": self.subject, "parameters": [each.to_dict() for each in self.sensitivity]},
        }

    def __str__(self) -> str:
        bandwidth = self.machine.dram_bandwidth
        spread = f"{(bandwidth.low or 0) / 1e9:.3g} to {(bandwidth.high or 0) / 1e9:.3g}"
        known = {"barrier": self.machine.launch_seconds.value}
        if self.machine.kind == "gpu":
            known = {
                "a call": self.machine.launch_seconds.value,
                "a block's barrier": self.machine.barrier_seconds.value,
            }
        times = ", ".join(f"{what} {format_seconds(value)}" for what, value in known.items())
        found = f"{bandwidth.value / 1e9:.3g} GB/s from memory ({spread}), {times}"
        lines = [
            f"{self.machine.title}: {found}, C_iter of {len(self.fits)} programs",
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

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def calibrate(
    programs: Sequence[str] | None = None,
    *,
    backend: str = "auto",
    output: str | Path | None = None,
    quick: bool = False,
    seconds: float | None = None,
    note: Callable[[str], None] | None = None,
) -> Calibration:
    """Measure this machine's parameters with micro-benchmarks and C_iter with random small instances, each twice.

    Nothing else in tilewright measures unasked: until this is called, ``host`` is what the CPU says about itself.

    Args:
        programs: Names of built-in programs whose C_iter is measured; by default the papers' and the benchmarks', and
            on a processor without ``quick`` others with many reads.
        backend: ``auto`` or ``c`` for this machine's processor; ``opencl`` or ``cuda``, perhaps with a device, for a
            GPU.
        output: A machine file to write in place of the user's store.
        quick: Fewer samples and instances.
        seconds: Time for the instances of all programs, on a GPU; by default 150, 60 with ``quick``, and 75 or 30
            where a processor is behind OpenCL. A program gets fewer instances where its share is spent, and none where
            nothing is left.
        note: Called with a line about what goes on.

    Returns:
        The calibration. What is kept in the user's store is what the machine ``host`` is from now on, as long as
        the CPU, the number of usable cores and the compiler stay the same. A GPU's machine file is named after it.

    Raises:
        UsageError: If a program is unknown or cannot be tiled in time, or there is no such backend.
        ToolchainError: If there is no compiler that works.
    """
    from tilewright.runtime import calibrate as runtime
    from tilewright.runtime import calibrate_fits, hosts
    from tilewright.runtime.toolchain import toolchain

    say = note or (lambda _: None)
    target = None if output is None else _target(Path(output))
    unasked = DEFAULT_PROGRAMS if quick or is_gpu(backend) else (*DEFAULT_PROGRAMS, *OTHER_PROGRAMS)
    chosen = tuple(_tileable(name) for name in programs or unasked)
    if is_gpu(backend):
        if seconds is not None and not 0 < seconds < math.inf:
            raise UsageError(f"the seconds of a calibration are a positive number, got {seconds!r}")
        device = open_device(backend)
        how = devices.protocol_for(device, quick=quick)
        return calibrate_gpu(chosen, device, how if seconds is None else replace(how, seconds=seconds), target, say)
    if backend not in {"auto", "c"}:
        raise UsageError(f"the backend of a calibration is one of auto, c, opencl and cuda, got {backend!r}")
    if seconds is not None:
        raise UsageError("only the calibration of a GPU has a time limit", "use --quick, or name programs")
    tools = toolchain()
    protocol = runtime.QUICK if quick else runtime.FULL
    machine = runtime.measure_machine(tools, protocol, say)

    def measured(program: Program, *, tiled: bool) -> tuple[calibrate_fits.Instance, ...]:
        say(f"C_iter of {program.name}{'' if tiled else ' without tiles'}")
        return runtime.measure_program(program, machine, tools, protocol, tiled=tiled)

    def streamed(program: Program) -> tuple[calibrate_fits.Instance, ...]:
        say(f"C_iter of {program.name} in streaming tiles")
        return runtime.measure_streams(program, machine, tools, protocol)

    tiles = calibrate_fits.in_turns(chosen, functools.partial(measured, tiled=True))
    sweeps = calibrate_fits.in_turns(chosen, functools.partial(measured, tiled=False))
    fits = {name: calibrate_fits.fitted(instances) for name, instances in tiles.items()}
    without = {name: calibrate_fits.fitted(instances) for name, instances in sweeps.items()}
    machine = calibrate_fits.with_sweeps(calibrate_fits.with_programs(machine, chosen, tuple(fits.values())), without)
    found = calibrate_fits.in_turns(chosen, streamed)
    streams = {name: instances for name, instances in found.items() if len(instances) > 1}
    machine = calibrate_fits.with_streams(*calibrate_fits.fitted_streams(machine, streams))
    machine = runtime.measured_again(machine, tools, protocol)
    if target is None:
        target = hosts.keep(machine)
    else:
        hosts.write(machine, target)
    memo.forget()
    first = chosen[0]
    shape = _SHAPES[first.rank]
    return Calibration(
        machine=machine,
        path=target,
        fits=fits,
        sensitivity=sensitivity(first, shape=shape, steps=_STEPS, machine=machine),
        subject=f"{first.name} {'x'.join(map(str, shape))}, {_STEPS} steps",
    )


def calibrate_gpu(
    chosen: Sequence[Program],
    device: Device,
    protocol: devices.Protocol,
    target: Path | None,
    say: Callable[[str], None],
) -> Calibration:
    """Measure a GPU's parameters; see :func:`calibrate`."""
    from tilewright.runtime import calibrate_fits, hosts

    if not device.describe().gpu:
        say(f"{device.name} is no GPU: the instances are small, and the values are its own, no GPU's")
    machine = devices.measure_machine(device, protocol, say)
    measured = devices.measure_programs(chosen, machine, device, protocol, say)
    fits = {name: calibrate_fits.fitted(instances) for name, instances in measured.items()}
    machine = devices.with_programs(machine, fits, devices.whose(device), protocol.instances)
    if target is None:
        target = hosts.keep(machine)
    else:
        hosts.write(machine, target)
    first = chosen[0]
    shape = _SHAPES[first.rank]
    return Calibration(
        machine=machine,
        path=target,
        fits=fits,
        left_out=tuple(program.name for program in chosen if program.name not in fits),
        sensitivity=sensitivity(first, shape=shape, steps=_STEPS, machine=machine, parameters=_GPU_MEASURED),
        subject=f"{first.name} {'x'.join(map(str, shape))}, {_STEPS} steps",
    )


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
    names = parameters
    if names is None:
        own = base.iteration_seconds(chosen.name, "row") is not None
        known: tuple[str, ...] = ("c_iter",) if base.iteration_seconds(chosen.name) else ("flop_cycles", "load_cycles")
        known += ("c_iter streaming",) if base.iteration_seconds(chosen.name, "streaming") else ()
        known += ("c_iter row",) if own else ()
        left = [name for name in _MEASURED if not (own and name == "row_seconds")]
        names = (*known, *(name for name in left if getattr(base, name) is not None))
    if base.kind == "gpu":
        return sensitivities(base, chosen.name, names, _coarse(make_problem(chosen, shape, steps)), share)
    order: list[Tiling] = []

    def evaluate(where: Machine) -> Floats:
        every = select(chosen, shape=shape, steps=steps, machine=where, within=None)
        seconds = {each.tiling: each.costs.seconds for each in every}
        if not order:
            order.extend(seconds)
        return np.array([seconds.get(tiling, np.inf) for tiling in order])

    return sensitivities(base, chosen.name, names, evaluate, share)


def _coarse(problem: Problem) -> Callable[[Machine], Floats]:
    """Return what predicts the times of a coarse grid of a GPU's tilings: a full one has hundreds of thousands."""

    def evaluate(where: Machine) -> Floats:
        setting = make_setting(problem, where)
        families = families_of(problem, setting, "exact")
        return np.concatenate([evaluated(setting, family, "exact", coarse=True)[1].seconds for family in families])

    return evaluate


def _tileable(name: str) -> Program:
    """Return a built-in program that time tiles can cut: the others have no use for C_iter."""
    program = catalogue.program(name)
    verdict = untileable(make_problem(program, (64,) * program.rank, 2))
    if verdict:
        raise UsageError(f"C_iter of {name!r} is not calibrated: {verdict.reason}")
    return program


def _target(path: Path) -> Path:
    if path.suffix != ".toml":
        raise UsageError(f"a machine file ends with .toml, got {str(path)!r}")
    check_place(path)
    return path

"""Kernels written to files: C with a header, or CUDA or OpenCL with a host program that runs them."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.paths import make_folder, write_text
from tilewright.base.records import Record
from tilewright.base.tables import Shown
from tilewright.codegen.export import HostRun, banner, header, host_program
from tilewright.codegen.gpu.emit import launches, newest
from tilewright.codegen.gpu.site import DeviceLayout, dated
from tilewright.codegen.print.base import MARK
from tilewright.codegen.source import KernelSource
from tilewright.driver import emit, emit_tiling
from tilewright.plan import Plan, read_target
from tilewright.planner import plans
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.tiling import Tiling

DIALECTS = {".c": "c", ".cu": "cuda", ".cl": "opencl"}  # dialects of kernels by how their file ends
_HEAD = 1000  # characters of a file among which the mark of what was written here stands


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelText:
    """A tiling of a problem whose kernels are written."""

    problem: Problem  # what is computed
    tiling: Tiling
    strict: bool  # whether the order of operations is kept
    program: Program  # as it was given; scalars that came as arrays are coefficient fields of the problem's
    scalars: Mapping[str, Any]  # values of scalars for a host program
    expected: str  # what a model expects, as a phrase
    decision: Plan | None = None  # how a GPU computes it, where that is decided already

    def banner(self) -> str:
        """Return the comment that the kernels' text starts with."""
        return banner(self.problem, self.tiling, self.expected)

    def on_device(self, dialect: str) -> Plan:
        """Return the decision for a GPU."""
        if self.decision is not None and self.decision.target.backend == dialect:
            return self.decision
        (plan,) = plans(self.problem, read_target(dialect), self.tiling, strict=self.strict)
        return plan

    def _on_cpu(self) -> Problem:
        """Return what a kernel in C computes, of as many steps as it is asked for: periodic copies are not among it."""
        (plan,) = plans(self.problem, read_target("c"), self.tiling, strict=self.strict, copies=False)
        return self.problem if plan.block is None or plan.block.wider else plan.computed

    @staticmethod
    def device_source(decision: Plan) -> KernelSource[DeviceLayout]:
        """Return the kernels for a GPU, without the banner."""
        source = emit(decision)
        assert source is not None  # noqa: S101  (of a GPU there is always one)
        return source

    def texts(self, target: Path, *, alone: bool = False) -> dict[Path, str]:
        """Return what belongs into a file and, unless it stands alone, beside it: a header, or a host program."""
        if target.suffix not in DIALECTS:
            raise UsageError(f"kernels are exported to a file that ends in {', '.join(DIALECTS)}, got {target.name!r}")
        if target.suffix == ".c":
            form = self._on_cpu()
            unit = emit_tiling(form, self.tiling, strict=self.strict)
            kernels = {target: self.banner() + unit.text}
            return kernels if alone else kernels | {target.with_suffix(".h"): header(unit, form, self.tiling)}
        dialect = DIALECTS[target.suffix]
        decision = self.on_device(dialect)
        source = self.device_source(decision)
        source = replace(source, text=self.banner() + source.text)
        if alone:
            return {target: source.text}
        end = ".cu" if dialect == "cuda" else ".c"
        host = host_program(source, self._host_run(decision, source.layout.copies), target.name)
        return {target: source.text, target.with_name(f"{target.stem}_main{end}"): host}

    def _host_run(self, decision: Plan, copies: Sequence[int]) -> HostRun:
        """What an exported host program runs: all steps, or with periodic copies those before the copies are stale."""
        from tilewright.runtime.devices.gpu import looked_up, memory_shape, repeated_steps, slot_elements

        whole, schedule, halo = decision.computed, decision.schedule, decision.block
        assert isinstance(schedule, GpuSchedule)  # noqa: S101  (no other device is asked for)
        steps = self.problem.steps if halo is None else min(self.problem.steps, halo.problem.steps)
        scalars = dict.fromkeys(self.program.scalars, 0) | dict(self.program.defaults) | dict(self.scalars)
        portion = steps if dated(whole) or not steps else repeated_steps(whole, schedule, copies, steps)
        turns, rest = divmod(steps, portion) if portion else (0, 0)
        room = memory_shape(whole, schedule)
        return HostRun(
            problem=whole,
            shape=self.problem.shape,
            below=tuple(low for low, _ in halo.around) if halo else (0,) * len(self.problem.shape),
            room=room,
            slot=slot_elements(room),
            steps=steps,
            newest=newest(whole, schedule, steps),
            turns=turns,
            repeated=list(launches(whole, schedule, portion)) if portion else [],
            rest=list(launches(whole, schedule, rest)) if rest else [],
            scalars=[scalars[name] for name in self.program.scalars if name not in self.problem.varying],
            table=looked_up(self.problem, halo, scalars, steps),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Exported(Record):
    """What became of tilings whose kernels were to be written."""

    tilings: tuple[Tiling, ...]  # those that were written, in order
    files: tuple[Path, ...]  # with what lies beside the file that a single tiling was given
    left_out: tuple[tuple[Tiling, str], ...]  # those without such code, and why, in one sentence

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "files": [
                {"tile": str(tiling), "file": str(file)} for tiling, file in zip(self.tilings, self.files, strict=False)
            ],
            "left_out": [{"tile": str(tiling), "reason": reason} for tiling, reason in self.left_out],
        }

    def shown(self) -> Shown:
        """Return what people read."""
        written = (f"{tile}: {file}" for tile, file in zip(self.tilings, self.files, strict=False))
        return (*written, *(f"no code of {tile}: {reason}" for tile, reason in self.left_out))


def export(kernels: Sequence[KernelText], path: str | Path, dialect: str) -> Exported:
    """Write kernels to a folder, in files named for their tilings, or to a file, whose name begins those of several."""
    folder = Path(path) if _is_folder(path) else None
    ending = Path(path).suffix if folder is None else next(end for end, kind in DIALECTS.items() if kind == dialect)
    where, ends = ("a CPU", (".c",)) if dialect == "c" else ("a GPU", (".cu", ".cl"))
    if ending not in ends:
        listing = " or ".join(ends)
        raise UsageError(f"kernels for {where} are exported to a file that ends in {listing}, got {Path(path).name!r}")
    texts: dict[Path, str] = {}
    tilings: list[Tiling] = []
    left: list[tuple[Tiling, str]] = []
    for kernel in kernels:
        name = f"{file_name(kernel.tiling)}{ending}"
        target = folder / f"{kernel.problem.program.name}-{name}" if folder else Path(path)
        if folder is None and len(kernels) > 1:
            target = target.with_name(f"{target.stem}-{name}")
        try:
            texts |= kernel.texts(target, alone=folder is not None or len(kernels) > 1)
        except (IllegalTilingError, UsageError) as error:
            if not tilings and kernel is kernels[-1]:
                raise
            left.append((kernel.tiling, str(error)))
            continue
        tilings.append(kernel.tiling)
    _check_replaceable(texts)
    if folder is not None and texts:
        make_folder(folder)
    return Exported(tilings=tuple(tilings), files=write(texts), left_out=tuple(left))


def write(texts: Mapping[Path, str]) -> tuple[Path, ...]:
    """Write texts to their files, which are replaced."""
    for path, text in texts.items():
        write_text(path, text)
    return tuple(texts)


def _check_replaceable(paths: Iterable[Path]) -> None:
    """Refuse to write to what is there and was not written here."""
    for path in paths:
        if path.exists() and not (path.is_file() and MARK in _start(path)):
            raise UsageError(
                f"{str(path)!r} is there and was not exported by tilewright", "give another name, or remove it first"
            )


def _start(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_HEAD)


def _is_folder(target: str | Path) -> bool:
    """Whether a target names a folder, there or not: anything whose name does not end as a file's does."""
    return str(target).endswith(("/", os.sep)) or not Path(target).suffix or Path(target).is_dir()


def file_name(tiling: Tiling) -> str:
    """Return a tiling as part of a file's name.

    >>> from tilewright.schedules.tiling import parse
    >>> file_name(parse("streaming:t=10,s=342x746,threads=1x128"))
    'streaming-t10-s342x746-threads1x128'
    """
    return re.sub(r"[:,]", "-", str(tiling)).replace("=", "")

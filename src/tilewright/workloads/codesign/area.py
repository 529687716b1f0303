"""Silicon area of a GPU: thesis of Prajapati, appendix C, equations (C.4) to (C.6), and ``tilewright area``.

Every coefficient comes from a machine file. The L2 intercept counts once per SM: (C.6) misprints it as once per chip,
which (C.7) and every printed area contradict. (C.7) is the model ``published``: the same with truncated coefficients,
and with the intercepts of the memories gathered into those of the vector units and of the SMs.

Areas are in mm^2, memories in kB of 1024 bytes: registers per vector unit, shared memory per SM, L1 per pair of SMs,
L2 per chip. Every quantity of a chip may be an array; arrays broadcast.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from tilewright.base.documents import Check, read_rows
from tilewright.base.errors import UsageError, one_of
from tilewright.base.records import Record
from tilewright.base.tables import Shown
from tilewright.costs.arrays import Floats
from tilewright.machines import files
from tilewright.machines.machine import Machine
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.codesign import report

KB = 1024
MODELS = ("exact", "published")
PRINTED: Mapping[str, float] = {
    "vector_unit": 0.0447,
    "register_kb": 0.0043,
    "register": 0.0,
    "shared_kb": 0.015,
    "shared": 0.0,
    "l1_kb": 0.16,
    "l1": 0.0,
    "l2_kb": 0.041,
    "l2": 0.0,
    "overhead": 7.317,
}
"""What (C.7) has in place of a machine's own, in mm^2 and mm^2 per kB."""
Number = float | Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """The elementary hardware parameters that the area depends on; numbers or arrays that broadcast."""

    sm_count: Number  # n_SM
    vector_width: Number  # n_V, vector units per SM
    register_kb: Number  # R_VU, register file per vector unit
    shared_kb: Number  # M_SM, shared memory per SM
    l1_pair_kb: Number = 0.0  # L1 cache per pair of SMs; 0 for none
    l2_kb: Number = 0.0  # L2 cache of the chip; 0 for none
    # GB/s between chip and memory, or None for that of the machine behind the coefficients
    bandwidth: Number | None = None

    def without_caches(self) -> "Chip":
        """Return the chip with its L1 and L2 removed."""
        return dataclasses.replace(self, l1_pair_kb=0.0, l2_kb=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaCoefficients:
    """The area model's coefficients, in mm^2 and mm^2 per kB; :data:`AREA_PARAMETERS` says what each is.

    The last three charge what the thesis leaves out: bandwidth other than ``stock_bandwidth`` (GB/s), and with a width
    cost an SM that is wider than ``stock_width``, where both are zero.
    """

    vector_unit: float
    register_kb: float
    register: float
    shared_kb: float
    shared: float
    l1_kb: float
    l1: float
    l2_kb: float
    l2: float
    overhead: float
    stock_bandwidth: float
    stock_width: float
    bandwidth: float = 0.0
    issue: float = 0.0
    network: float = 0.0

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the coefficients proper."""
        return tuple(field.name for field in dataclasses.fields(cls) if not field.name.startswith("stock_"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The area of a chip, mm^2 per part; numbers or arrays of one shape."""

    vector_units: Floats  # core logic, n_SM n_V beta_VU
    registers: Floats  # register files
    shared: Floats  # shared memories
    l1: Floats  # L1 caches
    l2: Floats  # L2 cache
    overhead: Floats  # I/O, routing, schedulers and whatever else is proportional to n_SM
    interface: Floats  # what the bandwidth costs beyond the stock machine's; below 0 for less bandwidth
    width: Floats  # what the width of the SMs costs beyond the stock machine's, 0 unless asked for

    @property
    def total(self) -> Floats:
        """A_tot, the sum of the parts."""
        return np.asarray(sum(getattr(self, field.name) for field in dataclasses.fields(self)))

    def to_dict(self) -> dict[str, float]:
        """Return the parts of one chip as plain numbers."""
        return {field.name: float(getattr(self, field.name)) for field in dataclasses.fields(self)}


def coefficients(machine: Machine) -> AreaCoefficients:
    """Return the coefficients of a machine file."""
    if not machine.area:
        raise UsageError(
            f"{machine.name} has no area coefficients", "the Maxwell GPUs have: gtx980, titanx, gtx750; or add [area]"
        )
    # The interface is part of the overhead that was measured, so more bandwidth is relative to the peak.
    peak = machine.peak_dram_bandwidth or machine.dram_bandwidth
    return AreaCoefficients(
        stock_bandwidth=peak.value * 1e-9,
        stock_width=machine.vector_width.value,
        **{name: quantity.value for name, quantity in machine.area},
    )


def chip(machine: Machine, *, whole_die: bool = False) -> Chip:
    """Return a machine's elementary hardware parameters; ``whole_die`` counts what is disabled on the die as well."""
    if machine.kind != "gpu" or machine.registers is None:
        raise UsageError(f"the area model is for GPUs whose registers are known, {machine.name} is not one")
    sm_count, l2 = machine.sm_count, machine.l2_bytes
    if whole_die:
        sm_count, l2 = machine.die_sm_count or sm_count, machine.die_l2_bytes or l2
    return Chip(
        sm_count=sm_count.value,
        vector_width=machine.vector_width.value,
        register_kb=machine.registers.value * 4 / KB / machine.vector_width.value,
        shared_kb=machine.shared_bytes.value / KB,
        l1_pair_kb=2 * machine.l1_bytes.value / KB if machine.l1_bytes else 0.0,
        l2_kb=l2.value / KB if l2 else 0.0,
    )


def parts(
    chips: Chip, by: AreaCoefficients, *, model: str = "exact", width_cost: bool = False, factor: float = 1.0
) -> Parts:
    """Return the area of chips, per part: (C.6) at full precision, or as ``published`` (C.7), truncated."""
    one_of("the area model", model, MODELS)
    by = by if model == "exact" else dataclasses.replace(by, **PRINTED)
    sms, lanes = np.asarray(chips.sm_count, dtype=float), np.asarray(chips.vector_width, dtype=float)
    l1, l2 = np.asarray(chips.l1_pair_kb, dtype=float), np.asarray(chips.l2_kb, dtype=float)
    extra = 0.0 if chips.bandwidth is None else np.asarray(chips.bandwidth, dtype=float) - by.stock_bandwidth
    # Our extension: schedulers and the operand network grow with the width of an SM.
    wider = (lanes / by.stock_width - 1.0) * (by.issue + by.network * lanes) if width_cost else 0.0
    every = (
        sms * lanes * by.vector_unit,
        sms * lanes * (by.register_kb * np.asarray(chips.register_kb, dtype=float) + by.register),
        sms * (by.shared_kb * np.asarray(chips.shared_kb, dtype=float) + by.shared),
        sms / 2 * np.where(l1 > 0, by.l1_kb * l1 + by.l1, 0.0),
        np.where(l2 > 0, by.l2_kb * l2 + by.l2 * sms, 0.0),
        sms * by.overhead,  # of (C.7) its single constant per SM
        np.asarray(by.bandwidth * extra),
        sms * wider,
    )
    shaped = np.broadcast_arrays(*(part * factor for part in every))
    return Parts(**{field.name: part for field, part in zip(dataclasses.fields(Parts), shaped, strict=True)})


PROCESSES: Mapping[str, str] = {
    "none": "as on the process that the coefficients stand for",
    "optical": "every length shrinks with the name of the process, so areas go with its square",
    "density": "every part shrinks as the published transistors per mm^2 of the whole dies grow",
}
"""The named assumptions of scaling to another process."""


def process_factor(machine: Machine, reference: Machine, assumption: str) -> float:
    """Return the factor between areas on a machine's process and on a reference's.

    The thesis warns that going to FinFETs is no optical shrink (section C.2.3), hence names, not a default: see
    :data:`PROCESSES`.
    """
    one_of("the process assumption", assumption, PROCESSES)
    if assumption == "none":
        return 1.0
    if assumption == "optical":
        return (_required_value(machine, "process") / _required_value(reference, "process")) ** 2
    return (_required_value(reference, "transistors") / _required_value(reference, "die_area")) / (
        _required_value(machine, "transistors") / _required_value(machine, "die_area")
    )


def _required_value(machine: Machine, name: str) -> float:
    quantity = getattr(machine, name)
    if quantity is None:
        raise UsageError(f"the machine {machine.name} has no {name}", "it has to be in its file for this assumption")
    return float(quantity.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line through points: a memory's area against its size."""

    slope: float  # mm^2 per kB, beta
    intercept: float  # mm^2, alpha
    residuals: tuple[float, ...]  # point minus line, in the points' order


def fit_line(points: Iterable[tuple[float, float]]) -> Line:
    """Fit a line through points of (kB, mm^2) by least squares (thesis, section C.2.2).

    >>> fit_line([(24, 1.0), (48, 2.0)]).residuals
    (0.0, 0.0)
    """
    pairs = np.array(list(points), dtype=float).reshape(-1, 2)
    if len(np.unique(pairs[:, 0])) < 2:
        raise UsageError(f"a line needs points at two sizes or more, got {len(pairs)}")
    size, area = pairs.T
    # Centred sums: exact for points on a line, and no matrix to invert.
    slope = float(np.dot(size - size.mean(), area - area.mean()) / np.dot(size - size.mean(), size - size.mean()))
    intercept = float(area.mean() - slope * size.mean())
    return Line(slope=slope, intercept=intercept, residuals=tuple((area - slope * size - intercept).tolist()))


MEMORIES = ("register", "shared", "l1", "l2")
"""What can be calibrated: per vector unit, per SM, per pair of SMs, and L2 per SM."""


def calibrated(by: AreaCoefficients, lines: Mapping[str, Line]) -> AreaCoefficients:
    """Return coefficients with those of some memories replaced by fitted lines, keyed by :data:`MEMORIES`."""
    changed = {f"{name}_kb": line.slope for name, line in lines.items()}
    return dataclasses.replace(by, **changed, **{name: line.intercept for name, line in lines.items()})


REFERENCE = "gtx980"  # whose coefficients are taken for machines without their own; a 28 nm process
_LARGEST_FILE = 2**20
Size = Annotated[float, Check("a number from 0 to 1e9", lambda value: 0 <= value < 1e9)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Area(Record):
    """The modelled area of one machine's die."""

    KEYS = (
        "machine mm2 parts coefficients process process_assumption=_assumption published_mm2=published error fits=lines"
    )

    machine: str  # name
    parts: Parts  # mm^2 per part
    coefficients: str  # whose they are
    process: str  # the assumption by which they were scaled to the machine's process
    published: float | None  # area of the die, mm^2
    lines: Mapping[str, Line]  # the fitted lines, by memory, where points were given

    @property
    def mm2(self) -> float:
        """The whole area."""
        return float(self.parts.total)

    @property
    def error(self) -> float | None:
        """Modelled over published, minus 1; None where nothing is published."""
        return None if self.published is None else self.mm2 / self.published - 1

    def _assumption(self) -> str:
        return PROCESSES[self.process]

    def shown(self) -> Shown:
        """Return what people read."""
        document = self.to_dict()
        return (report.area(document), *([report.fits(document)] if self.lines else []))


def area(
    machine: MachineLike,
    *,
    form: str = "exact",
    process: str = "none",
    caches: bool = True,
    width_cost: bool = False,
    points: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> Area:
    """Model the area of a machine's whole die, its disabled multiprocessors and caches included.

    Args:
        machine: A GPU; one without coefficients of its own is charged those of the GTX 980.
        form: ``exact`` is (C.6), ``published`` the truncated (C.7).
        process: The assumption of scaling to the machine's process: ``none``, ``optical`` or ``density``.
        caches: Count L1 and L2.
        width_cost: Charge the width of an SM, see :func:`parts`.
        points: Per memory (``register``, ``shared``, ``l1``, ``l2``) points of (kB, mm^2) whose line replaces the
            machine's coefficients; see :func:`read_points`.

    Returns:
        The area.

    Raises:
        UsageError: If it is no GPU, or an assumption lacks what it needs.

    Examples:
        >>> round(area("gtx980").mm2, 2), round(area("titanx", caches=False).mm2, 2)
        (397.99, 356.23)
    """
    gpu, reference = as_machine(machine), files.load(REFERENCE)
    die = chip(gpu, whole_die=True)
    lines = {name: fit_line(samples) for name, samples in (points or {}).items()}
    by = calibrated(coefficients(gpu if gpu.area else reference), lines)
    factor = process_factor(gpu, reference, process)
    return Area(
        machine=gpu.name,
        parts=parts(die if caches else die.without_caches(), by, model=form, width_cost=width_cost, factor=factor),
        coefficients=gpu.name if gpu.area else REFERENCE,
        process=process,
        published=gpu.die_area.value if gpu.die_area else None,
        lines=lines,
    )


def check() -> tuple[tuple[Area, ...], ...]:
    """Model every GPU of the catalogue whose die is published: per machine one area per assumption of ``PROCESSES``."""
    names = (name for name in files.names() if name != files.HOST and files.load(name).die_area)
    return tuple(tuple(area(name, process=process) for process in PROCESSES) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """A row of a file of calibration points."""

    memory: Annotated[str, Check(f"one of {', '.join(MEMORIES)}", lambda value: value in MEMORIES)]
    kb: Size
    mm2: Size


def read_points(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Read calibration points: CSV with the columns ``memory``, ``kb`` and ``mm2``, such as Cacti's estimates."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in read_rows(path, _LARGEST_FILE, "file of points", _Point):
        points.setdefault(row.memory, []).append((row.kb, row.mm2))
    if not points:
        raise UsageError(f"the points {str(path)!r} are empty")
    return points

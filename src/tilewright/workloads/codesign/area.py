"""``tilewright area``: the silicon of a GPU, part by part, and how far the model is off on published dies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tilewright.base.documents import Check, read_rows
from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.base.tables import Shown
from tilewright.costs import area as model
from tilewright.costs.area import Line, Parts
from tilewright.machines import files
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.codesign import report

REFERENCE = "gtx980"
"""Whose coefficients are taken for machines without their own; a 28 nm process."""
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
        return model.PROCESSES[self.process]

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
        width_cost: Charge the width of an SM, see :func:`tilewright.costs.area.parts`.
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
    one, reference = as_machine(machine), files.load(REFERENCE)
    chip = model.chip(one, whole_die=True)
    by = model.coefficients(one if one.area else reference)
    lines = {name: model.fit_line(some) for name, some in (points or {}).items()}
    by = model.calibrated(by, lines)
    factor = model.process_factor(one, reference, process)
    parts = model.parts(chip if caches else chip.without_caches(), by, model=form, width_cost=width_cost, factor=factor)
    return Area(
        machine=one.name,
        parts=parts,
        coefficients=one.name if one.area else REFERENCE,
        process=process,
        published=one.die_area.value if one.die_area else None,
        lines=lines,
    )


def check() -> tuple[tuple[Area, ...], ...]:
    """Model every GPU of the catalogue whose die is published: per machine one area per assumption of ``PROCESSES``."""
    known = (name for name in files.names() if name != files.HOST and files.load(name).die_area)
    return tuple(tuple(area(name, process=process) for process in model.PROCESSES) for name in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """A row of a file of calibration points."""

    memory: Annotated[str, Check(f"one of {', '.join(model.MEMORIES)}", lambda value: value in model.MEMORIES)]
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

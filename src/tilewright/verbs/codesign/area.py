"""``tilewright area``: the silicon of a GPU, part by part, and how far the model is off on published dies."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.paths import read_bounded
from tilewright.costs import area as model
from tilewright.costs.area import Line, Parts
from tilewright.machines import files
from tilewright.verbs.predict import MachineLike, as_machine

REFERENCE = "gtx980"
"""Whose coefficients are taken for machines without their own; a 28 nm process."""
_LARGEST_FILE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """The modelled area of one machine's die."""

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

    def to_dict(self) -> dict[str, object]:
        """Return the JSON document of ``tilewright area``."""
        return {
            "machine": self.machine,
            "mm2": self.mm2,
            "parts": self.parts.to_dict(),
            "coefficients": self.coefficients,
            "process": self.process,
            "process_assumption": model.PROCESSES[self.process],
            "published_mm2": self.published,
            "error": self.error,
            "fits": {
                name: {"slope": line.slope, "intercept": line.intercept, "residuals": list(line.residuals)}
                for name, line in self.lines.items()
            },
        }


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


def read_points(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Read calibration points: CSV with the columns ``memory``, ``kb`` and ``mm2``, such as Cacti's estimates."""
    try:
        text = read_bounded(path, _LARGEST_FILE, "file of points").decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the points {str(path)!r} are not UTF-8 text") from None
    rows = csv.DictReader(text.splitlines())
    try:
        names, lines = rows.fieldnames, [(rows.line_num, row) for row in rows]
    except csv.Error as error:
        raise UsageError(f"the points {str(path)!r} are no CSV: {error}") from None
    if sorted(names or ()) != ["kb", "memory", "mm2"]:
        raise UsageError(f"the points {str(path)!r} need the columns memory, kb and mm2, got {names}")
    points: dict[str, list[tuple[float, float]]] = {}
    for number, row in lines:
        memory = (row["memory"] or "").strip()
        if memory not in model.MEMORIES:
            raise UsageError(
                f"a memory is one of {', '.join(model.MEMORIES)}, got {memory!r} in line {number} of {path.name}"
            )
        where = f"line {number} of {path.name}"
        points.setdefault(memory, []).append((_number(row["kb"], where), _number(row["mm2"], where)))
    if not points:
        raise UsageError(f"the points {str(path)!r} are empty")
    return points


def _number(text: str | None, where: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise UsageError(f"a size or an area is a number of at least 0, got {text!r} in {where}")
    return value

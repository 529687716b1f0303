"""Tables of the area model and of codesign."""

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.base.tables import Table, table

Row = Mapping[str, Any]
_DESIGN = (">SMs", ">n_V", ">M_SM, kB", ">area, mm^2", ">GFlops/s")
_PARTS = {
    "vector_units": "vector units", "registers": "registers", "shared": "shared memory", "l1": "L1", "l2": "L2",
    "overhead": "overhead", "interface": "memory interface", "width": "width cost",
}  # fmt: skip


def area(document: Row) -> Table:
    """Show the area of one machine, from its JSON document."""
    parts = document["parts"]
    whole = document["mm2"]
    rows = [(_PARTS[name], f"{value:.2f}", f"{100 * value / whole:.1f} %") for name, value in parts.items() if value]
    rows.append(("total", f"{whole:.2f}", "100 %"))
    if document["published_mm2"] is not None:
        rows.append(("published", f"{document['published_mm2']:.2f}", ""))
        rows.append(("error", f"{100 * document['error']:+.1f} %", ""))
    title = f"{document['machine']}, coefficients of {document['coefficients']}, {document['process_assumption']}"
    return table(("part", ">mm^2", ">share"), rows, title)


def fits(document: Row) -> Table:
    """Show the lines that were fitted to points."""
    rows = [
        (name, f"{line['slope']:.6g}", f"{line['intercept']:.6g}", " ".join(f"{r:+.3g}" for r in line["residuals"]))
        for name, line in document["fits"].items()
    ]
    return table(("memory", ">mm^2/kB", ">mm^2", "residuals, mm^2"), rows, "Fitted lines")


def check(machines: Sequence[Sequence[Row]]) -> Table:
    """Show published dies beside the model, from the documents of every machine's areas by process assumption."""
    assumptions = [document["process"] for document in machines[0]] if machines else []
    columns = ("machine", ">published, mm^2", *(f">error, {name}" for name in assumptions))
    cells = [
        (many[0]["machine"], f"{many[0]['published_mm2']:.1f}", *(f"{100 * row['error']:+.1f} %" for row in many))
        for many in machines
    ]
    return table(columns, cells, "The model against published dies; errors by process assumption")


def designs(rows: Sequence[Row], title: str) -> Table:
    """Show designs, one per row."""
    cells = [
        (*_design(row), f"{100 * row['memory_share']:.1f} %", f"{100 * row['vector_share']:.1f} %") for row in rows
    ]
    return table((*_DESIGN, ">memories", ">vector units"), cells, title)


def stock(rows: Sequence[Row]) -> Table:
    """Show chips that exist."""
    cells = [(str(row["name"]), *_design(row)) for row in rows]
    return table(("chip", *_DESIGN), cells, "Chips that exist, with their caches")


def tilings(rows: Sequence[Row]) -> Table:
    """Show the chosen tiling of every case."""
    cells = [
        (
            str(row["program"]), "x".join(map(str, row["shape"])), str(row["steps"]),
            f"{row['seconds']:.4g}", str(row["tiling"]),
        )
        for row in rows
    ]  # fmt: skip
    return table(("stencil", ">shape", ">steps", ">seconds", "tiling"), cells, "Tile sizes of the best design")


def insight(name: str, rows: Sequence[Row]) -> Table:
    """Show one insight's rows."""
    columns, make, title = _INSIGHTS[name]
    return table(columns, [make(row) for row in rows], title)


def _sensitivity(row: Row) -> tuple[str, ...]:
    return (
        str(row["program"]), *_design(row["best"]), f"{row['common_gflops']:.4g}", str(row["shared_tiling"])
    )  # fmt: skip


def _needs(row: Row) -> tuple[str, ...]:
    best = row["best"]
    columns = ("-",) * 5 if best is None else _design(best)
    return f"{row['shared_kb']:g}", f"{100 * row['share']:.1f} %", columns[0], columns[1], columns[3], columns[4]


def _cacheless(row: Row) -> tuple[str, ...]:
    cells = [str(row["name"]), f"{row['gflops']:.4g}"]
    for area_key, best_key, gain_key in (("area", "best", "gain"), ("area_without", "best_without", "gain_without")):
        cells.append(f"{row[area_key]:.2f}")
        best = row[best_key]
        cells.append("-" if best is None else "{} x {}, {} kB".format(*_design(best)))
        cells.append("-" if best is None else f"{100 * row[gain_key]:+.1f} %")
    return tuple(cells)


def _robustness(row: Row) -> tuple[str, ...]:
    verdict = "still fits" if row["fits"] else f"is {row['area']:.4g} mm^2, out of the range"
    return (
        str(row["coefficient"]), f"{100 * (row['factor'] - 1):+.0f} %", *_design(row["best"]),
        f"{100 * row['loss']:.2f} %", verdict,
    )  # fmt: skip


def _marginal(row: Row) -> tuple[str, ...]:
    following = row["following"]
    further = "-" if following is None else "{} x {}, {} kB at {} mm^2".format(*_design(following))
    return f"{row['budget']:g}", *_design(row["best"]), f"{row['gflops_per_mm2']:.3g}", further


def _power(row: Row) -> tuple[str, ...]:
    return (
        str(row["chip"]), str(row["program"]), str(row["sm_count"]), str(row["vector_width"]),
        f"{row['shared_kb']:g}", f"{100 * row['off']:.1f} %", f"{100 * row['slower']:.2f} %",
    )  # fmt: skip


_INSIGHTS = {
    "sensitivity": (
        ("stencil", *_DESIGN, ">GFlops/s on the common best", "tiling of the largest size"), _sensitivity,
        "The best design per stencil (table C.2)",
    ),
    "shared": (
        (">M_SM, kB", ">of the best", ">SMs", ">n_V", ">area, mm^2", ">GFlops/s"), _needs, "Shared memory per SM",
    ),
    "cacheless": (
        (
            "chip", ">GFlops/s", ">mm^2", "best of that area", ">gain", ">mm^2 without caches", "best of that area",
            ">gain",
        ),
        _cacheless, "Caches against more units",
    ),
    "robustness": (
        ("coefficient", ">change", *_DESIGN, ">loss", "the nominal best"), _robustness,
        "The choice when a coefficient of the area is off",
    ),
    "marginal": (
        (">budget, mm^2", *_DESIGN, ">GFlops/s per mm^2", "next design"), _marginal, "What one more mm^2 buys",
    ),
    "power": (
        ("chip", "stencil", ">SMs on", ">n_V on", ">kB on", ">area off", ">slower"), _power,
        "What could be powered down, for at most 1 % of time",
    ),
}  # fmt: skip


def _design(row: Row) -> tuple[str, str, str, str, str]:
    return (
        str(row["sm_count"]), str(row["vector_width"]), f"{row['shared_kb']:g}", f"{row['area']:.2f}",
        f"{row['gflops']:.4g}",
    )  # fmt: skip

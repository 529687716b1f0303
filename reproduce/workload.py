"""Workload sensitivity: 425 to 450 mm^2, weights changed without solving again; table C.2 and the needs of memory.

python reproduce/workload.py [--quick] [--output DIR]
"""

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path

from tilewright.workloads.codesign.codesign import Codesign, codesign
from tilewright.workloads.codesign.design import IN_2D, IN_3D, NAMED, DesignOptions
from tilewright.workloads.codesign.files import draw_needs
from tilewright.workloads.codesign.separable import SeparableForm

PUBLISHED = {
    "jacobi2d": (32, 128, 24, 438, 2059),
    "heat2d": (22, 256, 12, 447, 3017),
    "gradient2d": (28, 160, 24, 431, 4963),
    "laplacian2d": (28, 160, 12, 426, 2549),
    "heat3d": (18, 288, 192, 447, 3600),
    "laplacian3d": (8, 896, 96, 446, 1427),
}
"""Table C.2: n_SM, n_V, M_SM in kB, mm^2, GFlops/s."""
BETWEEN = (425.0, 450.0)
FORMS = {
    "exact": {},
    "published": {"form": SeparableForm(model="published")},
    "exact, bandwidth per SM": {"scope": "per_sm", "grid": "coarse"},
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a coarser grid of tile sizes, the exact form alone")
    parser.add_argument("--output", type=Path, default=Path("results/workload"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    grid = "coarse" if chosen.quick else "fine"
    rows, text = [], []
    for name, form in FORMS.items():
        if chosen.quick and name != "exact":
            continue
        options = DesignOptions(**{"grid": grid, **form})
        result = codesign("all", area=BETWEEN, options=options, width_cost=False)
        found = result.insight("sensitivity")
        rows += [(name, *_row(row)) for row in found]
        text.append(_table(name, found))
        if name == "exact":
            text.append(_mixes(result))
            charged = result.charged(True)
            text.append(_table("exact, width cost", charged.insight("sensitivity")))
            rows += [("exact, width cost", *_row(row)) for row in charged.insight("sensitivity")]
            draw_needs(_needs(result), chosen.output / "shared_memory.png")
    with (chosen.output / "workload.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("form", "stencil", "sm_count", "vector_width", "shared_kb", "area_mm2", "gflops"))
        writer.writerows(rows)
    (chosen.output / "verdict.md").write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


def _row(row: dict[str, object]) -> tuple[object, ...]:
    best = row["best"]
    return (row["program"], *(best[key] for key in ("sm_count", "vector_width", "shared_kb", "area", "gflops")))


def _table(name: str, found: list[dict[str, object]]) -> str:
    lines = [f"{name}:", "", "| stencil | n_SM | n_V | kB | mm^2 | GFlops/s | table C.2 |", "| --- " * 7 + "|"]
    for row in found:
        program, sms, lanes, shared, area, gflops = _row(row)
        claimed = "{} x {}, {} kB, {} mm^2, {} GFlops/s".format(*PUBLISHED[str(program)])
        lines.append(f"| {program} | {sms} | {lanes} | {shared:g} | {area:.1f} | {gflops:.0f} | {claimed} |")
    return "\n".join([*lines, ""])


def _mixes(result: Codesign) -> str:
    """Change the weights again and again: each is a weighted sum of what is solved."""
    start, lines = time.perf_counter(), []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        weights = {**dict.fromkeys(IN_2D, 1 - share), **dict.fromkeys(IN_3D, share)}
        best = result.reweighted(weights).best
        lines.append(
            f"- {100 * share:.0f} % 3D: {best.sm_count} x {best.vector_width}, {best.shared_kb:g} kB, "
            f"{best.area:.1f} mm^2, {best.gflops:.0f} GFlops/s"
        )
    each = (time.perf_counter() - start) / len(lines)
    head = f"The best design as the workload's mix changes, without solving again ({1e3 * each:.0f} ms each):"
    return "\n".join([head, "", *lines, ""])


def _needs(result: Codesign) -> list[tuple[str, list[float], list[float]]]:
    curves = []
    for title, names in (("2D stencils", NAMED["2d"]), ("3D stencils", NAMED["3d"])):
        rows = result.reweighted(dict.fromkeys(names, 1.0)).insight("shared")
        curves.append((title, [row["shared_kb"] for row in rows], [row["share"] for row in rows]))
    return curves


if __name__ == "__main__":
    main()

"""Are the calibrated parameters repeatable, and is C_iter a property of the stencil alone? (tables 3 and 4).

python reproduce/micro_benchmarks.py [--quick] [--output DIR]
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import measured
from tilewright.base.paths import write_rows
from tilewright.costs import fit
from tilewright.driver import emit_tilings
from tilewright.machines.files import load
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.catalogue import program
from tilewright.report import figures
from tilewright.runtime.calibration import cpu as calibrate
from tilewright.runtime.calibration import fits as calibrate_fits
from tilewright.runtime.cpu import stencil_kernels
from tilewright.runtime.toolchains.cpu import toolchain

STENCILS = ("jacobi2d", "heat2d", "laplacian2d", "gradient2d", "heat3d", "laplacian3d")
PARAMETERS = ("dram_bandwidth", "core_bandwidth", "cache_bandwidth", "launch_seconds", "call_seconds")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 instances in place of 70")
    parser.add_argument("--output", type=Path, default=Path("results/micro_benchmarks"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    protocol, tools = (calibrate.QUICK if chosen.quick else calibrate.THOROUGH), toolchain()
    machines = [calibrate.measure_machine(tools, protocol, lambda _: None) for _ in range(2)]
    lines = ["| parameter | first | spread | second | within |", "| --- " * 5 + "|"]
    repeatable = []
    for name in PARAMETERS:
        first, second = (getattr(machine, name) for machine in machines)
        repeatable.append(_within(second.value, first) or _within(first.value, second))
        lines.append(
            f"| {name} | {first.value:.3g} {first.unit} | {first.low:.3g} to {first.high:.3g} | {second.value:.3g} "
            f"| {'yes' if repeatable[-1] else 'no'} |"
        )
    lines += [
        "",
        "| stencil | C_iter, ns | spread | again | off by | against size | gtx980, ns | row, box, ns |",
        "| --- " * 8 + "|",
    ]
    rows, values, drawn, steady = [], {}, {}, []
    for name in STENCILS:
        published = load("gtx980").iteration_seconds(name).value  # table 4
        series = calibrate.tile_series(program(name), machines[0], protocol)
        kernels = stencil_kernels(emit_tilings(series.kernels), tools)
        runs = [calibrate.measure(series, kernels, machines[0]) for _ in range(2)]
        first, second = (calibrate_fits.fitted(run) for run in runs)
        values[name] = first.iteration
        each = [(math.prod(i.shape), _alone(i, first)) for i in runs[0]]
        drawn[name] = each
        size = float(np.corrcoef(*zip(*each, strict=True))[0, 1])
        steady.append(first.low <= second.iteration <= first.high)
        rows += [(name, "x".join(map(str, i.shape)), str(i.tiling), i.steps, i.seconds, *i.factors) for i in runs[0]]
        lines.append(
            f"| {name} | {first.iteration * 1e9:.2f} | {first.low * 1e9:.2f} to {first.high * 1e9:.2f} "
            f"| {second.iteration * 1e9:.2f} | {first.deviation:.1%} | r = {size:+.2f} | {published * 1e9:.1f} "
            f"| {first.row * 1e9:.1f}, {first.box * 1e9:.0f} |"
        )
    dearest = max((n for n in values if n.endswith("2d")), key=values.__getitem__)
    lines += [
        "",
        f"- claimed: parameters repeat within their spread: {sum(repeatable)} of {len(repeatable)} do",
        f"- claimed: C_iter repeats: that of {sum(steady)} of {len(steady)} stencils does, within its spread",
        "- claimed: C_iter does not depend on the instance's size: see the correlations, start-ups taken off",
        f"- claimed: gradient2d is the dearest in 2D: here it is {dearest}",
    ]
    header = ("stencil", "shape", "tiling", "steps", "seconds", "vectors", "rows", "boxes")
    write_rows(chosen.output / "micro_benchmarks.csv", header, rows)
    _draw(drawn, chosen.output / "micro_benchmarks.png")
    measured.write_verdict(chosen.output, "\n".join(lines))


def _alone(instance: calibrate_fits.Instance, found: fit.Fit) -> float:
    """C_iter as one instance says it, without the start-ups of its rows and boxes."""
    one, rows, boxes = instance.factors
    return (instance.seconds - found.row * rows - found.box * boxes) / one


def _within(value: float, quantity: Quantity) -> bool:
    return quantity.low is not None and quantity.high is not None and quantity.low <= value <= quantity.high


def _draw(drawn: dict[str, list[tuple[int, float]]], path: Path) -> None:
    figure, (panel,) = figures.panels(1, (7, 4.5))
    for name, each in drawn.items():
        panel.semilogy([size for size, _ in each], [seconds * 1e9 for _, seconds in each], ".", label=name)
    panel.set(xlabel="cells of the instance", ylabel="C_iter of the instance, ns")
    panel.legend(ncols=2)
    figures.save(figure, path, dpi=150)


if __name__ == "__main__":
    main()

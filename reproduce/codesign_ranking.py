"""Do the equations by which chips are designed order them as the ranking of tiles by thread blocks does?

python reproduce/codesign_ranking.py [--program NAME] [--drawn N] [--output DIR]

The chips of the Pareto set of ``tilewright codesign``, and others drawn from those in the range, are made machines:
registers and schedulers of a multiprocessor go with its width. Every one gets the best tile by the ranking of
``tilewright predict``, at the first and at a middle one of the workload's sizes.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tilewright.costs.accuracy import Comparison
from tilewright.costs.setting import make_setting
from tilewright.machines.files import load
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem
from tilewright.tuning.ranking import contenders
from tilewright.workloads.codesign.codesign import codesign
from tilewright.workloads.codesign.designs import Design

SIZES = (0, 9)
"""Of the workload's 16 sizes: in 2D 4096 x 4096 with 1024 steps and 12288 x 12288 with 4096."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="gradient2d", help="the workload")
    parser.add_argument("--drawn", type=int, default=150, help="chips that are drawn besides the Pareto set")
    parser.add_argument("--output", type=Path, default=Path("results/codesign_ranking"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    text = compared(chosen.program, chosen.drawn)
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / f"{chosen.program}.md").write_text(text, encoding="utf-8")
    print(text)


def compared(program: str, drawn: int) -> str:
    """Return a table of the best chips by either, and how far the orders agree."""
    result = codesign(program)
    base, cases = load("gtx980"), [result.exploration.cases[k] for k in SIZES]
    inside = np.flatnonzero(result.table.inside)
    front = [each.index for each in result.pareto]
    others = np.random.default_rng(1).choice(inside, size=min(drawn, len(inside)), replace=False).tolist()
    chips = [result.table.design(index) for index in dict.fromkeys([*front, *others])]
    start, flops = time.process_time(), sum(case.flops for case in cases)
    ranked = np.array([sum(seconds(case.problem, chip(each, base)) for case in cases) for each in chips])
    spent = time.process_time() - start
    solved = [result.exploration.solutions[k].seconds.ravel() for k in SIZES]
    equations = np.array([sum(one[each.index] for one in solved) for each in chips])
    rates = {"equations": flops / equations * 1e-9, "ranking": flops / ranked * 1e-9}
    best = int(rates["equations"].argmax())
    least = min(np.flatnonzero(rates["ranking"] >= rates["ranking"][best]), key=lambda place: chips[place].area)
    rows = {
        "best by the equations": best,
        "best of the Pareto set by the ranking": int(rates["ranking"][: len(front)].argmax()),
        "best of all by the ranking": int(rates["ranking"].argmax()),
        "the smallest that is as fast as the first by the ranking": int(least),
    }
    lines = [
        "| chip | SMs x units, shared memory | mm² | GFlops/s, equations | ranking |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, place in rows.items():
        one = chips[place]
        cells = f"{one.sm_count} x {one.vector_width}, {one.shared_kb:g} kB | {one.area:.0f}"
        lines.append(f"| {name} | {cells} | {rates['equations'][place]:.0f} | {rates['ranking'][place]:.0f} |")
    tau = Comparison(predicted=rates["equations"], measured=rates["ranking"]).kendall
    lines += [
        "",
        f"{len(chips)} chips, Kendall's tau {tau:.2f}; {1e3 * spent / ranked.size / len(SIZES):.0f} ms a ranking",
    ]
    return "\n".join(lines) + "\n"


def chip(design: Design, base: Machine) -> Machine:
    """Make a design a machine of the base's technology."""
    wider = design.vector_width / base.vector_width.value
    values = {
        "sm_count": design.sm_count,
        "vector_width": design.vector_width,
        "shared_bytes": 1024 * design.shared_kb,
        "block_shared_bytes": 512 * design.shared_kb,
        "registers": 256 * design.register_kb * design.vector_width,
        "schedulers": wider * base.known()["schedulers"].value,
    }
    known = {name: replace(base.known()[name], value=value, low=None, high=None) for name, value in values.items()}
    return replace(base, **known)  # type: ignore[arg-type]


def seconds(problem: Problem, machine: Machine) -> float:
    """Return the time of the best tile of all families."""
    found = contenders(problem, make_setting(problem, machine), "exact")
    return min(float(np.min(result.seconds, initial=np.inf)) for _, _, result in found)


if __name__ == "__main__":
    main()

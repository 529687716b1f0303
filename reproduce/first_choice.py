"""The first choice on stencils that the model has not seen: 25,370 measurements of others on a V100.

python reproduce/first_choice.py [--seeds N] [--first-seed N] [--data DIR] [--output DIR]

Fetch the logs with benchmarks/fetch_stencilbench.py. The constants that ship were fitted to these very logs, so every
table says where its constants come from: `shipped`, or `others`, fitted to the other six stencils around ESTIMATES.
Nothing of a stencil itself enters the latter but the program. The fits take some minutes.
"""

import argparse
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import measured
from tilewright.costs.accuracy import Comparison, Scores, mean
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.gpu.fit import FASTEST, LogPoints, calibrate, sample, scale_of
from tilewright.costs.gpu.terms import GpuConstants, thread_numbers
from tilewright.costs.gpu.threads import Terms, evaluate
from tilewright.runtime.formats.logs import TuningLog, read_stencilbench
from tilewright.verbs.predict import as_machine
from tilewright.verbs.validate import POINTS, Validation, case_of, ordered, validate

MACHINE = "v100"
ESTIMATES = GpuConstants(
    latency=1.0, row_cycles=33.0, copy_cycles=80.0, guarded_copy_cycles=135.0, guarded_copy_slots=45.0,
    dram_share=0.95, l2_share=1.0, boundary=1.2, global_access=1.5, global_row_cycles=400.0, fetch_cycles=3.0,
    plain_slots=8.0, guarded_slots=17.0, segment_words=15.0, overlap=3.0, tile_cycles=280.0, copy_slots=10.0,
    row_slots=3.0, issue=1.0, global_latency=1.1, halo_share=0.3, l1_share=0.6, step_misses=1.0,
    near_misses=0.1, near_fetch_cycles=1.5, drift=0.5,
)  # fmt: skip
"""What the constants were before the fit: of the hardware's documents, or of known order."""
_FIXED = (
    "near_misses", "spill_slots", "base_registers", "even_registers", "guarded_registers", "near_code_slots",
    "code_slots",
)  # fmt: skip
FREE = {name: 0.3 for name in GpuConstants.__slots__ if name not in _FIXED}
"""The fitted constants, each with its prior spread: tight, since there are many of them and only seven stencils."""
_SHARES = ("dram_share", "l2_share", "halo_share", "l1_share", "drift")
FACTORS = 0.1
"""Prior spread of a stencil's own factor: small, so that the constants explain the times of unseen stencils, too."""
_POINTS = 700
"""Points per stencil that a fit sees, half of them the fastest ones."""
FAST = 0.6
"""Share of the best speed from which on points are taken apart by what their tiles are like."""
_FEWEST = 5
_DRAWS, _MOVED = 24, 0.2


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="draws of calibration points")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first draw")
    measured.add_data(parser)
    parser.add_argument("--output", type=Path, default=Path("results/first_choice"), help="folder of the results")
    chosen = parser.parse_args(arguments)
    chosen.output.mkdir(parents=True, exist_ok=True)
    logs = [ordered(read_stencilbench(path)) for path in measured.log_paths(chosen.data)]
    stencils = [whole(log) for log in logs]
    every, others = fits(stencils)
    lines = ["Constants fitted to all seven stencils: " + listed(every), ""]
    lines += ["No point of the stencil itself measured:", "", head("constants")]
    for name, constants in (("estimates", [ESTIMATES] * 7), ("shipped", [GpuConstants()] * 7), ("others", others)):
        found = [scored(one, known) for one, known in zip(stencils, constants, strict=True)]
        lines.append(row(name, found))
    lines += ["", f"Estimates, each moved at random by a fifth, {_DRAWS} draws:", "", head("terms")]
    for name in ("", "instruction_cache", "l1_sets"):
        lines.append(moved(f"without {name}" if name else "all", stencils, (name,) if name else ()))
    sets = {"estimates": [ESTIMATES] * len(stencils), "constants from the others": others}
    for name, constants in sets.items():
        lines += ["", f"By stencil, {name}:", "", head("stencil")]
        lines += [row(each.case.program.name, [scored(each, k)]) for each, k in zip(stencils, constants, strict=True)]
        lines += ["", f"Mean error of points at {FAST:.0%} of the best and more, {name}:", ""]
        lines += errors_by_quantity(stencils, constants)
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    lines += ["", f"Ten points per stencil, {chosen.seeds} seeds, logs and lines shuffled:", "", head("constants")]
    lines += [scaled_only(stencils, others, seeds), *seeded(logs, seeds)]
    measured.write_verdict(chosen.output, "\n".join(lines))


def whole(log: TuningLog) -> LogPoints:
    """Return a log's points as the model takes them."""
    return LogPoints(case=case_of(log), seconds=np.array([point.seconds for point in log.measured], dtype=float))


def fits(stencils: Sequence[LogPoints]) -> tuple[GpuConstants, list[GpuConstants]]:
    """Fit the constants to all stencils, and for each of them to the others."""
    gpu, few = thread_numbers(as_machine(MACHINE)), [thinned(each) for each in stencils]

    def fitted(among: Sequence[LogPoints]) -> GpuConstants:
        return calibrate(among, gpu, ESTIMATES, free=FREE, fastest=FASTEST, factors=FACTORS).constants

    return fitted(few), [fitted([each for each in few if each is not one]) for one in few]


def thinned(points: LogPoints) -> LogPoints:
    """Return the fastest points and even steps through the others."""
    order = np.argsort(points.seconds, kind="stable")
    half = min(_POINTS // 2, len(order))
    rest = order[half:]
    index: Ints = np.concatenate([order[:half], rest[:: max(1, len(rest) // half)]])
    return LogPoints(case=points.case.take(index), seconds=points.seconds[index])


def predicted(points: LogPoints, constants: GpuConstants, off: Sequence[str] = ()) -> Floats:
    """Return the predicted seconds."""
    return evaluate(points.case, thread_numbers(as_machine(MACHINE)), constants, off).seconds


def compared(points: LogPoints, constants: GpuConstants, off: Sequence[str] = ()) -> Comparison:
    """Return the predicted beside the measured seconds."""
    return Comparison(predicted=predicted(points, constants, off), measured=points.seconds)


def scored(points: LogPoints, constants: GpuConstants) -> Scores:
    """Score a stencil, no factor of its own fitted."""
    return compared(points, constants).score()


def moved(name: str, stencils: Sequence[LogPoints], off: Sequence[str]) -> str:
    """Score estimates that are off by chance: what choices owe to the form of the model, and not to its numbers."""
    draw, single, means = np.random.default_rng(0), [], []
    for _ in range(_DRAWS):
        factors = dict(zip(FREE, np.exp(_MOVED * draw.standard_normal(len(FREE))).tolist(), strict=True))
        values = {each: factor * getattr(ESTIMATES, each) for each, factor in factors.items()}
        known = replace(ESTIMATES, **{each: min(1.0, v) if each in _SHARES else v for each, v in values.items()})
        found = [compared(one, known, off).score() for one in stencils]
        single += found
        means.append(mean(found))
    return row(name, means, single)


def errors_by_quantity(stencils: Sequence[LogPoints], constants: Sequence[GpuConstants]) -> list[str]:
    """Return a table of mean errors by tile sizes, threads, residency and code: what a missing mechanism shows in."""
    columns = []
    for one, known in zip(stencils, constants, strict=True):
        terms = evaluate(one.case, thread_numbers(as_machine(MACHINE)), known)
        fast = one.seconds <= one.seconds.min() / FAST
        error = (terms.seconds / one.seconds - 1.0)[fast]
        quantities = quantities_of(one, terms)
        found = {}
        for name, values in quantities.items():
            for value in np.unique(values[fast]).tolist():
                same = values[fast] == value
                if same.sum() >= _FEWEST:
                    found[name, value] = f"{error[same].mean():+.2f} ({same.sum()})"
        columns.append(found)
    keys = sorted({key for found in columns for key in found}, key=lambda key: (list(quantities).index(key[0]), key[1]))
    names = ["", *(one.case.program.name for one in stencils)]
    lines = [f"| {' | '.join(names)} |", f"{'| --- ' * len(names)}|"]
    for name, value in keys:
        cells = [found.get((name, value), "") for found in columns]
        lines.append(f"| {name} {value:g} | {' | '.join(cells)} |")
    return lines


def quantities_of(one: LogPoints, terms: Terms) -> dict[str, Floats | Ints]:
    """Return what points are grouped by, every value rounded as far as few groups need."""
    work, space, threads = one.case.work, one.case.sizes.space, one.case.threads
    columns = [np.ceil(size / count) for size, count in zip(space[1:], threads[1:], strict=True)]
    return {
        "half height": one.case.sizes.time // 2,
        "base": space[0],
        "width": space[-1],
        "warps per block": work.warps,
        "threads along S1": threads[0],
        "columns per thread": np.prod(columns, axis=0),
        "unguarded": 1 * work.even,
        "shared memory": 1 * terms.shared,
        "resident blocks": terms.resident,
        "warps resident": terms.resident * work.warps // 8 * 8,
        "registers": np.asarray(terms.registers // 32 * 32),
        "turns over even ones": np.round(terms.waves, 1),
    }


def scaled_only(stencils: Sequence[LogPoints], others: Sequence[GpuConstants], seeds: Sequence[int]) -> str:
    """Score constants of the other stencils where ten points of a stencil are drawn, scale it and are not scored."""
    single, means = [], []
    for seed in seeds:
        found = []
        for one, constants in zip(stencils, others, strict=True):
            table = compared(one, constants)
            used = sample(table.predicted, POINTS, (seed, zlib.crc32(one.case.program.name.encode())))
            rest = np.setdiff1d(np.arange(len(table.predicted)), used)
            scale = scale_of(table.predicted[used], table.measured[used])
            found.append(replace(table, predicted=scale * table.predicted).take(rest).score())
        single += found
        means.append(mean(found))
    return row("others, own points scale", means, single)


def seeded(logs: Sequence[TuningLog], seeds: Sequence[int]) -> list[str]:
    """Validate by every seed, with logs and lines in an order of its own that must not matter."""
    lines = []
    for name, held_out in (("shipped, own points", False), ("shipped, others' points", True)):
        found = [validate(shuffled(logs, seed), MACHINE, seed=seed, held_out=held_out) for seed in seeds]
        same = by_name(validate(logs, MACHINE, seed=seeds[0], held_out=held_out)) == by_name(found[0])
        single = [one.scores for each in found for one in each.stencils]
        lines.append(row(name, [each.overall for each in found], single))
        lines += [] if same else [f"{name}: the result depends on the order of the logs!"]
    return lines


def shuffled(logs: Sequence[TuningLog], seed: int) -> list[TuningLog]:
    """Return the logs and their lines in another order."""
    draw = np.random.default_rng(seed)
    mixed = [replace(log, points=tuple(log.points[i] for i in draw.permutation(len(log.points)))) for log in logs]
    return [mixed[i] for i in draw.permutation(len(mixed))]


def by_name(found: Validation) -> Mapping[str, object]:
    """Return the scores by stencil."""
    return {one.name: one.to_dict() for one in found.stencils}


def listed(known: GpuConstants) -> str:
    """Return the fitted constants in three digits."""
    return ", ".join(f"{name}={getattr(known, name):.3g}" for name in FREE)


def head(first: str) -> str:
    """Return the head of a table."""
    names = (first, "top 1", "worst", "top 10", "worst", "RMSE within 20 %", "largest", "Spearman", "Kendall")
    return f"| {' | '.join(names)} |\n{'| --- ' * len(names)}|"


def row(name: str, many: Sequence[Scores], single: Sequence[Scores] | None = None) -> str:
    """Return a line: means over stencils or seeds, and the worst of single stencils."""
    each, one = single or many, mean(many)
    first, ten = ([score.fraction_of_best[place] for score in each] for place in (0, 2))
    cells = [f"{one.fraction_of_best[0]:.1%}", f"{min(first):.1%}", f"{one.fraction_of_best[2]:.1%}", f"{min(ten):.1%}"]
    cells += [f"{one.rmse_top20:.1%}", f"{max(score.rmse_top20 for score in each):.1%}"]
    cells += [f"{one.spearman:.3f}", f"{one.kendall:.3f}"]
    return f"| {' | '.join([name, *cells])} |"


if __name__ == "__main__":
    main()

"""Tables of the documentation, from records or models: ``python benchmarks/tables.py [NAME …]`` prints them.

A page asks for one by a comment of its own line, ``<!-- table: NAME -->``; building the documentation puts it there.
"""

import csv
import functools
import importlib
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
BOUNDARIES = ("wrap", "reflect", "constant", "nearest", "mirror")
_OUTCOMES = {"right": "right", "exception": "exception", "crash": "killed by a signal", "wrong": "wrong result"}
_RUNS = ["program", "GCells/s", "naive C", "fastest other library", "x naive (95 %)", "x other (95 %)", "tiling"]
FAMILIES = ("none", "hexagons", "skewed", "diamond", "streaming")
OURS = "tilewright"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in Markdown.

    >>> print(table(["a", "b"], [[1, ""]]))
    | a | b |
    | --- | --- |
    | 1 |  |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def record(name: str) -> dict[str, Any]:
    """Read a record of ``benchmarks/results``."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def experiment(name: str) -> ModuleType:
    """Import a script of ``reproduce``."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "reproduce"))
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]


def extents(shape: Sequence[int]) -> str:
    """Write a shape.

    >>> extents([64, 64]), extents([32, 32, 32]), extents([32, 64]), extents([2**22])
    ('64^2', '32^3', '32 x 64', '2^22')
    """
    alike = len(set(shape)) == 1
    return f"{shape[0]}^{len(shape)}" if alike and len(shape) > 1 else " x ".join(map(_extent, shape))


def _extent(number: int) -> str:
    power = number.bit_length() - 1
    return f"2^{power}" if number == 2**power and power > 16 else str(number)


def origin(*names: str) -> str:
    """Say where and when records were made."""
    lines = []
    for name in names:
        found = record(name)["environment"]
        compiler = found["compiler"].partition(" (")[0] + " " + found["compiler"].rpartition(" ")[2]
        threads = f"{found['threads']} thread{'s' * (found['threads'] > 1)}"
        where = f"{found['cpu']}, {threads}, {compiler}, load {found['load_average']:.1f} at the start"
        lines.append(f"`{name}.json`: {found['date'][:10]}, {where}")
    return "\n\n*" + "; ".join(lines) + ".*"


def interval(ratio: dict[str, float]) -> str:
    """Write a ratio with its interval.

    >>> interval({"median": 2.0, "low": 1.904, "high": 2.1})
    '2.00 (1.90 - 2.10)'
    """
    return f"{ratio['median']:.2f} ({ratio['low']:.2f} - {ratio['high']:.2f})"


def whole_runs() -> str:
    """Whole runs beside naive C and the fastest of the other libraries."""
    return table(_RUNS, _runs("cpu_float32", "cpu_float64")) + origin("cpu_float32", "cpu_float64")


def other_processors() -> str:
    """The same on a Zen 3 and on a Xeon."""
    rows = [[_processor(record(name)), *row] for name in _OTHER_PROCESSORS for row in _runs(name)]
    return table(["processor", *_RUNS], rows) + origin(*_OTHER_PROCESSORS)


def _runs(*names: str) -> list[list[str]]:
    """Rows of the records' cases: speeds of ours, of naive C and of the fastest of the others, and both ratios."""
    rows = []
    for case in (case for name in names for case in record(name)["cases"]):
        contenders, problem = case["contenders"], case["case"]
        speeds = {name: each["gcells_per_second"] for name, each in contenders.items()}
        ours, naive = contenders[OURS], max(speed for name, speed in speeds.items() if name.startswith("naive-c"))
        peers = [name for name in speeds if name != OURS and not name.startswith("naive-c")]
        peer = max(peers, key=speeds.__getitem__, default=None)
        steps = "" if problem["steps"] == 100 else f", {problem['steps']} steps"
        name = f"{problem['program']} {extents(problem['shape'])} {problem['dtype']}{steps}"
        other = [f"{speeds[peer]:.2f} {peer}", interval(ours["against_best_peer"])] if peer else ["", ""]
        ratios = [interval(ours["against_naive"]), other[1]]
        tiling = f"`{ours['describe']['tiling']}`"
        rows.append([name, f"{speeds[OURS]:.1f}", f"{naive:.2f}", other[0], *ratios, tiling])
    return rows


def _processor(found: dict[str, Any]) -> str:
    return "Xeon" if "Xeon" in found["environment"]["cpu"] else "Zen 3"


def other_programs() -> str:
    """Gains over naive C of many programs at a size, on the same processors: least, mean and most."""
    rows = []
    for name, what in _OTHER_PROGRAMS.items():
        found = record(name)
        cases = found["cases" if "cases" in found else "programs"]
        gains = sorted((each["against_naive"]["median"], each["program"]) for each in cases)
        slower = [f"{program} {gain:.2f}" for gain, program in gains if gain < 1]
        mean = statistics.geometric_mean(gain for gain, _ in gains)
        ends = [f"{gains[end][0]:.2f} ({gains[end][1]})" for end in (0, -1)]
        rows.append([_processor(found), what, len(gains), ends[0], f"{mean:.2f}", ends[1], ", ".join(slower)])
    head = ["processor", "grid", "programs", "least", "geometric mean", "most", "slower than naive C"]
    return table(head, rows) + origin(*_OTHER_PROGRAMS)


def other_sweeps() -> str:
    """Shares of the best measured speed that the model's choice and the best of its first ten reach, elsewhere."""
    rows = []
    for path in (
        path for folder in ("sweeps_xeon", "sweeps_zen3") for path in sorted((RESULTS / folder).glob("*.json"))
    ):
        about = json.loads(path.read_text(encoding="utf-8"))
        what = f"{about['program']} {extents(about['shape'])}, {about['dtype']}"
        spread = f"{about['median_spread']:.0%}" if about["median_spread"] else ""
        rows.append([_processor(about), what, about["tilings"], spread, *_shares(about)])
    return table(["processor", "program", "tilings", "spread of a tiling's samples", "choice", "ten"], rows)


def _shares(about: dict[str, Any]) -> list[str]:
    shares = (about[f"{which}_share_of_best"] for which in ("first_choice", "best_of_ten"))
    return [f"{100 * share:.1f} %".replace(".0 %", " %") for share in shares]


def sizes() -> str:
    """Speeds from small grids to large ones, and how many times as fast as naive C."""
    found = [case for case in record("cpu_sizes")["cases"] if case["dtype"] == "float32"]
    parts = []
    for rank in (1, 2, 3):
        cases = [case for case in found if len(case["shape"]) == rank]
        columns = sorted({case["shape"][0] for case in cases})
        rows = []
        for program in sorted({case["program"] for case in cases}):
            of = {case["shape"][0]: case for case in cases if case["program"] == program}
            cells = [
                f"{of[n]['gcells_per_second']:.3g} ({of[n]['against_naive']['median']:.1f})" if n in of else ""
                for n in columns
            ]
            rows.append([program, *cells])
        parts.append(table([f"{rank}D", *map(_extent, columns)], rows))
    return "\n\n".join(parts) + origin("cpu_sizes")


def boundaries() -> str:
    """How many times as fast as naive C with every boundary: least and most of the programs of a size."""
    cases = record("cpu_boundaries")["cases"]
    rows = []
    for shape in sorted({tuple(case["shape"]) for case in cases}, key=lambda shape: (len(shape), shape)):
        of = [case for case in cases if tuple(case["shape"]) == shape]
        cells = []
        for boundary in BOUNDARIES:
            ratios = [case["against_naive"]["median"] for case in of if case["boundary"] == boundary]
            cells.append(f"{min(ratios):.2f} - {max(ratios):.2f}" if ratios else "")
        rows.append([extents(shape), len({case["program"] for case in of}), *cells])
    return table(["grid", "programs", *BOUNDARIES], rows) + origin("cpu_boundaries")


def least() -> str:
    """The ten cases, over all sizes and boundaries, that gain least over naive C."""
    cases = record("cpu_sizes")["cases"] + record("cpu_boundaries")["cases"]
    cases.sort(key=lambda case: case["against_naive"]["median"])
    rows = [
        [
            case["program"],
            extents(case["shape"]),
            case["boundary"],
            interval(case["against_naive"]),
            f"`{case['tiling']}`",
        ]
        for case in cases[:10]
    ]
    return table(["program", "grid", "boundary", "x naive (95 %)", "tiling"], rows) + origin(
        "cpu_sizes", "cpu_boundaries"
    )


def compile_times() -> str:
    """Seconds of gcc for the default kernels: of large grids and of small ones."""
    rows = []
    for name, grids in (("compile_times", "4096^2, 256^3 or 2^24"), ("compile_times_small", "64 along every axis")):
        found = record(name)
        times = sorted((each["seconds"]["median"], each["program"], each["dtype"]) for each in found["kernels"])
        seconds, program, dtype = times[-1]
        middle = statistics.median(each[0] for each in times)
        boundary = found.get("boundary", "fixed")
        rows.append(
            [grids, boundary, len(times), f"{times[0][0]:.2f}", f"{middle:.2f}", f"{seconds:.2f} ({program} {dtype})"]
        )
    return table(["grids", "boundary", "kernels", "least s", "median s", "most s"], rows) + origin(
        "compile_times", "compile_times_small"
    )


def processors() -> str:
    """How many times as fast as naive C when both are compiled for other processors."""
    found = [{each["program"]: each for each in record(name)["programs"]} for name in _PROCESSORS.values()]
    names = sorted({name for each in found for name in each})
    rows = [
        [name, *(interval(each[name]["against_naive"]) if name in each else "" for each in found)] for name in names
    ]
    return table(["program", *_PROCESSORS], rows) + origin(*_PROCESSORS.values())


def families() -> str:
    """How many times as fast as naive C every family is, with its model's best tile."""
    rows = []
    for case in record("cpu_strategies")["cases"]:
        found, problem = case["contenders"], case["case"]
        naive = max(each["gcells_per_second"] for name, each in found.items() if name.startswith("naive-c"))
        cells = [f"{found[f'{OURS}-{name}']['against_naive']['median']:.2f}" for name in FAMILIES]
        rows.append(
            [f"{problem['program']} {extents(problem['shape'])}, {problem['steps']} steps", f"{naive:.1f}", *cells]
        )
    return table(["", "naive C, GCells/s", *FAMILIES], rows) + origin("cpu_strategies")


def alignments() -> str:
    """Speeds of local alignments, one pair at a time, beside the fastest function of parasail."""
    rows = []
    for name, pair in record("sw_10000")["pairs"].items():
        speeds = {who: each["gcups"] for who, each in pair["contenders"].items()}
        rival = pair["best"]
        one, two = (speeds[f"{OURS}, {threads}"] for threads in ("1 thread", "2 threads"))
        ratio = interval(pair["ratios"][f"{OURS}, 2 threads"])
        label = rival.removeprefix("parasail ")
        rows.append([name, f"{pair['score']:,}", f"{speeds[rival]:.1f} ({label})", f"{one:.1f}", f"{two:.1f}", ratio])
    head = [
        "",
        "score",
        "parasail, 1 thread",
        "tilewright, 1 thread",
        "tilewright, 2 threads",
        "2 threads x parasail (95 %)",
    ]
    return table(head, rows) + origin("sw_10000")


def pipelines() -> str:
    """Milliseconds of two pipelines on a picture."""
    cases = record("pipelines_float32")["cases"]
    names = sorted(cases[0]["seconds"], key=lambda name: cases[0]["seconds"][name]["median"])
    rows = []
    for name in names:
        cells = []
        for case in cases:
            remark = case["remarks"].get(name, "")
            milliseconds = case["seconds"][name]["median"] * 1e3
            digits = 0 if milliseconds >= 100 else 1
            cells.append(f"{milliseconds:.{digits}f}" + (f" ({remark})" if remark else ""))
        rows.append([f"{OURS}, {name}" if name in {"fused", "unfused"} else name, *cells])
    head = [f"{case['pipeline']}, sigma {case['sigma']:g}, {extents(case['shape'])}, ms" for case in cases]
    return table(["", *head], rows) + origin("pipelines_float32")


def functions() -> str:
    """How many times as fast as NumPy's own loop whole runs are whose body is one function."""
    cases = record("functions")["functions"]
    rows = []
    for name in dict.fromkeys(case.rpartition(" ")[0] for case in cases):
        both = [cases[f"{name} {dtype}"]["numpy_over_ours"] for dtype in ("float32", "float64")]
        rows.append([name, *(f"{ratios[count]['median']:.2f}" for ratios in both for count in ("1", "2"))])
    head = ["function", "float32, 1 thread", "2 threads", "float64, 1 thread", "2 threads"]
    return table(head, rows) + origin("functions")


def diagonals() -> str:
    """Times of others over ours for products of matrices of diagonals with a vector: least and most of all grids."""
    cases = record("dia")["cases"]
    rows = []
    for ours, other in _PRODUCTS:
        ratios = []
        for case in cases:
            pairs = zip(case["seconds"][other], case["seconds"][ours], strict=True)
            ratios.append(statistics.median(their / own for their, own in pairs))
        rows.append([ours, other, f"{min(ratios):.2f} - {max(ratios):.2f}"])
    shapes = ", ".join(extents(case["shape"]) for case in cases)
    return table(["ours", "other", f"ratio over {shapes}"], rows) + origin("dia")


def gradients() -> str:
    """Seconds of runs and of their gradients on two processors, and how many times as long ``jax.grad`` takes."""
    names = ("gradients", "gradients_xeon")
    runs = [{(row["program"], row["states"]): row for row in record(name)["rows"]} for name in names]
    rivals = (record(name.replace("gradients", "gradients_jax"))["rows"] for name in names)
    beside = [{row["program"]: row["speedup"] for row in found} for found in rivals]
    rows = []
    for case, first in runs[0].items():
        line = [f"`{first['program']}`", f"{extents(first['shape'])}, {first['steps']}", first["states"] or ""]
        for measured, jax in zip(runs, beside, strict=True):
            row = measured[case]
            seconds = [statistics.median(row[key]) for key in ("forward", "seconds")]
            line.append(f"{seconds[0]:.2f}, {seconds[1]:.2f} ({row['cost']:.1f})")
            line.append(f"{jax[row['program']]:.0f}" if row["program"] in jax else "")
        rows.append(line)
    own = [[f"{cpu}: run, gradient, s (ratio)", "x `jax.grad`"] for cpu in ("EPYC", "Xeon")]
    return table(["program", "grid, steps", "states", *own[0], *own[1]], rows) + origin(*names)


def sweeps() -> str:
    """How well today's model ranks the recorded sweeps, each by the host that it was ranked by.

    Errors are those of the families that win: untiled, hexagonal, hybrid and streaming tilings.
    """
    measured = experiment("measured")
    rows, folder = [], RESULTS / "sweeps"
    for path in sorted(folder.glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        points = measured.comparison(measured.of_sweep(folder, path.stem))
        errors = [f"{100 * some.rmse:.1f} %" for some in (points.take(points.near(measured.NEAR)), points)]
        name = f"{path.stem} {extents(about['shape'])}, {about['steps']} steps"
        rows.append([name, about["tilings"], *_shares(about), *errors, f"{points.spearman:.2f}"])
    head = ["program", "tilings", "choice", "ten", "RMSE within 20 %", "RMSE of all", "Spearman"]
    return table(head, rows)


def shots() -> str:
    """Seismic shots beside Devito's, and what sources and receivers add to them."""
    rows = []
    for record_name in ("shot", "shot_xeon", "shot_zen3"):
        for name, found in record(record_name)["shots"].items():
            added = [f"{100 * found[f'{what} over plain'] - 100:+.0f} %" for what in ("source", "shot")]
            chosen = found.get("tiling", "the model's")
            tiling = "" if chosen == "the model's" else f"`{chosen}`"
            kinds = [found["environment"]["cpu"], f"{found['devito over shot']:.2f}", *added, tiling]
            rows.append([name, *kinds, found.get("autotune", "aggressive")])
    head = ["shot", "processor", "Devito's time over this one", "one source", "receivers as well", "tuned tiling"]
    return table([*head, "Devito's autotuner"], rows)


def areas() -> str:
    """Errors of the model of areas on published dies, by what is assumed of the process."""
    from tilewright.workloads.codesign.area import check

    rows = []
    for every in check():
        errors = [f"{100 * (each.error or 0.0):+.0f} %" for each in every]
        rows.append([f"`{every[0].machine}`", f"{every[0].published:g}", *errors])
    return table(["chip", "published, mm²", "no process assumption", "optical", "density"], rows)


def out_of_core() -> str:
    """Runs from disk beside runs in memory and what the disk allows."""
    rows = []
    for name in _OUT_OF_CORE:
        for run in record(name)["rows"]:
            bandwidths = f"{run['read_bandwidth'] / 1e9:.1f}, {run['write_bandwidth'] / 1e9:.1f}"
            way = f"a sweep, `{run['swept']}`" if run.get("swept") else "slabs"
            steps, bound = run["steps_per_pass"], f"{run['share_of_bound']:.0%}".replace("%", " %")
            seconds = [f"{run[kind]:.1f}" for kind in ("seconds", "in_memory_seconds", "disk_seconds")]
            memory = [f"{run[kind] / 2**20:.0f}" for kind in ("memory", "taken_bytes")]
            what = f"{run['program']} {extents(run['shape'])}, {run['field_bytes'] / 1e9:.1f} GB"
            rows.append([f"`{name}`", what, way, steps, *seconds, bandwidths, bound, *memory])
    head = ["record", "program, fields", "way", "steps of a pass", "seconds", "in memory", "disk"]
    return table([*head, "GB/s read, written", "of the bound", "MiB promised", "taken"], rows) + origin(*_OUT_OF_CORE)


def scaling() -> str:
    """Predictions for heat2d on many ranks."""
    import tilewright

    rows = []
    asked: dict[str, Any] = {"shape": (65536, 65536), "steps": 1000, "machine": "zen3", "network": "slingshot"}
    for ranks in (64, 1024, 4096, 10000):
        found = tilewright.predict("heat2d", ranks=ranks, **asked).to_dict()
        seconds, every = found["seconds"], found["every_step"]["seconds"]
        block = "x".join(map(str, found["block"]))
        efficiency = f"{found['efficiency']:.0%}".replace("%", " %")
        rows.append([ranks, block, found["steps_per_exchange"], f"{seconds:.3g}", f"{every:.3g}", efficiency])
    return table(["ranks", "block", "steps per exchange", "seconds", "an exchange every step", "efficiency"], rows)


def intervals() -> str:
    """Ranges of measured over predicted time of every family on CPUs, and what share of programs' points they hold."""
    script = experiment("intervals")
    rows = []
    for name, programs in script.of_sweeps(sorted((RESULTS / "hosts").glob("**/*.csv"))).items():
        tail, inside = script.fitting_tail(programs)
        low, high = np.quantile(np.concatenate(list(programs.values())), (tail, 1.0 - tail))
        points = [len(ratios) for ratios in programs.values()]
        share = np.average(list(inside.values()), weights=points)
        held = f"{share:.0%} ({min(inside.values()):.0%} to {max(inside.values()):.0%})".replace("%", " %")
        rows.append([name, sum(points), f"{low:.2f} to {high:.2f}", held])
    return table(["family", "points", "range", "inside the range of the others"], rows)


def hosts() -> str:
    """How good the model's choices are on hosts of different calibration."""
    script = experiment("hosts")
    lines = [script.line(folder).replace("%", " %") for folder in sorted((RESULTS / "hosts").iterdir())]
    head = ["host, threads", "programs", "choice", "worst", "ten", "worst", "RMSE within 20 %", "largest", "Spearman"]
    return "\n".join([table(head, []), *lines])


def tuner_strategies() -> str:
    """Strategies of Kernel Tuner on the V100 logs beside `tune`: shares of the best speed, evaluations needed."""
    found = record("tuner_strategies")
    rows = []
    for name, logs in found["runs"].items():
        means = [
            statistics.mean(statistics.mean(run["best"][place] for run in runs) for runs in logs.values())
            for place in range(len(found["counts"]))
        ]
        needed = [[run["needed"][place] for runs in logs.values() for run in runs] for place in (0, 1)]
        medians = [statistics.median(math.inf if each is None else each for each in every) for every in needed]
        reached = (statistics.mean(each is not None for each in every) for every in needed)
        cells = ["never" if math.isinf(median) else f"{median:.0f}" for median in medians]
        shares = (f"{100 * mean:.1f} %".replace(".0 %", " %") for mean in means)
        rows.append([f"`{name}`", *shares, *cells, ", ".join(f"{100 * share:.0f} %" for share in reached)])
    head = ["strategy", *found["counts"], "to 95 %", "to 99 %", "runs that get to 95, 99 %"]
    return table(head, rows) + f"\n\n*`tuner_strategies.json`: Kernel Tuner {found['kernel_tuner']}.*"


@functools.cache
def energy_choice() -> str:
    """Whether the fastest tile takes the least energy, by the model; it takes some ten seconds."""
    script = experiment("energy_choice")
    found = script.comparisons()
    rows = []
    for machine in script.MACHINES:
        for name in script.CASES:
            both = [found[machine, scope, name] for scope in ("device", "per_sm")]
            gaps = [f"+{100 * one.extra_joules:.1f} %, {100 * one.extra_seconds:.1f} %" for one in both]
            rows.append([f"`{machine}`", name, *gaps, f"+{100 * script.excess(both[1]):.1f} %"])
    head = ["machine", "stencil", "bandwidth as printed: energy, time", "bandwidth per SM: energy, time"]
    return f"{script.agreement(found)}\n\n{table([*head, 'least within 1 % of the fastest, per SM'], rows)}"


@functools.cache
def energy_metered() -> str:
    """Runs held out by constants of micro-benchmarks and by fitted ones, and the tiles chosen by them, on a trace."""
    fitted, chosen = experiment("energy_fit"), experiment("energy_choice")
    known, label = fitted.runs(None)
    fits = fitted.splits(known)
    errors = table(["held out", "runs", "micro-benchmarks", "regression", "thesis, its device"], fitted.held_out(fits))
    choices = table(chosen.HEAD, chosen.metered(known, chosen.METERED))
    told = "Tiles by the micro-benchmarks' constants, as in table B.3:"
    return "\n\n".join([f"{label}. {fitted.better(fits)}", errors, told, choices])


@functools.cache
def energy_strategies() -> str:
    """The best tile of every family, by the model."""
    from tilewright.verbs.tuning.supertune import supertune

    rows = []
    for machine in ("gtx980", "h200"):
        found = supertune("heat2d", shape=(4096, 4096), steps=256, machine=machine)
        each = ", ".join(f"{one['family']} {100 * one['loss']:+.1f} %" for one in found.to_dict()["families"][1:])
        rows.append([f"`{machine}`", str(found.to_dict()["families"][0]["tiling"]), each])
    return table(["machine", "best", "the best of other families"], rows)


def caches() -> str:
    """What happens to a run whose cached code was damaged."""
    rows = []
    for subject in record("caches")["subjects"]:
        name = f"{subject['subject']} {subject['version']}"
        for kind in dict.fromkeys(case["kind"] for case in subject["cases"]):
            of = [case for case in subject["cases"] if case["kind"] == kind]
            outcomes = [sum(case["first"] == outcome for case in of) for outcome in _OUTCOMES]
            left, later = sum(case["stays"] for case in of), sum(case["second"] != "right" for case in of)
            rows.append([name, f"{len(of)} x {kind}", *outcomes, left, later])
    head = ["", "fault", *_OUTCOMES.values(), "file left as it is", "second run not right"]
    return table(head, rows) + origin("caches")


def gpu_machine_code() -> str:
    """What the machine code of a GPU's default kernels promises."""
    found, rows = record("gpu_machine_code"), []
    for each in found["kernels"]:
        name = f"{each['program']} {each['dtype']}" + (", `none`" if each["tiling"] == "none" else "")
        speed = f"{each['gcells']:.0f}, by {each['binding']}"
        code = (each["instructions"], each["branches"], each["registers"], each["warps"])
        edges = [f"{each['edge_tiles']:.0%}", f"{each['tested_gcells']:.0f}"] if "edge_tiles" in each else ["", ""]
        requests = f"{each['requests']:.2f}" if each["requests"] else ""
        rows.append([name, f"{each['useful']:.2f}", *(f"{number:.3g}" for number in code), requests, speed, *edges])
    head = ["program", "useful", "instructions", "branches", "registers", "warps", "requests", "GCells/s"]
    head += ["edge tiles", "their GCells/s"]
    about = found["environment"]
    return table(head, rows) + f"\n\n*`gpu_machine_code.json`: {about['date'][:10]}, NVRTC {about['nvrtc']}.*"


def krylov() -> str:
    """Speeds of vector and matrix kernels over the fastest rival's, by size."""
    found: dict[tuple[str, str], list[str]] = {}
    with (RESULTS / "krylov" / "krylov.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            if row["contender"] == "tuned":
                cell = f"{float(row['rivals_over_tuned']):.2f} ({row['size']})"
                found.setdefault((row["part"], row["name"]), []).append(cell)
    rows = [[f"{part}: {name}", ", ".join(cells)] for (part, name), cells in found.items()]
    return table(["", "speed over the fastest rival's (size)"], rows)


_PRODUCTS = (
    ("ours, 1 thread", "scipy dia"),
    ("ours, 1 thread", "scipy csr"),
    ("ours, 1 thread", "petsc aij, 1 rank"),
    ("ours, 2 threads", "petsc aij, 2 ranks"),
    ("petsc seqdia, 1 thread", "petsc aij, 1 rank"),
    ("petsc seqdia, 2 threads", "petsc aij, 2 ranks"),
)
_PROCESSORS = {"AVX2 (`x86-64-v3`)": "every_program_x86-64-v3", "baseline (`x86-64`)": "every_program_x86-64"}
_OTHER_PROCESSORS = (
    *("cpu_3d_avx2", "cpu_star_avx2", "cpu_acoustic_avx2"),
    *("cpu_2d_xeon", "cpu_3d_xeon", "cpu_star_xeon", "cpu_star_640_xeon", "cpu_acoustic_xeon", "cpu_acoustic_512_xeon"),
    *("cpu_3d_float64_xeon", "cpu_star_float64_xeon"),
)
_OUT_OF_CORE = ("out_of_core", "out_of_core_streamed", "out_of_core_xeon", "out_of_core_zen3", "out_of_core_16gb")
_OTHER_PROGRAMS = {
    "cpu_sizes_2d_avx2": "1024^2",
    "cpu_sizes_3d_avx2": "128^3",
    "cpu_sizes_2d_xeon": "1024^2",
    "cpu_sizes_3d_xeon": "128^3",
    "every_program_x86-64-v3_xeon": "as above, for AVX2",
}
TABLES: dict[str, Callable[[], str]] = {
    each.__name__: each
    for each in (
        whole_runs,
        other_processors,
        other_programs,
        other_sweeps,
        sizes,
        boundaries,
        least,
        compile_times,
        processors,
        families,
        alignments,
        pipelines,
        functions,
        diagonals,
        gradients,
        sweeps,
        shots,
        areas,
        out_of_core,
        scaling,
        intervals,
        hosts,
        tuner_strategies,
        energy_choice,
        energy_metered,
        energy_strategies,
        caches,
        gpu_machine_code,
        krylov,
    )
}


def fill(text: str) -> str:
    """Put its tables into a page.

    >>> fill("no table")
    'no table'
    """
    for name, make in TABLES.items():
        mark = f"<!-- table: {name} -->"
        if mark in text:
            text = text.replace(mark, make())
    return text


if __name__ == "__main__":
    for wanted in sys.argv[1:] or TABLES:
        print(TABLES[wanted](), end="\n\n")

# ruff: noqa: ANN401  (arrays of several libraries)
"""Pipelines of stencils: our fused code against our unfused code, scipy, scikit-image, OpenCV and Halide.

    python benchmarks/pipelines.py [--quick] [--size 4096] [--repeats 9] [--output pipelines.json]

Gaussian blur and Canny up to non-maximum suppression, float32, in one interleaved run: one repetition runs every
contender once, in an order drawn anew. All results are compared with ours, away from the borders. OpenCV has no
non-maximum suppression for floats, so its Canny ends with the gradients' length: less work than everybody else's. Also
measures the model's choice: every fusion's time is the sum of its groups', each measured on its own; the fusions that
are fastest by that sum, and the model's first choice, are then measured whole.
"""

import argparse
import importlib.util
import itertools
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import environment
from summary import paired_ratio, spread
from tilewright.runtime.memory import Workspace
from tilewright.runtime.store.hosts import host
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.call import compile_pipeline, execute, new_grid
from tilewright.workloads.pipelines.catalogue import gaussian_radius, gaussian_weights, pipeline
from tilewright.workloads.pipelines.fuse import fuse
from tilewright.workloads.pipelines.problem import PipelineProblem, make_pipeline_problem
from tilewright.workloads.pipelines.search import FusionCandidate, Strips, best_choices, search

_PAUSE = 0.02
"""Seconds between runs, so that one contender's idle threads sleep when the next one starts."""
Run = Callable[[], Any]


class Ours:
    """Our code under any fusion, on one set of grids."""

    def __init__(self, problem: PipelineProblem, image: Any, threads: int) -> None:
        self.problem, self.threads, self.workspace = problem, threads, Workspace()
        self.grids = {grid: new_grid(problem, grid) for grid in problem.pipeline.grids}
        for grid in problem.pipeline.grids:
            self.grids[grid][...] = image

    def under(self, candidate: FusionCandidate) -> Run:
        """Return what runs a fusion with its tiles."""
        steps = compile_pipeline(self.problem, candidate.fusion, candidate.tiles)

        def run() -> Any:
            execute(self.problem, steps, self.grids, (), self.threads, self.workspace)
            return self.grids[self.problem.pipeline.outputs[0]]

        return run


def rivals(which: str, image: Any, sigma: float, threads: int) -> tuple[dict[str, Run], dict[str, str]]:
    """Return the rivals that are installed, and remarks on them."""
    found: dict[str, Run] = {}
    remarks: dict[str, str] = {}
    radius = gaussian_radius(sigma)
    if importlib.util.find_spec("scipy"):
        found["scipy"] = _scipy(which, image, sigma)
        remarks["scipy"] = "one thread" + ("" if which == "blur" else "; NumPy for the suppression")
    if importlib.util.find_spec("skimage"):
        found["scikit-image"] = _skimage(which, image, sigma)
        remarks["scikit-image"] = "one thread"
    if importlib.util.find_spec("cv2"):
        import cv2

        cv2.setNumThreads(threads)
        size = 2 * radius + 1
        smooth, gx, gy = (np.empty_like(image) for _ in range(3))

        def blur() -> Any:
            return cv2.GaussianBlur(image, (size, size), sigma, dst=smooth, borderType=cv2.BORDER_REFLECT)

        def canny() -> Any:
            blur()
            cv2.Sobel(smooth, cv2.CV_32F, 1, 0, dst=gx, borderType=cv2.BORDER_REFLECT)
            cv2.Sobel(smooth, cv2.CV_32F, 0, 1, dst=gy, borderType=cv2.BORDER_REFLECT)
            return cv2.magnitude(gx, gy)

        found["OpenCV"] = blur if which == "blur" else canny
        remarks["OpenCV"] = "" if which == "blur" else "without non-maximum suppression"
    if importlib.util.find_spec("halide"):
        from rivals.halide_pipelines import HalidePipelines

        name, run = HalidePipelines(image, threads).best(which, gaussian_weights(sigma, radius))
        found["Halide"] = run
        remarks["Halide"] = f"the fastest of its schedules: {name}"
    return found, remarks


def _suppress(i: Any, j: Any, m: Any) -> Any:
    """Non-maximum suppression with NumPy, away from the borders."""
    out = np.zeros_like(m)
    cut = (slice(1, -1), slice(1, -1))
    i, j, c = i[cut], j[cut], m[cut]

    def at(dy: int, dx: int) -> Any:
        return m[1 + dy : m.shape[0] - 1 + dy, 1 + dx : m.shape[1] - 1 + dx]

    same, high, wide = (i > 0) == (j > 0), np.abs(i), np.abs(j)
    with np.errstate(all="ignore"):
        share = np.minimum(high, wide) / np.maximum(high, wide)
    steep = high > wide
    ahead = np.where(steep, np.where(same, at(1, 0), at(-1, 0)), at(0, 1))
    behind = np.where(steep, np.where(same, at(-1, 0), at(1, 0)), at(0, -1))
    plus = np.where(same, at(1, 1), at(-1, 1)) * share + ahead * (1 - share)
    minus = np.where(same, at(-1, -1), at(1, -1)) * share + behind * (1 - share)
    out[cut] = np.where((plus <= c) & (minus <= c), c, 0)
    return out


def _scipy(which: str, image: Any, sigma: float) -> Run:
    from scipy import ndimage

    def blur() -> Any:
        return ndimage.gaussian_filter(image, sigma)

    def canny() -> Any:
        smooth = blur()
        i, j = ndimage.sobel(smooth, axis=0), ndimage.sobel(smooth, axis=1)
        return _suppress(i, j, np.sqrt(i * i + j * j))

    return blur if which == "blur" else canny


def _skimage(which: str, image: Any, sigma: float) -> Run:
    from skimage import feature, filters

    if which == "blur":
        return lambda: filters.gaussian(image, sigma, mode="reflect", preserve_range=True)
    # Thresholds of 0 and beyond every value: the hysteresis finds no strong cell and costs one labelling.
    return lambda: feature.canny(image, sigma, low_threshold=0.0, high_threshold=1e9, mode="reflect")


def measure(which: str, size: int, sigma: float, repeats: int, threads: int) -> dict[str, Any]:
    """Check every contender, then time them in turn."""
    rng = np.random.default_rng(0)
    program = pipeline(which, sigma=sigma)
    problem = make_pipeline_problem(program, (size, size))
    image = new_grid(problem, program.inputs[0])
    image[...] = rng.random((size, size), dtype=np.float32)
    ours = Ours(problem, image, threads)
    plan = fuse(program, shape=(size, size), machine="host", top=5)
    unfused = best_choices(Strips(problem=problem, machine=host()), fusions.unfused(program))
    runs: dict[str, Run] = {"fused": ours.under(plan.best), "unfused": ours.under(unfused)}
    theirs, remarks = rivals(which, image, sigma, threads)
    runs |= theirs
    margin = (slice(16, -16), slice(16, -16))
    expected = np.array(runs["fused"]()[margin])
    errors = {}
    for name, run in runs.items():
        result = np.asarray(run())[margin]
        if result.dtype == bool or (name == "OpenCV" and which == "canny"):
            continue  # an edge map, or no suppression: nothing to compare
        errors[name] = float(np.mean(np.abs(result - expected) > 1e-5 * max(1.0, float(expected.max()))))
        if errors[name] > 1e-4:
            raise SystemExit(f"{name} computes {which} differently in {errors[name]:.3g} of all cells")
    samples: dict[str, list[float]] = {name: [] for name in runs}
    slow = {name for name, run in runs.items() if _timed(run) > 0.5}
    for repetition in range(repeats):
        for index in rng.permutation(len(runs)):
            name = list(runs)[index]
            if name in slow and repetition >= 3:
                continue
            time.sleep(_PAUSE)
            samples[name].append(_timed(runs[name]))
    return {
        "pipeline": which,
        "sigma": sigma,
        "shape": [size, size],
        "fusion": fusions.text(plan.best.fusion),
        "remarks": remarks,
        "differing": errors,
        "seconds": {name: spread(each) for name, each in samples.items()},
        "samples": samples,
    }


def _timed(run: Run) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def model_choice(size: int, sigma: float, threads: int, repeats: int, shortlist: int = 12) -> dict[str, Any]:
    """Compare the model's first fusion of Canny with the best measured one."""
    program = pipeline("canny", sigma=sigma)
    problem = make_pipeline_problem(program, (size, size))
    image = np.random.default_rng(0).random((size, size), dtype=np.float32)
    ours = Ours(problem, image, threads)
    begin = time.perf_counter()
    strips = Strips(problem=problem, machine=host())
    chosen = search(strips)[0][0].fusion
    searched = time.perf_counter() - begin
    every = fusions.groups(program)
    runs = {group: ours.under(_single(problem, group)) for group in every}
    group_seconds = {group: min(_timed(run) for _ in range(3)) for group, run in runs.items()}
    ranked = sorted(fusions.fusions(program), key=lambda f: sum(group_seconds[g] for g in f))
    wanted = [chosen, *(f for f in ranked if f != chosen)][:shortlist]
    whole = {f: ours.under(best_choices(strips, f)) for f in wanted}
    samples: dict[Any, list[float]] = {f: [] for f in wanted}
    for _, f in itertools.product(range(repeats), wanted):
        samples[f].append(_timed(whole[f]))
    seconds = {f: statistics.median(each) for f, each in samples.items()}
    best = min(seconds, key=lambda f: seconds[f])
    first = wanted[0]
    return {
        "fusions": len(ranked),
        "groups": len(every),
        "search_seconds": searched,
        "first_choice": fusions.text(first),
        "first_choice_seconds": seconds[first],
        "best": fusions.text(best),
        "best_seconds": seconds[best],
        "loss": seconds[first] / seconds[best] - 1,
        "measured": [{"fusion": fusions.text(f), "seconds": s} for f, s in seconds.items()],
        "group_seconds": {fusions.text((g,)): s for g, s in group_seconds.items()},
    }


def _single(problem: PipelineProblem, group: fusions.Group) -> FusionCandidate:
    """One group by itself, with the model's tile for it."""
    return best_choices(Strips(problem=problem, machine=host()), (group,))


def show(case: dict[str, Any]) -> str:
    """Return the lines on a case."""
    lines = [f"{case['pipeline']} sigma {case['sigma']}, {case['shape'][0]}x{case['shape'][1]}: {case['fusion']}"]
    fused = case["samples"]["fused"]
    for name, samples in sorted(case["samples"].items(), key=lambda item: statistics.median(item[1])):
        ratio = paired_ratio(fused[: len(samples)], samples)
        factor = f"{ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]"
        remark = case["remarks"].get(name, "")
        lines.append(
            f"  {name:<13} {1e3 * statistics.median(samples):8.2f} ms, fused is {factor} times as fast  {remark}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1024x1024, three repetitions, no search of fusions")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--sigma", type=float, default=1.0)
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    chosen = parser.parse_args()
    size, repeats = (1024, 3) if chosen.quick else (chosen.size, chosen.repeats)
    threads = min(2, environment.cores())
    cases = []
    for which in ("blur", "canny"):
        cases.append(measure(which, size, chosen.sigma, repeats, threads))
        print(show(cases[-1]), flush=True)
    document: dict[str, Any] = {"environment": environment.describe(threads), "cases": cases}
    if not chosen.quick:
        document["model"] = model_choice(size, chosen.sigma, threads, 5)
        m = document["model"]
        print(
            f"model: {m['fusions']} fusions searched in {m['search_seconds']:.2f} s; first choice {m['first_choice']}, "
            f"{100 * m['loss']:.1f} % behind the best measured, {m['best']}"
        )
    if chosen.output:
        chosen.output.write_text(json.dumps(document, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

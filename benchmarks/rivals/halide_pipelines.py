# ruff: noqa: ANN401  (Halide has no type annotations)
"""Halide's blur and Canny (to non-maximum suppression), with hand schedules and one of its autoschedulers.

Every schedule is compiled and tried once before the comparison; the fastest one is the contender. They are the usual
ones for such chains: lines streamed with several rows unrolled, strips, tiles; the separable gradients materialised or
inlined.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Schedule = Callable[[Sequence[Any], Any], None]
LANES = 16
PARALLEL = "HL_NUM_THREADS"


class HalidePipelines:
    """Compiled pipelines on one input and one output."""

    def __init__(self, image: Array, threads: int) -> None:
        os.environ[PARALLEL] = str(threads)
        import halide as hl

        self.hl = hl
        self.threads = threads
        self.names = {name: hl.Var(name) for name in ("x", "y", "xo", "yo", "xi", "yi", "yii", "t")}
        self.input = hl.Buffer(image)
        self.result = np.zeros_like(image)
        self.output = hl.Buffer(self.result)
        self.target = hl.get_jit_target_from_environment()

    def best(self, which: str, weights: Sequence[float], repeats: int = 3) -> tuple[str, Callable[[], Array]]:
        """Return the fastest schedule of ``blur`` or ``canny`` by name, and what runs it."""
        found: list[tuple[float, str, Callable[[], Array]]] = []
        for name, schedule in self.schedules(which).items():
            run = self.build(which, weights, schedule)
            run()
            seconds = min(_timed(run) for _ in range(repeats))
            found.append((seconds, name, run))
        automatic = self.automatic(which, weights)
        if automatic is not None:
            automatic()
            found.append((min(_timed(automatic) for _ in range(repeats)), "Mullapudi2016", automatic))
        seconds, name, run = min(found, key=lambda entry: entry[0])
        del seconds
        return name, run

    def build(self, which: str, weights: Sequence[float], schedule: Schedule) -> Callable[[], Array]:
        """Compile a pipeline under a schedule."""
        image = self.hl.ImageParam(self.hl.Float(32), 2)
        image.set(self.input)
        stages, last = self.stages(which, image, weights)
        schedule(stages, last)
        last.compile_jit(self.target)

        def run() -> Array:
            last.realize(self.output)
            return self.result

        return run

    def automatic(self, which: str, weights: Sequence[float]) -> Callable[[], Array] | None:
        """Compile under the autoscheduler that comes with the wheel, if it does."""
        hl = self.hl
        try:
            hl.load_plugin(_plugin(hl, "autoschedule_mullapudi2016"))
            image = hl.ImageParam(hl.Float(32), 2)
            image.set(self.input)
            _, last = self.stages(which, image, weights)
            rows, columns = self.result.shape
            image.set_estimates([(0, columns), (0, rows)])
            last.set_estimates([(0, columns), (0, rows)])
            pipeline = hl.Pipeline([last])
            parameters = {"parallelism": str(self.threads), "last_level_cache_size": str(2**20)}
            pipeline.apply_autoscheduler(self.target, hl.AutoschedulerParams("Mullapudi2016", parameters))
            pipeline.compile_jit(self.target)
        except Exception as error:  # noqa: BLE001  (whatever the wheel lacks, the hand schedules remain)
            print(f"no autoscheduler: {str(error)[:100]}")
            return None

        def run() -> Array:
            pipeline.realize(self.output)
            return self.result

        return run

    def stages(self, which: str, image: Any, weights: Sequence[float]) -> tuple[list[Any], Any]:
        """Write the algorithm."""
        hl, x, y = self.hl, self.names["x"], self.names["y"]
        bounded = hl.BoundaryConditions.mirror_image(image)

        def symmetric(at: Callable[[int], Any]) -> Any:
            total = at(0) * hl.f32(weights[0])
            for k in range(len(weights) - 1, 0, -1):
                total = total + (at(-k) + at(k)) * hl.f32(weights[k])
            return total

        rows, smooth = hl.Func("rows"), hl.Func("smooth")
        rows[x, y] = symmetric(lambda k: hl.Expr(bounded[x + k, y]))
        smooth[x, y] = symmetric(lambda k: hl.Expr(rows[x, y + k]))
        if which == "blur":
            return [rows], smooth
        gx, gradient_x, gy, gradient_y, length, edges = (
            hl.Func(n) for n in ("gx", "gradient_x", "gy", "gradient_y", "length", "edges")
        )
        gx[x, y] = smooth[x + 1, y] - smooth[x - 1, y]
        gradient_x[x, y] = gx[x, y] * 2.0 + (gx[x, y - 1] + gx[x, y + 1])
        gy[x, y] = smooth[x, y] * 2.0 + (smooth[x - 1, y] + smooth[x + 1, y])
        gradient_y[x, y] = gy[x, y + 1] - gy[x, y - 1]
        i, j = hl.Expr(gradient_y[x, y]), hl.Expr(gradient_x[x, y])
        length[x, y] = hl.sqrt(i * i + j * j)

        def m(dx: int, dy: int) -> Any:
            return hl.Expr(length[x + dx, y + dy])

        same, high, wide = (i > 0) == (j > 0), hl.abs(i), hl.abs(j)
        steep, share = high > wide, hl.min(high, wide) / hl.max(high, wide)
        ahead = hl.select(steep, hl.select(same, m(0, 1), m(0, -1)), m(1, 0))
        behind = hl.select(steep, hl.select(same, m(0, -1), m(0, 1)), m(-1, 0))
        plus = hl.select(same, m(1, 1), m(1, -1)) * share + ahead * (1 - share)
        minus = hl.select(same, m(-1, -1), m(-1, 1)) * share + behind * (1 - share)
        edges[x, y] = hl.select((plus <= m(0, 0)) & (minus <= m(0, 0)), m(0, 0), 0.0)
        return [rows, smooth, gx, gradient_x, gy, gradient_y, length], edges

    def schedules(self, which: str) -> dict[str, Schedule]:
        """The hand schedules by name."""
        inlines: dict[str, tuple[int, ...]] = {"": ()}
        if which == "canny":
            inlines |= {", gradients inline": (2, 3, 4, 5), ", half gradients inline": (2, 4)}
        found = {}
        for label, inline in inlines.items():
            for width, rows, unroll in ((4096, 256, 4), (4096, 256, 2), (1024, 256, 4), (512, 256, 4), (256, 256, 2)):
                found[f"strips {width}, {unroll} rows{label}"] = self._strips(width, rows, unroll, inline)
            for width, rows in ((256, 64), (512, 32)):
                found[f"tiles {width}x{rows}{label}"] = self._tiles(width, rows, inline)
        return found

    def _strips(self, width: int, rows: int, unroll: int, inline: tuple[int, ...]) -> Schedule:
        v = self.names

        def schedule(stages: Sequence[Any], last: Any) -> None:
            last.tile(v["x"], v["y"], v["xo"], v["yo"], v["xi"], v["yi"], width, rows)
            last.split(v["yi"], v["yi"], v["yii"], unroll).reorder(v["yii"], v["xi"], v["yi"], v["xo"], v["yo"])
            last.fuse(v["xo"], v["yo"], v["t"]).unroll(v["yii"]).parallel(v["t"]).vectorize(v["xi"], LANES)
            for number, stage in enumerate(stages):
                if number not in inline:
                    stage.store_at(last, v["t"]).compute_at(last, v["yi"]).vectorize(v["x"], LANES)

        return schedule

    def _tiles(self, width: int, rows: int, inline: tuple[int, ...]) -> Schedule:
        v = self.names

        def schedule(stages: Sequence[Any], last: Any) -> None:
            last.tile(v["x"], v["y"], v["xo"], v["yo"], v["xi"], v["yi"], width, rows)
            last.fuse(v["xo"], v["yo"], v["t"]).parallel(v["t"]).vectorize(v["xi"], LANES)
            for number, stage in enumerate(stages):
                if number not in inline:
                    stage.compute_at(last, v["t"]).vectorize(v["x"], LANES)

        return schedule


def _plugin(hl: Any, name: str) -> str:
    """Return the path of an autoscheduler in the wheel, or its bare name."""
    found = sorted(Path(hl.__file__).parent.rglob(f"lib{name}.so"))
    return str(found[0]) if found else name


def _timed(run: Callable[[], Array]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin

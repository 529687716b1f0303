"""Fused groups of a pipeline as C: tiles shared by threads, rows streamed through rings that stay in cache.

The loops over cells come out of the IR (:mod:`tilewright.codegen.pipelines.loops`); what walks over tiles and rows is
written here, once per group. Nothing of the shape is in the text but whether the group can be streamed at all.
"""

from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.boundary import map_functions, map_name
from tilewright.codegen.pipelines.loops import PassPorts, Source, pass_function, ports
from tilewright.codegen.pipelines.rings import Rings
from tilewright.codegen.pipelines.text import HEAD, conversion
from tilewright.codegen.print import c
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.programs.pipeline_problem import PipelineProblem
from tilewright.tilings.fusion import Group
from tilewright.tilings.rows import Pass, RowTile, plan_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLayout:
    """What the arguments of a fused group's kernel hold, the function ``entry(array, size, work, scalar)``.

    ``array`` holds pointers to the group's inputs, then to its outputs. ``size`` holds threads, rows of a band, whether
    to write past the caches, the extents, and per array the strides of the outer axes in elements. ``work`` is
    ``scratch`` bytes per thread, aligned to a cache line; ``scalar`` the pipeline's scalars as float64.

    Attributes:
        inputs: Grids that it reads.
        outputs: Grids that it writes.
        scratch: Bytes of memory per thread.
        width: Columns of a strip.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scratch: int
    width: int


def emit_group(
    problem: PipelineProblem, group: Group, tile: RowTile, *, strict: bool = False
) -> KernelSource[GroupLayout]:
    """Write the kernel of a group.

    Args:
        problem: The pipeline with its types and borders.
        group: Stencils to fuse.
        tile: Sizes of a tile; the band is a parameter of the kernel.
        strict: Whether the compiler must keep every operation's own rounding; the text is the same.

    Raises:
        IllegalTilingError: If the group cannot be streamed.
    """
    rows = 1 if problem.pipeline.rank == 3 else tile.rows
    plan = plan_rows(problem, group, rows)
    stencils = tuple(problem.pipeline.stencils[i] for i in group)
    key = fingerprint("rows", stencils, problem.dtypes, problem.borders, plan, tile.width, tile.lines, rows)
    writer = _Writer(problem, plan, tile, rows, f"tw_{key[:12]}")
    text, kernels = writer.unit(), (EntryPoint(entry=writer.entry),)
    layout = GroupLayout(inputs=plan.group.inputs, outputs=plan.group.outputs, scratch=writer.scratch, width=tile.width)
    return KernelSource(text=text, dialect="c", kernels=kernels, layout=layout, strict=strict)


class _Writer(Rings):
    """Writes one kernel; every method returns text."""

    def unit(self) -> str:
        functions, converts = [], []
        for number, step in enumerate(self.plan.passes):
            stencil = self.problem.pipeline.stencils[step.stencils[0]]
            name = f"{self.entry}_p{number}"
            if stencil.convert:
                source = self.problem.dtype(stencil.inputs[0])
                converts.append(conversion(name, source, stencil.convert, stencil.rounding, self.rows))
            else:
                functions.append(pass_function(self.problem, self.plan, step, self.rows, name))
        kinds = [side.kind for grid in self.plan.grids for axis in self.problem.sides(grid.name) for side in axis]
        parts = [c.print_unit([*map_functions(kinds), *functions]), HEAD, *converts]
        parts += [self.ends(grid.name) for grid in self.plan.grids if self.has_ends(grid.name)]
        parts += [self.row(grid.name) for grid in self.plan.grids if self.is_read(grid.name)]
        parts += [self.fetch(grid) for grid in self.plan.group.inputs]
        return "\n".join([*parts, self.tile_function(), self.entry_function()])

    def entry_function(self) -> str:
        last = self.rank - 1
        names = [f"const int64_t n{axis} = size[{3 + axis}];" for axis in range(self.rank)]
        corners = {key: self.corners(*key) for key in self.fill}
        fills = [f"    {self.filled(*key)}" for key in self.fill if not corners[key]]
        lines = ["const int64_t planks = 1;"]
        if self.rank == 3:
            lines = [f"const int64_t planks = tw_ceildiv(n1, {self.tile.lines});"]
        call = "y0, y1, x0, x1"
        cut = ""
        if self.rank == 3:
            cut = "      const int64_t l0 = n1 * plank / planks, l1 = n1 * (plank + 1) / planks;\n"
            call = "y0, y1, l0, l1, x0, x1"
        return f"""
void {self.entry}(void *const *array, const int64_t *size, char *work, const double *scalar) {{
  {" ".join(names)}
  const int64_t strips = tw_ceildiv(n{last}, {self.tile.width}), bands = tw_ceildiv(n0, size[1]);
  {" ".join(lines)}
  #pragma omp parallel num_threads(size[0])
  {{
    char *const own = work + tw_me() * INT64_C({self.scratch});
{chr(10).join(fills)}
    #pragma omp for schedule(dynamic, 1)
    for (int64_t t = 0; t < strips * bands * planks; ++t) {{
      const int64_t strip = t % strips, plank = t / strips % planks, band = t / strips / planks;
      const int64_t y0 = n0 * band / bands, y1 = n0 * (band + 1) / bands;
      const int64_t x0 = strip * {self.tile.width}, x1 = tw_min(n{last}, x0 + {self.tile.width});
{cut}      (void)plank;
{"".join(corners.values())}      {self.entry}_tile(array, size, own, scalar, {call});
    }}
    tw_done();
  }}
}}
"""

    def tile_function(self) -> str:
        last = self.rank - 1
        extents = " ".join(f"const int64_t n{axis} = size[{3 + axis}];" for axis in range(self.rank))
        arrays, lows, bounds = [], [], []
        for k, grid in enumerate((*self.plan.group.inputs, *self.plan.group.outputs)):
            const = "const " if k < len(self.plan.group.inputs) else ""
            tag = "in" if const else "to"
            arrays.append(f"  {const}{self.ctype(grid)} *const {tag}_{grid} = array[{k}];")
            strides = [
                f"{tag}_{grid}_s{axis} = size[{3 + self.rank + k * (self.rank - 1) + axis}]"
                for axis in range(self.rank - 1)
            ]
            arrays.append(f"  const int64_t {', '.join(strides)};")
        for grid in self.plan.group.inputs:
            halo = self.plan.grid(grid).halo[-1]
            slack = CACHE_LINE // self.problem.itemsize(grid)
            lows.append(f"x0 < {halo[0]} || x1 + {halo[1] + slack} > n{last}")
        steps = [self.span(grid) for grid in self.plan.group.inputs]
        steps += [self.span(self.problem.pipeline.stencils[p.stencils[0]].output) for p in self.plan.passes]
        lags = [0] * len(self.plan.group.inputs) + [p.lag for p in self.plan.passes]
        bounds = [f"  int64_t first = {steps[0][0]} + {lags[0]}, stop = {steps[0][1]} + {lags[0]};"]
        bounds += [
            f"  first = tw_min(first, {low} + {lag}); stop = tw_max(stop, {high} + {lag});"
            for (low, high), lag in zip(steps[1:], lags[1:], strict=True)
        ]
        body = "\n".join(
            [*(self.load(grid) for grid in self.plan.group.inputs), *map(self.step, range(len(self.plan.passes)))]
        )
        middle = "int64_t l0, int64_t l1, " if self.rank == 3 else ""
        return f"""
static void {self.entry}_tile(void *const *array, const int64_t *size, char *own, const double *scalar,
                              int64_t ya, int64_t yb, {middle}int64_t x0, int64_t x1) {{
  {extents}
  const int64_t stream = size[2];
{chr(10).join(arrays)}
  const int64_t edge = {" || ".join(lows)};
{chr(10).join(bounds)}
  for (int64_t at = first; at < stop; at += {self.rows}) {{
{body}
  }}
  (void)stream;
}}
"""

    def span(self, grid: str, axis: int = 0, low: str = "ya", high: str = "yb") -> tuple[str, str]:
        """The rows of a grid that a tile needs."""
        below, above = self.plan.grid(grid).halo[axis]
        first, stop = f"{low} - {below}", f"{high} + {above}"
        if self.wraps(grid, axis):
            return f"({first})", f"({stop})"
        return f"tw_max(0, {first})", f"tw_min(n{axis}, {stop})"

    def load(self, grid: str) -> str:
        """Bring the rows of an input in: ask for them ahead, or copy them at the sides of the picture."""
        low, high = self.span(grid)
        left, right = self.plan.grid(grid).halo[-1]
        last = self.rank - 1
        inside = "tw_map_wrap(y, n0)" if self.wraps(grid, 0) else "y"
        kind = self.ctype(grid)
        if self.rank == 2:
            copy = (
                f"          {self.entry}_fetch_{grid}({self.entry}_row_{grid}(own, y, n0), "
                f"in_{grid} + {inside} * in_{grid}_s0, x0 - {left}, x1 + {right}, n{last});\n"
            )
            ask = f"""    else {{
      for (int64_t y = tw_max(at + {self.rows}, {low}); y < tw_min(at + {2 * self.rows}, {high}); ++y)
        for (int64_t x = x0 - {left}; x < x1 + {right}; x += {CACHE_LINE // self.problem.itemsize(grid)})
          __builtin_prefetch(in_{grid} + {inside} * in_{grid}_s0 + x, 0, 3);
    }}
"""
        else:
            first, stop = self.span(grid, 1, "l0", "l1")
            line = "tw_map_wrap(l, n1)" if self.wraps(grid, 1) else "l"
            copy = (
                f"          for (int64_t l = {first}; l < {stop}; ++l)\n"
                f"            {self.entry}_fetch_{grid}({self.entry}_row_{grid}(own, y, n0, l, n1, l0), "
                f"in_{grid} + {inside} * in_{grid}_s0 + {line} * in_{grid}_s1, x0 - {left}, x1 + {right}, n{last});\n"
            )
            ask = ""
        condition = "if (edge) " if self.rank == 2 else ""
        del kind
        return f"""    {condition}{{
      for (int64_t y = tw_max(at, {low}); y < tw_min(at + {self.rows}, {high}); ++y)
{copy}    }}
{ask}"""

    def step(self, number: int) -> str:
        """Run one pass on the rows of this advance."""
        step = self.plan.passes[number]
        doors = self.doors(step)
        stencil = self.problem.pipeline.stencils[step.stencils[0]]
        low, high = self.span(stencil.output)
        left, right = step.halo[-1]
        last = self.rank - 1
        wide = self.wraps(stencil.output, last)
        begin = f"x0 - {left}" if wide else f"tw_max(0, x0 - {left})"
        end = f"x1 + {right}" if wide else f"tw_min(n{last}, x1 + {right})"
        source, target = self.ctype(stencil.inputs[0]), self.ctype(stencil.output)
        total = sum(s.count for s in doors.sources)
        inner = self.lines_of(step, doors) if self.rank == 3 else self.rows_of(step, doors)
        return f"""    {{
      const int64_t y0 = at - {step.lag}, low = {low}, high = {high};
      if (y0 + {self.rows} > low && y0 < high) {{
        const int64_t xs = {begin}, n = {end} - xs;
        const {source} *in[{total}];
        {target} *out[{max(1, len(doors.stored) * self.rows)}];
{inner.replace("CALL", f"{self.entry}_p{number}(in, out, n, scalar);")}
      }}
    }}"""

    def doors(self, step: Pass) -> PassPorts:
        return ports(self.problem, self.plan, step, self.rows)

    def rows_of(self, step: Pass, doors: PassPorts) -> str:
        """Two dimensions: pointers to rows, the pass, its borders, its results."""
        text = [self.pointers(source) for source in doors.sources]
        for k, grid in enumerate(doors.stored):
            left = step.halo[-1][0]
            text.append(
                f"        for (int r = 0; r < {self.rows}; ++r) out[{k * self.rows} + r] = "
                f"({self.ctype(grid)} *)(own + {self.start[grid]}) + tw_floormod(y0 + r, {self.depth(grid)}) * "
                f"{self.pitch(grid)} + (xs - (x0 - {left}));"
            )
        text.append("        CALL")
        for k, grid in enumerate(doors.stored):
            left, right = step.halo[-1]
            if self.has_ends(grid) and not self.wraps(grid, 1):
                text.append(
                    f"        if (x0 < {left} || x1 + {right} > n1)\n"
                    f"          for (int r = 0; r < {self.rows}; ++r) {self.entry}_ends_{grid}("
                    f"out[{k * self.rows} + r] - (xs - (x0 - {left})), x0 - {left}, x1 + {right}, n1);"
                )
            if grid in self.plan.group.outputs:
                text.append(
                    f"        for (int64_t y = tw_max(y0, ya); y < tw_min(y0 + {self.rows}, yb); ++y)\n"
                    f"          tw_put((char *)(to_{grid} + y * to_{grid}_s0 + x0), "
                    f"(const char *)(out[{k * self.rows} + (y - y0)] + (x0 - xs)), "
                    f"(x1 - x0) * (int64_t)sizeof({self.ctype(grid)}), stream);"
                )
        return "\n".join(text)

    def pointers(self, source: Source) -> str:
        """Pointers to consecutive rows of a grid, in a ring or in place; mapped one by one near the ends."""
        grid = source.grid
        low, high = source.box[0]
        left = self.plan.grid(grid).halo[-1][0]
        count, depth = high - low + 1, self.depth(grid)
        ring = f"(({self.ctype(grid)} *)(own + {self.start[grid]}))"
        shift = f"xs - (x0 - {left})"
        wrap = self.wraps(grid, 0)
        safe = "1" if wrap else f"y0 + {low} >= 0 && y0 + {high} < n0"
        place = "tw_map_wrap(y, n0)" if wrap else "y"
        slow = f"{self.entry}_row_{grid}(own, y0 + {low} + j, n0) + ({shift})"
        quick = (
            f"int64_t k = tw_floormod(y0 + {low}, {depth});\n"
            f"            for (int j = 0; j < {count}; ++j) {{ in[{source.start} + j] = {ring} + "
            f"k * {self.pitch(grid)} + ({shift}); k = k + 1 == {depth} ? 0 : k + 1; }}"
        )
        from_ring = (
            f"          if ({safe}) {{\n            {quick}\n          }} else\n"
            f"            for (int j = 0; j < {count}; ++j) in[{source.start} + j] = {slow};"
        )
        if grid not in self.plan.group.inputs:
            return f"        {{\n{from_ring}\n        }}"
        # Outside, `row` returns constants, or a row of the ring: its number says which row of the picture is meant.
        outside = self.outside(grid, source)
        return f"""        if (edge) {{
{from_ring}
        }} else {{
          for (int j = 0; j < {count}; ++j) {{
            int64_t y = y0 + {low} + j;
            {outside}in[{source.start} + j] = in_{grid} + {place} * in_{grid}_s0 + xs;
          }}
        }}"""

    def outside(self, grid: str, source: Source) -> str:
        if self.wraps(grid, 0):
            return ""
        text = ""
        left = self.plan.grid(grid).halo[-1][0]
        for test, side in zip(("y < 0", "y >= n0"), self.problem.sides(grid)[0], strict=True):
            if side.kind == "constant":
                place = self.fill[grid, side.value]
                text += (
                    f"if ({test}) {{ in[{source.start} + j] = (const {self.ctype(grid)} *)(own + {place}) + "
                    f"(xs - (x0 - {left})); continue; }}\n            "
                )
            else:
                text += f"if ({test}) y = {map_name(side.kind)}(y, n0);\n            "
        return text

    def lines_of(self, step: Pass, doors: PassPorts) -> str:
        """Three dimensions: the same, line after line of a plane."""
        first, stop = self.span(self.problem.pipeline.stencils[step.stencils[0]].output, 1, "l0", "l1")
        text = [f"        for (int64_t l = {first}; l < {stop}; ++l) {{"]
        for source in doors.sources:
            grid, ((za, zb), (la, lb)) = source.grid, source.box
            left = self.plan.grid(grid).halo[-1][0]
            text.append(
                f"          for (int j = 0; j < {source.count}; ++j) in[{source.start} + j] = {self.entry}_row_{grid}("
                f"own, y0 + {za} + j / {lb - la + 1}, n0, l + {la} + j % {lb - la + 1}, n1, l0) + "
                f"(xs - (x0 - {left}));"
            )
            del zb
        left, right = step.halo[-1]
        for k, grid in enumerate(doors.stored):
            text.append(
                f"          out[{k}] = ({self.ctype(grid)} *)(own + {self.start[grid]}) + "
                f"tw_floormod(y0, {self.depth(grid)}) * {self.slab(grid)} + "
                f"(l - l0 + {step.halo[1][0]}) * {self.pitch(grid)} + (xs - (x0 - {left}));"
            )
        text.append("          CALL")
        for k, grid in enumerate(doors.stored):
            if self.has_ends(grid) and not self.wraps(grid, 2):
                text.append(
                    f"          if (x0 < {left} || x1 + {right} > n2) {self.entry}_ends_{grid}("
                    f"out[{k}] - (xs - (x0 - {left})), x0 - {left}, x1 + {right}, n2);"
                )
            if grid in self.plan.group.outputs:
                text.append(
                    f"          if (y0 >= ya && y0 < yb && l >= l0 && l < l1)\n"
                    f"            tw_put((char *)(to_{grid} + y0 * to_{grid}_s0 + l * to_{grid}_s1 + x0), "
                    f"(const char *)(out[{k}] + (x0 - xs)), (x1 - x0) * (int64_t)sizeof({self.ctype(grid)}), stream);"
                )
        return "\n".join([*text, "        }"])

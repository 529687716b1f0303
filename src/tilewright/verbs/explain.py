"""Tiling families explained: what they are, what a tiling counts, and how its tiles lie in time and space."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tilewright.base.paths import check_place
from tilewright.base.records import Record
from tilewright.base.tables import Pairs, Shown
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.counting import Counts
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import Tiling, parse
from tilewright.tuning.spaces.cpu_schedule import choose_body

_SHAPES = {1: (1_000_000,), 2: (4096, 4096), 3: (512, 512, 512)}
_STEPS = 256
_PROGRAMS = {1: "jacobi1d", 2: "jacobi2d", 3: "j3d7pt"}
_TABLE = "smith_waterman"  # the program of families that cut tables; it is filled once
_TILES = 3  # tiles along an axis, and in time, of an example


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExplainedFamily(Record):
    """A tiling family, with an example of it."""

    name: Family
    ranks: tuple[int, ...]  # of the programs it can cut
    summary: str  # one line on what it is
    problem: Problem  # what the example cuts, of which a few tiles are counted
    example: Tiling  # a tiling of the family

    @property
    def counted(self) -> Problem:
        """The problem, cut to a few tiles of the example, which are counted one by one."""
        example, problem = self.example, self.problem
        sizes = (example.time, *example.space) if self.name.tables else example.space
        if not sizes:
            return problem
        shape = tuple(min(extent, _TILES * size) for extent, size in zip(problem.shape, sizes, strict=True))
        return replace(problem, shape=shape, steps=min(problem.steps, _TILES * example.time))

    @property
    def counts(self) -> Counts:
        """What the example runs and moves."""
        return catalogue.counts(self.counted, self.example)

    @property
    def program(self) -> str:
        """Name of the example's program."""
        return self.problem.program.name

    def cells(self) -> tuple[str, ...]:
        """Return the family as a row of texts."""
        return str(self.example), ", ".join(f"{rank}D" for rank in self.ranks), self.summary

    def facts(self) -> dict[str, str]:
        """Return the family and its example as names and texts."""
        shape = "x".join(map(str, self.counted.shape))
        counts = {
            name.replace("_", " "): f"{value:,}" for name, value in asdict(self.counts).items() if value is not None
        }
        return {
            "what it is": self.summary,
            "cuts": ", ".join(f"{rank}D" for rank in self.ranks),
            "example": f"{self.example} of {self.program}, {shape}, {self.counted.steps} steps",
            **({} if self.name.tables else {"code": str(choose_body(self.problem, self.example))}),
            **counts,
        }

    def outline(self) -> dict[str, object]:
        """Return the family and its example as plain data, without counts."""
        example = {
            "program": self.program,
            "shape": list(self.counted.shape),
            "steps": self.counted.steps,
            "tiling": str(self.example),
        }
        return {"name": self.name, "ranks": list(self.ranks), "summary": self.summary, "example": example}

    def to_dict(self) -> dict[str, object]:
        """Return the family, its example and the example's counts as plain data."""
        return {**self.outline(), "counts": asdict(self.counts)}

    def shown(self) -> Shown:
        """Return what people read."""
        return Pairs(self.facts(), self.name)


def families() -> tuple[ExplainedFamily, ...]:
    """Return every family with its default tiling of a simple stencil."""
    return tuple(family(name) for name in catalogue.names())


def family(tile: str, program: ProgramLike = "") -> ExplainedFamily:
    """Return one family, with ``tile`` as its example where that is a whole tiling, on ``program`` where one is given.

    >>> family("hybrid:t=8,s=8x64").counts.points
    5632
    """
    tiling = parse(tile)
    shape = tiling.family
    rank = len(tiling.space) if len(tiling.space) in shape.ranks else max(shape.ranks[0], min(2, shape.ranks[-1]))
    chosen = as_program(program or (_TABLE if shape.tables else _PROGRAMS[rank]))
    problem = make_problem(chosen, _SHAPES[chosen.rank], 1 if shape.tables else _STEPS)
    example = catalogue.legal(problem, tiling)
    return ExplainedFamily(
        name=shape,
        ranks=shape.ranks,
        summary=shape.summary,
        problem=problem,
        example=example,
    )


def draw(shown: ExplainedFamily, path: Path) -> None:
    """Draw the tiles of a family's example to a picture file."""
    check_place(path)
    from tilewright.report.drawing import draw_tiling

    draw_tiling(shown.problem, shown.example, path)

"""One benchmark case: a built-in program on a grid, with the same random data for every contender."""

import dataclasses
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import user_programs
from ghosts import ghosts_of, padded
from tilewright.programs.stencil import catalogue, reference
from tilewright.programs.stencil.boundaries import parse_boundary
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.workloads.tables import catalogue as recurrences

Array = npt.NDArray[Any]
ALIGNMENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What to compute; plain data, so that it travels to a worker as JSON.

    Attributes:
        program: Name of a built-in program.
        shape: Extents, outermost first.
        steps: Time steps of one run.
        dtype: ``float32`` or ``float64``; of a table ``int32``.
        seed: Seed of the initial data.
        threads: Threads a contender may use.
        boundary: What lies outside the grid on every side, as ``parse_boundary`` reads it.
    """

    program: str
    shape: tuple[int, ...]
    steps: int
    dtype: str = "float32"
    seed: int = 1
    threads: int = 1
    boundary: str = "fixed"

    @property
    def table(self) -> bool:
        """Whether the program is a recurrence over a table; where a stencil has its name too, the stencil is meant."""
        return self.program in recurrences.names() and self.program not in catalogue.names()

    @property
    def updates(self) -> int:
        """Cell updates of one run: cells times steps."""
        return int(np.prod(self.shape, dtype=object)) * self.steps

    def problem(self) -> Problem:
        """The problem."""
        boundary = parse_boundary(self.boundary)
        return make_problem(user_programs.program(self.program), self.shape, self.steps, self.dtype, boundary)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Case":
        """Undo :meth:`to_dict`."""
        return Case(**{**values, "shape": tuple(values["shape"])})


Data = dict[str, list[Array]]
"""Per field its versions, newest first."""


def initial(case: Case) -> Data:
    """Random initial data, per field its versions, newest first; the same in every process and for both dtypes.

    Updated fields lie in [0, 1); older time levels are close to the newest, as in a wave that has just begun to move;
    fields that are only read lie in [0.05, 0.2), where the built-in diffusion is stable.
    """
    program = user_programs.program(case.program)
    generator = np.random.default_rng(case.seed)
    arrays: Data = {}
    for field in program.fields:
        first = generator.random(case.shape, dtype=np.float32)
        if field not in program.updated:
            first = np.float32(0.05) + np.float32(0.15) * first
        older = [first * np.float32(0.99) for _ in range(1, program.history(field))]
        arrays[field] = [version.astype(case.dtype, copy=False) for version in (first, *older)]
    return arrays


def sequences(case: Case) -> tuple[Array, Array]:
    """Two random sequences of four letters, one per row and one per column of a table."""
    generator = np.random.default_rng(case.seed)
    first, second = (generator.integers(0, 4, extent, dtype=np.int32) for extent in case.shape)
    return first, second


def slots(program: Program) -> dict[str, int]:
    """Buffers per field that a plain ping-pong code needs: 1 where updating in place is legal, otherwise 2 or more."""
    return dict(zip(program.fields, program.analysis.copies, strict=True))


class Buffers:
    """Ping-pong buffers of a plain code, aligned and touched before timing.

    Version ``t`` of a field (0 for the newest initial one, -1 for the one before) lives in buffer ``t % count``. The
    cells that ``fixed`` boundaries never update are filled once, in every buffer; where other boundaries are, the grid
    is surrounded by ghost cells (:mod:`ghosts`), which the code itself keeps up to date.
    """

    def __init__(self, case: Case, problem: Problem | None = None, data: Data | None = None) -> None:
        """Make buffers for a case, or for another problem and its initial data."""
        self.case = case
        self.problem = problem = case.problem() if problem is None else problem
        self.ghosts = ghosts_of(problem)
        start = reference.start(problem, initial(case) if data is None else data)
        self.start = {
            field: [padded(self.ghosts, problem, field, version) for version in versions]
            for field, versions in start.items()
        }
        self.count = slots(problem.program)
        self.of: dict[str, list[Array]] = {}
        for field, count in self.count.items():
            self.of[field] = [aligned_copy(self.start[field][0]) for _ in range(count)]
        self.written = [field for field in problem.program.fields if field in problem.program.updated]
        self.pool = ThreadPoolExecutor(case.threads)
        self.refill()

    def fill(self) -> None:
        """Copy the initial values into every buffer, after they have been changed."""
        for field, group in self.of.items():
            for buffer in group:
                np.copyto(buffer, self.start[field][0])

    def refill(self) -> None:
        """Copy the initial versions in, by as many threads as the case has."""
        jobs = []
        for field in self.written:
            for age, version in enumerate(self.start[field]):
                target = self.of[field][-age % self.count[field]]
                for block in np.array_split(np.arange(target.shape[0]), self.case.threads):
                    rows = slice(block[0], block[-1] + 1) if len(block) else slice(0, 0)
                    jobs.append(self.pool.submit(np.copyto, target[rows], version[rows]))
        for job in jobs:
            job.result()

    def result(self) -> dict[str, Array]:
        """The newest version of every updated field after a run of all steps."""
        newest = {field: self.of[field][self.problem.steps % self.count[field]] for field in self.written}
        return {field: self.ghosts.inside(buffer) for field, buffer in newest.items()}


def aligned_copy(array: Array) -> Array:
    """Return a contiguous copy whose first element lies on a cache line."""
    raw = np.empty(array.nbytes + ALIGNMENT, dtype=np.uint8)
    skip = -raw.ctypes.data % ALIGNMENT
    result = raw[skip : skip + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(result, array)
    return result

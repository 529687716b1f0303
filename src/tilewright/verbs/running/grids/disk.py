"""Runs out of core, from disk to disk: on memmaps, zarr arrays, paths, or arrays in memory."""

import os
from contextlib import ExitStack
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.units import parse_bytes
from tilewright.distributed import disk, out_of_core
from tilewright.inputs import memo
from tilewright.runtime.host import available_bytes
from tilewright.verbs.options import refuse
from tilewright.verbs.running.grids.choice import only_on_disk
from tilewright.verbs.running.grids.engine import Large
from tilewright.verbs.running.problem import levels_of_out


class Disk(Large):
    """A run out of core, which returns ``out``, opened."""

    name = "a run out of core"

    def open(self) -> None:
        """Open and check the arrays."""
        self._stack = ExitStack()
        refuse(self.name, self.options)
        program, options, scalars = self.program, self.options, self.scalars
        if options.out is None:
            raise UsageError(
                "a run out of core writes its result to disk, and got no out=",
                "pass out= a memmap, a zarr array or a path; memory= and resume= are for such runs only",
            )
        memory = (available_bytes() or 2**32) // 2 if options.memory is None else parse_bytes(options.memory)
        more = (f"array {number + 1}" for number in range(len(program.fields), len(self.arrays)))
        fields = {
            name: self._rows(value, name) for name, value in zip((*program.fields, *more), self.arrays, strict=False)
        }
        coefficients = {
            name: self._rows(value, name) for name, value in scalars.items() if _is_field(value, program.rank)
        }
        case = self._checked(list(fields.values()), {name: each[0] for name, each in coefficients.items()})
        rows = {**fields, **coefficients}
        versions = case.given.versions
        rows |= {name: (disk.open_rows(versions[name][0], name),) for name in versions if name not in rows}
        case = self._with_points(case, lambda field, cells: out_of_core.values_at(rows[field][0], cells))
        self.problem = case.problem
        self._job = out_of_core.OutOfCoreRun(
            problem=case.problem,
            given=rows,
            points=case.points,
            targets=levels_of_out(case.problem.program, options.out, levels=options.levels),
            memory=memory,
            resume=options.resume,
        )
        self._parts = self._computer(case, self.target.threads)

    def advance(self, step: int) -> None:  # noqa: ARG002  (nothing is seen before the last)
        """Go over the files, in as many passes as it takes."""
        self._traces = out_of_core.run(self._job, memo.host(), self._parts)

    def results(self) -> Any:  # noqa: ANN401
        """Return what was written, opened where a path was given."""
        self.close()
        return self._with_traces(_open_target(self.options.out))

    def close(self) -> None:
        """Close the files that were read."""
        self._stack.close()

    def _rows(self, value: Any, name: str) -> tuple[disk.RowArray, ...]:  # noqa: ANN401
        opened = tuple(disk.open_rows(each, repr(name)) for each in (value if isinstance(value, tuple) else (value,)))
        for rows in opened:
            self._stack.callback(rows.close)
        return opened


def _is_field(value: object, rank: int) -> bool:
    """Whether a scalar's value is a whole field; one of fewer axes is repeated, or has a value per step."""
    return only_on_disk(value) or (isinstance(value, np.ndarray) and value.ndim == rank and rank > 1)


def _open_target(out: Any) -> Any:  # noqa: ANN401
    if isinstance(out, tuple):
        return tuple(_open_target(each) for each in out)
    return disk.open_array(out) if isinstance(out, str | os.PathLike) else out

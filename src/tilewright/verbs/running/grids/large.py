"""What runs on arrays that are not in this process's memory have in common: stand-ins are checked in their place."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.base.units import format_shape
from tilewright.inputs import memo
from tilewright.runtime.points import Look
from tilewright.verbs.running.grids.engine import Engine
from tilewright.verbs.running.problem import CheckedProblem, check

if TYPE_CHECKING:
    from tilewright.distributed.compute import Computer


class Large(Engine):
    """A run on arrays that lie elsewhere."""

    _traces: Mapping[str, Any] = {}
    """By field what receivers recorded."""

    def _checked(self, fields: Sequence[Sequence[Any]], coefficients: Mapping[str, Any]) -> CheckedProblem:
        """Check stand-ins of a program's fields and coefficients as arrays in memory are checked."""
        stands = [tuple(stand_in(each) for each in levels) for levels in fields]
        others = {name: stand_in(each) for name, each in coefficients.items()}
        return check(self.program, stands, {**self.scalars, **others}, self.options, stands=True)

    def _with_points(self, case: CheckedProblem, look: Look) -> CheckedProblem:
        from tilewright.distributed.points import check_target

        found = case.with_points(self.options, self.target.threads, look=look)
        if found.points is not None:
            check_target(self.target)
        return found

    def _computer(self, case: CheckedProblem, threads: int) -> "Computer":
        from tilewright.distributed.compute import Computer

        return Computer(
            target=self.target,
            threads=threads,
            tiling=self.options.tiling,
            strict=self.options.strict,
            scalars=case.given.scalars,
            make=memo.prepared,
        )

    def _with_traces(self, state: Any) -> Any:  # noqa: ANN401
        """Return a run's state, with what receivers recorded where there are any."""
        return state if self.options.receivers is None else (state, dict(self._traces))


def stand_in(array: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Return an array of the shape and element type of another that takes no memory, to be checked in its place."""
    shape, dtype = tuple(array.shape), np.dtype(array.dtype)
    if math.prod(shape) * dtype.itemsize >= 2**63:
        raise ArrayError(f"an array of {format_shape(shape)} cells is larger than any disk")
    return np.broadcast_to(np.zeros((), dtype), shape)

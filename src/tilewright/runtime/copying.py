"""Copies between arrays by the team of threads that kernels compute with.

After a step the team waits for the next one in a loop for a while, so that threads of Python's own get no core: two of
them take longer over a field than one.
"""

import functools
from collections.abc import Sequence

import numpy as np

from tilewright.base.errors import ToolchainError
from tilewright.codegen.copying import copy_source
from tilewright.runtime import cpu
from tilewright.runtime.memory import Array

_LEAST = 2**21
"""Bytes from which on threads copy."""


def copied_by_team(pairs: Sequence[tuple[Array, Array]], threads: int) -> list[tuple[Array, Array]]:
    """Copy the large arrays among some whose rows are whole in memory.

    Args:
        pairs: Targets and sources; none overlap.
        threads: Threads of the team.

    Returns:
        The pairs that are left.
    """
    rest = [pair for pair in pairs if not _by_rows(*pair)]
    team = _function() if len(rest) < len(pairs) else None
    if team is None:
        return list(pairs)
    for target, source in pairs:
        if _by_rows(target, source):
            planes, rows = (1, *target.shape[:-1])[-2:]
            steps = [(0, *each.strides[:-1])[-2:] for each in (target, source)]
            sizes = (threads, planes, rows, target.shape[-1] * target.itemsize, *steps[0], *steps[1])
            team([target, source], sizes)
    return rest


def _by_rows(target: Array, source: Array) -> bool:
    """Whether it is a large copy of rows, bit for bit."""
    whole = all(each.strides[-1] == each.itemsize for each in (target, source))
    return whole and target.dtype == source.dtype and target.ndim in {2, 3} and target.nbytes >= _LEAST


@functools.cache
def _function() -> cpu.CompiledFunction | None:
    """Return the compiled function; None without a compiler, or one that knows no threads."""
    try:
        function = cpu.functions(copy_source())[0]
    except ToolchainError:
        return None
    return function if function.parallel else None

"""Copies between arrays by the team of threads that kernels compute with.

After a step the team waits for the next one in a loop for a while, so that threads of Python's own get no core: two of
them take longer over a field than one.
"""

from collections.abc import Callable, Sequence

from tilewright.runtime.memory import Array

Team = Callable[[Sequence[Array], Sequence[int]], None]
"""The function of :func:`tilewright.codegen.copying.copy_source`: arrays and sizes."""
_LEAST = 2**21
"""Bytes from which on threads copy."""


def copied_by_team(pairs: Sequence[tuple[Array, Array]], threads: int, team: Team) -> list[tuple[Array, Array]]:
    """Copy large arrays whose rows are whole in memory, of disjoint (target, source) pairs; returns the pairs left."""
    rest = []
    for target, source in pairs:
        if not _by_rows(target, source):
            rest.append((target, source))
            continue
        planes, rows = (1, *target.shape[:-1])[-2:]
        steps = [(0, *each.strides[:-1])[-2:] for each in (target, source)]
        team([target, source], (threads, planes, rows, target.shape[-1] * target.itemsize, *steps[0], *steps[1]))
    return rest


def _by_rows(target: Array, source: Array) -> bool:
    """Whether it is a large copy of rows, bit for bit."""
    whole = all(each.strides[-1] == each.itemsize for each in (target, source))
    return whole and target.dtype == source.dtype and target.ndim in {2, 3} and target.nbytes >= _LEAST

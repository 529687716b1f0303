"""Energy constants from metered runs by regression (Prajapati, thesis, section B.7.1).

E_i = A_i x, with the amounts of run i in A_i and the seven constants of table B.2 in x, none negative. The sum of the
absolute deviations is minimised, as printed, which is a linear program: minimise sum u with -u <= A x - E <= u.

Columns can be so alike that the runs do not tell them apart: e_iadd and e_imax appear only as a sum in Smith-Waterman.
What is determined is therefore reported along with the values: the groups of constants that trade against each other,
and for each the interval within which the fit is as good.
"""

import importlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError, needed
from tilewright.costs.accuracy import Comparison
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.energy.constants import NAMES
from tilewright.costs.energy.price import Usage

FITTED = NAMES[:7]
"""The constants that are fitted: those of table B.2. Specials count as so many multiplications as they take cycles."""
_SINGULAR = 1e-7  # singular values below this share of the largest one, of columns of length 1, are zero
_SLACK = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A fit of the energy constants."""

    names: tuple[str, ...]  # the constants that were fitted; others have no column of any size
    values: tuple[float, ...]  # watts or joules; shape (p,)
    low: tuple[float, ...]  # smallest value of each with which the fit is as good; None without ``intervals``
    high: tuple[float, ...]  # largest such value
    # groups of constants that the runs cannot tell apart: of each only a combination is determined
    alike: tuple[tuple[str, ...], ...]
    runs: int  # number of runs fitted
    rmse: float  # root of the mean squared relative deviation over them

    def vector(self) -> Floats:
        """Return the values of all of :data:`FITTED`, 0 where there was no column; shape (7,)."""
        values = dict(zip(self.names, self.values, strict=True))
        return np.array([values.get(name, 0.0) for name in FITTED])

    def to_dict(self) -> dict[str, object]:
        """Return the fit as plain data."""
        return asdict(self)


def columns(usages: Sequence[Usage], special_cycles: float = 8.0) -> Floats:
    """Return the amounts of runs as a matrix; shape (n, 7), in the order of :data:`FITTED`."""
    table = np.array([usage.vector() for usage in usages]).reshape(len(usages), len(NAMES))
    table[:, 4] += special_cycles * table[:, 7]
    return np.asarray(table[:, :7])


def regress(table: Floats, joules: Floats) -> Regression:
    """Fit the constants to measured energies by least absolute deviations; ``table`` has a row of amounts per run."""
    columns = np.flatnonzero((table != 0).any(axis=0))
    if len(joules) < len(columns) or not len(columns):
        raise UsageError(f"a fit of {len(columns)} constants needs as many runs, got {len(joules)}")
    if table.shape != (len(joules), len(FITTED)) or not (np.isfinite(table).all() and (joules > 0).all()):
        raise UsageError("a fit needs finite amounts and energies above 0 for every run")
    # Columns of length 1 keep the program well scaled: watts and joules per operation differ by 10^12.
    scale = np.linalg.norm(table[:, columns], axis=0) / np.linalg.norm(joules)
    scaled, norm = table[:, columns] / scale, float(np.abs(joules).sum())
    solution, least = _least_absolute(scaled / norm, joules / norm)
    low, high = _intervals(scaled / norm, joules / norm, least)
    values = solution / scale
    names = tuple(FITTED[i] for i in columns)
    return Regression(
        names=names,
        values=tuple(values.tolist()),
        low=tuple(np.minimum(low / scale, values).tolist()),
        high=tuple(np.maximum(high / scale, values).tolist()),
        alike=_alike(scaled, names),
        runs=len(joules),
        rmse=Comparison(predicted=table[:, columns] @ values, measured=joules).rmse,
    )


def split(count: int, share: float, seed: int, least: int = 1) -> tuple[Ints, Ints]:
    """Divide runs into those to fit and those held out, at random but repeatably."""
    if not 0 < share <= 1:
        raise UsageError(f"the share of runs to fit is above 0 and at most 1, got {share!r}")
    order = np.random.default_rng(seed).permutation(count)
    cut = min(count, max(least, round(share * count)))
    return np.sort(order[:cut]), np.sort(order[cut:])


def _solver() -> Any:  # noqa: ANN401  (scipy has no types)
    with needed("scipy", "the regression of energies", extra="fit"):
        return importlib.import_module("scipy.optimize").linprog


def _program(table: Floats) -> tuple[Floats, Floats]:
    """Return the inequality matrix of the linear program over (x, u), and the objective that sums u."""
    runs, count = table.shape
    eye = np.eye(runs)
    matrix = np.block([[table, -eye], [-table, -eye]])
    return matrix, np.concatenate([np.zeros(count), np.ones(runs)])


def _least_absolute(table: Floats, joules: Floats) -> tuple[Floats, float]:
    matrix, objective = _program(table)
    best = _solver()(objective, A_ub=matrix, b_ub=np.concatenate([joules, -joules]), bounds=(0, None), method="highs")
    if not best.success:
        raise UsageError(f"the regression found no solution: {best.message}")
    return np.asarray(best.x[: table.shape[1]]), float(best.fun)


def _intervals(table: Floats, joules: Floats, least: float) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value of each constant whose fit is as good, to a millionth of all energy."""
    matrix, objective = _program(table)
    bound = np.concatenate([joules, -joules, [least + _SLACK]])
    matrix = np.vstack([matrix, objective])
    ends = np.zeros((2, table.shape[1]))
    for side, sign in enumerate((1.0, -1.0)):
        for column in range(table.shape[1]):
            aim = np.zeros(matrix.shape[1])
            aim[column] = sign
            best = _solver()(aim, A_ub=matrix, b_ub=bound, bounds=(0, None), method="highs")
            if not best.success:
                raise UsageError(f"the regression found no interval: {best.message}")
            ends[side, column] = best.x[column]
    return ends[0], ends[1]


def _alike(table: Floats, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of columns that are linearly dependent: the null space, split where it falls apart."""
    _, sizes, rows = np.linalg.svd(table, full_matrices=True)
    rank = int((sizes > _SINGULAR * sizes[0]).sum())
    touching = np.abs(rows[rank:].T @ rows[rank:]) > 1e-6
    groups: list[tuple[str, ...]] = []
    left = [i for i in range(len(names)) if touching[i, i]]
    while left:
        group, grown = {left[0]}, True
        while grown:
            more = {j for i in group for j in left if touching[i, j]} - group
            grown = bool(more)
            group |= more
        groups.append(tuple(names[i] for i in sorted(group)))
        left = [i for i in left if i not in group]
    return tuple(groups)

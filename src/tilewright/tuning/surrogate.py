"""What measurements say about tilings that were not measured: the model's error as a Gaussian process, ask and tell.

The logarithm of measured over predicted time of candidate i is taken as a sum of four errors of the model: one of all
candidates alike, one of its family, one of the numbers that the prediction rests on, and one that candidates share
the more the nearer their sizes are,

    cov(i, j) = a^2 + g_i . g_j + [same family] (f^2 + s^2 exp(-|x_i - x_j|^2 / (2 l^2))),

with g the slopes of the prediction along these numbers (:mod:`tilewright.tuning.sensitivity`), x the binary logarithms
of tile sizes and threads, and samples scatter by a noise besides. So every measurement corrects the model's constants,
and what they leave (Rasmussen and Williams, Gaussian processes for machine learning, 2006, equations 2.25 and 2.26).
The next candidate is the one from which most is expected (expected improvement: Jones, Schonlau and Welch,
Efficient global optimization of expensive black-box functions, 1998, equation 15).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright.costs.arrays import Floats, Ints
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.shortlist import Candidate, FamilySpace

_FAR = 4.0  # candidates that are expected to take longer than the best by this factor are never asked for
_MOST = 2000  # most candidates of a family that may be asked for
_SQRT2 = math.sqrt(2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How the model errs: standard deviations of the logarithm of measured over predicted time.

    The values are of replayed measurements of others on a GPU and of sweeps on a CPU
    (``reproduce/active.py``); they matter little within a factor of two.
    """

    common: float = 5.0  # of all candidates alike: wide, since a sample may be of fewer steps than the prediction
    family: float = 0.1  # of a family's candidates alike
    local: float = 0.1  # of a single candidate, shared with those of similar sizes
    reach: float = 1.5  # distance, in doublings of a size, over which that is shared
    noise: float = 0.1  # of a sample


@dataclass(slots=True, kw_only=True)
class Surrogate:
    """Expected times of candidates, corrected by what was measured."""

    predicted: Floats  # seconds; shape (n,)
    places: Floats  # logarithms of sizes, any number of them per candidate; shape (n, d)
    families: Ints  # number of every candidate's family; shape (n,)
    errors: Errors = field(default_factory=Errors)  # how the model errs
    # of the predictions along the model's numbers, in units of their prior spread; shape (n, p), no columns if unknown
    slopes: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    _known: dict[int, float] = field(default_factory=dict)
    _closed: set[int] = field(default_factory=set)

    def tell(self, index: int, seconds: float | None) -> None:
        """Take note of what a candidate took; of None, that it failed and is not to be asked for again."""
        self._closed.add(index)
        if seconds is not None:
            self._known[index] = math.log(seconds / float(self.predicted[index]))

    def close(self, index: int) -> None:
        """See to it that a candidate is not asked for again."""
        self._closed.add(index)

    def ask(self, count: int = 1) -> list[int]:
        """Return the candidates to measure next: those from which most is expected, one after the other."""
        # A later one is chosen as if the earlier ones had taken what is expected of them (Ginsbourger, Le Riche and
        # Carraro, Kriging is well-suited to parallelize optimization, 2010: the Kriging believer).
        errors, chosen = dict(self._known), list[int]()
        closed = np.zeros(len(self.predicted), dtype=bool)
        closed[list(self._closed)] = True
        for _ in range(min(count, int((~closed).sum()))):
            centre, spread = self._posterior(errors)
            gain = _improvement(np.log(self.predicted) + centre, spread, self._best(errors))
            gain[closed] = -np.inf
            index = int(np.argmax(gain))
            closed[index] = True
            errors[index] = float(centre[index])
            chosen.append(index)
        return chosen

    def expected(self) -> tuple[Floats, Floats]:
        """Return every candidate's median time and the standard deviation of its logarithm; each of shape (n,)."""
        centre, spread = self._posterior(self._known)
        return self.predicted * np.exp(centre), spread

    def _best(self, errors: dict[int, float]) -> float:
        """Logarithm of the least time so far; of the least predicted one where there is none."""
        times = [math.log(float(self.predicted[i])) + error for i, error in errors.items()]
        return min(times, default=math.log(float(self.predicted.min())))

    def _posterior(self, errors: dict[int, float]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the model's error at every candidate (equations 2.25 and 2.26)."""
        prior = self.errors.common**2 + self.errors.family**2 + self.errors.local**2
        prior = np.full(len(self.predicted), prior) + (self.slopes**2).sum(axis=1)
        if not errors:
            return np.zeros(len(self.predicted)), np.sqrt(prior)
        index = list(errors)
        across = self._covariance(index)
        inside = across[index] + self.errors.noise**2 * np.eye(len(index))
        weights = np.linalg.solve(inside, across.T)
        centre = np.array(list(errors.values())) @ weights
        variance = prior - np.einsum("ij,ji->i", across, weights)
        return centre, np.sqrt(np.maximum(variance, 1e-12))

    def _covariance(self, index: Sequence[int]) -> Floats:
        """Prior covariance of every candidate with some of them; shape (n, m)."""
        gaps = ((self.places[:, None, :] - self.places[None, index, :]) ** 2).sum(axis=2)
        near = self.errors.local**2 * np.exp(-gaps / (2.0 * self.errors.reach**2))
        same = self.families[:, None] == self.families[None, index]
        by_numbers = self.slopes @ self.slopes[index].T if self.slopes.shape[1] else 0.0
        return np.asarray(self.errors.common**2 + by_numbers + same * (self.errors.family**2 + near))


class CandidatePool:
    """The candidates of a search space that may be asked for, with what is known of them."""

    def __init__(self, family_spaces: Sequence[FamilySpace], errors: Errors | None = None) -> None:
        best = min((float(each.expected.min()) for each in family_spaces if len(each.expected)), default=math.inf)
        self._family_spaces = family_spaces
        self._threaded = {family_space.family for family_space in family_spaces if family_space.sizes.threads}
        self._points: list[tuple[int, int]] = []
        for number, family_space in enumerate(family_spaces):
            near = np.flatnonzero(np.isfinite(family_space.cost) & (family_space.expected <= _FAR * best))
            order = near[np.argsort(family_space.expected[near], kind="stable")][:_MOST]
            self._points += [(number, int(point)) for point in order]
        self._index: dict[tuple[object, ...], int] = {}
        for index, (number, point) in enumerate(self._points):
            self._index.setdefault(self._key(number, point), index)
        names = sorted({family_space.family for family_space in family_spaces})
        self._surrogate = Surrogate(
            predicted=np.array([family_spaces[number].expected[point] for number, point in self._points], dtype=float),
            places=self._places(),
            families=np.array(
                [names.index(family_spaces[number].family) for number, _ in self._points], dtype=np.int64
            ),
            errors=errors or Errors(),
            slopes=self._slopes(),
        )

    def tell(self, tiling: Tiling, seconds: float | None) -> None:
        """Take note of what a tiling took, or that it failed; one that is not in the pool is passed over."""
        shape = (*tiling.space, *(tiling.threads if tiling.family in self._threaded else ()))
        key = (tiling.family, *(() if tiling.family.untiled else (tiling.time, *shape)))
        if key in self._index:
            self._surrogate.tell(self._index[key], seconds)

    def ask(self, count: int) -> list[Candidate]:
        """Return the candidates to try next, fewer where the pool ends; each is closed, whatever it makes."""
        candidates = []
        for index in self._surrogate.ask(count):
            number, point = self._points[index]
            candidates.append(self._family_spaces[number].at(point))
            self._surrogate.close(index)
        return candidates

    def _key(self, number: int, point: int) -> tuple[object, ...]:
        family_space = self._family_spaces[number]
        if family_space.family.untiled:
            return (family_space.family,)
        return family_space.family, *(int(column[point]) for column in _columns(family_space))

    def _places(self) -> Floats:
        """Binary logarithms of height, sizes and threads; families of fewer axes are 0 along the others."""
        width = max((len(_columns(family_space)) for family_space in self._family_spaces), default=1)
        logarithms = np.zeros((len(self._points), width))
        for row, (number, point) in enumerate(self._points):
            values = [column[point] for column in _columns(self._family_spaces[number])]
            logarithms[row, : len(values)] = np.log2(np.maximum(1, values))
        return logarithms

    def _slopes(self) -> Floats:
        """Slopes of the points of all families; none at all unless every family knows its own."""
        parts = []
        for number, family_space in enumerate(self._family_spaces):
            index = np.array([point for each, point in self._points if each == number], dtype=np.int64)
            if family_space.slopes is None:
                return np.zeros((len(self._points), 0))
            if len(index):
                parts.append(family_space.slopes(index))
        return np.concatenate(parts) if parts else np.zeros((0, 0))


def _columns(family_space: FamilySpace) -> tuple[Ints, ...]:
    """What tells the points of a space apart: heights, sizes, and threads where these are not left open."""
    return (family_space.sizes.time, *family_space.sizes.space, *family_space.sizes.threads)


def _improvement(centre: Floats, spread: Floats, best: float) -> Floats:
    """Expected improvement of a normal variable over the best so far, in its own unit (equation 15)."""
    depth = (best - centre) / spread
    density = np.exp(-0.5 * depth**2) / math.sqrt(2.0 * math.pi)
    below = np.array([0.5 * math.erfc(-each / _SQRT2) for each in depth.tolist()])
    return np.asarray(spread * (depth * below + density))

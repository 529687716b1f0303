"""The search: what is tried, in which order, until when, and who wins. Measuring arrives as an argument.

Nothing here knows a compiler or a device, and the clock can be given, so every search can be replayed from recorded
measurements.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from tilewright.base.records import Measurement, Outcome
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.shortlist import Candidate, Effort, FamilySpace, shortlist
from tilewright.tuning.surrogate import CandidatePool

BATCH = 8  # candidates that are built together, before they are measured one after the other
_LEARNT = 4  # of the candidates that are built together, one in so many is asked for after what was learnt
UNSTABLE = 0.10  # spread of a candidate's samples, as a share of their median, from which its result is flagged
_FINAL_BAND = 1.5
"""Candidates slower than this times the second best first sample (the best may have been luck) are no finalists."""
_OPENING = 2
"""The model's choice and no tiling in time, which are tried before anything is learnt, however few there are."""


class Meter(Protocol):
    """What measures; every result carries one sample at most."""

    def build(self, tilings: Sequence[Tiling]) -> Mapping[Tiling, Measurement]:
        """Compile and check on a small problem; return the failures, the rest may be measured."""

    def sample(self, tiling: Tiling) -> Measurement:
        """Take one sample of the time on the user's problem."""

    def confirm(self, tiling: Tiling, second: Tiling) -> Measurement:
        """Compare the result on the user's problem with that of a second schedule.

        The candidate itself as its second schedule runs in its strict order on one thread.
        """


@runtime_checkable
class Farm(Meter, Protocol):
    """A meter whose samples come from many nodes, so that finalists have to be measured again on one of them."""

    def finals(self, tilings: Sequence[Tiling], rounds: int) -> Mapping[Tiling, Measurement]:
        """Measure candidates so many times, interleaved, on one node; empty where that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate with what became of it."""

    candidate: Candidate
    measurement: Measurement  # samples so far, or failure

    @property
    def ok(self) -> bool:
        """Whether it ran and was right."""
        return self.measurement.outcome is Outcome.OK and bool(self.measurement.seconds)

    @property
    def spread(self) -> float:
        """Range of the samples over their median; NaN below two samples."""
        return spread(self.measurement.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found."""

    winner: Trial | None  # None if nothing could be measured
    trials: tuple[Trial, ...]  # everything that was tried, in that order
    shortlist: tuple[Candidate, ...]  # what was meant to be tried at first
    confirmed: bool = False  # whether the winner agreed with a second schedule on the user's problem
    interrupted: bool = False  # whether the search was stopped from outside
    exhausted: bool = False  # whether the time budget ended it


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search is."""

    done: int  # candidates tried
    total: int  # candidates that will be tried at most
    stage: str  # what is being done, in a few words
    best: float | None  # seconds of the best so far, or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Time and an audience."""

    clock: Callable[[], float] = time.monotonic  # seconds from any start, for the time budget
    report: Callable[[Progress], None] = lambda _: None  # told how far the search is


@dataclass(slots=True, kw_only=True)
class _State:
    meter: Meter
    effort: Effort
    watch: Watch
    begin: float
    score: Callable[[Trial], float]
    recorded: Mapping[Tiling, Measurement]
    at_once: int
    trials: dict[Tiling, Trial] = field(default_factory=dict)

    @property
    def late(self) -> bool:
        return self.watch.clock() - self.begin >= self.effort.seconds

    def best(self) -> Trial | None:
        """The best so far: among those that were sampled again, once there are any, since drift hits these alike."""
        correct = [trial for trial in self.trials.values() if trial.ok]
        most = max((len(trial.measurement.seconds) for trial in correct), default=1)
        resampled = [trial for trial in correct if len(trial.measurement.seconds) >= max(2, most - 1)]
        return min(resampled or correct, key=self.score, default=None)

    def sample(self, tiling: Tiling, number: int) -> Measurement:
        record = self.recorded.get(tiling)
        if record is not None and record.outcome is not Outcome.OK:
            return record
        if record is not None and len(record.seconds) > number:
            return replace(record, seconds=record.seconds[number : number + 1])
        return self.meter.sample(tiling)

    def tell(self, stage: str) -> None:
        best = self.best()
        seconds = None if best is None else best.measurement.median
        self.watch.report(Progress(done=len(self.trials), total=self.effort.candidates, stage=stage, best=seconds))


def search(  # noqa: PLR0913
    family_spaces: Sequence[FamilySpace],
    effort: Effort,
    meter: Meter,
    *,
    recorded: Mapping[Tiling, Measurement] | None = None,  # of a search that was cut: stand in for the same ones here
    watch: Watch | None = None,
    by_prediction: bool = False,  # whether the lowest predicted cost wins among those that are right
    at_once: int = BATCH,  # built together; a fourth of them where each choice learns from those before
) -> SearchResult:
    """Try the model's choice, then what promises most after each measurement, then others, then the best again."""
    watch = watch or Watch()
    state = _State(
        meter=meter,
        effort=effort,
        watch=watch,
        begin=watch.clock(),
        score=_predicted_seconds if by_prediction else _measured_seconds,
        recorded=recorded or {},
        at_once=at_once,
    )
    keep = 0 if by_prediction else int(effort.candidates * effort.refine)
    first = shortlist(family_spaces, max(min(_OPENING, effort.candidates), effort.candidates - keep))
    interrupted = confirmed = False
    try:  # an interrupt from the meter leaves the best so far as the winner
        if keep:
            opening = [each for each in first[:_OPENING] if each is first[0] or each.tiling.family.untiled]
            _try_all(state, opening)
            _learn(state, family_spaces, len(state.trials) + keep)
        _try_all(state, first)
        if not by_prediction:
            _learn(state, family_spaces, effort.candidates)
            _repeat(state)
        confirmed = _confirm(state)
    except KeyboardInterrupt:
        interrupted = True
    return SearchResult(
        winner=state.best(),
        trials=tuple(state.trials.values()),
        shortlist=first,
        confirmed=confirmed,
        interrupted=interrupted,
        exhausted=state.late and not interrupted,
    )


def spread(samples: Sequence[float]) -> float:
    """Return the range of samples over their median; NaN below two samples.

    >>> spread([1.0, 1.1, 0.9])
    0.20000000000000007
    """
    if len(samples) < 2:
        return math.nan
    return (max(samples) - min(samples)) / Measurement(seconds=tuple(samples)).median


def is_unstable(trial: Trial) -> bool:
    """Whether a candidate's samples differ too much to trust its median."""
    return trial.spread > UNSTABLE


def merge(records: Iterable[tuple[Tiling, Measurement]]) -> dict[Tiling, Measurement]:
    """Join the records of a log, one sample each, per candidate; a failure outweighs samples.

    >>> none = Tiling(family="none")
    >>> merge([(none, Measurement(seconds=(1.0,))), (none, Measurement(seconds=(2.0,)))])[none].seconds
    (1.0, 2.0)
    """
    merged: dict[Tiling, Measurement] = {}
    for tiling, measurement in records:
        merged[tiling] = _join(merged.get(tiling), measurement)
    return merged


def _join(before: Measurement | None, now: Measurement) -> Measurement:
    if now.outcome is not Outcome.OK or before is None:
        return now
    if before.outcome is not Outcome.OK:
        return before
    return replace(before, seconds=(*before.seconds, *now.seconds))


def _measured_seconds(trial: Trial) -> float:
    return trial.measurement.median


def _predicted_seconds(trial: Trial) -> float:
    return trial.candidate.predicted


def _try_all(state: _State, candidates: Sequence[Candidate]) -> None:
    """Build and sample candidates, a batch at a time, until the time is over; what is recorded is not done again."""
    open_ones = [candidate for candidate in candidates if candidate.tiling not in state.trials]
    for start in range(0, len(open_ones), state.at_once):
        if state.late and state.best() is not None:
            return
        batch = open_ones[start : start + state.at_once]
        fresh = [candidate.tiling for candidate in batch if candidate.tiling not in state.recorded]
        state.tell("compiling and checking")
        failures = state.meter.build(fresh) if fresh else {}
        for candidate in batch:
            measurement = failures.get(candidate.tiling)
            if measurement is None:
                if state.late and state.best() is not None and candidate.tiling in fresh:
                    return
                measurement = state.sample(candidate.tiling, 0)
            state.trials[candidate.tiling] = Trial(candidate=candidate, measurement=measurement)
            state.tell("measuring")


def _learn(state: _State, family_spaces: Sequence[FamilySpace], count: int) -> None:
    """Try what promises most after all that was measured, a few at a time, up to so many candidates in all."""
    count = min(count, state.effort.candidates)
    if not state.effort.refine or len(state.trials) >= count:
        return
    pool, measured = CandidatePool(family_spaces), set[Tiling]()
    while not state.late and len(state.trials) < count:
        for tiling in [tiling for tiling in state.trials if tiling not in measured]:
            trial = state.trials[tiling]
            pool.tell(tiling, trial.measurement.seconds[0] if trial.ok else None)
            measured.add(tiling)
        candidates = pool.ask(min(max(1, state.at_once // _LEARNT), count - len(state.trials)))
        if not candidates:
            return
        _try_all(state, candidates)


def _repeat(state: _State) -> None:
    """Sample the best candidates again, one after the other and all over again, so that drift hits them alike."""
    # So are those that the winner will be compared with, as long as there is time: one sample may have been disturbed.
    correct = [trial for trial in state.trials.values() if trial.ok]
    if not correct or state.effort.repeats < 2:
        return
    order = sorted(correct, key=lambda trial: trial.measurement.seconds[0])
    limit = _FINAL_BAND * order[min(1, len(order) - 1)].measurement.seconds[0]
    finalists = [trial for trial in order[: state.effort.finalists] if trial.measurement.seconds[0] <= limit]
    tilings = {trial.candidate.tiling for trial in finalists}
    peers = [trial for trial in _compared_trials(correct) if trial.candidate.tiling not in tilings]
    if isinstance(state.meter, Farm):
        _repeat_on_one_node(state, state.meter, [trial.candidate.tiling for trial in (*finalists, *peers)])
        return
    for number in range(2, state.effort.repeats + 1):
        for again in (*finalists, *peers):
            tiling = again.candidate.tiling
            trial = state.trials[tiling]
            if not trial.ok or len(trial.measurement.seconds) >= number:
                continue
            if state.late and (number > 2 or tiling not in tilings):
                return
            joined = _join(trial.measurement, state.sample(tiling, number - 1))
            state.trials[tiling] = replace(trial, measurement=joined)
            state.tell(f"repeating the best, round {number} of {state.effort.repeats}")


def _repeat_on_one_node(state: _State, meter: Farm, tilings: Sequence[Tiling]) -> None:
    """Sample the best candidates again on one node; what other nodes measured no longer counts."""
    state.tell("measuring the best again on one node")
    for tiling, measured in meter.finals(tilings, state.effort.repeats).items():
        state.trials[tiling] = replace(state.trials[tiling], measurement=measured)


def _compared_trials(trials: Sequence[Trial]) -> list[Trial]:
    """What a winner is compared with: no time tiling, and the model's first choice."""
    first = min(trials, key=_predicted_seconds)
    return [trial for trial in trials if trial is first or trial.candidate.tiling == NONE]


def _confirm(state: _State) -> bool:
    """Compare the winner with a second schedule; one that is wrong is dropped, and the next one is compared."""
    while True:
        best = state.best()
        if best is None:
            return False
        state.tell("comparing the winner with a second schedule")
        verdict = state.meter.confirm(best.candidate.tiling, _second(state, best))
        if verdict.outcome is Outcome.OK:
            return True
        state.trials[best.candidate.tiling] = replace(best, measurement=verdict)


def _second(state: _State, winner: Trial) -> Tiling:
    """Return what the winner is compared with, never one that failed: its fault would be the winner's."""
    # Untiled order for a tiled winner; else the fastest of another family; else the winner itself.
    own = winner.candidate.tiling
    untried = NONE not in state.trials
    if own != NONE and (untried or state.trials[NONE].ok):
        return NONE
    rivals = [trial for trial in state.trials.values() if trial.ok and trial.candidate.tiling.family != own.family]
    return min(rivals, key=lambda trial: trial.measurement.median).candidate.tiling if rivals else own

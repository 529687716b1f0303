"""The search, without a compiler and without a device: every measurement comes from a table."""

import math
from collections import Counter
from dataclasses import replace

import pytest

from tilewright.base.records import Measurement, Outcome
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.search import Watch, is_unstable, merge, search, spread
from tilewright.tuning.shortlist import Effort

from .test_shortlist import SPACE

EFFORT = Effort(candidates=30, seconds=math.inf, finalists=4, repeats=5, refine=0.3)


def truth(tiling):
    """Real seconds: the best is t=26, s=64, which the model ranks low."""
    if tiling.family == "none":
        return 3.0
    if tiling.family == "streaming":
        return 2.0 + tiling.time / 100
    return 1.0 + abs(tiling.time - 26) / 50 + abs(tiling.space[0] - 64) / 100


class Table:
    """A meter that looks times up, and counts what it is asked."""

    def __init__(self, faults=None, wrong=(), noise=None):
        self.faults, self.wrong, self.noise = faults or {}, set(wrong), noise
        self.built, self.sampled, self.confirmed = Counter(), Counter(), []
        self.seconds = []
        self.order = []
        self.log = []

    def build(self, tilings):
        self.built.update(tilings)
        bad = {t: Measurement(outcome=self.faults[t], detail="injected") for t in tilings if t in self.faults}
        self.log += bad.items()
        return bad

    def sample(self, tiling):
        self.sampled[tiling] += 1
        self.order.append(tiling)
        seconds = truth(tiling) if self.noise is None else self.noise(tiling, self.sampled[tiling])
        result = Measurement(seconds=(seconds,))
        self.log.append((tiling, result))
        return result

    def confirm(self, tiling, second):
        self.confirmed.append(tiling)
        self.seconds.append(second)
        return Measurement(outcome=Outcome.WRONG if tiling in self.wrong else Outcome.OK)


def test_the_fastest_that_was_measured_wins():
    meter = Table()
    choice = search(SPACE, EFFORT, meter)
    measured = [trial for trial in choice.trials if trial.ok]
    assert choice.winner.measurement.median == min(trial.measurement.median for trial in measured)
    assert choice.confirmed
    assert not choice.interrupted
    assert not choice.exhausted
    assert len(choice.trials) == EFFORT.candidates


def test_what_was_measured_leads_beyond_the_shortlist():
    without = search(SPACE, replace(EFFORT, refine=0.0), Table())
    climbed = search(SPACE, replace(EFFORT, candidates=60, refine=0.5), Table())
    assert climbed.winner.measurement.median < without.winner.measurement.median
    assert climbed.winner.candidate.tiling not in {c.tiling for c in climbed.shortlist}


def test_repeats_are_interleaved():
    meter = Table()
    choice = search(SPACE, EFFORT, meter)
    repeated = [tiling for tiling, count in meter.sampled.items() if count > 1]
    assert {meter.sampled[tiling] for tiling in repeated} == {EFFORT.repeats}
    again = len(repeated)
    tail = meter.order[-again * (EFFORT.repeats - 1) :]
    assert tail == tail[:again] * (EFFORT.repeats - 1)
    assert len(choice.winner.measurement.seconds) == EFFORT.repeats


def test_what_the_winner_is_compared_with_is_repeated_beside_the_finalists():
    meter = Table()
    choice = search(SPACE, EFFORT, meter)
    first = min((trial for trial in choice.trials if trial.ok), key=lambda trial: trial.candidate.predicted)
    slow = {NONE, first.candidate.tiling}
    assert truth(NONE) > 1.5 * choice.winner.measurement.median  # no finalist
    repeated = {tiling for tiling, count in meter.sampled.items() if count > 1}
    assert slow <= repeated
    assert len(repeated - slow) <= EFFORT.finalists <= len(repeated)


def test_a_disturbed_sample_without_time_tiling_is_seen():
    def noise(tiling, number):
        return 15.0 * truth(tiling) if tiling == NONE and number == 1 else truth(tiling)

    choice = search(SPACE, EFFORT, Table(noise=noise))
    assert is_unstable(next(trial for trial in choice.trials if trial.candidate.tiling == NONE))


def test_without_time_only_the_finalists_are_repeated():
    clock = iter(range(10**6))
    meter = Table()
    search(SPACE, replace(EFFORT, seconds=45), meter, watch=Watch(clock=lambda: next(clock)))
    assert meter.sampled[NONE] == 1
    assert max(meter.sampled.values()) == 2


def test_a_lucky_first_sample_does_not_win():
    lucky = search(SPACE, EFFORT, Table()).shortlist[5].tiling

    def noise(tiling, number):
        return 0.5 if tiling == lucky and number == 1 else truth(tiling)

    choice = search(SPACE, EFFORT, Table(noise=noise))
    assert choice.winner.candidate.tiling != lucky
    trial = next(trial for trial in choice.trials if trial.candidate.tiling == lucky)
    assert is_unstable(trial)


def test_drift_between_the_first_samples_and_the_repeats_favours_nobody():
    """The machine slows down after the first samples: those that were not sampled again must not win by that."""
    meter = Table()
    meter.noise = lambda tiling, number: truth(tiling) * (1.0 if number == 1 else 3.0)
    choice = search(SPACE, EFFORT, meter)
    assert len(choice.winner.measurement.seconds) == EFFORT.repeats


def test_an_interrupt_within_a_round_of_repeats_leaves_in_who_waits_for_a_turn():
    """The second of a round is the fastest from its second sample on; the last round ends after its first."""
    whole = Table()
    search(SPACE, EFFORT, whole)
    again = sum(count > 1 for count in whole.sampled.values())
    first, second = whole.order[-again:][:2]
    before = len(whole.order) - again + 1

    class Interrupted(Table):
        def sample(self, tiling):
            if len(self.order) == before:
                raise KeyboardInterrupt
            return super().sample(tiling)

    meter = Interrupted(noise=lambda tiling, number: truth(tiling) / (2 if number > 1 and tiling == second else 1))
    choice = search(SPACE, EFFORT, meter)
    assert choice.interrupted
    assert (meter.sampled[first], meter.sampled[second]) == (EFFORT.repeats, EFFORT.repeats - 1)
    assert choice.winner.candidate.tiling == second


@pytest.mark.parametrize("kind", [Outcome.ILLEGAL, Outcome.COMPILE, Outcome.CRASH, Outcome.TIMEOUT, Outcome.WRONG])
def test_a_failure_is_classed_and_the_sweep_goes_on(kind):
    best = search(SPACE, EFFORT, Table()).winner.candidate.tiling
    meter = Table(faults={best: kind})
    choice = search(SPACE, EFFORT, meter)
    failed = next(trial for trial in choice.trials if trial.candidate.tiling == best)
    assert failed.measurement.outcome is kind
    assert math.isnan(failed.measurement.median)
    assert meter.sampled[best] == 0
    assert choice.winner.candidate.tiling != best
    assert len(choice.trials) >= len(choice.shortlist)


def test_a_winner_that_a_second_schedule_contradicts_is_dropped():
    best = search(SPACE, EFFORT, Table()).winner.candidate.tiling
    meter = Table(wrong=[best])
    choice = search(SPACE, EFFORT, meter)
    assert meter.confirmed == [best, choice.winner.candidate.tiling]
    assert choice.winner.candidate.tiling != best
    assert next(t for t in choice.trials if t.candidate.tiling == best).measurement.outcome is Outcome.WRONG


def test_a_schedule_that_failed_contradicts_nobody():
    """A winner is compared with what ran well itself: untiled order, another family, or its own strict order."""
    meter = Table()
    search(SPACE, EFFORT, meter)
    assert meter.seconds == [NONE]

    meter = Table(faults={NONE: Outcome.CRASH})
    choice = search(SPACE, EFFORT, meter)
    (second,) = meter.seconds
    assert second.family != choice.winner.candidate.tiling.family
    assert meter.sampled[second] > 0

    class Lonely(Table):
        def build(self, tilings):
            self.faults = {tiling: Outcome.CRASH for tiling in tilings if tiling != NONE}
            return super().build(tilings)

    meter = Lonely()
    assert search(SPACE, EFFORT, meter).winner.candidate.tiling == NONE
    assert meter.seconds == [NONE]


def test_nothing_that_runs_is_no_winner():
    class Nothing(Table):
        def build(self, tilings):
            return {tiling: Measurement(outcome=Outcome.COMPILE) for tiling in tilings}

    choice = search(SPACE, EFFORT, Nothing())
    assert choice.winner is None
    assert not choice.confirmed


def test_the_time_budget_ends_the_search_but_one_is_always_measured():
    class Clock:
        now = 0.0

    meter = Table()
    plain = meter.sample

    def sample(tiling):
        Clock.now += 10.0
        return plain(tiling)

    meter.sample = sample
    effort = replace(EFFORT, seconds=35.0)
    choice = search(SPACE, effort, meter, watch=Watch(clock=lambda: Clock.now))
    assert choice.exhausted
    assert choice.winner is not None
    # Four first samples, then one round of repeats, which is what tells noise.
    assert 4 <= sum(meter.sampled.values()) <= 4 + EFFORT.finalists
    Clock.now = 0.0
    tiny = search(SPACE, replace(EFFORT, seconds=1e-9), meter, watch=Watch(clock=lambda: Clock.now))
    assert tiny.winner is not None


@pytest.mark.parametrize("after", [1, 2, 7, 31, 35, 40])
def test_an_interruption_keeps_the_best_so_far(after):
    meter = Table()
    plain = meter.sample

    def sample(tiling):
        if sum(meter.sampled.values()) == after:
            raise KeyboardInterrupt
        return plain(tiling)

    meter.sample = sample
    choice = search(SPACE, EFFORT, meter)
    assert choice.interrupted
    assert choice.winner is not None
    assert choice.winner.measurement.seconds


def test_an_interruption_before_any_sample_has_no_winner():
    class Never(Table):
        def build(self, tilings):
            raise KeyboardInterrupt

    choice = search(SPACE, EFFORT, Never())
    assert choice.interrupted
    assert choice.winner is None


def test_recorded_measurements_are_replayed_exactly():
    def noise(tiling, number):
        return truth(tiling) * (1 + 0.03 * math.sin(hash(tiling.time) + 7 * number))

    first = Table(noise=noise, faults={NONE: Outcome.CRASH})
    choice = search(SPACE, EFFORT, first)
    again = Table(noise=noise)
    replayed = search(SPACE, EFFORT, again, recorded=merge(first.log))
    assert not again.sampled
    assert not again.built
    assert replayed.winner == choice.winner
    assert replayed.trials == choice.trials


@pytest.mark.parametrize("cut", [0, 1, 5, 20, 29, 33, 40])
def test_a_cut_log_is_continued_without_repeating(cut):
    first = Table()
    whole = search(SPACE, EFFORT, first)
    again = Table()
    resumed = search(SPACE, EFFORT, again, recorded=merge(first.log[:cut]))
    assert resumed.winner == whole.winner
    assert again.sampled + Counter(tiling for tiling, _ in first.log[:cut]) == first.sampled


def test_the_lowest_prediction_wins_among_the_right_ones_for_other_metrics():
    first = search(SPACE, EFFORT, Table(), by_prediction=True)
    assert first.winner.candidate.tiling == Tiling(family="hexagonal", time=20, space=(40,))
    second = search(SPACE, EFFORT, Table(faults={first.winner.candidate.tiling: Outcome.WRONG}), by_prediction=True)
    assert second.winner.candidate.predicted == 102.0


def test_progress_is_told():
    told = []
    search(SPACE, EFFORT, Table(), watch=Watch(report=told.append))
    assert told[-1].done == told[-1].total == EFFORT.candidates
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert told[0].best is None
    assert told[-1].best is not None


def test_spread():
    assert math.isnan(spread([1.0]))
    assert spread([1.0, 1.0]) == 0.0
    assert spread([2.0, 1.0, 3.0]) == 1.0


def test_merging_records():
    ok = Measurement(seconds=(1.0,))
    bad = Measurement(outcome=Outcome.CRASH, detail="signal")
    assert merge([(NONE, ok), (NONE, ok)])[NONE].seconds == (1.0, 1.0)
    assert merge([(NONE, ok), (NONE, bad)])[NONE] == bad
    assert merge([(NONE, bad), (NONE, ok)])[NONE] == bad
    assert merge([]) == {}

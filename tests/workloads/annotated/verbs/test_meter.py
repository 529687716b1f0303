"""What measuring annotated loops may take, and what a speed-up is told against."""

from types import SimpleNamespace

import pytest

from tilewright.base.errors import ToolchainError, UsageError
from tilewright.base.records import Outcome
from tilewright.runtime.workers.pool import Reply
from tilewright.workloads.annotated import call as runtime
from tilewright.workloads.annotated.nests.limit import TimeUpError
from tilewright.workloads.annotated.parse.file import read_file
from tilewright.workloads.annotated.search import Deadline, ParameterSpace, search_loops
from tilewright.workloads.annotated.verbs.annotate import annotate
from tilewright.workloads.annotated.verbs.case import input_sizes, make_case
from tilewright.workloads.annotated.verbs.meter import CpuMeter
from tilewright.workloads.annotated.verbs.options import AnnotatedOptions, nothing, space_of

TEXT = """
void f(int N, double *x, double *y) {
  /*@ begin PerfTuning (
    def build { arg build_command = 'gcc @CFLAGS'; }
    def performance_params { param U[] = range(1,40); param CFLAGS[] = ['', '-O1']; }
    def input_params { param N[] = [1000]; }
    def input_vars { decl dynamic double x[N] = random; decl dynamic double y[N] = random; }
  ) @*/
  int i;
  /*@ begin Loop(transform Unroll(ufactor=U) for (i = 0; i <= N-1; i++) y[i] += 2.0*x[i];) @*/
  for (i = 0; i <= N-1; i++) y[i] += 2.0*x[i];
  /*@ end @*/
  /*@ end @*/
}
"""


class Machine:
    """Compilers and a worker that take time of a clock, as long as they are given, and no longer."""

    def __init__(self, compile_seconds, run_seconds):
        self.now, self.compile_seconds, self.run_seconds = 0.0, compile_seconds, run_seconds
        self.killed = 0
        self.commands = []

    def clock(self):
        return self.now

    def build(self, command, text, seconds=30.0):
        self.commands.append(command)
        self.now += min(self.compile_seconds, seconds)
        if self.compile_seconds > seconds:
            self.killed += 1
            raise ToolchainError("it did not finish")
        return text.encode()

    def call(self, function, *arguments, limit):
        self.now += min(self.run_seconds, limit)
        if self.run_seconds > limit:
            self.killed += 1
            return Reply(outcome=Outcome.TIMEOUT, detail="it did not finish")
        return Reply(value=([0.5], True, True) if function is runtime.prepare else [0.5 + 0.01 * len(arguments[0])])


@pytest.fixture
def opened(monkeypatch):
    def make(seconds, log=None, *, compile_seconds=1.0, run_seconds=1.0):
        machine = Machine(compile_seconds, run_seconds)
        monkeypatch.setattr(runtime, "build", machine.build)
        monkeypatch.setattr("tilewright.workloads.annotated.verbs.meter.ThreadPoolExecutor", _Inline)
        (site,) = read_file(TEXT)
        case = make_case(site, site.spec, input_sizes(site.spec, {})[0], None)
        deadline = Deadline(end=seconds, clock=machine.clock)
        meter = CpuMeter(case=case, pool=machine, options=AnnotatedOptions(repeats=3, log=log), deadline=deadline)
        return machine, meter

    return make


class _Inline:
    """Threads that run one after the other: the clock is one."""

    def __init__(self, max_workers):
        del max_workers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def map(self, function, items):
        return [function(each) for each in items]


@pytest.mark.parametrize(("compile_seconds", "run_seconds"), [(1.0, 1.0), (7.0, 0.5), (0.5, 9.0), (3.0, 50.0)])
def test_compilers_and_runs_end_with_the_time(opened, compile_seconds, run_seconds):
    machine, meter = opened(90.0, compile_seconds=compile_seconds, run_seconds=run_seconds)
    meter.start()
    space = space_of(meter.case)
    choice = search_loops(space, "Exhaustive", meter, runs=1000, deadline=meter.deadline.part(0.7))
    if choice.winner is not None:
        meter.beside(meter.variant(choice.winner.values))
    assert machine.now <= 1.2 * 90.0


def test_a_compiler_that_runs_at_the_deadline_is_killed_and_is_no_result(opened, tmp_path):
    log = tmp_path / "log"
    machine, meter = opened(12.0, log, compile_seconds=1.0, run_seconds=1.0)
    meter.start()
    (first,) = meter.measure([{"U": 2, "CFLAGS": ""}])
    assert first.outcome is Outcome.OK
    size = log.stat().st_size
    machine.compile_seconds = 100.0
    (late,) = meter.measure([{"U": 3, "CFLAGS": ""}])
    assert machine.killed == 1
    assert machine.now == 12.0
    assert (late.outcome, late.detail) == (Outcome.TIMEOUT, "the time was over")
    (after,) = meter.measure([{"U": 4, "CFLAGS": ""}])
    assert after.detail == "the time was over"
    assert machine.now == 12.0
    assert log.stat().st_size == size


def test_an_original_body_that_does_not_get_done_says_what_to_give(opened):
    for slow in ({"compile_seconds": 100.0}, {"run_seconds": 100.0}):
        machine, meter = opened(10.0, **slow)
        with pytest.raises(UsageError, match="the time was over before the original body was built and run") as caught:
            meter.start()
        assert caught.value.hint == "give more --seconds"
        assert machine.now <= 12.0


def test_a_search_without_time_for_one_variant_says_what_to_give(opened):
    machine, meter = opened(9.0, compile_seconds=2.0, run_seconds=0.5)
    meter.start()
    machine.compile_seconds = 10.0
    choice = search_loops(space_of(meter.case), "Exhaustive", meter, runs=100, deadline=meter.deadline)
    assert choice.winner is None
    error = nothing(choice)
    assert isinstance(error, TimeUpError)
    assert (error.message, error.hint) == (
        "the time was over before a variant was built and run",
        "give more --seconds",
    )


def test_a_search_that_is_stopped_before_its_first_variant_ends_as_stopped():
    def stopped(*_):
        raise KeyboardInterrupt

    space = ParameterSpace(names=("UF",), values=((1, 2),))
    choice = search_loops(space, "Exhaustive", SimpleNamespace(measure=stopped), runs=100, deadline=Deadline())
    assert choice.interrupted
    with pytest.raises(KeyboardInterrupt):
        nothing(choice)


def test_what_is_compared_is_built_with_the_same_flags_and_fully_optimised(opened):
    machine, meter = opened(1e6)
    meter.start()
    timed = [command for command in machine.commands if "-ffp-contract=off" not in command]
    assert len(timed) == len(machine.commands) - 1  # the file's own text, with which everything is compared
    assert all({"-O3", "-march=native"} <= set(command) for command in timed)
    plain, low = meter.variant({"U": 2, "CFLAGS": ""}), meter.variant({"U": 2, "CFLAGS": "-O1"})
    assert {"-O3", "-march=native"} <= set(plain.command)
    assert "-O1" in low.command
    assert "-O3" not in low.command
    both = meter.beside(low)
    assert "-O1" not in both.command
    assert {"-O3", "-march=native"} <= set(both.command)
    assert len(both.rounds) == 3
    assert both.ours == pytest.approx(both.rounds[0][0])


def test_the_claim_says_against_what_and_how_far_it_spreads(tmp_path):
    path = tmp_path / "a.c"
    path.write_text(TEXT)
    result = annotate(path, runs=2, repeats=1, seconds=300)
    (size,) = result.to_dict()["regions"][0]["results"]
    words = size["original_command"].split()
    assert words[0] in {"gcc", "cc", "clang"}
    assert {"-O3", "-march=native"} <= set(words)
    assert f"the original body, built with {size['original_command']}," in str(result)
    if not size["kept_original"]:
        assert size["speedup_low"] <= size["speedup"] <= size["speedup_high"]
        assert "over 3 rounds)" in str(result)

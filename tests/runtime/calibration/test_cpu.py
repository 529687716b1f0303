"""Calibration: what is measured is plausible, what is kept is found again by its own hardware and compiler only."""

import dataclasses
import functools
import itertools
import statistics
import warnings

import pytest

from tilewright.base.errors import TilewrightWarning
from tilewright.costs.reuse import lost_at_random
from tilewright.costs.setting import make_setting
from tilewright.costs.time import predict
from tilewright.driver import emit_tilings
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.calibration import cpu as calibrate
from tilewright.runtime.calibration import fits as calibrate_fits
from tilewright.runtime.cpu import stencil_kernels
from tilewright.runtime.store import hosts
from tilewright.runtime.toolchains import cpu as compiler
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules.tiling import NONE
from tilewright.verbs.calibrate import Calibration

TINY = calibrate.CpuProtocol(instances=6, samples=3, stream_bytes=2**20, streams=6)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))


@pytest.fixture
def described(monkeypatch):
    """A made-up computer, which the package takes this one for; what is measured is measured on this one."""
    cpu = CpuDescription(cores=2, simd_bits=128, l1_bytes=2**15, l2_bytes=2**19, l3_bytes=2**26, clock_hz=2.5e9)
    monkeypatch.setattr(compiler, "describe_cpu", lambda: cpu)
    return host_machine(cpu)


def sampler(*samples):
    """Return what takes these samples again and again."""
    return functools.partial(next, itertools.cycle(samples))


def some(machine, value=1e11):
    return dataclasses.replace(
        machine, dram_bandwidth=Quantity(value=value, unit="B/s", source="measured", low=value / 2, high=2 * value)
    )


def test_the_machine_is_measured_with_its_spread(described, monkeypatch):
    monkeypatch.setattr(calibrate, "_stream_bytes", lambda machine, threads, protocol: protocol.stream_bytes)
    notes = []
    machine = calibrate.measure_machine(toolchain(), TINY, notes.append)
    assert notes
    for name in ("dram_bandwidth", "core_bandwidth", "cache_bandwidth", "launch_seconds", "call_seconds"):
        quantity = getattr(machine, name)
        assert quantity.source == "measured"
        assert 0 < quantity.low <= quantity.value <= quantity.high
    assert 1e8 < machine.dram_bandwidth.value < 1e13
    assert 1e9 < machine.cache_bandwidth.value < 1e12
    assert 1e-9 < machine.launch_seconds.value < 1e-1


def test_what_has_changed_at_the_end_widens_its_range(described, monkeypatch):
    """A neighbour that came takes half of L2's bandwidth; the value stays, since C_iter goes with it."""
    known = Quantity(value=1e11, unit="B/s", source="measured", low=0.99e11, high=1.01e11)
    machine = dataclasses.replace(described, cache_bandwidth=known, launch_seconds=dataclasses.replace(known, unit="s"))
    for factor, low, high in ((0.5, 0.5e11, 1.01e11), (1.0, 0.99e11, 1.01e11), (1.6, 0.99e11, 1.6e11)):
        monkeypatch.setattr(calibrate.micro, "bandwidth", lambda *_, f=factor, **__: sampler(f * 1e11, f * 1e11, 9e11))
        monkeypatch.setattr(calibrate.micro, "least_seconds", lambda *_: sampler(1e11))
        found = calibrate.measured_again(machine, toolchain(), TINY)
        assert (found.cache_bandwidth.value, found.cache_bandwidth.low, found.cache_bandwidth.high) == (1e11, low, high)
        assert found.launch_seconds == machine.launch_seconds
        calibration = Calibration(machine=found, path=None, fits={}, sensitivity=(), subject="")
        assert ("cache_bandwidth" in calibration.unstable) == (factor != 1.0)


@pytest.mark.parametrize(("again", "value"), [(0.6e11, 1e11), (2e11, 2e11)])
def test_the_faster_of_two_copies_in_l3_counts(described, monkeypatch, again, value):
    known = Quantity(value=1e11, unit="B/s", source="measured", low=0.9e11, high=1.1e11)
    room = Quantity(value=float(2**26), unit="B", source="description")
    machine = dataclasses.replace(described, outer_bandwidth=known, l3_bytes=room)

    def copied(units, size, threads, *, cached, shared=True):
        value = again * (threads if shared else 1)
        return sampler(value, value, 9e12)

    monkeypatch.setattr(calibrate.micro, "bandwidth", copied)
    found = calibrate.outer_again(machine, toolchain(), TINY).outer_bandwidth
    assert (found.value, found.low, found.high) == (value, min(again, 0.9e11), max(again, 1.1e11))
    without = dataclasses.replace(machine, outer_bandwidth=None)
    assert calibrate.outer_again(without, toolchain(), TINY) == without


@pytest.mark.parametrize(("part", "found"), [(0.25, True), (1.0, False)])
def test_copies_say_how_much_of_l3_there_is_and_nothing_of_that_is_left_to_others(described, monkeypatch, part, found):
    """Copies of more than a quarter of what the CPU describes come from memory, as beside others on one package."""
    whole = Quantity(value=float(2**28), unit="B", source="description")
    room = Quantity(value=float(2**20), unit="B", source="description")
    machine = dataclasses.replace(described, l3_bytes=whole, shared_bytes=room, outer_bandwidth=None)

    def copied(units, size, threads, *, cached, shared=True):
        lost = lost_at_random(size * threads / (part * whole.value), 16)
        return sampler((threads if shared else 1) / (lost / 20e9 + (1.0 - lost) / 40e9))

    monkeypatch.setattr(calibrate, "host_machine", lambda _: machine)
    monkeypatch.setattr(calibrate, "available_bytes", lambda: None)
    monkeypatch.setattr(calibrate.micro, "bandwidth", copied)
    measured = calibrate.measure_machine(toolchain(), TINY, lambda _: None)
    if not found:
        assert (measured.l3_bytes, measured.l3_reuse_fraction) == (whole, machine.l3_reuse_fraction)
        return
    assert measured.l3_bytes.source == "measured"
    assert measured.l3_bytes.value == pytest.approx(part * whole.value, rel=0.05)
    assert measured.l3_reuse_fraction.value == 1.0
    threads = min(calibrate.thread_count(), int(machine.sm_count.value)) if toolchain().openmp else 1
    assert f"{int(measured.l3_bytes.value) // (2 * threads) >> 10} KiB each" in measured.outer_bandwidth.note


@pytest.mark.parametrize(("part", "value"), [(0.125, 2**25), (0.5, 2**26)])
def test_the_smaller_of_two_rooms_in_l3_counts(described, monkeypatch, part, value):
    whole, room = (Quantity(value=float(size), unit="B", source="description") for size in (2**28, 2**20))
    told = dataclasses.replace(some(described, 40e9), l3_bytes=whole, shared_bytes=room)
    known = dataclasses.replace(told, l3_bytes=dataclasses.replace(whole, value=2.0**26, source="measured"))

    def copied(units, size, threads, *, cached, shared=True):
        lost = lost_at_random(size * threads / (part * whole.value), 16)
        return sampler(40e9 / (1.0 + lost))

    monkeypatch.setattr(calibrate, "host_machine", lambda _: told)
    monkeypatch.setattr(calibrate, "available_bytes", lambda: None)
    monkeypatch.setattr(calibrate.micro, "bandwidth", copied)
    known = dataclasses.replace(known, dram_bandwidth=dataclasses.replace(known.dram_bandwidth, value=20e9, low=20e9))
    assert calibrate.outer_again(known, toolchain(), TINY).l3_bytes.value == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize(("again", "value"), [(3e-7, 3e-7), (2e-6, 1e-6)])
def test_the_shorter_of_two_barriers_counts(described, monkeypatch, again, value):
    known = Quantity(value=1e-6, unit="s", source="measured", low=0.9e-6, high=1.1e-6)
    machine = dataclasses.replace(described, launch_seconds=known)
    monkeypatch.setattr(calibrate.micro, "least_seconds", lambda *_: sampler(again, again, 1.0))
    found = calibrate.measured_again(machine, toolchain(), TINY).launch_seconds
    assert (found.value, found.low, found.high) == (value, min(again, 0.9e-6), max(again, 1.1e-6))


def test_all_programs_are_measured_in_turn_and_one_of_the_times_of_an_instance_counts():
    def timing(extent, seconds):
        return calibrate_fits.Timing(shape=(extent,), steps=4, tiling=NONE, seconds=seconds)

    times = iter([(3.0, 1.0), (5.0, 5.0), (2.0, 4.0), (6.0, 6.0), (4.0, 4.0), (7.0, 4.5), (3.0, 3.0), (6.0, 6.0)])
    order = []

    def measure(name):
        order.append(name)
        return [timing(8 + number, seconds) for number, seconds in enumerate(next(times))]

    names = ["j2d5pt", "heat2d"]
    found = calibrate_fits.in_turns([functools.partial(measure, name) for name in names], [min, statistics.median])
    assert order == names * calibrate_fits.TURNS
    assert [[(each.shape, each.seconds) for each in timings] for timings in found] == [
        [((8,), 2.0), ((9,), 1.0)],
        [((8,), 6.0), ((9,), 5.5)],
    ]


def measured(series, machine):
    kernels = stencil_kernels(emit_tilings(series.kernels), toolchain())
    return calibrate.instances(series, calibrate.timed(series, kernels, machine), machine)


@pytest.mark.parametrize(("ratio", "found"), [(0.5, 0.5), (1.5, 1.5), (0.0, 0.35), (3.0, 1.6)])
def test_what_is_exposed_beyond_the_second_level_is_read_off_runs_of_all_cores(ratio, found, described):
    (series,) = calibrate.together_series([program("heat2d"), program("j3d7pt")], described, toolchain())
    timings = [
        calibrate_fits.Timing(shape=shape, steps=32, tiling=tiling, seconds=seconds_if(ratio, shape, tiling, described))
        for shape, tiling in zip(series.shapes, series.tilings, strict=True)
    ]
    machine = calibrate_fits.with_exposed(described, calibrate.instances(series, timings, described))
    for name in ("l3_exposed_fraction_boxes", "l3_exposed_fraction_3d"):
        assert getattr(machine, name).value == pytest.approx(found * getattr(described, name).value, rel=0.03)
        assert getattr(machine, name).source == "measured"
    assert machine.far_row_ratio.value == pytest.approx(1.0 + found * (described.far_row_ratio.value - 1.0), rel=0.01)
    assert machine.l3_exposed_fraction == described.l3_exposed_fraction  # in 1D and 2D
    assert calibrate_fits.with_exposed(described, []) == described


def test_fewer_threads_than_cores_or_an_unknown_third_level_say_nothing_of_what_is_exposed(described, monkeypatch):
    (series,) = calibrate.together_series([program("j3d7pt")], described, toolchain())
    unknown = dataclasses.replace(described, l3_bytes=None, outer_bandwidth=None)
    timings = [
        calibrate_fits.Timing(shape=shape, steps=32, tiling=tiling, seconds=1.0)
        for shape, tiling in zip(series.shapes, series.tilings, strict=True)
    ]
    found = calibrate_fits.with_exposed(unknown, calibrate.instances(series, timings, unknown))
    assert found.l3_exposed_fraction_3d == described.l3_exposed_fraction_3d
    monkeypatch.setattr(calibrate, "thread_count", lambda: 1)
    assert calibrate.together_series([program("j3d7pt")], described, toolchain()) == []


def seconds_if(ratio, shape, tiling, machine):
    problem = make_problem(program("j3d7pt"), shape, 32)
    hidden, exposed = (predict(problem, tiling, calibrate_fits.exposing(machine, r)).seconds for r in (0.0, 1.0))
    return hidden + ratio * (exposed - hidden)


def test_all_cores_compute_what_is_measured_for_what_is_exposed(described):
    (series,) = calibrate.together_series([program("heat3d")], described, toolchain())
    small = dataclasses.replace(series, shapes=((32, 256, 256),) * len(series.shapes))
    for instance in measured(small, described):
        hidden, beyond = instance.factors
        assert hidden > 0
        assert beyond > 0
        assert instance.seconds > 0
        assert instance.steps % (2 * instance.tiling.time) == 0


@pytest.mark.parametrize("name", ["j1d3pt", "heat2d", "heat3d", "fdtd2d", "heat2d_var"])
def test_instances_fit_the_cache_and_are_random_but_repeatable(name, described):
    series = calibrate.tile_series(program(name), described, TINY)
    assert series == calibrate.tile_series(program(name), described, TINY)
    first = measured(series, described)
    assert len({i.shape for i in first}) > 1
    for instance in first:
        values = 1
        for extent in instance.shape:
            values *= extent
        tiled = name != "j1d3pt"
        assert 4 * values <= (described.shared_bytes if tiled else described.l1_bytes).value
        assert not tiled or instance.shape[-1] % described.vector_width.value == 0
        assert instance.seconds > 0
        assert instance.factors[0] > 0
    found = calibrate_fits.fitted(first)
    assert 0 <= found.low <= found.iteration <= found.high < 1e-4  # the low end is 0 where others run beside
    assert found.iteration > 1e-11


def test_streaming_tiles_tell_c_iter_an_advance_and_lines(described):
    names = ("j2d5pt", "wave2d", "j1d3pt")
    series = {n: calibrate.stream_series(program(n), described, TINY) for n in names}
    instances = {n: measured(s, described) for n, s in series.items()}
    assert {str(i.tiling.space[-1]) for i in instances["wave2d"]} == {"256", "352", "512", "688", "1024", "2048"}
    machine, fits = calibrate_fits.fitted_streams(described, instances)
    assert machine.line_ratio.source == machine.advance_seconds.source == "measured"
    assert 0.2 < machine.line_ratio.value < 2.1
    assert {each.row for each in fits.values()} == {machine.advance_seconds.value}
    final = calibrate_fits.with_streams(machine, fits)
    for name in names:
        assert 1e-11 < final.iteration_seconds(name, "streaming").value < 1e-5
    assert calibrate_fits.fitted_streams(described, {}) == (described, {})


def test_programs_enter_the_machine_and_scale_the_estimates(described):
    fits = {
        "heat2d": calibrate.fit.Fit(iteration=1e-9, low=9e-10, high=2e-9, row=1e-9, deviation=0.1, instances=70),
        "heat3d": calibrate.fit.Fit(iteration=4e-9, low=4e-9, high=4e-9, row=3e-9, deviation=0.1, instances=70),
    }
    machine = calibrate_fits.with_programs(described, fits)
    assert machine.iteration_seconds("heat3d").value == 4e-9
    assert machine.row_seconds.value == 2e-9
    assert machine.flop_cycles.value != described.flop_cycles.value
    assert machine.flop_cycles.source == "estimated"
    assert "2 measured programs" in machine.flop_cycles.note


def test_sweeps_and_streaming_tiles_say_what_other_programs_take(described):
    fits = {"j2d5pt": calibrate.fit.Fit(iteration=1e-9, low=9e-10, high=2e-9, row=0.0, deviation=0.1, instances=9)}
    tiled = {"j2d5pt": dataclasses.replace(fits["j2d5pt"], iteration=2e-9, high=3e-9)}
    known = calibrate_fits.with_programs(described, tiled)
    machine = calibrate_fits.with_streams(calibrate_fits.with_sweeps(known, fits), fits)
    assert machine.swept_ratio.value == pytest.approx(0.5)
    assert machine.blocked_cycles.value == pytest.approx(1e-9 * described.clock.value / 9)


def test_start_ups_are_those_of_the_program_and_else_the_median(described):
    fits = [
        calibrate.fit.Fit(iteration=1e-9, low=0.0, high=1e-9, row=row, box=10 * row, deviation=0.0, instances=9)
        for row in (1e-9, 3e-9)
    ]
    machine = calibrate_fits.with_programs(described, dict(zip(("j2d5pt", "star2d2r"), fits, strict=True)))
    machine = calibrate_fits.with_sweeps(machine, {"j2d5pt": dataclasses.replace(fits[0], row=5e-9, box=7e-9)})

    def starts(name, dtype="float32"):
        found = make_setting(make_problem(program(name), (64, 64), 8, dtype), machine).rates
        return found.row_seconds, found.barrier_seconds, found.swept_row_seconds, found.swept_box_seconds

    assert starts("j2d5pt") == pytest.approx((1e-9, 1e-8, 5e-9, 7e-9))
    assert starts("star2d2r") == pytest.approx((3e-9, 3e-8, 2e-9, 2e-8))
    assert starts("heat2d") == starts("j2d5pt", "float64") == pytest.approx((2e-9, 2e-8, 2e-9, 2e-8))
    assert hosts.keep(machine) is not None
    assert hosts.host().iteration_seconds("j2d5pt", "none row").value == 5e-9


def test_what_is_kept_is_found_again(described):
    assert hosts.host() == described
    path = hosts.keep(some(described))
    assert path is not None
    assert hosts.host().dram_bandwidth.value == 1e11
    hosts.keep(some(described, 2.25e11))
    assert hosts.host().dram_bandwidth.value == 2.25e11
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("what", ["cpu_features", "compiler_identity", "available_cpus"])
def test_another_cpu_compiler_or_number_of_cores_has_no_calibration(what, described, monkeypatch):
    hosts.keep(some(described))
    monkeypatch.setattr(hosts, what, lambda: ("another",))
    assert hosts.host() == described


@pytest.mark.parametrize("content", [b"", b"schema = 1\n", b"\xff\xfe", b"x = " + b"[" * 5000])
def test_a_spoilt_file_is_as_good_as_none(content, described):
    path = hosts.keep(some(described))
    path.write_bytes(content)
    with pytest.warns(TilewrightWarning, match="calibrat"):
        assert hosts.host() == described


def test_a_cut_file_never_gives_a_wrong_value(described):
    path = hosts.keep(some(described))
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = hosts.host()
        assert found.dram_bandwidth in {described.dram_bandwidth, some(described).dram_bandwidth}


def test_a_disk_that_refuses_costs_a_warning(described, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "file"))
    with pytest.warns(TilewrightWarning, match="cannot be kept"):
        assert hosts.keep(some(described)) is None
    assert hosts.host() == described

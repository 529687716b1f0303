"""Shots: against Green's functions, each other and what layers must do; stability; what is refused."""

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright import waves
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.warn import forget_warnings
from tilewright.waves import shots
from tilewright.waves.layers import sides_of, taper_of

SPEED = 2000.0


def even(shape, spacing, **parts):
    return waves.Model(np.full(shape, SPEED), spacing, **parts)


def deviation(got, wanted):
    """The largest difference over the largest value."""
    return np.abs(got - wanted).max() / np.abs(wanted).max()


def line_source(distance, times, frequency):
    """The pressure of a line source in 2D: the wavelet, convolved with 1 / (2 pi sqrt(t^2 - (r / c)^2))."""
    wavelet, delay = waves.ricker(frequency), distance / SPEED
    angles = np.linspace(0, 12, 6001)  # t' = delay cosh(angle) takes the root away
    late = times[:, None] - delay * np.cosh(angles)[None, :]
    return np.trapezoid(np.where(late > 0, wavelet(late), 0.0), angles, axis=1) / (2 * np.pi)


def test_a_line_source_is_greens_function_in_2d():
    model = even((121, 141), 5.0)
    receivers = np.array([(300.0, 500.0), (152.3, 401.7), (447.1, 250.9)])
    source = np.array((301.2, 303.9))
    given = {"time": 0.35, "frequency": 20.0, "interpolation": "sinc", "dtype": "float64"}
    made = waves.shot(model, source, receivers, layers=waves.Sponge(60), **given)
    for place, trace in zip(receivers, made.traces["u"].T, strict=True):
        wanted = line_source(np.linalg.norm(place - source), made.times, 20.0)
        assert deviation(trace, wanted) < 0.02


def test_a_point_source_is_greens_function_in_3d():
    model = even((41, 45, 43), 10.0)
    receivers, source = np.array([(210.0, 353.0, 207.0)]), np.array((203.0, 204.0, 206.0))
    made = waves.shot(
        model, source, receivers, time=0.19, frequency=14.0, interpolation="sinc", layers=waves.Sponge(12)
    )
    distance = np.linalg.norm(receivers[0] - source)
    wanted = waves.ricker(14.0)(made.times - distance / SPEED) / (4 * np.pi * distance)
    assert deviation(made.traces["u"][:, 0], wanted) < 0.03


@pytest.mark.parametrize("spacing", [0.1, 0.7, 2.3, 0.15, 12.1])
def test_places_on_the_last_cells_are_inside_however_they_are_computed(spacing):
    for n in range(2, 60):
        model, end = even((n, 5), spacing), spacing * (n - 1)
        for last in (end, float(f"{end:.15g}"), end * (1 + 4e-16), np.float32(end)):
            places = np.array([(last, 0.0)], dtype=getattr(last, "dtype", "float64"))
            assert shots._places(places, model, "source").tolist() == [[n - 1, 0]]
    with pytest.raises(tw.TilewrightError, match=r"source: point 0 at .* lies outside the model"):
        shots._places([(end * (1 + 1e-12), 0.0)], model, "source")


def test_errors_fall_with_the_order_in_space():
    model, source, receivers = even((81, 91), 8.0), (320.0, 240.0), [(320.0, 520.0)]
    errors = []
    given = {"time": 0.24, "frequency": 20.0, "dtype": "float64", "time_step": 2e-4, "layers": waves.Sponge(60)}
    for order in (2, 4, 8):
        made = waves.shot(model, source, receivers, space_order=order, **given)
        errors.append(deviation(made.traces["u"][:, 0], line_source(280.0, made.times, 20.0)))
    assert errors[0] > 8 * errors[1] > 160 * errors[2]


def test_an_even_density_changes_nothing():
    given = {"time": 0.3, "frequency": 18.0, "time_step": 1e-3, "dtype": "float64", "interpolation": "sinc"}
    places = (300.0, 250.0), [(300.0, 450.0), (180.0, 330.0)]
    one = waves.shot(even((101, 111), 6.0), *places, **given)
    two = waves.shot(even((101, 111), 6.0, density=2200.0), *places, **given)
    assert deviation(two.traces["p"], one.traces["u"]) < 0.02


def test_an_elastic_model_without_shear_is_a_fluid():
    given = {"time": 0.3, "time_step": 1e-3, "dtype": "float64"}
    wavelet = waves.ricker(18.0)
    places = (300.0, 252.0), [(300.0, 450.0), (180.0, 330.0)]
    fluid = waves.shot(even((101, 111), 6.0, density=1800.0), *places, wavelet=wavelet, **given)

    def rate(times):  # of the stress, which is the pressure with its sign turned
        return -(SPEED**2) * np.cumsum(wavelet(times)) * 1e-3

    solid = waves.shot(even((101, 111), 6.0, density=1800.0, shear=0.0), *places, wavelet=rate, **given)
    assert deviation(-solid.wavefield("szz"), fluid.wavefield("p")) < 1e-9
    assert deviation(solid.wavefield("vz"), fluid.wavefield("vz")) < 1e-9


@pytest.mark.parametrize("shape", [(60, 70), (30, 34, 32)])
def test_elastic_waves_arrive_when_they_must(shape):
    rank = len(shape)
    model = even(shape, 10.0, shear=SPEED / np.sqrt(3), density=2000.0)
    centre = tuple(10.0 * (n // 2) for n in shape)
    place = (centre[0] + 100.0, *centre[1:])
    made = waves.shot(model, centre, [place], time=0.16, frequency=25.0, layers=waves.Sponge(10))
    trace = np.abs(made.traces["vz"][:, 0])
    assert set(made.traces) == {f"v{a}" for a in ("zyx" if rank == 3 else "zx")}
    assert trace[made.times < 0.6 * 100.0 / SPEED].max() < 0.02 * trace.max()
    others = [np.abs(made.traces[name]).max() for name in made.traces if name != "vz"]
    assert max(others) < 0.3 * trace.max()


def test_a_shear_wave_is_seen_at_a_change_of_the_model():
    """Behind an interface that a pressure wave meets at an angle there is rotation, which no fluid has."""
    velocity = np.full((80, 90), SPEED)
    velocity[50:] = 2600.0
    shear = velocity / 1.8
    model = waves.Model(velocity, 10.0, shear=shear, density=2000.0)
    made = waves.shot(model, (200.0, 450.0), [(600.0, 600.0)], time=0.3, frequency=15.0)
    vz, vx = made.wavefield("vz").astype(float), made.wavefield("vx").astype(float)
    rotation = (np.diff(vz, axis=1)[1:] - np.diff(vx, axis=0)[:, 1:])[5:-5, 5:-5]
    divergence = (np.diff(vz, axis=0)[:, 1:] + np.diff(vx, axis=1)[1:])[5:-5, 5:-5]
    assert np.abs(rotation).max() > 0.05 * np.abs(divergence).max()


def test_a_sponge_swallows_what_would_come_back():
    given = {"time": 1.0, "frequency": 15.0}
    places = (300.0, 300.0), [(300.0, 400.0)]
    calm = waves.shot(even((61, 61), 10.0), *places, layers=waves.Sponge(30), **given)
    loud = waves.shot(even((61, 61), 10.0), *places, layers=None, **given)
    late = calm.times > 0.5
    largest = np.abs(calm.traces["u"]).max()
    assert np.abs(calm.traces["u"][late]).max() < 0.06 * largest
    assert np.abs(loud.traces["u"][late]).max() > 0.3 * largest


def test_every_side_has_a_layer_of_its_own():
    sides = sides_of(((None, waves.Sponge(3)), waves.Sponge(2)), 2)
    taper = taper_of(sides, (8, 7))
    assert (taper[:5, 2:5] == 1).all()
    assert (np.diff(taper[4:, 3]) < 0).all()
    assert taper[0, 0] == taper[0, 6] == waves.Sponge(2).taper()[0]
    layers = ((None, waves.Sponge(3)), None)
    places = (50.0, 50.0), [(0.0, 0.0)]
    made = waves.shot(even((20, 24), 10.0), *places, time=0.05, frequency=25.0, layers=layers)
    assert made.run.problem.shape == (23, 24)
    assert made.wavefield("u").shape == (20, 24)


@pytest.mark.parametrize(("order", "parts"), covering([2, 8, 16], [{}, {"density": 2000.0}]))
def test_the_longest_step_is_the_longest(order, parts):
    model = even((40, 44), 10.0, **parts)
    step = waves.longest_step(model, order)
    if order == 2:
        assert step == pytest.approx(10.0 / (SPEED * np.sqrt(2)))
    program = (waves.pressure if parts else waves.acoustic)(model.spacing, order, damped=False)

    def largest(dt):
        field = np.random.default_rng(0).normal(size=(40, 44))
        rest = np.zeros_like(field)
        arrays = [(field, field), np.full_like(field, (SPEED * dt) ** 2)]
        if parts:
            light = np.full_like(field, dt / 2000.0)
            arrays = [field, rest, rest, light, light, np.full_like(field, dt * 2000.0 * SPEED**2)]
        state = tw.run(program, *arrays, steps=400, boundary="wrap")
        return np.abs(state[0] if parts else state).max()

    assert largest(0.98 * step) < 1e3
    forget_warnings()
    with pytest.warns(tw.TilewrightWarning, match="past its stability limit near the cell"):
        assert not largest(1.05 * step) < 1e6


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"time": -1.0}, "not negative"),
        ({"time_step": 0.01}, "is not stable"),
        ({"time_step": 0.0}, "the time step is positive"),
        ({"frequency": None}, "a frequency or a wavelet"),
        ({"frequency": 0.0}, "frequency of a wavelet is positive"),
        ({"wavelet": np.sin}, "a frequency or a wavelet"),
        ({"frequency": None, "wavelet": lambda t: t[:3]}, "one value per time"),
        ({"space_order": 3}, "even number from 2 to 16"),
        ({"source": (500.0, 10.0)}, "source: point 0 at .* lies outside the model"),
        ({"source": (1.0, 2.0, 3.0)}, r"shape \(n, 2\)"),
        ({"receivers": [(10.0, np.nan)]}, "receivers: coordinates are finite"),
        ({"receivers": []}, "receivers: coordinates have the shape"),
        ({"layers": (waves.Sponge(3),)}, r"one entry per axis \(2\)"),
        ({"layers": (3, None)}, "'layers' of shot is a Sponge, a CPML"),
        (
            {"layers": waves.CPML(3), "frequency": None, "wavelet": np.sin},
            "CPML around a wavelet needs its frequency",
        ),
        ({"interpolation": "cubic"}, "linear, sinc"),
        ({"boundary": "wrap"}, "a shot sets boundary by itself"),
        ({"record": True}, "a shot sets record by itself"),
        ({"dtype": "int32"}, "such as float32 or float64, got 'int32'"),
        ({"dtype": "granite"}, "got 'granite'"),
    ],
)
def test_bad_shots_are_refused_in_a_sentence(given, told):
    asked = {"time": 0.02, "frequency": 20.0, **given}
    source, receivers = asked.pop("source", (50.0, 50.0)), asked.pop("receivers", [(50.0, 60.0)])
    with pytest.raises(tw.TilewrightError, match=told):
        waves.shot(even((20, 24), 10.0), source, receivers, **asked)


def test_times_are_those_of_the_records_where_a_run_ends_early():
    made = waves.shot(even((20, 24), 10.0), (50.0, 50.0), [(50.0, 60.0)], time=0.6, frequency=20.0, until=1e30, every=3)
    assert 0 < len(made.times) == len(made.traces["u"]) < made.run.problem.steps // 3
    assert made.times[0] == pytest.approx(3 * made.time_step)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: waves.Model([[1.0, -1.0]], 1.0), "velocity is finite and positive"),
        (lambda: waves.Model([[1.0, np.nan]], 1.0), "velocity is finite and positive"),
        (lambda: waves.Model("granite", 1.0), "velocity is numbers"),
        (lambda: waves.Model(np.ones((2, 2, 2, 2)), 1.0), "1 to 3 dimensions"),
        (lambda: even((5, 5), 0.0), "spacing is positive"),
        (lambda: even((5, 5), 1.0, density=np.ones(3)), "density is a number or an array of shape 5x5"),
        (lambda: even((5, 5), 1.0, shear=3000.0), "slower than pressure waves"),
        (lambda: waves.Sponge(0), "at least one cell"),
        (lambda: waves.Sponge(5, -1.0), "decay of a sponge is positive"),
        (lambda: waves.CPML(0), "at least one cell"),
        (lambda: waves.CPML(5, -1.0), "frequency of a CPML is positive"),
        (lambda: waves.CPML(5, reflection=1.0), "reflection of a CPML lies between 0 and 1"),
    ],
)
def test_bad_models_are_refused_in_a_sentence(make, told):
    with pytest.raises(tw.TilewrightError, match=told):
        make()


def test_a_wavelet_that_the_grid_does_not_carry_gives_a_warning():
    asked = {"time": 0.01, "layers": None, "space_order": 2}
    places = (50.0, 50.0), [(50.0, 60.0)]
    with pytest.warns(tw.TilewrightWarning, match=r"2 cells: .* at most 50 Hz, or cells of at most 5 m"):
        waves.shot(even((20, 24), 10.0), *places, frequency=100.0, **asked)
    waves.shot(even((20, 24), 10.0), *places, frequency=50.0, **asked)
    with pytest.warns(tw.TilewrightWarning, match=r"slowest \(1000 m/s\)"):
        waves.shot(even((20, 24), 10.0, shear=1000.0, density=2000.0), *places, frequency=50.0, **asked)


def test_places_in_1d_are_one_number_each():
    asked = {"time": 0.05, "frequency": 20.0, "layers": waves.Sponge(8)}
    found, wanted = (waves.shot(even((60,), 10.0), [100.0], p, **asked) for p in ([200.0, 300.0], [[200.0], [300.0]]))
    assert wanted.traces["u"].any()
    np.testing.assert_array_equal(found.traces["u"], wanted.traces["u"])


def test_a_shot_that_ends_early_has_the_times_of_its_records():
    asked = {"time": 2.0, "frequency": 20.0, "layers": waves.Sponge(10), "every": 5}
    made = waves.shot(even((20, 24), 10.0), (50.0, 50.0), [(50.0, 60.0)], until=1e3, **asked)
    assert made.run.steps_done < made.run.problem.steps
    assert made.times.shape == (made.run.steps_done // 5,) == made.traces["u"][:, 0].shape


def test_programs_of_every_order_and_rank():
    for spacing in ((10.0,), (10.0, 5.0), (10.0, 5.0, 4.0)):
        for order in (2, 6, 16):
            assert waves.acoustic(spacing, order).reach == ((order // 2, order // 2),) * len(spacing)
            assert len(waves.pressure(spacing, order).updated) == 1 + len(spacing)
            assert len(waves.elastic(spacing, order).updated) == {1: 2, 2: 5, 3: 9}[len(spacing)]
    make_problem(waves.elastic((1.0, 1.0)), (40, 40), 3)


def test_a_shot_from_the_command_line(tmp_path, monkeypatch, capsys):
    import json

    from typer.testing import CliRunner

    from tilewright.cli.app import app

    monkeypatch.chdir(tmp_path)
    np.save("v.npy", np.full((30, 40), SPEED))
    line = "shot v.npy --spacing 10 --source 50,200 --time 0.1 --frequency 25 --layer 8"
    done = CliRunner().invoke(app, [*line.split(), "--receiver-depth", "20", "-o", "t.npz", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    with np.load("t.npz") as file:
        traces = file["u"]
    assert told["traces"]["u"] == list(traces.shape)
    assert traces.shape[1] == 40
    model = waves.Model(np.load("v.npy"), 10.0)
    places = np.stack([np.full(40, 20.0), 10.0 * np.arange(40)], axis=1)
    wanted = waves.shot(model, (50.0, 200.0), places, time=0.1, frequency=25.0, layers=waves.Sponge(8))
    assert np.allclose(traces, wanted.traces["u"], atol=1e-6 * np.abs(wanted.traces["u"]).max())
    bad = CliRunner().invoke(app, [*line.split(), "-o", "t.npz"])
    assert bad.exit_code != 0
    np.save("line.npy", np.full(30, SPEED))
    line = "shot line.npy --spacing 10 --source 50,60 --time 0.1 --frequency 25 --receiver-depth 20"
    bad = CliRunner().invoke(app, line.split())
    assert bad.exit_code != 0
    assert "coordinates have the shape (n, 1)" in bad.output + bad.stderr

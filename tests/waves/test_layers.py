"""Convolutional perfectly matched layers: what they send back, per side, under every tiling."""

import numpy as np
import pytest
from tests.sampling import covering, some

from tilewright import waves
from tilewright.base.errors import UsageError
from tilewright.waves.layers import memory_along
from tilewright.waves.programs import absorption_profiles

pytestmark = [
    pytest.mark.usefixtures("mostly_unoptimised"),
    pytest.mark.filterwarnings("ignore:the tiling family overlapped goes:DeprecationWarning"),
]

SPEED, CELL = 2000.0, 5.0
FLUIDS = {"acoustic": {}, "pressure": {"density": 1000.0}}
MODELS = {**FLUIDS, "elastic": {"density": 1000.0, "shear": 1100.0}}


def decibels(share):
    return 20 * np.log10(share)


def returned(traces, free, wall):
    """What comes back, per field, over what a wall in the layer's place sends back; dB."""
    return [decibels(np.abs(traces[f] - free[f]).max() / np.abs(wall[f] - free[f]).max()) for f in free]


@pytest.mark.parametrize("parts", FLUIDS.values(), ids=FLUIDS)
def test_waves_at_normal_incidence_come_back_below_60_decibels(parts):
    given = {"time": 0.45, "frequency": 25.0, "dtype": "float64"}

    def record(layers, more=0):
        model = waves.Model(np.full(80 + 2 * more, SPEED), CELL, **parts)
        place = (CELL * (40 + more),)
        return waves.shot(model, place, [place], layers=layers, **given).traces

    free, wall = record(None, more=250), record(None)
    assert returned(record(waves.CPML(20)), free, wall)[0] < -60


@pytest.mark.parametrize("parts", some(list(MODELS.values()), 1), ids=MODELS)
def test_waves_at_60_degrees_come_back_below_40_decibels(parts):
    depth, time = 20, 0.45
    away = round(2 * depth * np.tan(np.radians(60)))
    layer = waves.CPML(20)

    def record(top, more=0):
        model = waves.Model(np.full((depth + 30 + more, away + 50), SPEED), CELL, **parts)
        place, start = CELL * (depth + more), CELL * 25
        given = {"time": time, "frequency": 25.0, "dtype": "float64", "layers": ((top, layer), layer)}
        return waves.shot(model, (place, start), [(place, start + CELL * away)], **given).traces

    free, wall = record(layer, more=90), record(None)  # farther than waves go and return in that time
    assert all(each < -40 for each in returned(record(layer), free, wall))
    assert all(each > -40 for each in returned(record(waves.Sponge(20)), free, wall))


@pytest.mark.parametrize("parts", some(list(MODELS.values())[::-1], 1), ids=list(MODELS)[::-1])
def test_nothing_grows_in_the_layers(parts):
    model = waves.Model(np.full((30, 34), SPEED), CELL, **parts)
    made = waves.shot(model, (60.0, 70.0), [(50.0, 100.0)], time=3.0, frequency=25.0, layers=waves.CPML(10))
    for traces in made.traces.values():
        late = np.abs(traces[made.times > 2.0]).max()
        assert late < 2e-3 * np.abs(traces).max()


@pytest.mark.parametrize(
    ("parts", "tiling"), covering(list(MODELS.values()), ["none", "skewed:t=4,s=16x16", "overlapped:t=3,s=16x32"])
)
def test_traces_do_not_depend_on_the_tiling(parts, tiling):
    model = waves.Model(np.full((24, 26), SPEED), CELL, **parts)
    given = {"time": 0.08, "frequency": 40.0, "dtype": "float64", "space_order": 4}
    layers = ((None, waves.CPML(6)), (waves.Sponge(5), waves.CPML(4)))
    runs = [
        waves.shot(model, (60.0, 60.0), [(20.0, 100.0), (90.0, 5.0)], layers=layers, **given, **options)
        for options in ({"backend": "numpy"}, {"tiling": tiling})
    ]
    for wanted, got in zip(*(run.traces.values() for run in runs), strict=True):
        assert wanted.any()
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_only_axes_with_a_layer_have_memories():
    program = waves.elastic((1.0, 1.0), damped=False, absorbed=(1,))
    assert program.updated == ("vz", "vx", "szz", "sxx", "szx", "szx_x", "sxx_x", "vx_x", "vz_x")
    assert set(program.profiles) == set(absorption_profiles("x"))
    assert waves.acoustic((1.0, 1.0), absorbed=(0, 1)).updated == ("u", "u_z", "u_zz", "u_x", "u_xx")
    assert waves.acoustic((1.0, 1.0)).updated == ("u",)


def test_factors_of_memories_are_those_of_the_layers():
    layer = waves.CPML(4, frequency=20.0, reflection=1e-3)
    decay, gain = memory_along((layer, layer), 12, 2.0, 1000.0, 1e-3, half=False)
    assert not decay[4:8].any()
    assert not gain[4:8].any()
    np.testing.assert_array_equal(decay, decay[::-1])
    np.testing.assert_array_equal(gain, gain[::-1])
    damping = 3 * 1000.0 * np.log(1e3) / (2 * 8.0) * (2 / 4) ** 2  # in the second cell
    alpha = np.pi * 20.0 * (1 - 2 / 4)
    assert decay[2] == pytest.approx(np.exp(-(damping + alpha) * 1e-3))
    assert gain[2] == pytest.approx(damping / (damping + alpha) * (decay[2] - 1))
    halves = memory_along((layer, layer), 12, 2.0, 1000.0, 1e-3, half=True)[1]
    assert (np.diff(halves[:4]) > 0).all()  # from the outside in towards 0
    np.testing.assert_array_equal(halves[:4], halves[7:11][::-1])
    assert not memory_along((None, waves.Sponge(3)), 12, 2.0, 1000.0, 1e-3, half=True)[0].any()


def test_memories_live_in_the_layers_alone():
    model = waves.Model(np.full((70, 60), SPEED), CELL)
    layers = ((None, waves.CPML(8)), waves.CPML(6))
    given = {"time": 0.1, "frequency": 25.0, "layers": layers}
    made = waves.shot(model, (100.0, 100.0), [(50.0, 100.0)], tiling="none", **given)
    shapes = {name: state.shape for name, state in zip(made.run.problem.program.updated, made.run.state, strict=True)}
    assert shapes == {"u": (78, 72), "u_z": (9, 72), "u_zz": (8, 72), "u_x": (78, 13), "u_xx": (78, 12)}
    assert made.wavefield("u").shape == (70, 60)
    with pytest.raises(UsageError, match="the fields of this shot are u, got 'u_z'"):
        made.wavefield("u_z")

"""Convolutional perfectly matched layers: what they send back, per side, under every tiling, and that nothing grows."""

import math

import numpy as np
import pytest
from tests.sampling import covering, some

from tilewright import waves
from tilewright.base.errors import UsageError
from tilewright.programs.stencil.differences import weights
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.reference import evaluate, over_box, pad
from tilewright.waves.layers import memory_along, sides_of
from tilewright.waves.programs import absorption_profiles, root_of_laplacian
from tilewright.waves.shots import Scheme

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


@pytest.mark.parametrize("order", range(2, 17, 2))
def test_memories_are_fed_by_a_root_of_the_second_difference(order):
    root, shift = root_of_laplacian(order)
    half = order // 2
    np.testing.assert_allclose(
        -np.convolve(root, root[::-1]), np.array(weights(range(-half, half + 1), 2), float), rtol=0, atol=1e-14
    )
    places = np.arange(half + 1)
    assert np.dot(root, places) == pytest.approx(1.0)  # the derivative of x
    assert np.dot(root, places**2) == pytest.approx(2.0 * shift)  # and of x^2, at that place


def one_step(model, layers, order, share):
    """The matrix by which a step multiplies what a run holds: fields, old ones too, and memories that are not 0."""
    step = share * waves.longest_step(model, order)
    scheme = Scheme(model=model, sides=sides_of(layers, model.velocity.ndim), step=step, order=order, dtype="float64")
    program, profiles = scheme.program, scheme.profiles()
    problem = make_problem(program, scheme.padded(model.velocity).shape, 1, "float64", scheme.boundary())
    shape, size = problem.shape, math.prod(problem.shape)
    held = [(field, -age) for field in program.updated for age in range(program.history(field))]
    columns = np.eye(len(held) * size).reshape(len(held), *shape, -1)
    values = dict(zip(held, columns, strict=True))
    for field, array in zip(program.fields, scheme.arrays(), strict=True):
        if field not in program.updated:
            values[field, 0] = array[..., None]

    def read(node):
        if not isinstance(node, Read):
            return over_box(node, tuple((0, n) for n in shape), problem, np.dtype(float), profiles)[..., None]
        around = pad(values[node.field, node.level], program.reach, problem.sides(node.field))
        first = [offset + low for offset, (low, _) in zip(node.offset, program.reach, strict=True)]
        return around[tuple(slice(a, a + n) for a, n in zip(first, shape, strict=True))]

    for i in (i for stage in program.stages for i in stage):
        statement = program.statements[i]
        values[statement.field, 1] = np.broadcast_to(evaluate(statement.tape, read, {}), columns.shape[1:])
    matrix = np.concatenate([values[field, level + 1].reshape(size, -1) for field, level in held])
    while not (kept := matrix.any(axis=0) & matrix.any(axis=1)).all():
        matrix = matrix[np.ix_(kept, kept)]
    return matrix


def growth(matrix):
    """How much more than 1 the factors of a step are.

    In the outermost cells, where alpha is 0, what is once there stays (the constant of an integral over time): of such
    factors of 1, of which there are many, no more than half of the digits are right.
    """
    factors = np.linalg.eigvals(matrix)
    resting = np.abs(factors - 1.0) < 1e-5
    return max(np.abs(factors[~resting]).max() - 1.0, np.abs(factors[resting]).max(initial=0.0) - 1.0 - 1e-6)


def drawn(number, cells, wide):
    """A model with layers, drawn: rank, order, sides, speeds of strata that reach the edges, how long a step.

    No waves are caught between walls or in very slow strata, with a mere tail in a thin layer: those can grow in any
    CPML, of order 2 and of pressure and velocities too.
    """
    draw = np.random.default_rng(number)
    order, rank = 2 + 2 * (number % 6), 1 + number // 6 % 3
    wide, most = (wide, 6) if rank < 3 else (3, 4)
    stratified = rank < 3 and draw.random() < 0.7  # layers of one or two cells are too thin for strata in 3D

    def layer():
        return waves.CPML(int(draw.integers(wide // 2, wide)), draw.uniform(5.0, 40.0), 10.0 ** draw.uniform(-8, -4))

    def side():
        return [layer(), layer(), waves.FREE, None][draw.integers(4)]

    layers = [[side(), layer() if stratified or draw.random() < 0.5 else side()] for _ in range(rank)]
    layers[-1][1] = waves.CPML(wide - 1, 15.0)
    shape = [int(draw.integers(2, most)) + (order // 2 if waves.FREE in pair else 0) for pair in layers]
    if rank == 1:
        shape = [shape[0] + 30]
    along = int(draw.integers(rank))
    strata = draw.uniform(1.0, 2.0, shape[along]) if stratified else np.ones(shape[along])
    speeds = SPEED * np.ones(shape) * strata.reshape([-1 if axis == along else 1 for axis in range(rank)])
    around = [n + sum(part.width for part in pair if part) for n, pair in zip(shape, layers, strict=True)]
    model, share = waves.Model(speeds, 10.0), draw.choice([0.3, 0.5, 0.9, 1.0])
    return (model, layers, order, share) if math.prod(around) <= cells else drawn(number + 18_000, cells, wide)


@pytest.mark.parametrize("number", range(18))
def test_no_factor_of_a_step_is_more_than_one(number):
    assert growth(one_step(*drawn(number, 60, 4))) < 1e-10


@pytest.mark.stress
@pytest.mark.parametrize("number", range(18, 126))
def test_no_factor_of_a_step_is_more_than_one_in_many_models(number):
    assert growth(one_step(*drawn(number, 320, 7))) < 1e-10


STRATA = np.repeat([1500.0, 3000.0, 4500.0], [4, 4, 4])
LONG = {
    "line": (np.full(40, SPEED), waves.CPML(10), {}),
    "plane": (np.full((12, 14), SPEED), waves.CPML(6), {}),
    "strata": (np.tile(STRATA[:, None], 14), waves.CPML(6), {}),
    "columns": (np.tile(STRATA, (14, 1)), waves.CPML(6), {}),
    "free": (np.tile(STRATA[:, None], 14), ((waves.FREE, waves.CPML(6)), waves.CPML(6)), {}),
    "one side": (np.tile(STRATA[:, None], 14), ((waves.FREE, waves.CPML(6)), (None, waves.CPML(6))), {}),
    "one axis": (np.full((12, 14), SPEED), (None, waves.CPML(6)), {}),
    "space": (np.tile(STRATA[::2, None, None], (1, 5, 5)), ((None, waves.CPML(3)), waves.CPML(3), waves.CPML(3)), {}),
    "density": (np.tile(STRATA[:, None], 14), waves.CPML(6), {"density": STRATA[:, None]}),
    "elastic": (np.full((12, 14), SPEED), waves.CPML(6), {"shear": 1100.0, "density": 1000.0}),
}


RUN = {"line": 8, "strata": 6, "free": 12, "one axis": 10, "density": 4, "elastic": 2}
"""What is run by default: every order, and what the factors of a step above do not tell of."""


@pytest.mark.parametrize(
    ("order", "case"),
    [
        pytest.param(order, case, marks=() if RUN.get(case) == order else pytest.mark.stress)
        for order in range(2, 14, 2)
        for case in LONG
    ],
)
def test_nothing_grows_in_forty_seconds(order, case):
    speeds, layers, parts = LONG[case]
    model = waves.Model(speeds, 20.0, **parts)
    places = (80.0, 70.0, 40.0)[: speeds.ndim], [(50.0, 80.0, 30.0)[: speeds.ndim]]
    made = waves.shot(model, *places, time=40.0, frequency=10.0, layers=layers, space_order=order, threads=1)
    for traces in made.traces.values():
        middle, late = (np.abs(traces[(made.times > t) & (made.times <= t + 10.0)]).max() for t in (10.0, 30.0))
        largest = np.abs(traces).max()
        assert late < max(middle, 1e-8 * largest)  # rounding is never at rest
        assert late < (0.5 if case == "one axis" else 1e-4) * largest  # there walls send waves back


@pytest.mark.parametrize(("parts", "tiling"), covering(list(MODELS.values()), ["none", "skewed:t=4,s=16x16"]))
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
    decay, gain = memory_along((layer, layer), 12, 2.0, 1000.0, 1e-3, shift=0.0)
    assert not decay[4:8].any()
    assert not gain[4:8].any()
    np.testing.assert_array_equal(decay, decay[::-1])
    np.testing.assert_array_equal(gain, gain[::-1])
    damping = 3 * 1000.0 * np.log(1e3) / (2 * 8.0) * (2 / 4) ** 2  # in the second cell
    alpha = np.pi * 20.0 * (1 - 2 / 4)
    assert decay[2] == pytest.approx(np.exp(-(damping + alpha) * 1e-3))
    assert gain[2] == pytest.approx(damping / (damping + alpha) * (decay[2] - 1))
    halves = memory_along((layer, layer), 12, 2.0, 1000.0, 1e-3, shift=0.5)[1]
    assert (np.diff(halves[:4]) > 0).all()  # from the outside in towards 0
    np.testing.assert_array_equal(halves[:4], halves[7:11][::-1])
    assert not memory_along((None, waves.Sponge(3)), 12, 2.0, 1000.0, 1e-3, shift=0.5)[0].any()


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

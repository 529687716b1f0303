"""Stability limits: found where theory has one, and never for what is stable."""

import math
import warnings

import numpy as np
import pytest

import tilewright as tw
from tilewright.programs.stencil import catalogue, stability
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.stability import advice, growth
from tilewright.runtime.warn import forget_warnings


def heat(rank):
    def body(u, a):
        total = u[(0,) * rank]
        for axis in range(rank):
            for way in (-1, 1):
                total = total + a * (u[tuple(way if n == axis else 0 for n in range(rank))] - u[(0,) * rank])
        return total

    return tw.stencil(body).program


@tw.stencil
def wave(u, c):
    return 2.0 * u[0] - u.prev[0] + c * (u[-1] - 2.0 * u[0] + u[1])


@tw.stencil
def upwind(u, c):
    return u[0] - c * (u[0] - u[-1])


@tw.stencil
def centred(u, c):  # forward in time, centred in space: unstable at every step
    return u[0] - 0.5 * c * (u[1] - u[-1])


@tw.stencil
def staggered(e, h, c):  # fields of the same step, as in FDTD
    new_h = h[0] + c * (e[1] - e[0])
    return {"h": new_h, "e": e[0] + c * (h.new[0] - h.new[-1])}


@tw.stencil
def reaction(u, r):
    return u[0] + 0.2 * (u[-1] - 2.0 * u[0] + u[1]) + r * u[0]


LIMITS = [
    (heat(1), "a", 0.5), (heat(2), "a", 0.25), (heat(3), "a", 1 / 6), (wave.program, "c", 1.0),
    (upwind.program, "c", 1.0), (staggered.program, "c", 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("program", "name", "limit"), LIMITS, ids=lambda each: getattr(each, "name", str(each)))
def test_the_limits_of_theory(program, name, limit):
    for share in (0.1, 0.5, 0.9, 0.999, 1.0):
        assert growth(program, ((name, share * limit),)) is None, share
    for share in (1.01, 1.2, 3.0):
        found = growth(program, ((name, share * limit),))
        assert found is not None, share
        assert found.factor > 1.0


def test_how_fast_and_which_wave():
    found = growth(heat(2), (("a", 0.3),))
    assert found.factor == pytest.approx(1.4)
    assert found.cells == (2.0, 2.0)
    assert "a wave of 2 x 2 cells grows 1.4 times" in str(found)
    assert found.over(10) == pytest.approx(1.4**10)
    assert found.over(10**7) == math.inf
    assert growth(centred.program, (("c", 0.5),)).factor == pytest.approx(math.sqrt(1.25))


def test_no_alarm_for_any_program_of_the_catalogue():
    looked = 0
    for name in catalogue.names():
        program = catalogue.program(name)
        assert growth(program) is None, name
        assert advice(program, growth(program), 10**6) == "", name
        looked += 1
    assert looked >= 35


def three_points(left, centre, right):
    return tw.stencil(lambda u: left * u[-1] + centre * u[0] + right * u[1]).program


@pytest.mark.parametrize(("factor", "steps"), [(1.1, 12), (0.5, 7), (3.0, 1000), (2.0, 1)])
def test_the_growth_that_is_measured_is_a_mean_per_step(factor, steps):
    program = tw.stencil(lambda u: factor * u[0], name="grows").program
    problem = make_problem(program, (9,), steps, "float64")
    measured = stability.measured_growth(problem, {}, {})
    assert measured == pytest.approx(factor)


def test_the_growth_is_the_one_that_is_measured():
    """Random linear programs on a periodic grid: their largest mode grows as the matrix says."""
    draw = np.random.default_rng(5)
    for _ in range(12):
        weights = draw.uniform(-1, 1, 3)
        program = three_points(*weights)
        angles = 2 * np.pi * np.arange(256) / 256
        expected = np.abs(weights[0] * np.exp(-1j * angles) + weights[1] + weights[2] * np.exp(1j * angles))
        found = growth(program)
        if expected.max() > 1.001 * max(1.0, expected[0]):
            assert found.factor == pytest.approx(expected.max())
        elif expected.max() <= max(1.0, expected[0]):
            assert found is None


def test_what_cannot_be_derived_is_left_alone():
    varying = tw.stencil(lambda u, k: u[0] + 9.0 * k[0] * (u[-1] - 2.0 * u[0] + u[1])).program
    bent = tw.stencil(lambda u: u[0] + 9.0 * (u[-1] - 2.0 * u[0] + u[1]) + 0.1 * u[0] * u[0]).program
    limited = tw.stencil(lambda u: tw.minimum(1.0, u[0] + 9.0 * (u[-1] - 2.0 * u[0] + u[1]))).program
    for program in (varying, bent, limited, heat(1)):
        assert growth(program) is None
    # Constants that are computed and sources that are only added do not matter.
    source = tw.stencil(lambda u, f: u[0] + tw.sqrt(0.81) * (u[-1] - 2.0 * u[0] + u[1]) + 3.0 * f[0] + 1.0).program
    assert growth(source).factor == pytest.approx(2.6)
    # A mean that grows is a reaction, and a filter that is applied a few times may sharpen.
    assert growth(reaction.program, (("r", 0.5),)) is None
    assert advice(heat(1), growth(heat(1), (("a", 2.0),)), stability.FEWEST_STEPS - 1) == ""
    assert advice(heat(1), growth(heat(1), (("a", 0.5000001),)), 20) == ""


def test_run_and_predict_say_so_once():
    forget_warnings()
    unstable = tw.stencil(lambda u: u[0] + 0.7 * (u[-1] - 2.0 * u[0] + u[1]), name="too_far")
    u = np.ones(40)
    with pytest.warns(tw.TilewrightWarning, match="past its stability limit: a wave of 2 cells grows 1.8 times"):
        tw.run(unstable, u, steps=12)
    tw.run(unstable, u, steps=12)
    tw.predict(unstable, shape=(400,), steps=100, machine="h200")
    forget_warnings()
    with pytest.warns(tw.TilewrightWarning, match="smaller time step"):
        tw.predict(unstable, shape=(400,), steps=100, machine="h200")
    tw.run(unstable, u, steps=5)
    tw.run(upwind, u, steps=50, c=0.9)
    forget_warnings()
    with pytest.warns(tw.TilewrightWarning, match="'upwind' is past its stability limit"):
        tw.run(upwind, u, steps=50, c=1.5)
    tw.run(upwind, u.astype(int), steps=2, c=2, dtype="float64")


def relaxation(w):
    """Successive over-relaxation, which takes new values of the neighbours that come first."""
    return tw.stencil(
        lambda u: (1 - w) * u[0, 0] + w * 0.25 * (u.new[-1, 0] + u[1, 0] + u.new[0, -1] + u[0, 1]), name="sor"
    ).program


@pytest.mark.parametrize("w", [0.5, 1.0, 1.5, 1.9])
def test_new_values_on_the_right_stand_on_the_left(w):
    assert growth(relaxation(w)) is None
    u = np.random.default_rng(0).random((12, 12))
    u[[0, -1]], u[:, [0, -1]] = 0, 0
    assert np.abs(tw.run(relaxation(w), u, steps=1000)).max() < 1e-3  # it does converge


@pytest.mark.filterwarnings("ignore:'sor' is past its stability limit")
@pytest.mark.parametrize("w", [2.02, 3.0])
def test_relaxation_past_its_limit_grows_as_it_does_between_edges(w):
    """Of a sweep that grows along the grid no wave stays one: its symbol has eigenvalues of 4 where w is 2.1."""
    u = np.zeros((26, 26))
    u[1:-1, 1:-1] = np.random.default_rng(0).random((24, 24))
    earlier, later = (np.abs(tw.run(relaxation(w), u, steps=steps)).max() for steps in (200, 300))
    found = growth(relaxation(w))
    assert found.factor == pytest.approx((later / earlier) ** 0.01, rel=0.01)
    assert str(found) == f"a disturbance grows {found.factor:.4g} times in every step"


@pytest.mark.parametrize(
    "body",
    [
        lambda u: u.new[-1] + u[0],
        lambda u: u.new[-1, 0] + u.new[0, -1] - u.new[-1, -1] + u[0, 0],
        lambda u: 1.05 * u.new[-1] + 0.99 * u[0],
    ],
)
def test_sums_that_grow_with_a_power_of_time_are_left_alone(body):
    assert growth(tw.stencil(body).program) is None


def test_new_values_that_let_a_wave_grow():
    """Of an implicit symbol: (1 - 0.5 exp(-i t)) new = (-2 - 0.5 exp(i t)) old, at its largest for t = 0 and pi."""
    program = tw.stencil(lambda u: 0.5 * u.new[-1] - 2.0 * u[0] - 0.5 * u[1]).program
    assert growth(program) is None  # the mean grows as fast as anything
    program = tw.stencil(lambda u: -0.5 * u.new[-1] - 2.0 * u[0] + 0.5 * u[1]).program
    angles = 2 * np.pi * np.arange(256) / 256
    expected = np.abs((-2 + 0.5 * np.exp(1j * angles)) / (1 + 0.5 * np.exp(-1j * angles)))
    found = growth(program)
    assert found.factor == pytest.approx(expected.max())
    assert growth(tw.stencil(lambda u: u.new[-1] + u[0]).program) is None  # a running sum


@tw.stencil
def pressure_first(p, vx, vz, c):
    """The first statement reads what the others compute: the order in which they are written does not matter."""
    new_vx = vx[0, 0] - c * (p[0, 1] - p[0, 0])
    new_vz = vz[0, 0] - c * (p[1, 0] - p[0, 0])
    new_p = p[0, 0] - c * (vx.new[0, 0] - vx.new[0, -1] + vz.new[0, 0] - vz.new[-1, 0])
    return new_p, new_vx, new_vz


@pytest.mark.parametrize("share", [0.5, 0.99, 1.0])
def test_systems_of_fields_below_their_limit(share):
    assert growth(pressure_first.program, (("c", share / math.sqrt(2)),)) is None


def test_systems_of_fields_past_their_limit():
    """The eigenvalues of 1 - 2 s^2 +- sqrt((1 - 2 s^2)^2 - 1) for s = 1.01: the wave equation's (Courant)."""
    found = growth(pressure_first.program, (("c", 1.01 / math.sqrt(2)),))
    middle = 2 * 1.01**2 - 1
    assert found.factor == pytest.approx(middle + math.sqrt(middle**2 - 1))
    noise = 1e-3 * np.random.default_rng(0).standard_normal((3, 64, 64))
    forget_warnings()
    with pytest.warns(tw.TilewrightWarning, match=r"a wave of 2 x 2 cells grows 1\.327 times in every step"):
        grown = [
            np.abs(tw.run(pressure_first, *noise, steps=steps, c=1.01 / math.sqrt(2), boundary="wrap")[0]).max()
            for steps in (60, 80)
        ]
    assert (grown[1] / grown[0]) ** (1 / 20) == pytest.approx(found.factor, rel=0.03)


@tw.stencil
def conducting(u, k):
    return u[0, 0] + k[0, 0] * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


@tw.stencil
def medium(u, m):
    return 2 * u[0, 0] - u.prev[0, 0] + m[0, 0] * tw.laplacian(u)


def limits_met(program, k, steps=100):
    """Run, and say whether there was a warning, and by how much a disturbance grew."""
    forget_warnings()
    u = 1e-9 * np.random.default_rng(1).standard_normal(k.shape)
    given = (u, u) if program is medium else u
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = tw.run(program, given, k, steps=steps)
    return [str(each.message) for each in said if "stability" in str(each.message)], np.abs(found).max() / 1e-9


@pytest.mark.parametrize(
    ("program", "limit", "where"),
    [
        (conducting, 0.25, (slice(30, 33), slice(None))),
        (conducting, 0.25, (slice(None), slice(7, 9))),
        (conducting, 0.25, (slice(20, 40), slice(20, 40))),
        (medium, 0.5, (slice(30, 36), slice(None))),
    ],
)
def test_coefficients_past_the_limit_in_a_part_of_the_grid(program, limit, where):
    k = np.full((64, 80), 0.8 * limit)
    assert limits_met(program, k)[0] == []
    k[where] = 1.6 * limit
    said, grown = limits_met(program, k)
    assert len(said) == 1, said
    assert grown > 1e3
    assert "near the cell (" in said[0]


@tw.stencil
def acoustic(p, v, stiffness, softness):
    new_v = v[0] - softness[0] * (p[1] - p[0])
    return p[0] - stiffness[0] * (v.new[0] - v.new[-1]), new_v


@tw.stencil
def flow(p, vx, vz, c):
    new_vx = vx[0, 0] - c[0, 0] * (p[0, 1] - p[0, 0])
    new_vz = vz[0, 0] - c[0, 0] * (p[1, 0] - p[0, 0])
    return p[0, 0] - c[0, 0] * (vx.new[0, 0] - vx.new[0, -1] + vz.new[0, 0] - vz.new[-1, 0]), new_vx, new_vz


def warned(program, *arrays, **options):
    """Run; return the warnings of the stability limit, and the largest value."""
    forget_warnings()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = tw.run(program, *arrays, **options)
    found = result[0] if isinstance(result, tuple) else result
    return [str(each.message) for each in said if "stability" in str(each.message)], np.abs(found).max()


@pytest.mark.parametrize("share", [1.005, 1.05])
def test_staggered_coefficients_a_little_past_the_limit_in_a_block(share):
    """The first cell of the block, its corner, has few like it around: a wave grows around its middle."""
    c = np.full((64, 64), 0.8 / math.sqrt(2))
    noise = 1e-9 * np.random.default_rng(0).standard_normal((3, 64, 64))
    assert warned(flow, *noise, c, steps=1000)[0] == []
    c[20:44, 20:44] = share / math.sqrt(2)
    said, largest = warned(flow, *noise, c, steps=1000)
    assert len(said) == 1, said
    assert largest > 1e30
    # The same extremes, in so few cells that nothing grows.
    c[20:44, 20:44] = 0.8 / math.sqrt(2)
    c[30, 30] = share / math.sqrt(2)
    assert warned(flow, *noise, c, steps=1000)[0] == []
    c[20:44, 20:44] = share / math.sqrt(2)
    assert len(warned(flow, *noise, c, steps=1000)[0]) == 1


def test_two_coefficients_whose_product_is_past_the_limit():
    """Where each of them is extreme the other one is small."""
    stiffness, softness = np.full((2, 300), 0.5)
    stiffness[50], softness[50] = 2.0, 0.25
    stiffness[200], softness[200] = 0.25, 2.0
    noise = 1e-9 * np.random.default_rng(0).standard_normal((2, 300))
    assert warned(acoustic, *noise, stiffness, softness, steps=300)[0] == []
    stiffness[100:130], softness[100:130] = 1.1, 1.0
    said, largest = warned(acoustic, *noise, stiffness, softness, steps=300)
    assert len(said) == 1, said
    assert "near the cell (1" in said[0]
    assert largest > 1e20


@pytest.mark.parametrize(
    ("program", "values", "grows"),
    [
        (heat(2), np.full(50, 0.3), True),
        (heat(2), np.where(np.arange(50) < 40, 0.3, 0.2), True),
        (heat(2), np.where(np.arange(50) < 5, 0.3, 0.05), False),
        (heat(2), np.linspace(0.2, 0.6, 50), True),
        (heat(2), np.linspace(0.1, 0.5, 50), False),  # the first half takes more than the second one gives
        (heat(2), np.full(50, 0.25), False),
        (wave.program, np.full(50, 1.1), True),
        (wave.program, np.linspace(0.2, 0.9, 50), False),
        (upwind.program, np.random.default_rng(0).uniform(0.8, 1.6, 50), True),
    ],
)
def test_coefficients_that_vary_in_time(program, values, grows):
    rank = program.rank
    u = 1e-3 * np.random.default_rng(0).standard_normal((32,) * rank)
    options = {program.scalars[0]: tw.per_step(values), "steps": len(values), "boundary": "wrap"}
    given = (u, u) if program is wave.program else u
    said, largest = warned(program, given, **options)
    assert bool(said) is grows, said
    assert bool(largest > 0.1) is grows
    assert all("times in a step on average" in each for each in said)


def test_the_growth_in_time_is_the_product_of_those_of_the_steps():
    values = np.where(np.arange(60) % 2, 0.3, 0.24)
    found = stability.growth_in_time(heat(2), (), {"a": values})
    assert found.factor == pytest.approx(math.sqrt(abs(1 - 8 * 0.3) * abs(1 - 8 * 0.24)))
    assert found.cells == (2.0, 2.0)
    # What the coefficients do not enter is derived without them.
    forced = tw.stencil(lambda u, f: u[0] + 0.4 * (u[-1] - 2.0 * u[0] + u[1]) + f).program
    assert stability.growth_in_time(forced, (), {"f": values}) is None


def test_coefficients_past_the_limit_in_cells_that_hold_no_wave():
    """A single cell a little past the limit loses to the stable ones around it."""
    k = np.full((64, 80), 0.2)
    k[30, 30] = 0.26
    said, grown = limits_met(conducting, k, steps=2000)
    assert said == []
    assert grown < 10

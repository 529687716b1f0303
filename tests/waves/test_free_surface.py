"""Free surfaces: images are what a mirrored source of the other sign makes, and Rayleigh waves run along them."""

import numpy as np
import pytest
from tests.sampling import covering, some

import tilewright as tw
from tilewright.waves import CPML, FREE, Model, elastic, shot

SPEED = 2000.0


@pytest.mark.parametrize(("density", "above", "order"), covering([None, 1500.0], [False, True], [2, 8]))
def test_acoustic_waves_come_back_as_from_a_mirrored_source(order: int, density: float | None, above: bool) -> None:
    if above and density is not None:
        pytest.skip("staggered models have none behind the last cells")

    def record(shape, layers, source, places) -> np.ndarray:
        speeds = np.full(shape, SPEED)
        rho = None if density is None else np.full(shape, density)
        model = Model(speeds, spacing=10.0, density=rho)
        # before the far layers are felt: their differences point the same way at both ends, and are no mirror images
        options = {"time": 0.23, "frequency": 20.0, "space_order": order, "dtype": "float64"}
        found = shot(model, source, places, layers=(layers, CPML(12)), **options)
        return next(iter(found.traces.values()))

    places = np.array([(60.0, 200.0), (0.0, 300.0), (150.0, 450.0)])
    end = 390.0
    turned = (lambda p: np.abs(np.array(p) - [end, 0.0])) if above else np.array
    pair = (CPML(12), FREE) if above else (FREE, CPML(12))
    half = record((40, 60), pair, turned((120.0, 250.0)), turned(places))
    whole = [
        record((79, 60), CPML(12), np.array((end + depth, 250.0)), places + np.array([end, 0.0]))
        for depth in (120.0, -120.0)
    ]
    expected = whole[0] - whole[1]
    np.testing.assert_allclose(half, expected, atol=1e-12 * np.abs(expected).max(), rtol=0)
    assert np.abs(half[:, 1]).max() < 1e-12 * np.abs(half).max()


def rayleigh_speed(alpha: float, beta: float) -> float:
    """The root of Rayleigh's equation below the speed of shear waves, by bisection."""
    low, high = 0.5 * beta, (1 - 1e-12) * beta

    def value(c: float) -> float:
        q, s = np.sqrt(1 - (c / alpha) ** 2), np.sqrt(1 - (c / beta) ** 2)
        return (2 - (c / beta) ** 2) ** 2 - 4 * q * s

    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(middle) < 0 else (low, middle)
    return low


def rayleigh(cells: int, order: int) -> float:
    """Largest error of a Rayleigh wave after a period, over its largest velocity, with so many cells per wave."""
    alpha, beta, rho, h = np.sqrt(3.0) * 1000, 1000.0, 2000.0, 10.0
    mu, lam = rho * beta**2, rho * (alpha**2 - 2 * beta**2)
    c, k = rayleigh_speed(alpha, beta), 2 * np.pi / (cells * h)
    omega, q, s = c * k, k * np.sqrt(1 - (c / alpha) ** 2), k * np.sqrt(1 - (c / beta) ** 2)
    b = 2j * k * q / (s**2 + k**2)
    steps = int(np.ceil(2 * np.pi / omega / (0.4 * h / alpha)))
    dt = 2 * np.pi / omega / steps

    def wave(what: str, time: float) -> np.ndarray:
        z = h * (np.arange(4 * cells) + (0.5 if what in {"vz", "szx"} else 0.0))[:, None]
        x = h * (np.arange(cells) + (0.5 if what in {"vx", "szx"} else 0.0))[None, :]
        e, f = np.exp(-q * z), np.exp(-s * z)
        ux, uz = 1j * k * e - s * b * f, -q * e - 1j * k * b * f
        ux_z, uz_z = -1j * k * q * e + s**2 * b * f, q**2 * e + 1j * k * s * b * f
        parts = {
            "vx": -1j * omega * ux,
            "vz": -1j * omega * uz,
            "szz": (lam + 2 * mu) * uz_z + lam * 1j * k * ux,
            "sxx": (lam + 2 * mu) * 1j * k * ux + lam * uz_z,
            "szx": mu * (ux_z + 1j * k * uz),
        }
        return (parts[what] * np.exp(1j * (k * x - omega * time))).real

    program = elastic((h, h), order, damped=False, free=[(0, 0)])
    fields = {name: wave(name, 0.0 if name.startswith("s") else -0.5 * dt) for name in program.updated}
    one = np.ones((4 * cells, cells))
    coefficients = {
        "bz": dt / rho * one,
        "bx": dt / rho * one,
        "l": dt * lam * one,
        "n": 2 * dt * mu * one,
        "mzx": dt * mu * one,
    }
    top = {"szz": "mirror", "szx": "reflect"}
    boundary = {name: ((top.get(name, "constant"), "constant"), "wrap") for name in program.fields}
    results = tw.run(
        program, *(({**fields, **coefficients})[f] for f in program.fields), steps=steps, boundary=boundary
    )
    found = dict(zip(program.updated, results, strict=True))
    largest = max(np.abs(fields[name]).max() for name in ("vx", "vz"))
    rows = slice(0, 2 * cells)
    return max(
        np.abs(found[name][rows] - wave(name, (steps - 0.5) * dt)[rows]).max() / largest for name in ("vx", "vz")
    )


@pytest.mark.parametrize("order", some([4, 2, 8], 1))
def test_rayleigh_waves_run_along_the_surface_of_an_elastic_model(order: int) -> None:
    coarse, fine = rayleigh(16, order), rayleigh(32, order)
    assert fine < 0.03
    assert fine < 0.4 * coarse


def test_a_plane_wave_comes_back_from_the_surface_of_an_elastic_model() -> None:
    alpha, rho, h, n = 2000.0, 1800.0, 5.0, 300
    dt = 0.4 * h / alpha
    mu = rho * 1000.0**2
    lam = rho * alpha**2 - 2 * mu

    def pulse(z: np.ndarray) -> np.ndarray:
        return np.exp(-(((z - 500.0) / 60.0) ** 2))

    program = elastic((h, h), 8, damped=False, free=[(0, 0)])
    z = h * np.arange(n)[:, None] + np.zeros((1, 12))
    stress = rho * alpha * pulse(z)
    rest = np.zeros_like(z)
    given = {
        "vz": pulse(z + h / 2 - alpha * dt / 2),
        "vx": rest,
        "szz": stress,
        "szx": rest,
        "sxx": lam / (lam + 2 * mu) * stress,
        "bz": rest + dt / rho,
        "bx": rest + dt / rho,
        "l": rest + dt * lam,
        "n": rest + 2 * dt * mu,
        "mzx": rest + dt * mu,
    }
    boundary = {
        name: (({"szz": "mirror", "szx": "reflect"}.get(name, "constant"), "constant"), "wrap")
        for name in program.fields
    }
    steps = round(1000.0 / (alpha * dt))
    found = tw.run(program, *(given[name] for name in program.fields), steps=steps, boundary=boundary)
    velocity = dict(zip(program.updated, found, strict=True))["vz"][:150, 0]
    back = pulse(1000.0 - (h * np.arange(150) + h / 2) - alpha * dt / 2)
    assert np.abs(velocity - back).max() < 0.01


def test_free_surfaces_that_cannot_be_are_one_sentence() -> None:
    speeds = np.full((30, 30), SPEED)
    options = {"time": 0.1, "frequency": 20.0}
    elastic_model = Model(speeds, spacing=10.0, density=speeds, shear=0.5 * speeds)
    with pytest.raises(tw.UsageError, match="before the first cells of an axis, got one behind"):
        shot(elastic_model, (50.0, 50.0), [(50.0, 50.0)], layers=((None, FREE), None), **options)
    with pytest.raises(tw.UsageError, match="needs more than 4 cells along axis 0, got 4"):
        shot(Model(np.full((4, 30), SPEED), spacing=10.0), (0.0, 50.0), [(0.0, 50.0)], layers=(FREE, None), **options)


def test_the_misfit_of_a_shot_under_a_free_surface_has_a_gradient() -> None:
    from tilewright.waves import misfit

    speeds = np.full((24, 30), SPEED)
    speeds[10:] = 2300.0
    places = [(20.0, 50.0), (20.0, 200.0)]
    options = {
        "time": 0.12, "frequency": 20.0, "layers": ((FREE, None), None), "space_order": 4, "dtype": "float64",
        "time_step": 0.001,
    }  # fmt: skip
    observed = shot(Model(speeds, spacing=10.0), (60.0, 100.0), places, **options).traces["u"]

    def value(v: np.ndarray):
        return misfit(Model(v, spacing=10.0), (60.0, 100.0), places, observed, **options)

    start = np.full((24, 30), 2100.0)
    direction = np.random.default_rng(0).uniform(0, 1, start.shape)
    gradient = value(start)[1]
    h = 0.01
    slope = (value(start + h * direction)[0] - value(start - h * direction)[0]) / (2 * h)
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-5)


def test_the_command_line_takes_layers_per_side(tmp_path) -> None:
    from typer.testing import CliRunner

    from tilewright.cli.app import app

    np.save(tmp_path / "v.npy", np.full((30, 40), SPEED))
    common = ["shot", str(tmp_path / "v.npy"), "--spacing", "10", "--source", "100,200", "--time", "0.05"]
    common += ["--receiver-depth", "20", "--dtype", "float64", "--frequency", "20"]

    def traces(*more: str) -> np.ndarray:
        target = tmp_path / "t.npy"
        done = CliRunner().invoke(app, [*common, "-o", str(target), *more])
        assert done.exit_code == 0, done.output
        return np.load(target)

    model, places = Model(np.full((30, 40), SPEED), spacing=10.0), [(20.0, 10.0 * x) for x in range(40)]
    options = {"time": 0.05, "frequency": 20.0, "dtype": "float64"}
    for text, layers in [("free/cpml:8,cpml:8", ((FREE, CPML(8)), CPML(8))), ("none", None)]:
        expected = shot(model, (100.0, 200.0), places, layers=layers, **options).traces["u"]
        np.testing.assert_array_equal(traces("--absorb", text), expected)
    np.testing.assert_array_equal(traces("--cpml", "8"), traces("--absorb", "cpml:8"))
    for more, said in [
        (["--cpml", "8", "--absorb", "free"], "layers are said once"),
        (["--absorb", "wall"], "a layer is sponge, cpml, free or none, got 'wall'"),
        (["--absorb", "cpml:wide"], "the width of a layer is a number of cells, got 'wide'"),
    ]:
        done = CliRunner().invoke(app, [*common, *more])
        assert done.exit_code != 0
        assert said in " ".join(done.output.split())

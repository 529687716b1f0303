"""The misfit of a shot and its gradient: of the discrete scheme, layers and source included."""

import numpy as np
import pytest
from tests.sampling import covering

from tilewright import waves
from tilewright.base.errors import ArrayError, UsageError

OPTIONS = {"time": 0.12, "time_step": 0.001, "frequency": 15.0, "space_order": 4, "dtype": "float64"}
SOURCE, RECEIVERS = (33.0, 120.0), [(20.0, 10.0 * i + 5.0) for i in range(2, 20)]


@pytest.mark.parametrize(
    ("layers", "interpolation"),
    covering([waves.Sponge(6), ((None, waves.Sponge(4)), None), waves.CPML(5)], ["linear", "sinc"]),
)
def test_the_gradient_is_the_slope_of_the_misfit(layers, interpolation):
    draw = np.random.default_rng(1)
    speeds = draw.uniform(1900.0, 2100.0, (22, 24))
    speeds[11, 12] = 2110.0
    options = {**OPTIONS, "layers": layers, "interpolation": interpolation}
    true = waves.Model(speeds + 100.0, 10.0)
    observed = waves.shot(true, SOURCE, RECEIVERS, **options).traces["u"]

    def value(moved):
        return waves.misfit(waves.Model(moved, 10.0), SOURCE, RECEIVERS, observed, **options)

    found, gradient = value(speeds)
    assert gradient.shape == speeds.shape
    move = draw.standard_normal(speeds.shape)
    move[speeds == speeds.max()] = 0.0  # how much a CPML damps follows the fastest speed, which is held
    by_differences = (value(speeds + 1e-3 * move)[0] - value(speeds - 1e-3 * move)[0]) / 2e-3
    assert float((gradient * move).sum()) == pytest.approx(by_differences, rel=1e-6)
    few, same = waves.misfit(waves.Model(speeds, 10.0), SOURCE, RECEIVERS, observed, checkpoints=9, **options)
    assert few == pytest.approx(found)
    np.testing.assert_allclose(same, gradient, rtol=1e-9, atol=1e-12 * abs(gradient).max())


def test_what_cannot_be_is_one_sentence():
    model = waves.Model(np.full((22, 24), 2000.0), 10.0)
    with pytest.raises(ArrayError, match=r"observed traces have the shape \(120, 18\), got \(3, 3\)"):
        waves.misfit(model, SOURCE, RECEIVERS, np.zeros((3, 3)), **OPTIONS)
    with pytest.raises(UsageError, match="constant density"):
        waves.misfit(waves.Model(model.velocity, 10.0, density=1000.0), SOURCE, RECEIVERS, np.zeros((3, 3)), **OPTIONS)

"""Full-waveform inversion: the misfit of a shot, and its gradient by the model.

A. Tarantola, "Inversion of seismic reflection data in the acoustic approximation", Geophysics 49 (1984), 1259-1266. The
gradient is that of the discrete scheme, exact to rounding: layers, interpolation and the scale of the source included.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.errors import ArrayError, UsageError
from tilewright.inputs.arrays import as_array
from tilewright.verbs.gradients.vjp import vjp
from tilewright.waves.layers import Layers, Sponge
from tilewright.waves.models import Floats, Model
from tilewright.waves.shots import ShotTerms, Wavelet, prepare


@checked
def misfit(  # noqa: PLR0913  (a public verb)
    model: Model,
    source: Any,  # noqa: ANN401
    receivers: Any,  # noqa: ANN401
    observed: Any,  # noqa: ANN401
    *,
    time: float,
    time_step: float,
    frequency: float | None = None,
    wavelet: Wavelet | None = None,
    space_order: int = 8,
    layers: Layers = Sponge(20),  # noqa: B008  (a frozen value)
    interpolation: str = "linear",
    every: int = 1,
    dtype: str = "float32",
    **options: Any,  # noqa: ANN401
) -> tuple[float, Floats]:
    """Compute how far a shot's traces are from observed ones, and the gradient by the model's speeds.

    Args:
        model: A model of constant density, without shear waves.
        source: As all that follows, as for :func:`tilewright.waves.shot`.
        receivers: Coordinates of the receivers; m.
        observed: Traces; shape (records, receivers).
        time: Time to compute; s.
        time_step: Time step, the same for all models that are compared; s.
        frequency: That of a Ricker wavelet; Hz.
        wavelet: A function of times in place of it.
        space_order: Order of the differences in space.
        layers: Absorbing layers.
        interpolation: Of source and receivers.
        every: Record every so many steps.
        dtype: ``float32`` or ``float64``.
        **options: Further options of :func:`tilewright.vjp`: ``memory``, ``checkpoints``, ``disk``, ``threads``.

    Returns:
        Half the sum of the squared differences, and its gradient by the speeds, of the model's shape. The strength of a
        CPML follows the fastest speed; it is held.

    Raises:
        ArrayError: If an array does not fit.
        UsageError: As :func:`tilewright.waves.shot`, and if the model has a density or shear waves.

    Examples:
        >>> model = Model(np.full((30, 40), 2000.0), spacing=10.0)
        >>> options = {"time": 0.1, "time_step": 0.001, "frequency": 20.0}
        >>> value, gradient = misfit(model, (50.0, 200.0), [(20.0, 100.0)], np.zeros((100, 1)), **options)
        >>> value > 0, gradient.shape
        (True, (30, 40))
    """
    if model.density is not None or model.shear is not None:
        raise UsageError("gradients are of models of constant density, without shear waves")
    setup = prepare(model, source, receivers, ShotTerms.of(locals()))
    scheme = setup.scheme
    (_, traces), pullback = vjp(scheme.program, *scheme.arrays(), **setup.keywords(), wrt=("m",), **options)
    expected = as_array(observed, "observed")
    if expected.shape != traces["u"].shape:
        raise ArrayError(f"observed traces have the shape {traces['u'].shape}, got {expected.shape}")
    rest = traces["u"].astype(np.float64) - expected
    gradients, _ = pullback((None, {"u": rest.astype(dtype)}))
    of_squares = _fold(gradients[scheme.program.fields.index("m")].astype(np.float64), scheme.around)
    return 0.5 * float((rest**2).sum()), of_squares * 2.0 * model.velocity * scheme.step**2


def _fold(padded: Floats, around: Sequence[tuple[int, int]]) -> Floats:
    """Sum the cotangents of layers around a model into its outermost cells, whose speeds they have."""
    for axis, (low, high) in enumerate(around):
        turned = np.moveaxis(padded, axis, 0)
        inner = turned[low : len(turned) - high].copy()
        inner[0] += turned[:low].sum(axis=0)
        inner[-1] += turned[len(turned) - high :].sum(axis=0)
        padded = np.moveaxis(inner, 0, axis)
    return padded

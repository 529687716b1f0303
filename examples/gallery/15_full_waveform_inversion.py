"""Full-waveform inversion: ten iterations of L-BFGS find a body in the ground from nine shots, by exact gradients."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from tilewright import waves

start = np.full((50, 100), 2000.0)
true = start.copy()
true[(np.mgrid[:50, :100][0] - 26) ** 2 + (np.mgrid[:50, :100][1] - 50) ** 2 / 4 < 60] = 2300.0
options = {"time": 0.45, "time_step": 0.0018, "frequency": 12.0, "space_order": 4, "threads": 1}
sources = [(20.0, x) for x in np.linspace(50.0, 950.0, 9)]
receivers = [(z, x) for z in (10.0, 480.0) for x in np.arange(10.0, 990.0, 20.0)]
observed = [waves.shot(waves.Model(true, 10.0), source, receivers, **options).traces["u"] for source in sources]


def objective(speeds):
    model = waves.Model(speeds.reshape(true.shape), 10.0)
    found = [
        waves.misfit(model, source, receivers, each, **options) for source, each in zip(sources, observed, strict=True)
    ]
    return 1e3 * sum(value for value, _ in found), 1e3 * sum(gradient for _, gradient in found).ravel()


bounds = [(1800.0, 2500.0)] * true.size
result = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 10})
figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), sharey=True, layout="constrained")
titles = {"the ground": true, "found from nine shots": result.x.reshape(true.shape)}
for axis, (title, speeds) in zip(axes, titles.items(), strict=True):
    shown = axis.imshow(speeds, vmin=1950, vmax=2300, cmap="viridis", extent=(0, 1000, 500, 0))
    axis.plot([x for _, x in sources], [z for z, _ in sources], "r*", label="sources")
    axis.set(title=title, xlabel="distance (m)")
axes[0].set_ylabel("depth (m)")
axes[0].legend(loc="lower right", fontsize=8)
figure.colorbar(shown, ax=axes, label="speed (m/s)")
figure.savefig(sys.argv[1], dpi=110)

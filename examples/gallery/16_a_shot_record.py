"""A shot record: an explosion in layered ground, and what 400 geophones beneath its surface record of it."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from tilewright import waves

depth, distance = np.mgrid[:300, :400]
speeds = np.where(depth < 100, 1600.0, 2200.0)
speeds[depth > 200 - 40 * np.exp(-(((distance - 230) / 60) ** 2))] = 3000.0
model = waves.Model(speeds, spacing=5.0)
receivers = np.stack([np.full(400, 10.0), 5.0 * np.arange(400)], axis=1)
layers = ((waves.FREE, waves.CPML(20)), waves.CPML(20))
shot = waves.shot(model, (20.0, 800.0), receivers, time=1.1, frequency=18.0, layers=layers)
traces = shot.traces["u"] * (1 + 4 * shot.times[:, None])  # later ones are fainter
figure, (ground, record) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
shown = ground.imshow(speeds, cmap="viridis", extent=(0, 2000, 1500, 0), aspect="auto")
ground.plot([800], [20], "r*", markersize=12, label="source")
ground.plot(receivers[::20, 1], receivers[::20, 0], "wv", markersize=4, label="every 20th receiver")
ground.set(title="the ground", xlabel="distance (m)", ylabel="depth (m)")
ground.legend(loc="lower left", fontsize=8)
figure.colorbar(shown, ax=ground, label="speed (m/s)")
most = np.percentile(np.abs(traces), 98)
record.imshow(traces, cmap="gray", vmin=-most, vmax=most, extent=(0, 2000, shot.times[-1], 0), aspect="auto")
record.set(title="what is recorded", xlabel="distance (m)", ylabel="time (s)")
figure.savefig(sys.argv[1], dpi=90)

"""Waves around walls: two time levels, walls as a mask, and a source that swings."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import tilewright as tw


@tw.stencil
def wave(u, c):
    around = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0]
    return 2 * u[0, 0] - u.prev[0, 0] + c * around


shape, steps = (300, 400), 420
free = np.ones(shape, dtype=bool)
free[:, 150:156] = False
free[90:130, 150:156] = free[170:210, 150:156] = True  # two slits
push = [0.3 * np.sin(0.35 * step) for step in range(steps)]
u = tw.run(wave, np.zeros(shape, dtype=np.float32), steps=steps, c=0.4, where=free, sources=[((150, 60), push)])

figure, axes = plt.subplots(figsize=(4.6, 3.7), layout="constrained")
drawn = axes.imshow(np.where(free, u, np.nan), cmap="RdBu_r", vmin=-0.1, vmax=0.1)
axes.set_facecolor("#26323f")  # the walls
axes.set(title=f"waves around walls: step {steps}", xlabel="cell", ylabel="cell")
figure.colorbar(drawn, cax=axes.inset_axes([1.03, 0, 0.04, 1]), label="height", extend="both")
figure.savefig(sys.argv[1], dpi=110)

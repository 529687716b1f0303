"""Two materials: a coefficient per cell, a hot wire, and walls that take the heat away."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import tilewright as tw


@tw.stencil
def heat(u, alpha):
    return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


alpha = np.full((200, 300), 0.2, dtype=np.float32)
alpha[:, 150:] = 0.004  # insulation
u = tw.run(
    heat, np.zeros(alpha.shape, dtype=np.float32), steps=8000, alpha=alpha,
    boundary=("nearest", tw.Boundary("constant", 0.0)), sources=[((100, 120), 0.4)],
)  # fmt: skip

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
drawn = axes.contourf(u, levels=24, cmap="inferno")
axes.axvline(150, color="white", linewidth=1)
axes.set(title="temperature after 8000 steps", xlabel="cell", ylabel="cell")
figure.colorbar(drawn, label="temperature")
figure.savefig(sys.argv[1], dpi=90)

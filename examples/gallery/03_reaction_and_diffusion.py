"""Reaction and diffusion: the Gray-Scott model, two fields that feed on each other."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import tilewright as tw


@tw.stencil
def gray_scott(u, v, feed, kill):
    around_u = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0]
    around_v = v[-1, 0] + v[1, 0] + v[0, -1] + v[0, 1] - 4 * v[0, 0]
    eaten = u[0, 0] * v[0, 0] * v[0, 0]
    return (
        u[0, 0] + 0.16 * around_u - eaten + feed * (1 - u[0, 0]),
        v[0, 0] + 0.08 * around_v + eaten - (feed + kill) * v[0, 0],
    )


u = np.ones((200, 300), dtype=np.float32)
v = np.zeros_like(u)
for row, column in np.random.default_rng(4).integers(16, 184, (14, 2)):
    u[row : row + 8, column : column + 8] = 0.5
    v[row : row + 8, column : column + 8] = 0.25
u, v = tw.run(gray_scott, u, v, steps=4000, boundary="wrap", feed=0.035, kill=0.062)

figure, axes = plt.subplots(figsize=(4.6, 3.7), layout="constrained")
drawn = axes.imshow(v, cmap="viridis", vmin=0)
axes.set(title="reaction and diffusion: step 4000", xlabel="cell", ylabel="cell")
figure.colorbar(drawn, cax=axes.inset_axes([1.03, 0, 0.04, 1]), label="concentration of v")
figure.savefig(sys.argv[1], dpi=110)

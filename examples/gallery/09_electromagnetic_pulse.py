"""An electromagnetic pulse: staggered fields in which a step reads what it has just computed (FDTD)."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import tilewright as tw


@tw.stencil
def maxwell(ez, hx, hy, c):
    new_hx = hx[0, 0] - c * (ez[0, 1] - ez[0, 0])
    new_hy = hy[0, 0] + c * (ez[1, 0] - ez[0, 0])
    curl = hy.new[0, 0] - hy.new[-1, 0] - hx.new[0, 0] + hx.new[0, -1]
    return {"hx": new_hx, "hy": new_hy, "ez": ez[0, 0] + c * curl}


y, x = np.mgrid[0:260, 0:360].astype(np.float32)
pulse = np.exp(-((x - 180) ** 2 + (y - 130) ** 2) / 40).astype(np.float32)
ez, *_ = tw.run(maxwell, pulse, np.zeros_like(pulse), np.zeros_like(pulse), steps=150, c=0.5)
figure, axes = plt.subplots(figsize=(4.6, 3.7), layout="constrained")
drawn = axes.imshow(ez, cmap="RdBu_r", vmin=-0.1, vmax=0.1)
axes.set(title="electromagnetic pulse: step 150", xlabel="cell", ylabel="cell")
figure.colorbar(drawn, cax=axes.inset_axes([1.03, 0, 0.04, 1]), label="electric field", extend="both")
figure.savefig(sys.argv[1], dpi=110)

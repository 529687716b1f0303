"""A page about a choice: what `tilewright report` shows, here only its roofline."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import tilewright as tw

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
styles = (("jacobi2d", "o", "-"), ("heat2d", "s", "--"), ("gradient2d", "^", "-."), ("wave2d", "D", ":"))
for name, marker, style in styles:
    best = tw.select(name, shape=(8192, 8192), steps=512, machine="v100", within=0.05, top=30)
    work = [one.costs.flops / one.costs.dram_bytes for one in best]
    label = f"{name}, roof {best[0].roof.at(200) / 1e12:.1f} TFlops/s"
    (points,) = axes.loglog(work, [one.costs.gflops_per_second for one in best], marker, linestyle="none", label=label)
    line = np.geomspace(0.5, 200, 100)
    axes.loglog(
        line, [best[0].roof.at(x) / 1e9 for x in line], color=points.get_color(), linestyle=style, linewidth=1.5
    )
axes.set(xlabel="operations per byte off chip", ylabel="GFlops/s", title="Each program's own roof on V100")
axes.legend(loc="lower right", title="points: the best tilings; lines: roofs", fontsize="small")
figure.savefig(sys.argv[1], dpi=90)

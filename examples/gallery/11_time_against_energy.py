"""Time against energy: every tiling of the space, and the ones that nothing beats in both."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

import tilewright as tw

case = {"shape": (4096, 4096), "steps": 512, "machine": "k20c"}
every = tw.select("jacobi2d", within=1.0, top=3000, **case)
front = tw.compare("jacobi2d", **case).front

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
axes.plot(
    [p.costs.seconds for p in every],
    [p.costs.joules for p in every],
    ".",
    color="#e8b27a",
    markersize=3,
    label="tilings",
)
axes.plot(
    [p.seconds for p in front],
    [p.joules for p in front],
    "o-",
    color="#1f5fa8",
    markersize=4,
    label="nothing is better in both",
)
axes.set(xlabel="predicted seconds", ylabel="predicted joules", title=f"{len(every)} tilings of jacobi2d on k20c")
axes.legend()
figure.savefig(sys.argv[1], dpi=90)

"""The same program on many machines: predicted times, without having any of them."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

import tilewright as tw

names = ["c2070", "k20c", "gtx980", "titanx", "p100", "v100", "a100", "rtx4090", "h100", "h200"]
costs = [tw.predict("heat2d", shape=(8192, 8192), steps=1024, machine=name) for name in names]

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
axes.plot([one.costs.gcells_per_second for one in costs], names, "o", color="#1f5fa8")
for place, one in enumerate(costs):
    axes.text(one.costs.gcells_per_second, place, f"   {one.tiling}", va="center", fontsize="x-small")
axes.set(xlabel="GCells/s, predicted and never measured", title="heat2d 8192 x 8192, 1024 steps", xscale="log")
axes.grid(axis="x", color="#dddddd", linewidth=0.6)
axes.set_xlim(right=6 * max(one.costs.gcells_per_second for one in costs))
figure.savefig(sys.argv[1], dpi=90)

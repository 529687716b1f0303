"""Two sequences: the table of an edit distance, filled in tiles of anti-diagonals."""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import tilewright as tw

draw = np.random.default_rng(3)
first = draw.integers(0, 4, 400)
second = np.concatenate([first[:150], draw.integers(0, 4, 60), first[180:390]])  # a part replaced
table = tw.fill("edit_distance", first, second)

figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
drawn = axes.imshow(table, cmap="viridis")
axes.set(title=f"edit distance {table[-1, -1]}", xlabel="second sequence", ylabel="first sequence")
figure.colorbar(drawn, cax=axes.inset_axes([1.03, 0, 0.04, 1]), label="distance of the sequences so far")
figure.savefig(sys.argv[1], dpi=90)

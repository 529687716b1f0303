"""The game of life: whole numbers, and a rule made of comparisons."""

import sys

import numpy as np
from PIL import Image

import tilewright as tw


@tw.stencil
def life(cell):
    near = cell[-1, -1] + cell[-1, 0] + cell[-1, 1] + cell[0, -1] + cell[0, 1] + cell[1, -1] + cell[1, 0] + cell[1, 1]
    return tw.where((near == 3) | ((near == 2) & (cell[0, 0] == 1)), 1, 0)


start = (np.random.default_rng(1).random((120, 180)) < 0.3).astype(np.int32)
frames = [start, *(tw.run(life, start, steps=steps, boundary="wrap") for steps in (10, 500))]
picture = np.hstack([np.pad(frame, 2, constant_values=1) for frame in frames])
Image.fromarray((255 * (1 - picture)).astype(np.uint8)).resize((picture.shape[1] * 2, picture.shape[0] * 2), 0).save(
    sys.argv[1]
)

"""Waves around walls: two time levels, walls as a mask, and a source that swings."""

import sys

import numpy as np
from PIL import Image

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

level = np.clip(0.5 + 3 * u, 0, 1)
picture = np.stack([level, np.full(shape, 0.35) + 0.3 * level, 1 - level], axis=-1)
picture[~free] = 0.1
Image.fromarray((picture * 255).astype(np.uint8)).save(sys.argv[1])

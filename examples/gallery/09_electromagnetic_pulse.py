"""An electromagnetic pulse: staggered fields in which a step reads what it has just computed (FDTD)."""

import sys

import numpy as np
from PIL import Image

import tilewright as tw


@tw.stencil
def maxwell(ez, hx, hy, c):
    new_hx = hx[0, 0] - c * (ez[0, 1] - ez[0, 0])
    new_hy = hy[0, 0] + c * (ez[1, 0] - ez[0, 0])
    curl = hy.new[0, 0] - hy.new[-1, 0] - hx.new[0, 0] + hx.new[0, -1]
    return {"hx": new_hx, "hy": new_hy, "ez": ez[0, 0] + c * curl}


y, x = np.mgrid[0:260, 0:360].astype(np.float32)
pulse = np.exp(-((x - 120) ** 2 + (y - 130) ** 2) / 40).astype(np.float32)
ez, *_ = tw.run(maxwell, pulse, np.zeros_like(pulse), np.zeros_like(pulse), steps=220, c=0.5)
level = np.clip(0.5 + 6 * ez, 0, 1)
picture = np.stack([level, 1 - abs(2 * level - 1) * 0.6, 1 - level], axis=-1)
Image.fromarray((picture * 255).astype(np.uint8)).save(sys.argv[1])

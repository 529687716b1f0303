"""A blob in the wind: upwind advection by a velocity that differs from cell to cell."""

import sys

import numpy as np
from PIL import Image

import tilewright as tw


@tw.stencil
def advect(u, wx, wy):
    along_x = tw.where(wx > 0, wx * (u[0, 0] - u[0, -1]), wx * (u[0, 1] - u[0, 0]))
    along_y = tw.where(wy > 0, wy * (u[0, 0] - u[-1, 0]), wy * (u[1, 0] - u[0, 0]))
    return u[0, 0] - along_x - along_y


y, x = np.mgrid[-1:1:240j, -1:1:240j].astype(np.float32)
wx, wy = -0.45 * y, 0.45 * x  # it turns
blob = np.exp(-60 * ((x - 0.5) ** 2 + y**2)).astype(np.float32)
frames = [blob, *(tw.run(advect, blob, steps=steps, boundary="nearest", wx=wx, wy=wy) for steps in (200, 400, 800))]
Image.fromarray((np.clip(np.hstack(frames), 0, 1) * 255).astype(np.uint8)).save(sys.argv[1])

"""A user's script: 20 steps of heat with tilewright; the kernel is cached by default."""

import numpy as np

import tilewright as tw


@tw.stencil
def heat(u):
    return u[0, 0] + 0.1 * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


np.save("result.npy", tw.run(heat, np.load("start.npy"), steps=20))

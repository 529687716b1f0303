"""Smoothing that keeps edges: Perona and Malik's diffusion, which slows down where the picture is steep."""

import sys

import numpy as np
from PIL import Image

import tilewright as tw


def flow(difference, k):
    return difference * tw.exp(-(difference * difference) * (1 / (k * k)))


@tw.stencil
def perona_malik(u, k):
    north, south = u[-1, 0] - u[0, 0], u[1, 0] - u[0, 0]
    west, east = u[0, -1] - u[0, 0], u[0, 1] - u[0, 0]
    return u[0, 0] + 0.2 * (flow(north, k) + flow(south, k) + flow(west, k) + flow(east, k))


y, x = np.mgrid[0:220, 0:300]
clean = 0.25 + 0.5 * ((x - 150) ** 2 + (y - 110) ** 2 < 70**2) + 0.2 * (x > 240)
noisy = (clean + 0.07 * np.random.default_rng(2).standard_normal(clean.shape)).astype(np.float32)
smooth = tw.run(perona_malik, noisy, steps=60, boundary="reflect", k=0.12)
plain = tw.run("j2d5pt", noisy, steps=60, boundary="reflect")
picture = np.clip(np.hstack([noisy, plain, smooth]), 0, 1)
Image.fromarray((picture * 255).astype(np.uint8)).save(sys.argv[1])

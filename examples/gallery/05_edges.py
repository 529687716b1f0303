"""Edges: Canny's method as one fused pipeline of stencils, beside the blur and the gradient it is made of."""

import sys

import numpy as np
from PIL import Image

import tilewright as tw

y, x = np.mgrid[0:220, 0:300].astype(np.float64)
scene = 0.3 + 0.25 * x / 300
scene[(y - 80) ** 2 + (x - 90) ** 2 < 50**2] = 0.9
scene[(np.abs(y - 130) < 60) & (np.abs(x - 220) < 45) & ((x // 15) % 2 == 0)] = 0.95
scene = np.clip(scene + 0.03 * np.random.default_rng(0).standard_normal(scene.shape), 0, 1)

panels = [scene, tw.image.blur(scene, 2.0), 3 * tw.image.sobel(scene), tw.image.canny(scene, 1.4) / 255]
picture = np.hstack([np.pad(np.clip(panel, 0, 1), 3, constant_values=1) for panel in panels])
Image.fromarray((picture * 255).astype(np.uint8)).save(sys.argv[1])

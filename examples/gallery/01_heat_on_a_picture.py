"""Heat on a picture: brightness spreads like heat, and the edge of the frame keeps what it has."""

import sys

import numpy as np
from PIL import Image, ImageDraw

import tilewright as tw


@tw.stencil
def heat(u, alpha):
    return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


canvas = Image.new("L", (320, 240), 40)
draw = ImageDraw.Draw(canvas)
draw.ellipse((60, 40, 180, 160), fill=230)
draw.rectangle((190, 90, 280, 200), fill=140)
draw.text((85, 92), "tilewright", fill=0)
photo = np.asarray(canvas, dtype=np.float32) / 255

stages = [photo, *(tw.run(heat, photo, steps=steps, alpha=0.2) for steps in (20, 200, 2000))]
Image.fromarray((np.hstack(stages) * 255).astype(np.uint8)).save(sys.argv[1])

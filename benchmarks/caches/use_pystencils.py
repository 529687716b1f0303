"""A user's script: 20 steps of heat with pystencils; kernels are cached in the user's cache folder by default."""

import numpy as np
import pystencils as ps

u = np.load("start.npy")
v = u.copy()
source, target = ps.fields("source, target: float32[2D]")
around = source[-1, 0] + source[1, 0] + source[0, -1] + source[0, 1]
sweep = ps.create_kernel(
    [ps.Assignment(target[0, 0], source[0, 0] + 0.1 * (around - 4 * source[0, 0]))], default_dtype="float32"
).compile()
for _ in range(20):
    sweep(source=u, target=v)
    u, v = v, u
np.save("result.npy", u)

"""A user's script: 20 steps of heat with Devito; operators are cached below the temporary folder by default."""

import devito as dv
import numpy as np

start = np.load("start.npy")
u = dv.TimeFunction(name="u", grid=dv.Grid(shape=start.shape, dtype=np.float32), space_order=2)
u.data[:] = start
t, (x, y) = u.grid.stepping_dim, u.grid.dimensions
around = u[t, x - 1, y] + u[t, x + 1, y] + u[t, x, y - 1] + u[t, x, y + 1]
sweep = dv.Operator(dv.Eq(u[t + 1, x, y], u[t, x, y] + 0.1 * (around - 4 * u[t, x, y])))
sweep.apply(time_m=0, time_M=19, x_m=1, x_M=start.shape[0] - 2, y_m=1, y_M=start.shape[1] - 2)
np.save("result.npy", np.array(u.data[20 % 2]))

"""A stencil of one's own, for the command line: `tilewright run examples/data/mine.py:heat --set alpha=0.1 …`."""

import tilewright as tw


@tw.stencil
def heat(u, alpha=0.1):
    """The heat equation, explicitly: five points."""
    return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])
